# SPDX-License-Identifier: Apache-2.0
"""Conversion between messages and arrays: golden values, refusals by name, and round trips."""

import math

import numpy as np
import pytest
from geometry_msgs.msg import Pose, Quaternion, Twist, Vector3
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState, LaserScan, MultiDOFJointState
from std_msgs.msg import String
from support.phantomx import robot

from hexapod_control.core.kinematics import se2
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.ros import messages
from hexapod_control.ros.row_messages import FootLayout, JointLayout, MessageError

KINDS = (String, JointState, MultiDOFJointState, Twist, Pose, Imu, LaserScan)
ROW = np.arange(18.0).reshape(6, 3) / 10
STAMP = messages.time(1_500_000_000)


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
@settings(max_examples=20, deadline=None)
def test_any_bytes_are_a_message_or_are_refused(kind, data):
    sent = bytearray(serialize_message(kind()))
    for _ in range(data.draw(st.integers(0, 4))):
        sent[data.draw(st.integers(4, len(sent) - 1))] = data.draw(st.integers(0, 255))
    sent = bytes(sent)[: data.draw(st.integers(0, len(sent)))]
    try:
        assert isinstance(messages.decoder(kind)(sent), kind)
    except MessageError as error:
        assert str(error).startswith("it cannot be decoded: ")
        assert len(str(error)) < 1000


def test_a_message_that_is_too_large_is_refused_before_it_is_decoded():
    data = serialize_message(String(data="x" * messages.MAX_MESSAGE_BYTES))
    with pytest.raises(MessageError, match=r"it has \d+ bytes, at most 200000 are accepted"):
        messages.decoder(String)(data)


def test_a_joint_state_carries_names_row_by_row_and_the_stamp():
    message = JointLayout(robot()).message(ROW, 2 * ROW, STAMP)
    assert message.name[:4] == [
        "left_front_coxa_joint",
        "left_front_femur_joint",
        "left_front_tibia_joint",
        "left_middle_coxa_joint",
    ]
    assert list(message.position) == ROW.ravel().tolist()
    assert list(message.velocity) == (2 * ROW).ravel().tolist()
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1, 500_000_000)


def test_joints_are_found_by_name_in_any_order():
    layout = JointLayout(robot())
    message = layout.message(ROW, 2 * ROW, STAMP)
    order = np.random.default_rng(1).permutation(18)
    message.name = [layout.names[i] for i in order]
    message.position = ROW.ravel()[order].tolist()
    message.velocity = (2 * ROW).ravel()[order].tolist()
    reader = JointLayout(robot())
    for _ in range(2):  # the second time from the remembered order
        assert np.array_equal(reader.joints(message), ROW)
        assert np.array_equal(reader.velocities(message), 2 * ROW)


def test_missing_velocities_are_zero():
    message = JointLayout(robot()).message(ROW, None, STAMP)
    assert len(message.velocity) == 0
    assert np.array_equal(JointLayout(robot()).velocities(message), np.zeros((6, 3)))


def _with(names=None, position=None):
    layout = JointLayout(robot())
    message = layout.message(ROW, ROW, STAMP)
    message.name = names(list(layout.names)) if names else list(layout.names)
    if position:
        values = ROW.ravel().tolist()
        position(values)
        message.position = values
    else:
        message.position = [0.0] * len(message.name)
    return message


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (_with(lambda n: ["elbow", *n[1:]]), "joint 'elbow' is unknown"),
        (_with(lambda n: n[1:]), "joint left_front_coxa_joint missing"),
        (_with(lambda n: [*n, n[3]]), "joint 'left_middle_coxa_joint' is duplicated"),
        (_with(lambda n: []), "left_front_coxa_joint"),
        (_with(position=lambda v: v.pop()), "18 names but 17 of position"),
        (_with(position=lambda v: v.__setitem__(4, math.nan)), "'left_middle_femur_joint' is nan"),
        (_with(position=lambda v: v.__setitem__(17, math.inf)), "'right_rear_tibia_joint' is inf"),
    ],
)
def test_incomplete_joint_angles_are_refused_by_name(message, reason):
    with pytest.raises(MessageError, match=reason) as error:
        JointLayout(robot()).joints(message)
    assert "\n" not in str(error.value)


def test_a_foot_row_survives_a_round_trip():
    layout = FootLayout(robot())
    message = layout.message(ROW, -ROW, np.arange(6.0), STAMP)
    assert message.joint_names[0] == "left_front_foot"
    assert message.header.frame_id == "base_link"
    assert all(transform.rotation == Quaternion(w=1.0) for transform in message.transforms)
    assert message.wrench[5].force == Vector3(z=5.0)
    feet = FootLayout(robot()).feet(message)
    assert np.array_equal(feet.positions, ROW)
    assert np.array_equal(feet.velocities, -ROW)
    assert np.array_equal(feet.forces, np.arange(6.0))


def test_feet_are_found_by_name_in_any_order():
    layout = FootLayout(robot())
    message = layout.message(ROW, -ROW, np.arange(6.0), STAMP)
    for part in ("joint_names", "transforms", "twist", "wrench"):
        setattr(message, part, list(reversed(getattr(message, part))))
    feet = FootLayout(robot()).feet(message)
    assert np.array_equal(feet.positions, ROW)
    assert np.array_equal(feet.forces, np.arange(6.0))


def test_feet_that_are_not_complete_are_refused_by_name():
    layout = FootLayout(robot())
    for spoil, reason in (
        (lambda m: m.joint_names.__setitem__(0, "paw"), "foot 'paw' is unknown"),
        (lambda m: setattr(m, "transforms", m.transforms[1:]), "6 names but 5 of translation"),
        (lambda m: setattr(m.transforms[2].translation, "y", math.nan), "translation of foot 'left_rear_foot' is nan"),
    ):
        message = FootLayout(robot()).message(ROW, ROW, np.zeros(6), STAMP)
        message.joint_names = list(message.joint_names)
        spoil(message)
        with pytest.raises(MessageError, match=reason):
            layout.feet(message)


def test_a_twist_is_its_planar_part():
    message = Twist(linear=Vector3(x=0.1, y=-0.2, z=0.3), angular=Vector3(x=0.4, y=0.5, z=0.6))
    assert messages.twist(message) == se2.Twist(0.1, -0.2, 0.6)
    assert messages.non_planar(message) == (0.3, 0.4, 0.5)
    assert messages.twist(messages.twist_message(se2.Twist(1.0, 2.0, 3.0))) == se2.Twist(1.0, 2.0, 3.0)
    assert messages.twist_stamped_message(se2.ZERO, STAMP).header.stamp == STAMP


@settings(max_examples=100, derandomize=True)
@given(*(st.floats(-1.5, 1.5) for _ in range(6)))
def test_a_body_pose_survives_a_round_trip(x, y, z, roll, pitch, yaw):
    pose = BodyPose(x, y, z, roll, pitch, yaw)
    assert messages.body_pose(messages.body_pose_message(pose)) == pytest.approx(pose, abs=1e-9)


def test_a_quaternion_turns_as_the_rotation_of_the_core():
    pose = BodyPose(roll=0.3, pitch=-0.4, yaw=0.5)
    q = messages.quaternion(0.3, -0.4, 0.5)
    # Third column of the rotation matrix of a unit quaternion.
    column = (2 * (q.x * q.z + q.w * q.y), 2 * (q.y * q.z - q.w * q.x), 1 - 2 * (q.x**2 + q.y**2))
    assert column == pytest.approx([row[2] for row in pose.rotation()], abs=1e-12)


@pytest.mark.parametrize(
    "quaternion",
    [Quaternion(w=0.0), Quaternion(w=2.0), Quaternion(w=math.nan), Quaternion(w=math.inf), Quaternion(w=1e200)],
)
def test_an_orientation_that_is_no_rotation_is_refused(quaternion):
    with pytest.raises(MessageError, match=r"orientation \(.*\) has norm .*; send 1"):
        messages.body_pose(Pose(orientation=quaternion))


def test_a_nearly_unit_quaternion_is_normalised():
    assert messages.body_pose(Pose(orientation=Quaternion(z=0.006, w=1.004))).yaw == pytest.approx(0.01195, abs=1e-4)


def test_a_pose_that_is_not_finite_is_refused():
    pose = Pose(orientation=Quaternion(w=1.0))
    pose.position.z = math.inf
    with pytest.raises(MessageError, match="not finite"):
        messages.body_pose(pose)


def test_an_imu_without_orientation_is_marked_as_such():
    value = messages.Inertial(None, (0.1, 0.2, 0.3), (0.0, 0.0, 9.81))
    message = messages.inertial_message(value, STAMP)
    assert message.orientation_covariance[0] == -1.0
    assert message.header.frame_id == "imu_link"
    assert messages.inertial(message) == value


def test_an_imu_with_orientation_survives_a_round_trip():
    value = messages.Inertial((0.1, 0.2, 0.3), (0.0, 0.0, 0.0), (0.0, 0.0, 9.81))
    assert messages.inertial(messages.inertial_message(value, STAMP)).orientation == pytest.approx(value.orientation)
    broken = Imu()
    broken.angular_velocity.y = math.nan
    with pytest.raises(MessageError, match="not finite"):
        messages.inertial(broken)


@pytest.mark.parametrize("unknown", range(3))
def test_what_an_imu_does_not_know_is_unknown_whatever_the_message_has_in_its_place(unknown):
    value = messages.Inertial((0.1, 0.2, 0.3), (0.1, 0.2, 0.3), (0.0, 0.0, 9.81))
    message = messages.inertial_message(value, STAMP)
    quantity = ("orientation", "angular_velocity", "linear_acceleration")[unknown]
    getattr(message, f"{quantity}_covariance")[0] = -1.0
    for content in (0.0, math.nan, math.inf, 1e300):
        getattr(message, quantity).x = content
        read = messages.inertial(message)
        assert read[unknown] is None
        assert [part for k, part in enumerate(read) if k != unknown] == [
            pytest.approx(part) for k, part in enumerate(value) if k != unknown
        ]
    assert getattr(messages.inertial_message(read, STAMP), f"{quantity}_covariance")[0] == -1.0


@pytest.mark.parametrize("content", [[], [math.nan] * 18, [0.1] * 17 + [math.nan]], ids=["none", "nan", "one_nan"])
def test_velocities_and_torques_that_a_joint_state_leaves_unknown_do_not_refuse_its_positions(content):
    layout = JointLayout(robot())
    message = JointState(name=list(layout.names), position=[0.1] * 18, velocity=content, effort=content)
    assert (layout.joints(message) == 0.1).all()
    assert (layout.velocities(message) == 0.0).all() and layout.torques(message) is None
    message.effort = [math.inf] * 18
    with pytest.raises(MessageError, match=r"effort of joint .* is inf"):
        layout.torques(message)


def test_odometry_and_transform_carry_frames_pose_and_covariance():
    pose = BodyPose(1.0, 2.0, 0.1, yaw=0.5)
    message = messages.odometry_message(
        pose, ((0.1, 0.0, 0.0), (0.0, 0.0, 0.2)), (np.eye(6), 2 * np.eye(6)), ("odom", "base_footprint"), STAMP
    )
    assert (message.header.frame_id, message.child_frame_id) == ("odom", "base_footprint")
    assert messages.body_pose(message.pose.pose) == pytest.approx(pose)
    assert (message.twist.twist.linear.x, message.twist.twist.angular.z) == (0.1, 0.2)
    assert (message.pose.covariance[35], message.twist.covariance[0], message.twist.covariance[1]) == (1.0, 2.0, 0.0)
    transform = messages.transform_message("odom", "base_footprint", pose, STAMP)
    assert (transform.header.frame_id, transform.child_frame_id) == ("odom", "base_footprint")
    assert transform.transform.translation.y == 2.0
    assert transform.transform.rotation.z == pytest.approx(math.sin(0.25))


def test_times_are_nanoseconds():
    assert messages.nanoseconds(messages.time(1_234_567_890_123)) == 1_234_567_890_123


def test_diagnostics_carry_level_sentence_and_values():
    message = messages.diagnostics("/gait_planner", "gait_planner", 1, "slow", {"Hz": 49.5}, STAMP)
    status = message.status[0]
    assert (status.level, status.message, status.values[0].key, status.values[0].value) == (b"\1", "slow", "Hz", "49.5")


@pytest.mark.parametrize("change", [{"angle_min": math.nan}, {"angle_increment": 0.0}])
def test_a_scan_without_directions_is_refused(change):
    scan = LaserScan(angle_min=0.0, angle_increment=0.1)
    for name, value in change.items():
        setattr(scan, name, value)
    with pytest.raises(MessageError, match="is not a valid direction"):
        messages.scan(scan)
