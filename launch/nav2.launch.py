"""Launches Nav2 for a robot that sim or bringup runs, with a saved map or SLAM; --show-args lists the arguments."""

import tempfile
from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from hexapod_control.bringup import nav2_graph


def generate_launch_description() -> LaunchDescription:
    """The processes of hexapod_control/bringup/nav2_graph.py; if one ends, all end and the robot stops."""
    arguments = nav2_graph.arguments()

    def start(context: LaunchContext) -> list[Node]:
        given = {argument.name: LaunchConfiguration(argument.name).perform(context) for argument in arguments}
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

    declared = [DeclareLaunchArgument(a.name, default_value=a.default, description=a.description) for a in arguments]
    return LaunchDescription([*declared, OpaqueFunction(function=start)])
