# SPDX-License-Identifier: Apache-2.0
"""When bytes arrive on an emulated line, and what each of its faults does to them. Times are steady [s]."""

import pytest

from hexapod_control.servos.emulator.emulated_line import EmulatedLine

BYTE_TIME_S, TURNAROUND_S = 0.001, 0.016  # of a byte at 10000 baud, and of the adapter
REPLY = b"0123456789abcdef"
END = 50.0


def approx(seconds):
    return pytest.approx(seconds, abs=1e-9, rel=0.0)


@pytest.fixture
def line():
    return EmulatedLine(10_000, TURNAROUND_S, 0)


def scheduled(line, *replies, end=END, garbled=False):
    return line.schedule([(0.0, reply) for reply in replies], end, garbled=garbled)


def test_the_device_has_a_request_when_all_of_its_bytes_and_those_before_are_transmitted(line):
    assert line.sent(b"abcde", 10.0) == approx(10.005)
    assert line.sent(b"ab", 10.001) == approx(10.007)
    assert line.sent(b"a", 20.0) == approx(20.001)
    line.clear()
    assert line.sent(b"a", 5.0) == approx(5.001)


def test_replies_come_one_after_the_other_each_after_its_delay_and_the_first_after_the_turnaround(line):
    found = line.schedule([(0.002, b"abc"), (0.0, b"de"), (0.005, b"f")], END, garbled=False)
    first = END + 0.002 + TURNAROUND_S + 3 * BYTE_TIME_S
    times = [approx(first), approx(first + 2 * BYTE_TIME_S), approx(first + 2 * BYTE_TIME_S + 0.005 + BYTE_TIME_S)]
    assert found == list(zip(times, [b"abc", b"de", b"f"], strict=True))
    last = first + 2 * BYTE_TIME_S + 0.005 + BYTE_TIME_S
    busy = scheduled(line, b"g", end=END + 0.001)
    assert busy == [(approx(last + TURNAROUND_S + BYTE_TIME_S), b"g")]
    assert scheduled(line, b"h", end=END + 9.0) == [(approx(END + 9.0 + TURNAROUND_S + BYTE_TIME_S), b"h")]
    line.clear()
    assert scheduled(line, b"i") == [(approx(END + TURNAROUND_S + BYTE_TIME_S), b"i")]
    assert scheduled(line) == []


def test_slow_replies_make_the_line_busy_and_late_ones_do_not(line):
    line.faults.slow = 0.1
    one, two = scheduled(line, b"a", b"b")
    assert one == (approx(END + TURNAROUND_S + 0.1 + BYTE_TIME_S), b"a")
    assert two == (approx(END + TURNAROUND_S + 0.2 + 2 * BYTE_TIME_S), b"b")
    line.clear()
    line.faults.slow, line.faults.late = 0.0, 0.1
    one, two = scheduled(line, b"a", b"b")
    assert one == (approx(END + TURNAROUND_S + 0.1 + BYTE_TIME_S), b"a")
    assert two == (approx(END + TURNAROUND_S + 0.1 + 2 * BYTE_TIME_S), b"b")
    assert scheduled(line, b"c") == [(approx(END + 2 * TURNAROUND_S + 0.1 + 3 * BYTE_TIME_S), b"c")]


def test_a_split_reply_comes_byte_by_byte_and_ends_when_it_would(line):
    ((whole, _),) = scheduled(line, REPLY)
    line.clear()
    line.faults.split = True
    found = scheduled(line, REPLY)
    assert [piece for _, piece in found] == [REPLY[i : i + 1] for i in range(len(REPLY))]
    assert [when for when, _ in found] == [approx(whole - (15 - i) * BYTE_TIME_S) for i in range(len(REPLY))]


def test_replies_that_are_glued_wait_for_the_next_one(line):
    line.faults.glue = True
    assert scheduled(line, b"abc") == []
    assert scheduled(line, b"de", b"f") == [(approx(END + 2 * TURNAROUND_S + 5 * BYTE_TIME_S), b"abcde")]
    line.faults.glue = False
    assert scheduled(line, b"gh")[0][1] == b"fgh"
    line.faults.glue = True
    scheduled(line, b"ij")
    line.clear()
    line.faults.glue = False
    assert scheduled(line, b"k")[0][1] == b"k"


def test_doubled_replies_and_noise_take_time_on_the_line(line):
    line.faults.double = 1.0
    first = END + TURNAROUND_S + 3 * BYTE_TIME_S
    assert scheduled(line, b"abc") == [(approx(first), b"abc"), (approx(first + 3 * BYTE_TIME_S), b"abc")]
    line.clear()
    line.faults.double, line.faults.noise = 0.0, b"\xff\x55"
    assert scheduled(line, b"abc") == [(approx(first + 2 * BYTE_TIME_S), b"\xff\x55abc")]


def test_lost_replies_take_no_time_on_the_line_but_that_of_the_servo(line):
    for name, value in (("drop", 1.0), ("mute", True)):
        setattr(line.faults, name, value)
        assert scheduled(line, b"abc", b"de") == []
        setattr(line.faults, name, type(value)(0))
    line.clear()
    line.faults.drop = 1.0
    assert line.schedule([(0.002, b"abc")], END, garbled=False) == []
    line.faults.drop = 0.0
    assert scheduled(line, b"f") == [(approx(END + 0.002 + 2 * TURNAROUND_S + BYTE_TIME_S), b"f")]
    assert scheduled(line, b"", end=END + 1.0) == []


def test_a_share_of_the_replies_is_lost_doubled_or_wrong(line):
    for name, changed in (
        ("drop", lambda found: not found),
        ("double", lambda found: len(found) == 2),
        ("flip", lambda found: found[0][1] != REPLY),
        ("truncate", lambda found: found[0][1] != REPLY),
    ):
        setattr(line.faults, name, 0.25)
        count = sum(changed(scheduled(line, REPLY)) for _ in range(800))
        assert 150 <= count <= 250, name  # four standard deviations
        setattr(line.faults, name, 0.0)


def test_a_flipped_reply_has_one_wrong_bit_anywhere(line):
    line.faults.flip = 1.0
    places = set()
    for _ in range(2000):
        ((_, found),) = scheduled(line, REPLY)
        wrong = [(at, a ^ b) for at, (a, b) in enumerate(zip(found, REPLY, strict=True)) if a != b]
        ((at, bits),) = wrong
        assert bits.bit_count() == 1
        places.add((at, bits))
    assert len(places) == 8 * len(REPLY)


def test_a_truncated_reply_has_any_length_but_its_own(line):
    line.faults.truncate = 1.0
    found = [piece for _ in range(500) for _, piece in scheduled(line, REPLY)]
    assert {len(piece) for piece in found} == set(range(len(REPLY)))
    assert all(REPLY.startswith(piece) for piece in found)


@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0, 0), (0.25, 700, 900), (1.0, 3150, 3200)])
def test_a_share_of_the_bytes_is_wrong_in_both_directions(line, share, least, most):
    line.faults.corrupt = share
    data = 200 * REPLY
    received = line.received(data, garbled=False)
    ((_, replied),) = scheduled(line, data)
    for found in (received, replied):
        assert len(found) == len(data)
        assert least <= sum(a != b for a, b in zip(found, data, strict=True)) <= most


def test_at_another_baud_no_byte_is_what_was_sent_and_the_seed_decides_what_it_is():
    lines = [EmulatedLine(10_000, TURNAROUND_S, seed) for seed in (1, 1, 2)]
    data = 20 * REPLY
    found = [line.received(data, garbled=True) for line in lines]
    assert found[0] == found[1] != found[2]
    assert len(found[0]) == len(data) and sum(a == b for a, b in zip(found[0], data, strict=True)) < 10
    ((when, replied),) = scheduled(lines[0], data, garbled=True)
    assert when == approx(END + TURNAROUND_S + len(data) * BYTE_TIME_S)
    assert sum(a == b for a, b in zip(replied, data, strict=True)) < 10
