# SPDX-License-Identifier: Apache-2.0
"""Names of legs, joints, feet and nodes, and how messages quote them; only this module derives names from other names.

A robot has any number of legs; `STANDARD` is the order of a six-legged one. Rows of every array in the
package follow the order of the legs in the robot file, joints in the order of `JOINTS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_NAME = 64  # characters of the name of a robot, leg, joint, gait, motion
MAX_QUOTED = 60  # characters of an untrusted text in a message
STANDARD = ("left_front", "left_middle", "left_rear", "right_front", "right_middle", "right_rear")
JOINTS = ("coxa", "femur", "tibia")
WALKS_WITHOUT = "walks_without"  # kind of the statement of gait_planner that legs are lost
HARDWARE_NODES = ("servo_driver", "mujoco_sim")  # one of them moves the joints of a robot, and measures them


def joint_name(leg: str, joint: str) -> str:
    """Returns the name of a joint in URDF and JointState, e.g. `left_front_coxa_joint`."""
    return f"{leg}_{joint}_joint"


def extra_joint_name(name: str) -> str:
    """Returns the name of an extra joint in URDF and JointState, e.g. `pan_joint`."""
    return f"{name}_joint"


def extra_link_name(name: str) -> str:
    """Returns the name of the link that an extra joint turns, e.g. `pan_link`."""
    return f"{name}_link"


def short_joint_name(joint: str) -> str:
    """Returns the name of a joint without its suffix, for messages, e.g. `left_front_coxa`."""
    return joint.removesuffix("_joint")


def leg_and_joint(joint: str) -> tuple[str, str]:
    """Returns leg and joint of the name of a joint, e.g. `left_front` and `coxa`."""
    leg, _, kind = short_joint_name(joint).rpartition("_")
    return leg, kind


def foot_name(leg: str) -> str:
    """Returns the name of a foot in URDF and foot_targets, e.g. `left_front_foot`."""
    return f"{leg}_foot"


def joint_names(legs: Iterable[str]) -> tuple[str, ...]:
    """Returns all joint names, leg by leg, coxa to tibia."""
    return tuple(joint_name(leg, joint) for leg in legs for joint in JOINTS)


def enumerated(words: Iterable[str]) -> str:
    """Returns words as an enumeration for a message: `a`, `a and b`, `a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def printable(text: str) -> str:
    """An untrusted text in one line that a terminal shows as it is: others are escaped as in Python."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def shortened(text: str, max_length: int = MAX_QUOTED) -> str:
    """An untrusted text for a message: one printable line of at most `max_length` characters."""
    line = printable(text[: max_length + 1])  # the rest may be long
    return line if len(line) <= max_length else f"{line[: max_length - 1]}…"


def quoted(text: str) -> str:
    """Quotes an untrusted text for a message: one printable line, shortened."""
    return repr(text if len(text) <= MAX_QUOTED else f"{text[: MAX_QUOTED - 1]}…")


def file_stem(name: str, otherwise: str) -> str:
    """A name of a file without suffix from any text: what is no word in a name is left out."""
    return re.sub(r"[^\w -]", "", name).strip() or otherwise
