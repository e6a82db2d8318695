# SPDX-License-Identifier: Apache-2.0
"""An RC receiver as a gamepad: bytes of the wire, channels as controls, and what a lost signal does to the robot."""

import os
import random
import re
import time
import tty

import pytest
from sensor_msgs.msg import Joy
from support.real_time.ros_bench import overrides, wait_for_stop
from support.real_time.teleop_bench import connected, teleop

from hexapod_control.bringup import node_graph
from hexapod_control.cli.main import main
from hexapod_control.config.channel_file import RECEIVERS, SWITCHES, load_channels, shipped_channels
from hexapod_control.config.errors import ChannelFileError
from hexapod_control.nodes.gamepad.evdev_gamepad import GamepadLostError
from hexapod_control.nodes.gamepad.gamepad import GamepadNode
from hexapod_control.nodes.gamepad.rc_receiver import PROTOCOLS, CrsfDecoder, RcReceiver, SbusDecoder, crc8, state

CONTROLS = load_channels(shipped_channels())
CENTER, LOW, HIGH = 992, 172, 1811
# A frame with 16 channels that a receiver of Crossfire sent, captured by the authors of Betaflight.
CRSF = bytes.fromhex("00 18 16 BD 08 9F F4 AE F7 BD EF 7D EF FB AD FD 45 2B 5A 01 00 00 00 00 00 6C")
CRSF_TICKS = (189, 993, 978, 983)  # its first four
# A frame of SBUS with both digital channels.
SBUS = bytes.fromhex("0F E0 03 1F 58 C0 07 16 B0 80 05 2C 60 01 0B F8 C0 07 00 00 00 00 00 03 00")
SBUS_TICKS = (992, 992, 352, 992, 352, 352, 352, 352, 352, 352, 992, 992, 0, 0, 0, 0)
FAILSAFE, LOST = 8, 4


def packed(ticks):
    bits = sum(tick << 11 * place for place, tick in enumerate(ticks))
    return bits.to_bytes(22, "little")


def crsf(ticks):
    body = b"\x16" + packed(ticks)
    return bytes([0xC8, len(body) + 1]) + body + bytes([crc8(body)])


def link(quality):
    body = bytes([0x14, 60, 60, quality, 10, 0, 2, 3, 70, 100, 9])
    return bytes([0xC8, len(body) + 1]) + body + bytes([crc8(body)])


def sbus(ticks, flags=0):
    return b"\x0f" + packed(ticks) + bytes([flags, 0])


def heard_as(data, listener, baud, parity=False, stops=1, inverted=False):
    """The bytes that a port set to a listener's protocol receives of a line of another format."""
    bits = [1] * 20
    for byte in data:
        row = [byte >> k & 1 for k in range(8)]
        bits += [0, *row, *([sum(row) % 2] if parity else []), *[1] * stops]
    bits = [bit ^ inverted for bit in bits + [1] * 20]
    step = baud / PROTOCOLS[listener].baud  # of a bit of the listener, in bits of the line
    size = 8 + (PROTOCOLS[listener].parity == "E")  # bits between start and stop
    heard, at = bytearray(), 1.0
    while at + (size + 2) * step < len(bits):
        if not (bits[int(at - step / 8)] and not bits[int(at)]):  # no start
            at += step / 8
            continue
        read = [bits[int(at + (k + 1.5) * step)] for k in range(size + 1)]
        heard.append(sum(bit << k for k, bit in enumerate(read[:8])) if read[-1] else 0)
        at += (size + 1.5) * step
    return bytes(heard)


def sticks(**channels):
    """Ticks of 16 channels: sticks centered, switches down, but for those named `c1` to `c16`."""
    ticks = [CENTER] * 4 + [LOW] * 12
    ticks[8] = ticks[9] = CENTER  # switches with three positions
    for name, tick in channels.items():
        ticks[int(name[1:]) - 1] = tick
    return ticks


def ticks(channels):
    return tuple(round(value * 819.5 + CENTER) for value in channels)


def test_the_checksum_is_that_of_the_catalogue_of_crc_algorithms():
    assert crc8(b"123456789") == 0xBC  # CRC-8/DVB-S2


def test_frames_of_real_receivers_have_their_channels():
    assert ticks(CrsfDecoder().take(CRSF).channels)[:4] == CRSF_TICKS
    assert ticks(SbusDecoder().take(2 * SBUS).channels)[:16] == SBUS_TICKS
    assert SbusDecoder().take(2 * SBUS).channels[16:] == (1.0, 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_frames_are_found_between_noise_in_pieces_of_any_size(seed):
    draw = random.Random(seed)
    for decoder, frame in ((CrsfDecoder(), crsf), (SbusDecoder(), sbus)):
        wanted, heard = [], []
        stream = draw.randbytes(draw.randrange(60))
        for _ in range(20):
            wanted.append(tuple(draw.randrange(HIGH) for _ in range(16)))
            stream += 4 * frame(wanted[-1])
        while stream:
            size = draw.randrange(1, 26)
            said = decoder.take(stream[:size])
            heard += [ticks(said.channels)[:16]] if said.channels else []
            stream = stream[size:]
        assert set(heard) - set(wanted) == set() and set(wanted[3:]) <= set(heard)


def test_a_frame_with_a_wrong_bit_is_not_heard():
    for bit in range(16, 8 * len(CRSF)):
        broken = bytearray(CRSF)
        broken[bit // 8] ^= 1 << bit % 8
        assert not CrsfDecoder().take(bytes(broken)).channels


def test_a_receiver_says_that_it_has_no_signal():
    assert SbusDecoder().take(2 * sbus(sticks(), FAILSAFE)).failsafe
    assert SbusDecoder().take(2 * sbus(sticks(), LOST)).channels == ()
    assert CrsfDecoder().take(crsf(sticks()) + link(0)).failsafe
    assert not CrsfDecoder().take(link(0) + link(100) + crsf(sticks())).failsafe


def test_every_control_of_the_shipped_file_works_and_nothing_else_is_pressed():
    pad = state(CrsfDecoder().take(crsf(sticks(c2=HIGH, c1=HIGH, c4=LOW))).channels, CONTROLS)
    assert list(pad.axes[:3]) == [-1.0, 1.0, 1.0]  # to the right, forward, turn to the left
    assert not any(pad.buttons)
    for name, channel in CONTROLS.items():
        if name in SWITCHES:
            frame = crsf(sticks(**{f"c{abs(channel)}": HIGH if channel > 0 else LOW}))
            pressed = state(CrsfDecoder().take(frame).channels, CONTROLS)
            assert [k for k, value in enumerate(pressed.buttons) if value] == [SWITCHES[name].number]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("forward: 2", "enable: is missing, the robot needs a dead-man"),
        ("enable: 19", "must be in"),
        ("enable: 0", "is 0, must be 1 to 18"),
        ("enable: 5\nforwards: 2", "did you mean forward"),
        ("[1, 2]", "must be a mapping of keys"),
    ],
)
def test_a_file_of_channels_that_cannot_be_used_is_refused_before_anything_starts(text, message, tmp_path, capsys):
    file = tmp_path / "channels.yaml"
    file.write_text(text)
    with pytest.raises(ChannelFileError, match=message):
        load_channels(file)
    assert main(["rc", "--channels", str(file)]) == 2
    assert message in capsys.readouterr().err


def test_the_table_of_protocols_has_those_of_the_options():
    assert tuple(PROTOCOLS) == RECEIVERS
    receiver, _ = node_graph.specs("rc", {"receiver": "sbus", "receiver_port": "/dev/ttyUSB7"})
    assert receiver.parameters == {"receiver": "sbus", "port": "/dev/ttyUSB7"}


class Line:
    """A pseudo-terminal with a receiver at its near end."""

    def __init__(self):
        self.near, self._far = os.openpty()
        tty.setraw(self._far)
        self.path = os.ttyname(self._far)

    def send(self, data):
        os.write(self.near, data)

    def close(self):
        os.close(self.near)
        os.close(self._far)


class Transmitter:
    """A receiver on a line that sends a frame every 14 ms while it has signal."""

    def __init__(self, bench, frame):
        self.line, self.frame, self.ticks, self.sends = Line(), frame, sticks(), True
        self._bench, self._timer = bench, bench.probe.create_timer(0.014, self._send)

    def _send(self):
        if self.sends:
            self.line.send(self.frame(self.ticks))

    def close(self):
        self._bench.probe.destroy_timer(self._timer)
        self.line.close()


@pytest.mark.parametrize(
    ("kind", "frame", "after", "words"),
    [
        ("crsf", crsf(sticks()), b"", "signal lost"),
        ("crsf", crsf(sticks()), link(0), "signal lost, the receiver reports failsafe"),
        ("sbus", sbus(sticks()), sbus(sticks(), LOST), "signal lost"),
        ("sbus", sbus(sticks()), sbus(sticks(), FAILSAFE), "signal lost, the receiver reports failsafe"),
        ("sbus", sbus(sticks()), None, "the port is gone"),
    ],
    ids=["silent", "no link", "repeated", "failsafe", "unplugged"],
)
def test_a_receiver_that_is_silent_repeats_itself_reports_failsafe_or_is_unplugged_is_lost(kind, frame, after, words):
    line = Line()
    pad, end = RcReceiver(kind, line.path, CONTROLS), time.monotonic() + 5.0
    while not pad.usable and time.monotonic() < end:
        line.send(frame)
        time.sleep(0.01)  # between the frames of a receiver
        pad.read()
    if after is None:
        line.close()
    lost, end = "", time.monotonic() + 5.0
    while not lost and time.monotonic() < end:
        if after:
            line.send(after)
        time.sleep(0.01)
        try:
            pad.read()
        except GamepadLostError as error:
            lost = str(error)
    pad.close()
    assert words in lost


def test_a_robot_whose_transmitter_is_lost_stops_and_walks_again_only_after_a_new_dead_man(bench):
    transmitter = Transmitter(bench, crsf)
    planner, driver = bench.planner(), teleop(bench)
    pad = bench.add(GamepadNode(parameter_overrides=overrides(receiver="crsf", port=transmitter.line.path)))
    walks = lambda: planner.output.last.twist.vx > 0.02  # noqa: E731
    bench.until(lambda: connected(driver) and driver.teleop.robot.maxima.vx > 0.0, 10.0, "receiver and robot")
    transmitter.ticks = sticks(c5=HIGH, c2=HIGH)
    bench.until(walks, 10.0, "walking")
    transmitter.sends = False
    wait_for_stop(bench, planner)
    text = pad.last_report("lost")
    assert "signal lost" in text and ": all controls at rest; when it is back, release the dead-man first" in text
    bench.until(lambda: not connected(driver), 2.0, "silence")
    transmitter.sends = True
    bench.until(lambda: "enable_button" in (driver.teleop.pressed or ()), 5.0, "the dead-man that is still held")
    assert not driver.teleop.driving
    transmitter.ticks = sticks()
    bench.until(lambda: "enable_button" not in driver.teleop.pressed, 2.0, "its release")
    transmitter.ticks = sticks(c5=HIGH, c2=HIGH)
    bench.until(walks, 5.0, "walking again")
    transmitter.close()


@pytest.mark.parametrize(
    ("kind", "frame", "words"),
    [
        ("crsf", b"", "nothing arrives: has the receiver power"),
        ("crsf", link(0), "has no signal: is the transmitter on"),
        ("sbus", sbus(sticks(), FAILSAFE), "has no signal: is the transmitter on"),
        ("sbus", heard_as(20 * sbus(sticks()), "sbus", 100_000, True, 2, True), "is not SBUS: .* inverter"),
        ("sbus", heard_as(20 * crsf(sticks()), "sbus", 420_000), "is not SBUS: is the receiver set to SBUS"),
        ("crsf", heard_as(20 * crsf(sticks()), "crsf", 115_200), "is not CRSF: .* with 420000 baud"),
        ("crsf", heard_as(20 * sbus(sticks()), "crsf", 100_000, True, 2), "is not CRSF: is the receiver set to CRSF"),
    ],
    ids=["silent", "no link", "failsafe", "inverted", "CRSF for SBUS", "slow", "SBUS for CRSF"],
)
def test_a_receiver_that_cannot_be_used_yet_says_why(kind, frame, words):
    line = Line()
    pad, end = RcReceiver(kind, line.path, CONTROLS), time.monotonic() + 2.0
    while not re.search(words, pad.why_unusable) and time.monotonic() < end:
        line.send(frame)
        time.sleep(0.01)  # between the frames of a receiver
        pad.read()
    pad.close()
    line.close()
    assert re.search(words, pad.why_unusable) and not pad.usable


def test_a_port_hears_its_own_format_without_a_change():
    assert heard_as(SBUS, "sbus", 100_000, True, 2) == SBUS
    assert heard_as(CRSF, "crsf", 420_000) == CRSF


def test_a_receiver_without_signal_is_waited_for_and_a_missing_port_named(bench):
    transmitter = Transmitter(bench, crsf)
    transmitter.sends = False
    received = bench.listen(Joy, "joy")
    pad = bench.add(GamepadNode(parameter_overrides=overrides(receiver="crsf", port=transmitter.line.path)))
    bench.until(lambda: "nothing arrives" in pad.last_report("none"), 5.0, "the remedy")
    assert not received
    transmitter.sends = True
    bench.until(lambda: received, 5.0, "the receiver")
    transmitter.close()
    missing = bench.add(GamepadNode(parameter_overrides=overrides(receiver="sbus", port="/dev/ttyNONE")))
    assert "there is no such port" in missing.last_report("none")
