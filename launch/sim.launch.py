# SPDX-License-Identifier: Apache-2.0
"""Launches a robot in physics simulation; --show-args lists the arguments."""

from launch import LaunchDescription

from hexapod_control.bringup.launch_descriptions import description


def generate_launch_description() -> LaunchDescription:
    """The graph `sim` of hexapod_control/bringup/node_graph.py."""
    return description("sim")
