# SPDX-License-Identifier: Apache-2.0
"""Slow motion of servos: they get torque where they are, move evenly no faster than they may, and are released."""

from types import SimpleNamespace

import pytest

from hexapod_control.servos.bus.bus_interface import BusError, RawScale, ServoQuantity, ServoReading
from hexapod_control.servos.calibration.servo_jogger import ServoJogger, reach
from hexapod_control.servos.settings.joint_calibration import JointCalibration

SCALE = RawScale("tick", 0, 1000, 500, 250.0)
IDS = (4, 5, 6, 7)
JOG = 0.6 * 250.0 * 0.02  # [raw] per goal


class Bench:
    """A bus that records its calls, and a clock that records the sleeps instead of waiting."""

    def __init__(self, *, reads=True, pace=1.0):
        self.told, self.slept, self.places = [], [], {4: 100.0, 5: 200.0, 6: 1010.0, 7: 400.0}
        self.unresponsive = {}  # servo -> readings that it misses
        self.bus = SimpleNamespace(
            ids=IDS,
            scale=SCALE,
            can_read=ServoQuantity.POSITION if reads else ServoQuantity.NONE,
            read=self.read,
            write_goals=lambda goals, duration: self.told.append((goals, duration)),
            torque=lambda ids, on: self.told.append((tuple(ids), on)),
            relax=lambda: self.told.append("relax"),
        )
        assumed = dict.fromkeys(IDS, 300.0)
        self.jogger = ServoJogger(self.bus, assumed, pace, self.slept.append)

    def read(self, ids, quantities):
        found = {}
        for i in ids:
            self.unresponsive[i] = self.unresponsive.get(i, 0) - 1
            if self.unresponsive[i] < 0:
                found[i] = ServoReading(position=self.places[i])
        return found

    def forget(self):
        self.told.clear()
        self.slept.clear()


def test_positions_are_read_four_times_and_servos_that_stay_silent_are_named():
    bench = Bench()
    bench.unresponsive = {5: 3}
    assert bench.jogger.positions(IDS) == bench.places
    bench.unresponsive = {5: 4, 7: 4}
    with pytest.raises(BusError, match="servo 5, 7 does not answer: check its cable"):
        bench.jogger.positions(IDS)


def test_servos_get_their_torque_where_they_are_leg_by_leg_and_only_once():
    bench = Bench(pace=2.0)
    bench.jogger.hold(IDS)
    goals = {4: 100, 5: 200, 6: 1000, 7: 400}  # within the range
    assert bench.told == [(goals, 0.0), ((4, 5, 6), True), ((7,), True)]
    assert bench.slept == [0.01, 0.01]
    bench.forget()
    bench.jogger.hold(IDS)
    assert bench.told == []


def test_servos_without_feedback_are_assumed_somewhere_and_get_their_torque_all_together():
    bench = Bench(reads=False)
    assert not bench.jogger.reports_position
    bench.jogger.hold([5])
    assert bench.told == [(dict.fromkeys(IDS, 300), 0.0), ((4, 5, 6), True), ((7,), True)]
    bench.jogger.go({5: 310.0})
    assert bench.jogger.positions([4, 5]) == {4: 300.0, 5: 310.0}
    bench.jogger.relax()
    assert bench.jogger.positions([4, 5]) == {4: 300.0, 5: 300.0}


@pytest.mark.parametrize("pace", [1.0, 4.0])
def test_servos_move_together_in_even_steps_and_the_farthest_at_the_speed_of_a_jog(pace):
    bench = Bench(pace=pace)
    bench.jogger.hold([4, 5])
    bench.forget()
    bench.jogger.go({4: 100.0 + 60 * JOG, 5: 200.0 - 30 * JOG})
    count = round(60 / pace)
    rows = [goals for goals, duration in bench.told if duration == 0.02]
    assert len(rows) == len(bench.told) == len(bench.slept) == count
    assert set(bench.slept) == {0.02}
    for step, goals in enumerate(rows, 1):
        share = step / count
        assert goals == {4: round(100.0 + share * 60 * JOG), 5: round(200.0 - share * 30 * JOG)}


def test_goals_end_at_the_range_of_the_servos_and_a_servo_that_is_there_gets_one_goal():
    bench = Bench()
    bench.jogger.go({4: -50.0, 5: 2000.0})
    assert bench.told[-1] == ({4: 0, 5: 1000}, 0.02)
    bench.forget()
    bench.jogger.go({4: 0.0})
    assert bench.told == [({4: 0}, 0.02)]
    bench.forget()
    bench.jogger.go({})
    assert bench.told == [({}, 0.02)]


def test_released_servos_get_their_torque_anew_where_they_are_then():
    bench = Bench()
    bench.jogger.hold([4, 5])
    bench.forget()
    bench.jogger.release([5, 7])  # 7 has no torque
    assert bench.told == [((5,), False)]
    bench.places[5] = 250.0
    bench.jogger.release([5])
    bench.forget()
    bench.jogger.hold([4, 5])
    assert bench.told == [({5: 250}, 0.0), ((5,), True)]
    bench.jogger.relax()
    assert bench.told[-1] == "relax"
    bench.forget()
    bench.jogger.hold([4])
    assert bench.told == [({4: 100}, 0.0), ((4,), True)]


def test_a_wiggle_goes_up_then_down_and_back_and_lagging_servos_get_a_third_of_a_second():
    bench = Bench()
    bench.jogger.wiggle(5, 0.1)
    goals = [told[0][5] for told in bench.told if isinstance(told[0], dict)]
    assert (goals[0], goals[-1], max(goals), min(goals)) == (200, 200, 225, 175)
    assert goals.index(225) < goals.index(175)
    bench.forget()
    bench.jogger.settle()
    assert bench.slept == [0.3]


@pytest.mark.parametrize("direction", [1, -1])
def test_the_reach_of_a_joint_is_that_of_its_raw_limits(direction):
    joint = JointCalibration("joint", 1, 500.0, direction, 250.0, 250.0, 0.1, 0.0, 400, 700, -2, 2)
    assert reach(joint) == (min(map(joint.angle, (400, 700))), max(map(joint.angle, (400, 700))))
