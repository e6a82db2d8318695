# SPDX-License-Identifier: Apache-2.0
"""The node graph of Nav2 for one robot, as launch/nav2.launch.py starts it: processes, parameters and remaps.

Velocity: controller_server and behavior_server -> cmd_vel_nav -> velocity_smoother -> cmd_vel_smoothed ->
collision_monitor -> cmd_vel. Topics are relative, so a namespace applies to all of them. All robots share /tf, so their
frames have a prefix. The frame `map` of a saved map is shared, too; the `map` of SLAM is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any  # values of YAML files and ROS parameters have no common type

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from ruamel.yaml import YAML

from hexapod_control.bringup.launch_arguments import (
    ARGUMENTS,
    TEXT,
    TRUTH,
    Argument,
    GraphError,
    ParameterValue,
    argument_values,
)
from hexapod_control.config import ros_names
from hexapod_control.config.bounded_yaml import UnusableFileError, UnusableYamlError, parse, parser, read_text
from hexapod_control.config.robots.nav2_parameters import (
    TREES,
    Nav2FileError,
    Nav2Robot,
    TreeError,
    describe,
    fill,
    fill_tree,
)
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.shipped_files import share
from hexapod_control.ros.distribution import NAV2_CHANGES, distribution

FRAME_KEYS = frozenset(
    {
        *("base_frame", "base_frame_id", "base_link_frame", "robot_base_frame"),
        *("odom_frame", "odom_frame_id", "local_frame", "world_frame"),
        *("map_frame", "global_frame", "global_frame_id", "frame_id"),
    }
)
MAP_FRAME = "map"
STAMPED = ("controller_server", "behavior_server", "velocity_smoother", "collision_monitor")
ODOMETRY = ("controller_server", "velocity_smoother", "bt_navigator")  # nodes that subscribe to odom
COSTMAPS = (("local_costmap", "local_costmap"), ("global_costmap", "global_costmap"))


@dataclass(frozen=True, slots=True)
class NavigationProcess:
    """One node of the Nav2 stack."""

    package: str
    executable: str
    name: str
    remaps: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NavigationGraph:
    """The processes to start in one namespace, and the parameter file that all of them read."""

    processes: tuple[NavigationProcess, ...]
    parameters: Mapping[str, Mapping[str, Any]]  # by full node name: {"ros__parameters": {...}}
    namespace: str  # without slashes at its ends; empty: none
    trees: Mapping[str, str] = field(default_factory=dict)  # texts of behaviour trees, by parameter of bt_navigator

    def write(self, folder: Path) -> Path:
        """Writes trees and parameters into a folder. Returns the parameter file."""
        parameters = {
            name: {"ros__parameters": dict(section["ros__parameters"])} for name, section in self.parameters.items()
        }
        for parameter, text in self.trees.items():
            tree = folder / TREES[parameter]
            tree.write_text(text, encoding="utf-8")
            parameters[self._navigator]["ros__parameters"][parameter] = str(tree)
        yaml = YAML(typ="safe", pure=True)
        yaml.default_flow_style = False
        file = folder / "nav2.yaml"
        with file.open("w", encoding="utf-8") as stream:
            yaml.dump(parameters, stream)
        return file

    @property
    def _navigator(self) -> str:
        return f"/{self.namespace}/bt_navigator" if self.namespace else "/bt_navigator"


_TO_SMOOTHER = {"cmd_vel": "cmd_vel_nav"}
SERVERS = (
    NavigationProcess("nav2_controller", "controller_server", "controller_server", _TO_SMOOTHER),
    NavigationProcess("nav2_smoother", "smoother_server", "smoother_server"),
    NavigationProcess("nav2_planner", "planner_server", "planner_server"),
    NavigationProcess("nav2_behaviors", "behavior_server", "behavior_server", _TO_SMOOTHER),
    NavigationProcess("nav2_velocity_smoother", "velocity_smoother", "velocity_smoother", _TO_SMOOTHER),
    NavigationProcess("nav2_collision_monitor", "collision_monitor", "collision_monitor"),
    NavigationProcess("nav2_bt_navigator", "bt_navigator", "bt_navigator"),
    NavigationProcess("nav2_waypoint_follower", "waypoint_follower", "waypoint_follower"),
)
SAVED_MAP = (
    NavigationProcess("nav2_map_server", "map_server", "map_server"),
    NavigationProcess("nav2_amcl", "amcl", "amcl"),
)
SLAM = (NavigationProcess("slam_toolbox", "async_slam_toolbox_node", "slam_toolbox"),)
EKF = NavigationProcess("robot_localization", "ekf_node", "ekf_filter_node")


def arguments() -> tuple[Argument, ...]:
    """Returns the arguments of nav2.launch.py."""
    own = (
        Argument("map", TEXT, "saved map, a .yaml of map_saver_cli"),
        Argument(
            "slam", TRUTH, "build the map while walking, with SLAM Toolbox, instead of using a saved one", "false"
        ),
        Argument("ekf", TRUTH, "odometry of robot_localization; start the robot with enable_odom_tf:=false", "false"),
        Argument(
            "terrain_map", TRUTH, "what the robot's terrain_map sees is an obstacle, too; empty: if it has a camera"
        ),
        Argument(
            "params_file", TEXT, "Nav2 parameters, used unchanged; empty: config/nav2.yaml filled in for this robot"
        ),
    )
    shared = ("robot", "gait", "namespace", "tf_frame_prefix", "use_sim_time", "enable_stamped_cmd_vel", "cmd_vel")
    return (*(ARGUMENTS[name] for name in shared), *own)


def nav2_trees() -> Path | None:
    """The folder of the behaviour trees of Nav2; None if it is not installed."""
    try:
        found = Path(get_package_share_directory("nav2_bt_navigator"), "behavior_trees")
    except PackageNotFoundError:
        return None
    return found if found.is_dir() else None


def plan(given: Mapping[str, object] | None = None, trees: Path | None = None) -> NavigationGraph:
    """Returns the graph for these arguments, given as texts or values. Raises GraphError, RobotFileError.

    `trees` is the folder of Nav2's behaviour trees, which get the times of the robot; None: Nav2 takes its own.
    """
    values = argument_values("nav2", arguments(), given or {})
    map_file = _map(values)
    localization = SLAM if values["slam"] else SAVED_MAP
    namespace = str(values.get("namespace", "")).strip("/")
    managers = {"lifecycle_manager_localization": localization, "lifecycle_manager_navigation": SERVERS}
    document = _document(values)
    for name, managed in managers.items():
        document[(name,)] = {"autostart": True, "node_names": [process.name for process in managed]}
    if map_file:
        document.setdefault(("map_server",), {}).setdefault("yaml_filename", map_file)
    _complete(document, values)
    _adapt(document, values, namespace)
    full = f"/{namespace}" if namespace else ""
    processes = [*localization, *SERVERS, *([EKF] if values["ekf"] else [])]
    processes += [NavigationProcess("nav2_lifecycle_manager", "lifecycle_manager", name) for name in managers]
    started = {process.name for process in processes} | {name for path in COSTMAPS for name in path}
    return NavigationGraph(
        tuple(_remapped(process, values) for process in processes),
        {
            f"{full}/{'/'.join(path)}": {"ros__parameters": section}
            for path, section in document.items()
            if path[-1] in started or "*" in path[-1]
        },
        namespace,
        {} if trees is None else _trees(values, trees, document.get(("bt_navigator",), {})),
    )


def _trees(values: Mapping[str, ParameterValue], folder: Path, section: Mapping[str, Any]) -> dict[str, str]:
    """Nav2's trees with the times of the robot, unless the parameter file names others."""
    described = _described(values)
    try:
        return {
            parameter: fill_tree((folder / name).read_text(encoding="utf-8"), described)
            for parameter, name in TREES.items()
            if not section.get(parameter) and (folder / name).is_file()
        }
    except TreeError as error:
        raise GraphError(f"{folder}: a behaviour tree {error}") from None


def _described(values: Mapping[str, ParameterValue]) -> Nav2Robot:
    robot = load(str(values["robot"]))
    try:
        described = describe(robot.robot, str(values.get("gait", "")))
    except ValueError as error:
        raise GraphError(f"{robot.path}: {error}") from None
    return replace(described, sees=bool(values.get("terrain_map", described.sees)))


def _map(values: Mapping[str, ParameterValue]) -> str:
    """Absolute path of the saved map; empty with SLAM."""
    name = str(values.get("map", ""))
    if bool(name) == bool(values["slam"]):
        raise GraphError("map, slam: give one of the two, map:=FILE.yaml for a saved map or slam:=true to build one")
    path = Path(name).expanduser().absolute()
    if name and not path.is_file():
        raise GraphError(f"map: there is no {path}; save one with ros2 run nav2_map_server map_saver_cli -f NAME")
    return str(path) if name else ""


def _document(values: Mapping[str, ParameterValue]) -> dict[tuple[str, ...], dict[str, Any]]:
    """Parameters by the parts of node names, from the Nav2 file; nodes that are not in it, from their own files."""
    own = str(values.get("params_file", ""))
    source = Path(own).expanduser() if own else share("config", "nav2.yaml")
    try:
        text = read_text(source)
    except UnusableFileError as error:
        raise GraphError(f"params_file: {source} {error}") from None
    if not own:
        changes = NAV2_CHANGES[distribution()]
        try:
            text = fill(text, _described(values), changes.renamed, changes.added)
        except Nav2FileError as error:
            raise GraphError(f"{source}: {error}") from None
    document = dict(_nodes(_parsed(text, source)))
    for enabled, name in ((values["slam"], "slam_toolbox"), (values["ekf"], "robot_localization")):
        if enabled:
            file = share("config", f"{name}.yaml")
            document = dict(_nodes(_parsed(read_text(file), file))) | document
    return document


def _parsed(text: str, source: Path) -> dict[str, Any]:
    try:
        document = parse(text, parser("safe"))
    except UnusableYamlError as error:
        raise GraphError(f"{source}:{error.line or 1}: {error}") from None
    if not isinstance(document, dict):
        raise GraphError(f"{source}: must be a mapping of node names")
    return document


def _nodes(document: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yields (parts of the name, parameters) of every node in a parameter file."""
    for name, section in document.items():
        if name == "ros__parameters":
            yield path, dict(section or {})
        elif isinstance(section, Mapping):
            yield from _nodes(section, (*path, *str(name).strip("/").split("/")))


def _complete(document: dict[tuple[str, ...], dict[str, Any]], values: Mapping[str, ParameterValue]) -> None:
    """Adds the values of the launch arguments that the files do not set."""
    for name in STAMPED:
        section = document.setdefault((name,), {})
        section.setdefault("enable_stamped_cmd_vel", values["enable_stamped_cmd_vel"])
    for process in (*SERVERS, *SAVED_MAP):
        document.setdefault((process.name,), {})
    for path in COSTMAPS:
        document.setdefault(path, {})
    for section in document.values():
        section.setdefault("use_sim_time", values["use_sim_time"])


def _adapt(
    document: dict[tuple[str, ...], dict[str, Any]], values: Mapping[str, ParameterValue], namespace: str
) -> None:
    """Adds the prefix to frames, and the namespace to the source topics of costmaps, which must be absolute."""
    prefix = str(values.get("tf_frame_prefix", ""))
    for path, section in document.items():
        for owner, key in _leaves(section):
            text = owner[key]
            if not isinstance(text, str) or not text:
                continue
            if key in FRAME_KEYS and (text != MAP_FRAME or values["slam"]):
                owner[key] = _frame(prefix + text, path, key)
            elif key in ("topic", "map_topic") and path in COSTMAPS and text.startswith("/") and namespace:
                owner[key] = f"/{namespace}{text}"


def _frame(text: str, path: tuple[str, ...], key: str) -> str:
    try:
        return ros_names.frame(text)
    except ros_names.RosNameError as error:
        raise GraphError(f"params_file: {key} of {'/'.join(path)}: {error}") from None


def _leaves(section: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    for key, value in list(section.items()):
        if isinstance(value, dict):
            yield from _leaves(value)
        else:
            yield section, key


def _remapped(process: NavigationProcess, values: Mapping[str, ParameterValue]) -> NavigationProcess:
    remaps = dict(process.remaps)
    if values["ekf"] and process.name in ODOMETRY:
        remaps["odom"] = "odometry/filtered"
    if process.name == "collision_monitor" and values["cmd_vel"] != "cmd_vel":
        remaps["cmd_vel"] = str(values["cmd_vel"])
    return replace(process, remaps=remaps)
