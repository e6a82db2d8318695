# SPDX-License-Identifier: Apache-2.0
"""The section `measured` of a robot file: what its servos are really like, as `hexapod identify` found it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hexapod_control.config.document import DocumentEntry
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.robots.robot_keys import MEASURED, MEASURED_DATE
from hexapod_control.config.schema import CheckedValues, checked_section, refuse_unknown, require
from hexapod_control.core.names import JOINTS
from hexapod_control.core.reality import Reality, expected
from hexapod_control.core.robot import FRICTION_SHARE

Pairs = Mapping[tuple[int, int], Mapping[str, tuple[float, float]]]
"""Values with their standard deviations, by key and by row and column of the joint."""


def measured_values(file: RobotFile) -> Pairs:
    """What the section says; empty without it. Raises RobotFileError."""
    section = file.document.children.get("measured")
    if section is None:
        return {}
    legs = dict.fromkeys(file.robot.leg_names)
    refuse_unknown(section, {"date": None, **dict.fromkeys(legs, dict.fromkeys(JOINTS, _known()))})
    MEASURED_DATE.value(require(section, MEASURED_DATE))
    found = {}
    for row, leg in enumerate(file.robot.leg_names):
        for column, joint in enumerate(JOINTS):
            entry = _below(_below(section, leg), joint)
            if entry is not None:
                found[row, column] = _pairs(entry)
    return found


def _known() -> dict[str, object]:
    return dict.fromkeys(row.key for row in MEASURED)


def _below(section: DocumentEntry | None, name: str) -> DocumentEntry | None:
    child = None if section is None else section.children.get(name)
    return None if child is None else checked_section(child)


def _pairs(entry: DocumentEntry) -> dict[str, tuple[float, float]]:
    found = {}
    for row in MEASURED:
        if row.key in entry.children:
            found[row.key] = CheckedValues.checked(entry, (row,)).point(row.key)
    return found


def measured_reality(file: RobotFile) -> Reality:
    """Errors as measured, those of the servo models elsewhere; measured play has the dead band in it.

    Raises RobotFileError.
    """
    robot = file.robot
    found = expected(robot)
    values = measured_values(file)
    if not values:
        return found
    arrays: dict[str, Any] = {
        name: np.array(getattr(found, name))
        for name in ("latency", "backlash", "stiffness", "friction", "no_load_speed", "resolution", "dead_band")
    }
    for (row, column), pairs in values.items():
        joint = robot.legs[row].joints[column]
        scales = {
            "latency": ("latency", 1.0),
            "backlash_deg": ("backlash", math.radians(1.0)),
            "stiffness": ("stiffness", 1.0 / joint.stiffness),
            "friction": ("friction", 1.0 / (FRICTION_SHARE * joint.stall_torque)),
            "no_load_speed": ("no_load_speed", 1.0 / joint.no_load_speed),
            "resolution_deg": ("resolution", math.radians(1.0)),
        }
        for key, (value, _) in pairs.items():
            name, scale = scales[key]
            arrays[name][row, column] = value * scale
            if name == "backlash":
                arrays["dead_band"][row, column] = 0.0
    return replace(found, **arrays)
