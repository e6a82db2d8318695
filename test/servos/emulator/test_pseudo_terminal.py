# SPDX-License-Identifier: Apache-2.0
"""The line of emulated servos on a terminal, in real time; each of its faults: test_emulated_line.py."""

import time

import pytest

from hexapod_control.servos.bus.serial_port import SerialPort
from hexapod_control.servos.emulator.device import EmulatedDevice
from hexapod_control.servos.emulator.pseudo_terminal import PseudoTerminal

pytestmark = pytest.mark.waits

QUESTION, REPLY = b"question", b"0123456789abcdef"
SIZE = len(REPLY)
BYTE_S, TURNAROUND_S = 10.0 / 9600, 0.01
PATIENCE_S = 5.0


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

    def ask(self, count=SIZE):
        self.port.write(QUESTION)
        return self.port.read(count, time.monotonic() + PATIENCE_S)


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


@pytest.mark.parametrize(
    ("faults", "found"),
    [({"double": 1.0}, REPLY + REPLY), ({"echo": True}, QUESTION + REPLY)],
)
def test_replies_are_doubled_and_echoed(line, faults, found):
    for name, value in faults.items():
        setattr(line.pty.faults, name, value)
    assert line.ask(len(found)) == found


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
