# SPDX-License-Identifier: Apache-2.0
"""The optional section `extra_joints` of a robot file: joints beside the legs, such as those of a camera head."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from hexapod_control.config.document import DocumentEntry
from hexapod_control.config.robots.robot_keys import (
    EXTRA_JOINT,
    EXTRA_MULTIPLIER,
    EXTRA_OFFSETS,
    EXTRA_RANGES,
    JOINT_TYPE,
    MAX_ANGLE_DEG,
    MIN_RANGE_DEG,
    REVOLUTE,
)
from hexapod_control.config.schema import (
    CheckedValues,
    NumberRow,
    checked_section,
    known_keys,
    nearest_word,
    refuse_name,
    refuse_unknown,
)
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.names import JOINTS, extra_joint_name, extra_link_name, foot_name, joint_name
from hexapod_control.core.robot import Camera, ExtraJoint, Joint, Leg, Vector

BASE = "base_link"
SECTION = "extra_joints"
_OPTIONAL = ("parent", "rpy_deg", "center", "type", "mimic")
_ZERO = (0.0, 0.0, 0.0)
_MIN_AXIS = 0.1  # length of a vector that names a direction

ServoJoint = Callable[[DocumentEntry, float, float], Joint]
"""The joint of an entry with its servo, from limits [rad]."""


def read_extra_joints(
    root: DocumentEntry, legs: Iterable[Leg], cameras: Iterable[Camera], servo_joint: ServoJoint
) -> tuple[ExtraJoint, ...]:
    """The joints of the section in its order, none if there is no such section. Raises RobotFileError."""
    section = root.children.get(SECTION)
    if section is None:
        return ()
    taken = _taken(legs, cameras)
    found: dict[str, ExtraJoint] = {}
    for name, entry in checked_section(section, "one entry per joint").children.items():
        refuse_name(entry, name, "joint", "pan")
        for new in (extra_joint_name(name), extra_link_name(name)):
            if new in taken:
                raise entry.error(
                    Sentence("file_taken", name=new),
                    Sentence("file_other_name"),
                    Sentence("file_example", example="pan"),
                )
        found[name] = _extra_joint(name, entry, found, servo_joint)
    _check_mass(root, section, found)
    return tuple(found.values())


def _taken(legs: Iterable[Leg], cameras: Iterable[Camera]) -> set[str]:
    """The joints and links that a URDF has already."""
    names = {BASE, "imu_link", "imu_joint", "lidar_link"}
    for leg in legs:
        names |= {joint_name(leg.name, joint) for joint in JOINTS} | {f"{foot_name(leg.name)}_joint"}
        names |= {f"{leg.name}_{link}" for link in JOINTS} | {foot_name(leg.name)}
    for camera in cameras:
        names |= {extra_joint_name(f"{camera.name}{part}") for part in ("", "_depth", "_depth_optical")}
        names.add(extra_link_name(camera.name))
    return names


def _extra_joint(name: str, entry: DocumentEntry, above: dict[str, ExtraJoint], servo_joint: ServoJoint) -> ExtraJoint:
    checked_section(entry)
    kind = JOINT_TYPE.value(entry.children["type"]) if "type" in entry.children else REVOLUTE
    follows = "mimic" in entry.children
    own: tuple[NumberRow, ...] = (EXTRA_MULTIPLIER, EXTRA_OFFSETS[kind]) if follows else EXTRA_RANGES[kind]
    rows = (*EXTRA_JOINT, *own)
    refuse_unknown(entry, known_keys(row.key for row in rows) | ({} if follows else {"servo": None}))
    optional = (*_OPTIONAL, *(row.key for row in own if follows))
    values = CheckedValues.checked(entry, [row for row in rows if row.key not in optional or row.key in entry.children])

    def vector(key: str) -> Vector:
        return values.vector(key) if key in values.values else _ZERO

    roll, pitch, yaw = map(math.radians, vector("rpy_deg"))
    made = _Drive.mimic(values, above, kind) if follows else _Drive.servo(values, kind, partial(servo_joint, entry))
    return ExtraJoint(
        name=name,
        parent=_parent(values, above),
        position=values.vector("position"),
        rpy=(roll, pitch, yaw),
        axis=_axis(values),
        size=values.vector("size"),
        center=vector("center"),
        mass=values.number("mass"),
        slides=kind != REVOLUTE,
        **made._asdict(),
    )


class _Drive(NamedTuple):
    """What moves an extra joint: its fields of the same names."""

    joint: Joint
    ratio: float = 1.0
    offset: float = 0.0
    mimics: str = ""

    @classmethod
    def servo(cls, values: CheckedValues, kind: str, servo_joint: Callable[[float, float], Joint]) -> _Drive:
        """A servo of its own, which turns a joint by the angle of the servo, or lets it slide."""
        if kind == REVOLUTE:
            lower, upper = (math.radians(values.number(end)) for end in ("lower_deg", "upper_deg"))
            _check_range(values, "lower_deg", "upper_deg", MIN_RANGE_DEG, "deg")
            return cls(servo_joint(lower, upper))
        ratio = values.number("travel_per_turn") / math.tau
        lower, upper = (values.number(end) / ratio for end in ("lower", "upper"))
        _check_range(values, "lower", "upper", math.radians(MIN_RANGE_DEG) * ratio, "m")
        if max(-lower, upper) > math.radians(MAX_ANGLE_DEG):
            turned = Sentence("extra_joint_turns", lower=math.degrees(lower), upper=math.degrees(upper))
            bound = Sentence("extra_joint_turns_bound", most=MAX_ANGLE_DEG)
            raise values.entries["travel_per_turn"].error(turned, bound, Sentence("extra_joint_travel"))
        return cls(servo_joint(lower, upper), ratio)

    @classmethod
    def mimic(cls, values: CheckedValues, above: dict[str, ExtraJoint], kind: str) -> _Drive:
        """The servo of another joint, of which it is a multiple."""
        name = values.text("mimic")
        masters = [joint.name for joint in above.values() if not joint.mimics]
        if name not in masters:
            known = Sentence("file_one_of", names=" or ".join(masters)) if masters else Sentence("extra_joint_mimicked")
            hint = nearest_word(name, masters) or Sentence("extra_joint_mimic")
            raise values.entries["mimic"].error(Sentence("file_value", value=name), known, hint)
        multiplier = values.number(EXTRA_MULTIPLIER.key) if EXTRA_MULTIPLIER.key in values.values else 1.0
        if multiplier == 0.0:
            multiplier_entry = values.entries[EXTRA_MULTIPLIER.key]
            zero = Sentence("file_value", value=0)
            raise multiplier_entry.error(zero, Sentence("file_not_zero"), Sentence("extra_joint_back"))
        key = EXTRA_OFFSETS[kind].key
        offset = values.number(key) if key in values.values else 0.0
        master = above[name]
        shift = math.radians(offset) if kind == REVOLUTE else offset
        return cls(master.joint, multiplier * master.ratio, multiplier * master.offset + shift, name)


def _check_range(values: CheckedValues, lower: str, upper: str, least: float, unit: str) -> None:
    if values.number(upper) - values.number(lower) < least:
        what = Sentence("joint_bounds", lower=values.number(lower), key=upper, upper=values.number(upper))
        bound = Sentence("joint_range_below", least=least, unit=unit, key=upper)
        hint = Sentence("file_swapped_or_radians" if unit == "deg" else "file_swapped")
        raise values.entries[lower].error(what, bound, hint)


def _parent(values: CheckedValues, above: dict[str, ExtraJoint]) -> str:
    if "parent" not in values.values or values.text("parent") == BASE:
        return BASE
    parent = values.text("parent")
    if parent not in above:
        known = (BASE, *above)
        hint = nearest_word(parent, known) or Sentence("extra_joint_parent")
        raise values.entries["parent"].error(
            Sentence("file_value", value=parent), Sentence("file_one_of", names=" or ".join(known)), hint
        )
    return extra_link_name(parent)


def _axis(values: CheckedValues) -> Vector:
    x, y, z = values.vector("axis")
    length = math.hypot(x, y, z)
    if length < _MIN_AXIS:
        bound = Sentence("direction_bound")
        raise values.entries["axis"].error(
            Sentence("file_triple", first=x, second=y, third=z), bound, Sentence("extra_joint_axis_example")
        )
    return x / length, y / length, z / length


def _check_mass(root: DocumentEntry, section: DocumentEntry, found: dict[str, ExtraJoint]) -> None:
    """Checks that the body is heavier than what its extra joints turn, which is part of it."""
    body = root.children["body"].children["mass"].value
    total = sum(extra.mass for extra in found.values())
    assert isinstance(body, int | float)
    if total >= body:
        what = Sentence("extra_joint_masses", total=total)
        raise section.error(what, Sentence("extra_joint_mass", mass=body), Sentence("extra_joint_mass_contained"))
