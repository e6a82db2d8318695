"""The planner moves the robot once joint_targets repeats the stamps of its targets, or where no node would."""

from types import SimpleNamespace

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from support.drives import standing_planner
from support.kits.plain_node import Moment, PlainNode
from support.phantomx import standing_joints

from hexapod_control.nodes.gait_planner.output import target_echo
from hexapod_control.nodes.gait_planner.output.planner_output import PlannerOutput
from hexapod_control.nodes.gait_planner.output.target_echo import MAX_WAIT_S, OBSERVERS, TargetEcho
from hexapod_control.nodes.gait_planner.settings import PlannerSettings
from hexapod_control.ros.guarded_node import ReportLevel
from hexapod_control.ros.row_messages import JointLayout

STANDING = standing_joints()


class Rig:
    """An echo whose targets these nodes receive; `publishers` of joint_targets."""

    def __init__(self, monkeypatch, receivers=("inverse_kinematics", "odometry"), publishers=0):
        self.moment = Moment()
        monkeypatch.setattr(target_echo, "time", self.moment)
        self.node, planner = PlainNode(moment=self.moment), standing_planner("phantomx", "tripod")
        self.layout = JointLayout(planner.robot)
        self.node.subscribers_of["foot_targets"] = [SimpleNamespace(node_name=name) for name in receivers]
        self.node.publishers_of["joint_targets"] = [SimpleNamespace(node_name="any")] * publishers
        self.echo = TargetEcho(self.node, PlannerOutput(self.node, planner, PlannerSettings()))

    @property
    def sent(self):
        return self.node.sent("joint_motion")

    def arrives(self, joints=STANDING, after=0.02):
        self.moment.now += after
        return self.echo.arrives(joints)

    def repeat(self, stamp):
        message = JointState()
        message.header.stamp = stamp
        self.node.deliver("joint_targets", message)


@pytest.fixture
def rig(monkeypatch):
    return Rig(monkeypatch)


def test_the_first_measured_joints_are_sent_at_rest_with_new_stamps_until_one_of_these_comes_back(rig):
    assert not rig.arrives(STANDING)
    assert not rig.arrives(STANDING + 0.1)  # the robot has sunk: it must not follow itself
    assert not rig.arrives(STANDING + 0.2)
    assert len({(m.header.stamp.sec, m.header.stamp.nanosec) for m in rig.sent}) == 3
    for message in rig.sent:
        assert rig.layout.joints(message) == pytest.approx(STANDING)
        assert not np.any(message.velocity)
    rig.repeat(rig.sent[1].header.stamp)
    assert rig.arrives() and rig.arrives()
    assert len(rig.sent) == 3
    assert "joint_targets" not in rig.node.callbacks  # it costs nothing from now on
    assert not rig.node.reports


def test_targets_of_another_planner_are_no_echo(rig):
    rig.arrives()
    stamp = rig.sent[0].header.stamp
    rig.repeat(type(stamp)(sec=stamp.sec, nanosec=stamp.nanosec + 1))
    assert not rig.arrives()
    rig.repeat(stamp)
    rig.repeat(type(stamp)())
    assert rig.arrives()


@pytest.mark.parametrize(
    ("receivers", "publishers", "waits"),
    [
        (["inverse_kinematics"], 0, True),
        (["_NODE_NAME_UNKNOWN_", "own_kinematics"], 0, True),  # its name is not discovered yet
        (sorted(OBSERVERS), 0, True),  # the others are not discovered yet
        (["own_kinematics"], 1, True),
        (["own_kinematics", "odometry"], 0, False),  # moves the robot without joint_targets
    ],
)
def test_an_echo_is_awaited_from_inverse_kinematics_and_whoever_publishes_joint_targets(
    monkeypatch, receivers, publishers, waits
):
    rig = Rig(monkeypatch, receivers, publishers)
    assert rig.arrives() is not waits
    assert len(rig.sent) == waits


def test_a_robot_whose_targets_do_not_arrive_is_reported_after_two_seconds_and_moved_after_ten(rig):
    for _ in range(20):
        assert not rig.arrives(after=0.1)
    assert not rig.node.reports
    assert not rig.arrives(after=0.2)
    level, text = rig.node.report_of("unheard")
    assert level is ReportLevel.WARNING
    assert text == "no joint_targets follow joint_motion, so the robot stays as it is: start inverse_kinematics"
    assert not rig.arrives(after=MAX_WAIT_S - 2.3)
    assert rig.arrives(after=0.3) and MAX_WAIT_S == 10.0
