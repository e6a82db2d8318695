"""With a small static margin a walk slows down, then shifts the body, then changes to a gait with more support."""

import dataclasses
import math

import pytest
from support.drives import DT, drive, robot, standing_planner, walk_state

from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.statics.static_stability import direction_inwards, static_margin
from hexapod_control.core.walking.body.margin_recovery import MAX_SHIFT, SHIFT_STEP, SLOWEST_SHARE


def front_heavy(shift: float) -> Planner:
    """A standing phantomx whose body has its centre of mass `shift` [m] in front of its middle."""
    machine = robot("phantomx")
    body = dataclasses.replace(machine.body, center_of_mass=(shift, 0.0, 0.0))
    planner = Planner(dataclasses.replace(machine, body=body))
    planner.set_measured_joints(planner.view.lying_joints)
    assert planner.stand() == ""
    while planner.state.value != "standing":
        planner.step(DT)
    return planner


def walked(planner: Planner, least: float, seconds: float = 15.0):
    """Walks forward at full speed with a required margin [m]: (least margin [m] of the last cycles, plans)."""
    planner.change_settings(margin=least)
    command = planner.view.maxima()._replace(vy=0.0, wz=0.0)
    plans = list(drive(planner, command, seconds))
    assert all(plan.unreached is None and plan.margin > 0.0 and sum(plan.planted) >= 3 for plan in plans)
    return min(plan.margin for plan in plans[-250:]), plans


def test_the_inward_direction_points_away_from_the_nearest_edge():
    square = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)]
    for centre, expected in (((0.9, 0.1), (-1.0, 0.0)), ((-0.2, -0.7), (0.0, 1.0)), ((0.3, 1.4), (0.0, -1.0))):
        assert direction_inwards(square, centre) == pytest.approx(expected)
        x, y = direction_inwards(square, centre)
        assert static_margin(square, (centre[0] + 0.1 * x, centre[1] + 0.1 * y)) > static_margin(square, centre)


def test_with_sufficient_margin_no_measure_is_taken():
    planner = standing_planner("phantomx")
    plain = [plan.joint_angles.tolist() for plan in drive(planner, Twist(0.08, 0.0, 0.1), 5.0)]
    other = standing_planner("phantomx")
    other.change_settings(margin=0.02)
    assert [plan.joint_angles.tolist() for plan in drive(other, Twist(0.08, 0.0, 0.1), 5.0)] == plain


def test_first_the_robot_slows_down_which_suffices_if_little_margin_is_missing():
    planner = front_heavy(0.06)
    plain, plans = walked(planner, 0.0, 10.0)
    fast = plans[-1].twist.vx
    margin, plans = walked(planner, plain + 0.008)
    measures = walk_state(planner).measures
    assert measures.speed_share < 1.0 and math.hypot(*measures.shift) < 0.5 * MAX_SHIFT
    assert plans[-1].twist.vx < fast and margin >= plain + 0.008 - SHIFT_STEP
    assert planner.view.active_gait == "tripod"


def test_then_the_body_shifts_away_from_the_edge():
    planner = front_heavy(0.10)
    plain, _ = walked(planner, 0.0, 10.0)
    margin, plans = walked(planner, plain + 0.04)
    shift = walk_state(planner).measures.shift
    assert walk_state(planner).measures.speed_share == pytest.approx(SLOWEST_SHARE, abs=0.1)
    assert shift[0] < -0.003 and plans[-1].pose.x == pytest.approx(shift[0], abs=0.003)
    # The body follows the shift in steps, and the shift follows the margin of the previous tick.
    assert margin >= plain + 0.04 - 2 * SHIFT_STEP and planner.view.active_gait == "tripod"


def test_finally_the_gait_changes_to_one_with_more_support():
    planner = front_heavy(0.14)
    plain, _ = walked(planner, 0.0, 10.0)
    margin, _ = walked(planner, plain + 0.075)
    gaits = planner.capabilities.gaits
    assert gaits[planner.view.active_gait].duty_factor > gaits["tripod"].duty_factor
    assert margin > plain


def test_measures_are_undone_when_the_margin_is_sufficient_again():
    planner = front_heavy(0.10)
    plain, _ = walked(planner, 0.0, 10.0)
    walked(planner, plain + 0.04)
    assert walk_state(planner).measures.speed_share < 1.0
    walked(planner, 0.001)
    measures = walk_state(planner).measures
    assert measures.speed_share == 1.0 and measures.shift == (0.0, 0.0)
    list(drive(planner, Twist(0.01, 0.0, 0.0), 3.0))
    assert walk_state(planner).body_pose.x == pytest.approx(0.0, abs=1e-6)
