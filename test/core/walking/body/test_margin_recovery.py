# SPDX-License-Identifier: Apache-2.0
"""With a small static margin a walk slows down, then shifts the body, then changes to a gait with more support."""

import dataclasses
import math
from functools import cache
from typing import NamedTuple

import pytest
from support.drives import DT, drive, standing_planner, walk_of
from support.robots.other_robots import on_point_feet

from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import TickPlan
from hexapod_control.core.statics.static_stability import direction_inwards, static_margin
from hexapod_control.core.walking.body.margin_recovery import MarginRecovery, RecoveryMeasures

SLOWEST_SHARE, SLOWING_RATE = 0.5, 1.0  # [-, 1/s]
SHIFT_SPEED, MAX_SHIFT, SHIFT_STEP = 0.02, 0.03, 0.002  # [m/s, m, m]
SETTLED_TIME_S, GAIT_CHANGE_INTERVAL_S = 2.0, 3.0
RELEASE_MARGIN, RELEASE_RATE = 0.005, 0.25  # [m, -]


def front_heavy() -> Planner:
    """A standing phantomx whose body has its center of mass far in front of its middle."""
    planner = Planner(on_point_feet("phantomx"))
    planner.set_measured_joints(planner.view.lying_joints)
    assert planner.stand() is None
    while planner.state.value != "standing":
        planner.step(DT)
    return planner


def walk_with_margin(planner: Planner, least: float, seconds: float = 15.0):
    """Walks forward at full speed with a required margin [m]: (least margin [m] of the last cycles, plans)."""
    planner.change_settings(margin=least)
    command = planner.view.maxima()._replace(vy=0.0, wz=0.0)
    plans = list(drive(planner, command, seconds))
    assert all(plan.unreached is None and plan.margin > 0.0 and sum(plan.planted) >= 3 for plan in plans)
    return min(plan.margin for plan in plans[-250:]), plans


class Walk(NamedTuple):
    """A walk of a front-heavy robot with a required margin."""

    planner: Planner  # step only copies of it
    margin: float  # [m] least margin of the last cycles
    last: TickPlan


@cache
def unrestricted() -> Walk:
    """A walk at full speed without a required margin."""
    planner = front_heavy()
    margin, plans = walk_with_margin(planner, 0.0, 7.0)
    return Walk(planner, margin, plans[-1])


@cache
def recovered(missing: float) -> Walk:
    """The walk continued with a required margin that is `missing` [m] greater than its margin before."""
    planner = unrestricted().planner.copy()
    margin, plans = walk_with_margin(planner, unrestricted().margin + missing)
    return Walk(planner, margin, plans[-1])


def test_the_inward_direction_points_away_from_the_nearest_edge():
    square = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)]
    for center, expected in (((0.9, 0.1), (-1.0, 0.0)), ((-0.2, -0.7), (0.0, 1.0)), ((0.3, 1.4), (0.0, -1.0))):
        assert direction_inwards(square, center) == pytest.approx(expected)
        x, y = direction_inwards(square, center)
        assert static_margin(square, (center[0] + 0.1 * x, center[1] + 0.1 * y)) > static_margin(square, center)


def test_with_sufficient_margin_no_measure_is_taken():
    planner = standing_planner("phantomx")
    plain = [plan.joint_angles.tolist() for plan in drive(planner, Twist(0.08, 0.0, 0.1), 5.0)]
    other = standing_planner("phantomx")
    other.change_settings(margin=0.02)
    assert [plan.joint_angles.tolist() for plan in drive(other, Twist(0.08, 0.0, 0.1), 5.0)] == plain


def test_the_first_measure_is_to_slow_down_which_suffices_if_little_margin_is_missing():
    missing = 0.008  # [m] of margin
    plain, (planner, margin, last) = unrestricted(), recovered(missing)
    measures = walk_of(planner).recovery.measures
    assert measures.speed_share < 1.0 and math.hypot(*measures.shift) < 0.5 * MAX_SHIFT
    assert last.twist.vx < plain.last.twist.vx and margin >= plain.margin + missing - SHIFT_STEP
    assert planner.view.active_gait == "tripod"


def test_the_second_measure_is_to_shift_the_body_away_from_the_edge():
    missing = 0.04  # [m] of margin
    planner, margin, last = recovered(missing)
    shift = walk_of(planner).recovery.measures.shift
    assert walk_of(planner).recovery.measures.speed_share == pytest.approx(SLOWEST_SHARE, abs=0.1)
    assert shift[0] < -0.003 and last.pose.x == pytest.approx(shift[0], abs=0.003)
    # The body follows the shift in steps, and the shift follows the margin of the previous tick.
    assert margin >= unrestricted().margin + missing - 2 * SHIFT_STEP and planner.view.active_gait == "tripod"


def test_the_last_measure_is_a_gait_with_more_support():
    planner, margin, _ = recovered(0.075)
    gaits = planner.capabilities.gaits
    assert gaits[planner.view.active_gait].duty_factor > gaits["tripod"].duty_factor
    assert margin > unrestricted().margin


def test_measures_are_undone_when_the_margin_is_sufficient_again():
    planner = recovered(0.04).planner.copy()
    assert walk_of(planner).recovery.measures.speed_share < 1.0
    walk_with_margin(planner, 0.001)
    measures = walk_of(planner).recovery.measures
    assert measures.speed_share == 1.0 and measures.shift == (0.0, 0.0)
    list(drive(planner, Twist(0.01, 0.0, 0.0), 3.0))
    assert walk_of(planner).body.pose.now.x == pytest.approx(0.0, abs=1e-6)


# --- measures without a robot -------------------------------------------------------------------------------

REQUIRED_MARGIN_M = 0.03
INWARD = (0.6, -0.8)


def measures_after(measures, seconds, margin, inward=INWARD):
    for _ in range(round(seconds / DT)):
        measures = measures.after(DT, margin, REQUIRED_MARGIN_M, inward)
    return measures


def test_the_speed_is_reduced_to_its_least_share_before_the_body_shifts_and_both_at_their_rates():
    measures = RecoveryMeasures()
    slowing = (1.0 - SLOWEST_SHARE) / SLOWING_RATE
    half = measures_after(measures, 0.5 * slowing, 0.0)
    assert half.speed_share == pytest.approx(0.5 * (1.0 + SLOWEST_SHARE), abs=SLOWING_RATE * DT)
    assert half.shift == (0.0, 0.0) and not half.exhausted
    slowest = measures_after(measures, slowing + DT, 0.0)
    slowest = dataclasses.replace(slowest, shift=(0.0, 0.0))
    assert slowest.speed_share == SLOWEST_SHARE
    shifted = measures_after(slowest, 0.5, REQUIRED_MARGIN_M - 1e-6)
    assert shifted.shift == pytest.approx([0.5 * SHIFT_SPEED * v for v in INWARD])
    far = measures_after(slowest, 2.0 * MAX_SHIFT / SHIFT_SPEED, 0.0)
    assert far.shift == pytest.approx([MAX_SHIFT * v for v in INWARD]) and far.exhausted and not shifted.exhausted
    assert measures_after(far, 0.1, 0.0, (-0.6, 0.8)).shift == pytest.approx(
        [(MAX_SHIFT - 0.1 * SHIFT_SPEED) * v for v in INWARD]
    )
    assert (far.settled, far.lowest) == (0.0, math.inf)


def test_measures_are_undone_shift_first_and_slowly_after_a_while_with_margin_to_spare():
    measures, ample = RecoveryMeasures(0.7, (0.003, -0.004)), REQUIRED_MARGIN_M + RELEASE_MARGIN
    settled = measures_after(measures, SETTLED_TIME_S - DT, ample)
    assert (settled.speed_share, settled.shift) == (0.7, (0.003, -0.004)) and settled.lowest == ample
    back = 0.005 / (RELEASE_RATE * SHIFT_SPEED)
    halfway = measures_after(settled, 0.5 * back, ample)
    assert halfway.shift == pytest.approx((0.0015, -0.002), rel=0.05) and halfway.speed_share == 0.7
    centered = measures_after(halfway, 0.5 * back + 2 * DT, ample)
    assert centered.shift == (0.0, 0.0)
    faster = measures_after(centered, 0.4, ample).speed_share - centered.speed_share
    assert faster == pytest.approx(0.4 * RELEASE_RATE * SLOWING_RATE)
    done = measures_after(centered, 5.0, ample)
    assert done.speed_share == 1.0 and measures_after(done, 1.0, ample).speed_share == 1.0
    # The least margin of that time counts, and a small one starts it anew.
    hardly = measures_after(measures, SETTLED_TIME_S + DT, ample - 1e-4)
    assert (hardly.speed_share, hardly.shift) == (0.7, measures.shift) and hardly.settled < 2.5 * DT
    dip = measures_after(measures_after(settled, DT, REQUIRED_MARGIN_M), 0.5 * SETTLED_TIME_S, ample)
    assert (dip.speed_share, dip.shift) == (0.7, measures.shift)
    short = measures_after(settled, DT, REQUIRED_MARGIN_M - 1e-4)
    assert short.speed_share < 0.7 and (short.settled, short.lowest) == (0.0, math.inf)


def test_the_body_is_asked_to_shift_in_steps_and_to_the_middle_at_the_end():
    recovery = MarginRecovery()
    recovery.required_margin = REQUIRED_MARGIN_M
    recovery.measures = RecoveryMeasures(SLOWEST_SHARE)
    asked = [recovery.requested_shift for _ in range(80) if recovery.update(DT, 0.0, (1.0, 0.0))]
    assert len(asked) > 10
    steps = [b[0] - a[0] for a, b in zip([(0.0, 0.0), *asked], asked, strict=False)]
    assert all(SHIFT_STEP < step <= SHIFT_STEP + SHIFT_SPEED * DT + 1e-9 for step in steps)
    recovery.measures = RecoveryMeasures(SLOWEST_SHARE)
    assert recovery.update(DT, 1.0, (1.0, 0.0)) and recovery.requested_shift == (0.0, 0.0)
    assert not recovery.update(DT, 1.0, (1.0, 0.0))


def test_the_walk_has_the_least_share_of_the_speed_and_at_most_every_few_seconds_a_gait_with_more_support():
    recovery, gaits = MarginRecovery(), standing_planner("phantomx").capabilities.gaits
    assert (recovery.speed_share, recovery.requested_shift, recovery.measures) == (1.0, (0.0, 0.0), RecoveryMeasures())
    recovery.external_speed_share = 0.8
    assert recovery.speed_share == 0.8
    recovery.required_margin = REQUIRED_MARGIN_M
    recovery.measures = RecoveryMeasures(SLOWEST_SHARE, (MAX_SHIFT, 0.0))
    assert recovery.speed_share == SLOWEST_SHARE

    def wait(margin, gait="tripod"):
        """Seconds until another gait is wanted, and its duty factor."""
        for k in range(400):
            found = recovery.safer_gait(DT, margin, gaits[gait], gaits.values())
            if found is not None:
                return k * DT, found.duty_factor
        return math.inf, None

    for _ in range(2):
        assert wait(0.0) == (pytest.approx(GAIT_CHANGE_INTERVAL_S, abs=2 * DT), gaits["ripple"].duty_factor)
    assert wait(0.0, "ripple")[1] == gaits["wave"].duty_factor
    assert wait(0.0, "wave") == (math.inf, None) and wait(REQUIRED_MARGIN_M) == (math.inf, None)
    recovery.measures = RecoveryMeasures(SLOWEST_SHARE, (0.9 * MAX_SHIFT, 0.0))
    assert wait(0.0) == (math.inf, None)
