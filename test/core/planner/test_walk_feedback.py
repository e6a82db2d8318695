# SPDX-License-Identifier: Apache-2.0
"""Feedback of the walk in the planner: what of its sensors counts, and what it changes."""

from dataclasses import replace

import numpy as np
import pytest
from support.drives import DT, standing_planner

from hexapod_control.core.kinematics.se2 import Twist

AHEAD = Twist(0.08, 0.0, 0.0)
RIGID = Twist(0.015, 0.0, 0.0)  # shares that joints need which do not yield to their loads


def run(planner, seconds, *, loads=None, drift=0.0, late=1, gap=0, jitter=0.0, holds=False):
    """Targets of a walk whose joints follow `late` ticks later; the heading drifts by `drift` [rad/s].

    These joints do not yield to their loads, so legs do not hold them by targets beyond unless `holds`.
    Of every 17 samples of the joints `gap` are lost; ticks are longer and shorter by `jitter` [s] in turn.
    """
    if not holds:
        planner.sensors.adaptation = replace(planner.sensors.adaptation, trim=0.0)
    rows = []
    past = [planner.view.joint_angles] * late
    yaw = 0.0
    for tick in range(round(seconds / DT)):
        planner.command(AHEAD)
        shiver = 1e-6 * (tick % 2)
        yaw += (drift + planner.view.course.shares.wz * 0.08) * DT
        if tick % 17 >= gap:
            planner.sensors.joints.take((past[0] + shiver).ravel().tolist())
        planner.sensors.imu.take_reading((shiver, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 9.81), yaw)
        if loads is not None:
            planner.sensors.contacts.take([load + shiver for load in loads])
        plan = planner.step(DT + (jitter if tick % 2 else -jitter))
        past = [*past[1:], plan.joint_angles]
        rows.append(plan.joint_angles)
    return np.array(rows)


def test_joints_that_follow_late_and_a_heading_that_does_not_drift_change_almost_nothing():
    planner = standing_planner("phantomx")
    run(planner, 8.0, late=2)
    # Joints that do not yield to their loads make 1.5 % less of the way than those for which targets are planned.
    assert planner.view.course.shares == pytest.approx(RIGID, abs=0.002)
    assert not any(planner.view.foot_trims)


def test_the_way_is_known_although_ticks_are_longer_and_shorter_in_turn():
    planner = standing_planner("phantomx")
    run(planner, 8.0, late=2, jitter=0.005)
    assert planner.view.course.shares == pytest.approx(RIGID, abs=0.002), "as with even ticks"


def test_a_heading_that_drifts_is_taken_back_by_the_feet():
    planner = standing_planner("phantomx")
    run(planner, 12.0, drift=0.005)
    assert planner.view.course.shares.wz * 0.08 == pytest.approx(-0.005, rel=0.1)


def test_a_load_that_does_not_vanish_while_its_foot_swings_is_not_believed():
    planner = standing_planner("phantomx")
    run(planner, 6.0, loads=(9.0, 1.0, 3.0, 2.0, 8.0, 3.0), holds=True)
    swung = planner.view.foot_trims
    run(planner, 6.0, loads=(9.0, 1.0, 3.0, 2.0, 8.0, 3.0), holds=True)
    assert planner.view.foot_trims == swung, "only the robot at rest has used it"
    unloaded = standing_planner("phantomx")
    run(unloaded, 12.0, holds=True)
    assert planner.view.course.shares.vx == pytest.approx(unloaded.view.course.shares.vx, abs=0.002)


def test_legs_hold_half_of_their_loads_while_the_robot_walks_and_joints_are_measured():
    planner, blind = standing_planner("phantomx"), standing_planner("phantomx")
    rows = run(planner, 2.0, holds=True)
    for _ in range(round(2.0 / DT)):
        blind.command(AHEAD)
        plan = blind.step(DT)
    beyond = rows[-1] - plan.joint_angles
    standing = plan.support > 0.0
    lift = -np.sum(beyond[:, 1:], axis=1)  # the targets press femur and tibia down where a foot bears load
    assert np.all(lift[standing] > 0.01) and np.all(np.abs(beyond[:, 0]) < 0.01)


def test_lost_samples_of_the_joints_do_not_count_as_lost_way():
    planner = standing_planner("phantomx")
    run(planner, 8.0, gap=6)
    assert planner.view.course.shares == pytest.approx(RIGID, abs=0.002), "as with all samples"


@pytest.mark.parametrize("seconds", [1.5, 2.5, 5.0])
def test_a_body_that_sways_over_its_feet_as_planned_loses_no_way(seconds):
    planner = standing_planner("quadruped")
    run(planner, seconds, late=2)
    assert planner.view.course.shares == pytest.approx((0.01, 0.0, 0.0), abs=0.015)
