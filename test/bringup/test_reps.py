# SPDX-License-Identifier: Apache-2.0
"""A test for each statement of REP-103, 105, 107, 145 and 2004 that concerns a walking robot, on the nodes over DDS."""

import dataclasses
import re
from itertools import pairwise

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import String
from support.paths import ROOT
from support.phantomx import robot
from support.real_time.frame_tree import FrameTree
from support.real_time.ros_bench import Bench, Stream, twist

from hexapod_control.bringup import node_graph
from hexapod_control.cli.robot.one_process import nodes
from hexapod_control.core.kinematics.body_pose import BodyPose, quaternion_angles
from hexapod_control.core.kinematics.leg_kinematics import hip_to_base, leg_forward
from hexapod_control.core.kinematics.se2 import wrap
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.nodes.gait_planner.settings import PlannerSettings
from hexapod_control.nodes.imu_driver.settings import ImuDriverSettings
from hexapod_control.nodes.link_frames.link_frames import LinkFramesSettings
from hexapod_control.nodes.mujoco_sim.settings import SimulatorSettings
from hexapod_control.nodes.odometry.settings import OdometrySettings
from hexapod_control.nodes.servo_driver.settings import DriverSettings
from hexapod_control.nodes.teleop.settings import TeleopSettings
from hexapod_control.ros import messages
from hexapod_control.ros.parameters import table
from hexapod_control.ros.qos import LATCHED
from hexapod_control.ros.row_messages import JointLayout
from hexapod_control.ros.transport.handover import Handover

pytestmark = pytest.mark.physics
ALL = QoSProfile(depth=500)
SETTINGS = (
    *(PlannerSettings, DriverSettings, SimulatorSettings, OdometrySettings, ImuDriverSettings, TeleopSettings),
    LinkFramesSettings,
)
UNITS = {"", "m", "kg", "s", "rad", "Hz", "N", "V", "m/s", "rad/s", "m/s^2", "rad/s^2"}
VX, WZ, TURN = 0.06, 0.3, 0.4  # [m/s], [rad/s], [rad] of the drive
NAMESPACE = "left"


class Driven:
    """A simulated robot that has stood still and then walked ahead in a curve to the left, and what it published."""

    def __init__(self, bench):
        self.bench = bench
        self.odometry = bench.listen(Odometry, f"{NAMESPACE}/odom", ALL)
        self.truth = bench.listen(Odometry, f"{NAMESPACE}/simulator/floating_base_state", ALL)
        self.imu = bench.listen(Imu, f"{NAMESPACE}/imu/data", ALL)
        self.joints = bench.listen(JointState, f"{NAMESPACE}/joint_states", ALL)
        self.diagnostics = bench.listen(DiagnosticArray, "/diagnostics", ALL)
        states = bench.listen(String, f"{NAMESPACE}/gait_state", LATCHED)
        self.tree = FrameTree(bench, NAMESPACE)
        specs = node_graph.specs("sim", {"stand_on_start": "true", "web": "false", "namespace": NAMESPACE})
        self.nodes = [bench.add(node) for node in nodes([with_camera(spec) for spec in specs], Handover())]
        bench.until(lambda: states and states[-1].data == "standing", 60.0, "standing")
        standing = len(self.imu)
        bench.until(lambda: len(self.imu) > standing + 20, 20.0, "the robot at rest")
        self.at_rest = self.imu[standing:]
        starts = len(self.odometry) - 1, len(self.truth) - 1, len(self.imu) - 1
        start = self.truth[-1]
        stream = Stream(bench, lambda: twist(VX, 0.0, WZ), topic=f"{NAMESPACE}/cmd_vel")
        bench.until(lambda: np.ptp(yaws([start, self.truth[-1]])) > TURN, 60.0, "the turn")
        self.walk = self.odometry[starts[0] :], self.truth[starts[1] :], self.imu[starts[2] :]
        stream.stop()
        bench.until(self.tree.whole, 10.0, "all links in the frame tree")
        bench.until(lambda: len({status.name for status in self.statuses}) >= len(self.nodes), 10.0, "diagnostics")

    @property
    def statuses(self):
        return [status for message in self.diagnostics for status in message.status]


def with_camera(spec):
    """The spec of a node; the simulator also has a camera."""
    camera = {"camera_rate": 1.0} if spec.executable == "mujoco_sim" else {}
    return dataclasses.replace(spec, parameters={**spec.parameters, **camera})


def angles(q):
    """Roll, pitch and yaw [rad] of a quaternion."""
    return quaternion_angles(q.x, q.y, q.z, q.w)


def yaws(messages_):
    """Yaw [rad] of each Odometry, without jumps of a whole turn."""
    return np.unwrap([angles(each.pose.pose.orientation)[2] for each in messages_])


def place(message):
    """Position [m] of Odometry."""
    point = message.pose.pose.position
    return np.array([point.x, point.y, point.z])


def stamp(message):
    """Stamp [s] of a message."""
    return messages.nanoseconds(message.header.stamp) / messages.NANOSECONDS


def vector(value):
    return np.array([value.x, value.y, value.z])


@pytest.fixture(scope="module")
def driven():
    bench = Bench()
    yield Driven(bench)
    bench.close()


# --- REP-103: units and coordinates ---------------------------------------------------------------------------


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda kind: kind.__name__)
def test_parameters_have_si_units_and_the_names_of_degrees_say_so(settings):
    for row in table(settings):
        unit = row.quantity.unit if row.quantity else ""
        assert unit.startswith("deg") == row.name.endswith("_deg"), row.name
        assert unit in UNITS or unit.startswith("deg"), f"{row.name} [{unit}]"


def test_lengths_are_metres_and_joint_angles_radians(driven):
    """The forward kinematics of joint_states put the feet onto the ground, as far below the body as it is high."""
    joints = JointLayout(robot()).joints(driven.joints[-1])
    feet = [hip_to_base(leg, leg_forward(leg, tuple(q))[1])[2] for leg, q in zip(robot().legs, joints, strict=True)]
    height = place(driven.truth[-1])[2]
    assert min(feet) - robot().foot_radius == pytest.approx(-height, abs=0.01)


def test_x_is_forward_y_left_and_z_up(driven):
    _, truth, _ = driven.walk
    forward = BodyPose(0, 0, 0, *angles(truth[0].pose.pose.orientation)).rotation()[0][0]
    assert forward > 0.9
    assert (place(truth[-1]) - place(truth[0]))[0] > 0.03
    assert (place(truth[-1]) - place(truth[0]))[1] > 0.0  # a curve to the left
    for leg in robot().legs:
        side, row = leg.name.split("_")
        assert (leg.hip[1] > 0.0) == (side == "left")
        assert np.sign(leg.hip[0]) == {"front": 1, "middle": 0, "rear": -1}[row]
    assert all(place(each)[2] > 0.0 for each in truth)


def test_turning_left_increases_the_yaw(driven):
    odometry, truth, imu = driven.walk
    assert yaws(odometry)[-1] - yaws(odometry)[0] == pytest.approx(yaws(truth)[-1] - yaws(truth)[0], abs=0.1)
    assert np.mean([each.angular_velocity.z for each in imu]) > 0.1
    assert np.median([each.twist.twist.angular.z for each in odometry]) > 0.1


def test_orientations_are_unit_quaternions(driven):
    turns = [each.transform.rotation for each in driven.tree.transforms]
    turns += [each.pose.pose.orientation for each in (*driven.odometry, *driven.truth)]
    turns += [each.orientation for each in driven.imu]
    assert np.linalg.norm([(q.x, q.y, q.z, q.w) for q in turns], axis=1) == pytest.approx(1.0, abs=1e-6)


def test_the_frame_of_a_camera_is_optical_with_z_forward_x_right_and_y_down(driven):
    cameras = {each.child_frame_id: each for each in driven.tree.transforms if "camera" in each.child_frame_id}
    (camera,) = cameras.values()
    assert "_optical" in camera.child_frame_id
    right, down, forward = np.array(BodyPose(0, 0, 0, *angles(camera.transform.rotation)).rotation()).T
    assert right == pytest.approx((0.0, -1.0, 0.0), abs=1e-6)
    assert forward[0] > 0.5 and down[2] < -0.5


def test_covariances_are_row_major_in_the_order_x_y_z_roll_pitch_yaw(driven):
    """Only x, y and yaw of odometry grow on the way; those of the other three are constant."""
    odometry, _, _ = driven.walk
    for part in ("pose", "twist"):
        tables = [np.reshape(getattr(each, part).covariance, (6, 6)) for each in odometry]
        for covariance in tables:
            assert covariance == pytest.approx(covariance.T)
            assert np.linalg.eigvalsh(covariance).min() > 0.0
    begin, end = (np.diag(np.reshape(each.pose.covariance, (6, 6))) for each in (odometry[0], odometry[-1]))
    assert list(end > begin) == [True, True, False, False, False, True]


# --- REP-105: frames ------------------------------------------------------------------------------------------


def test_odom_is_the_root_and_leads_to_base_link_and_all_links(driven):
    parents = driven.tree.parents
    assert parents["base_link"] == "base_footprint" and parents["base_footprint"] == "odom"
    assert set(parents.values()) - set(parents) == {"odom"}
    assert driven.tree.whole()


def test_every_frame_has_one_parent(driven):
    pairs = {(each.child_frame_id, each.header.frame_id) for each in driven.tree.transforms}
    assert len(pairs) == len(driven.tree.parents)


def test_map_and_earth_are_left_to_localization(driven):
    assert not {"map", "earth"} & {*driven.tree.parents, *driven.tree.parents.values()}


def test_the_pose_in_odom_has_no_jumps(driven):
    odometry, _, _ = driven.walk
    for before, after in pairwise(odometry):
        dt = stamp(after) - stamp(before)
        assert np.linalg.norm(place(after) - place(before)) < 0.005 + 3.0 * VX * dt
        assert abs(wrap(yaws([after])[0] - yaws([before])[0])) < 0.02 + 3.0 * WZ * dt


def test_the_transform_of_odometry_is_its_message(driven):
    poses = {stamp(each): each for each in driven.odometry}
    sent = [each for each in driven.tree.transforms if each.child_frame_id == "base_footprint" and stamp(each) in poses]
    assert len(sent) > 10
    for each in sent:
        message = poses[stamp(each)]
        assert (message.header.frame_id, message.child_frame_id) == ("odom", "base_footprint")
        assert vector(each.transform.translation) == pytest.approx(place(message))


# --- REP-107: diagnostics -------------------------------------------------------------------------------------


def test_every_node_reports_by_its_name(driven):
    assert {status.name for status in driven.statuses} == {node.get_fully_qualified_name() for node in driven.nodes}


def test_a_report_has_a_level_a_sentence_its_hardware_and_values_by_name(driven):
    for status in driven.statuses:
        assert status.level in (status.OK, status.WARN, status.ERROR)
        assert status.message
        assert status.hardware_id == NAMESPACE
        keys = [pair.key for pair in status.values]
        assert len(keys) == len(set(keys)) and all(keys)


def test_reports_come_about_once_a_second(driven):
    for node in driven.nodes:
        name = node.get_fully_qualified_name()
        times = [stamp(each) for each in driven.diagnostics if each.status[0].name == name]
        assert np.median(np.diff(times)) == pytest.approx(1.0, abs=0.3)


# --- REP-145: IMU ---------------------------------------------------------------------------------------------


def test_the_imu_publishes_imu_data_in_imu_link_which_is_mounted_on_the_body(driven):
    assert {each.header.frame_id for each in driven.imu} == {"imu_link"}
    assert driven.tree.parents["imu_link"] == "base_link"


def test_at_rest_the_acceleration_is_gravity_upwards_and_the_rates_are_zero(driven):
    assert np.mean([vector(each.linear_acceleration) for each in driven.at_rest], axis=0) == pytest.approx(
        (0.0, 0.0, GRAVITY), abs=0.3
    )
    assert np.mean([vector(each.angular_velocity) for each in driven.at_rest], axis=0) == pytest.approx(0.0, abs=0.05)


def test_the_orientation_is_that_of_the_sensor_in_a_world_whose_z_points_up(driven):
    roll, pitch, _ = angles(driven.at_rest[-1].orientation)
    assert (roll, pitch) == pytest.approx((0.0, 0.0), abs=0.05)


def test_what_the_imu_reports_has_a_variance_and_what_it_does_not_report_is_marked(driven):
    for each in driven.imu:
        for name in ("orientation", "angular_velocity", "linear_acceleration"):
            covariance = np.reshape(getattr(each, f"{name}_covariance"), (3, 3))
            assert covariance[0, 0] == -1.0 or np.linalg.eigvalsh(covariance).min() >= 0.0


# --- REP-2004: quality ----------------------------------------------------------------------------------------


def test_the_quality_declaration_names_its_level_and_every_requirement_and_the_readme_links_to_it():
    text = (ROOT / "QUALITY_DECLARATION.md").read_text(encoding="utf-8")
    (level,) = re.findall(r"claims \*\*Quality Level (\d)\*\*", text)
    assert {int(number) for number in re.findall(r"^\| (\d) ", text, re.M)} == set(range(1, 8))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"quality_level-{level}" in readme and "(QUALITY_DECLARATION.md)" in readme


def test_licence_and_version_are_declared():
    package = (ROOT / "package.xml").read_text(encoding="utf-8")
    assert re.search(r"<license[^>]*>Apache-2.0</license>", package) and (ROOT / "LICENSE").is_file()
    assert re.search(r"<version>\d+\.\d+\.\d+</version>", package)
    assert (ROOT / "SECURITY.md").is_file()
