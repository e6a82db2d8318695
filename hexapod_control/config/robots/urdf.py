"""The URDF of a robot file."""

from __future__ import annotations

import json
import math
import tempfile
from functools import lru_cache

import xacro

from hexapod_control.config.document import plain
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.shipped_files import share
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Leg


def urdf(robot_file: RobotFile, *, ros2_control: bool = False) -> str:
    """Generates the URDF of a validated robot file with xacro; the file determines the name of the robot.

    `ros2_control` adds the tags of ros2_control (docs/ros2-control.md).
    """
    return _expanded(json.dumps(_complete(robot_file)), robot_file.robot.name, ros2_control)  # JSON is YAML


@lru_cache(maxsize=16)  # xacro takes a tenth of a second, and several parts of a program need the same URDF
def _expanded(complete: str, name: str, ros2_control: bool) -> str:
    template = share("urdf", "hexapod.urdf.xacro")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        file.write(complete)
        file.flush()
        arguments = {"robot_file": file.name, "ros2_control": str(ros2_control).lower()}
        document = xacro.process_file(str(template), mappings=arguments)
    document.documentElement.setAttribute("name", name)
    return str(document.toprettyxml(indent="  "))


def _complete(robot_file: RobotFile) -> object:
    """The file as plain data; every leg has the joint ranges and the servo that a robot file may omit.

    The length of a coxa is that of the loaded robot, which is never 0.
    """
    data = plain(robot_file.document)
    assert isinstance(data, dict)
    for leg in robot_file.robot.legs:
        own = data["legs"][leg.name]
        own |= {"joints": _ranges(leg), "servo": _servo(leg)}
        own["coxa"] = {**own.get("coxa", {}), "length": leg.coxa.length}
    return data


def _ranges(leg: Leg) -> dict[str, dict[str, float]]:
    limits = {name: (joint.lower, joint.upper) for name, joint in zip(JOINTS, leg.joints, strict=True)}
    return {
        name: {"lower_deg": math.degrees(lower), "upper_deg": math.degrees(upper)}
        for name, (lower, upper) in limits.items()
    }


def _servo(leg: Leg) -> dict[str, float]:
    return {"stall_torque": leg.femur_joint.stall_torque, "no_load_speed": leg.femur_joint.no_load_speed}
