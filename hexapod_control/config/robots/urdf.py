"""The URDF of a robot file."""

from __future__ import annotations

import xacro

from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.shipped_files import share


def urdf(robot_file: RobotFile) -> str:
    """URDF text made by xacro from a validated robot file; the name of the robot is the file's."""
    template = share("urdf", "hexapod.urdf.xacro")
    document = xacro.process_file(str(template), mappings={"robot_file": str(robot_file.path)})
    document.documentElement.setAttribute("name", robot_file.robot.name)
    return str(document.toprettyxml(indent="  "))
