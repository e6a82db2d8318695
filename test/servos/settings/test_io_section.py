# SPDX-License-Identifier: Apache-2.0
"""The section `io` of a robot file: values, defaults, and refusals with file, key, value, bound and remedy."""

import math

import pytest
from support.phantomx import narrow_file

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.section_writer import with_section
from hexapod_control.core.names import STANDARD
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.io_section import BUS, IoSettings, has_imu, io_lines, io_settings
from hexapod_control.servos.settings.save_servo_section import section
from hexapod_control.servos.settings.servo_section import servo_settings

ALL_PINS = f"{{{', '.join(f'{leg}: {pin}' for pin, leg in enumerate(STANDARD))}}}"


@pytest.fixture
def read(tmp_path):
    """The settings of a robot file with this section; with servos on PCA9685 boards on the bus `servos`."""

    def make(io, servos=""):
        path = narrow_file(tmp_path / "robot.yaml")
        if servos:
            data = section(load(path), servo_settings(load(path), "pca9685", servos), PROTOCOLS["pca9685"].scale)
            path.write_text(with_section(path.read_text(), "servos", data))
        path.write_text(f"{path.read_text()}\nio: {io}\n")
        return io_settings(load(path))

    return make


def test_a_robot_without_the_section_has_no_sensors():
    assert io_settings(load("phantomx")) == IoSettings()


def test_the_usual_address_and_no_rotation_are_the_defaults(read):
    found = read("{imu: {chip: bno055}}")
    assert (found.bus, found.imu.chip, found.imu.address, found.imu.mounting) == (BUS, "bno055", 0x28, (0.0, 0.0, 0.0))
    found = read("{bus: /dev/i2c-3, imu: {chip: mpu6050, address: 0x69, mounting_deg: [180, 0, -90]}}")
    assert (found.bus, found.imu.address) == ("/dev/i2c-3", 0x69)
    assert found.imu.mounting == pytest.approx((math.pi, 0.0, -math.pi / 2.0))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("3", "io: is 3, must be a section"),
        ("{imu: 3}", "io.imu: is 3, must be a section with chip"),
        ("{imu: {}}", "io.imu.chip: is missing, must be one of mpu6050"),
        ("{imu: {chip: mpu6055}}", "did you mean mpu6050"),
        ("{imu: {chip: mpu6050, address: 0x80}}", "must be in [8, 119], is 128"),
        ("{imu: {chip: mpu6050, mounting_deg: [0, 0]}}", "must be a list of 3 numbers"),
        ("{imu: {chip: mpu6050, mounting: [0, 0, 1]}}", "did you mean mounting_deg"),
        ("{imus: {chip: mpu6050}}", "did you mean imu"),
        ("{bus: 1}", "must be the path of an I2C bus"),
    ],
)
def test_unusable_io_values_are_refused_with_location_and_remedy(read, text, words):
    with pytest.raises(RobotFileError, match=r"robot\.yaml.*io") as refusal:
        read(text)
    assert words in str(refusal.value)


def test_an_address_of_a_board_of_the_servos_is_refused_on_the_same_bus_only(read):
    text = "{bus: /dev/i2c-1, imu: {chip: mpu6050, address: 0x41}}"
    with pytest.raises(RobotFileError, match=r"io\.imu\.address: is 0x41, which a PCA9685 of the servos has already"):
        read(text, servos="/dev/i2c-1")
    assert read(text, servos="/dev/i2c-2").imu.address == 0x41


def test_switches_on_the_board_of_the_servos_are_pressed_when_their_input_is_high(read):
    text = f"{{feet: {{chip: servo2040, pins: {ALL_PINS}}}}}"
    assert (read(text).feet.pins, read(text).feet.pressed) == (tuple(range(len(STANDARD))), "high")
    with pytest.raises(RobotFileError, match=r"io\.feet\.chip: is servo2040, must be the board of the servos, whose"):
        read(text, servos="/dev/i2c-1")


DEFAULTS = {  # key -> the rest of its part
    "imu.mounting_deg": "chip: mpu6050",
    "battery.shunt": "chip: ina219",
    "battery.channel": "chip: ads1115",
    "battery.divider": "chip: ina219",
    "battery.reference": "chip: ads7830",
    **dict.fromkeys(
        ("feet.device", "feet.pressed", "feet.bounce"),
        f"chip: gpio, pins: {ALL_PINS}",
    ),
}


@pytest.mark.parametrize("key", DEFAULTS)
def test_writing_the_default_of_the_reference_changes_nothing(read, key):
    (line,) = (line for line in io_lines() if line.key == key)
    part, name = key.split(".")
    written = f"{{{part}: {{{DEFAULTS[key]}, {name}: {line.default}}}}}"
    assert read(written) == read(f"{{{part}: {{{DEFAULTS[key]}}}}}")


ADDRESSES = {  # with the address pins on ground, as on most boards
    **dict.fromkeys(["imu: mpu6050", "imu: mpu9250", "imu: icm20948"], 0x68),
    "imu: bno055": 0x28,
    **dict.fromkeys(["battery: ina219", "battery: ina226"], 0x40),
    **dict.fromkeys(["battery: ads1115", "battery: ads7830"], 0x48),
}


@pytest.mark.parametrize("given", ADDRESSES)
def test_without_an_address_a_chip_has_that_of_its_data_sheet(read, given):
    part, chip = given.split(": ")
    assert getattr(read(f"{{{part}: {{chip: {chip}}}}}"), part).address == ADDRESSES[given]


def test_a_battery_has_the_options_of_its_chip_only(read):
    found = read("{battery: {chip: ina219, address: 0x45, shunt: 0.01}}").battery
    assert (found.address, found.shunt, found.divider) == (0x45, 0.01, 1.0)
    found = read("{battery: {chip: ads7830, channel: 2, divider: 3, reference: 3.3}}").battery
    assert (found.address, found.channel, found.divider, found.reference) == (0x48, 2, 3.0, 3.3)
    for text, words in (
        ("{battery: {chip: ads7830, shunt: 0.1}}", "known with ads7830: channel, divider, reference"),
        ("{battery: {chip: ina219, channel: 1}}", "known with ina219: shunt, divider"),
        ("{battery: {chip: ads1115, channel: 5}}", "must be 0 to 3 with this chip"),
        ("{imu: {chip: mpu6050, address: 0x48}, battery: {chip: ads7830}}", "is 0x48, which the MPU6050 of io.imu has"),
    ):
        with pytest.raises(RobotFileError) as refusal:
            read(text)
        assert words in str(refusal.value)


PINS = "left_front: 0, left_middle: 1, left_rear: 2, right_front: 3, right_middle: 4, right_rear: {last}"


def test_feet_have_a_pin_for_every_leg(read):
    found = read(f"{{feet: {{chip: mcp23017, pins: {{{PINS.format(last=15)}}}}}}}").feet
    assert (found.address, found.pins, found.pressed, found.bounce) == (0x20, (0, 1, 2, 3, 4, 15), "low", 0.01)
    found = read(f"{{feet: {{chip: gpio, pressed: high, bounce: 0.02, pins: {{{PINS.format(last=27)}}}}}}}").feet
    assert (found.device, found.pins[-1], found.pressed) == ("/dev/gpiochip0", 27, "high")
    for text, words in (
        (f"{{feet: {{chip: mcp23017, pins: {{{PINS.format(last=16)}}}}}}}", "must be in [0, 15], is 16"),
        (f"{{feet: {{chip: gpio, pins: {{{PINS.format(last=3)}}}}}}}", "is 3, which right_front has already"),
        ("{feet: {chip: gpio, pins: {left_front: 1}}}", "io.feet.pins.left_middle: is missing"),
        ("{feet: {chip: gpio}}", "io.feet.pins.left_front: is missing"),
        (f"{{feet: {{chip: gpio, pins: {{{PINS.format(last=5)}, tail: 9}}}}}}", "is unknown"),
    ):
        with pytest.raises(RobotFileError) as refusal:
            read(text)
        assert words in str(refusal.value)


def test_a_robot_has_an_imu_if_its_file_says_so_and_is_valid(tmp_path):
    path = narrow_file(tmp_path / "robot.yaml")
    plain = path.read_text()
    for text, found in (("{imu: {chip: bno055}}", True), ("{bus: /dev/i2c-3}", False), ("{imu: 3}", False)):
        path.write_text(f"{plain}\nio: {text}\n")
        assert has_imu(str(path)) is found
