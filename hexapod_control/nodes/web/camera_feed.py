# SPDX-License-Identifier: Apache-2.0
"""The images of a camera for the page: subscribed only while a page requests them.

With each image the page gets what it needs to draw into it: where the camera is mounted, by `/tf_static` or the section
`cameras` of the robot file, and its lens, by `camera_info` or the same section.
"""

from __future__ import annotations

import base64
import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from sensor_msgs.msg import CameraInfo, CompressedImage
from std_msgs.msg import Header

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.robot import Camera, Robot
from hexapod_control.core.sensing.cameras import optical_rotation
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.qos import DISPLAY, LATCHED_TREE
from hexapod_control.ros.terrain_messages import lens
from hexapod_control.web.video import can_encode
from hexapod_control.web.video_stream import VideoStream

IMAGE_TOPIC = "image_raw/compressed"
INFO = "camera_info"
MAX_AGE_NS = 10 * 10**9
MAX_IDLE_S = 5.0  # time without a request after which the subscription ends


def image_type(message: CompressedImage) -> str:
    """`png` or `jpeg`, the formats that browsers and assistants show."""
    return "png" if "png" in message.format else "jpeg"


class CameraFeed:
    """Sends the next image to every page that has requested one: a slow link gets fewer images, not old ones."""

    def __init__(self, node: GuardedNode, robot: Robot, send: Callable[[int, str, Mapping[str, Any]], None]) -> None:
        """`send(client, kind, fields)` sends a message to a page."""
        self._node = node
        self._cameras = robot.cameras
        self._send = send
        self._subscriptions: list[Any] = []
        self._mounted: dict[str, BodyPose] = {}  # optical frames in base_link
        self._lens: list[float] | None = None  # see `_view`
        self._waiting: set[int] = set()  # pages that get the image as it is
        self._video = VideoStream(lambda page, image: send(page, "image", image))
        self.encodes = can_encode()
        self._requested_at = 0.0  # [s] steady time of the last request

    @property
    def available(self) -> bool:
        """True while images are published."""
        return self._node.count_publishers(IMAGE_TOPIC) > 0

    def request(self, page: int, what: str = "camera") -> None:
        """Sends the next image to a page; `what` is `camera`, or `video` or `video_anew` for a picture of a video."""
        if what == "camera" or not self.encodes:
            self._waiting.add(page)
        else:
            self._video.request(page, anew=what == "video_anew")
        self._requested_at = time.monotonic()
        if not self._subscriptions:
            create = self._node.create_subscription
            self._subscriptions = [
                create(CompressedImage, IMAGE_TOPIC, self._take, DISPLAY),
                create(CameraInfo, INFO, self._take_lens, DISPLAY),
                create(TFMessage, "/tf_static", self._take_frames, LATCHED_TREE),
            ]

    def watch(self) -> None:
        """Ends subscriptions that no page uses; call it regularly."""
        if self._subscriptions and time.monotonic() - self._requested_at > MAX_IDLE_S:
            for subscription in self._subscriptions:
                self._node.destroy_subscription(subscription)
            self._subscriptions.clear()
            self.close()

    def close(self) -> None:
        """Ends the video and drops all requests."""
        self._waiting.clear()
        self._video.close()

    def _take_lens(self, message: CameraInfo) -> None:
        seen_by = lens(message)
        width, height = seen_by.size
        fx, fy, cx, cy = *seen_by.focal, *seen_by.center
        self._lens = [fx / width, fy / height, (cx + 0.5) / width, (cy + 0.5) / height] if width and height else None

    def _take_frames(self, message: TFMessage) -> None:
        for item in message.transforms:
            if item.header.frame_id.rpartition("/")[2] == "base_link":
                place = item.transform.translation
                turn = messages.roll_pitch_yaw(item.transform.rotation)
                self._mounted[item.child_frame_id] = BodyPose(place.x, place.y, place.z, *turn)

    def _view(self, frame: str) -> dict[str, Any] | None:
        """Place [m] of the camera in base_link, rotation (9,) of its optical frame to base_link, and its lens.

        The lens has focal lengths and center as shares of width and height of the image. None if one is unknown.
        """
        named = [each for each in self._cameras if frame.rpartition("/")[2].startswith(f"{each.name}_")]
        camera = next(iter(named or self._cameras), None)
        mounted = self._mounted.get(frame)
        seen_by = self._lens or (_lens(camera) if camera else None)
        if seen_by is None or (mounted is None and camera is None):
            return None
        if mounted is not None:
            return {"at": (mounted.x, mounted.y, mounted.z), "axes": _row(mounted.rotation()), "lens": seen_by}
        assert camera is not None
        return {"at": camera.position, "axes": _row(optical_rotation(camera).tolist()), "lens": seen_by}

    def _take(self, message: CompressedImage) -> None:
        data = bytes(message.data)
        kind = image_type(message)
        about = partial(self._about, message.header)
        self._video.take(data, kind, about)
        if self._waiting:
            image = {"format": kind, "data": base64.b64encode(data).decode(), **about()}
            for page in self._waiting:
                self._send(page, "image", image)
            self._waiting.clear()

    def _about(self, header: Header) -> dict[str, Any]:
        """The age [ms] of an image and the place of its camera, as far as they are known."""
        found: dict[str, Any] = {}
        age = self._node.get_clock().now().nanoseconds - messages.nanoseconds(header.stamp)
        if 0 <= age < MAX_AGE_NS:
            found["age"] = round(1e-6 * age)  # left out if the camera has another clock, or none
        if (view := self._view(header.frame_id)) is not None:
            found["view"] = view
        return found


def _lens(camera: Camera) -> list[float]:
    """The lens of a camera with this angle of view, as in `_view`."""
    return [*(1.0 / (2.0 * math.tan(angle / 2.0)) for angle in camera.fov), 0.5, 0.5]


def _row(rotation: Sequence[Sequence[float]]) -> list[float]:
    """The numbers of a matrix, row by row."""
    return [round(value, 5) for row in rotation for value in row]
