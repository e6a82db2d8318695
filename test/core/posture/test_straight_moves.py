# SPDX-License-Identifier: Apache-2.0
"""Moves of all joints or all feet on straight lines: their durations, and the error for feet out of reach."""

import numpy as np
import pytest
from support.drives import robot

from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.kinematics.leg_kinematics import UnreachableReason, forward
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.posture.straight_moves import FeetMove, JointMove

MACHINE = robot("phantomx")
JOINTS = joints_at_offset(MACHINE, [leg.foothold for leg in MACHINE.legs], 0.0)
FEET = [tuple(foot) for foot in forward(MACHINE, np.array(JOINTS)).tolist()]
SHARES = {0.25: 0.103515625, 0.5: 0.5, 0.75: 0.896484375, 1.0: 1.0}  # of a quintic, at rest at both ends


def changed(rows, leg, column, by):
    found = [list(row) for row in rows]
    found[leg][column] += by
    return [tuple(row) for row in found]


@pytest.mark.parametrize("leg", [0, 5])
@pytest.mark.parametrize("column", range(3))
def test_joints_move_at_35_percent_of_their_no_load_speed_at_most_and_for_at_least_0_6_s(leg, column):
    speed = MACHINE.legs[leg].joints[column].no_load_speed
    for change in (0.01, -0.9):
        goal = changed(changed(JOINTS, leg, column, change), 3, 0, 0.005)
        move = JointMove.between(MACHINE, JOINTS, goal, NEUTRAL)
        assert move.duration == pytest.approx(max(0.6, 1.875 * abs(change) / (0.35 * speed)))
        assert move.distance == pytest.approx(abs(change))
    assert JointMove.between(MACHINE, JOINTS, goal, NEUTRAL, 0.1).duration == 0.1
    assert JointMove.between(MACHINE, JOINTS, JOINTS, NEUTRAL).duration == 0.6


def test_feet_move_at_12_cm_per_second_at_most_and_for_at_least_0_6_s():
    for way, seconds in (((0.01, 0.0, 0.0), 0.6), ((0.03, -0.04, 0.0), 0.78125), ((0.0, 0.0, 0.064), 1.0)):
        goal = FEET
        for column, by in enumerate(way):
            goal = changed(goal, 4, column, by)
        assert FeetMove.between(MACHINE, FEET, goal, NEUTRAL).duration == pytest.approx(seconds)
    assert FeetMove.between(MACHINE, FEET, goal, NEUTRAL, 0.1).duration == 0.1


@pytest.mark.parametrize("kind", [JointMove, FeetMove])
def test_all_arrive_together_on_straight_lines_and_start_and_end_at_rest(kind):
    start = JOINTS if kind is JointMove else FEET
    goal = changed(changed(start, 1, 2, -0.02), 4, 0, 0.01)
    move, joints = kind.between(MACHINE, start, goal, NEUTRAL, 2.0), JOINTS
    assert (move.progress, move.done, move.retreat(0.5, joints)) == (0.0, False, None)
    for part, share in SHARES.items():
        assert not move.done
        pose = move.advance(0.5, joints)
        joints = pose.joints
        now = np.array(joints if kind is JointMove else forward(MACHINE, np.array(joints)))
        assert now == pytest.approx(np.array(start) + share * (np.array(goal) - start), abs=1e-9)
        assert move.progress == part and pose.unreached is None
        assert (pose.centers is None) == (kind is JointMove)
    assert move.done
    move.advance(0.5, joints)
    assert move.progress == 1.0


def test_the_first_foot_out_of_reach_is_named():
    goal = changed(changed(changed(FEET, 0, 2, 0.01), 2, 0, -0.5), 3, 0, -0.5)
    pose = FeetMove.between(MACHINE, FEET, goal, NEUTRAL, 1.0).advance(1.0, JOINTS)
    assert pose.unreached.leg == MACHINE.leg_names[2] and pose.unreached.reason is UnreachableReason.TOO_FAR
    assert pose.unreached.excess > 0.1
