# SPDX-License-Identifier: Apache-2.0
"""Message transport: what rclpy does not do, or too slowly. Each part goes as soon as rclpy does it.

The doors are `ros/guarded_node.py`, the base class of all nodes, and `ros/node_process.py`, which spins them.

part                     delete it when
handover.py              rclpy passes messages within a process without encoding them
encoding.py, decoding.py rclpy reads feet in less than 50 us: Jazzy takes 250, Kilted 420, this code 20; until then bag
                         readers refuse its empty sequences, too
senders.py, polling.py   Jazzy is not supported any more: rclpy 9 (Kilted) has the sender in `MessageInfo`
executor.py              EventsExecutor keeps one event per topic instead of one per message
loopback.py              rmw_fastrtps binds to the loopback device only where it is told to
"""
