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


def urdf(robot_file: RobotFile, *, ros2_control: bool = False) -> str:
    """Generates the URDF of a validated robot file with xacro, which gets the numbers of the robot.

    `ros2_control` adds the tags of ros2_control (docs/ros2-control.md).
    """
    return _expanded(robot_file.robot, ros2_control)


@lru_cache(maxsize=16)  # xacro takes a tenth of a second, and several parts of a program need the same URDF
def _expanded(robot: Robot, ros2_control: bool) -> str:
    template = share("urdf", "hexapod.urdf.xacro")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        YAML(typ="safe").dump(asdict(robot), file)
        file.flush()
        arguments = {"robot": file.name, "ros2_control": str(ros2_control).lower()}
        document = xacro.process_file(str(template), mappings=arguments)
    document.documentElement.setAttribute("name", robot.name)
    return str(document.toprettyxml(indent="  "))


def controllers(robot: Robot) -> str:
    """The parameter file of ros2_control for this robot; comments and all other values are preserved."""
    yaml = parser()
    yaml.width = 120
    yaml.indent(mapping=2, sequence=4, offset=2)
    document = parse(read_text(share("config", "ros2_control.yaml")), yaml)
    controller = document["/**/joint_trajectory_controller"]["ros__parameters"]
    controller["joints"][:] = joint_names(robot.leg_names)
    stream = io.StringIO()
    yaml.dump(document, stream)
    return stream.getvalue()
