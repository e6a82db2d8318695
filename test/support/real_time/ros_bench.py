# SPDX-License-Identifier: Apache-2.0
"""Nodes of the package in one process on real DDS, spun by the test: every wait is for a condition and bounded."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import Twist as TwistMessage
from geometry_msgs.msg import TwistStamped
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock
from support.phantomx import LIMITS, robot, standing_joints

from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.nodes.gait_planner.gait_planner import GaitPlannerNode
from hexapod_control.nodes.servo_driver.servo_driver import ServoDriverNode
from hexapod_control.ros import messages
from hexapod_control.ros.distribution import stamped_by_default
from hexapod_control.ros.qos import COMMAND
from hexapod_control.ros.row_messages import JointLayout
from hexapod_control.ros.transport.executor import Spinner

STEP = 0.02  # [s]
CONTROL_RATE = 25.0  # [Hz] half of the usual one, as most requests are handled in the same way at any rate


def overrides(**values: Any) -> list[Parameter]:
    return [Parameter(name.replace("__", "."), value=value) for name, value in values.items()]


class Bench:
    """A ROS context with nodes in it; close it at the end."""

    def __init__(self) -> None:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self.executor = Spinner()
        self.nodes: list[Any] = []
        self.probe = self.add(rclpy.create_node("probe"))
        self._clock: Any = None
        self._clients: dict[str, Any] = {}
        self.time = 100.0  # [s] of /clock

    def add(self, node: Any) -> Any:
        self.executor.add_node(node)
        self.nodes.append(node)
        return node

    def remove(self, node: Any) -> None:
        self.executor.remove_node(node)
        self.nodes.remove(node)
        node.destroy_node()

    def close(self) -> None:
        for node in self.nodes:
            node.destroy_node()
        self.executor.shutdown(timeout_sec=1.0)
        rclpy.try_shutdown()

    def until(self, condition: Callable[[], Any], seconds: float = 5.0, what: str = "", pause: float = 0.0) -> float:
        """Spins until the condition holds, asked every `pause` [s] or more often if 0; fails after so many seconds.

        Returns how long it took [s].
        """
        start = asked = time.monotonic()
        while not condition():
            now = time.monotonic()
            assert now - start < seconds, f"{what or 'condition'} not within {seconds} s"
            self.executor.spin_once(timeout_sec=0.01)
            # A slow condition must not starve the nodes.
            again = now + max(pause, now - asked, min(0.05, 10 * (now - asked)))
            while (left := again - time.monotonic()) > 0.0:
                self.executor.spin_once(timeout_sec=left)
            asked = time.monotonic()
        return time.monotonic() - start

    def spin(self, seconds: float) -> float:
        """Spins for so many seconds. Returns the time at their end [s]."""
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() >= end, seconds + 5.0)
        return end

    def publisher(self, kind: Any, topic: str, qos: QoSProfile = COMMAND, node: Any = None, matched: int = 1) -> Any:
        """A publisher that is already connected to `matched` subscriptions."""
        publisher = (node or self.probe).create_publisher(kind, topic, qos)
        self.until(lambda: publisher.get_subscription_count() >= matched, what=f"subscription of {topic}")
        return publisher

    def listen(self, kind: Any, topic: str, qos: QoSProfile = COMMAND) -> list[Any]:
        """A list to which the messages of a topic are appended."""
        received: list[Any] = []
        self.probe.create_subscription(kind, topic, received.append, qos)
        return received

    def velocity_publisher(self, topic: str = "cmd_vel", *args: Any, **options: Any) -> VelocityPublisher:
        """As `publisher`; it takes Twist and sends what the nodes of this distribution expect by default."""
        return VelocityPublisher(self, self.publisher(VELOCITY_TYPE, topic, *args, **options))

    def velocities(self, topic: str = "cmd_vel", qos: QoSProfile = COMMAND) -> list[TwistMessage]:
        """As `listen`, for the commands that nodes publish by default: the Twist of each."""
        received: list[TwistMessage] = []
        self.probe.create_subscription(VELOCITY_TYPE, topic, lambda message: received.append(plain(message)), qos)
        return received

    def now(self) -> Any:
        """The stamp of a message that is sent now: on /clock if this bench publishes it."""
        simulated = self._clock is not None
        return messages.time(round(self.time * 1e9)) if simulated else self.probe.get_clock().now().to_msg()

    def call(self, kind: Any, service: str, request: Any = None) -> Any:
        """Calls a service and returns its response.

        A service has one client, as a server may drop the response to one that it has not discovered yet.
        """
        client = self._clients.get(service)
        if client is None:
            client = self._clients[service] = self.probe.create_client(kind, service)
        self.until(client.service_is_ready, what=f"service {service}")
        future = client.call_async(request or kind.Request())
        self.until(future.done, what=f"answer of {service}")
        return future.result()

    def tick_clock(self, dt: float = STEP) -> None:
        """Publishes /clock, `dt` [s] later than the last one."""
        if self._clock is None:
            self._clock = self.publisher(Clock, "/clock", QoSProfile(depth=10))
        self.time += dt
        self._clock.publish(Clock(clock=messages.time(round(self.time * 1e9))))

    def driver(self, joints: np.ndarray, **parameters: Any) -> ServoDriverNode:
        """A servo_driver that finds the robot with these joint angles (n, 3) [rad], by default at CONTROL_RATE."""
        parameters = {"control_rate": CONTROL_RATE} | parameters
        return self.add(ServoDriverNode(start=joints, parameter_overrides=overrides(**parameters)))

    def planner(self, on_its_feet: bool = True, **parameters: Any) -> GaitPlannerNode:
        """A gait_planner, in real time at CONTROL_RATE; its robot stands, or its pose is not known yet."""
        if not parameters.get("use_sim_time"):
            parameters = {"control_rate": CONTROL_RATE} | parameters
        node = self.add(GaitPlannerNode(parameter_overrides=overrides(**parameters)))
        if on_its_feet:
            node.planner.set_measured_joints(standing_joints())
            while node.planner.state is not RobotState.STANDING:
                node.planner.step(STEP)
            if not node.simulated_time:
                self.until(lambda: node.output.last, what="the first tick")
        return node


VELOCITY_TYPE = TwistStamped if stamped_by_default() else TwistMessage  # of cmd_vel in this distribution


def plain(message: Any) -> TwistMessage:
    """The Twist of a velocity command of either type."""
    return message.twist if isinstance(message, TwistStamped) else message


class VelocityPublisher:
    """Publishes velocity commands of VELOCITY_TYPE."""

    def __init__(self, bench: Bench, publisher: Any) -> None:
        self._bench, self.publisher = bench, publisher

    def publish(self, message: TwistMessage) -> None:
        stamped = VELOCITY_TYPE is TwistStamped
        self.publisher.publish(self._stamped(message) if stamped else message)

    def _stamped(self, message: TwistMessage) -> TwistStamped:
        made = TwistStamped(twist=message)
        made.header.stamp = self._bench.now()
        return made


TIMEOUT, RAMP, DOWN = 0.5, 0.6, 0.9  # [s] of a command, of the braking, of a tripod cycle
LATE = 0.5  # [s] allowed for a loaded machine


def services_ready(node: Any, *names: str) -> bool:
    """Whether the services that a node calls by these names are available."""
    clients = {client.srv_name: client for client in node.clients}
    return all(clients[name].service_is_ready() for name in names)


def subscribed(node: Any, *topics: str, count: int = 1) -> bool:
    """Whether each of these topics of a node has at least `count` matched subscriptions."""
    publishers = {publisher.topic_name: publisher for publisher in node.publishers}
    return all(publishers[node.resolve_topic_name(topic)].get_subscription_count() >= count for topic in topics)


def twist(vx: float = 0.0, vy: float = 0.0, wz: float = 0.0) -> TwistMessage:
    return messages.twist_message(Twist(vx, vy, wz))


class Stream:
    """Publishes what `command` returns, at `rate` [Hz], until stopped."""

    def __init__(self, bench, command, rate=20.0, kind=None, node=None, topic="cmd_vel"):
        """`kind` is the type of the messages; None: they are Twist, sent as the nodes expect by default."""
        self.bench, self.node = bench, node or bench.probe
        self.publisher = bench.publisher(kind or VELOCITY_TYPE, topic, node=self.node)
        self._sender = self.publisher if kind else VelocityPublisher(bench, self.publisher)
        self.command, self._stopped = command, False
        self.timer = self.node.create_timer(1.0 / rate, self._send)

    def _send(self):
        if not self._stopped:  # the executor may still call a timer that expired before it was destroyed
            self._sender.publish(self.command())

    def stop(self):
        self._stopped = True
        self.node.destroy_timer(self.timer)
        self.node.destroy_publisher(self.publisher)


def reports(node):
    """Recent reports of a node, without that of a busy computer, which says nothing about the node."""
    return [text for text in node.recent_reports() if not text.endswith("the computer or this process was busy")]


def recorded_angles(node):
    """Joint angles of all plans that a planner publishes from now on."""
    rows, publish = [], node.output.publish_targets
    node.output.publish_targets = lambda plan, *rest, **more: (
        rows.append(plan.joint_angles),
        publish(plan, *rest, **more),
    )
    return rows


def walking(bench, node, vx=0.08):
    stream = Stream(bench, lambda: twist(vx))
    bench.until(lambda: node.output.last.twist.vx > 0.9 * vx)
    return stream


def wait_for_stop(bench, node, seconds=TIMEOUT + RAMP + LATE):
    bench.until(lambda: node.output.last.twist.is_zero, seconds, "body at rest")
    bench.until(lambda: all(node.output.last.planted), DOWN + LATE, "all feet down")


def assert_sound(rows):
    """Checks that joint targets are within the limits and no faster than their servos."""
    layout = JointLayout(robot())
    joints = np.array([layout.joints(message) for message in rows])
    assert np.isfinite(joints).all()
    assert (joints >= LIMITS[..., 0]).all()
    assert (joints <= LIMITS[..., 1]).all()
    times = np.array([messages.nanoseconds(message.header.stamp) * 1e-9 for message in rows])
    gaps = np.clip(np.diff(times), 0.02, 0.1)
    shares = np.abs(np.diff(joints, axis=0)) / (LIMITS[..., 2] * gaps[:, None, None])
    if len(shares):
        worst = int(shares.max(axis=(1, 2)).argmax())
        assert shares.max() <= 1.05, (
            f"from {times[worst]} s, {joints[worst]} to {times[worst + 1]} s, {joints[worst + 1]}"
        )
