# SPDX-License-Identifier: Apache-2.0
"""Emulated boards for hobby servos, request by request: what they parse, drop, answer and send as pulses."""

import math

import pytest

from hexapod_control.servos.bus.pulse_board import SCALE
from hexapod_control.servos.emulator.devices.maestro_device import MaestroCommandDecoder, MaestroDevice
from hexapod_control.servos.emulator.devices.pulse_channels import PulseChannels, PulseRamp
from hexapod_control.servos.emulator.devices.servo2040_device import Servo2040Device
from hexapod_control.servos.emulator.devices.ssc32_device import (
    Ssc32Device,
    Ssc32LineDecoder,
    Ssc32Move,
    Ssc32Off,
    Ssc32Query,
    Ssc32Stop,
    parse,
)
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.protocols import maestro, servo2040
from hexapod_control.servos.protocols.maestro import MaestroError, MaestroForm
from hexapod_control.servos.protocols.servo2040 import Servo2040Dialect


def sent(device, data, now=0.0):
    return b"".join(reply for _, reply in device.receive(data, now))


# --- pulses ------------------------------------------------------------------------------------------


def test_a_ramp_goes_evenly_from_its_beginning_to_its_end():
    ramp = PulseRamp(1000.0, 2000.0, start=10.0, duration=4.0)
    assert [ramp.at(now) for now in (9.0, 10.0, 11.0, 13.0, 14.0, 15.0)] == [1000, 1000, 1250, 1750, 2000, 2000]
    assert [ramp.moving(now) for now in (9.0, 13.9, 14.0)] == [True, True, False]
    assert PulseRamp().at(0.0) == 0.0 and not PulseRamp().moving(0.0)


def test_servos_are_on_their_channels_in_order_and_other_channels_do_nothing():
    world = LagWorld(SCALE, 2)
    channels = PulseChannels(world, [7, 3])
    channels.drive(3, 1700.0)
    channels.drive(0, 1000.0)
    assert (list(world.torques), list(world.goals)) == ([False, True], [1500, 1700])
    channels.release(7)
    channels.release(0)
    assert world.has_torque(1)
    channels.release(3)
    assert not world.has_torque(1)
    PulseChannels(world, None).drive(0, 1200.0)
    assert list(world.goals) == [1200, 1700]


@pytest.mark.parametrize(
    ("device", "question", "delay"),
    [
        (Ssc32Device, b"Q\rQ\r", 0.0005),
        (MaestroDevice, 2 * maestro.query_moving(), 0.0001),
        (Servo2040Device, 2 * servo2040.query(0, 1), 0.0001),
    ],
)
def test_a_board_replies_after_its_delay_and_then_without_a_pause(device, question, delay):
    assert [found for found, _ in device(LagWorld(SCALE)).receive(question, 0.0)] == [delay, 0.0]


# --- SSC-32 ------------------------------------------------------------------------------------------


LINES = [
    ("#5P1600", Ssc32Move(((5, 1600, 0),))),
    ("#5P1600S750T100", Ssc32Move(((5, 1600, 750),), 100)),
    ("#5p1600#6P1700s20", Ssc32Move(((5, 1600, 0), (6, 1700, 20)))),
    ("#5P0", Ssc32Move(((5, 0, 0),))),
    ("#5P1", Ssc32Move(((5, 500, 0),))),
    ("#31P9999T65535", Ssc32Move(((31, 2500, 0),), 65535)),
    ("#31P1500T65536", None),
    ("#31P65535S65535", Ssc32Move(((31, 2500, 65535),))),
    ("#31P65536", None),
    ("#31P1500S65536", None),
    ("#32P1500", None),
    ("#5P1500#32P1500", None),
    ("#5P1600T", None),
    ("#5P1600T5#6P1500", None),
    ("#5P-1600", None),
    ("#5P160000", None),
    ("#00005P1500", Ssc32Move(((5, 1500, 0),))),
    ("#000005P1500", None),
    ("#5L", Ssc32Off((5,))),
    ("#5L#31L", Ssc32Off((5, 31))),
    ("#5L#32L", None),
    ("#5L#6P1500", None),
    ("STOP31", Ssc32Stop(31)),
    ("STOP32", None),
    ("STOP", None),
    ("Q", Ssc32Query("Q")),
    ("q", Ssc32Query("Q")),
    ("VER", Ssc32Query("VER")),
    ("QQ", None),
    ("QP0QP31", Ssc32Query("QP", (0, 31))),
    ("QP32", None),
    ("VAVBVH", Ssc32Query("V", (0, 1, 7))),
    ("VI", None),
    ("A", Ssc32Query("INPUT", (0,))),
    ("FALB", Ssc32Query("INPUT", (5, 0, 1))),
    ("G", None),
    ("", None),
]


@pytest.mark.parametrize(("line", "command"), LINES)
def test_lines_of_an_ssc32_are_parsed_as_in_its_manual(line, command):
    assert parse(line.encode()) == command
    found = [] if command is None else [command]
    assert Ssc32LineDecoder().feed(line.encode() + b"\r") == found
    assert Ssc32LineDecoder().feed(b" " + b" \n ".join([b"", line.encode()]) + b" \r") == found


def test_a_smaller_board_has_fewer_channels():
    assert sent(Ssc32Device(LagWorld(SCALE)), b"#31P1500#30P1600\rQP31\rQP32\r#32P1500\rQP30\r") == b"\x96\xa0"
    assert parse(b"#17P1500", last=17) == Ssc32Move(((17, 1500, 0),))
    assert parse(b"#18P1500", last=17) is None
    device = Ssc32Device(LagWorld(SCALE), count=18)
    assert sent(device, b"#17P1500\rQP17\rQP18\r") == b"\x96"


def test_an_ssc32_skips_escape_and_line_ends_and_drops_lines_with_other_stray_bytes():
    move = Ssc32Move(((5, 1600, 0),))
    for line in (b"# 5 P 1600", b"#5\nP1600", b"#6P1500\x1b#5P1600", b"\r\r#5P1600"):
        assert Ssc32LineDecoder().feed(line + b"\r") == [move]
    for line in (b"#5P16 00", b"#5P16\n00", b"#5P16\x0000", b"#5P1600\x7f", b"#5P1600\xff", b"\t#5P1600"):
        assert Ssc32LineDecoder().feed(line + b"\r#5P1600\r") == [move]


@pytest.mark.parametrize(("count", "taken"), [(115, True), (116, False), (300, False)])
def test_a_line_of_an_ssc32_has_460_bytes_at_most_whatever_its_spaces(count, taken):
    for space in (b"", b" ", b"  \n "):
        line = space.join([b"QP01"] * count) + b"\r"
        found = Ssc32LineDecoder().feed(line + b"Q\r")
        assert found == [*([Ssc32Query("QP", (1,) * count)] * taken), Ssc32Query("Q")]


def test_an_ssc32_ends_the_pulses_of_channels_that_are_off_or_get_the_pulse_0():
    world = LagWorld(SCALE)
    device = Ssc32Device(world)
    device.receive(b"#1P1500#2P1500#3P1500#4P1500\r", 0.0)
    device.receive(b"#1L#2L\r#3P0#4P1600\r", 0.0)
    assert [i for i in range(18) if world.torques[i]] == [4]
    assert sent(device, b"QP1QP2QP3QP4\r") == bytes([0, 0, 0, 160])
    assert world.target(4) == 1600


def test_the_first_move_of_an_ssc32_channel_is_at_once_and_the_next_from_where_it_is():
    device = Ssc32Device(LagWorld(SCALE))
    device.receive(b"#1P1000T1000\r", 0.0)
    assert (device.pulse(1, 0.0), sent(device, b"Q\r")) == (1000, b".")
    device.receive(b"#1P2000T1000\r", 0.0)
    device.receive(b"#1P1000T1000\r", 0.5)
    assert [device.pulse(1, now) for now in (0.5, 1.0, 1.5)] == [1500, 1250, 1000]
    assert sent(device, b"QP1\r", 1.25) == b"\x70"  # 1125 us in tens


@pytest.mark.parametrize(("volts", "count"), [(11.1, 189), (20.0, 255), (-1.0, 0), (math.nan, 0), (0.0, 0)])
def test_an_ssc32_reads_its_battery_behind_a_divider_from_the_second_reading_on(volts, count):
    device = Ssc32Device(LagWorld(SCALE, voltage=volts), battery="B")
    device.world.voltages[1:] = 5.0  # only that of the first servo is measured
    assert sent(device, b"VB\r") == b"\x00"
    assert sent(device, b"VB\r") == bytes([count])
    assert sent(device, b"VAVCVB\r") == bytes([0, 0, count]) == sent(device, b"VAVCVB\r")


def test_a_board_without_a_version_speaks_only_the_lines_of_the_driver():
    device = Ssc32Device(LagWorld(SCALE), version="")
    assert sent(device, b"VER\rA\r") == b"" and sent(device, b"Q\r") == b"."


# --- Maestro -----------------------------------------------------------------------------------------


def test_a_maestro_executes_commands_for_its_last_channel_and_none_beyond():
    for code in (0x84, 0x87, 0x89):
        for channel, error in ((23, 0), (24, 16)):
            device = MaestroDevice(LagWorld(SCALE))
            assert sent(device, bytes((code, channel, 0x70, 0x2E))) == b""
            assert sent(device, maestro.query_errors()) == bytes((error, 0))
    device = MaestroDevice(LagWorld(SCALE))
    assert sent(device, maestro.target(23, 1500) + maestro.query_position(23)) == b"\x70\x17"
    assert sent(device, maestro.query_position(24)) == b""
    assert sent(device, maestro.query_errors()) == b"\x10\x00"


def test_the_pulses_of_a_maestro_are_quarters_of_a_microsecond_within_its_bounds():
    device = MaestroDevice(LagWorld(SCALE))
    for quarters, pulse in ((6001, 1500.25), (1000, 500), (16000, 2500), (0, 0)):
        device.receive(bytes((0x84, 3, quarters & 0x7F, quarters >> 7)), 0.0)
        assert device.pulse(3, 0.0) == pulse
        assert sent(device, maestro.query_position(3)) == round(4 * pulse).to_bytes(2, "little")


def test_targets_of_a_maestro_go_to_neighbouring_channels_from_the_first_one_on():
    device = MaestroDevice(LagWorld(SCALE))
    device.receive(maestro.targets(4, [1100, 0, 1300]), 0.0)
    assert [device.pulse(channel, 0.0) for channel in range(3, 8)] == [0, 1100, 0, 1300, 0]


PARAMETERS = {
    0x84: 3,
    0x87: 3,
    0x89: 3,
    0xA8: 3,
    0x90: 1,
    0xA7: 1,
    0x93: 0,
    0xA1: 0,
    0xA2: 0,
    0xA4: 0,
    0xAE: 0,
    0x8A: 4,
}


@pytest.mark.parametrize("device", [None, 12, 3])
@pytest.mark.parametrize("crc", [False, True])
def test_maestro_commands_have_the_parameters_of_the_manual(device, crc):
    form = MaestroForm(device, crc)
    for code in range(0x80, 0x100):
        if code in (0xFF, 0xAA, 0x9F):
            continue
        decoder = MaestroCommandDecoder(form)
        frame = form.frame(code, *range(1, 1 + PARAMETERS.get(code, 0)))
        found = [(command.code, command.parameters) for command in decoder.feed(frame)]
        assert found == ([(code, bytes(range(1, 1 + PARAMETERS[code])))] if code in PARAMETERS else [])
        assert bool(decoder.unknown) == (code not in PARAMETERS)
        assert not decoder.errors


def test_a_maestro_obeys_frames_for_its_own_device_number_and_compact_ones():
    frames = {number: MaestroForm(number).frame(0x93) for number in (None, 3, 12)}
    for form, obeyed in ((maestro.COMPACT, {None, 12}), (MaestroForm(3), {None, 3})):
        for number, frame in frames.items():
            assert len(MaestroCommandDecoder(form).feed(frame)) == (number in obeyed)


def test_targets_of_a_maestro_name_one_to_twenty_four_channels():
    for count, known in ((0, False), (1, True), (24, True), (25, False)):
        decoder = MaestroCommandDecoder()
        commands = decoder.feed(bytes((0x9F, count, 0)) + bytes(2 * count))
        assert len(commands) == known and bool(decoder.unknown) != known


def test_a_command_byte_within_a_frame_of_a_maestro_is_an_error_and_begins_the_next_one():
    decoder = MaestroCommandDecoder()
    assert [c.code for c in decoder.feed(b"\x84\x01\x93")] == [0x93]
    assert (decoder.errors, decoder.unknown) == (MaestroError.PROTOCOL, MaestroError.NONE)
    decoder = MaestroCommandDecoder()
    assert decoder.feed(b"\x05") == []
    assert (decoder.errors, decoder.unknown) == (MaestroError.NONE, MaestroError.PROTOCOL)
    (mini,) = MaestroCommandDecoder().feed(b"\xff\x03\xfe")  # targets of Mini-SSC frames go to 254
    assert (mini.code, mini.parameters) == (0xFF, b"\x03\xfe")
    decoder = MaestroCommandDecoder()
    (mini,) = decoder.feed(b"\xff\x03\xff\x04\x05")  # FF begins the next one
    assert mini.parameters == b"\x04\x05" and decoder.errors == MaestroError.PROTOCOL


def test_the_serial_timeout_of_a_maestro_begins_with_a_command_and_strikes_once():
    world = LagWorld(SCALE)
    device = MaestroDevice(world, timeout=0.5)
    device.receive(b"", 10.0)
    device.receive(b"", 20.0)
    assert device.errors == MaestroError.NONE  # nothing was received yet
    device.receive(maestro.targets(0, [1500] * 18), 20.0)
    device.receive(b"\x84", 20.4)  # not a command yet
    assert device.errors == MaestroError.NONE and world.torques.all()
    device.receive(b"", 20.51)
    assert device.errors == MaestroError.TIMEOUT and not world.torques.any()
    device.receive(b"", 30.0)
    sent(device, b"\x00\x00\x00", 30.0)
    assert device.errors == MaestroError.TIMEOUT
    device = MaestroDevice(world)
    device.receive(maestro.targets(0, [1500] * 18), 0.0)
    device.receive(b"", 1e6)
    assert device.errors == MaestroError.NONE


def test_a_maestro_that_goes_home_forgets_its_ramps():
    device = MaestroDevice(LagWorld(SCALE))
    device.receive(maestro.target(3, 1000) + maestro.speed(3, 40) + maestro.target(3, 2000), 0.0)
    assert sent(device, maestro.query_moving(), 0.5) == b"\x01"
    device.receive(b"\xa2", 0.5)
    assert sent(device, maestro.query_moving(), 0.5) == b"\x00" and device.pulse(3, 0.5) == 0
    device.receive(maestro.target(3, 2000), 0.5)  # the position of the servo is unknown
    assert device.pulse(3, 0.5) == 2000


# --- Servo2040 ---------------------------------------------------------------------------------------


def value(device, index, dialect):
    (found,) = servo2040.Servo2040Decoder(dialect).feed(sent(device, servo2040.query(index, 1)))
    return found.values[0]


@pytest.mark.parametrize(
    ("dialect", "shown"), [(Servo2040Dialect.FORK, 90), (Servo2040Dialect.ORIGINAL, 512 + round(0.9 / 0.0814))]
)
def test_the_current_of_a_servo2040_is_that_of_its_servos(dialect, shown):
    device = Servo2040Device(LagWorld(SCALE), dialect=dialect)
    device.world.voltages[1:] = 5.0  # only that of the first servo is measured
    assert value(device, 25, dialect) == (1110 if dialect is Servo2040Dialect.FORK else 3444)
    assert value(device, 24, dialect) == (0 if dialect is Servo2040Dialect.FORK else 512)
    device.receive(servo2040.set_goals(0, [1500] * 18) + servo2040.relay(True), 0.0)
    assert value(device, 24, dialect) == shown
    device.receive(servo2040.relay(False), 0.0)
    assert not device.world.torques.any()


def test_a_latched_fork_keeps_its_relay_open_and_only_the_fork_latches():
    for dialect in Servo2040Dialect:
        world = LagWorld(SCALE)
        device = Servo2040Device(world, dialect=dialect, fuse=0.5)
        start = servo2040.set_goals(0, [1500] * 18) + servo2040.relay(True)
        device.receive(start, 0.0)
        assert world.torques.all()
        device.receive(b"", 0.1)
        fork = dialect is Servo2040Dialect.FORK
        assert (world.torques.any(), device.relay, device.latch) == (not fork, not fork, int(fork))
        device.receive(servo2040.relay(True), 0.2)
        assert world.torques.any() != fork
        assert value(device, 26, dialect) == (not fork)
    assert value(device, 27, dialect) == 1


def test_a_servo2040_stores_goals_while_its_relay_is_open_and_moves_at_once_while_it_is_closed():
    world = LagWorld(SCALE)
    device = Servo2040Device(world)
    device.receive(servo2040.set_goals(16, [1200, 1300, 0]), 0.0)  # the last is not a servo
    assert (device.goals, list(world.goals)) == ({16: 1200, 17: 1300}, [1500] * 18)
    device.receive(servo2040.relay(True) + servo2040.set_goals(2, [1800]), 0.0)
    assert list(world.goals) == [1500, 1500, 1800, *[1500] * 13, 1200, 1300]


def test_a_short_frame_of_a_servo2040_is_filled_once_after_its_timeout():
    device = Servo2040Device(LagWorld(SCALE), byte_timeout=0.001)
    device.receive(servo2040.query(0, 1)[:2], 0.0)
    assert device.receive(b"", 0.001) == []
    filled, asked = device.receive(servo2040.query(0, 2), 0.01)
    assert filled == (0.0001, servo2040.query(0, 0))
    assert (asked[0], len(asked[1])) == (0.0, 7)
    assert device.receive(b"", 1.0) == []
