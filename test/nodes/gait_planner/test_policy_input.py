# SPDX-License-Identifier: Apache-2.0
"""Joint targets of a policy on their topic: a run begins and ends once, and motion_state says why it has ended."""

import pytest
from support.drives import DT, standing_planner
from support.kits.plain_node import PlainNode

from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.motions.motion_player import MotionPlayer
from hexapod_control.core.motions.motion_topics import MotionState
from hexapod_control.core.motions.operator_commands import OperatorCommands
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.refusal import Refusal
from hexapod_control.nodes.gait_planner.motion_input import MotionInput
from hexapod_control.nodes.gait_planner.policy_input import PolicyInput
from hexapod_control.ros import messages
from hexapod_control.ros.row_messages import JointLayout, MessageError


class Followed:
    """A planner that follows a policy, which walks as another planner does."""

    def __init__(self):
        self.node, self.planner, self.leader = PlainNode(), standing_planner("phantomx"), standing_planner("phantomx")
        self.player = MotionPlayer(self.planner)
        self.commands = OperatorCommands(self.player)
        self.motions = MotionInput(self.node, self.player, self.commands)
        self.input = PolicyInput(self.node, self.commands, self.planner, self.motions)
        self.leader.command(Twist(0.08, 0.0, 0.0))

    def send(self, run, ticks=1, names=None):
        for _ in range(ticks):
            targets = self.leader.step(DT).joint_angles
            message = JointLayout(self.planner.robot).message(targets, None, messages.time(1))
            message.header.frame_id = run
            message.name = names or message.name
            self.node.deliver("policy_targets", message)
            self.player.step(DT)

    def rest(self, seconds=6.0):
        for _ in range(round(seconds / DT)):
            self.player.step(DT)
        self.input.watch()

    @property
    def state(self):
        return self.planner.state

    @property
    def shown(self):
        return MotionState.parse(self.motions.state)


@pytest.fixture
def followed():
    return Followed()


def test_a_run_that_a_request_has_ended_does_not_begin_again_but_another_run_does(followed):
    followed.send("one", 30)
    assert followed.state is RobotState.MOVING
    followed.commands.halt()
    followed.send("one", 30)
    assert followed.shown.name == "one" and followed.shown.phase == "cancelled"
    followed.rest()
    followed.send("one", 30)
    assert followed.state is RobotState.STANDING
    followed.leader = standing_planner("phantomx")
    followed.send("two", 5)
    assert followed.state is RobotState.MOVING


def test_a_run_whose_program_has_died_is_reported_and_the_robot_stands(followed):
    followed.send("one", 30)
    for _ in range(15):
        followed.player.step(DT)
    followed.input.watch()
    assert followed.shown.phase == "refused" and "joint targets have stopped: the robot stands" in followed.shown.reason
    followed.rest()
    assert followed.state is RobotState.STANDING


def test_a_run_is_refused_as_a_motion_is_while_the_robot_sits_walks_or_makes_way(followed):
    followed.commands.suspension = Refusal("suspended", "another graph drives")
    followed.send("one")
    assert "another graph drives" in followed.shown.reason and followed.state is RobotState.STANDING
    followed.commands.suspension = None
    followed.planner.forget_pose()
    followed.send("two")
    assert "the torque is off" in followed.shown.reason and followed.state is RobotState.UNKNOWN


def test_targets_with_the_names_of_another_robot_are_refused(followed):
    with pytest.raises(MessageError, match="is unknown; this robot has"):
        followed.send("one", names=[f"other_{row}" for row in range(18)])
    assert followed.state is RobotState.STANDING
