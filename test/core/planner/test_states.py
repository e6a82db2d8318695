# SPDX-License-Identifier: Apache-2.0
"""Which request leads from which state to which other one, and the state that the planner publishes meanwhile."""

from functools import cache

import numpy as np
import pytest
from support.drives import DT, robot, standing_planner

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState

NAME = "phantomx"
FORWARD = Twist(0.05, 0.0, 0.0)
MAX_TRANSITION_TIME_S = 8.0  # in which every transition ends
KEPT_S = 3.0  # longer than any state of a transition lasts


def run(planner, seconds):
    plan = None
    for _ in range(round(seconds / DT)):
        plan = planner.step(DT)
    return plan


def after_requests(planner, seconds, *requests):
    """The planner some time after requests that follow each other at a fifth of a second."""
    for request in requests:
        REQUESTS[request](planner)
        run(planner, 0.2)
    run(planner, seconds)
    return planner


REQUESTS = {
    "stand": lambda planner: planner.stand(),
    "sit": lambda planner: planner.sit(),
    "halt": lambda planner: planner.halt(),
    "walk": lambda planner: planner.command(FORWARD),
    "move": lambda planner: planner.move_joints(planner.view.joint_angles + 0.05, 2.0),
}


@cache
def _made(what):
    lying = Planner(robot(NAME))
    lying.set_measured_joints(lying.view.lying_joints)
    other = Planner(robot(NAME))
    other.set_measured_joints(other.view.lying_joints + 0.3)
    standing = standing_planner(NAME)
    return {
        "lying": lambda: after_requests(lying, 0.1),
        "moving its joints": lambda: after_requests(other, 0.2, "stand"),
        "rising": lambda: after_requests(lying, 1.2, "stand"),
        "standing": lambda: standing,
        "walking": lambda: after_requests(standing, 1.0, "walk"),
        "coming to rest": lambda: after_requests(standing, 0.0, "walk", "walk", "sit"),
        "sinking": lambda: after_requests(standing, 0.4, "sit"),
        "moving all joints": lambda: after_requests(lying, 0.2, "move"),
        "moving all joints of legs it stands on": lambda: after_requests(standing, 0.2, "move"),
    }[what]()


def planner_in(what):
    """A new planner in this state."""
    return _made(what).copy()


SITTING, STANDING, WALKING = RobotState.SITTING, RobotState.STANDING, RobotState.WALKING
RISING, SINKING, MOVING = RobotState.RISING, RobotState.SINKING, RobotState.MOVING
NOW = {
    "lying": SITTING,
    "moving its joints": RISING,
    "rising": RISING,
    "standing": STANDING,
    "walking": WALKING,
    "coming to rest": WALKING,
    "sinking": SINKING,
    "moving all joints": MOVING,
    "moving all joints of legs it stands on": MOVING,
}
THEN = {  # the state after one or several requests, and whether the robot lies down meanwhile
    ("lying", "stand"): (STANDING, False),
    ("lying", "sit"): (SITTING, False),
    ("lying", "halt"): (SITTING, False),
    ("lying", "walk"): (SITTING, False),
    ("moving its joints", "stand"): (STANDING, False),
    ("moving its joints", "sit"): (SITTING, True),
    ("moving its joints", "halt"): (RISING, False),
    ("moving its joints", "walk"): (STANDING, False),
    ("moving its joints", "halt", "stand"): (STANDING, False),
    ("moving its joints", "halt", "sit"): (SITTING, True),
    ("moving its joints", "sit", "halt"): (RISING, False),
    ("moving its joints", "sit", "halt", "stand"): (STANDING, False),
    ("moving its joints", "sit", "stand"): (STANDING, False),
    ("rising", "stand"): (STANDING, False),
    ("rising", "sit"): (SITTING, True),
    ("rising", "halt"): (RISING, False),
    ("rising", "walk"): (STANDING, False),
    ("rising", "halt", "stand"): (STANDING, False),
    ("rising", "halt", "sit"): (SITTING, True),
    ("standing", "stand"): (STANDING, False),
    ("standing", "sit"): (SITTING, True),
    ("standing", "halt"): (STANDING, False),
    ("standing", "walk"): (WALKING, False),
    ("walking", "stand"): (WALKING, False),
    ("walking", "sit"): (SITTING, True),
    ("walking", "halt"): (STANDING, False),
    ("walking", "halt", "walk"): (WALKING, False),
    ("coming to rest", "stand"): (STANDING, False),
    ("coming to rest", "sit"): (SITTING, True),
    ("coming to rest", "halt"): (STANDING, False),
    ("coming to rest", "walk"): (SITTING, True),
    ("coming to rest", "stand", "walk"): (WALKING, False),
    ("sinking", "stand"): (STANDING, False),
    ("sinking", "sit"): (SITTING, True),
    ("sinking", "halt"): (SINKING, True),
    ("sinking", "walk"): (SITTING, True),
    ("sinking", "halt", "sit"): (SITTING, True),
    ("sinking", "halt", "stand"): (STANDING, False),
    ("moving all joints", "stand"): (STANDING, False),
    ("moving all joints", "sit"): (SITTING, True),
    ("moving all joints", "halt"): (SITTING, False),
    ("moving all joints", "walk"): (SITTING, False),
    ("moving all joints", "sit", "stand"): (STANDING, False),
    ("moving all joints of legs it stands on", "sit"): (SITTING, True),
    ("moving all joints of legs it stands on", "sit", "halt"): (STANDING, False),
    ("moving all joints of legs it stands on", "halt"): (STANDING, False),
}


@pytest.mark.parametrize("what", NOW)
def test_a_planner_reports_its_state_and_progress(what):
    planner = planner_in(what)
    view = planner.view
    assert planner.state is NOW[what]
    assert view.on_feet == (NOW[what] in (STANDING, WALKING))
    assert view.at_rest == (what in ("lying", "standing"))
    assert view.lying_down == (what in ("coming to rest", "sinking"))
    assert view.whole_body_move_active == (NOW[what] is MOVING)
    assert view.in_neutral_stance == (what == "standing")
    assert (0.0 < view.progress < 1.0) == (NOW[what] in (RISING, SINKING, MOVING))
    before = view.progress
    run(planner, 0.1)
    assert (planner.view.progress > before) == (before > 0.0)


@pytest.mark.parametrize("case", THEN, ids=", ".join)
def test_a_request_leads_to_its_state(case):
    planner, (state, lies_down) = planner_in(case[0]), THEN[case]
    for number, request in enumerate(case[1:]):
        if number:
            run(planner, 0.2)
        assert not REQUESTS[request](planner)
    assert planner.view.lying_down == lies_down
    kept = 0.0
    for _ in range(round((MAX_TRANSITION_TIME_S + KEPT_S) / DT)):
        planner.step(DT)
        kept = kept + DT if planner.state is state else 0.0
        if kept >= KEPT_S:
            break
    assert kept >= KEPT_S


@pytest.mark.parametrize("what", ["moving its joints", "rising", "sinking"])
def test_a_halted_transition_holds_until_the_next_request(what):
    planner = planner_in(what)
    planner.halt()
    run(planner, 0.5)
    held, progress = planner.view.joint_angles, planner.view.progress
    run(planner, 1.0)
    assert np.array_equal(planner.view.joint_angles, held) and planner.view.progress == progress


def test_measured_joints_count_while_the_robot_lies_and_not_while_it_moves():
    for what, counts in (("lying", True), ("rising", False), ("standing", False), ("sinking", False)):
        planner = planner_in(what)
        before = planner.view.joint_angles
        planner.set_measured_joints(before + 0.1)
        assert planner.view.joint_angles == pytest.approx(before + 0.1 * counts, abs=1e-12)
        planner.set_measured_joints(np.full_like(before, np.nan))
        assert planner.view.joint_angles == pytest.approx(before + 0.1 * counts, abs=1e-12)


def test_a_lying_robot_moves_its_feet_and_one_that_stands_keeps_the_tilt_it_has_in_all_moves():
    planner = planner_in("lying")
    feet = planner_in("lying").view
    assert planner.move_feet(np.array([(x, y, -0.02) for x, y in feet.neutral_footholds()]), 1.0) is None
    assert planner.state is MOVING
    assert run(planner, 1.1).feet[:, 2] == pytest.approx(-0.02)
    tilted = planner_in("standing")
    tilted.request_pose(BodyPose(roll=0.05, pitch=0.03))
    plan = run(tilted, 2.0)
    tilted.move_feet(plan.feet - np.array([0.0, 0.0, 0.01]), 1.0)
    run(tilted, 1.1)
    assert tilted.state is STANDING
    assert tilted.view.body_pose == pytest.approx(BodyPose(z=0.01, roll=0.05, pitch=0.03), abs=1e-3)


def test_a_pose_in_which_the_robot_was_found_is_kept_until_it_walks_or_stands_up():
    posed = planner_in("standing")
    posed.request_pose(BodyPose(x=0.01, roll=0.05))
    joints = run(posed, 2.0).joint_angles
    for request, kept in (("halt", True), ("walk", False), ("stand", False), ("pose", False)):
        found = Planner(robot(NAME))
        found.set_measured_joints(joints)
        assert found.view.pose_taken_over
        run(found, 1.5)
        assert found.state is STANDING and found.view.pose_taken_over
        if request == "pose":
            found.request_pose(NEUTRAL)
        else:
            REQUESTS[request](found)
        run(found, 2.0)
        assert found.view.pose_taken_over == kept
        assert (found.view.body_pose == NEUTRAL) != kept
