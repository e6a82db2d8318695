"""The parameter robot_description: the URDF made from a robot file, or a given URDF or xacro file."""

from __future__ import annotations

from pathlib import Path

from hexapod_control.config.robots.urdf_import.reading.urdf_text import read_urdf


def is_urdf(robot: str) -> bool:
    """Whether a value of the argument `robot` is a URDF or xacro file."""
    return robot.lower().endswith((".urdf", ".xacro"))


def robot_description(robot: str, *, ros2_control: bool = False) -> str:
    """Returns the URDF; `ros2_control` adds its tags to the URDF of a robot file. Raises FileError."""
    if is_urdf(robot):
        return read_urdf(Path(robot).expanduser(), {})
    from hexapod_control.config.robots import robot_file, urdf  # here, as it loads xacro

    return urdf.urdf(robot_file.load(robot), ros2_control=ros2_control)
