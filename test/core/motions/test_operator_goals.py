# SPDX-License-Identifier: Apache-2.0
"""Goals of an operator: reached, or ended by another request, a stop or a fault, and paused with the robot."""

import math

import numpy as np
import pytest
from support.drives import DT, robot, standing_planner, walk_of

from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.motions.motion_player import MotionPlayer
from hexapod_control.core.motions.operator_commands import OperatorCommands
from hexapod_control.core.motions.operator_goals import PATIENCE_S, FeetGoal, PostureGoal
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState

LEG = "left_front"


class Rig:
    """A planner with the requests of an operator; the robot lies, or stands."""

    def __init__(self, stands):
        self.planner = standing_planner("phantomx") if stands else Planner(robot("phantomx"))
        if not stands:
            self.planner.set_measured_joints(np.array(self.planner.view.lying_joints))
        self.commands = OperatorCommands(MotionPlayer(self.planner))

    def posture(self, lies):
        assert not (self.commands.sit() if lies else self.commands.stand())
        return PostureGoal(self.commands, self.planner, lies=lies)

    def feet(self, height, leg=LEG):
        row = self.planner.robot.leg_names.index(leg)
        x, y, z = forward(self.planner.robot, self.planner.view.joint_angles)[row]
        centers = {leg: (x, y, z + height)}
        assert not self.commands.guide_feet(centers)
        return FeetGoal(self.commands, self.planner, centers)

    @property
    def height(self):
        """Of the foot of LEG above the ground [m]."""
        return walk_of(self.planner).motion.feet[self.planner.robot.leg_names.index(LEG)].z

    def end(self, goal, seconds=20.0):
        """The end of a goal; None if it has none within a time."""
        for _ in range(round(seconds / DT)):
            end = goal.end(self.planner.step(DT), DT)
            if end is not None:
                return end
        return None


@pytest.fixture
def lying():
    return Rig(stands=False)


@pytest.fixture
def standing():
    return Rig(stands=True)


def test_a_robot_that_is_to_stand_has_reached_it_once_it_stands_at_rest(lying):
    goal = lying.posture(lies=False)
    assert lying.end(goal).reason is None
    assert lying.planner.state is RobotState.STANDING and lying.planner.view.at_rest


@pytest.mark.parametrize("twist", [Twist(0.0, 0.0, 0.0), Twist(0.1, 0.0, 0.0)], ids=["at rest", "while it walks"])
def test_a_robot_that_is_to_sit_has_reached_it_once_it_lies(standing, twist):
    standing.commands.velocity(twist)
    assert standing.end(standing.posture(lies=True)).reason is None
    assert standing.planner.state is RobotState.SITTING


@pytest.mark.parametrize(("stands", "state"), [(True, RobotState.STANDING), (False, RobotState.SITTING)])
def test_a_posture_that_the_robot_has_is_reached_soon(stands, state):
    rig = Rig(stands)
    assert rig.end(rig.posture(lies=not stands), 1.0).reason is None and rig.planner.state is state


def test_a_robot_that_walks_stands(standing):
    standing.commands.velocity(Twist(0.1, 0.0, 0.0))
    for _ in range(50):
        standing.planner.step(DT)
    assert standing.end(standing.posture(lies=False), DT).reason is None


def test_the_opposite_posture_ends_a_goal(lying):
    goal = lying.posture(lies=False)
    assert lying.end(goal, 1.0) is None
    lying.commands.sit()
    assert "a stop or a fault came before the end; the robot is" in str(lying.end(goal).reason)


def test_a_stop_on_the_way_ends_a_goal(lying):
    goal = lying.posture(lies=False)
    assert lying.end(goal, 1.0) is None
    lying.commands.halt()
    assert "the robot is rising" in str(lying.end(goal, PATIENCE_S + 2.0).reason)


def test_torque_off_ends_a_goal_and_says_so(lying):
    goal = lying.posture(lies=False)
    assert lying.end(goal, 1.0) is None
    lying.commands.forget_pose()
    assert str(lying.end(goal).reason) == str(lying.planner.view.why_unknown)


def test_a_pause_of_the_machine_ends_no_goal(lying):
    goal = lying.posture(lies=False)
    assert lying.end(goal, 1.0) is None
    lying.commands.interrupt()
    assert lying.end(goal, 2 * PATIENCE_S) is None
    lying.commands.resume()
    assert lying.end(goal).reason is None


def test_a_cancelled_posture_brings_the_robot_to_rest(lying):
    goal = lying.posture(lies=False)
    assert lying.end(goal, 1.0) is None
    goal.cancel()
    plans = [lying.planner.step(DT) for _ in range(50)]
    assert plans[-1].at_rest and lying.planner.state is RobotState.RISING


@pytest.mark.parametrize("height", [0.05, 0.0], ids=["in the air", "on the ground"])
def test_a_foot_that_is_guided_has_reached_its_point_once_it_rests_there(standing, height):
    goal = standing.feet(height)
    farthest = 0.0
    while (end := goal.end(standing.planner.step(DT), DT)) is None:
        farthest = max(farthest, goal.distance)
    assert end.reason is None and goal.distance < 0.005 < farthest
    assert standing.height == pytest.approx(height, abs=0.006)


@pytest.mark.parametrize("request_", ["release", "another point", "halt"])
def test_another_request_for_the_foot_ends_the_goal(standing, request_):
    goal = standing.feet(0.05)
    assert standing.end(goal, 0.3) is None
    if request_ == "release":
        standing.commands.guide_feet({})
    elif request_ == "another point":
        standing.feet(0.08)
    else:
        standing.commands.halt()
    assert standing.end(goal).reason is not None


def test_a_cancelled_foot_is_set_down(standing):
    goal = standing.feet(0.05)
    assert standing.end(goal).reason is None
    goal.cancel()
    plans = [standing.planner.step(DT) for _ in range(150)]
    assert all(plans[-1].planted) and math.isclose(standing.height, 0.0, abs_tol=1e-6)
