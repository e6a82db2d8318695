# SPDX-License-Identifier: Apache-2.0
"""Durations of movements: as short as servo speed and balance allow."""

import math

import numpy as np
import pytest
from support.drives import DT, robot, standing_planner

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState

NAME = "phantomx"
LEG = "left_front"
MAX_DURATION_S = 30.0


def in_state(state):
    return lambda planner: planner.state is state


RESTS = in_state(RobotState.STANDING)
SITS = in_state(RobotState.SITTING)


def lying_robot(bend=0.0):
    """A lying robot whose joints differ from the sitting posture by an angle [rad]."""
    planner = Planner(robot(NAME))
    planner.set_measured_joints(planner.view.lying_joints + bend)
    return planner


def walking(twist, gait="tripod"):
    planner = standing_planner(NAME, gait)
    for _ in range(200):
        planner.command(twist)
        planner.step(DT)
    return planner


def robot_with_lifted_leg(height):
    """A robot whose first leg is guided up by a height [m]."""
    planner = standing_planner(NAME)
    planner.guide_foot(LEG, tuple(planner.step(DT).feet[0] + np.array([0.0, 0.0, height])))
    return planner


def after_request(planner, request, *values):
    """The planner after a request, which it accepts."""
    assert not getattr(planner, request)(*values)
    return planner


def after_condition(planner, condition):
    """The planner after as many steps as a condition needs to hold."""
    seconds(planner, condition)
    return planner


def seconds(planner, condition, command=None):
    """Time [s] of the steps until a condition holds, under a command."""
    for k in range(round(MAX_DURATION_S / DT)):
        if command is not None:
            planner.command(command)
        planner.step(DT)
        if condition(planner):
            return (k + 1) * DT
    raise AssertionError(f"{planner.state.value} after {MAX_DURATION_S} s")


def arrived(planner):
    return planner.view.guided_foot_arrived(LEG)


def in_neutral_stance(planner):
    return planner.view.in_neutral_stance


def as_fast_as(twist):
    return lambda planner: math.dist(planner.step(DT).twist, twist) < 1e-9


FORWARD, SIDEWAYS, TURNING = Twist(0.12, 0.0, 0.0), Twist(0.0, 0.1, 0.0), Twist(0.0, 0.0, 0.8)
TIMES = {  # [s] with the robot, what it is asked for, when that is done
    "stand up": (2.68, lambda: after_request(lying_robot(), "stand"), RESTS, None),
    "stand up from other joints": (2.68, lambda: after_request(lying_robot(0.3), "stand"), RESTS, None),
    "stand up with straight legs": (
        4.3,
        lambda: after_request(lying_robot(-lying_robot().view.lying_joints), "stand"),
        RESTS,
        None,
    ),
    "sit down": (2.1, lambda: after_request(standing_planner(NAME), "sit"), SITS, None),
    "sit down from a pose": (2.58, lambda: after_request(posed(BodyPose(0.02, 0.01, 0.0, 0.1)), "sit"), SITS, None),
    "sit down from a walk": (3.06, lambda: after_request(walking(FORWARD), "sit"), SITS, None),
    "all feet a little": (0.6, lambda: moved_feet(0.02), RESTS, None),
    "all feet far": (0.8, lambda: moved_feet(-0.05), RESTS, None),
    "all joints far": (
        1.86,
        lambda: after_request(lying_robot(), "move_joints", np.tile((0.0, 1.0, -0.4), (6, 1))),
        SITS,
        None,
    ),
    "lift a leg": (0.58, lambda: robot_with_lifted_leg(0.05), arrived, None),
    "lift a leg far": (0.84, lambda: robot_with_lifted_leg(0.09), arrived, None),
    "set a leg down": (
        0.54,
        lambda: after_request(after_condition(robot_with_lifted_leg(0.05), arrived), "release_feet"),
        in_neutral_stance,
        None,
    ),
    "stop": (0.98, lambda: walking(FORWARD), in_neutral_stance, ZERO),
    "stop sideways": (1.88, lambda: walking(SIDEWAYS, "ripple"), in_neutral_stance, ZERO),
    "stop turning": (3.24, lambda: walking(TURNING, "wave"), in_neutral_stance, ZERO),
    "halt": (0.24, lambda: after_request(walking(FORWARD), "halt"), RESTS, None),
    "speed up": (0.12, lambda: standing_planner(NAME), as_fast_as(FORWARD), FORWARD),
    "turn round": (0.24, lambda: walking(FORWARD), as_fast_as(FORWARD.scaled(-1.0)), FORWARD.scaled(-1.0)),
    "change the gait": (
        1.14,
        lambda: after_request(walking(FORWARD.scaled(0.5)), "change_gait", "wave"),
        lambda planner: planner.view.active_gait == "wave",
        FORWARD.scaled(0.5),
    ),
}


def posed(pose):
    planner = after_request(standing_planner(NAME), "request_pose", pose)
    return after_condition(planner, lambda planner: planner.view.body_pose == pose)


def moved_feet(down):
    planner = standing_planner(NAME)
    return after_request(planner, "move_feet", planner.step(DT).feet - np.array([0.0, 0.0, down]))


@pytest.mark.parametrize("what", TIMES)
def test_a_motion_takes_its_duration_and_no_longer(what):
    expected, make, done, command = TIMES[what]
    assert seconds(make(), done, command) == pytest.approx(expected, rel=0.05, abs=1.1 * DT)
