# SPDX-License-Identifier: Apache-2.0
"""The section `measured` of a robot file: what its servos are really like, as `hexapod identify` found it."""

from __future__ import annotations

import math
from dataclasses import replace

from hexapod_control.config.document import DocumentEntry
from hexapod_control.config.robots.robot_keys import MEASURED, MEASURED_DATE
from hexapod_control.config.schema import CheckedValues, checked_section, refuse_unknown, require
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import FRICTION_SHARE, Joint, Leg, Robot


def with_measured(robot: Robot, file: DocumentEntry) -> Robot:
    """The robot with what the section says of its servos; as it is without one. Raises RobotFileError."""
    section = file.children.get("measured")
    if section is None:
        return robot
    legs = dict.fromkeys(robot.leg_names)
    refuse_unknown(section, {"date": None, **dict.fromkeys(legs, dict.fromkeys(JOINTS, _known()))})
    MEASURED_DATE.value(require(section, MEASURED_DATE))
    return replace(robot, legs=tuple(_leg(leg, _below(section, leg.name)) for leg in robot.legs))


def _leg(leg: Leg, section: DocumentEntry | None) -> Leg:
    coxa, femur, tibia = (
        joint if (entry := _below(section, name)) is None else replace(joint, measured=_errors(joint, entry))
        for name, joint in zip(JOINTS, leg.joints, strict=True)
    )
    return replace(leg, coxa_joint=coxa, femur_joint=femur, tibia_joint=tibia)


def _errors(joint: Joint, entry: DocumentEntry) -> tuple[tuple[str, float], ...]:
    """The errors of a servo by their names in `core.reality`; measured play has the dead band in it."""
    scales = {
        "latency": ("latency", 1.0),
        "backlash_deg": ("backlash", math.radians(1.0)),
        "stiffness": ("stiffness", 1.0 / joint.stiffness),
        "friction": ("friction", 1.0 / (FRICTION_SHARE * joint.stall_torque)),
        "no_load_speed": ("no_load_speed", 1.0 / joint.no_load_speed),
        "resolution_deg": ("resolution", math.radians(1.0)),
    }
    found = {}
    for row in MEASURED:
        if row.key in entry.children:
            name, scale = scales[row.key]
            found[name] = scale * CheckedValues.checked(entry, (row,)).point(row.key)[0]
    if "backlash" in found:
        found["dead_band"] = 0.0
    return tuple(found.items())


def _known() -> dict[str, object]:
    return dict.fromkeys(row.key for row in MEASURED)


def _below(section: DocumentEntry | None, name: str) -> DocumentEntry | None:
    child = None if section is None else section.children.get(name)
    return None if child is None else checked_section(child)
