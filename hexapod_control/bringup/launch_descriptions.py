"""Launch descriptions of the graphs; the only file that imports launch."""

from __future__ import annotations

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from hexapod_control.bringup import node_graph


def description(name: str) -> LaunchDescription:
    """The launch description of a graph with all its arguments; a node that dies ends the launch."""
    arguments = node_graph.arguments(name)

    def start(context: LaunchContext) -> list[Node]:
        given = {argument.name: LaunchConfiguration(argument.name).perform(context) for argument in arguments}
        return [_node(spec) for spec in node_graph.specs(name, given)]

    declared = [DeclareLaunchArgument(a.name, default_value=a.default, description=a.description) for a in arguments]
    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def _node(spec: node_graph.NodeSpec) -> Node:
    parameters = {name: ParameterValue(value, value_type=type(value)) for name, value in spec.parameters.items()}
    return Node(
        package=spec.package,
        executable=spec.executable,
        name=spec.executable,
        namespace=spec.namespace.lstrip("/"),  # relative, so that a namespace pushed by an including file comes first
        parameters=[*([parameters] if parameters else []), *([spec.params_file] if spec.params_file else [])],
        remappings=list(spec.remaps.items()),
        arguments=list(spec.arguments),
        output="screen",
        on_exit=OpaqueFunction(function=_ended, args=[spec.executable]),
    )


def _ended(context: LaunchContext, executable: str) -> None:
    """Ends the launch with exit code 1 and the name of the node that has died."""
    if not context.is_shutdown:
        raise RuntimeError(f"{executable} died: the robot holds, all other nodes are stopped")
