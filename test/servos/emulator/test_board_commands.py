# SPDX-License-Identifier: Apache-2.0
"""Emulated boards for hobby servos understand the commands of their manuals that other programs send."""

import math

import pytest

from hexapod_control.servos.bus.pulse_board import SCALE
from hexapod_control.servos.bus.serial_port import SerialPort
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.devices.maestro_device import MaestroDevice
from hexapod_control.servos.emulator.devices.pulse_channels import in_turn
from hexapod_control.servos.emulator.devices.ssc32_device import Ssc32Device
from hexapod_control.servos.emulator.pseudo_terminal import PseudoTerminal
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.protocols import maestro

HOLDING = maestro.targets(0, [1500] * 18)


def sent(device, data, now=0.0):
    return b"".join(reply for _, reply in device.receive(data, now))


@pytest.mark.parametrize("noise", ["80", "C3", "05", "AA 0C 40"])
def test_an_unknown_byte_sets_an_error_bit_of_the_maestro_and_no_servo_falls(noise):
    world = LagWorld(SCALE)
    device = MaestroDevice(world)
    device.receive(HOLDING + bytes.fromhex(noise), 0.0)
    assert world.torques.all()
    assert sent(device, maestro.query_errors()) == b"\x10\x00"
    assert sent(device, maestro.query_errors()) == b"\x00\x00"


def test_the_maestro_goes_home_and_stops_its_script_on_command():
    world = LagWorld(SCALE)
    device = MaestroDevice(world)
    assert sent(device, HOLDING + b"\xa4\xa7\x01\xa8\x01\x00\x00\xae") == b"\x01"
    assert world.torques.all()
    assert sent(device, b"\xa2") == b"" and not world.torques.any()
    assert sent(device, maestro.query_errors()) == b"\x00\x00"


@pytest.mark.parametrize(("value", "pulse"), [(127, 1500.0), (254, 1976.25), (0, 1023.75)])
def test_the_maestro_takes_mini_ssc_targets(value, pulse):
    world = LagWorld(SCALE)
    device = MaestroDevice(world)
    device.receive(bytes((0xFF, 3, value, 0xFF, 99, value)), 0.0)
    assert world.target(3) == pulse
    assert sent(device, b"\x90\x03") == round(4 * pulse).to_bytes(2, "little")
    assert list(world.torques) == [channel == 3 for channel in range(18)]
    assert sent(device, maestro.query_errors()) == b"\x00\x00"


# Speed 40 is 1000 us/s, acceleration 4 is 1250 us/s^2: full speed is reached on ways longer than 800 us.
@pytest.mark.parametrize(
    ("speed", "acceleration", "way", "seconds"),
    [
        (0, 0, 1000, 0.0),
        (40, 0, 1000, 1.0),
        (0, 4, 1000, 2.0 * math.sqrt(1000 / 1250)),
        (40, 4, 1000, 1000 / 1000 + 1000 / 1250),
        (40, 4, 500, 2.0 * math.sqrt(500 / 1250)),
    ],
)
def test_speed_and_acceleration_stretch_a_maestro_move(speed, acceleration, way, seconds):
    device = MaestroDevice(LagWorld(SCALE))
    limits = maestro.speed(3, speed) + bytes((0x89, 3, acceleration, 0))
    device.receive(maestro.target(3, 1000) + limits + maestro.target(3, 1000 + way), 0.0)
    assert sent(device, maestro.query_moving(), 0.99 * seconds) == (b"\x01" if seconds else b"\x00")
    assert sent(device, maestro.query_moving(), 1.01 * seconds) == b"\x00"


def test_an_ssc32_reports_its_version_and_its_inputs():
    device = Ssc32Device(LagWorld(SCALE))
    assert sent(device, b"VER\r") == b"SSC32-1.04XE\r"
    assert sent(device, b"A\r") == b"0" and sent(device, b"ALB C\r") == b"000"


@pytest.mark.parametrize("protocol", ["maestro", "servo2040"])
def test_a_board_on_usb_ignores_the_baud(protocol):
    row, ids = PROTOCOLS[protocol], range(18)
    with PseudoTerminal(emulated_device(protocol, LagWorld(SCALE), ids), row.baud) as pty:
        bus = row.open(SerialPort(pty.path, 9600), ids)
        assert len(bus.identify()) == 18
        bus.close()


def test_targets_beyond_the_last_channel_of_a_maestro_send_all_servos_home():
    for first, error in ((20, b"\x00\x00"), (21, b"\x10\x00")):
        world = LagWorld(SCALE)
        device = MaestroDevice(world)
        device.receive(HOLDING + maestro.targets(first, [1500] * 4), 0.0)
        assert world.torques.all() == (first == 20)
        assert sent(device, maestro.query_errors()) == error


def test_a_channel_of_an_ssc32_that_is_stopped_stays_where_it_is():
    device = Ssc32Device(LagWorld(SCALE))
    device.receive(b"#4P1000\r#4P2000T1000\r", 0.0)
    device.receive(b"STOP4\r", 0.25)
    assert device.pulse(4, 0.25) == device.pulse(4, 2.0) == 1250
    assert sent(device, b"Q\r", 0.3) == b"."
    assert device.world.target(4) == 1250
    device.receive(b"STOP5\r", 0.25)  # has no pulse
    assert device.pulse(5, 1.0) == 0


def test_only_protocols_with_a_wire_are_emulated():
    with pytest.raises(ValueError, match="loopback has no hardware to emulate"):
        emulated_device("loopback", LagWorld(SCALE), range(18))


def test_replies_of_a_board_come_one_after_the_other_the_first_after_its_delay():
    assert in_turn([b"", b"ab", b"", b"c"], 0.1) == [(0.1, b"ab"), (0.0, b"c")]
    assert in_turn([b""], 0.1) == []


@pytest.mark.parametrize(
    ("line", "seconds"),
    [(b"#0P2000S500\r", 2.0), (b"#0P2000S500T1000\r", 2.0), (b"#0P2000S5000T1000\r", 1.0), (b"#0P500S500\r", 1.0)],
)
def test_an_ssc32_move_takes_the_longer_of_its_time_and_that_of_its_speed(line, seconds):
    device = Ssc32Device(LagWorld(SCALE))
    device.receive(b"#0P1000\r" + line, 0.0)
    assert sent(device, b"Q\r", seconds - 0.01) == b"+"
    assert sent(device, b"Q\r", seconds + 0.01) == b"."
    assert device.pulse(0, 0.5 * seconds) == round(0.5 * (1000 + device.pulse(0, seconds)))
