# SPDX-License-Identifier: Apache-2.0
"""The images of a camera for the page: subscribed only while a page requests them."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping
from typing import Any

from sensor_msgs.msg import CompressedImage

from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import DISPLAY

IMAGE_TOPIC = "image_raw/compressed"
MAX_AGE_NS = 10 * 10**9
MAX_IDLE_S = 5.0  # time without a request after which the subscription ends


def image_type(message: CompressedImage) -> str:
    """`png` or `jpeg`, the formats that browsers and assistants show."""
    return "png" if "png" in message.format else "jpeg"


class CameraFeed:
    """Sends the next image to every page that has requested one: a slow link gets fewer images, not old ones."""

    def __init__(self, node: GuardedNode, send: Callable[[int, str, Mapping[str, Any]], None]) -> None:
        """`send(client, kind, fields)` sends a message to a page."""
        self._node = node
        self._send = send
        self._subscription: Any = None
        self._waiting: set[int] = set()  # pages
        self._requested_at = 0.0  # [s] steady time of the last request

    @property
    def available(self) -> bool:
        """True while images are published."""
        return self._node.count_publishers(IMAGE_TOPIC) > 0

    def request(self, page: int) -> None:
        """Sends the next image to a page."""
        self._waiting.add(page)
        self._requested_at = time.monotonic()
        if self._subscription is None:
            self._subscription = self._node.create_subscription(CompressedImage, IMAGE_TOPIC, self._take, DISPLAY)

    def watch(self) -> None:
        """Ends a subscription that no page uses; call it regularly."""
        if self._subscription is not None and time.monotonic() - self._requested_at > MAX_IDLE_S:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
            self._waiting.clear()

    def _take(self, message: CompressedImage) -> None:
        if not self._waiting:
            return
        image: dict[str, Any] = {"format": image_type(message), "data": base64.b64encode(bytes(message.data)).decode()}
        age = self._node.get_clock().now().nanoseconds - messages.nanoseconds(message.header.stamp)
        if 0 <= age < MAX_AGE_NS:
            image["age"] = round(1e-6 * age)  # [ms]; left out if the camera has another clock, or none
        for page in self._waiting:
            self._send(page, "image", image)
        self._waiting.clear()
