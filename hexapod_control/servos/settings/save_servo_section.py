"""Writes calibrations into the section `servos` of a robot file; its other keys are preserved."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

from hexapod_control.config.bounded_yaml import read_text
from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.config.section_writer import save_section, with_section
from hexapod_control.core.names import JOINTS
from hexapod_control.servos.bus.bus_interface import RawScale
from hexapod_control.servos.settings.joint_calibration import JointCalibration
from hexapod_control.servos.settings.servo_section import ServoSettings, servo_settings

NAME = "servos"
PROTOCOL_KEYS = ("protocol", "baud", "options", "joints")  # valid for one protocol only


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
    """The whole section with protocol, port, baud and joints of these settings; all else unchanged."""
    old: dict[str, Any] = dict(file.servos) if isinstance(file.servos, dict) else {}
    if old.get("protocol") != settings.protocol:
        old = {name: value for name, value in old.items() if name not in PROTOCOL_KEYS}
    joints = {
        leg: {name: entry(settings.joints[3 * row + column], scale) for column, name in enumerate(JOINTS)}
        for row, leg in enumerate(file.robot.leg_names)
    }
    wire = {"protocol": settings.protocol, "port": settings.port, "baud": settings.baud}
    return {**wire, **old, **wire, "joints": joints}


def save(file: RobotFile, settings: ServoSettings, scale: RawScale) -> Path:
    """Writes the settings into their robot file. Returns the dated backup.

    Raises RobotFileError, and leaves the file as it is, if the driver would refuse them; OSError if writing fails.
    """
    data = section(file, settings, scale)
    with tempfile.TemporaryDirectory(prefix="hexapod_") as folder:
        draft = Path(folder, file.path.name)
        draft.write_text(with_section(read_text(file.path), NAME, data), encoding="utf-8")
        try:
            servo_settings(load(draft))
        except RobotFileError as error:
            why = f"was not written, as the driver would refuse it{error.after_path}"
            raise RobotFileError(file.path, None, "", why) from None
    return save_section(file.path, NAME, data)


def _number(value: float, digits: int) -> float | int:
    rounded = round(value, digits)
    return int(rounded) if rounded == int(rounded) else rounded
