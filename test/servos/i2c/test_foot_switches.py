"""Switches on an MCP23017 against its register map, and the errors of both kinds of inputs."""

import sys
from types import SimpleNamespace

import pytest

from hexapod_control.servos.emulator.chips.i2c_wire import I2cWire
from hexapod_control.servos.emulator.chips.register_chip import RegisterChip
from hexapod_control.servos.i2c import foot_switches
from hexapod_control.servos.i2c.foot_switches import FootSwitches, FootSwitchSection
from hexapod_control.servos.i2c.i2c_port import I2cRead, failure

PINS = (0, 7, 8, 15)


class Line:
    """A bus with an emulated MCP23017 whose pins have `levels`."""

    path, baud = "/dev/i2c-1", 400_000

    def __init__(self, monkeypatch):
        self.levels, self.written = 0xFFFF, []
        self.chip = RegisterChip(
            0x21, {0x00: 0xFF, 0x01: 0xFF}, lambda _: {0x12: self.levels & 0xFF, 0x13: self.levels >> 8}
        )
        self.wire = I2cWire([self.chip])
        monkeypatch.setattr(foot_switches, "open_i2c", lambda path: self)

    def transfer(self, *messages):
        self.written += [each.data for each in messages if not isinstance(each, I2cRead) and len(each.data) > 1]
        number, data = self.wire.transfer(messages)
        if number:
            raise failure(self.path, messages[0].address, number)
        return data

    def close(self):
        pass


def section(chip="mcp23017", pressed="low"):
    return FootSwitchSection(chip, 0x21, "/dev/gpiochip0", PINS, pressed, 0.01)


def test_pins_are_inputs_with_pull_up_and_are_read_in_the_order_of_the_legs(monkeypatch):
    line = Line(monkeypatch)
    line.chip.registers.update({0x00: 0x00, 0x01: 0x00})
    switches = FootSwitches(section(), line.path)
    assert switches.read() == (False, False, False, False)
    assert line.written == [b"\x00\x81\x81", b"\x0c\x81\x81"]  # IODIR and GPPU; other pins stay as they were
    for k, pin in enumerate(PINS):
        line.levels = 0xFFFF & ~(1 << pin)
        assert switches.read() == tuple(i == k for i in range(4))
    assert FootSwitches(section(pressed="high"), line.path).read() == (True, True, True, False)


def test_an_expander_that_is_lost_is_reported_and_set_up_again_when_it_is_back(monkeypatch):
    line = Line(monkeypatch)
    switches = FootSwitches(section(), line.path)
    assert switches.read() is not None
    line.wire.unplug(0x21)
    assert switches.read() is None
    assert "the foot switches are not read: /dev/i2c-1: no chip answers at address 0x21" in switches.error
    line.chip.power_on()
    line.wire.plug(0x21)
    assert switches.read() is not None
    assert switches.error == ""
    assert line.chip.registers[0x0C] == 0x81


def test_switches_on_the_servo_board_are_unknown_until_the_board_sends_them():
    switches = FootSwitches(FootSwitchSection("servo2040", 0, "", (5, 0), "high", 0.01), "")
    assert switches.read(None) is None
    assert "the foot switches are not read: the Servo2040 does not send its touch inputs: " in switches.error
    assert switches.read((True, False, False, False, False, False)) == (False, True)
    assert switches.error == ""


def test_without_libgpiod_the_error_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "gpiod", None)
    switches = FootSwitches(section("gpio"), "/dev/i2c-1")
    assert switches.read() is None
    assert "/dev/gpiochip0: gpiod is missing: apt install python3-libgpiod, or pip install gpiod" in switches.error


@pytest.mark.parametrize("version", [1, 2])
def test_pins_of_this_computer_are_read_by_either_version_of_libgpiod(monkeypatch, version):
    levels = [0, 1, 1, 0]
    if version == 2:
        line = SimpleNamespace(
            Direction=SimpleNamespace(INPUT="in"), Bias=SimpleNamespace(PULL_UP="up"), Value=SimpleNamespace(ACTIVE=1)
        )
        lines = SimpleNamespace(get_values=lambda pins: levels, release=lambda: None)
        asked = []
        found = SimpleNamespace(
            line=line,
            LineSettings=lambda **wanted: wanted,
            request_lines=lambda path, **how: (asked.append((path, how["config"])), lines)[1],
        )
    else:
        asked = []
        lines = SimpleNamespace(get_values=lambda: levels, release=lambda: None, request=lambda *_, **how: None)
        chip = SimpleNamespace(get_lines=lambda pins: (asked.append(("/dev/gpiochip0", {tuple(pins): 0})), lines)[1])
        found = SimpleNamespace(Chip=lambda path: chip, LINE_REQ_DIR_IN=1, LINE_REQ_FLAG_BIAS_PULL_UP=2)
    monkeypatch.setitem(sys.modules, "gpiod", found)
    switches = FootSwitches(section("gpio"), "")
    assert switches.read() == (True, False, False, True)
    assert [(path, list(config)) for path, config in asked] == [("/dev/gpiochip0", [PINS])]
