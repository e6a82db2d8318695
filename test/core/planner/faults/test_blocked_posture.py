# SPDX-License-Identifier: Apache-2.0
"""No posture is without a way out: from any measured joints `sit` ends on the belly, and every target is accepted."""

import numpy as np
import pytest
from support.drives import robot, standing_planner

from hexapod_control.core.kinematics.leg_kinematics import LIMIT_TOLERANCE, inverse
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState

DT = 0.04  # [s]
STUCK_SEED = 35  # of joints from which the feet of the robot cannot return to their footholds over the ground
MAX_TIME_S = 12.0


def accepted(planner, plan, last):
    """Joint angles [rad] of a plan, all of which inverse_kinematics accepts."""
    limits = np.array([[(joint.lower, joint.upper) for joint in leg.joints] for leg in planner.robot.legs])
    joints = plan.joint_motion
    if plan.feet is not None:
        solution = inverse(planner.robot, plan.feet, last)
        assert solution.reached, (solution.reasons, solution.excess)
        joints = solution.joints
    if joints is None:
        return last
    assert (joints >= limits[..., 0] - LIMIT_TOLERANCE).all() and (joints <= limits[..., 1] + LIMIT_TOLERANCE).all()
    return joints


@pytest.mark.parametrize("seed", [STUCK_SEED, 1, 2])
@pytest.mark.parametrize("beyond", [False, True], ids=["within the limits", "beyond them"])
def test_from_any_joints_a_robot_sits_down_on_request_with_targets_that_are_accepted(seed, beyond):
    standing, planner = standing_planner("phantomx"), Planner(robot("phantomx"))
    joints = np.array(standing.view.joint_angles)
    joints += np.random.default_rng(seed).normal(0.0, 0.3, joints.shape)
    if not beyond:
        limits = np.array([[(joint.lower, joint.upper) for joint in leg.joints] for leg in planner.robot.legs])
        joints = np.clip(joints, limits[..., 0], limits[..., 1])
    planner.set_measured_joints(joints)
    last = joints
    for _ in range(50):
        last = accepted(planner, planner.step(DT), last)
    assert planner.sit() is None
    for _ in range(round(MAX_TIME_S / DT)):
        last = accepted(planner, planner.step(DT), last)
        if planner.state is RobotState.SITTING:
            return
    raise AssertionError(f"the robot is {planner.state.value}")
