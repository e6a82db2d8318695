# SPDX-License-Identifier: Apache-2.0
"""A robot that marches without making way is noticed, and what is known of the cause is named."""

import math

import pytest
from support.drives import DT, robot

from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.sensing.mishap_watch import MishapKind
from hexapod_control.core.sensing.progress_watch import ProgressSample, ProgressWatch

MACHINE = robot("phantomx")
AHEAD, BACK, SLOW = Twist(0.1, 0.0, 0.0), Twist(-0.1, 0.0, 0.0), Twist(0.01, 0.0, 0.0)
FREE = (0.03,) * 6  # [rad]
DRAGGED = (0.3, 0.1, 0.05, 0.05, 0.03, 0.05)
AT_EDGE = (0.12, 0.03, 0.03, 0.12, 0.03, 0.03)


def after(
    seconds,
    share,
    *,
    slip=0.0,
    push=0.0,
    wanted=1.0,
    twist=AHEAD,
    errors=FREE,
    tilt=(0.0, 0.0),
    slipping=False,
    cycle=1.0,
    held=1.0,
    watch=None,
):
    """The watch after some seconds; measured and wanted way, slip and push are shares of the executed way.

    `errors` last for a share `held` of each gait cycle.
    """
    watch = watch or ProgressWatch(MACHINE)
    for tick in range(round(seconds / DT)):
        moved = None if share is None else twist.scaled(share * DT)
        way = twist.vx * DT
        goal = twist.scaled(wanted)
        off = errors if tick * DT % cycle < held * cycle else FREE
        watch.step(DT, ProgressSample(twist, goal, moved, slip * way, push * way, off, tilt, slipping, cycle))
    return watch


@pytest.mark.parametrize(
    ("values", "cause"),
    [
        ({"errors": AT_EDGE}, "left_front and right_front are held, up to 7 deg off target, as at an edge"),
        ({"tilt": (0.0, math.radians(-20.0))}, "the ground may be too steep, the body tilts by 20 deg"),
        ({"slipping": True}, "feet slip"),
        ({"push": 0.5}, "its legs push with 50 % of its weight, so something holds its body or a leg"),
        ({}, "no sensor tells why: look for an edge, a rope or slippery ground"),
    ],
)
def test_a_robot_that_makes_no_way_says_so_within_five_seconds_with_what_is_known(values, cause):
    assert after(3.0, 0.1, **values).refused.mishap is None
    mishap = after(4.5, 0.1, **values).refused.mishap
    assert mishap.kind is MishapKind.HINDERED
    assert mishap.text.startswith("the robot makes no way: in 4 s its feet have made 10 % of it; ")
    assert cause in mishap.text


@pytest.mark.parametrize(("share", "twist"), [(0.8, AHEAD), (None, AHEAD), (0.1, SLOW), (0.9, Twist(0.0, 0.0, 0.5))])
def test_a_walk_that_gets_on_or_is_slow_or_unknown_is_no_mishap(share, twist):
    assert after(20.0, share, twist=twist).refused.mishap is None


def test_a_robot_that_has_come_free_in_the_last_second_walks_on():
    assert after(1.0, 1.0, watch=after(3.0, 0.0)).refused.mishap is None
    assert after(4.5, 0.0).refused.mishap.kind is MishapKind.HINDERED


def test_a_slow_gait_is_watched_for_two_cycles_and_a_gait_that_stands_still_for_eight_seconds():
    assert after(5.5, 0.1, cycle=3.0).refused.mishap is None
    assert after(6.6, 0.1, cycle=3.0).refused.mishap.kind is MishapKind.HINDERED
    assert after(7.5, 0.1, cycle=1e6).refused.mishap is None
    assert after(8.5, 0.1, cycle=1e6).refused.mishap.kind is MishapKind.HINDERED


def test_feet_of_which_some_stay_under_the_body_while_others_slip_make_no_way():
    assert after(7.0, 0.5, slip=0.3).refused.mishap.kind is MishapKind.HINDERED
    assert after(20.0, 0.5, slip=0.05).refused.mishap is None


def test_feet_that_all_slip_alike_make_no_way_as_they_push_hard_and_a_slope_that_is_climbed_is_no_push():
    assert after(4.5, 0.7, slip=0.15, push=0.6).refused.mishap.kind is MishapKind.HINDERED
    assert after(20.0, 0.7, slip=0.15, push=0.1).refused.mishap is None
    uphill = (0.0, math.radians(-25.0))
    assert after(20.0, 0.9, slip=0.1, push=0.5, tilt=uphill).refused.mishap is None
    assert after(4.5, 0.9, slip=0.1, push=1.1, tilt=uphill).refused.mishap.kind is MishapKind.HINDERED


@pytest.mark.parametrize("errors", [FREE, AT_EDGE])
def test_worn_servos_that_seem_to_push_are_no_mishap_unless_feet_slip(errors):
    assert after(20.0, 0.75, push=0.4, errors=errors).refused.mishap is None
    assert after(4.5, 0.75, slip=0.1, push=0.4, errors=errors).refused.mishap.kind is MishapKind.HINDERED


def test_weak_servos_whose_feet_grip_may_make_little_way_but_a_fifth_of_the_executed_and_of_the_wanted_one():
    assert after(20.0, 0.33, slip=0.03).refused.mishap is None
    assert after(20.0, 0.33, slip=0.03, wanted=1.4).refused.mishap is None
    assert "its feet have made 17 % of it" in after(4.5, 0.30, slip=0.03, wanted=1.6).refused.mishap.text
    assert after(4.5, 0.40, slip=0.1).refused.mishap.kind is MishapKind.HINDERED
    assert after(4.5, 0.22, slip=0.03).refused.mishap.kind is MishapKind.HINDERED


def test_without_a_tilt_a_slope_counts_as_a_reason_to_push():
    assert after(20.0, 0.9, slip=0.1, push=0.4, tilt=None).refused.mishap is None
    assert after(4.5, 0.7, slip=0.15, push=1.0, tilt=None).refused.mishap.kind is MishapKind.HINDERED


def test_a_robot_whose_feet_hardly_bear_load_makes_no_way_and_without_samples_it_is_unknown():
    watch = ProgressWatch(MACHINE)
    for tick in range(round(7.0 / DT)):
        moved = AHEAD.scaled(DT) if tick % 5 == 0 else ZERO
        watch.step(DT, ProgressSample(AHEAD, AHEAD, moved, 0.0, 0.0, FREE, (0.0, 0.0), False, 1.0))
    assert watch.refused.mishap.kind is MishapKind.HINDERED
    watch = ProgressWatch(MACHINE)
    for tick in range(round(7.0 / DT)):
        moved = AHEAD.scaled(0.1 * DT) if tick % 5 == 0 else None
        watch.step(DT, ProgressSample(AHEAD, AHEAD, moved, 0.0, 0.0, FREE, (0.0, 0.0), False, 1.0))
    assert watch.refused.mishap is None


def test_a_robot_that_hardly_moves_as_its_feet_are_not_where_they_should_be_makes_no_way():
    watch = ProgressWatch(MACHINE)
    for _ in range(round(4.5 / DT)):
        watch.step(DT, ProgressSample(AHEAD.scaled(0.1), AHEAD, ZERO, 0.0, 0.0, FREE, (0.0, 0.0), False, 1.0))
    assert watch.refused.mishap.kind is MishapKind.HINDERED


@pytest.mark.parametrize(("held", "cycle"), [(1.0, 1.0), (0.25, 1.0), (0.25, 1.7)])
def test_a_robot_that_drags_a_leg_along_stops_earlier(held, cycle):
    mishap = after(4.5, 0.5, errors=DRAGGED, held=held, cycle=cycle).refused.mishap
    assert "left_front is held" in mishap.text
    assert after(20.0, 0.5, errors=FREE, cycle=cycle).refused.mishap is None
    assert after(20.0, 0.7, errors=DRAGGED, held=held, cycle=cycle).refused.mishap is None


def test_a_stop_begins_a_new_count_and_the_same_course_is_refused_until_a_zero_or_another_one():
    watch = after(3.0, 0.1)
    watch.rest()
    assert after(3.0, 0.1, watch=watch).refused.mishap is None
    after(3.0, 0.1, watch=watch)
    assert watch.refused.refuses(AHEAD) and watch.refused.refuses(Twist(0.08, 0.02, 0.0)) and watch.refused.mishap
    assert not watch.refused.refuses(BACK) and watch.refused.mishap is None
    watch = after(7.0, 0.1)
    assert not watch.refused.refuses(ZERO) and not watch.refused.refuses(AHEAD)
