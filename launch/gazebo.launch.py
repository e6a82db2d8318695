# SPDX-License-Identifier: Apache-2.0
"""Launches a robot in Gazebo Harmonic with all nodes for walking; --show-args lists the arguments."""

import tempfile
from pathlib import Path

from launch import Action, LaunchDescription
from launch.actions import IncludeLaunchDescription, Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from hexapod_control.bringup import gazebo_graph
from hexapod_control.bringup.launch_descriptions import LaunchedGraph, description_of

ENDS_EARLY = ("create", "spawner")  # programs that have done their work when they end


def generate_launch_description() -> LaunchDescription:
    """The processes of hexapod_control/bringup/gazebo_graph.py; if Gazebo or its bridge ends, all end."""

    def start(given: dict[str, str]) -> list[Action]:
        # Not deleted, as Gazebo and the bridge read files in it when they start.
        planned = gazebo_graph.plan(given, Path(tempfile.mkdtemp(prefix="gazebo_")))
        simulator = IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(planned.simulator)), launch_arguments=planned.simulator_arguments.items()
        )
        programs = [
            Node(
                package=spec.package,
                executable=spec.executable,
                parameters=[
                    {name: ParameterValue(value, value_type=type(value)) for name, value in spec.parameters.items()}
                ],
                arguments=list(spec.arguments),
                output="screen",
                on_exit=None if spec.executable in ENDS_EARLY else Shutdown(reason=f"{spec.executable} ended"),
            )
            for spec in planned.programs
        ]
        return [simulator, *programs, *LaunchedGraph(planned.nodes).nodes()]

    return description_of(gazebo_graph.arguments(), start)
