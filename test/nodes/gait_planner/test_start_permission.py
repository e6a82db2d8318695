# SPDX-License-Identifier: Apache-2.0
"""The planner moves the robot once joint_targets repeats the stamps of its targets, or where no node would."""

from types import SimpleNamespace

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from support.drives import standing_planner
from support.kits.plain_node import Moment, PlainNode
from support.phantomx import standing_joints

from hexapod_control.nodes.gait_planner import planner_output
from hexapod_control.nodes.gait_planner.planner_output import MAX_WAIT_S, OBSERVERS, PlannerOutput, StartPermission
from hexapod_control.nodes.gait_planner.settings import PlannerSettings
from hexapod_control.ros.guarded_node import ReportLevel
from hexapod_control.ros.row_messages import JointLayout

STANDING = standing_joints()


class Rig:
    """A planner whose targets these nodes receive; `publishers` of joint_targets."""

    def __init__(self, monkeypatch, receivers=("inverse_kinematics", "odometry"), publishers=0):
        self.moment = Moment()
        monkeypatch.setattr(planner_output, "time", self.moment)
        self.node, planner = PlainNode(moment=self.moment), standing_planner("phantomx", "tripod")
        self.layout = JointLayout(planner.robot)
        self.node.subscribers_of["foot_targets"] = [SimpleNamespace(node_name=name) for name in receivers]
        self.node.publishers_of["joint_targets"] = [SimpleNamespace(node_name="any")] * publishers
        self.permission = StartPermission(self.node, PlannerOutput(self.node, planner, PlannerSettings()))

    @property
    def sent(self):
        return self.node.sent("joint_motion")

    def is_granted(self, joints=STANDING, after=0.02):
        self.moment.now += after
        return self.permission.is_granted(joints)

    def answer(self, stamp):
        message = JointState()
        message.header.stamp = stamp
        self.node.deliver("joint_targets", message)


@pytest.fixture
def rig(monkeypatch):
    return Rig(monkeypatch)


def test_the_first_measured_joints_are_sent_at_rest_with_new_stamps_until_one_of_these_comes_back(rig):
    assert not rig.is_granted(STANDING)
    assert not rig.is_granted(STANDING + 0.1)  # the robot has sunk: the targets stay
    assert not rig.is_granted(STANDING + 0.2)
    assert len({(m.header.stamp.sec, m.header.stamp.nanosec) for m in rig.sent}) == 3
    for message in rig.sent:
        assert rig.layout.joints(message) == pytest.approx(STANDING)
        assert not np.any(message.velocity)
    rig.answer(rig.sent[1].header.stamp)
    assert rig.is_granted() and rig.is_granted()
    assert len(rig.sent) == 3
    assert "joint_targets" not in rig.node.callbacks  # unsubscribed, as the permission is final
    assert not rig.node.reports


def test_answers_to_targets_of_another_planner_do_not_count(rig):
    rig.is_granted()
    stamp = rig.sent[0].header.stamp
    rig.answer(type(stamp)(sec=stamp.sec, nanosec=stamp.nanosec + 1))
    assert not rig.is_granted()
    rig.answer(stamp)
    rig.answer(type(stamp)())
    assert rig.is_granted()


@pytest.mark.parametrize(
    ("receivers", "publishers", "waits"),
    [
        (["inverse_kinematics"], 0, True),
        (["_NODE_NAME_UNKNOWN_", "own_kinematics"], 0, True),  # its name is not discovered yet
        (sorted(OBSERVERS), 0, True),  # the others are not discovered yet
        (["foxglove_bridge", "rosbag2_recorder", "_ros2cli_77"], 0, True),
        (["own_kinematics"], 1, True),
        (["own_kinematics", "odometry"], 0, False),  # moves the robot without joint_targets
    ],
)
def test_an_answer_is_awaited_from_inverse_kinematics_and_whoever_publishes_joint_targets(
    monkeypatch, receivers, publishers, waits
):
    rig = Rig(monkeypatch, receivers, publishers)
    assert rig.is_granted() is not waits
    assert len(rig.sent) == waits


def test_targets_without_an_answer_are_reported_after_four_seconds_and_the_robot_moves_after_ten(rig):
    for _ in range(40):
        assert not rig.is_granted(after=0.1)
    assert not rig.node.reports
    assert not rig.is_granted(after=0.2)
    level, text = rig.node.report_of("unheard")
    assert level is ReportLevel.WARNING
    assert text == "no joint_targets follow joint_motion, so the robot stays as it is: start inverse_kinematics"
    assert not rig.is_granted(after=MAX_WAIT_S - 4.3)
    assert rig.is_granted(after=0.3) and MAX_WAIT_S == 10.0


def test_after_torque_off_the_permission_is_given_anew_for_the_pose_then(rig):
    rig.is_granted(STANDING)
    rig.permission.reset()
    rig.is_granted(STANDING + 0.1)
    assert rig.layout.joints(rig.sent[-1]) == pytest.approx(STANDING + 0.1)
    rig.answer(rig.sent[0].header.stamp)  # a reply for the earlier pose
    assert not rig.is_granted()
    rig.answer(rig.sent[-1].header.stamp)
    assert rig.is_granted()
    rig.permission.reset()
    assert not rig.is_granted()
    rig.answer(rig.sent[-1].header.stamp)
    assert rig.is_granted()


def test_without_a_node_that_moves_it_the_robot_stays_as_it_is(monkeypatch):
    rig = Rig(monkeypatch, ["odometry"])
    assert not rig.is_granted() and not rig.is_granted(after=MAX_WAIT_S + 1.0)
    rig.node.subscribers_of["foot_targets"].append(SimpleNamespace(node_name="own_kinematics"))
    assert rig.is_granted()
