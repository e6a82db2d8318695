# SPDX-License-Identifier: Apache-2.0
"""Launches the joints of a robot with the controllers of ros2_control; --show-args lists the arguments."""

import tempfile
from pathlib import Path

from launch import LaunchDescription
from launch.actions import Shutdown
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from hexapod_control.bringup import control_graph
from hexapod_control.bringup.launch_descriptions import description_of


def generate_launch_description() -> LaunchDescription:
    """The processes of hexapod_control/bringup/control_graph.py; if one ends, all end."""

    def start(given: dict[str, str]) -> list[Node]:
        # Not deleted, as nodes read it when they start.
        specs = control_graph.specs(given, Path(tempfile.mkdtemp(prefix="controllers_")))
        ends = {spec.executable: Shutdown(reason=f"{spec.executable} ended") for spec in specs}
        del ends[control_graph.SPAWNER]
        return [
            Node(
                package=spec.package,
                executable=spec.executable,
                namespace=spec.namespace.lstrip("/"),
                parameters=[
                    {name: ParameterValue(value, value_type=str) for name, value in spec.parameters.items()},
                    *([spec.params_file] if spec.params_file else []),
                ],
                arguments=list(spec.arguments),
                output="screen",
                on_exit=ends.get(spec.executable),
            )
            for spec in specs
        ]

    return description_of(control_graph.arguments(), start)
