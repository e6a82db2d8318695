# SPDX-License-Identifier: Apache-2.0
"""An emulated bus behind a terminal: which reply is taken, how long it is waited for, and whose turn it is."""

import errno
import os
from types import SimpleNamespace

import pytest

from hexapod_control.servos.i2c import i2c_bus
from hexapod_control.servos.i2c.adapter_frames import REPLY, REQUEST, AdapterDecoder, decode_messages, frame
from hexapod_control.servos.i2c.i2c_bus import AdapterPort, TerminalLock, open_terminal
from hexapod_control.servos.i2c.i2c_port import BusStuckError, I2cRead, I2cWrite, NoAcknowledgeError

ASKED = (I2cWrite(0x41, b"\x02"), I2cRead(0x41, 3))
BUS = "/dev/i2c-1"


class Terminal:
    """A port whose reply to a request with a tag is `reply(tag)`; steady time is 100 s."""

    baud = 400_000

    def __init__(self, reply):
        self.reply, self.requests, self.deadlines, self.waiting = reply, [], [], b""

    def write(self, data):
        self.requests.append(data)
        (request,) = AdapterDecoder(REQUEST).feed(data)
        self.waiting += self.reply(request.tag)

    def read(self, count, deadline):
        self.deadlines.append(deadline)
        data, self.waiting = self.waiting[:count], self.waiting[count:]
        return data

    def close(self):
        pass


@pytest.fixture
def path():
    """A terminal."""
    master, slave = os.openpty()
    yield os.ttyname(slave)
    os.close(master)
    os.close(slave)


@pytest.fixture(autouse=True)
def steady(monkeypatch):
    """Steady time that passes only in sleeps."""
    clock = SimpleNamespace(now=100.0, sleeps=[])

    def sleep(seconds):
        clock.now += seconds
        clock.sleeps.append(seconds)

    monkeypatch.setattr(i2c_bus, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    return clock


def good(tag, data=b"\0abc"):
    return frame(REPLY, tag, data)


def test_requests_are_numbered_from_0_to_255_over_and_over():
    line, tags = Terminal(good), []
    port = AdapterPort(line, BUS)
    for _ in range(300):
        assert port.transfer(*ASKED) == b"abc"
    for request in line.requests:
        (found,) = AdapterDecoder(REQUEST).feed(request)
        tags.append(found.tag)
        assert decode_messages(found.body) == list(ASKED)
    assert tags == [(tags[0] + k) % 256 for k in range(300)]


def test_a_reply_is_waited_for_as_long_as_both_frames_take_and_30_ms():
    line = Terminal(good)
    assert AdapterPort(line, BUS).transfer(*ASKED) == b"abc"
    frames = len(line.requests[0]) + len(good(0))
    assert line.deadlines == [pytest.approx(100.0 + frames * 10 / 400_000 + 0.03, abs=1e-6, rel=0.0)]


def test_the_own_reply_is_found_behind_a_late_one_and_noise():
    line = Terminal(lambda tag: good((tag - 1) % 256, b"\0xyz") + b"noise" + good(tag))
    assert AdapterPort(line, BUS).transfer(*ASKED) == b"abc"


@pytest.mark.parametrize(
    "reply",
    [
        lambda tag: b"",
        lambda tag: good(tag)[:-1],
        lambda tag: good((tag - 1) % 256),
        lambda tag: frame(REQUEST, tag, b"\0abc"),
        lambda tag: good(tag)[:-1] + bytes([good(tag)[-1] ^ 1]),
        lambda tag: good(tag, b""),
    ],
    ids=["nothing", "cut off", "of another request", "an echo", "with a wrong sum", "empty"],
)
def test_without_a_valid_reply_of_its_own_the_bus_is_stuck(reply):
    with pytest.raises(BusStuckError, match=f"^{BUS}: "):
        AdapterPort(Terminal(reply), BUS).transfer(*ASKED)


def test_an_error_number_in_the_reply_is_that_of_the_first_message():
    line = Terminal(lambda tag: good(tag, bytes([errno.EREMOTEIO, 0, 0, 0])))
    with pytest.raises(NoAcknowledgeError, match=f"^{BUS}: no chip answers at address 0x41"):
        AdapterPort(line, BUS).transfer(I2cWrite(0x41, b"\x02"), I2cRead(0x42, 3))


def test_a_program_waits_a_fifth_of_a_second_for_its_turn_and_gets_it_when_the_other_has_finished(steady, path):
    one, other = TerminalLock(path), TerminalLock(path)
    with one.held():
        with pytest.raises(BusStuckError, match=f"^{path}: "), other.held():
            pass
        assert 0.2 <= steady.now - 100.0 < 0.21
    assert max(steady.sleeps) < 0.0006  # so long after the end of the other its turn begins at the latest
    with other.held():
        assert steady.now - 100.0 < 0.21
    for each in (one, other, other):
        each.close()


def test_several_programs_may_have_the_terminal_open(path):
    for port in [open_terminal(path, 115_200) for _ in range(2)]:
        assert (port.path, port.baud) == (path, 115_200)
        port.close()
