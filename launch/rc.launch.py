# SPDX-License-Identifier: Apache-2.0
"""Launches the node gamepad on an RC receiver, and teleop, to drive by RC transmitter; --show-args lists arguments."""

from launch import LaunchDescription

from hexapod_control.bringup.launch_descriptions import description


def generate_launch_description() -> LaunchDescription:
    """The graph `rc` of hexapod_control/bringup/node_graph.py."""
    return description("rc")
