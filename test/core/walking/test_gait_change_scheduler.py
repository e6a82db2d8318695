# SPDX-License-Identifier: Apache-2.0
"""When a walk changes its gait: as soon as it can, at the latest after a while, and at rest at once."""

import pytest
from support.drives import DT, neutral_strides, robot

from hexapod_control.core.gait.gait_clock import GaitChange, GaitClock
from hexapod_control.core.gait.gait_table import AUTO, GaitSelection
from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.statics.static_stability import static_margin
from hexapod_control.core.walking import gait_change as gait_change_scheduler
from hexapod_control.core.walking.feet.foot_motion import FootMotion
from hexapod_control.core.walking.foot import Foot
from hexapod_control.core.walking.gait_change import (
    GaitChangeScheduler,
    WalkConditions,
    first_phase,
)
from hexapod_control.core.walking.walk_controller import WalkController
from hexapod_control.core.walking.walk_settings import WalkSettings
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.strides.stride_table import PolarOffset, StrideRegion

PLAN_TIMEOUT_S, RETRY_S = 1.2, 0.06
SUFFICIENT_MARGIN = 0.02  # [m]

MACHINE = robot("phantomx")
CAPABILITIES = Capabilities.of(MACHINE)
HEIGHT, SWING_TIME = MACHINE.walk.height, MACHINE.walk.swing_time
STANCE = CAPABILITIES.stances.at(HEIGHT)
TRIPOD, RIPPLE, TETRAPOD, WAVE = (CAPABILITIES.gaits[name] for name in ("tripod", "ripple", "tetrapod", "wave"))
SLOW = Twist(0.02, 0.0, 0.0)
ASIDE = StrideRegion(PolarOffset(0.01, 0.0), 1.0, 1.0, (0.01, 0.0))


def walking(gait=TRIPOD, twist=SLOW):
    """A walk in the middle of a step, and a scheduler without a request."""
    motion = FootMotion([Foot(x, y) for x, y in STANCE.footholds], GaitClock(gait), 0.03)
    motion.twist_is_zero = False
    motion.start()
    for _ in range(30):
        motion.step(DT, twist, SWING_TIME, neutral_strides(STANCE))
    return GaitChangeScheduler(CAPABILITIES, gait), motion


def conditions(twist=SLOW, swing_time=SWING_TIME):
    return WalkConditions(twist, swing_time, STANCE, HEIGHT, 1.0)


def test_a_change_is_planned_in_the_next_tick_and_is_coming_until_the_clock_has_made_it():
    scheduler, motion = walking()
    assert scheduler.wanted is None and scheduler.next_gaits(motion) == []
    scheduler.select(GaitSelection.of(WAVE), motion)
    assert scheduler.wanted is WAVE and scheduler.next_gaits(motion) == [WAVE] and motion.clock.change is None
    scheduler.step(DT, motion, conditions())
    assert scheduler.wanted is None and motion.clock.change.gait is WAVE and scheduler.next_gaits(motion) == [WAVE]
    scheduler.select(GaitSelection.of(TRIPOD), motion)  # the change that is under way is not the wanted one any more
    assert scheduler.wanted is TRIPOD and scheduler.next_gaits(motion) == [TRIPOD, WAVE]
    scheduler, motion = walking()
    scheduler.select(GaitSelection.of(TRIPOD), motion)
    assert scheduler.wanted is None


def test_a_change_waits_for_strides_about_the_neutral_footholds_and_for_a_speed_of_the_new_gait():
    scheduler, motion = walking()
    scheduler.select(GaitSelection.of(WAVE), motion)
    motion.feet[2].region = ASIDE
    scheduler.step(DT, motion, conditions())
    assert motion.clock.change is None
    motion.feet[2].region = motion.feet[1].region
    fast = CAPABILITIES.fastest(SLOW, ["wave"]).scaled(1.5)
    scheduler.step(DT, motion, conditions(fast))
    assert motion.clock.change is None and scheduler.wanted is WAVE
    scheduler.step(DT, motion, conditions())
    assert motion.clock.change is not None


def test_without_a_good_plan_the_best_one_is_used_after_the_timeout_and_plans_are_made_at_intervals():
    scheduler, motion = walking()
    scheduler.select(GaitSelection.of(WAVE), motion)
    long_swings = conditions(swing_time=60.0 * SWING_TIME)  # no stance of them fits into a region
    waited = 0.0
    while motion.clock.change is None:
        scheduler.step(DT, motion, long_swings)
        waited += DT
    assert PLAN_TIMEOUT_S - RETRY_S <= waited <= PLAN_TIMEOUT_S + 2.0 * RETRY_S
    assert motion.clock.change.gait is WAVE and scheduler.wanted is None
    scheduler, motion = walking()
    scheduler.select(GaitSelection.of(WAVE), motion)
    scheduler.step(DT, motion, long_swings)
    for _ in range(round(RETRY_S / DT) - 1):
        scheduler.step(DT, motion, conditions())
        assert motion.clock.change is None
    scheduler.step(DT, motion, conditions())
    assert motion.clock.change is not None


def planned(monkeypatch, **violations):
    """A walk in tripod that is asked for wave, with given violations of the plans to some gaits; others have none."""
    scheduler, motion = walking()

    def plan(clock, legs, gait, margins):
        return GaitChange(gait, 0.0, 5.0), violations.get(gait.name, 0.0)

    monkeypatch.setattr(gait_change_scheduler, "plan_gait_change", plan)
    scheduler.select(GaitSelection.of(WAVE), motion)
    return scheduler, motion


def seconds_until_change(scheduler, motion):
    for tick in range(200):
        scheduler.step(DT, motion, conditions())
        if motion.clock.change is not None:
            return tick * DT
    return float("inf")


@pytest.mark.parametrize(
    ("violations", "gait", "seconds"),
    [
        ({"wave": 1.0}, "wave", 0.0),  # just good enough
        ({"wave": 2.1}, "ripple", 0.0),
        ({"wave": 2.1, "ripple": 0.5, "tetrapod": 0.4}, "tetrapod", 0.0),
        ({"wave": 2.1, "ripple": 1.0, "tetrapod": 1.1}, "ripple", 0.0),
        ({"wave": 2.0}, "ripple", 0.54),  # the ninth retry, after half a second
        ({"wave": 2.1, "ripple": 1.1, "tetrapod": 1.1}, "wave", 1.2),
        ({"wave": 1.5, "ripple": 1.1, "tetrapod": 1.1}, "wave", 1.2),
    ],
)
def test_a_change_goes_via_another_gait_if_its_plan_is_bad_at_once_or_not_quite_good_after_half_a_second(
    monkeypatch, violations, gait, seconds
):
    scheduler, motion = planned(monkeypatch, **violations)
    assert seconds_until_change(scheduler, motion) == pytest.approx(seconds, abs=DT + RETRY_S * (seconds > 1.0))
    assert motion.clock.change.gait.name == gait
    assert scheduler.wanted is (None if gait == "wave" else WAVE)


def test_from_an_intermediate_gait_the_change_is_planned_once_it_is_active_and_goes_via_no_other_one(monkeypatch):
    scheduler, motion = planned(monkeypatch, wave=2.1)
    assert seconds_until_change(scheduler, motion) == 0.0
    first = motion.clock.change
    for _ in range(100):
        scheduler.step(DT, motion, conditions())
    assert motion.clock.change is first and scheduler.next_gaits(motion) == [WAVE, first.gait]
    motion.clock.enter(first.gait, first.phase)
    assert seconds_until_change(scheduler, motion) == pytest.approx(PLAN_TIMEOUT_S, abs=DT + RETRY_S)
    assert motion.clock.change.gait is WAVE and scheduler.wanted is None


def test_a_robot_at_rest_changes_its_gait_at_once_and_one_that_halts_keeps_the_wish_for_the_next_walk():
    scheduler, motion = walking()
    scheduler.select(GaitSelection.of(WAVE), motion)
    scheduler.step(DT, motion, conditions())
    motion.halt(SWING_TIME)
    scheduler.halt(motion)
    assert scheduler.wanted is WAVE and motion.clock.change is None
    scheduler.step(DT, motion, conditions(ZERO))
    assert motion.clock.gait is WAVE and motion.clock.phase == 0.0 and scheduler.wanted is None
    scheduler.halt(motion)
    assert scheduler.wanted is None


def test_a_change_that_is_under_way_when_the_robot_comes_to_rest_is_made_there():
    scheduler, motion = walking()
    scheduler.select(GaitSelection.of(WAVE), motion)
    scheduler.step(DT, motion, conditions())
    assert motion.clock.change is not None
    motion.running = False
    scheduler.step(DT, motion, conditions(ZERO))
    assert motion.clock.gait is WAVE and motion.clock.change is None and scheduler.next_gaits(motion) == []
    scheduler.step(DT, motion, conditions(ZERO))
    assert motion.clock.gait is WAVE


def test_a_robot_starts_at_the_start_of_its_gait_unless_other_legs_leave_it_more_margin():
    neutral = list(STANCE.footholds)

    def margin(phase, center):
        swinging = TRIPOD.legs_in_swing(phase)
        return static_margin([p for leg, p in enumerate(neutral) if leg not in swinging], center)

    seen = set()
    for k in range(-20, 21):
        center = (0.0, 0.008 * k)
        phase = first_phase(TRIPOD, neutral, center)
        seen.add(phase)
        if margin(0.0, center) >= SUFFICIENT_MARGIN:
            assert phase == 0.0
        else:
            assert phase in TRIPOD.lift_off and margin(phase, center) == max(margin(0.0, center), margin(0.5, center))
    assert seen == {0.0, 0.5}


def test_with_several_gaits_the_fastest_one_sets_the_limits_and_with_one_the_active_gait():
    scheduler, motion = walking()
    assert scheduler.fastest(motion) is TRIPOD and scheduler.selection == GaitSelection.of(TRIPOD)
    scheduler.select(GaitSelection.of(WAVE), motion)
    assert scheduler.fastest(motion) is TRIPOD
    scheduler.select(CAPABILITIES.selection(AUTO), motion)
    assert scheduler.fastest(motion) is CAPABILITIES.selection(AUTO).fastest and scheduler.selection.name == AUTO


def test_if_no_direct_change_is_good_the_walk_changes_by_another_gait():
    fast = CAPABILITIES.fastest(Twist(1.0, 0.3, 1.0), ["ripple", "tetrapod"]).scaled(0.95)
    scheduler, motion = walking(RIPPLE, fast)
    scheduler.select(GaitSelection.of(TETRAPOD), motion)
    scheduler.step(DT, motion, conditions(fast))
    detour = motion.clock.change
    assert detour.gait is TRIPOD and scheduler.wanted is TETRAPOD and scheduler.next_gaits(motion) == [TETRAPOD, TRIPOD]
    scheduler.step(DT, motion, conditions(fast))
    assert motion.clock.change is detour
    while motion.clock.change is not None:
        motion.step(DT, fast, SWING_TIME, neutral_strides(STANCE))
    assert motion.clock.gait is TRIPOD
    scheduler.step(DT, motion, conditions(fast))
    assert motion.clock.change.gait is TETRAPOD and scheduler.wanted is None


@pytest.mark.parametrize("ticks", [132, 140, 165])
def test_a_change_waits_until_the_swing_time_has_risen_as_longer_swings_prolong_the_stances(ticks):
    walk, joints = WalkController(CAPABILITIES, STANCE.footholds, NEUTRAL, TRIPOD), None

    def tick():
        nonlocal joints
        joints = walk.advance(DT, joints or joints_at_offset(MACHINE, STANCE.footholds, 0.0)).joints

    walk.drive(SLOW)
    for _ in range(ticks):
        tick()
    walk.change_settings(WalkSettings(GaitSelection.of(TRIPOD), tempo=2.0))
    walk.select_gait(GaitSelection.of(WAVE))
    while walk.motion.clock.gait is TRIPOD:
        tick()
        assert walk.motion.clock.gait is TRIPOD or walk.speed.swing_time == pytest.approx(2.0 * SWING_TIME)
