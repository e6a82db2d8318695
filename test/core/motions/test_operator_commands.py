# SPDX-License-Identifier: Apache-2.0
"""When each request of an operator is accepted, and which activity it ends."""

from functools import cache

import numpy as np
import pytest
from support.drives import DT, robot, standing_planner

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.motions.motion_player import (
    MotionEnd,
    MotionOutcome,
    MotionPlayer,
    PlayerState,
    RehearsedMotion,
)
from hexapod_control.core.motions.motion_rehearsal import MotionRehearsal
from hexapod_control.core.motions.motion_steps import Choreography, GaitStep, JointsStep, WaitStep
from hexapod_control.core.motions.operator_commands import CLOSED, OperatorCommands
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.refusal import Refusal

NAME = "phantomx"
FORWARD = Twist(0.04, 0.0, 0.0)
WAITING = Choreography("waiting", "", (WaitStep(5.0),), loops=0)
IMPOSSIBLE = Choreography("impossible", "", (GaitStep("gallop"),))
RAISED = (0.0, 0.0, 0.03)  # [m]


def points_above_feet(commands, *legs):
    """Points [m, base_link] above the feet of these legs of a standing robot."""
    feet = standing_planner(NAME).step(DT).feet
    names = commands.robot.leg_names
    return {leg: tuple(feet[names.index(leg)] + np.array(RAISED)) for leg in legs}


REQUESTS = {
    "stand": lambda commands: commands.stand(),
    "sit": lambda commands: commands.sit(),
    "pose": lambda commands: commands.request_pose(BodyPose(x=0.01)),
    "gait": lambda commands: commands.change_gait("wave"),
    "feet": lambda commands: commands.guide_feet(points_above_feet(commands, "left_front")),
    "leg": lambda commands: commands.change_leg("left_front", lost=True),
    "no feet": lambda commands: commands.guide_feet({}),
}
STOPS = {
    "stop": lambda commands: commands.halt(),
    "fail": lambda commands: commands.fail(),
    "torque off": lambda commands: commands.forget_pose(),
    "close": lambda commands: commands.close(),
    "twist": lambda commands: commands.velocity(FORWARD),
}


@cache
def rehearsed_waiting():
    return MotionRehearsal(robot(NAME), WAITING).finish()


class Robot:
    """A motion player and the operator's commands for it; its planner stands unless another one is given."""

    def __init__(self, planner=None):
        self.player = MotionPlayer(planner or standing_planner(NAME))
        self.planner = self.player.planner
        self.commands = OperatorCommands(self.player)

    def play(self):
        self.commands.play(rehearsed_waiting())
        self.run(0.5)
        return self

    def run(self, seconds):
        for _ in range(round(seconds / DT)):
            self.player.step(DT)
        return self

    def walk(self):
        assert self.commands.velocity(FORWARD) is None
        self.run(2.0)
        assert self.planner.state is RobotState.WALKING
        return self


def lying():
    planner = Planner(robot(NAME))
    planner.set_measured_joints(planner.view.lying_joints)
    return Robot(planner)


@pytest.mark.parametrize("request_", REQUESTS)
def test_while_the_pose_is_unknown_or_after_closing_every_request_but_a_stop_is_refused(request_):
    unknown = Robot(Planner(robot(NAME)))
    assert "the pose is not known yet: no joint_states have arrived" in str(REQUESTS[request_](unknown.commands))
    assert "no joint_states" in str(unknown.commands.playing_refusal())
    assert "no joint_states" in str(unknown.commands.velocity(FORWARD))
    closed = Robot()
    closed.commands.close()
    assert REQUESTS[request_](closed.commands) == closed.commands.playing_refusal() == CLOSED
    assert closed.commands.velocity(FORWARD) is None
    assert closed.run(1.0).planner.state is RobotState.STANDING
    assert Robot().commands.playing_refusal() is None


@pytest.mark.parametrize("request_", REQUESTS)
def test_while_requests_are_suspended_only_stops_and_sitting_down_are_accepted(request_):
    walking = Robot().walk()
    walking.commands.suspension = Refusal("suspended", "another robot drives")
    walking.commands.halt()
    assert walking.commands.velocity(FORWARD) is None
    assert walking.run(2.0).planner.state is RobotState.STANDING
    expected = None if request_ == "sit" else walking.commands.suspension
    assert REQUESTS[request_](walking.commands) == expected
    assert str(walking.commands.playing_refusal()) == "another robot drives"
    assert walking.run(10.0).planner.state is (RobotState.SITTING if request_ == "sit" else RobotState.STANDING)
    walking.commands.suspension = None
    assert walking.commands.stand() is None


@pytest.mark.parametrize("request_", [*REQUESTS, *STOPS])
def test_a_request_ends_a_motion_and_a_rehearsal(request_):
    act = (REQUESTS | STOPS)[request_]
    playing = Robot().play()
    assert (playing.player.name, playing.commands.take_outcomes()) == ("waiting", [])
    act(playing.commands)
    (outcome,) = playing.commands.take_outcomes()
    assert (playing.player.name, outcome.name, outcome.end) == ("", "waiting", MotionEnd.CANCELLED)
    assert 0.0 < outcome.progress < 0.2
    rehearsing = Robot()
    rehearsing.commands.rehearse(WAITING)
    assert rehearsing.commands.rehearsing == "waiting"
    act(rehearsing.commands)
    (outcome,) = rehearsing.commands.take_outcomes()
    assert (rehearsing.commands.rehearsing, outcome.end, outcome.progress) == ("", MotionEnd.CANCELLED, 0.0)
    assert rehearsing.commands.take_outcomes() == []


@pytest.mark.parametrize("request_", REQUESTS)
def test_an_accepted_request_is_executed(request_):
    commanded = Robot()
    assert REQUESTS[request_](commanded.commands) is None
    commanded.run(3.0)
    seen = {
        "sit": commanded.planner.view.lying_down or commanded.planner.state is RobotState.SITTING,
        "pose": commanded.planner.view.body_pose.x == 0.01,
        "gait": commanded.planner.view.active_gait == "wave",
        "feet": commanded.planner.state is RobotState.MOVING and not commanded.planner.view.changing_legs,
        "leg": commanded.planner.view.changing_legs,
    }
    assert [what for what, true in seen.items() if true] == [what for what in seen if what == request_]


def test_after_a_fall_a_robot_recovers_instead_of_standing_up():
    assert str(Robot().commands.stand(after_fall=True)) == "the robot has not fallen: nothing to recover from"
    assert Robot().commands.stand(after_fall=False) is None
    playing = Robot().play()
    playing.commands.stand(after_fall=True)
    assert playing.player.name == ""
    playing.commands.close()
    assert playing.commands.stand(after_fall=True) == CLOSED


def test_a_motion_that_is_being_read_counts_as_rehearsed_until_it_is_or_another_request_comes_first():
    commands = Robot().commands
    assert (commands.rehearsing, commands.awaited) == ("", "")
    commands.await_motion("bow")
    assert (commands.rehearsing, commands.awaited, commands.advance_rehearsal()) == ("bow", "bow", None)
    commands.rehearse(WAITING)
    assert (commands.rehearsing, commands.awaited) == ("waiting", "")
    commands.await_motion("bow")
    assert (commands.rehearsing, commands.take_outcomes()) == ("bow", [])
    commands.velocity(ZERO)
    assert commands.awaited
    commands.velocity(FORWARD)
    (outcome,) = commands.take_outcomes()
    assert (commands.rehearsing, outcome) == ("", MotionOutcome("bow", MotionEnd.CANCELLED, 0.0))
    commands.await_motion("bow")
    commands.play(rehearsed_waiting())
    assert (commands.rehearsing, commands.awaited, commands.take_outcomes()) == ("", "", [])


def test_without_a_leg_no_motion_is_played_and_a_velocity_timeout_does_not_end_the_change_of_legs():
    changes = Robot().walk()
    assert changes.commands.change_leg("left_front", lost=True) is None
    changes.run(0.1)
    changes.commands.velocity_timed_out()
    assert changes.planner.view.changing_legs
    for _ in range(600):
        changes.run(DT)
        if not changes.planner.view.changing_legs:
            break
    assert changes.planner.view.lost_legs == ("left_front",)
    changes.run(1.0)
    assert changes.planner.state is RobotState.STANDING  # the velocity from before the change has timed out
    assert (
        str(changes.commands.playing_refusal())
        == "refused while a leg is lost: unfold it first (hexapod leg back LEG, or topic return_leg)"
    )
    joints = Choreography("move", "", (JointsStep({"all": (0.0, 0.5, -1.5)}, place="f.yaml:3"),))
    changes.player.execute(RehearsedMotion(joints, 1.0))
    changes.run(2 * DT)
    (outcome,) = changes.commands.take_outcomes()
    reason = (
        "f.yaml:3: joints: refused while a leg is lost: unfold it first (hexapod leg back LEG, or topic return_leg)"
    )
    assert outcome.end is MotionEnd.REFUSED and str(outcome.reason) == str(changes.player.refusal) == reason


def test_a_lying_robot_stands_up_and_refuses_a_twist_until_then():
    lies = lying()
    assert str(lies.commands.velocity(FORWARD)) == "ignored while sitting: run hexapod stand first"
    assert lies.commands.velocity(ZERO) is None
    assert lies.commands.stand() is None
    assert lies.run(1.0).planner.state is RobotState.RISING
    assert "ignored while rising" in str(lies.commands.velocity(FORWARD))
    moving = lying()
    assert moving.planner.move_joints(moving.planner.view.lying_joints + 0.1) is None
    assert moving.commands.velocity(FORWARD) is None  # part of a motion: the robot may be about to stand


def test_an_interrupted_change_of_posture_continues_unless_a_later_request_replaces_it():
    for replaced in (False, True):
        rises = lying()
        assert rises.commands.stand() is None
        rises.run(1.0).commands.interrupt()
        assert rises.run(3.0).planner.state is RobotState.RISING
        if replaced:
            rises.commands.request_pose(BodyPose(x=0.01))
        rises.commands.resume()
        assert rises.run(6.0).planner.state is (RobotState.RISING if replaced else RobotState.STANDING)


def test_sitting_down_that_was_interrupted_continues_after_closing():
    sits = Robot()
    assert sits.commands.sit() is None
    sits.run(0.5).commands.close()
    sits.commands.interrupt()
    assert sits.run(3.0).planner.state is RobotState.SINKING
    sits.commands.resume()
    assert sits.run(6.0).planner.state is RobotState.SITTING


def test_a_zero_twist_ends_no_motion_and_no_twist_interrupts_sitting_down():
    playing = Robot().play()
    playing.commands.rehearse(WAITING)
    assert playing.commands.velocity(ZERO) is None
    assert (playing.player.name, playing.commands.rehearsing) == ("waiting", "waiting")
    sits = Robot().walk()
    assert sits.commands.sit() is None
    for _ in range(500):
        if sits.planner.state is RobotState.SITTING:
            break
        assert sits.commands.velocity(FORWARD) is None
        sits.run(DT)
    assert sits.planner.state is RobotState.SITTING


def test_a_velocity_timeout_stops_a_walk_but_neither_a_motion_nor_sitting_down():
    walks = Robot().walk()
    walks.commands.velocity_timed_out()
    assert walks.run(2.0).planner.state is RobotState.STANDING
    assert not walks.planner.view.in_neutral_stance  # the feet stay where they came down
    playing = Robot().play()
    playing.commands.velocity_timed_out()
    assert playing.player.name == "waiting"
    sits = Robot()
    sits.commands.sit()
    sits.commands.velocity_timed_out()
    assert sits.run(6.0).planner.state is RobotState.SITTING


def test_feet_are_guided_all_or_none():
    guided = Robot()
    goals = points_above_feet(guided.commands, "left_front")
    refusal = guided.commands.guide_feet({**goals, "tail": RAISED})
    assert "unknown leg 'tail'" in str(refusal)
    assert guided.run(1.0).planner.state is RobotState.STANDING
    assert guided.commands.guide_feet(goals) is None
    assert guided.run(3.0).planner.state is RobotState.MOVING
    assert guided.commands.guide_feet({}) is None
    assert guided.run(4.0).planner.view.in_neutral_stance


def test_a_stop_brings_a_walk_to_rest_and_a_failed_tick_shows_as_a_fault_until_one_succeeds():
    stopped = Robot().walk()
    stopped.commands.halt()
    assert stopped.run(2.0).planner.state is RobotState.STANDING
    failed = Robot().walk()
    failed.commands.fail()
    assert failed.planner.state is RobotState.FAULT
    assert failed.run(DT).planner.state is RobotState.WALKING
    assert failed.run(2.0).planner.state is RobotState.STANDING
    gone = Robot()
    gone.commands.forget_pose()
    assert gone.run(DT).planner.state is RobotState.UNKNOWN


def test_a_motion_is_played_as_soon_as_its_rehearsal_has_passed_and_refused_with_the_reason():
    rehearses = Robot()
    assert rehearses.commands.advance_rehearsal() is None
    rehearses.commands.rehearse(WAITING)
    found = None
    while found is None:
        assert rehearses.player.name == ""
        found = rehearses.commands.advance_rehearsal()
    assert (rehearses.player.name, rehearses.commands.rehearsing) == ("waiting", "")
    assert (found.motion, found.duration) == (WAITING, pytest.approx(5.0, abs=2 * DT))
    assert rehearses.commands.advance_rehearsal() is None
    refused = Robot()
    refused.commands.rehearse(IMPOSSIBLE)
    while refused.commands.rehearsing:
        assert refused.commands.advance_rehearsal() is None
    (outcome,) = refused.commands.take_outcomes()
    assert (outcome.name, outcome.end, outcome.progress) == ("impossible", MotionEnd.REFUSED, 0.0)
    assert "unknown gait 'gallop'" in str(outcome.reason)
    assert refused.player.name == ""


def test_a_motion_that_may_finish_its_cycle_does_and_a_pending_rehearsal_is_dropped():
    playing = Robot().play()
    playing.commands.rehearse(WAITING)
    playing.commands.finish_cycle()
    assert (playing.commands.rehearsing, playing.player.state) == ("", PlayerState.STOPPING)
    playing.run(4.0)
    assert playing.player.name == "waiting" and playing.player.progress == pytest.approx(0.9, abs=0.01)
    playing.run(1.0)
    (outcome,) = playing.commands.take_outcomes()
    assert (outcome.end, outcome.progress, playing.player.name) == (MotionEnd.DONE, 1.0, "")
