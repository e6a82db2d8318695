# SPDX-License-Identifier: Apache-2.0
"""The node graphs for launch files and `hexapod sim`: tables of processes, their parameters and remaps.

A graph is a tuple of rows, one per node; an argument is the `name:=value` of a launch file. An argument with an empty
default is passed on only if the user gives a value, because its default is defined by the node's parameter. An
argument, or a section of a parameter file, that is valid but without effect on what a graph starts is named.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix

from hexapod_control.bringup.launch_arguments import (
    ARGUMENTS,
    Argument,
    GraphError,
    ParameterValue,
    argument_values,
    is_urdf,
)
from hexapod_control.config import ros_names
from hexapod_control.config.bounded_yaml import parse, parser, read_text
from hexapod_control.config.channel_file import load_channels
from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.parameter_file import node_sections
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf_import.reading.urdf_text import read_urdf
from hexapod_control.config.schema import did_you_mean
from hexapod_control.config.shipped_files import share
from hexapod_control.core.names import quoted
from hexapod_control.core.sensing.odometry import WITH_SLOPE
from hexapod_control.servos.settings.io_section import has_imu, has_sensors
from hexapod_control.sim.world_settings import ONLY_IN, WorldSettings

PACKAGE = "hexapod_control"
# nodes for the frames of the links; one runs
STANDARD_FRAMES = "robot_state_publisher"
OWN_FRAMES = "link_frames"
GAZEBO = "gazebo"
NOT_IN_GAZEBO = ("use_sim_time", "joint_mapping", "tf_frame_prefix")  # arguments: time is simulated, names are ours


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One process of a graph, ready to be started."""

    executable: str
    package: str = PACKAGE
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    remaps: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()  # of the command line, before --ros-args
    namespace: str = ""
    params_file: str = ""  # absolute
    needs: tuple[str, ...] = ()  # executables that are stopped only after this one


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One node of a graph; `parameters` and `remaps` map names in the node to names of launch arguments."""

    executable: str
    package: str = PACKAGE
    parameters: Mapping[str, str] = field(default_factory=dict)
    remaps: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    enabled_by: str = ""  # argument that starts the node; empty: always started
    fixed: Mapping[str, ParameterValue] = field(default_factory=dict)  # parameters without an argument


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


_PLANNER = NodeRow(
    "gait_planner",
    parameters=_same(
        *(
            "robot",
            "joint_mapping",
            "use_sim_time",
            "gait",
            "enable_stamped_cmd_vel",
            "stand_on_start",
            "tf_frame_prefix",
        ),
        *("adaptive_touch_down", "map_footholds", "imu_levelling"),
    ),
    remaps=_same("cmd_vel"),
    needs=("inverse_kinematics",),
)
_REAL_PLANNER = replace(_PLANNER, parameters={**_PLANNER.parameters, "sit_on_exit": "sit_on_exit"})
_WEB = NodeRow(
    "web",
    parameters={
        **_same("robot", "joint_mapping", "use_sim_time", "enable_stamped_cmd_vel"),
        **{"lan": "web_lan", "bind": "web_bind", "port": "web_port"},
        **{"shutdown_command": "web_shutdown", "certificate": "web_certificate"},
    },
    remaps=_same("cmd_vel"),
    needs=("gait_planner",),
    enabled_by="web",
)
_IMU = NodeRow(
    "imu_driver", parameters={**_same("robot", "use_sim_time", "tf_frame_prefix"), "bus": "i2c_bus"}, enabled_by="imu"
)
_TERRAIN_MAP = NodeRow(
    "terrain_map",
    parameters=_same("robot", "joint_mapping", "use_sim_time", "tf_frame_prefix", "point_clouds"),
    needs=("odometry",),
    enabled_by="terrain_map",
)
_TELEOP = NodeRow("teleop", parameters=_same("use_sim_time", "enable_stamped_cmd_vel"), remaps=_same("cmd_vel"))
_ODOMETRY = {
    **_same("robot", "joint_mapping", "use_sim_time", "enable_odom_tf", "tf_frame_prefix"),
    "mode": "odometry_mode",
}
_GROUND = _same("world", "seed", "slope_deg", "block_height", "bump_height", "stair_rise", "gap_width", "friction")
_ERRORS = _same("reality", "reality_seed")
_SIMULATOR = {
    **_GROUND,
    **_ERRORS,
    **_same("robot", "joint_mapping", "payload", "depth_camera", "servo_model", "bus", "tf_frame_prefix"),
}
_PUBLISHER = {"robot_description": "robot", "frame_prefix": "tf_frame_prefix", "use_sim_time": "use_sim_time"}

# With an emulated bus, the simulator publishes ground truth; the driver publishes joint states, contacts and torque.
_SIMULATED_SERVOS = NodeRow(
    "servo_driver",
    parameters={**_same("robot", "joint_mapping"), **{"protocol": "bus", "port": "servo_port"}},
    needs=("mujoco_sim",),
    enabled_by="bus",
    fixed={"wait_for_port": True, "assume_lying": True, "reply_margin": 0.2},
)
_SERVOS = {
    **_same("robot", "joint_mapping", "use_sim_time", "arm_on_start", "wait_for_port", "i2c_bus"),
    **{"protocol": "servo_protocol", "port": "servo_port"},
}


# A launch file starts the standard program where it is installed, if the joints have the names of our URDF.
_FRAMES = (
    NodeRow(STANDARD_FRAMES, STANDARD_FRAMES, _PUBLISHER, enabled_by=STANDARD_FRAMES),
    NodeRow(
        OWN_FRAMES,
        parameters=_same("robot", "joint_mapping", "use_sim_time", "tf_frame_prefix"),
        enabled_by=STANDARD_FRAMES,
    ),
)


def _walking(*hardware: NodeRow, planner: NodeRow = _PLANNER, **fixed: ParameterValue) -> tuple[NodeRow, ...]:
    needs = tuple(row.executable for row in hardware)
    kinematics = NodeRow("inverse_kinematics", parameters=_same("robot", "joint_mapping", "use_sim_time"), needs=needs)
    odometry = NodeRow("odometry", parameters=_ODOMETRY, needs=needs, fixed=fixed)
    return (*hardware, kinematics, odometry, planner, _TERRAIN_MAP, _WEB, *_FRAMES)


def _in_gazebo(rows: Iterable[NodeRow]) -> Iterator[NodeRow]:
    """The rows on the time of Gazebo, with the names of our URDF."""
    for row in rows:
        if row.enabled_by != STANDARD_FRAMES:
            kept = {name: source for name, source in row.parameters.items() if source not in NOT_IN_GAZEBO}
            yield replace(row, parameters=kept, fixed={**row.fixed, "use_sim_time": True})


GRAPHS: Mapping[str, tuple[NodeRow, ...]] = {
    # The simulator publishes /clock, so it does not use simulated time itself.
    "sim": _walking(
        NodeRow("mujoco_sim", parameters={**_SIMULATOR, "publish_clock": "use_sim_time", "bus_port": "servo_port"}),
        _SIMULATED_SERVOS,
    ),
    # Gazebo publishes /clock and moves the joints; gazebo_graph.py adds it, with the frames of the links.
    GAZEBO: tuple(_in_gazebo(_walking(NodeRow("gazebo_driver", parameters=_same("robot"))))),
    "bringup": (*_walking(NodeRow("servo_driver", parameters=_SERVOS), planner=_REAL_PLANNER, keep_usage=True), _IMU),
    "teleop": (NodeRow("game_controller_node", "joy", _same("use_sim_time", "device_id", "device_name")), _TELEOP),
    "gamepad": (NodeRow("gamepad", parameters=_same("device_name")), _TELEOP),
    "rc": (NodeRow("gamepad", parameters={**_same("receiver", "channels"), "port": "receiver_port"}), _TELEOP),
    "display": (
        _FRAMES[0],
        NodeRow("rviz2", "rviz2", _same("use_sim_time")),
    ),
}
# Arguments with terrain_map, unless the user gives others: the robot steps where it sees ground, and feels it.
WITH_MAP: Mapping[str, ParameterValue] = {
    "odometry_mode": WITH_SLOPE,
    "map_footholds": True,
    "adaptive_touch_down": True,
}
WALKING = ("sim", "bringup")  # graphs that one process can run
WITH_PAGE = ("sim", GAZEBO)  # graphs that start the page by default


def arguments(graph: str) -> tuple[Argument, ...]:
    """Returns the launch arguments of a graph, in the order of ARGUMENTS."""
    rows = GRAPHS[graph]
    used = {"params_file", *(() if graph == GAZEBO else ("namespace",))} | {
        name for row in rows for name in (*row.parameters.values(), *row.remaps.values(), row.enabled_by) if name
    }
    used |= {"fixed_frame", "tf_frame_prefix", "ros2_control"} if graph == "display" else set()
    used |= {"one_process"} if graph in WALKING else set()
    return tuple(argument for name, argument in ARGUMENTS.items() if name in used)


def specs(
    graph: str, given: Mapping[str, object] | None = None, *, in_launch_file: bool = False
) -> tuple[NodeSpec, ...]:
    """Returns the processes of a graph for these arguments, given as texts or values.

    A launch file can also start the programs of other packages that take the place of one of ours. Raises GraphError
    or FileError.
    """
    values = argument_values(graph, arguments(graph), given or {})
    if "bus" in values:
        values.setdefault("servo_port", str(Path(tempfile.gettempdir(), f"hexapod_bus_{os.getpid()}")))
    if graph in (*WALKING, GAZEBO) and values.setdefault("terrain_map", _sees_ground(values)):
        values.update({name: value for name, value in WITH_MAP.items() if name not in values})
    frames = _frames_node(graph, values, in_launch_file=in_launch_file)
    return tuple(_spec(row, values) for row in GRAPHS[graph] if _enabled(row, graph, values, frames))


def _installed(package: str) -> bool:
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True


def _enabled(row: NodeRow, graph: str, values: Mapping[str, ParameterValue], frames: str) -> bool:
    """Whether a node is started; `frames` is the one for the frames of the links."""
    if row.enabled_by == STANDARD_FRAMES:
        return row.executable == frames
    if not row.enabled_by:
        return True
    if row.enabled_by in values:
        return bool(values[row.enabled_by])
    if row.enabled_by == "imu":
        return has_imu(_robot(str(values["robot"])))
    return row.enabled_by == "web" and graph in WITH_PAGE


def _sees_ground(values: Mapping[str, ParameterValue]) -> bool:
    """Whether the robot has a depth camera or clouds; False for an invalid file, which the nodes report."""
    try:
        return (
            "depth_camera" in values
            or "point_clouds" in values
            or bool(load(_robot(str(values["robot"]))).robot.cameras)
        )
    except RobotFileError:
        return False


def _frames_node(graph: str, values: Mapping[str, ParameterValue], *, in_launch_file: bool) -> str:
    """Which node publishes the URDF and the frames of its links; empty: none.

    A robot publishes its own. With a joint mapping, its user has another URDF, to be published with `display`.
    """
    if graph == "display":
        other = is_urdf(str(values["robot"])) or bool(values["ros2_control"])
        return STANDARD_FRAMES if values.get(STANDARD_FRAMES, other) else ""
    mapped = "joint_mapping" in values
    if graph not in WALKING or not values.get(STANDARD_FRAMES, not mapped):
        return ""
    return STANDARD_FRAMES if in_launch_file and not mapped and _installed(STANDARD_FRAMES) else OWN_FRAMES


def _spec(row: NodeRow, values: Mapping[str, ParameterValue]) -> NodeSpec:
    parameters = {name: source for name, source in row.parameters.items() if source in values}
    return NodeSpec(
        executable=row.executable,
        package=row.package,
        parameters={**{name: _parameter(name, source, values) for name, source in parameters.items()}, **row.fixed},
        remaps={topic: str(values[source]) for topic, source in row.remaps.items() if values[source] != topic},
        arguments=_rviz_arguments(values) if row.executable == "rviz2" else (),
        namespace=ros_names.namespace(str(values.get("namespace", ""))),
        params_file=_absolute(str(values["params_file"])) if "params_file" in values else "",
        needs=row.needs,
    )


def _parameter(name: str, source: str, values: Mapping[str, ParameterValue]) -> ParameterValue:
    value = values[source]
    if name == "robot_description":
        tags = bool(values.get("ros2_control"))
        if tags and is_urdf(str(value)):
            raise GraphError(f"ros2_control: must be false for a URDF, robot is {value}; write the tags into that file")
        return robot_description(str(value), ros2_control=tags)
    conversions = {"robot": _robot, "joint_mapping": _absolute, "channels": _channels}
    return conversions[name](str(value)) if name in conversions else value


def _robot(text: str) -> str:
    """Makes the path of a robot file absolute, for nodes with another working folder; leaves a name unchanged."""
    return _absolute(text) if "/" in text or text.endswith((".yaml", ".yml")) else text


def _channels(path: str) -> str:
    """The absolute path of a file of channels. Raises ChannelFileError."""
    file = _absolute(path)
    load_channels(Path(file))
    return file


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())


def _rviz_arguments(values: Mapping[str, ParameterValue]) -> tuple[str, ...]:
    prefix = str(values.get("tf_frame_prefix", ""))
    return ("-d", str(rviz_file(prefix)), "-f", f"{prefix}{values['fixed_frame']}")


def rviz_file(frame_prefix: str) -> Path:
    """Path of the shipped file, or, with a prefix, of a copy in which model and camera use the prefix.

    RViz appends a slash to the prefix of a model, so only a prefix that ends with a slash works in RViz.
    """
    shipped = share("config", "rviz", "hexapod.rviz")
    if not frame_prefix:
        return shipped
    yaml = parser()
    view = parse(read_text(shipped), yaml)
    assert isinstance(view, dict)
    manager = view["Visualization Manager"]
    for display in manager["Displays"]:
        if "TF Prefix" in display:
            display["TF Prefix"] = frame_prefix.removesuffix("/")
    camera = manager["Views"]["Current"]
    camera["Target Frame"] = frame_prefix + camera["Target Frame"]
    # Not deleted, as RViz reads it when it starts and may be restarted.
    with tempfile.NamedTemporaryFile("w", prefix="hexapod_", suffix=".rviz", delete=False) as file:
        yaml.dump(view, file)
    return Path(file.name)


def robot_description(robot: str, *, ros2_control: bool = False) -> str:
    """Returns the URDF; `ros2_control` adds its tags to the URDF of a robot file. Raises FileError."""
    if is_urdf(robot):
        return read_urdf(Path(robot).expanduser(), {})
    from hexapod_control.config.robots import urdf  # here, as it loads xacro

    file = load(robot)
    return urdf.urdf(file, ros2_control=urdf.TOPICS) if ros2_control else urdf.walking_urdf(file)


def unused_arguments(specs: Sequence[NodeSpec], given: Mapping[str, object]) -> Iterator[str]:
    """Yields a sentence for each given argument that has no effect on these nodes; `given` are checked already."""
    values = {
        name: str(value) for name, value in given.items() if value is not None and str(value) != ARGUMENTS[name].default
    }
    nodes = [spec.executable for spec in specs]
    for name in filter(values.get, values):
        if name.startswith("web_") and "web" not in nodes:
            yield f"{name} has no effect without the page: add web:=true"
        elif name in ONLY_IN and (world := values.get("world", WorldSettings().world)) not in ONLY_IN[name]:
            yield f"{name} has no effect in the world {world}: add world:={' or '.join(ONLY_IN[name])}"
        elif name == "servo_port" and "mujoco_sim" in nodes and "servo_driver" not in nodes:
            yield "servo_port has no effect without an emulated bus: add bus:=PROTOCOL"
        elif name == "i2c_bus" and "imu_driver" not in nodes and not has_sensors(values.get("robot", "phantomx")):
            yield "i2c_bus has no effect, as the robot file has no sensor on I2C: add its section io"
    for file in dict.fromkeys(spec.params_file for spec in specs if spec.params_file):
        yield from _unused_sections(Path(file), nodes)


def _unused_sections(path: Path, nodes: Sequence[str]) -> Iterator[str]:
    """Yields a sentence for each section of a parameter file that is for none of these nodes."""
    for name, section in node_sections(path):
        if "*" not in name and name not in nodes:
            hint = did_you_mean(name, nodes) or f"the nodes are {', '.join(nodes)}"
            yield f"{path}:{section.line}: no node {quoted(name)} is started, so its parameters have no effect; {hint}"
