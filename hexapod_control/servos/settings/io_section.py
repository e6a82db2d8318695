"""The section `io` of a robot file, validated: sensors on I2C and GPIO.

    io:
      bus: /dev/i2c-1
      imu: {chip: mpu6050, address: 0x68, mounting_deg: [0, 0, 90]}

A robot without the section has no such sensors. No two devices may have one address, PCA9685 boards included.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hexapod_control.config.document import DocumentEntry, read
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.schema import (
    ChoiceRow,
    KeyRow,
    NumberRow,
    TextRow,
    YamlValue,
    bound,
    known_keys,
    refuse_unknown,
    require,
    spell,
    value,
)
from hexapod_control.core.robot import Vector
from hexapod_control.servos.i2c.imu_chips import IMU_CHIPS
from hexapod_control.servos.protocols.pca9685 import places
from hexapod_control.servos.settings.servo_section import servo_settings

BUS = "/dev/i2c-1"
I2C_SERVOS = "pca9685"
_BUS = TextRow("bus", r"/\S+", "the path of an I2C bus", "ls /dev/i2c-* shows them")
_ADDRESS = NumberRow(
    "address", 1, 0x08, 0x77, "", "as hexapod i2c scan shows it, e.g. 0x68", whole=True, hexadecimal=True
)


@dataclass(frozen=True, slots=True)
class ImuSection:
    """The IMU."""

    chip: str
    address: int
    mounting: Vector  # [rad] roll, pitch, yaw of the chip's axes in base_link


@dataclass(frozen=True, slots=True)
class IoSettings:
    """The sensors of one robot."""

    bus: str = BUS
    imu: ImuSection | None = None

    def devices(self) -> Iterator[tuple[str, int, str]]:
        """Key, address and title of every device on the bus."""
        if self.imu:
            yield "imu", self.imu.address, IMU_CHIPS[self.imu.chip].title


_PARTS: Mapping[str, tuple[KeyRow, ...]] = {  # `chip` is required, everything else has a default
    "imu": (
        ChoiceRow("chip", tuple(IMU_CHIPS), "the model printed on it"),
        _ADDRESS,
        NumberRow("mounting_deg", 3, -180.0, 180.0, "deg", "roll, pitch, yaw of the chip's axes in the body's"),
    ),
}


def io_keys() -> Iterator[tuple[str, str]]:
    """Every key of the section, and its allowed values."""
    yield "bus", bound(_BUS)
    for part, rows in _PARTS.items():
        for row in rows:
            yield f"{part}.{row.key}", bound(row)


def io_settings(file: RobotFile) -> IoSettings:
    """The sensors of a robot. Raises RobotFileError."""
    section = read(file.path).children.get("io")
    if section is None:
        return IoSettings()
    if not section.is_section:
        raise section.error(f"is {spell(section.value)}", "must be a section", "remove it if there are no sensors")
    refuse_unknown(section, known_keys(["bus", *(key for key, _ in io_keys() if key != "bus")]))
    bus = str(value(section.children["bus"], _BUS)) if "bus" in section.children else BUS
    found = IoSettings(bus, imu=_imu(section.children["imu"]) if "imu" in section.children else None)
    _check_addresses(section, found, file)
    return found


def _values(entry: DocumentEntry, rows: tuple[KeyRow, ...]) -> dict[str, YamlValue]:
    if not entry.is_section:
        raise entry.error(f"is {spell(entry.value)}", "must be a section with chip", "e.g. {chip: mpu6050}")
    require(entry, rows[0])
    return {row.key: value(entry.children[row.key], row) for row in rows if row.key in entry.children}


def _imu(entry: DocumentEntry) -> ImuSection:
    given = _values(entry, _PARTS["imu"])
    chip, mounting = str(given["chip"]), given.get("mounting_deg", (0.0, 0.0, 0.0))
    assert isinstance(mounting, tuple)
    roll, pitch, yaw = map(math.radians, mounting)
    return ImuSection(chip, _address(given, IMU_CHIPS[chip].address), (roll, pitch, yaw))


def _address(given: Mapping[str, YamlValue], usual: int) -> int:
    number = given.get("address", float(usual))
    assert isinstance(number, float)
    return int(number)


def _check_addresses(section: DocumentEntry, settings: IoSettings, file: RobotFile) -> None:
    """Raises for a device whose address another one has; boards of the servos count if they are on the same bus."""
    servos = servo_settings(file)
    shared = servos.protocol == I2C_SERVOS and servos.port == settings.bus
    taken = {place: "a PCA9685 of the servos" for place in (places(servos.ids, dict(servos.options)) if shared else ())}
    for key, address, title in settings.devices():
        if address in taken:
            what = f"is 0x{address:02X}, which {taken[address]} has already"
            raise section.children[key].error(what, "must be unique on the bus", "set its jumper", below="address")
        taken[address] = f"the {title} of io.{key}"
