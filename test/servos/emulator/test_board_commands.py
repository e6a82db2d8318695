"""Emulated boards for hobby servos understand the commands of their manuals that other programs send."""

import pytest

from hexapod_control.servos.bus.pulse_board import SCALE
from hexapod_control.servos.bus.serial_port import SerialPort
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.devices.maestro_device import MaestroDevice
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
    assert world.target(3) == pytest.approx(pulse, abs=0.5)
    assert list(world.torques) == [channel == 3 for channel in range(18)]
    assert sent(device, maestro.query_errors()) == b"\x00\x00"


def test_an_acceleration_stretches_a_maestro_move():
    device = MaestroDevice(LagWorld(SCALE))
    device.receive(maestro.target(0, 1000) + b"\x89\x00\x04\x00" + maestro.target(0, 2000), 0.0)  # 1250 us/s^2
    assert sent(device, maestro.query_moving(), 1.7) == b"\x01"  # 2 * sqrt(1000 / 1250) = 1.79 s
    assert sent(device, maestro.query_moving(), 1.8) == b"\x00"


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
