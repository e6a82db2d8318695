# SPDX-License-Identifier: Apache-2.0
"""The section `io` of a robot file, validated: sensors on I2C and GPIO.

    io:
      bus: /dev/i2c-1
      imu: {chip: mpu6050, address: 0x68, mounting_deg: [0, 0, 90]}
      battery: {chip: ads7830, channel: 0, divider: 3.0}
      feet: {chip: mcp23017, pins: {left_front: 0, left_middle: 1, ...}}

A robot without the section has no such sensors. All devices, and PCA9685 boards of servos, must have unique addresses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hexapod_control.config.document import DocumentEntry
from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.config.schema import (
    ChoiceRow,
    KeyRow,
    NumberRow,
    SchemaLine,
    TextRow,
    YamlValue,
    checked_section,
    known_keys,
    refuse_unknown,
    require,
    rows_of,
    yaml_text,
)
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.quantity import Quantity
from hexapod_control.core.robot import Vector
from hexapod_control.servos.i2c.foot_switches import SERVO_BOARD, SWITCH_CHIPS, FootSwitchSection
from hexapod_control.servos.i2c.imu_chips import IMU_CHIPS
from hexapod_control.servos.i2c.supply_sensor import SUPPLY_CHIPS, SupplySection
from hexapod_control.servos.protocols.pca9685 import board_addresses
from hexapod_control.servos.settings.servo_section import LOOPBACK, ServoSettings, servo_settings

BUS = "/dev/i2c-1"
GPIO_DEVICE = "/dev/gpiochip0"
BOUNCE_S = 0.01
_PIN = NumberRow(
    "pins.LEG",
    Quantity("", 0, 63, "pin of the switch of this leg", hint="up to 15 on an MCP23017, 5 on a Servo2040", whole=True),
)
I2C_SERVOS = "pca9685"
_BUS = TextRow("bus", r"/\S+", "the path of an I2C bus", "ls /dev/i2c-* shows them", "bus of the sensors", default=BUS)
_ADDRESS = NumberRow(
    "address",
    Quantity(
        "",
        0x08,
        0x77,
        "on the I2C bus",
        "the usual one of the chip",
        "as hexapod i2c scan shows it, e.g. 0x68",
        whole=True,
    ),
    hexadecimal=True,
)


@dataclass(frozen=True, slots=True)
class ImuSection:
    """`io.imu` of a robot file."""

    chip: str
    address: int
    mounting: Vector  # [rad] roll, pitch, yaw of the chip's axes in base_link


@dataclass(frozen=True, slots=True)
class IoSettings:
    """The sensors of one robot."""

    bus: str = BUS
    imu: ImuSection | None = None
    battery: SupplySection | None = None
    feet: FootSwitchSection | None = None

    @property
    def touch(self) -> bool:
        """Whether the foot switches are inputs of the servos' board."""
        return self.feet is not None and self.feet.chip == SERVO_BOARD

    def devices(self) -> Iterator[tuple[str, int, str]]:
        """Key, address and title of every device on the bus."""
        if self.imu:
            yield "imu", self.imu.address, IMU_CHIPS[self.imu.chip].title
        if self.battery:
            yield "battery", self.battery.address, SUPPLY_CHIPS[self.battery.chip].title
        if self.feet and SWITCH_CHIPS[self.feet.chip].address is not None:
            yield "feet", self.feet.address, SWITCH_CHIPS[self.feet.chip].title


_MODEL = "the model printed on it"
_PARTS: Mapping[str, tuple[KeyRow, ...]] = {  # `chip` is required, everything else has a default
    "imu": (
        ChoiceRow("chip", tuple(IMU_CHIPS), _MODEL, "model of the IMU"),
        _ADDRESS,
        NumberRow(
            "mounting_deg",
            Quantity("deg", -180.0, 180.0, "roll, pitch, yaw of the chip's axes in the body's", "[0, 0, 0]"),
            3,
        ),
    ),
    "battery": (
        ChoiceRow("chip", tuple(SUPPLY_CHIPS), _MODEL, "model of the sensor of the supply"),
        _ADDRESS,
        *rows_of(SupplySection),
    ),
    "feet": (
        ChoiceRow("chip", tuple(SWITCH_CHIPS), "gpio: pins of this computer", "where the switches are wired"),
        _ADDRESS,
        TextRow(
            *("device", r"/\S+", "the path of a GPIO chip", "ls /dev/gpiochip* shows them"),
            meaning="GPIO chip of the pins",
            default=GPIO_DEVICE,
        ),
        ChoiceRow(
            *("pressed", ("low", "high"), "level of the pin when the foot stands; low: switch to ground"),
            meaning="level of a loaded foot; on a Servo2040 high, unless given",
            default="low",
        ),
        NumberRow("bounce", Quantity("s", 0.0, 0.2, "shorter changes do not count", BOUNCE_S)),
    ),
}


def io_lines() -> Iterator[SchemaLine]:
    """Every key of the section, for the reference."""
    yield _BUS.line()
    for part, rows in _PARTS.items():
        for row in rows:
            yield row.line(f"{part}.")
    yield _PIN.line("feet.")


def has_imu(robot: str) -> bool:
    """Whether a robot file, by name or path, has an IMU; False for an invalid file, which the nodes report."""
    try:
        return io_settings(load(robot)).imu is not None
    except RobotFileError:
        return False


def has_sensors(robot: str) -> bool:
    """Whether a robot file, by name or path, has a sensor on I2C; True for an invalid file, which the nodes report."""
    try:
        return any(io_settings(load(robot)).devices())
    except RobotFileError:
        return True


def io_settings(file: RobotFile) -> IoSettings:
    """The sensors of a robot. Raises RobotFileError."""
    section = file.document.children.get("io")
    if section is None:
        return IoSettings()
    checked_section(section, "remove it if there are no sensors")
    legs = dict.fromkeys(file.robot.leg_names)
    known = known_keys(key.key for key in io_lines())
    refuse_unknown(section, {**known, "feet": {**known_keys(row.key for row in _PARTS["feet"]), "pins": legs}})
    bus = str(_BUS.value(section.children["bus"])) if "bus" in section.children else BUS
    parts = section.children
    found = IoSettings(
        bus,
        imu=_imu(parts["imu"]) if "imu" in parts else None,
        battery=_battery(parts["battery"]) if "battery" in parts else None,
        feet=_feet(parts["feet"], file.robot.leg_names) if "feet" in parts else None,
    )
    servos = servo_settings(file)
    if found.touch and servos.protocol not in (SERVO_BOARD, LOOPBACK):
        allowed = Sentence("switch_board_bound", protocol=servos.protocol)
        raise parts["feet"].error(
            Sentence("file_value", value=SERVO_BOARD), allowed, Sentence("switch_boards"), below="chip"
        )
    _check_addresses(section, found, servos)
    return found


def _values(entry: DocumentEntry, rows: tuple[KeyRow, ...]) -> dict[str, YamlValue]:
    if not entry.is_section:
        raise entry.error(
            Sentence("file_value", value=yaml_text(entry.value)),
            Sentence("bound_section_with", names="chip"),
            Sentence("file_example", example="{chip: mpu6050}"),
        )
    require(entry, rows[0])
    return {row.key: row.value(entry.children[row.key]) for row in rows if row.key in entry.children}


def _imu(entry: DocumentEntry) -> ImuSection:
    values = _values(entry, _PARTS["imu"])
    chip = str(values["chip"])
    mounting = values.get("mounting_deg", (0.0, 0.0, 0.0))
    assert isinstance(mounting, tuple)
    roll, pitch, yaw = map(math.radians, mounting)
    return ImuSection(chip, _address(values, IMU_CHIPS[chip].address), (roll, pitch, yaw))


def _battery(entry: DocumentEntry) -> SupplySection:
    values = _values(entry, _PARTS["battery"])
    name = str(values["chip"])
    chip = SUPPLY_CHIPS[name]
    for key in set(values) - {"chip", "address", *chip.keys}:
        raise entry.children[key].error(
            Sentence("file_unused"),
            Sentence("chip_keys", chip=name, names=", ".join(chip.keys)),
            Sentence("file_remove"),
        )
    numbers: dict[str, Any] = {key: values[key] for key in chip.keys if key in values}
    if numbers.get("channel", 0) > chip.last_channel:
        allowed = Sentence("channel_bound", last=chip.last_channel)
        raise entry.children["channel"].error(Sentence("file_value", value=numbers["channel"]), allowed)
    return SupplySection(name, _address(values, chip.address), **numbers)


def _feet(entry: DocumentEntry, legs: Sequence[str]) -> FootSwitchSection:
    values = _values(entry, _PARTS["feet"])
    chip = str(values["chip"])
    kind = SWITCH_CHIPS[chip]
    quantity = replace(_PIN.quantity, upper=kind.last_pin)
    pins: dict[int, str] = {}
    for leg in legs:
        pin = int(NumberRow(f"pins.{leg}", quantity).number(entry))
        if pin in pins:
            problem = Sentence("pin_taken", pin=pin, owner=pins[pin])
            raise entry.children["pins"].children[leg].error(problem, Sentence("pin_own"))
        pins[pin] = leg
    bounce = values.get("bounce", BOUNCE_S)
    assert isinstance(bounce, float)
    device = str(values.get("device", GPIO_DEVICE))
    pressed = str(values.get("pressed", kind.pressed))
    return FootSwitchSection(chip, _address(values, kind.address or 0), device, tuple(pins), pressed, bounce)


def _address(values: Mapping[str, YamlValue], usual: int) -> int:
    address = values.get("address", usual)
    assert isinstance(address, int)
    return address


def _check_addresses(section: DocumentEntry, settings: IoSettings, servos: ServoSettings) -> None:
    """Raises RobotFileError if two devices share an address; boards of the servos on the same bus count, too."""
    shared = servos.protocol == I2C_SERVOS and servos.port == settings.bus
    taken = {
        address: "a PCA9685 of the servos"
        for address in (board_addresses(servos.ids, dict(servos.options)) if shared else ())
    }
    for key, address, title in settings.devices():
        if address in taken:
            problem = Sentence("address_taken", address=address, owner=taken[address])
            raise section.children[key].error(problem, Sentence("bus_unique"), Sentence("chip_jumper"), below="address")
        taken[address] = f"the {title} of io.{key}"
