# SPDX-License-Identifier: Apache-2.0
"""What launch/gazebo.launch.py starts: Gazebo Harmonic, the robot in it, the bridge of its topics, and our nodes.

Checked against the sources of gz_ros2_control and ros_gz, not run (docs/gazebo.md).
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from ruamel.yaml import YAML

from hexapod_control.bringup import node_graph
from hexapod_control.bringup.launch_arguments import (
    TEXT,
    TRUTH,
    Argument,
    GraphError,
    ParameterValue,
    argument_values,
    is_urdf,
)
from hexapod_control.bringup.node_graph import GAZEBO, STANDARD_FRAMES, NodeSpec
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import POSITION_CONTROLLER, controllers, urdf
from hexapod_control.config.shipped_files import share
from hexapod_control.core.kinematics.support_detection import belly_height
from hexapod_control.core.names import foot_name
from hexapod_control.core.robot import Robot

HARDWARE = "gazebo"
CONTROLLERS = ("joint_state_broadcaster", POSITION_CONTROLLER)
DROP_M = 0.005  # from which the robot is let down on its belly
FROM_GAZEBO = "GZ_TO_ROS"
PACKAGES = "sudo apt install ros-jazzy-ros-gz ros-jazzy-gz-ros2-control ros-jazzy-ros2-controllers"


@dataclass(frozen=True, slots=True)
class GazeboPlan:
    """What is started."""

    simulator: Path  # launch file of ros_gz_sim
    simulator_arguments: Mapping[str, str]
    programs: tuple[NodeSpec, ...]  # of other packages
    nodes: tuple[NodeSpec, ...]  # ours


def arguments() -> tuple[Argument, ...]:
    """The launch arguments."""
    own = (
        Argument("world_file", TEXT, "SDF file of the world, by path or as Gazebo finds it; empty: a level ground"),
        Argument("headless", TRUTH, "without the window of Gazebo", "false"),
    )
    return node_graph.arguments(GAZEBO) + own


def bridges(robot: Robot) -> list[dict[str, str]]:
    """The topics of Gazebo as ROS gets them: one entry each for the parameter `config_file` of ros_gz_bridge."""
    rows = [
        ("/clock", "/clock", "rosgraph_msgs/msg/Clock", "gz.msgs.Clock"),
        ("imu/data", f"/{robot.name}/imu", "sensor_msgs/msg/Imu", "gz.msgs.IMU"),
    ]
    for leg in robot.legs:
        topic = f"{foot_name(leg.name)}/wrench"
        rows.append((topic, f"/{robot.name}/{topic}", "geometry_msgs/msg/WrenchStamped", "gz.msgs.Wrench"))
    keys = ("ros_topic_name", "gz_topic_name", "ros_type_name", "gz_type_name")
    return [{**dict(zip(keys, row, strict=True)), "direction": FROM_GAZEBO} for row in rows]


def plan(given: Mapping[str, object], folder: Path) -> GazeboPlan:
    """What is started for these arguments; writes parameters and bridges into a folder.

    Raises GraphError or FileError.
    """
    values = argument_values(GAZEBO, arguments(), given)
    if is_urdf(str(values["robot"])):
        raise GraphError(f"robot: must be a robot file, is {values['robot']}; hexapod import makes one of a URDF")
    file = load(str(values["robot"]))
    parameters = folder / "controllers.yaml"
    parameters.write_text(controllers(file.robot, HARDWARE), encoding="utf-8")
    bridge = folder / "bridge.yaml"
    stream = io.StringIO()
    YAML().dump(bridges(file.robot), stream)
    bridge.write_text(stream.getvalue(), encoding="utf-8")
    description = urdf(file, ros2_control=HARDWARE, parameters=str(parameters))
    world = str(values.get("world_file", share("config", "gazebo_world.sdf")))
    own = {name: value for name, value in given.items() if name not in ("world_file", "headless")}
    height = f"{belly_height(file.robot) + DROP_M:.4f}"
    where = ("-topic", "robot_description", "-name", file.robot.name, "-z", height)
    time: dict[str, ParameterValue] = {"use_sim_time": True}
    return GazeboPlan(
        _simulator(),
        {"gz_args": f"-r {'-s ' if values['headless'] else ''}{world}", "on_exit_shutdown": "true"},
        (
            NodeSpec(STANDARD_FRAMES, STANDARD_FRAMES, {"robot_description": description, **time}),
            NodeSpec("create", "ros_gz_sim", arguments=where),
            NodeSpec("parameter_bridge", "ros_gz_bridge", {"config_file": str(bridge), **time}),
            NodeSpec("spawner", "controller_manager", arguments=(*CONTROLLERS, "--param-file", str(parameters))),
        ),
        node_graph.specs(GAZEBO, own, in_launch_file=True),
    )


def _simulator() -> Path:
    try:
        return Path(get_package_share_directory("ros_gz_sim"), "launch", "gz_sim.launch.py")
    except PackageNotFoundError:
        raise GraphError(f"Gazebo is not installed: {PACKAGES}") from None
