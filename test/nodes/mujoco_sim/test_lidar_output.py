# SPDX-License-Identifier: Apache-2.0
"""The lidar, the collisions and the camera of mujoco_sim on their topics."""

import math
import threading
from itertools import pairwise

import pytest
from rclpy.qos import QoSProfile
from sensor_msgs.msg import CompressedImage, LaserScan
from std_msgs.msg import UInt32
from support.real_time.ros_bench import overrides

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.nodes.mujoco_sim.mujoco_sim import MujocoSimNode
from hexapod_control.ros import messages
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.qos import DISPLAY, LATCHED, LATCHED_TREE
from hexapod_control.ros.row_messages import xyz
from hexapod_control.sim.lidar import Lidar, lidar_position
from hexapod_control.sim.world_settings import LidarSettings, WorldSettings

pytestmark = pytest.mark.physics

WORLD = WorldSettings(world="obstacles", seed=3)
EXACT = LidarSettings(scan_noise=0.0)


@pytest.fixture(scope="module")
def phantomx():
    robot_file = load("phantomx")
    return robot_file.robot, urdf(robot_file)


def test_scans_come_at_their_rate_with_all_fields_and_lidar_and_imu_have_their_frames(bench, phantomx):
    many = QoSProfile(depth=50)
    scans, frames = bench.listen(LaserScan, "scan", many), bench.listen(TFMessage, "/tf_static", LATCHED_TREE)
    node = bench.add(MujocoSimNode(parameter_overrides=overrides(world="obstacles", seed=3, tf_frame_prefix="a/")))
    bench.until(lambda: len(scans) >= 12 and len(frames) >= 2, seconds=10.0)
    times = [scan.header.stamp.sec + 1e-9 * scan.header.stamp.nanosec for scan in scans]
    assert (times[-1] - times[1]) / (len(times) - 2) == pytest.approx(0.1, rel=0.15)
    scan = scans[-1]
    assert scan.header.frame_id == "a/lidar_link"
    assert len(scan.ranges) == 360
    assert scan.angle_min == pytest.approx(-math.pi)
    assert scan.angle_max == pytest.approx(math.pi - math.tau / 360)
    assert scan.angle_increment == pytest.approx(math.tau / 360)
    assert (scan.scan_time, scan.time_increment) == (pytest.approx(0.1), 0.0)
    assert (scan.range_min, scan.range_max) == (pytest.approx(0.1), 6.0)
    exact = Lidar(phantomx[0], EXACT).ranges(node.world.simulation)
    assert messages.scan(scan).ranges == pytest.approx(exact, abs=0.15)
    places = {place.child_frame_id: place for message in frames for place in message.transforms}
    assert {place.header.frame_id for place in places.values()} == {"a/base_link"}
    for frame, expected in (("a/lidar_link", lidar_position(phantomx[0])), ("a/imu_link", phantomx[0].imu)):
        assert xyz(places[frame].transform.translation) == pytest.approx(expected)


def test_a_collision_is_published_on_its_topic(bench, phantomx):
    counts = bench.listen(UInt32, "simulator/collisions", LATCHED)
    node = bench.add(MujocoSimNode(parameter_overrides=overrides(world="obstacles", seed=3)))
    bench.until(lambda: counts and counts[-1].data == 0)
    node.world.simulation.data.qpos[0] = WORLD.room_size / 2 - 0.1
    bench.until(lambda: counts[-1].data > 0)
    assert node.status()["collisions"] == counts[-1].data
    numbers = [message.data for message in counts]
    assert numbers == sorted(set(numbers))  # only changes are published


def test_a_lidar_without_subscribers_casts_no_rays(bench, phantomx, monkeypatch):
    node = bench.add(MujocoSimNode(parameter_overrides=overrides()))
    monkeypatch.setattr(Lidar, "scan", lambda *_: pytest.fail("cast rays"))
    bench.until(lambda: bench.probe.count_publishers("scan"), what="a lidar")
    before = node.world.simulation.time
    bench.until(lambda: node.world.simulation.time > before + 0.3)
    assert not node.recent_reports()


@pytest.mark.gl
def test_images_come_at_their_rate_at_most_and_only_to_a_subscriber(bench):
    bench.add(MujocoSimNode(parameter_overrides=overrides(camera_rate=10.0, camera_width=64)))
    bench.spin(0.3)
    assert "front camera" not in [thread.name for thread in threading.enumerate()]
    images = bench.listen(CompressedImage, "image_raw/compressed", DISPLAY)
    bench.until(lambda: len(images) >= 4, seconds=20.0)
    times = [image.header.stamp.sec + 1e-9 * image.header.stamp.nanosec for image in images]
    assert min(b - a for a, b in pairwise(times)) > 0.09
    assert images[-1].format == "jpeg" and bytes(images[-1].data).startswith(b"\xff\xd8")
    assert images[-1].header.frame_id == "camera_optical_frame"
