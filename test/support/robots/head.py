# SPDX-License-Identifier: Apache-2.0
"""A phantomx with a camera head, two extra joints, the second at an angle on the first; and one with a gripper."""

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
GRIPPER = """
extra_joints:
  wrist:
    position: [0.1, 0.0, 0.01]
    axis: [1, 0, 0]
    lower_deg: -90
    upper_deg: 120
    size: [0.03, 0.02, 0.02]
    mass: 0.03
  left_finger:
    type: prismatic
    parent: wrist
    position: [0.03, 0.01, 0.0]
    rpy_deg: [0, 20, 0]
    axis: [0, 1, 0]
    lower: 0.002
    upper: 0.02
    travel_per_turn: 0.05
    size: [0.03, 0.005, 0.02]
    center: [0.015, 0, 0]
    mass: 0.01
  right_finger:
    type: prismatic
    mimic: left_finger
    multiplier: -1.5
    offset: -0.001
    parent: wrist
    position: [0.03, -0.01, 0.0]
    axis: [0, 1, 0]
    size: [0.03, 0.005, 0.02]
    center: [0.015, 0, 0]
    mass: 0.01
  tip:
    mimic: left_finger
    multiplier: 20
    offset_deg: 5
    parent: right_finger
    position: [0.03, 0.0, 0.0]
    axis: [0, 0, 1]
    size: [0.01, 0.004, 0.02]
    mass: 0.002
"""
PATH = Path("/robot.yaml")
PLAIN = resolve("phantomx").read_text()
TEXT = PLAIN + SECTION


def head() -> RobotFile:
    return from_text(PATH, TEXT)


def gripper() -> RobotFile:
    """A wrist, a finger that slides, one that mimics it, and on that one a tip that turns with the first."""
    return from_text(PATH, PLAIN + GRIPPER)


def head_file(folder: Path) -> Path:
    """A file with this robot."""
    path = folder / "head.yaml"
    path.write_text(TEXT)
    return path
