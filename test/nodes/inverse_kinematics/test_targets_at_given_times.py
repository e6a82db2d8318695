# SPDX-License-Identifier: Apache-2.0
"""inverse_kinematics at times that the test sets: where targets start after a pause, what is late, when it ends."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from support.kits.direct_topics import DirectTopics
from support.kits.plain_node import Moment
from support.phantomx import robot, standing_joints

from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.nodes.inverse_kinematics import inverse_kinematics
from hexapod_control.nodes.inverse_kinematics.inverse_kinematics import InverseKinematicsNode
from hexapod_control.ros import guarded_node, messages
from hexapod_control.ros.row_messages import FootLayout, JointLayout

STILL = np.zeros((6, 3))
STANDING = standing_joints()


class Chain:
    """The node, and the time that it reads."""

    def __init__(self, bench, monkeypatch):
        self.time, self.topics = Moment(), DirectTopics(monkeypatch)
        for module in (inverse_kinematics, guarded_node):
            monkeypatch.setattr(module, "time", self.time)
        self.node = bench.add(InverseKinematicsNode())
        self.layout, self.feet_layout = JointLayout(robot()), FootLayout(robot())

    def measured(self, joints):
        self.topics.deliver("joint_states", self.layout.message(joints, None, messages.time(0)))

    def feet(self, joints, velocities=STILL):
        feet = forward(robot(), joints)
        stamp = messages.time(round(1e9 * self.time.now))
        self.topics.deliver("foot_targets", self.feet_layout.message(feet, velocities, np.zeros(6), stamp))

    def move(self, joints, velocities=STILL):
        stamp = messages.time(round(1e9 * self.time.now))
        self.topics.deliver("joint_motion", self.layout.message(joints, velocities, stamp))

    @property
    def targets(self):
        return [self.layout.joints(message) for message in self.topics.sent["joint_targets"]]


@pytest.fixture
def chain(bench, monkeypatch):
    return Chain(bench, monkeypatch)


def test_feet_and_joints_become_targets_with_the_stamp_and_the_speeds_that_they_have(chain):
    chain.measured(STANDING)
    chain.feet(STANDING + 0.01)
    chain.time.now += 0.02
    chain.move(STANDING + 0.02, STILL + 0.25)
    first, second = chain.topics.sent["joint_targets"]
    assert chain.layout.joints(first) == pytest.approx(STANDING + 0.01, abs=1e-9)
    assert chain.layout.joints(second) == pytest.approx(STANDING + 0.02)
    assert chain.layout.velocities(second) == pytest.approx(STILL + 0.25)
    stamps = [messages.nanoseconds(message.header.stamp) for message in (first, second)]
    assert stamps == [1000 * 10**9, 1000 * 10**9 + 20_000_000]
    assert chain.node.status() == {"targets": 2, "targets changed": 0, "last deviation": "none"}


@pytest.mark.parametrize(("pause", "age", "restarts"), [(0.65, 0.49, True), (0.49, 0.1, False), (0.9, 0.51, False)])
def test_after_a_pause_targets_start_from_recently_measured_joints(chain, pause, age, restarts):
    chain.measured(STANDING)
    chain.move(STANDING)
    chain.time.now += pause - age
    chain.measured(STANDING - 0.05)
    chain.time.now += age
    chain.move(STANDING + 1.0)
    moved = np.abs(chain.targets[-1] - (STANDING - 0.05 if restarts else STANDING)).max(axis=0)
    speeds = np.array([joint.no_load_speed for joint in robot().legs[0].joints])
    seconds = 0.02 if restarts else 0.1  # nothing is known of the time after a seed
    assert moved == pytest.approx(speeds * seconds)


def test_measured_joints_are_not_read_while_targets_flow(chain):
    chain.measured(STANDING)
    chain.move(STANDING)
    for seconds, read in ((0.05, False), (0.04, False), (0.02, True)):
        chain.time.now += seconds
        chain.topics.deliver("joint_states", JointState(name=["nonsense"]))
        assert bool(chain.node.last_report("refused joint_states")) is read


def test_late_targets_are_looked_for_twenty_times_a_second(chain):
    assert 50_000_000 in {timer.timer_period_ns for timer in chain.node.timers}


def test_without_measured_joints_there_are_no_targets_and_two_seconds_after_the_first_that_is_reported(chain):
    for seconds, reported in ((60.0, False), (1.9, False), (0.2, True)):
        chain.time.now += seconds
        chain.feet(STANDING)
        chain.move(STANDING)
        assert bool(chain.node.last_report("seed")) is reported
    text = "no joint_states yet, so no joint_targets are published: start the driver or the simulator, or arm it"
    assert chain.node.last_report("seed") == text
    assert not chain.targets
    chain.measured(STANDING)
    chain.feet(STANDING)
    assert len(chain.targets) == 1


@pytest.mark.parametrize(("speed", "moves"), [(0.0, False), (0.0009, False), (-0.0011, True)])
def test_targets_that_end_while_the_robot_moves_are_reported_once(chain, speed, moves):
    velocities = STILL.copy()
    velocities[3, 1] = speed
    chain.measured(STANDING)
    chain.move(STANDING, velocities)
    chain.time.now += 0.19
    chain.node.watch()
    assert not chain.node.last_report("late")
    chain.time.now += 0.02
    chain.node.watch()
    text = "no foot_targets for 0.2 s while moving: the robot holds; has gait_planner ended, "
    assert chain.node.last_report("late") == (f"{text}or is the computer overloaded?" if moves else "")
    before = chain.node.sent_reports.get("late")
    chain.time.now += 1.0
    chain.node.watch()
    assert chain.node.sent_reports.get("late") is before


@pytest.mark.parametrize(("publishers", "most"), [(0, 0.25), (1, 2.0)])
def test_the_kinematics_may_end_soon_after_the_last_targets_or_later_while_a_planner_is_known(
    chain, monkeypatch, publishers, most
):
    monkeypatch.setattr(
        InverseKinematicsNode, "count_publishers", lambda node, topic: publishers * (topic == "foot_targets")
    )
    chain.measured(STANDING)
    chain.feet(STANDING)
    chain.time.now += most - 0.01
    assert not chain.node.stopped()
    chain.time.now += 0.02
    assert chain.node.stopped()


def test_targets_that_cannot_be_reached_as_they_are_asked_for_are_counted_and_reported(chain):
    chain.measured(STANDING)
    far = forward(robot(), STANDING).copy()
    far[1, 1] += 0.5
    message = chain.feet_layout.message(far, STILL, np.zeros(6), messages.time(1))
    chain.topics.deliver("foot_targets", message)
    chain.move(STANDING + 1.0)
    deviation = chain.node.last_report("targets")
    assert deviation.startswith("joint_motion: ")
    assert chain.node.status() == {"targets": 2, "targets changed": 2, "last deviation": deviation}
