# SPDX-License-Identifier: Apache-2.0
"""The Arduino sketch's parser, compiled here, obeys the same lines as the emulated board.

Article "Assembling and running a budget hexapod": 18 cheap servos run on one Arduino-Mega-class board.
"""

import ctypes
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kits.servo_lines import LINES, ssc32_bytes
from support.paths import ROOT
from support.suite.soak import SOAK

from hexapod_control.servos.bus.pulse_board import SCALE
from hexapod_control.servos.emulator.devices.ssc32_device import Ssc32Device
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.protocols import ssc32

pytestmark = pytest.mark.compiler

SKETCH = ROOT / "firmware" / "ssc32_mega"
SHIM = """
#include "ssc32.h"
static struct ssc32 board;
static uint8_t reply[SSC32_REPLY];
static struct ssc32 zero;
void init(void) { board = zero; ssc32_init(&board); memset(reply, 0, sizeof reply); }
int feed(uint8_t byte, uint32_t now) { return ssc32_feed(&board, byte, now, reply); }
const uint8_t *reply_data(void) { return reply; }
void watch(uint32_t now) { ssc32_watch(&board, now); }
int pulse(uint8_t channel, uint32_t now) { return ssc32_pulse(&board, channel, now); }
void input(uint8_t index, uint8_t value) { board.inputs[index] = value; }
"""
FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-Wno-unused-function")
SAFE = ("-g", "-O1", "-fsanitize=undefined,bounds", "-fno-sanitize-recover=all")


class Board:
    """The parser, as the sketch uses it."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._c = library
        self._c.reply_data.restype = ctypes.POINTER(ctypes.c_uint8)
        self._c.feed.argtypes = (ctypes.c_uint8, ctypes.c_uint32)
        self._c.pulse.argtypes = (ctypes.c_uint8, ctypes.c_uint32)
        self._c.watch.argtypes = (ctypes.c_uint32,)

    def new(self) -> "Board":
        self._c.init()
        return self

    def receive(self, data: bytes, now: int = 0) -> bytes:
        """Bytes in, bytes out, at a time [ms]."""
        replies = b""
        for byte in data:
            size = self._c.feed(byte, now)
            replies += bytes(self._c.reply_data()[:size])
        return replies

    def pulses(self, now: int = 0) -> list[int]:
        return [self._c.pulse(i, now) for i in range(18)]

    def watch(self, now: int) -> None:
        self._c.watch(now)

    def input(self, index: int, value: int) -> None:
        self._c.input(index, value)


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    gcc = shutil.which("gcc")
    if not gcc:
        pytest.fail('no C compiler for the firmware: apt-get install gcc, or leave these tests out: -m "not compiler"')
    folder = tmp_path_factory.mktemp("firmware")
    (folder / "shim.c").write_text(SHIM)
    command = [gcc, *FLAGS, *SAFE, "-shared", "-fPIC", f"-I{SKETCH}", str(folder / "shim.c"), "-o"]
    done = subprocess.run([*command, str(folder / "shim.so")], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "shim.so"))


@pytest.fixture
def board(library):
    return Board(library).new()


def test_the_frame_of_the_driver_moves_all_eighteen_servos(board):
    """Article D11: 18 servos on one Arduino-Mega-class board."""
    board.receive(ssc32.move(dict.fromkeys(range(18), 1500)))
    assert board.pulses() == [1500] * 18
    assert board.receive(ssc32.move({i: 1500 + 10 * i for i in range(18)}, 0.02)) == b""
    assert board.pulses(10)[10] == 1550
    assert board.pulses(20) == [1500 + 10 * i for i in range(18)]


def test_no_channel_has_a_pulse_before_its_first_command(board):
    assert board.pulses() == [0] * 18
    board.receive(b"#3P1600\r")
    assert [i for i, pulse in enumerate(board.pulses()) if pulse] == [3]


def test_a_servo_is_never_sent_beyond_what_it_can_turn_to(board):
    # Article "Assembling and running a budget hexapod": a servo is never commanded beyond its range.
    board.receive(b"#0P1#1P499#2P2501#3P65535#4P2500\r")
    assert board.pulses()[:5] == [500, 500, 2500, 2500, 2500]


def test_the_first_pulse_of_a_channel_does_not_wait_for_t_and_s(board):
    board.receive(b"#0P2000S100T5000\r")
    assert board.pulses()[0] == 2000


def test_speed_and_time_share_a_move_and_the_slower_wins(board):
    board.receive(b"#0P1000#1P1000\r")
    board.receive(b"#0P2000S1000#1P2000S10000T500\r")
    assert board.receive(b"Q\r") == b"+"
    assert board.pulses(500)[:2] == [1500, 2000]
    assert board.receive(b"Q\r", 999) == b"+"
    assert board.receive(b"Q\r", 1000) == b"."
    assert board.pulses(1000)[:2] == [2000, 2000]


def test_stop_halts_one_channel_where_it_is(board):
    board.receive(b"#0P1000#1P1000\r#0P2000#1P2000T1000\r")
    board.receive(b"STOP0\r", 500)
    assert board.pulses(1000)[:2] == [1500, 2000]


def test_l_switches_the_pulse_off_and_qp_reports_it(board):
    board.receive(b"#0P1000#1P2500\r#0L\r")
    assert board.receive(b"QP0QP1QP2\r") == bytes([0, 250, 0])


def test_escape_discards_half_a_line(board):
    board.receive(b"#0P20\x1b#0P1500\r")
    assert board.pulses()[0] == 1500


def test_analog_inputs_are_read_in_the_asked_order(board):
    board.input(0, 17)
    board.input(7, 99)
    assert board.receive(b"VHVA\r") == bytes([99, 17])


def test_a_line_with_a_mistake_anywhere_is_not_executed_at_all(board):
    for line in (b"#0P1500#1X\r", b"#0P1500#18P1500\r", b"#0P1500#1P\r", b"#0P15 00\r", b"#0P1500#1L\r", b"#0P70000\r"):
        assert board.receive(line) == b""
    assert board.pulses() == [0] * 18


def test_without_good_lines_all_pulses_stop_after_a_second(board):
    board.receive(b"#0P1500\r", 100)
    board.receive(b"noise\r" * 3, 900)
    board.watch(1099)
    assert board.pulses(1099)[0] == 1500
    board.watch(1100)
    assert board.pulses(1100) == [0] * 18
    board.receive(b"#0P1400\r", 1200)
    assert board.pulses(1200)[0] == 1400


def test_the_clock_may_wrap_around_in_a_move_and_in_the_dead_man_switch(board):
    late = 2**32 - 500
    board.receive(b"#0P1000\r#0P2000T1000\r", late)
    board.watch(499)
    assert board.pulses(0)[0] == 1500
    board.watch(500)
    assert board.pulses(500)[0] == 0


@pytest.mark.parametrize("line", LINES)
def test_the_sketch_answers_every_line_as_the_emulated_board(line, board):
    _same(board, [line])


@pytest.mark.soak
@given(ssc32_bytes)
@settings(max_examples=400 if SOAK else 150, derandomize=True)
def test_any_bytes_do_the_same_to_the_sketch_and_to_the_emulated_board(library, chunks):
    _same(Board(library).new(), chunks)


@given(st.binary(max_size=1500))
@settings(max_examples=200, derandomize=True)
def test_no_bytes_bring_the_sketch_out_of_step_or_out_of_range(library, data):
    board = Board(library).new()
    board.receive(data)
    assert all(pulse == 0 or 500 <= pulse <= 2500 for pulse in board.pulses())
    board.receive(b"\x1b#0L\r\x1b#0P1234\r")
    assert board.pulses()[0] == 1234


def _same(board: Board, chunks: list[bytes]) -> None:
    device = Ssc32Device(LagWorld(SCALE, voltage=0.0), count=18, version="")
    for chunk in chunks:
        replies = b"".join(reply for _, reply in device.receive(chunk, 0.0))
        assert board.receive(chunk) == replies
    # what is reached when all is done; the dead-man switch is the sketch's own
    assert board.pulses(2**31) == [device.pulse(i, 1e9) for i in range(18)]
