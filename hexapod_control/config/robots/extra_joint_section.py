# SPDX-License-Identifier: Apache-2.0
"""The optional section `extra_joints` of a robot file: joints beside the legs, such as those of a camera head."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from hexapod_control.config.document import DocumentEntry
from hexapod_control.config.robots.robot_keys import EXTRA_JOINT, MIN_RANGE_DEG
from hexapod_control.config.schema import (
    CheckedValues,
    checked_section,
    did_you_mean,
    known_keys,
    refuse_name,
    refuse_unknown,
)
from hexapod_control.core.names import JOINTS, extra_joint_name, extra_link_name, foot_name, joint_name
from hexapod_control.core.robot import Camera, ExtraJoint, Joint, Leg, Vector

BASE = "base_link"
SECTION = "extra_joints"
_OPTIONAL = ("parent", "rpy_deg", "center")
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
                raise entry.error(f"would be called {new}, which exists", "must be another name", "e.g. pan")
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
    refuse_unknown(entry, known_keys(row.key for row in EXTRA_JOINT) | {"servo": None})
    values = CheckedValues.checked(
        entry, [row for row in EXTRA_JOINT if row.key not in _OPTIONAL or row.key in entry.children]
    )
    lower, upper = (values.number(f"{side}_deg") for side in ("lower", "upper"))
    if upper - lower < MIN_RANGE_DEG:
        bound = f"must be at least {MIN_RANGE_DEG:g} deg below upper_deg"
        what = f"is {lower:g}, upper_deg is {upper:g}"
        raise values.entries["lower_deg"].error(what, bound, "are the two swapped, or in radians?")

    def vector(key: str) -> Vector:
        return values.vector(key) if key in values.values else _ZERO

    roll, pitch, yaw = map(math.radians, vector("rpy_deg"))
    return ExtraJoint(
        name=name,
        parent=_parent(values, above),
        position=values.vector("position"),
        rpy=(roll, pitch, yaw),
        axis=_axis(values),
        joint=servo_joint(entry, math.radians(lower), math.radians(upper)),
        size=values.vector("size"),
        center=vector("center"),
        mass=values.number("mass"),
    )


def _parent(values: CheckedValues, above: dict[str, ExtraJoint]) -> str:
    if "parent" not in values.values or values.text("parent") == BASE:
        return BASE
    parent = values.text("parent")
    if parent not in above:
        known = (BASE, *above)
        hint = did_you_mean(parent, known) or "parents stand above their children; nothing can be mounted to a leg"
        raise values.entries["parent"].error(f"is {parent}", f"must be {' or '.join(known)}", hint)
    return extra_link_name(parent)


def _axis(values: CheckedValues) -> Vector:
    x, y, z = values.vector("axis")
    length = math.hypot(x, y, z)
    if length < _MIN_AXIS:
        bound = "must be a direction"
        raise values.entries["axis"].error(f"is [{x:g}, {y:g}, {z:g}]", bound, "e.g. [0, 0, 1] for a joint that pans")
    return x / length, y / length, z / length


def _check_mass(root: DocumentEntry, section: DocumentEntry, found: dict[str, ExtraJoint]) -> None:
    """Checks that the body is heavier than what its extra joints turn, which is part of it."""
    body = root.children["body"].children["mass"].value
    total = sum(extra.mass for extra in found.values())
    assert isinstance(body, int | float)
    if total >= body:
        what = f"has masses of {total:g} kg together"
        raise section.error(what, f"must be below body.mass, {body:g} kg", "body.mass contains them")
