# SPDX-License-Identifier: Apache-2.0
"""Launches Nav2 for a robot that sim or bringup runs, with a saved map or SLAM; --show-args lists the arguments."""

import tempfile
from pathlib import Path

from launch import LaunchDescription
from launch.actions import Shutdown
from launch_ros.actions import Node

from hexapod_control.bringup import nav2_graph
from hexapod_control.bringup.launch_descriptions import description_of


def generate_launch_description() -> LaunchDescription:
    """The processes of hexapod_control/bringup/nav2_graph.py; if one ends, all end and the robot stops."""

    def start(given: dict[str, str]) -> list[Node]:
        planned = nav2_graph.plan(given, nav2_graph.nav2_trees())
        # Not deleted, as nodes read them when they start and may be restarted.
        file = planned.write(Path(tempfile.mkdtemp(prefix="nav2_")))
        return [
            Node(
                package=process.package,
                executable=process.executable,
                name=process.name,
                namespace=planned.namespace,
                parameters=[str(file)],
                remappings=list(process.remaps.items()),
                output="screen",
                on_exit=Shutdown(reason=f"{process.name} ended"),
            )
            for process in planned.processes
        ]

    return description_of(nav2_graph.arguments(), start)
