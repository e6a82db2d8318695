# SPDX-License-Identifier: Apache-2.0
"""Switches on an MCP23017 against its register map, and the errors of both kinds of inputs."""

import sys
from types import SimpleNamespace

import pytest

from hexapod_control.servos.emulator.chips.i2c_wire import I2cWire, RegisterChip
from hexapod_control.servos.i2c import foot_switches
from hexapod_control.servos.i2c.foot_switches import FootSwitches, FootSwitchSection
from hexapod_control.servos.i2c.i2c_port import I2cRead, failure

PINS = (0, 7, 8, 15)


class Line:
    """A bus with an emulated MCP23017 whose pins have `levels`."""

    path, baud = "/dev/i2c-1", 400_000

    def __init__(self, monkeypatch):
        self.levels, self.written, self.closed = 0xFFFF, [], 0
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
        self.closed += 1


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
    assert switches.read() is None  # it cannot be set up
    assert line.closed == 2
    assert "the foot switches are not read: /dev/i2c-1: no chip answers at address 0x21" in switches.error
    line.chip.power_on()
    line.wire.plug(0x21)
    assert switches.read() is not None
    assert switches.error is None
    assert line.chip.registers[0x0C] == 0x81
    switches.close()
    assert line.closed == 3


def test_switches_on_the_servo_board_are_unknown_until_the_board_sends_them():
    switches = FootSwitches(FootSwitchSection("servo2040", 0, "", (5, 0), "high", 0.01), "")
    assert switches.read(None) is None
    assert "the foot switches are not read: the Servo2040 does not send its touch inputs: " in switches.error
    assert switches.read((True, False, False, False, False, False)) == (False, True)
    assert switches.error is None


def test_without_libgpiod_the_error_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "gpiod", None)
    switches = FootSwitches(section("gpio"), "/dev/i2c-1")
    assert switches.read() is None
    assert "/dev/gpiochip0: gpiod is missing: " in switches.error and " install " in switches.error


class Gpiod:
    """libgpiod of a version; `fails` are the calls that raise OSError, `calls` what was requested and released."""

    LINE_REQ_DIR_IN, LINE_REQ_FLAG_BIAS_PULL_UP = "in", "up"

    def __init__(self, version):
        self.calls, self.fails, self.levels = [], set(), [0, 1, 1, 0]
        if version == 2:
            self.line = SimpleNamespace(
                Direction=SimpleNamespace(INPUT="in"),
                Bias=SimpleNamespace(PULL_UP="up"),
                Value=SimpleNamespace(ACTIVE=1),
            )
            self.LineSettings = lambda direction, bias: (direction, bias)
            self.request_lines = self._request_lines
        else:
            self.Chip = lambda path: SimpleNamespace(get_lines=lambda pins: self._lines(path, pins))

    def _request_lines(self, path, consumer, config):
        ((pins, wanted),) = config.items()
        return self._requested(path, pins, consumer, wanted)

    def _lines(self, path, pins):
        assert isinstance(pins, list)
        lines = SimpleNamespace(get_values=self.read, release=lambda: self.calls.append("released"))
        lines.request = lambda consumer, type, flags: self._requested(path, tuple(pins), consumer, (type, flags))
        return lines

    def _requested(self, path, pins, consumer, wanted):
        if "request" in self.fails:
            raise OSError("busy")
        self.calls.append((path, pins, consumer, wanted))
        return SimpleNamespace(get_values=self.read, release=lambda: self.calls.append("released"))

    def read(self, pins=PINS):
        if "read" in self.fails:
            raise OSError("gone")
        assert pins == PINS
        return self.levels


REQUESTED = ("/dev/gpiochip0", PINS, "hexapod_control", ("in", "up"))


@pytest.mark.parametrize("version", [1, 2])
def test_pins_of_this_computer_are_inputs_with_pull_up_in_either_version_of_libgpiod(monkeypatch, version):
    gpiod = Gpiod(version)
    monkeypatch.setitem(sys.modules, "gpiod", gpiod)
    switches = FootSwitches(section("gpio"), "")
    assert switches.read() == (True, False, False, True)
    gpiod.levels = [1, 1, 0, 1]
    assert switches.read() == (False, False, True, False)
    assert gpiod.calls == [REQUESTED]


@pytest.mark.parametrize("version", [1, 2])
def test_pins_that_fail_are_released_and_requested_again_by_the_next_reading(monkeypatch, version):
    gpiod = Gpiod(version)
    monkeypatch.setitem(sys.modules, "gpiod", gpiod)
    switches = FootSwitches(section("gpio"), "")
    gpiod.fails = {"request"}
    assert switches.read() is None
    assert "/dev/gpiochip0: pins 0, 7, 8, 15 cannot be used (busy)" in switches.error
    gpiod.fails = set()
    assert switches.read() == (True, False, False, True)
    gpiod.fails = {"read"}
    assert switches.read() is None
    assert "/dev/gpiochip0: the pins cannot be read (gone)" in switches.error
    gpiod.fails = set()
    assert switches.read() == (True, False, False, True)
    assert switches.error is None
    switches.close()
    switches.close()
    assert gpiod.calls == 2 * [REQUESTED, "released"]
