# SPDX-License-Identifier: Apache-2.0
"""Boards of servos that do not reply: how long they may be silent, and how the servos of a lost one come back."""

import math

import numpy as np
import pytest

from hexapod_control.servos.bus.bus_interface import BusFeatures
from hexapod_control.servos.driver.boards import MIN_SILENCE_S, QUERY_PERIOD_S, BoardLoss, BoardWatch
from hexapod_control.servos.driver.presence import FIRST_PING_S, Presence, ServoClock
from hexapod_control.servos.driver.servo_readings import ServoReadings
from hexapod_control.servos.protocols.loopback import LoopbackBus
from hexapod_control.servos.settings.joint_calibration import JointCalibration
from hexapod_control.servos.settings.servo_section import ServoSettings

COUNT = 18
JOINTS = tuple(
    JointCalibration(f"joint_{k}", k + 1, 2048.0, (-1) ** k, 600.0, 700.0, 0.1, 0.0, 100, 4000, -2, 2) for k in range(6)
)


class Board(LoopbackBus):
    """A board that answers or not, and counts the questions."""

    features = BusFeatures(board=True)

    def __init__(self):
        super().__init__(())
        self.alive, self.asked = True, 0

    def answers(self):
        self.asked += 1
        self.counters.received += self.alive
        return self.alive


@pytest.mark.parametrize(("lost_after", "patience"), [(0.05, MIN_SILENCE_S), (2.0, 2.0)])
def test_a_board_is_polled_ten_times_a_second_and_silent_when_a_servo_would_be_lost(lost_after, patience):
    clock, board = [0.0], Board()
    servo_clock = ServoClock(lambda: clock[0])
    servo_clock.follow(board.counters, 0.02)
    watch = BoardWatch(
        board, ServoSettings("maestro", "/dev/board", 115200, JOINTS, lost_after=lost_after), servo_clock
    )
    for tick in range(101):
        clock[0] = 0.01 * tick
        watch.check()
    assert 1.0 / QUERY_PERIOD_S - 1 <= board.asked <= 1.0 / QUERY_PERIOD_S + 1
    board.alive = False
    last = clock[0] - clock[0] % QUERY_PERIOD_S
    while servo_clock.silence() < watch.timeout:
        clock[0] += 0.01
        watch.check()
    assert "/dev/board: the port is open, but its board has been silent for" in watch.silence_text("")
    assert clock[0] - last == pytest.approx(patience, abs=QUERY_PERIOD_S + 0.02)
    board.alive = True
    watch.check()
    assert servo_clock.silence() == 0.0


def test_a_board_whose_replies_are_all_late_is_not_given_up():
    clock, board = [0.0], Board()
    board.alive = False
    servo_clock = ServoClock(lambda: clock[0])
    servo_clock.follow(board.counters, 0.02)
    watch = BoardWatch(board, ServoSettings("maestro", "/dev/board", 115200, JOINTS), servo_clock)
    for tick in range(1000):
        clock[0] = 0.01 * tick
        board.counters.received += tick % 50 == 0  # late
        watch.check()
        assert servo_clock.silence() < watch.timeout


class LosingBus(Board):
    """A bus that has lost some of its boards."""

    features = BusFeatures(board=True, single_boards=True)

    def __init__(self):
        super().__init__()
        self.lost = {}

    def lost_boards(self):
        return self.lost


def test_the_servos_of_a_lost_board_are_away_and_return_three_at_a_time_where_they_were_sent():
    bus, ids = LosingBus(), tuple(range(20, 20 + COUNT))
    presence, readings = Presence(COUNT, 0.5, 0.0), ServoReadings(JOINTS * 3)
    loss = BoardLoss(bus, ids, presence, readings)
    loss.sent({servo: 1000 + servo for servo in ids[:-1]})
    assert loss.is_supported and loss.update(1.0) == []
    bus.lost = {"second": ids[9:]}
    assert [loss.update(2.0), loss.update(3.0)] == [[], []]
    assert loss.lost == {"second": tuple(range(9, COUNT))}
    assert [index for index in range(COUNT) if presence.quarantined(index)] == list(range(9, COUNT))
    assert presence.last_answer == [3.0] * 9 + [1.0] * 9
    assert presence.due_ping(2.0 + 1.01 * FIRST_PING_S) is not None  # since the loss, not since the last update
    bus.lost = {}
    returned = {now: loss.update(now) for now in (4.0, 4.1, 4.19, 4.21, 4.4, 4.42, 5.0)}
    assert returned == {4.0: [9, 10, 11], 4.1: [], 4.19: [], 4.21: [12, 13, 14], 4.4: [], 4.42: [15, 16, 17], 5.0: []}
    assert presence.last_answer == [5.0] * COUNT
    assert loss.lost == {}
    assert readings.positions[9:-1] == [1000.0 + servo for servo in ids[9:-1]]
    assert np.isnan(readings.positions[:9]).all() and math.isnan(readings.positions[-1])  # no goal, no position


def test_a_bus_that_loses_no_single_boards_is_left_alone():
    presence = Presence(6, 0.5, 0.0)
    loss = BoardLoss(Board(), range(6), presence, ServoReadings(JOINTS))
    assert not loss.is_supported
    assert loss.update(1.0) == []
    assert presence.last_answer == [0.0] * 6
