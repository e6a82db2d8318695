# SPDX-License-Identifier: Apache-2.0
"""Writes calibrations into the section `servos` of a robot file; its other keys are preserved."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

from hexapod_control.config.bounded_yaml import read_text
from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.config.section_writer import save_text, with_section, with_values
from hexapod_control.core.names import JOINTS
from hexapod_control.servos.bus.bus_interface import RawScale
from hexapod_control.servos.settings.joint_calibration import JointCalibration
from hexapod_control.servos.settings.joint_section import EXTRA_JOINTS
from hexapod_control.servos.settings.servo_section import ServoSettings, servo_settings

NAME = "servos"
PROTOCOL_KEYS = ("protocol", "baud", "options", "joints", EXTRA_JOINTS)  # valid for one protocol only


def entry(joint: JointCalibration, scale: RawScale) -> dict[str, float | int]:
    """Entry of a joint in the file, without default values."""
    units, negative = _number(joint.units_per_rad, 1), _number(joint.units_per_rad_neg, 1)
    optional = {
        "units_per_rad": (units, _number(scale.per_rad, 1)),
        "units_per_rad_neg": (negative, units),
        "trim_deg": (_number(math.degrees(joint.trim), 2), 0),
        "low": (joint.low, scale.low),
        "high": (joint.high, scale.high),
    }
    known = {} if joint.offset is None else {"offset": joint.offset}
    always = {
        "id": joint.id,
        "direction": joint.direction,
        "center": _number(joint.center, 1),
        "q_center_deg": _number(math.degrees(joint.q_center), 2),
    }
    return always | known | {name: value for name, (value, default) in optional.items() if value != default}


def section(file: RobotFile, settings: ServoSettings, scale: RawScale) -> dict[str, Any]:
    """The whole section with protocol, port, baud, options and joints of these settings; all else unchanged."""
    old: dict[str, Any] = dict(file.servos) if isinstance(file.servos, dict) else {}
    if old.get("protocol") != settings.protocol:
        old = {name: value for name, value in old.items() if name not in PROTOCOL_KEYS}
    joints = {
        leg: {name: entry(settings.joints[3 * row + column], scale) for column, name in enumerate(JOINTS)}
        for row, leg in enumerate(file.robot.leg_names)
    }
    plain = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in settings.options
        if isinstance(value, int | float | tuple)
    }
    options = {**(old.get("options") or {}), **plain}
    wire = {"protocol": settings.protocol, "port": settings.port, "baud": settings.baud}
    of_extra = {joint.short_name: entry(joint, scale) for joint in settings.extra}
    extra = {EXTRA_JOINTS: of_extra} if of_extra else {}
    return {**wire, **old, **wire, **({"options": options} if options else {}), "joints": joints, **extra}


def save(file: RobotFile, settings: ServoSettings, scale: RawScale) -> Path:
    """Writes the settings into their robot file, with narrower limits of joints. Returns the dated backup.

    Raises RobotFileError, and leaves the file as it is, if the driver would refuse them; OSError if writing fails.
    """
    return save_text(file.path, accepted(file, settings, scale), NAME)


def accepted(file: RobotFile, settings: ServoSettings, scale: RawScale) -> str:
    """The text of the robot file with these settings. Raises RobotFileError if the driver would refuse it."""
    text = with_values(read_text(file.path, newline=""), _limits(file, settings))
    text = with_section(text, NAME, section(file, settings, scale))
    with tempfile.TemporaryDirectory(prefix="hexapod_") as folder:
        draft = Path(folder, file.path.name)
        draft.write_text(text, encoding="utf-8", newline="")
        try:
            servo_settings(load(draft))
        except RobotFileError as error:
            why = f"was not written, as the driver would refuse it{error.after_path}"
            raise RobotFileError(file.path, None, "", why) from None
    return text


def _limits(file: RobotFile, settings: ServoSettings) -> dict[tuple[str, ...], float | int]:
    """Limits [deg] of joints that are narrower than in the robot file, rounded inwards, by their keys."""
    found: dict[tuple[str, ...], float | int] = {}
    for row, joint in enumerate(settings.joints):
        leg = file.robot.legs[row // 3]
        known = leg.joints[row % 3]
        keys = "legs", leg.name, "joints", JOINTS[row % 3]
        if joint.lower > known.lower:
            found[*keys, "lower_deg"] = _number(math.ceil(10.0 * math.degrees(joint.lower) - 1e-6) / 10.0, 1)
        if joint.upper < known.upper:
            found[*keys, "upper_deg"] = _number(math.floor(10.0 * math.degrees(joint.upper) + 1e-6) / 10.0, 1)
    return found


def _number(value: float, digits: int) -> float | int:
    rounded = round(value, digits)
    return int(rounded) if rounded == int(rounded) else rounded
