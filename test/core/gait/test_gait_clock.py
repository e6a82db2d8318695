# SPDX-License-Identifier: Apache-2.0
"""Laws of the gait clock: when legs lift off, how long they will stand, and changes of gait."""

import random

import pytest
from support.drives import robot

from hexapod_control.core.gait.gait_clock import GaitChange, GaitClock
from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.workspace.robot_gaits import gaits

TABLE = gaits(robot("phantomx"))
STEP = 1 / 64  # [swing times]; all lift-offs of the table are within one step of it


def lift_offs(clock: GaitClock, duration: float, rng: random.Random) -> list[list[float]]:
    """Times [swing times] of all lift-offs of each leg in steps of random length, with swings of one swing time."""
    found: list[list[float]] = [[] for _ in clock.until]
    now, landed = 0.0, [0.0] * len(found)
    while now < duration:
        step = rng.uniform(0.3, 1.0) * STEP
        now += step
        for leg, since in clock.advance(step, [max(0.0, at - now + step) for at in landed]):
            assert 0.0 <= since <= step
            found[leg].append(now - since)
            landed[leg] = now - since + 1.0
    return found


@pytest.mark.parametrize("name", TABLE)
def test_every_leg_lifts_off_once_a_cycle_at_its_own_phase_whatever_the_steps(name):
    gait, rng = TABLE[name], random.Random(1)
    clock = GaitClock(gait)
    clock.enter(gait, 0.3)
    for leg, times in enumerate(lift_offs(clock, 4.0 * gait.cycle, rng)):
        expected = [gait.until_lift_off(leg, 0.3) + k * gait.cycle for k in range(len(times))]
        assert len(times) in (3, 4, 5) and times == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", TABLE)
def test_phase_and_time_to_lift_off_belong_together_and_a_cycle_is_swing_plus_stance(name):
    gait, rng = TABLE[name], random.Random(2)
    assert gait.cycle == pytest.approx(1.0 + gait.stance_time)
    assert gait.stance_time / gait.cycle == pytest.approx(gait.duty_factor)
    clock = GaitClock(gait)
    for _ in range(100):
        clock.advance(rng.uniform(0.0, 0.2), [0.0] * len(clock.until))
        assert 0.0 <= clock.phase < 1.0
        for leg, until in enumerate(clock.until):
            apart = until - gait.until_lift_off(leg, clock.phase)
            assert min(apart % gait.cycle, -apart % gait.cycle) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", TABLE)
def test_at_any_phase_the_legs_in_swing_are_those_that_lifted_off_less_than_a_swing_ago(name):
    gait = TABLE[name]
    for k in range(96):
        phase = (k + 0.5) / 96
        since = [gait.cycle - gait.until_lift_off(leg, phase) for leg in range(len(gait.lift_off))]
        assert gait.legs_in_swing(phase) == tuple(leg for leg, time in enumerate(since) if time < 1.0)


@pytest.mark.parametrize("after", TABLE)
@pytest.mark.parametrize("before", TABLE)
def test_a_planned_stance_lasts_until_the_next_lift_off_also_over_a_change_of_gait(before, after):
    rng = random.Random(3)
    for _ in range(6):
        clock = GaitClock(TABLE[before])
        clock.enter(TABLE[before], rng.random())
        clock.change = GaitChange(TABLE[after], rng.random(), rng.uniform(0.0, 2.0 * TABLE[before].cycle))
        planned = [clock.stance_time(leg, 0.0) for leg in range(len(clock.until))]
        ahead = clock.copy()
        first = [times[0] for times in lift_offs(ahead, 14.0, rng)]
        assert ahead.gait is TABLE[after] and ahead.change is None
        assert planned == pytest.approx(first, abs=1e-9)
        assert clock.gait is TABLE[before]  # a copy leaves the original alone


def test_a_leg_due_while_it_is_in_flight_lifts_off_in_its_next_turn():
    gait = TABLE["tripod"]
    for flight, turn in ((0.0, 0), (1.0, 1)):
        clock = GaitClock(gait)
        leg = gait.lift_off.index(0.5)
        lifted = clock.advance(1.2, [flight + 1.0 if k == leg and flight else 0.0 for k in range(6)])
        assert (leg in dict(lifted)) == (turn == 0)
        assert clock.until[leg] == pytest.approx(gait.cycle - 0.2)
    clock = GaitClock(gait)
    assert clock.stance_time(leg, 1.5) == pytest.approx(1.0 + gait.cycle - 1.5)
    assert clock.stance_time(leg, 0.5) == pytest.approx(1.0 - 0.5)


def test_gaits_are_refused_with_impossible_numbers():
    for duty_factor, lift_off in ((0.49, (0.0,)), (1.0, (0.0,)), (0.5, (1.0,)), (0.5, (-0.1,))):
        with pytest.raises(ValueError):
            Gait("wrong", duty_factor, lift_off)


def test_the_share_of_swinging_legs_is_on_average_one_minus_the_duty_factor():
    for gait in TABLE.values():
        counts = [len(gait.legs_in_swing((k + 0.5) / 60)) for k in range(60)]
        assert sum(counts) / 60 == pytest.approx(6 * (1.0 - gait.duty_factor))
