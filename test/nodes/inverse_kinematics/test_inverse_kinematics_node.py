# SPDX-License-Identifier: Apache-2.0
"""inverse_kinematics: one message in, one out; out of reach holds, jumps are slowed, invalid messages are refused."""

import math

import numpy as np
import pytest
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState, MultiDOFJointState
from support.phantomx import robot, standing_joints
from support.real_time.ros_bench import STEP, Bench, overrides

from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.names import joint_names
from hexapod_control.nodes.inverse_kinematics.inverse_kinematics import (
    MAX_PAUSE_S,
    InverseKinematicsNode,
)
from hexapod_control.nodes.inverse_kinematics.joint_target_filter import (
    JointTargetFilter,
)
from hexapod_control.ros import messages
from hexapod_control.ros.row_messages import FootLayout, JointLayout

ZEROS = np.zeros((6, 3))
TOLERANCE = 1.05  # factor on the joint speed
SPEED = np.array([[joint.no_load_speed for joint in leg.joints] for leg in robot().legs])
LOWER = np.array([[joint.lower for joint in leg.joints] for leg in robot().legs])
UPPER = np.array([[joint.upper for joint in leg.joints] for leg in robot().legs])
FAR = np.where(standing_joints() < (LOWER + UPPER) / 2.0, UPPER, LOWER)


@pytest.fixture
def target_filter():
    target_filter = JointTargetFilter(robot())
    target_filter.seed(standing_joints())
    return target_filter


def test_the_joint_velocities_are_those_of_the_feet(target_filter):
    feet = forward(robot(), standing_joints())
    velocity = np.tile([0.05, 0.02, -0.03], (6, 1))
    targets = target_filter.feet(feet, velocity, 1.0)
    moved = forward(robot(), targets.joints + 1e-6 * targets.velocities)
    assert (moved - forward(robot(), targets.joints)) / 1e-6 == pytest.approx(velocity, abs=1e-4)


@pytest.mark.parametrize("target", [(0.0, 0.0, 0.0), (0.052, 0.0, 0.0), (0.251, 0.0, 0.0), (0.0, 0.0, -0.1)])
def test_a_leg_that_is_straight_folded_or_on_its_axis_gives_finite_targets_of_limited_speed(target_filter, target):
    leg = robot().legs[0]
    c, s = math.cos(leg.hip_yaw), math.sin(leg.hip_yaw)
    feet = np.array(forward(robot(), standing_joints()))
    feet[0] = np.add(leg.hip, (c * target[0] - s * target[1], s * target[0] + c * target[1], target[2]))
    last = standing_joints()
    for tick in range(50):
        targets = target_filter.feet(feet, np.tile([1.0, 1.0, 1.0], (6, 1)), 1.0 + STEP * tick)
        assert np.isfinite(targets.joints).all()
        assert np.isfinite(targets.velocities).all()
        assert (np.abs(targets.joints - last) <= SPEED * STEP * TOLERANCE).all()
        last = targets.joints


def test_holding_targets_saves_up_no_time_for_a_later_jump(target_filter):
    feet = np.array(forward(robot(), standing_joints()))
    feet[1, 1] += 0.5
    for tick in range(4):
        target_filter.feet(feet, ZEROS, 5.0 + STEP * tick)
    targets = target_filter.joints(FAR, ZEROS, 5.0 + 4 * STEP)
    assert np.abs(targets.joints - standing_joints()) == pytest.approx(SPEED * STEP)


class Chain:
    """The node with its three inputs and its output."""

    def __init__(self, **options):
        self.bench = Bench()
        self.node = self.bench.add(InverseKinematicsNode(**options))
        self.out = self.bench.listen(JointState, "joint_targets")
        self.states = self.bench.publisher(JointState, "joint_states")
        self.feet = self.bench.publisher(MultiDOFJointState, "foot_targets")
        self.joints = self.bench.publisher(JointState, "joint_motion")
        self.bench.until(lambda: self.node.count_subscribers("joint_targets") > 0)
        self.layout, self.foot_layout = JointLayout(robot()), FootLayout(robot())

    def seed(self, joints):
        self.states.publish(self.layout.message(joints, None, messages.time(1)))
        self.bench.until(lambda: self.node.received["joint_states"])

    def row(self, joints, stamp):
        feet = forward(robot(), joints)
        return self.foot_layout.message(feet, ZEROS, np.zeros(6), messages.time(stamp))


@pytest.fixture
def chain():
    chain = Chain()
    yield chain
    chain.bench.close()


def test_one_message_in_is_one_message_out_with_its_stamp(chain):
    chain.seed(standing_joints())
    for tick in range(1, 6):
        stamp = 10**9 + tick * 20_000_000
        chain.feet.publish(chain.row(standing_joints() + 0.01 * tick, stamp))
        chain.bench.until(lambda n=tick: len(chain.out) >= n)
        assert messages.nanoseconds(chain.out[-1].header.stamp) == stamp
        assert chain.layout.joints(chain.out[-1]) == pytest.approx(standing_joints() + 0.01 * tick, abs=1e-9)
    assert len(chain.out) == 5
    assert chain.node.status() == {"targets": 5, "targets changed": 0, "last deviation": "none"}


def test_targets_continue_where_they_were_after_a_paused_simulation():
    chain = Chain(parameter_overrides=overrides(use_sim_time=True))
    try:
        chain.bench.tick_clock()
        chain.bench.until(lambda: chain.node.get_clock().now().nanoseconds)
        chain.seed(standing_joints())
        chain.feet.publish(chain.row(standing_joints() + 0.05, 100_020_000_000))
        chain.bench.until(lambda: chain.out)
        chain.bench.spin(1.5 * MAX_PAUSE_S)
        chain.states.publish(chain.layout.message(standing_joints(), None, messages.time(2)))  # lags behind
        chain.bench.until(lambda: chain.node.received["joint_states"] > 1)
        chain.feet.publish(chain.row(standing_joints() + 0.06, 100_022_000_000))
        chain.bench.until(lambda: len(chain.out) > 1)
        assert chain.layout.joints(chain.out[1]) == pytest.approx(standing_joints() + 0.06, abs=1e-9)
    finally:
        chain.bench.close()


def test_incomplete_or_infinite_messages_are_refused_by_name(chain):
    chain.seed(standing_joints())
    message = chain.row(standing_joints(), 10**9)
    message.transforms[3].translation.x = math.nan
    chain.feet.publish(message)
    chain.bench.until(lambda: "right_front_foot" in chain.node.last_report("refused foot_targets"))
    short = chain.layout.message(standing_joints(), None, messages.time(1))
    short.name, short.position = short.name[1:], short.position[1:]
    chain.joints.publish(short)
    chain.bench.until(lambda: "left_front_coxa_joint missing" in chain.node.last_report("refused joint_motion"))
    assert chain.out == []


def test_a_joint_mapping_converts_names_signs_and_zeros_to_those_of_a_urdf(tmp_path):
    """joint_states and joint_targets change, joint_motion between the nodes of this package does not."""
    signs, path = np.where(np.arange(18) % 2, 1, -1), tmp_path / "mapping.yaml"
    names = enumerate(joint_names(robot().leg_names))
    rows = (f"  {ours}: {{name: u{k}, sign: {signs[k]}, offset: {k / 10}}}" for k, ours in names)
    path.write_text("\n".join(("joints:", *rows, "fixed:", "  head: 0.25", "")))
    chain = Chain(parameter_overrides=[Parameter("joint_mapping", value=str(path))])
    try:
        theirs = signs * standing_joints().ravel() + np.arange(18) / 10
        message = JointState(name=[*(f"u{k}" for k in range(18)), "head"], position=[*theirs.tolist(), 0.0])
        message.header.stamp = messages.time(1)
        chain.states.publish(message)
        chain.bench.until(lambda: chain.node.received["joint_states"])
        chain.joints.publish(chain.layout.message(standing_joints() + 0.05, ZEROS + 0.1, messages.time(10**9)))
        chain.bench.until(lambda: chain.out)
        assert list(chain.out[0].name) == list(message.name)
        moved = signs * 0.05
        np.testing.assert_allclose(chain.out[0].position, [*(theirs + moved), 0.25])
        np.testing.assert_allclose(chain.out[0].velocity, [*(signs * 0.1), 0.0])
    finally:
        chain.bench.close()
