# SPDX-License-Identifier: Apache-2.0
"""The URDF of a robot, and the controllers of config/ros2_control.yaml for its joints."""

from __future__ import annotations

import io
import tempfile
from dataclasses import asdict
from functools import lru_cache

import xacro
from ruamel.yaml import YAML

from hexapod_control.config.bounded_yaml import parse, parser, read_text
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.shipped_files import share
from hexapod_control.core.names import joint_names
from hexapod_control.core.robot import Robot

TOPICS = "topics"
HARDWARE = {
    TOPICS: "joint_state_topic_hardware_interface/JointStateTopicSystem",
    "mock": "mock_components/GenericSystem",
    "mujoco": "mujoco_ros2_control/MujocoSystemInterface",
    "gazebo": "gz_ros2_control/GazeboSimSystem",
}
"""Plugins through which ros2_control moves the joints; those of TOPICS are moved by servo_driver or mujoco_sim."""


def urdf(robot_file: RobotFile, *, ros2_control: str = "") -> str:
    """Generates the URDF of a validated robot file with xacro, which gets the numbers of the robot.

    `ros2_control`, one of HARDWARE, adds the tags of ros2_control (docs/ros2-control.md).
    """
    return _expanded(robot_file.robot, HARDWARE[ros2_control] if ros2_control else "")


@lru_cache(maxsize=16)  # xacro takes a tenth of a second, and several parts of a program need the same URDF
def _expanded(robot: Robot, plugin: str) -> str:
    template = share("urdf", "hexapod.urdf.xacro")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        YAML(typ="safe").dump(asdict(robot), file)
        file.flush()
        arguments = {"robot": file.name, "ros2_control": plugin}
        document = xacro.process_file(str(template), mappings=arguments)
    document.documentElement.setAttribute("name", robot.name)
    return str(document.toprettyxml(indent="  "))


def controllers(robot: Robot, hardware: str = TOPICS) -> str:
    """The parameter file of ros2_control for this robot; comments and all other values are preserved.

    Other hardware than TOPICS needs the broadcaster's joint_states.
    """
    yaml = parser()
    yaml.width = 120
    yaml.indent(mapping=2, sequence=4, offset=2)
    document = parse(read_text(share("config", "ros2_control.yaml")), yaml)
    controller = document["/**/joint_trajectory_controller"]["ros__parameters"]
    controller["joints"][:] = joint_names(robot.leg_names)
    document["/**/joint_state_broadcaster"]["ros__parameters"]["use_local_topics"] = hardware == TOPICS
    stream = io.StringIO()
    yaml.dump(document, stream)
    return stream.getvalue()
