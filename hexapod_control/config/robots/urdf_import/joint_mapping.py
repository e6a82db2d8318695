# SPDX-License-Identifier: Apache-2.0
"""Joint mapping: topics use the joint names, signs and zeros of a URDF instead of the robot file's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hexapod_control.config.document import DocumentEntry, read
from hexapod_control.config.errors import FileError
from hexapod_control.config.schema import NumberRow, TextRow, refuse_unknown, require
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import MAX_NAME, joint_names, quoted
from hexapod_control.core.quantity import Quantity
from hexapod_control.core.robot import Robot

MAX_ANGLE = 100.0  # [rad]
NAME = TextRow("name", rf"\S{{1,{MAX_NAME}}}", "the name of a joint of the URDF", f"at most {MAX_NAME}, no space")
SIGN = NumberRow("sign", Quantity("", -1, 1, "1, or -1 for an axis in the opposite direction", whole=True))
OFFSET = NumberRow("offset", Quantity("rad", -MAX_ANGLE, MAX_ANGLE, "the URDF's angle where ours is 0"))
ENTRY = (NAME, SIGN, OFFSET)


class JointMappingError(FileError):
    """A joint mapping that cannot be used."""

    kind = "joint mapping"
    example = "hexapod import writes one beside the robot file"


@dataclass(frozen=True, slots=True)
class JointMapping:
    """Joint names and angles of a URDF. URDF angle = sign * (angle of the robot file) + offset."""

    names: tuple[str, ...]  # in the order of the robot's joints, leg by leg
    signs: Array  # (n, 3) of 1 and -1
    offsets: Array  # (n, 3) [rad]
    fixed: Mapping[str, float]  # [rad] angles of joints outside the legs


def load_mapping(path: str, robot: Robot) -> JointMapping | None:
    """The mapping of a file for a robot; None for an empty path. Raises JointMappingError."""
    return mapping_of(read(Path(path).expanduser(), JointMappingError), robot) if path else None


def mapping_of(root: DocumentEntry, robot: Robot) -> JointMapping:
    """As `load_mapping`, of a file that has been read."""
    refuse_unknown(root, dict.fromkeys(("joints", "fixed")))
    joints = _section(root, "joints")
    ours = joint_names(robot.leg_names)
    refuse_unknown(joints, dict.fromkeys(ours))
    rows = []
    for name in ours:
        if name not in joints.children:
            remedy = f"robot {robot.name} has this joint; is the mapping of another robot?"
            raise joints.error("is missing", remedy, below=name)
        rows.append(_row(joints.children[name]))
    names = tuple(row[0] for row in rows)
    fixed = root.children.get("fixed")
    values = {} if fixed is None else {name: _angle(name).number(fixed) for name in _section(root, "fixed").children}
    for name in values:
        if not name.isprintable() or not re.fullmatch(NAME.pattern, name):
            raise root.error(f"{quoted(name)} must be {NAME.allowed}, {NAME.hint}", below="fixed")
    for index, name in enumerate(names):
        if name in names[:index] or name in values:
            raise joints.children[ours[index]].error(f"names {quoted(name)}, which another entry names already")
    signs, offsets = (np.array([row[k] for row in rows]).reshape(-1, 3) for k in (1, 2))
    return JointMapping(names, signs, offsets, values)


def _angle(name: str) -> NumberRow:
    return NumberRow(name, Quantity("rad", -MAX_ANGLE, MAX_ANGLE, "the angle at which it stays"))


def _section(root: DocumentEntry, name: str) -> DocumentEntry:
    entry = root.children.get(name)
    if entry is None or not entry.is_section:
        raise root.error("must be a section", JointMappingError.example, below=name)
    return entry


def _row(entry: DocumentEntry) -> tuple[str, float, float]:
    refuse_unknown(entry, dict.fromkeys(row.key for row in ENTRY))
    name, sign, offset = (row.value(require(entry, row)) for row in ENTRY)
    assert isinstance(name, str) and isinstance(sign, int) and isinstance(offset, float)
    if sign == 0:
        raise entry.children["sign"].error("is 0", "must be 1 or -1")
    return name, sign, offset
