"""inverse_kinematics: one row in, one row out; out of reach holds, jumps are slowed, garbage is refused."""

import math

import numpy as np
import pytest
from sensor_msgs.msg import JointState, MultiDOFJointState
from support.phantomx import robot, standing
from support.real_time.ros_bench import STEP, Bench

from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.nodes.inverse_kinematics.inverse_kinematics import InverseKinematics
from hexapod_control.nodes.inverse_kinematics.joint_target_filter import JointTargetFilter
from hexapod_control.ros import messages

ZEROS = np.zeros((6, 3))
SPEED = np.array([[joint.no_load_speed for joint in leg.joints] for leg in robot().legs])
LOWER = np.array([[joint.lower for joint in leg.joints] for leg in robot().legs])
UPPER = np.array([[joint.upper for joint in leg.joints] for leg in robot().legs])


@pytest.fixture
def guard():
    guard = JointTargetFilter(robot())
    guard.seed(standing())
    return guard


def test_feet_in_reach_give_their_joints_and_speeds(guard):
    joints = standing() + 0.02
    row = guard.feet(forward(robot(), joints), ZEROS, 1.0)
    assert row.complaint == ""
    assert row.joints == pytest.approx(joints, abs=1e-9)
    assert row.velocities == pytest.approx(ZEROS)


def test_the_speeds_are_those_of_the_feet(guard):
    feet = forward(robot(), standing())
    velocity = np.tile([0.05, 0.02, -0.03], (6, 1))
    row = guard.feet(feet, velocity, 1.0)
    moved = forward(robot(), row.joints + 1e-6 * row.velocities)
    assert (moved - forward(robot(), row.joints)) / 1e-6 == pytest.approx(velocity, abs=1e-4)


def test_a_foot_out_of_reach_holds_the_row_and_names_leg_reason_and_distance(guard):
    before = guard.feet(forward(robot(), standing()), ZEROS, 1.0)
    feet = np.array(forward(robot(), standing()))
    feet[1, 1] += 0.5
    row = guard.feet(feet, ZEROS, 1.02)
    assert np.array_equal(row.joints, before.joints)
    assert not row.velocities.any()
    assert "foot of left_middle: the target is too far away, by " in row.complaint
    assert " mm: the last row is held" in row.complaint


@pytest.mark.parametrize("target", [(0.0, 0.0, 0.0), (0.052, 0.0, 0.0), (0.251, 0.0, 0.0), (0.0, 0.0, -0.1)])
def test_a_leg_that_is_straight_folded_or_on_its_axis_gives_finite_rows_of_limited_speed(guard, target):
    leg = robot().legs[0]
    c, s = math.cos(leg.hip_yaw), math.sin(leg.hip_yaw)
    feet = np.array(forward(robot(), standing()))
    feet[0] = np.add(leg.hip, (c * target[0] - s * target[1], s * target[0] + c * target[1], target[2]))
    last = standing()
    for tick in range(50):
        row = guard.feet(feet, np.tile([1.0, 1.0, 1.0], (6, 1)), 1.0 + STEP * tick)
        assert np.isfinite(row.joints).all()
        assert np.isfinite(row.velocities).all()
        assert (np.abs(row.joints - last) <= SPEED * STEP * 1.05).all()
        last = row.joints


def test_a_jump_is_slowed_to_the_speed_of_the_servos_and_ends_where_it_was_asked(guard):
    goal = standing() + np.array([0.6, 0.3, -0.2])
    guard.joints(standing(), ZEROS, 1.0)
    last, complaints = standing(), []
    for tick in range(1, 10):
        row = guard.joints(goal, ZEROS, 1.0 + STEP * tick)
        assert (np.abs(row.joints - last) <= SPEED * STEP * 1.05).all()
        complaints.append(row.complaint)
        last = row.joints
    assert last == pytest.approx(goal)
    assert "coxa_joint is asked to jump by 0.600 rad in 20 ms" in complaints[0]
    assert complaints[-1] == ""


@pytest.mark.parametrize("stamps", [(5.0, 5.0), (5.0, -95.0), (5.0, 1005.0)])
def test_a_clock_that_stands_or_jumps_lets_no_joint_jump(guard, stamps):
    guard.joints(standing(), ZEROS, stamps[0])
    row = guard.joints(standing() + 1.0, ZEROS, stamps[1])
    assert (np.abs(row.joints - standing()) <= SPEED * 0.1 * 1.05).all()


def test_joints_beyond_their_limits_stay_at_the_limit_and_are_named(guard):
    guard.seed(UPPER)
    row = guard.joints(UPPER + np.array([0.0, 0.1, 0.0]), ZEROS, 1.0)
    assert (row.joints <= UPPER).all()
    assert (row.joints >= LOWER).all()
    assert "left_front_femur_joint is asked to go to" in row.complaint


class Chain:
    """The node with its three inputs and its output."""

    def __init__(self):
        self.bench = Bench()
        self.node = self.bench.add(InverseKinematics())
        self.out = self.bench.listen(JointState, "joint_targets")
        self.states = self.bench.publisher(JointState, "joint_states")
        self.feet = self.bench.publisher(MultiDOFJointState, "foot_targets")
        self.joints = self.bench.publisher(JointState, "joint_motion")
        self.bench.until(lambda: self.node.count_subscribers("joint_targets") > 0)
        self.layout, self.foot_layout = messages.JointLayout(robot()), messages.FootLayout(robot())

    def seed(self, joints):
        self.states.publish(self.layout.message(joints, None, messages.time(1)))
        self.bench.until(lambda: self.node._measured is not None)

    def row(self, joints, stamp):
        feet = forward(robot(), joints)
        return self.foot_layout.message(feet, ZEROS, np.zeros(6), messages.time(stamp))


@pytest.fixture
def chain():
    chain = Chain()
    yield chain
    chain.bench.close()


def test_one_row_in_is_one_row_out_with_its_stamp(chain):
    chain.seed(standing())
    for tick in range(1, 6):
        stamp = 10**9 + tick * 20_000_000
        chain.feet.publish(chain.row(standing() + 0.01 * tick, stamp))
        chain.bench.until(lambda n=tick: len(chain.out) >= n)
        assert messages.nanoseconds(chain.out[-1].header.stamp) == stamp
        assert chain.layout.joints(chain.out[-1]) == pytest.approx(standing() + 0.01 * tick, abs=1e-9)
    assert len(chain.out) == 5


def test_joint_motion_passes_through(chain):
    chain.seed(standing())
    chain.joints.publish(chain.layout.message(standing() + 0.05, ZEROS + 0.1, messages.time(10**9)))
    chain.bench.until(lambda: chain.out)
    assert chain.layout.joints(chain.out[0]) == pytest.approx(standing() + 0.05)
    assert chain.layout.velocities(chain.out[0]) == pytest.approx(ZEROS + 0.1)


def test_nothing_goes_out_before_it_is_known_where_the_joints_are(chain):
    chain.node.started -= 10.0
    chain.feet.publish(chain.row(standing(), 10**9))
    chain.bench.until(lambda: "no joint_states yet" in chain.node.last_report("seed"))
    assert chain.out == []
    chain.seed(standing() - 0.02)
    chain.feet.publish(chain.row(standing(), 2 * 10**9))
    chain.bench.until(lambda: chain.out)


def test_the_way_starts_where_the_joints_are(chain):
    far = np.clip(standing() + np.array([0.0, 0.8, 0.3]), LOWER, UPPER)
    chain.seed(far)
    chain.feet.publish(chain.row(standing(), 10**9))
    chain.bench.until(lambda: chain.out)
    assert (np.abs(chain.layout.joints(chain.out[0]) - far) <= SPEED * STEP * 1.05).all()
    assert "asked to jump" in chain.node.last_report("row")


def test_rows_that_are_not_complete_or_not_finite_are_refused_by_name(chain):
    chain.seed(standing())
    message = chain.row(standing(), 10**9)
    message.transforms[3].translation.x = math.nan
    chain.feet.publish(message)
    chain.bench.until(lambda: "right_front_foot" in chain.node.last_report("refused foot_targets"))
    short = chain.layout.message(standing(), None, messages.time(1))
    short.name, short.position = short.name[1:], short.position[1:]
    chain.joints.publish(short)
    chain.bench.until(lambda: "left_front_coxa_joint missing" in chain.node.last_report("refused joint_motion"))
    assert chain.out == []
