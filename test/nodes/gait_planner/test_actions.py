# SPDX-License-Identifier: Apache-2.0
"""Actions over DDS: goals with feedback, results that say why, cancelled and replaced goals."""

from types import SimpleNamespace

import pytest
from action_msgs.msg import GoalStatus
from geometry_msgs.msg import Point
from hexapod_msgs.action import ChangePosture, GuideFeet, PlayMotion
from rclpy.action import ActionClient
from std_srvs.srv import Trigger
from support.phantomx import lying, robot, standing_joints
from support.real_time.motion_bench import BREATH, NOD
from support.real_time.ros_bench import STEP

from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.motions.motion_topics import MotionRequest
from hexapod_control.core.planner.tick_plan import RobotState

ACTIONS = {"change_posture": ChangePosture, "guide_feet": GuideFeet, "play_motion": PlayMotion}
LEG = "left_front"


def motion_file(name, steps):
    """A motion whose file has another name."""
    return MotionRequest(file="other.yaml", text=f"name: {name}\ndescription: For a test.\nsteps:\n{steps}").data


class Operator:
    """The client of all actions of a planner."""

    def __init__(self, bench):
        self.bench, self.node = bench, bench.planner(on_its_feet=False)
        self.clients = {name: ActionClient(bench.probe, kind, name) for name, kind in ACTIONS.items()}
        self.feedback = []
        bench.until(lambda: all(client.server_is_ready() for client in self.clients.values()), what="actions")

    def begin(self, action, **fields):
        """Sends a goal. Returns its handle, and the future of its result."""
        request = ACTIONS[action].Goal(**fields)
        sent = self.clients[action].send_goal_async(request, lambda message: self.feedback.append(message.feedback))
        self.bench.until(sent.done, what="answer to the goal")
        assert sent.result().accepted
        return SimpleNamespace(handle=sent.result(), result=sent.result().get_result_async())

    def end(self, goal, seconds=15.0):
        """Waits for the result of a goal. Returns its status and its message."""
        self.bench.until(goal.result.done, seconds, "result")
        return goal.result.result().status, goal.result.result().result.message

    def ask(self, action, **fields):
        return self.end(self.begin(action, **fields))

    def cancel(self, goal):
        answer = goal.handle.cancel_goal_async()
        self.bench.until(answer.done, what="answer to the cancel")
        assert answer.result().goals_canceling
        return self.end(goal)

    def point(self, height):
        """Above where the foot of LEG stands."""
        row = self.node.planner.robot.leg_names.index(LEG)
        x, y, z = forward(robot(), self.node.planner.view.joint_angles)[row].tolist()
        return Point(x=x, y=y, z=z + height)


@pytest.fixture
def lying_robot(bench):
    made = Operator(bench)
    yield made
    for client in made.clients.values():
        client.destroy()


@pytest.fixture
def operator(lying_robot):
    planner = lying_robot.node.planner
    planner.set_measured_joints(standing_joints())
    while planner.state is not RobotState.STANDING:
        planner.step(STEP)
    lying_robot.bench.until(lambda: lying_robot.node.output.last, what="the first tick")
    return lying_robot


def test_a_robot_stands_up_and_sits_down_as_goals_with_feedback(lying_robot):
    operator = lying_robot
    assert operator.ask("change_posture", posture="stand") == (
        GoalStatus.STATUS_ABORTED,
        str(operator.node.planner.view.why_unknown),
    )
    operator.node.planner.set_measured_joints(lying())
    assert operator.ask("change_posture", posture="stand") == (GoalStatus.STATUS_SUCCEEDED, "")
    assert operator.node.planner.state is RobotState.STANDING
    assert "rising" in {feedback.state for feedback in operator.feedback}
    goal = operator.begin("change_posture", posture="sit")
    operator.bench.until(lambda: operator.node.planner.state is RobotState.SINKING)
    assert operator.cancel(goal)[0] == GoalStatus.STATUS_CANCELED
    assert operator.node.planner.state is RobotState.SINKING and operator.node.output.last.at_rest


def test_what_is_refused_is_aborted_with_the_reason_and_does_not_end_the_present_goal(operator):
    goal = operator.begin("guide_feet", legs=[LEG], points=[operator.point(0.05)])
    for action, fields, reason in (
        ("change_posture", {"posture": "fly"}, "is not a posture"),
        ("guide_feet", {}, "names no leg"),
        ("guide_feet", {"legs": ["tail"], "points": [Point()]}, "tail_foot"),
        ("guide_feet", {"legs": [LEG]}, "1 names but 0 transforms"),
        ("guide_feet", {"legs": [LEG] * 2000, "points": [Point()]}, "2000"),
        ("guide_feet", {"legs": [LEG], "points": [Point(x=float("nan"))]}, "nan"),
    ):
        status, message = operator.ask(action, **fields)
        assert status == GoalStatus.STATUS_ABORTED and reason in message, message
    assert operator.end(goal) == (GoalStatus.STATUS_SUCCEEDED, "")
    status, message = operator.ask("play_motion", motion="wav")
    assert status == GoalStatus.STATUS_ABORTED and "wave" in message


def test_a_guided_foot_stays_in_the_air_and_comes_down_when_the_next_goal_is_cancelled(operator):
    assert operator.ask("guide_feet", legs=[LEG], points=[operator.point(0.05)]) == (GoalStatus.STATUS_SUCCEEDED, "")
    assert not all(operator.node.output.last.planted)
    assert operator.feedback[0].distance > operator.feedback[-1].distance
    goal = operator.begin("guide_feet", legs=[LEG], points=[operator.point(0.04)])
    assert operator.cancel(goal)[0] == GoalStatus.STATUS_CANCELED
    assert all(operator.node.output.last.planted)


def test_a_motion_is_played_from_a_file_and_a_newer_goal_replaces_the_one_that_plays(operator):
    first = operator.begin("play_motion", motion=motion_file("breath", BREATH))
    operator.bench.until(lambda: operator.node.player.name == "breath", 10.0)
    second = operator.begin("play_motion", motion=motion_file("nod", NOD))
    assert operator.end(first) == (GoalStatus.STATUS_ABORTED, "a newer goal of this action has replaced it")
    assert operator.end(second, 30.0) == (GoalStatus.STATUS_SUCCEEDED, "")
    assert {"rehearse", "pose"} <= {feedback.phase for feedback in operator.feedback}


def test_a_request_on_a_service_ends_a_motion_that_is_a_goal(operator):
    goal = operator.begin("play_motion", motion="wave")
    operator.bench.until(lambda: operator.node.player.name == "wave", 10.0)
    operator.bench.call(Trigger, "cancel_motion")
    status, message = operator.end(goal)
    assert status == GoalStatus.STATUS_ABORTED and "a stop or a fault has ended the motion" in message
    goal = operator.begin("play_motion", motion="wave")
    operator.bench.until(lambda: operator.node.player.name == "wave", 10.0)
    assert operator.cancel(goal)[0] == GoalStatus.STATUS_CANCELED
    assert operator.node.player.name == ""
