# SPDX-License-Identifier: Apache-2.0
"""Node terrain_map on real DDS: a box on a floor arrives as it is, whenever its images arrive."""

import math
from array import array

import numpy as np
import pytest
from nav_msgs.msg import OccupancyGrid
from sensor_msgs.msg import CameraInfo, Image, JointState, PointCloud2, PointField
from support.phantomx import robot, standing_joints
from support.real_time.ros_bench import overrides
from support.real_time.wires import start

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.leg_kinematics import hip_to_base, leg_forward
from hexapod_control.nodes.terrain_map.terrain_map import TerrainMapNode
from hexapod_control.ros import messages
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.ros.qos import LATCHED, SAMPLES
from hexapod_control.ros.row_messages import JointLayout
from hexapod_control.ros.terrain_messages import GRID_MAP, grid_of_map, terrain_grid

COLUMNS, ROWS, FOCAL = 80, 60, 42.0  # [pixels]
CAMERA = BodyPose(x=0.15, z=0.1, pitch=math.radians(40.0))  # in base_link, looking ahead and down
OPTICAL = BodyPose(roll=-math.pi / 2, yaw=-math.pi / 2)
HEIGHT = 0.12  # [m] of base_link
NEAR, FAR, SIDE, TOP = 0.5, 0.7, 0.15, 0.06  # [m] a box ahead
TOPIC, INFO = "camera/depth/image_rect_raw", "camera/depth/camera_info"


def depth(x):
    """Depth image [m] from a robot at x [m]: a box with its front at NEAR on a floor."""
    u, v = np.meshgrid(np.arange(COLUMNS) - (COLUMNS - 1) / 2, np.arange(ROWS) - (ROWS - 1) / 2)
    rays = np.stack((u / FOCAL, v / FOCAL, np.ones_like(u)), axis=-1)
    rays = rays @ (np.array(CAMERA.rotation()) @ np.array(OPTICAL.rotation())).T
    eye = np.array((x + CAMERA.x, 0.0, HEIGHT + CAMERA.z))
    with np.errstate(divide="ignore", invalid="ignore"):
        floor = np.where(rays[..., 2] < 0.0, -eye[2] / rays[..., 2], np.inf)
        top = np.where(rays[..., 2] < 0.0, (TOP - eye[2]) / rays[..., 2], np.inf)
        front = (NEAR - eye[0]) / rays[..., 0]
        on_top, on_front = eye + top[..., None] * rays, eye + front[..., None] * rays
    top[~((on_top[..., 0] > NEAR) & (on_top[..., 0] < FAR) & (abs(on_top[..., 1]) < SIDE))] = np.inf
    front[~((front > 0.0) & (abs(on_front[..., 1]) < SIDE) & (on_front[..., 2] < TOP))] = np.inf
    return np.minimum(np.minimum(floor, top), front)


class Scene:
    """The node, and a robot with a camera whose messages the test sends."""

    def __init__(self, bench, alone=False, **parameters):
        """`alone`: the node is a process of its own."""
        self.bench = bench
        self.maps = bench.listen(PointCloud2, "terrain_map")
        self.costs = bench.listen(OccupancyGrid, "traversability", LATCHED)
        self.process = start("terrain_map", **parameters) if alone else None
        self.node = None if alone else bench.add(TerrainMapNode(parameter_overrides=overrides(rate=20.0, **parameters)))
        self.tf = bench.publisher(TFMessage, "/tf", SAMPLES)
        self.fixed = bench.publisher(TFMessage, "/tf_static", LATCHED)
        self.joints = bench.publisher(JointState, "joint_states")
        self.sent = 0

    def camera(self):
        """Publishes the mounting of a camera and its lens."""
        self.image, self.info = self.bench.publisher(Image, TOPIC), self.bench.publisher(CameraInfo, INFO)
        frames = (("base_link", "camera_link", CAMERA), ("camera_link", "lens", OPTICAL))
        transforms = [messages.transform_message(*names, pose, messages.time(0)) for *names, pose in frames]
        self.fixed.publish(TFMessage(transforms=transforms))
        self.tell_lens()
        if self.node:
            self.bench.until(lambda: self.node.received["/tf_static"] and self.node.received[INFO], what="the camera")

    def tell_lens(self):
        info = CameraInfo(width=COLUMNS, height=ROWS)
        info.k = np.array([FOCAL, 0, (COLUMNS - 1) / 2, 0, FOCAL, (ROWS - 1) / 2, 0, 0, 1])
        self.info.publish(info)

    def stand(self, seconds, x=0.0):
        """Tells where the robot stands at a time [s]."""
        pose = BodyPose(x=x, z=HEIGHT)
        transform = messages.transform_message("odom", "base_link", pose, messages.time(round(seconds * 1e9)))
        self.tf.publish(TFMessage(transforms=[transform]))

    def see(self, seconds, x=0.0, **changes):
        """Publishes what the camera saw from x [m] at a time [s]."""
        data = array("B", np.where(np.isfinite(depth(x)), depth(x), math.nan).astype("<f4").tobytes())
        message = Image(width=COLUMNS, height=ROWS, encoding="32FC1", step=4 * COLUMNS, data=data)
        message.header.stamp = messages.time(round(seconds * 1e9))
        message.header.frame_id = "lens"
        for name, value in changes.items():
            setattr(message.header if name == "frame_id" else message, name, value)
        self.sent += 1
        self.image.publish(message)
        if self.node:
            self.bench.until(lambda: self.node.received[TOPIC] == self.sent, what="the image")

    def used(self, count):
        """Waits until so many scans are in the map, and returns it."""
        self.bench.until(lambda: self.node.status()[f"{TOPIC}, scans used"] >= count, what=f"{count} scans")
        newest = round(self.node.terrain.time * 1e9)
        self.bench.until(
            lambda: self.maps and messages.nanoseconds(self.maps[-1].header.stamp) == newest, what="the map"
        )
        return terrain_grid(self.maps[-1])

    def reported(self, text, seconds=5.0):
        self.bench.until(lambda: any(text in each for each in self.node.recent_reports()), seconds, text)


def assert_box(grid):
    x, y = np.meshgrid(np.arange(0.4, NEAR - 0.02, 0.01), np.arange(-0.1, 0.1, 0.01))
    assert np.nanmax(abs(grid.heights(x, y))) < 0.006
    assert np.isfinite(grid.heights(x, y)).mean() > 0.9
    x, y = np.meshgrid(np.arange(NEAR + 0.02, FAR - 0.02, 0.01), np.arange(-0.1, 0.1, 0.01))
    assert np.nanmax(abs(grid.heights(x, y) - TOP)) < 0.006
    assert np.isfinite(grid.heights(x, y)).mean() > 0.4  # pixels are farther apart there than cells
    assert np.isnan(grid.heights([-0.3, 0.0], 0.0)).all()


@pytest.mark.process
def test_a_box_arrives_on_the_map_with_its_height_and_what_was_not_seen_is_unknown(bench):
    optional = {"publish_grid_map": True} if GRID_MAP else {}  # the package grid_map_msgs
    scene = Scene(bench, alone=True, **optional)
    grids = bench.listen(GRID_MAP, "grid_map") if GRID_MAP else None
    try:
        scene.camera()
        scene.stand(10.0)

        def look():
            scene.tell_lens()
            scene.stand(10.2 + 0.2 * scene.sent)
            scene.see(10.1 + 0.2 * scene.sent)
            return scene.maps and scene.costs and (grids is None or grids)

        bench.until(look, 20.0, "the map", pause=0.2)
    finally:
        scene.process.kill()
        scene.process.communicate(timeout=10.0)
    message = scene.maps[-1]
    assert message.header.frame_id == "odom"
    assert messages.nanoseconds(message.header.stamp) % 200_000_000 == 100_000_000
    assert_box(terrain_grid(message))
    if grids:
        assert_box(grid_of_map(grids[-1]))
    cost = scene.costs[-1]
    assert cost.info.width == message.width
    assert set(cost.data) == {-1, 0}  # the robot climbs 60 mm


def test_images_that_come_late_and_out_of_order_are_put_where_they_were_taken(bench):
    scene = Scene(bench, max_step=0.04)
    scene.camera()
    for step in range(6):
        scene.stand(10.0 + 0.1 * step, 0.04 * step)
    for step in (4, 1, 3, 0, 2):
        scene.see(10.0 + 0.1 * step, 0.04 * step)
    scene.see(10.65, 0.26)  # before its pose
    scene.used(5)
    scene.stand(10.6, 0.24)
    scene.stand(10.7, 0.28)
    grid = scene.used(6)
    assert grid.time == pytest.approx(10.65)
    assert_box(grid)
    bench.until(lambda: scene.costs and 100 in scene.costs[-1].data, what="a step that is too high")


def test_what_lies_on_the_robot_itself_is_not_ground(bench):
    scene = Scene(bench, depth_images="", point_clouds="points")
    layout = JointLayout(robot())
    cloud = bench.publisher(PointCloud2, "points")
    leg, angles = robot().legs[0], standing_joints()[0]
    knee, foot = (np.array(hip_to_base(leg, point)) for point in leg_forward(leg, tuple(angles)))
    shank = np.linspace(knee, foot, 40)[:-4]
    ground = np.column_stack((np.full(50, 0.5), np.linspace(-0.2, 0.2, 50), np.full(50, -HEIGHT)))
    points = np.concatenate((shank, ground)).astype("<f4")
    scene.joints.publish(layout.message(standing_joints(), None, messages.time(10_000_000_000)))
    for seconds in (9.9, 10.1):
        scene.stand(seconds)
    bench.until(lambda: scene.node.received["joint_states"] and scene.node.received["/tf"] == 2, what="the joints")
    message = PointCloud2(height=1, width=len(points), point_step=12, row_step=12 * len(points), data=points.tobytes())
    message.fields = [PointField(name=n, offset=4 * k, datatype=7, count=1) for k, n in enumerate("xyz")]
    message.header.frame_id, message.header.stamp = "base_link", messages.time(10_000_000_000)
    cloud.publish(message)
    bench.until(lambda: scene.maps, what="the map")
    grid = terrain_grid(scene.maps[-1])
    assert np.isnan(grid.heights(shank[:, 0], shank[:, 1])).all()
    assert grid.heights(0.5, 0.0) == pytest.approx(0.0, abs=1e-3)


def test_a_silent_sensor_an_unknown_frame_and_a_missing_camera_info_are_named(bench):
    scene = Scene(bench, depth_images=f"{TOPIC} second/image")
    second = bench.publisher(Image, "second/image")
    second.publish(Image())
    scene.reported("nothing has come on second/camera_info, which tells its focal lengths")
    scene.camera()
    scene.stand(10.0)
    scene.stand(10.2)
    scene.see(10.1, frame_id="nowhere")
    scene.reported(f"{TOPIC}: nothing publishes the pose of nowhere: 1 scans are not used")
    scene.see(30.0)
    scene.reported("the newest pose of base_link is 19.80 s older than the scan")
    scene.reported(f"{TOPIC} is silent for ")
    scene.see(10.0)
    bench.until(lambda: not any("image_rect_raw is silent" in text for text in scene.node.recent_reports()))


def test_messages_that_cannot_be_used_are_named_and_the_next_good_one_counts(bench):
    scene = Scene(bench)
    scene.camera()
    for seconds in (10.0, 10.2, 10.4):
        scene.stand(seconds)
    for changes, text in (
        ({"encoding": "rgb8"}, "its encoding is 'rgb8'"),
        ({"width": 81}, "it has 81 x 60 pixels, its camera_info 80 x 60"),
        ({"data": bytes(100)}, "it has 100 bytes of data"),
        ({"encoding": "16UC1", "step": 1}, "in rows of 1; check the driver"),
    ):
        scene.see(10.1, **changes)
        scene.reported(text)
    scene.see(10.1, data=array("B", np.full(COLUMNS * ROWS, math.nan, "<f4").tobytes()))
    scene.info.publish(CameraInfo(width=COLUMNS, height=ROWS, k=np.full(9, math.nan)))
    scene.reported("the focal lengths are (nan, nan) pixels")
    broken = messages.transform_message("odom", "base_link", BodyPose(), messages.time(0))
    broken.transform.rotation.w = 0.0
    scene.tf.publish(TFMessage(transforms=[broken]))
    scene.reported("orientation (0, 0, 0, 0) has norm 0")
    scene.see(10.3)
    assert_box(scene.used(2))


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"point_clouds": f"{TOPIC} {TOPIC}"}, "name a topic twice"),
        ({"depth_images": "a b//c"}, "depth_images: topic"),
    ],
)
def test_topics_that_cannot_be_used_are_refused(bench, parameters, text):
    with pytest.raises(ParameterError, match=text):
        TerrainMapNode(parameter_overrides=overrides(**parameters))
