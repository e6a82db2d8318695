# SPDX-License-Identifier: Apache-2.0
"""What mujoco_sim publishes of a reading, and when scans, images and collisions are due, without a running world."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from support.kits.plain_node import Moment, PlainNode
from support.phantomx import robot, standing_joints

from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.nodes.mujoco_sim import mujoco_sim, simulation_output
from hexapod_control.nodes.mujoco_sim.mujoco_sim import CameraOutput
from hexapod_control.nodes.mujoco_sim.settings import SimulatorSettings
from hexapod_control.nodes.mujoco_sim.simulation_output import LidarOutput, SimulationOutput
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import ReportLevel
from hexapod_control.ros.row_messages import FootLayout, JointLayout, xyz
from hexapod_control.sim.mujoco_model import FIELD_OF_VIEW_DEG, front_camera_pose
from hexapod_control.sim.simulation import ImuNoise, InertialReading, SimulationReading
from hexapod_control.sim.world_settings import LidarSettings

STAMP = messages.time(7_500_000_000)
TURN = messages.quaternion(0.1, -0.2, 3.1)
ORIENTATION = np.array([TURN.x, TURN.y, TURN.z, TURN.w])
RATE, FELT = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 9.0])
SEEN = SimulationReading(
    time=7.0,
    joints=standing_joints(),
    joint_velocity=np.full((6, 3), 0.25),
    joint_torque=np.full((6, 3), -0.5),
    foot_forces=np.arange(6.0),
    orientation=ORIENTATION,
    angular_velocity=RATE,
    acceleration=FELT,
    position=np.array([1.0, -2.0, 0.1]),
    velocity=np.array([0.04, 0.05, 0.06]),
)


def test_the_imu_has_the_noise_and_the_drift_of_the_time_since_its_last_reading():
    node, noise = PlainNode(), ImuNoise(seed=0)
    output, last = SimulationOutput(node, robot(), "one/"), 0.0
    for time in (0.5, 0.75, 100.0):
        output.imu(InertialReading(time, tuple(ORIENTATION.tolist()), RATE, FELT), STAMP)
        rate, acceleration = noise.step(time - last)
        last = time
        message = node.sent("imu/data")[-1]
        found = messages.inertial(message)
        assert (message.header.frame_id, message.header.stamp) == ("one/imu_link", STAMP)
        assert found.angular_velocity == pytest.approx(RATE + rate)
        assert found.acceleration == pytest.approx(FELT + acceleration)
        assert found.orientation[:2] == pytest.approx((0.1, -0.2))
        turned = found.orientation[2] - 3.1 - noise.heading
        assert math.remainder(turned, math.tau) == pytest.approx(0.0, abs=1e-9)
    assert abs(noise.heading) > 1e-3
    node.topics["imu/data"].listeners = 0
    output.imu(InertialReading(200.0, tuple(ORIENTATION.tolist()), RATE, FELT), STAMP)
    assert len(node.sent("imu/data")) == 3


def test_joints_feet_and_the_true_pose_are_those_of_the_reading():
    node = PlainNode()
    output = SimulationOutput(node, robot(), "one/")
    output.state(SEEN, STAMP)
    (state,), (states,), (truth,) = (
        node.sent(topic) for topic in ("joint_states", "foot_states", "simulator/floating_base_state")
    )
    joints, feet = JointLayout(robot()), FootLayout(robot()).feet(states)
    assert joints.joints(state) == pytest.approx(SEEN.joints)
    assert joints.velocities(state) == pytest.approx(SEEN.joint_velocity)
    assert joints.torques(state) == pytest.approx(SEEN.joint_torque)
    assert feet.positions == pytest.approx(forward(robot(), SEEN.joints))
    assert feet.forces.tolist() == SEEN.foot_forces.tolist()
    assert {each.header.stamp.sec for each in (state, states, truth)} == {7}
    assert (states.header.frame_id, truth.header.frame_id, truth.child_frame_id) == (
        "one/base_link",
        "world",
        "one/base_link",
    )
    assert xyz(truth.pose.pose.position) == (1.0, -2.0, 0.1)
    assert messages.roll_pitch_yaw(truth.pose.pose.orientation) == pytest.approx((0.1, -0.2, 3.1))
    assert xyz(truth.twist.twist.linear) == (0.04, 0.05, 0.06)
    assert xyz(truth.twist.twist.angular) == (0.1, 0.2, 0.3)
    assert not any(truth.pose.covariance) and not any(truth.twist.covariance)
    node.topics["simulator/floating_base_state"].listeners = 0
    output.state(SEEN, STAMP)
    assert len(node.sent("simulator/floating_base_state")) == 1 and len(node.sent("joint_states")) == 2


def test_with_servos_on_a_bus_joints_and_feet_are_those_of_the_driver():
    node = PlainNode()
    SimulationOutput(node, robot(), "", servos=False).state(SEEN, STAMP)
    assert set(node.topics) == {"imu/data", "simulator/floating_base_state", "/tf_static"}
    assert len(node.sent("simulator/floating_base_state")) == 1


# --- lidar and camera -----------------------------------------------------------------------------------------


class Counter:
    """Stands in for the counter of collisions; the test sets how many there were."""

    count = 0

    def update(self, simulation):
        self.count = simulation.collisions


class Rays:
    """Stands in for a lidar."""

    position = (0.1, 0.2, 0.3)

    def __init__(self, robot, settings):
        pass

    def scan(self, simulation):
        return SimpleNamespace(at=simulation.time)


@pytest.fixture
def lidar(monkeypatch):
    monkeypatch.setattr(simulation_output, "Lidar", Rays)
    monkeypatch.setattr(simulation_output, "CollisionCounter", Counter)
    monkeypatch.setattr(simulation_output.messages, "scan_message", lambda *what: what)
    node = PlainNode()
    return node, LidarOutput(node, robot(), "a/", LidarSettings(scan_rate=10.0))


def test_scans_come_at_their_rate_half_a_millisecond_early_at_most_and_again_after_a_reset(lidar):
    node, output = lidar
    times = (5.0, 5.01, 5.0994, 5.0996, 5.19, 5.1997, 5.3, 0.0, 0.05, 0.1)
    for time in times:
        output.publish(SimpleNamespace(time=time, collisions=0), STAMP)
    scans = node.sent("scan")
    assert [scan.at for scan, *_ in scans] == [5.0, 5.0996, 5.1997, 5.3, 0.0, 0.1]
    assert all(rest == [0.1, STAMP, "a/lidar_link"] for _, *rest in scans)
    node.topics["scan"].listeners = 0
    output.publish(SimpleNamespace(time=0.2, collisions=0), STAMP)
    assert len(scans) == 6
    (place,) = node.sent("/tf_static")[0].transforms
    assert (place.header.frame_id, place.child_frame_id) == ("a/base_link", "a/lidar_link")
    assert xyz(place.transform.translation) == Rays.position


def test_collisions_are_published_when_there_are_more(lidar):
    node, output = lidar
    for count in (0, 2, 2, 3):
        output.publish(SimpleNamespace(time=0.0, collisions=count), STAMP)
    assert [message.data for message in node.sent("simulator/collisions")] == [0, 2, 3]
    assert output.collisions == 3


class Shots:
    """Stands in for the camera, whose images come from a thread."""

    def __init__(self, size, take, failed):
        self.size, self.take, self.failed, self.taken, self.open = size, take, failed, [], True

    def capture(self, simulation, tag):
        self.taken.append((simulation, tag))

    def close(self):
        self.open = False


@pytest.fixture
def camera(monkeypatch):
    made, time = [], Moment()
    monkeypatch.setattr(mujoco_sim, "time", time)
    monkeypatch.setattr(mujoco_sim, "FrontCamera", lambda *what: made.append(Shots(*what)) or made[-1])
    node = PlainNode(moment=time)
    output = CameraOutput(node, robot(), "a/", SimulatorSettings(camera_rate=10.0, camera_width=320))
    return node, output, made[0], time


def test_images_are_three_quarters_as_high_as_wide_and_carry_stamp_and_frame(camera):
    node, output, shots, _ = camera
    assert shots.size == (320, 240)
    shots.take(b"jpeg data", STAMP)
    (image,) = node.sent("image_raw/compressed")
    assert (image.format, bytes(image.data)) == ("jpeg", b"jpeg data")
    assert (image.header.frame_id, image.header.stamp) == ("a/camera_optical_frame", STAMP)
    (info,) = node.sent("camera_info")
    assert (info.header, info.width, info.height) == (image.header, 320, 240)
    assert 2 * math.atan(120 / info.k[4]) == pytest.approx(math.radians(FIELD_OF_VIEW_DEG)) and info.k[0] == info.k[4]
    shots.failed("no graphics")
    assert node.report_of("camera") == (ReportLevel.ERROR, "no images: no graphics")
    output.close()
    assert not shots.open


def test_images_are_taken_at_their_rate_at_most_and_only_for_a_subscriber(camera):
    node, output, shots, time = camera
    node.topics["image_raw/compressed"].listeners = 0
    output.publish("world", STAMP)
    node.topics["image_raw/compressed"].listeners = 1
    taken = []
    for wait in (0.0, 0.05, 0.06, 0.09, 0.02):
        time.now += wait
        output.publish("world", STAMP)
        taken.append(len(shots.taken))
    assert taken == [1, 1, 2, 2, 3] and shots.taken[0] == ("world", STAMP)


def test_the_optical_frame_of_the_camera_looks_forward_and_down_with_x_to_the_right(camera):
    node, *_ = camera
    (place,) = node.sent("/tf_static")[0].transforms
    assert (place.header.frame_id, place.child_frame_id) == ("a/base_link", "a/camera_optical_frame")
    (x, y, z), pitch = front_camera_pose(robot())
    assert xyz(place.transform.translation) == pytest.approx((x, y, z))
    turn = Placement(BodyPose(0.0, 0.0, 0.0, *messages.roll_pitch_yaw(place.transform.rotation)), 0.0)
    axes = [_turned(turn, axis) for axis in ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))]
    assert axes[0] == pytest.approx((0.0, -1.0, 0.0), abs=1e-9)
    assert axes[1] == pytest.approx((math.cos(pitch), 0.0, -math.sin(pitch)), abs=1e-9) and pitch > 0.0


def _turned(placement, axis):
    """An axis of the frame in base_link: the inverse of what takes a point into the frame."""
    columns = np.array([placement.to_base(*unit) for unit in np.eye(3)])
    return tuple(columns @ np.array(axis))
