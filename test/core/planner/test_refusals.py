# SPDX-License-Identifier: Apache-2.0
"""Requests that a state cannot execute are refused with the state and the remedy, and change nothing."""

import numpy as np
import pytest
from support.drives import DT, drive, standing_planner

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState

LEG = "left_front"
ON_FEET = {
    "a pose": lambda planner: planner.request_pose(BodyPose(z=0.01)),
    "a foot": lambda planner: planner.guide_foot(LEG, (0.25, 0.2, -0.05)),
    "a foot over ground": lambda planner: planner.guide_foot_over_ground(LEG, (0.25, 0.2, 0.03)),
}
AT_REST = {
    "feet": lambda planner: planner.move_feet(np.zeros((6, 3)), 1.0),
    "joints": lambda planner: planner.move_joints(planner.view.joint_angles, 1.0),
}


def sitting():
    planner = Planner(standing_planner("phantomx").robot)
    planner.set_measured_joints(planner.view.lying_joints)
    planner.step(DT)
    return planner


def rising():
    planner = sitting()
    planner.stand()
    planner.step(DT)
    return planner


def about_to_sit():
    planner = standing_planner("phantomx")
    list(drive(planner, Twist(0.1, 0.0, 0.0), 1.0))
    planner.sit()
    planner.step(DT)
    return planner


def moving():
    planner = sitting()
    assert planner.move_joints(planner.view.joint_angles + 0.1, 2.0) is None
    planner.step(DT)
    return planner


STATES = {
    RobotState.SITTING: sitting,
    RobotState.RISING: rising,
    RobotState.WALKING: about_to_sit,
    RobotState.MOVING: moving,
}


def reply_and_joints(planner, ask):
    """The answer to a request, and the joints ten ticks later."""
    answer = ask(planner)
    return answer, [planner.step(DT).joint_angles.tolist() for _ in range(10)]


@pytest.mark.parametrize("what", [*ON_FEET, *AT_REST])
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.value)
def test_requests_that_need_a_robot_on_its_feet_or_at_rest_are_refused_with_the_remedy(state, what):
    planner = STATES[state]()
    assert planner.state is state
    if state is RobotState.SITTING and what in AT_REST:
        assert AT_REST["joints"](planner) is None  # it rests
        return
    answer, joints = reply_and_joints(planner.copy(), {**ON_FEET, **AT_REST}[what])
    remedy = "stand up first" if what in ON_FEET else "wait until the robot rests"
    assert str(answer) == f"ignored while {state.value}: {remedy}"
    assert joints == reply_and_joints(planner, lambda planner: "")[1]


def test_a_walking_robot_moves_single_feet_or_all_joints_only_after_it_has_stopped():
    planner = standing_planner("phantomx")
    list(drive(planner, Twist(0.1, 0.0, 0.0), 1.0))
    assert str(ON_FEET["a foot"](planner)) == "the robot walks: stop first"
    assert str(AT_REST["joints"](planner)) == "ignored while walking: wait until the robot rests"
    planner.halt()
    for _ in range(100):
        planner.step(DT)
    assert AT_REST["joints"](planner) is None
