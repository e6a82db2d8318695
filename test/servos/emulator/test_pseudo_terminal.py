# SPDX-License-Identifier: Apache-2.0
"""The line of emulated servos: each fault on its own with certainty, and the time that bytes take."""

import time

import pytest

from hexapod_control.servos.bus.serial_port import SerialPort
from hexapod_control.servos.emulator.device import EmulatedDevice
from hexapod_control.servos.emulator.pseudo_terminal import PseudoTerminal

pytestmark = pytest.mark.waits

QUESTION, REPLY = b"question", b"0123456789abcdef"
SIZE = len(REPLY)
BYTE_S, TURNAROUND_S = 10.0 / 9600, 0.01
SILENCE_S, PATIENCE_S = 0.15, 5.0


class FixedReplyDevice(EmulatedDevice):
    """A device that always replies the same."""

    def __init__(self):
        self.received = []

    def receive(self, data, now):
        self.received.append(data)
        return [(0.0, REPLY)]


class Line:
    def __init__(self, pty):
        self.pty, self.port = pty, SerialPort(pty.path, 9600)

    def ask(self, count=SIZE, patience=PATIENCE_S):
        self.port.write(QUESTION)
        return self.port.read(count, time.monotonic() + patience)


@pytest.fixture
def line():
    with PseudoTerminal(FixedReplyDevice(), 9600, turnaround=TURNAROUND_S) as pty:
        made = Line(pty)
        yield made
        made.port.close()


def test_without_faults_everything_arrives_after_the_time_of_its_bytes_and_the_turnaround(line):
    begin = time.monotonic()
    assert line.ask() == REPLY
    assert time.monotonic() - begin > (len(QUESTION) + SIZE) * BYTE_S + TURNAROUND_S
    assert b"".join(line.pty.device.received) == QUESTION


@pytest.mark.parametrize("name", ["slow", "late"])
def test_replies_come_later_by_what_is_set(line, name):
    setattr(line.pty.faults, name, 0.05)
    begin = time.monotonic()
    assert line.ask() == REPLY
    assert time.monotonic() - begin > (len(QUESTION) + SIZE) * BYTE_S + TURNAROUND_S + 0.05


@pytest.mark.parametrize(
    ("faults", "found"),
    [
        ({"double": 1.0}, REPLY + REPLY),
        ({"echo": True}, QUESTION + REPLY),
        ({"noise": b"\xff\x55"}, b"\xff\x55" + REPLY),
    ],
)
def test_replies_are_doubled_echoed_and_preceded_by_noise(line, faults, found):
    for name, value in faults.items():
        setattr(line.pty.faults, name, value)
    assert line.ask(len(found)) == found


@pytest.mark.parametrize("fault", [("drop", 1.0), ("mute", True)])
def test_a_lost_reply_is_that_of_a_request_that_was_received(line, fault):
    setattr(line.pty.faults, *fault)
    assert line.ask(patience=SILENCE_S) == b""
    assert b"".join(line.pty.device.received) == QUESTION


def test_a_reply_is_held_back_until_the_next_one(line):
    line.pty.faults.glue = True
    assert line.ask(patience=SILENCE_S) == b""
    assert line.ask(2 * SIZE) == REPLY + REPLY


def test_one_bit_is_wrong_or_the_end_is_missing(line):
    line.pty.faults.flip = 1.0
    wrong = [a ^ b for a, b in zip(line.ask(), REPLY, strict=True) if a != b]
    assert len(wrong) == 1 and wrong[0].bit_count() == 1
    line.pty.faults.flip, line.pty.faults.truncate = 0.0, 1.0
    found = line.ask(patience=SILENCE_S)
    assert REPLY.startswith(found) and len(found) < SIZE


def test_bytes_are_wrong_in_both_directions(line):
    line.pty.faults.corrupt = 1.0
    found, received = line.ask(), b"".join(line.pty.device.received)
    assert len(found) == SIZE and sum(a != b for a, b in zip(found, REPLY, strict=True)) > 8
    assert len(received) == len(QUESTION) and received != QUESTION


def test_a_split_reply_comes_byte_by_byte(line):
    line.pty.faults.split = True
    first = line.ask(1)
    begin = time.monotonic()
    assert first + line.port.read(SIZE - 1, begin + PATIENCE_S) == REPLY
    line.pty.faults.split = False
    line.ask(1)
    assert line.port.read(SIZE - 1, time.monotonic()) == REPLY[1:]  # is there in one piece


def test_nothing_is_understood_at_another_baud(line):
    line.port.close()
    line.port = SerialPort(line.pty.path, 57_600)
    assert line.ask() != REPLY
    assert b"".join(line.pty.device.received) != QUESTION
