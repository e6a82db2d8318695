# SPDX-License-Identifier: Apache-2.0
"""Launches RViz with model, feet and odometry of a robot that sim or bringup runs; --show-args lists the arguments."""

from launch import LaunchDescription

from hexapod_control.bringup.launch_descriptions import description


def generate_launch_description() -> LaunchDescription:
    """The graph `display` of hexapod_control/bringup/node_graph.py."""
    return description("display")
