# SPDX-License-Identifier: Apache-2.0
"""`hexapod i2c scan` over an emulated bus: what is found, expected, missing and unknown."""

import pytest
from support.phantomx import narrow_file

from hexapod_control.cli.main import main
from hexapod_control.cli.servos.i2c import possible_chips
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.section_writer import with_section
from hexapod_control.servos.emulated_robot.robot_emulator import emulate, sensor_bus
from hexapod_control.servos.emulated_robot.robot_sensors import RobotSensors
from hexapod_control.servos.i2c.foot_switches import SWITCH_CHIPS
from hexapod_control.servos.i2c.imu_chips import IMU_CHIPS
from hexapod_control.servos.i2c.supply_sensor import SUPPLY_CHIPS
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.io_section import io_settings
from hexapod_control.servos.settings.save_servo_section import section
from hexapod_control.servos.settings.servo_section import servo_settings

pytestmark = pytest.mark.waits


@pytest.fixture
def kit(tmp_path):
    """A robot file with two boards, an IMU and a battery, and its emulated bus."""
    path, link = narrow_file(tmp_path / "robot.yaml"), tmp_path / "bus"
    data = section(load(path), servo_settings(load(path), "pca9685", str(link)), PROTOCOLS["pca9685"].scale)
    text = with_section(path.read_text(), "servos", {**data, "baud": 1_000_000})
    parts = f"  bus: {link}\n  imu: {{chip: mpu6050}}\n  battery: {{chip: ads7830, divider: 3.0}}\n"
    path.write_text(f"{text}\nio:\n{parts}")
    file = load(path)
    made = emulate(file.robot, servo_settings(file), link, io_settings(file))
    yield path, made.pty
    made.pty.close()


def test_everything_that_is_expected_is_found(kit, capsys):
    path, _ = kit
    assert main(["i2c", "--robot", str(path), "scan"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:-1] == [
        "0x40  found    PCA9685, servo ids 0 to 15",
        "0x41  found    PCA9685, servo ids 16 to 31",
        "0x48  found    ADS7830, io.battery",
        "0x68  found    MPU6050, io.imu",
        "0x70  unknown  the common address of all PCA9685 until the driver starts",
    ]
    assert lines[-1].endswith("bus: 5 devices answer, 4 are expected, missing: none")


def test_missing_and_unknown_devices_are_named(kit, capsys):
    path, pty = kit
    pty.device.wire.unplug(0x68)
    pty.device.wire.chips[-1].address = 0x49
    assert main(["i2c", "--robot", str(path), "scan"]) == 1
    text = capsys.readouterr().out
    assert "0x68  MISSING  MPU6050, io.imu" in text
    assert "0x49  unknown  not in the robot file" in text
    assert "missing: 0x48, 0x68: check their power, cables and address jumpers" in text


def test_another_chip_at_an_expected_address_is_named_with_the_correction(kit, capsys):
    path, _ = kit
    path.write_text(path.read_text().replace("chip: mpu6050", "chip: mpu9250"))
    assert main(["i2c", "--robot", str(path), "scan"]) == 1
    text = capsys.readouterr().out
    assert "0x68  WRONG    MPU9250, io.imu" in text
    assert "is no MPU9250, its identity is 0x68 instead of 0x71: correct io.imu.chip to mpu6050" in text


def test_the_servo_commands_report_a_missing_board_in_one_sentence(kit, capsys):
    path, pty = kit
    pty.device.wire.unplug(0x41)
    assert main(["servos", "--robot", str(path), "scan"]) != 0
    doubt, error = capsys.readouterr().err.splitlines()
    assert "implausible: " in doubt and "servos.protocol" in doubt  # for the servos of this robot
    assert "no PCA9685 answers at address 0x41; found: 0x40, 0x48, 0x68" in error


def test_a_bus_that_is_stuck_or_absent_is_one_sentence(kit, capsys):
    path, pty = kit
    pty.device.wire.stuck = True
    assert main(["i2c", "--robot", str(path), "scan"]) == 2
    assert "the I2C bus is stuck, SDA or SCL is held low" in capsys.readouterr().err
    assert main(["i2c", "--bus", "/dev/i2c-77", "scan"]) == 2
    assert "/dev/i2c-77: there is no such I2C bus" in capsys.readouterr().err


def test_sensors_on_a_separate_bus_are_found(tmp_path, capsys):
    path, link = narrow_file(tmp_path / "robot.yaml"), tmp_path / "i2c"
    pins = ", ".join(f"{leg}: {pin}" for pin, leg in enumerate(load(path).robot.leg_names))
    parts = f"  bus: {link}\n  imu: {{chip: bno055}}\n  battery: {{chip: ina219, address: 0x41}}\n"
    path.write_text(f"{path.read_text()}\nio:\n{parts}  feet: {{chip: mcp23017, pins: {{{pins}}}}}\n")
    with sensor_bus(RobotSensors(io_settings(load(path))), link):
        assert main(["i2c", "--robot", str(path), "scan"]) == 0
    assert capsys.readouterr().out.splitlines()[:-1] == [
        "0x20  found    MCP23017, io.feet",
        "0x28  found    BNO055, io.imu",
        "0x41  found    INA219, io.battery",
    ]
    assert not link.is_symlink()


def test_an_unknown_device_may_be_any_chip_with_that_usual_address():
    chips = [*IMU_CHIPS.values(), *SUPPLY_CHIPS.values(), *SWITCH_CHIPS.values()]
    for chip in [chip for chip in chips if chip.address is not None]:
        assert chip.title in possible_chips(chip.address, {})
    assert possible_chips(0x0F, {}) == "not in the robot file"
