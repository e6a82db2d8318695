# SPDX-License-Identifier: Apache-2.0
"""Images of a camera for the page: each request is answered once, by the next image, and nothing is left open."""

import base64
import io

import pytest
from PIL import Image
from sensor_msgs.msg import CompressedImage
from support.phantomx import robot

from hexapod_control.nodes.web import camera_feed
from hexapod_control.nodes.web.camera_feed import IMAGE_TOPIC, CameraFeed
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import DISPLAY


class Pages:
    """Pages that ask for images, and a camera."""

    def __init__(self, bench):
        self.bench, self.sent = bench, []
        self.node = bench.add(GuardedNode("web"))
        self.feed = CameraFeed(self.node, robot(), lambda *message: self.sent.append(message))

    def start_camera(self):
        self.camera = self.bench.probe.create_publisher(CompressedImage, IMAGE_TOPIC, DISPLAY)
        self.bench.until(lambda: self.feed.available)

    def ask(self, *pages, what="camera"):
        for page in pages:
            self.feed.request(page, what)
        self.bench.until(lambda: self.camera.get_subscription_count() == 1)

    def shoot(self, data, kind="rgb8; jpeg compressed bgr8"):
        """Takes an image. Returns what the pages get."""
        self.sent.clear()
        count = self.node.received[IMAGE_TOPIC]
        self.camera.publish(CompressedImage(format=kind, data=data))
        self.bench.until(lambda: self.node.received[IMAGE_TOPIC] > count, what="an image")
        return sorted(self.sent)


def image(page, data, kind="jpeg"):
    return page, "image", {"format": kind, "data": base64.b64encode(data).decode()}


@pytest.fixture
def pages(bench):
    return Pages(bench)


def test_every_page_that_asks_gets_the_next_image_once(pages):
    assert not pages.feed.available
    pages.start_camera()
    assert pages.camera.get_subscription_count() == 0
    pages.ask(1, 2, 1)
    assert pages.shoot(b"first") == [image(1, b"first"), image(2, b"first")]
    assert pages.shoot(b"second") == []
    pages.ask(2)
    assert pages.shoot(b"third", "png") == [image(2, b"third", "png")]


def test_a_camera_that_no_page_shows_is_released_and_its_requests_are_dropped(pages, monkeypatch):
    pages.start_camera()
    pages.feed.watch()
    pages.ask(1)
    pages.feed.watch()
    assert pages.shoot(b"soon") == [image(1, b"soon")]
    pages.ask(1)
    monkeypatch.setattr(camera_feed, "MAX_IDLE_S", 0.0)
    pages.feed.watch()
    pages.bench.until(lambda: pages.camera.get_subscription_count() == 0)
    pages.feed.watch()
    pages.ask(2)
    assert pages.shoot(b"late") == [image(2, b"late")]


def test_a_page_gets_a_video_if_it_can_play_one_until_nobody_looks(pages, monkeypatch):
    file = io.BytesIO()
    Image.new("RGB", (64, 48)).save(file, "JPEG")
    jpeg = file.getvalue()
    pages.start_camera()

    def shoot(*asked):
        for page, what in asked:
            pages.ask(page, what=what)
        pages.shoot(jpeg)
        pages.bench.until(lambda: len(pages.sent) == len(asked), what="the pictures")
        return {page: fields for page, _, fields in pages.sent}

    sent = shoot((1, "video_anew"), (2, "camera"))
    assert sent[1]["format"] == "h264" and "header" in sent[1]
    assert sent[2] == image(2, jpeg)[2]
    assert "header" not in shoot((1, "video"))[1]
    monkeypatch.setattr(camera_feed, "MAX_IDLE_S", 0.0)
    pages.feed.watch()
    pages.bench.until(lambda: pages.camera.get_subscription_count() == 0)
    assert "header" in shoot((1, "video"))[1], "a new encoder"
    pages.feed.encodes = False  # without PyAV
    assert shoot((1, "video"), (3, "video_anew")) == {page: image(page, jpeg)[2] for page in (1, 3)}
