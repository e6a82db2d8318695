# SPDX-License-Identifier: Apache-2.0
"""Sensors of the battery: the examples of their data sheets, dividers and faults."""

import errno

import pytest

from hexapod_control.servos.emulated_robot.robot_sensors import RobotSensors
from hexapod_control.servos.emulator.chips.i2c_wire import I2cWire
from hexapod_control.servos.emulator.chips.io_chips import EmulatedSupply, supply_chip
from hexapod_control.servos.i2c import foot_switches, supply_sensor
from hexapod_control.servos.i2c.foot_switches import FootSwitches, FootSwitchSection
from hexapod_control.servos.i2c.i2c_port import I2cRead, I2cWrite, failure
from hexapod_control.servos.i2c.supply_sensor import SUPPLY_CHIPS, SupplySection, SupplySensor
from hexapod_control.servos.settings.io_section import ImuSection, IoSettings

SECTIONS = {
    "ina219": SupplySection("ina219", 0x44, shunt=0.002),
    "ina226": SupplySection("ina226", 0x44, shunt=0.002),
    "ads1115": SupplySection("ads1115", 0x49, channel=2, divider=4.0),
    "ads7830": SupplySection("ads7830", 0x48, channel=5, divider=3.0),
}


class Line:
    """A bus with one emulated sensor, opened by SupplySensor."""

    path, baud = "/dev/i2c-1", 400_000

    def __init__(self, monkeypatch, section, supply, chip=""):
        other = SupplySection(chip, section.address) if chip else section
        self.wire = I2cWire([supply_chip(other, supply)])
        monkeypatch.setattr(supply_sensor, "open_i2c", lambda path: self)
        self.sensor, self.closed = SupplySensor(section, self.path), 0

    def transfer(self, *messages):
        number, data = self.wire.transfer(messages)
        if number:
            raise failure(self.path, messages[0].address, number)
        return data

    def registers(self, *addresses):
        ask = [
            (I2cWrite(self.wire.chips[0].address, bytes([a])), I2cRead(self.wire.chips[0].address, 2))
            for a in addresses
        ]
        return [self.wire.transfer(each)[1].hex().upper() for each in ask]

    def close(self):
        self.closed += 1


@pytest.mark.parametrize(
    ("name", "registers"), [("ina219", ["07D0", "5D9A"]), ("ina226", ["1F40", "2570"])], ids=["INA219", "INA226"]
)
def test_the_example_of_the_data_sheet_has_10_amperes_at_11_98_volts_over_2_milliohms(monkeypatch, name, registers):
    line = Line(monkeypatch, SECTIONS[name], EmulatedSupply(11.98, 0.02))
    assert line.registers(0x01, 0x02) == registers  # bit 1 of an INA219: a conversion is ready
    assert line.sensor.read() == pytest.approx((11.98, 10.0))
    line.wire.chips[0] = supply_chip(SECTIONS[name], EmulatedSupply(11.98, -0.02))
    assert line.sensor.read()[1] == pytest.approx(-10.0)


@pytest.mark.parametrize("name", ["ina219", "ina226"])
def test_a_current_monitor_measures_up_to_its_26_or_36_volts_behind_its_own_divider_and_shunt(monkeypatch, name):
    section = SupplySection(name, 0x44, shunt=0.1, divider=2.0)
    volts = {"ina219": 26.0, "ina226": 36.0}[name]
    line = Line(monkeypatch, section, EmulatedSupply(volts, 0.05))
    assert line.sensor.read() == pytest.approx((2.0 * volts, 0.5))


@pytest.mark.parametrize(("volts", "amperes"), [(0.2, 0.8192), (-0.2, -0.8192)])
def test_a_voltage_beyond_the_range_of_a_sensor_is_at_its_end(monkeypatch, volts, amperes):
    line = Line(monkeypatch, SupplySection("ina226", 0x44), EmulatedSupply(11.98, volts))  # with a shunt of 0.1 ohm
    assert line.sensor.read()[1] == pytest.approx(amperes, abs=1e-4)
    converter = SupplySection("ads1115", 0x49)
    line = Line(monkeypatch, converter, EmulatedSupply(5.0))
    line.sensor.read()
    assert line.sensor.read()[0] == pytest.approx(4.096, abs=1e-3)


def test_an_ads7830_measures_in_shares_of_its_supply(monkeypatch):
    for reference in (3.3, 5.0):
        section = SupplySection("ads7830", 0x48, reference=reference, divider=3.0)
        for volts, expected in (
            (reference, 3.0 * reference),
            (0.75 * reference, 191 / 255 * 3.0 * reference),
            (9.0, 3.0 * reference),
            (0.0, 0.0),
        ):
            line = Line(monkeypatch, section, EmulatedSupply(volts))
            assert line.sensor.read() == (pytest.approx(expected), None)


def test_a_sensor_is_wired_as_on_most_boards_unless_the_robot_file_says_otherwise():
    section = SupplySection("ina219", 0x40)
    assert (section.shunt, section.channel, section.divider, section.reference) == (0.1, 0, 1.0, 5.0)


@pytest.mark.parametrize(("name", "tolerance"), [("ads1115", 0.001), ("ads7830", 0.04)])
def test_the_voltage_of_a_converter_is_that_before_the_divider_on_its_own_channel(monkeypatch, name, tolerance):
    section = SECTIONS[name]
    line = Line(monkeypatch, section, EmulatedSupply(11.1 / section.divider))
    found = [line.sensor.read()[0] for _ in range(2)]
    assert found[-1] == pytest.approx(11.1, abs=tolerance)
    others = [
        Line(monkeypatch, section.__class__(name, section.address, channel=other, divider=section.divider), None)
        for other in range(4)
        if other != section.channel
    ]
    for other in others:
        other.wire = line.wire
        volts = [other.sensor.read()[0] for _ in range(2)]
        assert volts[-1] == 0.0


def test_the_command_bytes_of_an_ads7830_are_those_of_its_table(monkeypatch):
    commands = []

    class Heard(Line):
        def transfer(self, *messages):
            commands.append(messages[0].data[0])
            return super().transfer(*messages)

    for channel in range(8):
        section = SupplySection("ads7830", 0x48, channel=channel)
        Heard(monkeypatch, section, EmulatedSupply(1.0)).sensor.read()
    assert commands == [0x84, 0xC4, 0x94, 0xD4, 0xA4, 0xE4, 0xB4, 0xF4]


def test_an_ads1115_is_set_to_continuous_conversion_of_its_channel(monkeypatch):
    line = Line(monkeypatch, SECTIONS["ads1115"], EmulatedSupply(2.0))
    assert line.registers(0x01) == ["8583"]  # after power-on
    assert line.sensor.read() == (None, None)
    assert line.registers(0x01) == ["6283"]
    assert line.sensor.read()[0] == pytest.approx(8.0, abs=1e-3)
    assert line.registers(0x00) == [f"{round(2.0 / 4.096 * 32768):04X}"]


@pytest.mark.parametrize("name", ["ina219", "ina226", "ads1115"])
def test_another_chip_at_the_address_is_named_and_not_written_to(monkeypatch, name):
    line = Line(monkeypatch, SECTIONS[name], EmulatedSupply(), chip="ina226" if name != "ina226" else "ina219")
    before = dict(line.wire.chips[0].registers)
    assert line.sensor.read() == (None, None)
    assert f"is no {SUPPLY_CHIPS[name].title}, its register" in line.sensor.error
    assert line.wire.chips[0].registers == before


def test_a_sensor_that_is_lost_is_reported_and_read_again_when_it_is_back(monkeypatch):
    line = Line(monkeypatch, SECTIONS["ina219"], EmulatedSupply())
    assert line.sensor.read()[0] == pytest.approx(11.98)
    line.wire.unplug(0x44)
    assert line.sensor.read() == (None, None)
    assert line.sensor.error.startswith("the battery is not measured: /dev/i2c-1: no chip answers at address 0x44")
    line.wire.plug(0x44)
    assert line.sensor.read()[0] == pytest.approx(11.98)
    assert line.sensor.error is None
    line.sensor.close()
    line.sensor.close()
    assert line.closed == 1  # only at the end: the bus itself was never lost


def test_a_bus_that_is_gone_is_opened_again_and_its_sensor_checked_again(monkeypatch):
    line = Line(monkeypatch, SECTIONS["ina219"], EmulatedSupply())
    assert line.sensor.read()[0] == pytest.approx(11.98)
    line.wire.faulty[0x44] = errno.ENODEV
    assert line.sensor.read() == (None, None)
    assert line.sensor.error.startswith("the battery is not measured: /dev/i2c-1: the I2C bus is gone")
    assert line.closed == 1
    line.wire.faulty.clear()
    line.wire.chips[0] = supply_chip(SECTIONS["ina226"], EmulatedSupply())
    assert line.sensor.read() == (None, None)
    assert "is no INA219, its register 0 is 0x4127 instead of 0x399F" in line.sensor.error


@pytest.mark.parametrize("name", SUPPLY_CHIPS)
def test_an_emulated_robot_lies_still_on_no_foot_with_a_battery_of_11_volts(monkeypatch, name):
    battery = SupplySection(name, 0x4A, shunt=0.02, channel=1, divider=3.0)
    feet = FootSwitchSection("mcp23017", 0x21, "", (0, 9), "low", 0.0)
    line = Line(monkeypatch, battery, EmulatedSupply())
    io = IoSettings(imu=ImuSection("mpu6050", 0x69, (0, 0, 0)), battery=battery, feet=feet)
    line.wire.chips = RobotSensors(io).chips
    assert [chip.address for chip in line.wire.chips] == [0x69, 0x4A, 0x21]
    volts, amperes = [line.sensor.read() for _ in range(2)][-1]
    assert volts == pytest.approx(11.1, abs=0.04)
    assert amperes == (pytest.approx(2.0) if name.startswith("ina") else None)
    monkeypatch.setattr(foot_switches, "open_i2c", lambda path: line)
    assert FootSwitches(feet, line.path).read() == (False, False)
    assert line.wire.chips[2].registers == {0x00: 0xFF, 0x01: 0xFF, 0x0C: 0x01, 0x0D: 0x02}


def test_other_switches_and_missing_sensors_have_no_emulated_chips():
    assert RobotSensors(IoSettings()).chips == []
    feet = FootSwitchSection("gpio", 0x20, "/dev/gpiochip0", (1,), "low", 0.0)
    assert RobotSensors(IoSettings(feet=feet)).chips == []
