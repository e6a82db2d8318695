# SPDX-License-Identifier: Apache-2.0
"""A phantomx with a camera head: two extra joints, the second mounted to the first and at an angle."""

from pathlib import Path

from hexapod_control.config.robots.robot_file import RobotFile, from_text, resolve

SECTION = """
extra_joints:
  pan:
    position: [0.09, 0.0, 0.03]
    axis: [0, 0, 1]
    lower_deg: -90
    upper_deg: 90
    size: [0.03, 0.03, 0.02]
    mass: 0.03
  tilt:
    parent: pan
    position: [0.0, 0.005, 0.03]
    rpy_deg: [0, 10, 5]
    axis: [0, -0.7, 0]
    lower_deg: 5
    upper_deg: 60
    size: [0.02, 0.04, 0.03]
    center: [0.015, 0, 0.002]
    mass: 0.04
    servo: {stall_torque: 0.8}
"""
PATH = Path("/robot.yaml")
TEXT = resolve("phantomx").read_text() + SECTION


def head() -> RobotFile:
    return from_text(PATH, TEXT)


def head_file(folder: Path) -> Path:
    """A file with this robot."""
    path = folder / "head.yaml"
    path.write_text(TEXT)
    return path
