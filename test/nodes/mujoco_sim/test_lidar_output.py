# SPDX-License-Identifier: Apache-2.0
"""The lidar, the collisions and the cameras of mujoco_sim on their topics."""

import math
import signal
import subprocess
import sys
import threading
from itertools import pairwise

import numpy as np
import pytest
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, LaserScan, PointCloud2
from std_msgs.msg import UInt32
from support.real_time.ros_bench import overrides

from hexapod_control.core.sensing.cameras import USUAL_CAMERAS, optical_rotation
from hexapod_control.core.terrain.depth_image import depth_points
from hexapod_control.nodes.mujoco_sim.mujoco_sim import MujocoSimNode
from hexapod_control.ros import messages
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.ros.qos import DISPLAY, LATCHED, LATCHED_TREE
from hexapod_control.ros.row_messages import xyz
from hexapod_control.ros.terrain_messages import Lens, cloud, depth_image, lens
from hexapod_control.sim.depth_sensors import DepthCamera, Lidar3D
from hexapod_control.sim.lidar import Lidar, lidar_position
from hexapod_control.sim.terrain import WAY_START_M
from hexapod_control.sim.world_settings import LidarSettings, WorldSettings

pytestmark = pytest.mark.physics

WORLD = WorldSettings(world="obstacles", seed=3)
EXACT = LidarSettings(scan_noise=0.0)


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


def test_clouds_of_the_3d_lidar_come_in_rings_at_their_rate(bench):
    clouds = bench.listen(PointCloud2, "lidar/points", QoSProfile(depth=50))
    bench.add(MujocoSimNode(parameter_overrides=overrides(tf_frame_prefix="a/", rings=16, ring_rays=90)))
    bench.until(lambda: len(clouds) >= 6, seconds=10.0)
    assert np.diff([seconds(each) for each in clouds]) == pytest.approx(0.1, abs=0.011)
    assert clouds[-1].header.frame_id == "a/lidar_link"
    points = cloud(clouds[-1], "x", "y", "z")
    assert points.shape == (16, 90, 3)
    behind = points[0, 0]  # the lowest ring, whose first ray points backwards
    assert behind[0] < 0.0 and behind[1] == pytest.approx(0.0, abs=1e-6) and behind[2] < 0.0


def test_a_collision_is_published_on_its_topic(bench, phantomx):
    counts = bench.listen(UInt32, "simulator/collisions", LATCHED)
    node = bench.add(MujocoSimNode(parameter_overrides=overrides(world="obstacles", seed=3)))
    bench.until(lambda: counts and counts[-1].data == 0)
    node.world.simulation.data.qpos[0] = WORLD.room_size / 2 - 0.1
    bench.until(lambda: counts[-1].data > 0)
    assert node.status()["collisions"] == counts[-1].data
    numbers = [message.data for message in counts]
    assert numbers == sorted(set(numbers))  # only changes are published


def test_a_lidar_and_a_depth_camera_without_subscribers_cast_no_rays(bench, monkeypatch):
    node = bench.add(MujocoSimNode(parameter_overrides=overrides(depth_camera="mast")))
    for sensor, cast in ((Lidar, "scan"), (DepthCamera, "frame"), (Lidar3D, "frame")):
        monkeypatch.setattr(sensor, cast, lambda *_: pytest.fail("cast rays"))
    for topic in ("scan", "camera/depth/image_rect_raw", "lidar/points"):
        bench.until(lambda topic=topic: bench.probe.count_publishers(topic), what=topic)
    before = node.world.simulation.time
    bench.until(lambda: node.world.simulation.time > before + 0.3)
    assert not node.recent_reports()


@pytest.fixture
def simulator():
    """A simulator in a process of its own, in front of stairs, with a camera."""
    given = {"world": "stairs", "stair_rise": 0.2, "way_yaw_deg": 0.0, "depth_camera": "front"}
    given |= {"tf_frame_prefix": "a/", "publish_clock": "true"}
    options = [text for name, value in given.items() for text in ("-p", f"{name}:={value}")]
    with subprocess.Popen([sys.executable, "-m", MujocoSimNode.__module__, "--ros-args", *options]) as process:
        yield process
        process.send_signal(signal.SIGINT)


def test_depth_images_have_the_stamp_of_their_taking_their_lens_and_a_chain_of_frames(bench, phantomx, request):
    camera = USUAL_CAMERAS["front"](phantomx[0])
    many = QoSProfile(depth=50)
    images = bench.listen(Image, "camera/depth/image_rect_raw", many)
    infos = bench.listen(CameraInfo, "camera/depth/camera_info", many)
    truth = bench.listen(Odometry, "simulator/floating_base_state", many)
    frames = bench.listen(TFMessage, "/tf_static", LATCHED_TREE)
    request.getfixturevalue("simulator")
    bench.until(lambda: images and truth, seconds=30.0, what="a depth image")
    delay = seconds(truth[-1]) - seconds(images[-1])
    bench.until(lambda: len(images) >= 8 and len(infos) >= 8, seconds=30.0, what="depth images")
    times = [seconds(image) for image in images]
    assert np.diff(times) == pytest.approx(0.1, abs=0.011)  # a tick of the simulation
    assert delay > 0.05
    assert times[:8] == [seconds(info) for info in infos[:8]]
    seen_by = lens(infos[-1])
    assert seen_by == Lens(pytest.approx(camera.focal), pytest.approx(camera.center), camera.resolution)
    points = depth_points(depth_image(images[-1], seen_by), seen_by.focal, seen_by.center)
    points = points @ optical_rotation(camera).T + camera.position
    farthest = points[np.abs(points[:, 1]) < 0.1, 0].max()
    assert farthest == pytest.approx(WAY_START_M, abs=0.03)  # of the floor before the riser, and of the riser
    names = ("a/base_link", "a/camera_link", "a/camera_depth_frame", "a/camera_depth_optical_frame")
    chain = {place.child_frame_id: place for message in frames for place in message.transforms}
    assert [chain[name].header.frame_id for name in names[1:]] == list(names[:-1])
    assert images[-1].header.frame_id == infos[-1].header.frame_id == names[-1]
    assert xyz(chain["a/camera_link"].transform.translation) == pytest.approx(camera.position)


def test_an_unknown_place_of_a_camera_is_refused_with_the_known_ones(bench):
    with pytest.raises(ParameterError, match="depth_camera must be one of front, mast, is 'top'"):
        MujocoSimNode(parameter_overrides=overrides(depth_camera="top"))


def seconds(message):
    return messages.nanoseconds(message.header.stamp) * 1e-9


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
