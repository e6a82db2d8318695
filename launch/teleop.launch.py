# SPDX-License-Identifier: Apache-2.0
"""Launches game_controller_node of the joy package and teleop, to drive by gamepad; --show-args lists the arguments."""

from launch import LaunchDescription

from hexapod_control.bringup.launch_descriptions import description


def generate_launch_description() -> LaunchDescription:
    """The graph `teleop` of hexapod_control/bringup/node_graph.py."""
    return description("teleop")
