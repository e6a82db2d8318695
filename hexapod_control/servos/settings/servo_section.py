# SPDX-License-Identifier: Apache-2.0
"""The section `servos` of a robot file, validated: the bus, the reaction to faults, one servo per joint.

    servos:
      protocol: feetech_st
      port: /dev/serial/by-id/usb-...    # does not depend on the order of plugging in
      battery: {warn: 10.5, critical: 9.9}
      joints:
        left_front:
          coxa: {id: 1, direction: 1, center: 2048}
          ...

A robot without the section has the loopback bus. Errors are found before any torque is switched on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any

from hexapod_control.config.document import DocumentEntry
from hexapod_control.config.errors import ArgumentError
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.schema import (
    ChoiceRow,
    KeyRow,
    SchemaLine,
    TextRow,
    checked_section,
    nearest_word,
    refuse_unknown,
    rows_of,
)
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.quantity import Quantity, number
from hexapod_control.core.robot import Robot
from hexapod_control.servos.protocol_options import values
from hexapod_control.servos.protocol_registry import PROTOCOLS, refused
from hexapod_control.servos.settings.joint_calibration import SERVOS_PER_LEG, JointCalibration
from hexapod_control.servos.settings.joint_section import (
    EXTRA_JOINTS,
    calibrations,
    joint_lines,
    standard_calibrations,
)

LOOPBACK = "loopback"
WIRED = tuple(name for name in PROTOCOLS if name != LOOPBACK)  # protocols of real servos
BAUD = Quantity("bit/s", 1200, 4_500_000, "speed of the bus", "that of the protocol", whole=True)
PACE = Quantity("", 0.1, 50.0, "factor on the speed of the moves of a calibration", 1.0)


class OnLost(Enum):
    """Reaction to the loss of a servo."""

    LEG = "leg"  # as HOLD, then the robot folds the leg of the servo away and walks without it
    HOLD = "hold"  # the planner stops: feet down, then standing still
    SIT = "sit"
    OFF = "off"


class OnSilence(Enum):
    """Reaction when targets have been missing for `silence_time`."""

    HOLD = "hold"
    OFF = "off"


class OnExit(Enum):
    """Reaction to the end of the driver."""

    SIT = "sit"  # follows the targets until the robot sits, then torque off
    OFF = "off"
    HOLD = "hold"  # the torque stays on


def _volts(meaning: str) -> Quantity:
    return Quantity("V", 1.0, 100.0, meaning, "by the servos' rated voltage", "of the whole battery")


@dataclass(frozen=True, slots=True)
class Battery:
    """Voltage thresholds [V]; minus infinity: not monitored."""

    warn: float = field(default=-math.inf, metadata=_volts("a warning below it").metadata())
    critical: float = field(default=-math.inf, metadata=_volts("sits down below it").metadata())
    time: float = number(2.0, "s", 0.5, 60.0, "time below critical before it counts", "shorter sags do not count")


@dataclass(frozen=True, slots=True)
class ServoSettings:
    """The servos of one robot."""

    protocol: str
    port: str
    baud: int = field(metadata=BAUD.metadata())
    joints: tuple[JointCalibration, ...]  # of the legs, in row order
    extra: tuple[JointCalibration, ...] = ()  # of the extra joints, in the order of the robot file
    rate: float = number(50.0, "Hz", 5.0, 500.0, "rate of the goals", "goals per second")
    lost_after: float = number(0.5, "s", 0.05, 10.0, "time without an answer after which a servo is lost")
    max_temperature: float = number(
        70.0, "degC", 30.0, 120.0, "above it the robot sits down, then torque off", "the servo's own limit"
    )
    silence_time: float = number(10.0, "s", 0.2, 3600.0, "holding without targets until on_silence happens")
    on_lost: OnLost = OnLost.LEG
    on_silence: OnSilence = OnSilence.HOLD
    on_exit: OnExit = OnExit.SIT
    battery: Battery = field(default_factory=Battery)
    options: tuple[tuple[str, object], ...] = ()  # of the protocol: (name, value for its bus)

    @property
    def servos(self) -> tuple[JointCalibration, ...]:
        """All servos on the bus: those of the legs in row order, then the extra ones."""
        return self.joints + self.extra

    @property
    def ids(self) -> tuple[int, ...]:
        """Ids of all servos, in the order of `servos`."""
        return tuple(joint.id for joint in self.servos)


_PROTOCOL = ChoiceRow("protocol", tuple(PROTOCOLS), "", "language of the servos' bus")
_PORT = TextRow(
    *("port", r"(?s).*\S.*", "the path of a port", "ls /dev/serial/by-id shows them"),
    meaning="to which the bus is connected; none with loopback",
)
_NUMBERS = rows_of(ServoSettings)
_BATTERY = rows_of(Battery)
_WORDS = {item.name: type(item.default) for item in fields(ServoSettings) if isinstance(item.default, Enum)}
_REACTIONS = tuple(
    ChoiceRow(
        name,
        tuple(word.value for word in kind),
        "choose one of them",
        (kind.__doc__ or "").rstrip("."),
        ServoSettings.__dataclass_fields__[name].default.value,
    )
    for name, kind in _WORDS.items()
)
_KEYS: tuple[KeyRow, ...] = (_PROTOCOL, _PORT, *_NUMBERS, *_REACTIONS)


def section_lines() -> Iterator[SchemaLine]:
    """Every key of the section, for the reference."""
    yield from (row.line() for row in _KEYS)
    for row in _BATTERY:
        yield row.line("battery.")
    yield from joint_lines()
    for protocol, kind in PROTOCOLS.items():
        for option in kind.settings:
            found = option.line("options.")
            yield found._replace(meaning=f"with {protocol}: {found.meaning}")


def servo_settings(file: RobotFile, protocol: str = "", port: str = "") -> ServoSettings:
    """The servos of a robot; `protocol` and `port` override those of the file.

    Raises RobotFileError for the file, ArgumentError for the overrides.

    If `protocol` differs from the file's, the servos are standard: ids in row order, centered, all with direction 1.
    """
    root = file.document
    section = root.children.get("servos")
    if section is None or (protocol and section.children.get("protocol", section).value != protocol):
        return standard(file.robot, protocol or LOOPBACK, port)
    checked_section(section, "remove it for the loopback bus")
    refuse_unknown(section, _known())
    name = _protocol(section)
    options = values(section.children["options"], PROTOCOLS[name].settings) if "options" in section.children else {}
    kind = PROTOCOLS[name].with_options(options)
    numbers = {row.key: row.number(section) for row in _NUMBERS if row.key in section.children}
    more: dict[str, Any] = {"baud": kind.baud, **numbers, **_choices(section), "battery": _battery(section)}
    more["options"] = tuple(options.items())
    wire = name, _port(section, name, port)
    found = calibrations(section, file.robot, kind)
    count = SERVOS_PER_LEG * len(file.robot.legs)
    return ServoSettings(*wire, joints=found[:count], extra=found[count:], **more)


def standard(robot: Robot, protocol: str, port: str) -> ServoSettings:
    """Servos with factory defaults. Raises ArgumentError for an unknown protocol or a missing port."""
    if protocol not in PROTOCOLS:
        raise ArgumentError("protocol", *map(str, _unknown(protocol)))
    if not port and protocol != LOOPBACK:
        missing = f"must be given with {protocol}, which is not in the section servos of the robot file"
        raise ArgumentError("port", missing, "e.g. /dev/serial/by-id/usb-...")
    kind = PROTOCOLS[protocol]
    found = standard_calibrations(robot, kind.scale, kind.ids)
    count = SERVOS_PER_LEG * len(robot.legs)
    return ServoSettings(protocol, port, kind.baud, found[:count], found[count:])


def _known() -> dict[str, object]:
    battery = dict.fromkeys(row.key for row in _BATTERY)
    return {
        **dict.fromkeys(row.key for row in _KEYS),
        "battery": battery,
        "options": None,
        "joints": None,
        EXTRA_JOINTS: None,
    }


def _unknown(protocol: str) -> tuple[Sentence, Sentence, str | Sentence]:
    hint = refused(protocol) or nearest_word(protocol, tuple(PROTOCOLS)) or ""
    return Sentence("file_quoted", value=protocol), _PROTOCOL.bound, hint


def _protocol(section: DocumentEntry) -> str:
    entry = section.children.get(_PROTOCOL.key)
    if entry is None:
        raise section.error(Sentence("file_missing"), _PROTOCOL.bound, below=_PROTOCOL.key)
    if refused(str(entry.value)):
        raise entry.error(*_unknown(str(entry.value)))
    return str(_PROTOCOL.value(entry))


def _port(section: DocumentEntry, protocol: str, override: str) -> str:
    entry = section.children.get(_PORT.key)
    if override or (entry is None and protocol == LOOPBACK):
        return override
    if entry is None:
        raise section.error(
            Sentence("file_missing"),
            Sentence("port_bound"),
            Sentence("file_example", example="/dev/serial/by-id/usb-..."),
            below=_PORT.key,
        )
    return str(_PORT.value(entry))


def _choices(section: DocumentEntry) -> dict[str, Enum]:
    # YAML 1.1 reads a bare `off` as false; ruamel uses YAML 1.2, where it is a string
    rows = [row for row in _REACTIONS if row.key in section.children]
    return {row.key: _WORDS[row.key](row.value(section.children[row.key])) for row in rows}


def _battery(section: DocumentEntry) -> Battery:
    entry = section.children.get("battery")
    if entry is None:
        return Battery()
    for needed in ("warn", "critical"):
        if needed not in entry.children:
            raise entry.error(
                Sentence("file_missing"), Sentence("voltage_bound"), Sentence("voltage_warn"), below=needed
            )
    battery = Battery(**{row.key: row.number(entry) for row in _BATTERY if row.key in entry.children})
    if battery.warn <= battery.critical:
        problem = Sentence("battery_order", warn=battery.warn, critical=battery.critical)
        raise entry.children["warn"].error(problem, Sentence("voltage_above"), Sentence("file_swapped"))
    return battery
