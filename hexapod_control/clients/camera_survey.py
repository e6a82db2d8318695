# SPDX-License-Identifier: Apache-2.0
"""Views of the floor for `hexapod camera-calibrate`: a running robot stands in body poses, its depth camera looks."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from sensor_msgs.msg import CameraInfo, Image

from hexapod_control.bringup.process_supervisor import stop_requests
from hexapod_control.clients.bounded_wait import POSTURE_S, BoundedWait, EndRequested
from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.sensing_client import SensingClient
from hexapod_control.config.errors import RobotError
from hexapod_control.core.calibration.camera_mounting import BODY_POSES, FloorView
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.frame_tree import FrameTree, UnknownPoseError
from hexapod_control.core.robot import Camera, Robot
from hexapod_control.core.sensing.cameras import OPTICAL
from hexapod_control.ros import messages
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.qos import DELIVERY_TIME_S, LATCHED_TREE, NEWEST_SENSOR
from hexapod_control.ros.row_messages import MessageError
from hexapod_control.ros.terrain_messages import Lens, camera_info_topic, depth_image_points, lens

READY_S = 20.0  # time limit for all topics and services to be available
IMAGES_S = 10.0  # time limit for the images of one pose
IMAGES = 5  # of one pose
REST_S = 1.0  # without a change of the joints, so that images of before have arrived
REST_TOLERANCE = 0.02  # [rad]: noise of joint sensors
ENDED = "ended before the floor was seen in all poses; nothing was written"


class CameraClient(SensingClient):
    """The measurements of one robot, and the points that its depth camera sees."""

    def __init__(self, options: ConnectionOptions, robot: Robot, camera: Camera, topic: str) -> None:
        super().__init__(options, robot)
        self.images: list[Array] = []  # points (n, 3) [m] of each image, in the camera's optical frame
        self.refusal = ""  # of the newest message
        self._topic = topic
        self._link = f"{options.namespace}/{camera.name}_link".lstrip("/")
        self._lens: Lens | None = None
        self._frames = FrameTree()
        self._node.create_subscription(Image, topic, self._on_image, NEWEST_SENSOR)
        self._node.create_subscription(CameraInfo, camera_info_topic(topic), self._on_info, NEWEST_SENSOR)
        self._node.create_subscription(TFMessage, "/tf_static", self._on_frames, LATCHED_TREE)

    def missing(self) -> list[str]:
        """Topics and services that are not available yet."""
        topics = {self._topic: self.images or self.refusal, camera_info_topic(self._topic): self._lens}
        joints = [] if self.joints is not None else ["joint_states"]
        return [*super().missing(), *joints, *(name for name, arrived in topics.items() if not arrived)]

    def _on_info(self, message: CameraInfo) -> None:
        try:
            self._lens = lens(message)
        except MessageError as error:
            self.refusal = f"{camera_info_topic(self._topic)}: {error}"

    def _on_frames(self, message: TFMessage) -> None:
        for frame, parent, position, quaternion, _ in messages.frame_transforms(message.transforms):
            self._frames.place(frame, parent, position, quaternion, None)

    def _on_image(self, message: Image) -> None:
        if self._lens is None:
            return
        try:
            in_link = self._frames.find(message.header.frame_id, self._link, 0.0)
            points = in_link.apply(depth_image_points(message, self._lens))
        except (MessageError, UnknownPoseError) as error:
            self.refusal = f"{self._topic}: {error}"
        else:
            self.images.append(points @ np.array(OPTICAL.rotation()))


def views(
    options: ConnectionOptions, robot: Robot, camera: Camera, topic: str, tell: Callable[[str], None]
) -> list[FloorView]:
    """Stands the robot up, and returns what its camera sees in BODY_POSES. Raises RobotError."""
    try:
        with stop_requests() as stop, CameraClient(options, robot, camera, topic) as client:
            wait = BoundedWait(client, stop)
            wait.until_ready(READY_S, "; is it running, and its camera?")
            if client.state != "standing":
                wait.request("stand")
            wait.until_standing(POSTURE_S)
            seen = []
            try:
                for pose in BODY_POSES:
                    seen.append(_view(client, wait, pose))
                    tell(f"{len(seen)} of {len(BODY_POSES)} body poses")
            finally:
                client.request_pose(NEUTRAL)
                client.spin(DELIVERY_TIME_S)
            _wait_for_rest(client, wait, NEUTRAL)
            return seen
    except EndRequested:
        raise RobotError(ENDED) from None


def _view(client: CameraClient, wait: BoundedWait, pose: BodyPose) -> FloorView:
    _wait_for_rest(client, wait, pose)
    client.images.clear()
    client.refusal = ""
    wait.until(
        lambda: len(client.images) >= IMAGES or bool(client.refusal),
        IMAGES_S,
        f"{len(client.images)} of {IMAGES} images of the camera came within {IMAGES_S:g} s; is its driver running?",
    )
    if client.refusal:
        raise RobotError(client.refusal)
    if client.state != "standing" or client.joints is None:
        raise RobotError(f"the robot did not stay on its feet (gait_state: {client.state}): repeat on a flat floor")
    return FloorView(client.joints, np.concatenate(client.images))


def _wait_for_rest(client: CameraClient, wait: BoundedWait, pose: BodyPose) -> None:
    """Waits until the body has taken a pose, and the joints are at rest."""
    since = time.monotonic()
    before = client.joints

    def at_rest() -> bool:
        nonlocal since, before
        client.request_pose(pose)
        assert client.joints is not None and before is not None
        if np.abs(client.joints - before).max() > REST_TOLERANCE:
            since = time.monotonic()
            before = client.joints
        return time.monotonic() - since >= REST_S

    wait.until_robot(at_rest, POSTURE_S, "come to rest in a body pose")
