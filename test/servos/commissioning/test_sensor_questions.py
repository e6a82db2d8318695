# SPDX-License-Identifier: Apache-2.0
"""The stages for supply and sensors: what is answered is in the robot file, and the driver's sensors read it."""

from dataclasses import replace

import pytest
from support.kits.first_user import FirstEvening
from support.kits.memory_wire import Kit
from support.phantomx import LEGS

from hexapod_control.cli.commissioning.first import RobotHardware
from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.config.section_writer import with_values
from hexapod_control.servos.emulated_robot.robot_emulator import emulate
from hexapod_control.servos.i2c.i2c_bus import open_i2c
from hexapod_control.servos.i2c.imu_chips import IMU_CHIPS, check_imu
from hexapod_control.servos.i2c.supply_sensor import SupplySensor
from hexapod_control.servos.settings.io_section import IoSettings, io_settings
from hexapod_control.servos.settings.servo_section import servo_settings
from hexapod_control.servos.settings.unused_settings import unused_settings
from hexapod_control.servos.settings.wiring_rules import wiring_findings

pytestmark = pytest.mark.usefixtures("memory_time")
PINS = "0 1 2 3 4 5"


@pytest.fixture
def path(tmp_path):
    """A robot file with servos."""
    made = tmp_path / "mine.yaml"
    made.write_text(resolve("phantomx").read_text())
    FirstEvening(Kit(), made, only=["joints"]).run().file.path.unlink()
    return made


def evening(path, answers, found=(), stage="sensors"):
    made = FirstEvening(Kit(), path, answers, only=[stage])
    made.bench.chips = lambda bus: dict(found)
    return made.run()


ALL = [
    ("which_imu", "mpu9250"),
    ("imu_mounting", "0 0 90"),
    ("which_battery_sensor", "INA226"),
    ("battery_cells", "4"),
    ("which_switches", "mcp23017"),
]


def test_sensors_that_are_answered_are_in_the_robot_file_with_thresholds_for_the_cells(path):
    made = evening(path, list(ALL))
    assert str(made.machine.progress.done["sensors"]) == f"sensors saved into {path.name}", made.user.told()
    io = io_settings(load(path))
    assert (io.imu.chip, io.battery.chip, io.feet.chip) == ("mpu9250", "ina226", "mcp23017")
    assert io.imu.mounting == pytest.approx((0.0, 0.0, 1.5708), abs=1e-4)
    assert io.feet.pins == tuple(range(len(LEGS)))
    battery = servo_settings(load(path)).battery
    assert (battery.warn, battery.critical) == pytest.approx((14.0, 13.2))
    assert not [finding for finding in wiring_findings(load(path)) if finding.key.startswith(("io", "servos.battery"))]
    evening(path, [])  # Enter keeps what is in the file
    assert io_settings(load(path)) == io


def test_chips_that_answer_are_proposed(path):
    made = evening(path, [], {"bno055": 0x29, "ads7830": 0x48, "mcp23017": 0x20})
    io = io_settings(load(path))
    assert (io.imu.chip, io.imu.address) == ("bno055", 0x29), made.user.told()
    assert (io.battery.chip, io.battery.divider, io.feet.chip) == ("ads7830", 3.0, "mcp23017")


def test_without_sensors_only_the_cells_of_a_battery_that_the_servos_report_are_asked(path):
    made = evening(path, [])
    assert str(made.machine.progress.done["sensors"]) == f"sensors saved into {path.name}"
    assert servo_settings(load(path)).battery.warn == pytest.approx(10.5)  # three cells, by the supply of 11.1 V
    assert io_settings(load(path)).imu is None and not [*unused_settings(load(path))]


def test_an_answer_that_does_not_fit_is_named_and_asked_again(path):
    wrong = [
        ("which_imu", "mpu"),
        ("which_imu", "mpu6050"),
        ("imu_mounting", "90"),
        ("imu_mounting", "back"),
        ("which_imu", "none"),
        ("battery_cells", "6"),
        ("battery_cells", "2.5"),
        ("which_switches", "gpio"),
        ("switch_pins", "17, 27, x"),
    ]
    made = evening(path, wrong)
    assert not made.user.answers
    assert all(made.user.shown(kind) for kind in ("no_chip", "no_numbers", "cells_do_not_fit", "no_cells"))
    io = io_settings(load(path))
    assert io.imu is None and io.feet.chip == "gpio" and len(set(io.feet.pins)) == len(LEGS)
    assert not [*unused_settings(load(path))]


def test_pins_that_the_file_refuses_are_named_and_the_stage_is_offered_again(path):
    answers = [("which_switches", "mcp23017"), ("switch_pins", "1 1 2 3 4 5"), ("begin", ""), ("begin", "quit")]
    made = evening(path, answers)
    assert made.user.shown("sensors_refused") and "sensors" not in made.done
    assert io_settings(load(path)) == IoSettings()


@pytest.mark.parametrize(
    ("measured", "answer", "voltage"), [("5.2", "n", 6.0), ("5.2", "y", 5.2), ("6.1", "", 6.0), ("5.2", "", 6.0)]
)
def test_a_supply_unlike_that_of_the_robot_file_is_noticed(measured, answer, voltage, tmp_path):
    path = tmp_path / "mine.yaml"
    servo = {"model": "MG996R", "voltage": 6.0}
    path.write_text(with_values(resolve("phantomx").read_text(), {("leg", "servo"): servo}))
    answers = [("voltage", measured), ("other_voltage", answer), ("begin", ""), ("begin", "quit")]
    made = evening(path, answers, stage="supply")
    refused = [str(said) for said in made.user.shown("set_supply")]
    assert bool(made.user.shown("other_voltage")) == (measured == "5.2")
    assert bool(refused) == (measured == "5.2" and answer != "y")
    assert f"voltage: {voltage:g}" in path.read_text()
    asked = next(prompt.text for prompt in made.user.prompts if prompt.kind == "voltage")
    assert asked.values["volts"] == 6.0


@pytest.mark.parametrize("chips", [("mpu6050", "ina219"), ("icm20948", "ads1115"), ("bno055", "ads7830")])
def test_chips_on_an_emulated_bus_are_recognised_and_read_after_the_questions(chips, path, tmp_path):
    section = {"imu": chips[0], "battery": chips[1]}
    truth = tmp_path / "truth.yaml"
    parts = "".join(f"  {key}: {{chip: {chip}}}\n" for key, chip in section.items())
    truth.write_text(f"{path.read_text()}\nio:\n  bus: {tmp_path}/bus\n{parts}")
    settings = servo_settings(load(truth), "pca9685", str(tmp_path / "bus"))
    boards = replace(settings, options=(("addresses", (0x41, 0x42)),))
    emulation = emulate(load(path).robot, boards, tmp_path / "bus", io_settings(load(truth)))
    try:
        hardware = RobotHardware(path, lambda: None, force_model=False)
        found = hardware.chips(str(tmp_path / "bus"))
        assert set(found) == set(chips)
        made = FirstEvening(Kit(), path, [("battery_cells", "3")], only=["sensors"])
        made.bench.chips = hardware.chips
        made.bench.ports = lambda: [str(tmp_path / "i2c-1")]
        (tmp_path / "i2c-1").symlink_to(tmp_path / "bus")
        made.run()
        io = io_settings(load(path))
        assert (io.imu.chip, io.battery.chip) == chips, made.user.told()
        port = open_i2c(io.bus)
        check_imu(port, IMU_CHIPS[io.imu.chip], io.imu.address)
        port.close()
        sensor = SupplySensor(io.battery, io.bus)
        volts = [sensor.read()[0] for _ in range(3)][-1]
        sensor.close()
        assert volts is not None and sensor.error is None
    finally:
        emulation.pty.close()
