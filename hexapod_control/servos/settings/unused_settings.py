# SPDX-License-Identifier: Apache-2.0
"""Keys of a robot file that are within bounds, but have no effect with its servos and sensors, each with the remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hexapod_control.config.document import DocumentEntry
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.servos.bus.bus_interface import ServoQuantity
from hexapod_control.servos.i2c.foot_switches import SWITCH_CHIPS
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.io_section import IoSettings, io_settings
from hexapod_control.servos.settings.servo_section import LOOPBACK, ServoSettings, servo_settings

Rule = Callable[[ServoSettings, IoSettings], str]
"""Why a key has no effect, and what to do; empty if it has one."""


def _loopback(servos: ServoSettings, io: IoSettings) -> str:
    return "loopback has no servos: name their protocol, or remove it" if servos.protocol == LOOPBACK else ""


def _temperature(servos: ServoSettings, io: IoSettings) -> str:
    reported = ServoQuantity.TEMPERATURE in PROTOCOLS[servos.protocol].can_read
    return "" if reported else f"{servos.protocol} reports no temperatures: remove it"


def _battery(servos: ServoSettings, io: IoSettings) -> str:
    kind = PROTOCOLS[servos.protocol]
    measured = ServoQuantity.VOLTAGE in kind.can_read or kind.measures_supply or "battery" in dict(servos.options)
    if measured or io.battery is not None:
        return ""
    return f"nothing measures the supply with {servos.protocol}: add a sensor as io.battery, or remove it"


def _divider(servos: ServoSettings, io: IoSettings) -> str:
    given = dict(servos.options)
    return "options.battery names no analog input: add it" if "divider" in given and "battery" not in given else ""


def _i2c_bus(servos: ServoSettings, io: IoSettings) -> str:
    return "" if any(io.devices()) else "no sensor of the section io is on I2C: remove it"


def _switch_address(servos: ServoSettings, io: IoSettings) -> str:
    assert io.feet is not None
    on_i2c = SWITCH_CHIPS[io.feet.chip].address is not None
    return "" if on_i2c else f"{io.feet.chip} is not on I2C: remove it"


def _switch_device(servos: ServoSettings, io: IoSettings) -> str:
    assert io.feet is not None
    return "" if io.feet.chip == "gpio" else f"{io.feet.chip} has no pins of this computer: remove it"


RULES: dict[str, Rule] = {
    "servos.port": _loopback,
    "servos.baud": _loopback,
    "servos.lost_after": _loopback,
    "servos.on_lost": _loopback,
    "servos.max_temperature": _temperature,
    "servos.battery": _battery,
    "servos.options.divider": _divider,
    "io.bus": _i2c_bus,
    "io.feet.address": _switch_address,
    "io.feet.device": _switch_device,
}


def unused_settings(file: RobotFile) -> Iterator[str]:
    """Yields a sentence for every key in the file that has no effect. Raises RobotFileError."""
    root = file.document
    servos = servo_settings(file)
    io = io_settings(file)
    for key, rule in RULES.items():
        entry = _entry(root, key)
        if entry is not None and (why := rule(servos, io)):
            yield f"{file.path}:{entry.line}: {key} has no effect: {why}"


def _entry(root: DocumentEntry, key: str) -> DocumentEntry | None:
    entry: DocumentEntry | None = root
    for name in key.split("."):
        entry = entry.children.get(name) if entry is not None else None
    return entry
