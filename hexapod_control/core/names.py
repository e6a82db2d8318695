"""Names of legs, joints and feet: the one place where a name is built from another.

A robot has any number of legs; `STANDARD` is the order of a six-legged one. Rows of every array in the
package follow the order of the legs in the robot file, joints in the order of `JOINTS`.
"""

from __future__ import annotations

from collections.abc import Iterable

MAX_QUOTED = 60  # characters of a text from outside in a message
STANDARD = ("left_front", "left_middle", "left_rear", "right_front", "right_middle", "right_rear")
JOINTS = ("coxa", "femur", "tibia")


def joint_name(leg: str, joint: str) -> str:
    """Name of a joint in the URDF and in JointState, e.g. `left_front_coxa_joint`."""
    return f"{leg}_{joint}_joint"


def foot_name(leg: str) -> str:
    """Name of a foot's frame and of its row in foot_targets, e.g. `left_front_foot`."""
    return f"{leg}_foot"


def joint_names(legs: Iterable[str]) -> tuple[str, ...]:
    """All joint names, leg by leg, coxa to tibia."""
    return tuple(joint_name(leg, joint) for leg in legs for joint in JOINTS)


def shortened(text: str, most: int = MAX_QUOTED) -> str:
    """A text from outside for a message: at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def quoted(text: str) -> str:
    """A text from outside in quotes for a message: one printable line, shortened."""
    return repr(shortened(text))
