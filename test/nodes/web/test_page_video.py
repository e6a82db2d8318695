# SPDX-License-Identifier: Apache-2.0
"""The camera on the page in a real Chromium: a video where both can, images elsewhere, and always back by itself."""

import io

import pytest
from PIL import Image
from sensor_msgs.msg import CompressedImage
from slow_link import SlowLink

from hexapod_control.nodes.web.camera_feed import IMAGE_TOPIC
from hexapod_control.ros.qos import DISPLAY
from hexapod_control.web import video

pytestmark = [pytest.mark.browser, pytest.mark.heavy]

PERIOD_S = 0.05
BUTTON = "document.querySelector('#camera-button')"
SHOWN = "[hexapod.camera.picture.localName, ...hexapod.camera.size()]"
# The colour in the middle of the picture, and whether it is drawn: without a source it is transparent.
COLOR = """(() => {
  const {camera} = hexapod, c = new OffscreenCanvas(1, 1).getContext("2d"), [w, h] = camera.size();
  if (w) c.drawImage(camera.picture, w / 2, h / 2, 1, 1, 0, 0, 1, 1);
  return [...c.getImageData(0, 0, 1, 1).data];
})()"""
ORANGE, BLUE = (200, 90, 20), (20, 60, 200)
TOLERANCE = 16  # of a colour
NO_VIDEO = "delete globalThis.MediaSource; delete globalThis.ManagedMediaSource;"
SLOW = 30_000.0  # [bytes/s]: for images of a camera too slow


class Colors:
    """A camera before a wall of some colour."""

    def __init__(self, told):
        self.bench = told.bench
        self.start()
        self.color, self.size = ORANGE, (64, 48)
        self.timer = self.bench.probe.create_timer(PERIOD_S, self._shoot)

    def start(self):
        self.publisher = self.bench.probe.create_publisher(CompressedImage, IMAGE_TOPIC, DISPLAY)

    def stop(self):
        publisher, self.publisher = self.publisher, None
        self.bench.spin(2 * PERIOD_S)  # a callback that is already queued needs the publisher
        self.bench.probe.destroy_publisher(publisher)

    def _shoot(self):
        if self.publisher is None:
            return
        file = io.BytesIO()
        Image.new("RGB", self.size, self.color).save(file, "JPEG", quality=90)
        self.publisher.publish(CompressedImage(format="jpeg", data=file.getvalue()))

    def close(self):
        self.bench.probe.destroy_timer(self.timer)
        self.stop()


@pytest.fixture
def colors(told):
    found = Colors(told)
    yield found
    found.close()


def sees(told, page, color, *shown):
    """Waits until a page shows a colour, in an element of this name and size."""

    def seen():
        *got, opaque = page.js(COLOR)
        near = opaque and all(abs(a - b) < TOLERANCE for a, b in zip(got, color, strict=True))
        return near and (not shown or page.js(SHOWN) == list(shown))

    told.until(seen, what=f"{color} {shown}; is {page.js(COLOR)} {page.js(SHOWN)}, {page.errors}")


def opened(told, url="", before=""):
    """A page that shows the camera."""
    page = told.open(1280, 720, before=before) if not url else told.browser.page(url, 1280, 720)
    told.until(lambda: page.js(f"globalThis.hexapod && !{BUTTON}.hidden"), what="the button")
    page.click("#camera-button")
    return page


def test_a_video_is_shown_in_its_colours_and_comes_back_by_itself_whatever_happens(told, colors, monkeypatch):
    monkeypatch.setattr(video, "KEY_PERIOD", 8)
    page = opened(told)
    sees(told, page, ORANGE, "video", 64, 48)
    large = page.box("#camera-video")
    page.click("#camera-video")
    assert page.box("#camera-video")[2] < large[2]
    page.click("#camera-video")
    assert page.box("#camera-video") == large
    colors.color = BLUE
    sees(told, page, BLUE, "video", 64, 48)

    colors.size, colors.color = (96, 64), ORANGE
    sees(told, page, ORANGE, "video", 96, 64)
    colors.size = (97, 64)  # no video of this size
    sees(told, page, ORANGE, "img", 97, 64)
    colors.size, colors.color = (64, 48), BLUE
    sees(told, page, BLUE, "video", 64, 48)

    colors.stop()
    told.until(lambda: page.js(f"{BUTTON}.hidden"), what="the end of the camera")
    colors.color = ORANGE
    colors.start()
    sees(told, page, ORANGE, "video", 64, 48)

    page.js("hexapod.connection.socket.close(); 0")
    colors.color = BLUE
    sees(told, page, BLUE, "video", 64, 48)

    page.js("hexapod.camera.player.take({data: btoa('no fragment of a video'), count: 1, key: false}, {}); 0")
    colors.color = ORANGE
    sees(told, page, ORANGE, "video", 64, 48)

    for _ in range(2):  # off, and on again
        page.click("#camera-button")
    colors.color = BLUE
    sees(told, page, BLUE, "video", 64, 48)
    told.until(lambda: page.js("hexapod.camera.player.count") > 3 * 8, 20.0, "pictures")
    kept = page.js("(({buffered}) => buffered.end(0) - buffered.start(0))(hexapod.camera.video)")
    assert kept <= 2 * 8 * video.STEP / video.TICKS_PER_S, "pictures before the last key frame are forgotten"
    page.close()


@pytest.mark.parametrize("lacks", ["the browser", "the robot"])
def test_images_are_shown_where_browser_or_robot_have_no_video_and_nothing_wrong_is_said(
    told, colors, lacks, monkeypatch
):
    if lacks == "the robot":
        monkeypatch.setattr(told.node.camera, "encodes", False)
    page = opened(told, before=NO_VIDEO if lacks == "the browser" else "")
    sees(told, page, ORANGE, "img", 64, 48)
    colors.color = BLUE
    sees(told, page, BLUE, "img", 64, 48)
    assert told.text("#hint", page) == ""
    assert page.errors == []
    page.close()


def test_a_slow_page_shows_the_newest_picture_and_holds_up_neither_another_nor_its_own_stop(told, colors):
    colors.size = (640, 480)
    with SlowLink(told.node.server.port) as link:
        fast = opened(told)
        slow = opened(told, url=told.url.replace(str(told.node.server.port), str(link.port)))
        for page in (fast, slow):
            sees(told, page, ORANGE, "video", 640, 480)
        link.speed = SLOW
        told.bench.spin(1.0)
        count = fast.js("hexapod.camera.player.count")
        told.called.clear()
        slow.js("hexapod.connection.send('request', {what: 'stop'}); 0")
        told.until(lambda: "stop" in told.called, 1.0, "STOP")
        told.bench.spin(1.0)
        assert fast.js("hexapod.camera.player.count") - count > 5
        colors.color = BLUE
        for page in (fast, slow):
            sees(told, page, BLUE, "video", 640, 480)
        for page in (fast, slow):
            page.close()


def test_a_browser_that_shows_no_picture_of_the_video_gets_images(told, colors):
    page = opened(told, before="HTMLVideoElement.prototype.requestVideoFrameCallback = () => 0;")
    told.until(lambda: page.js(SHOWN) == ["img", 64, 48], 25.0, "images")
    colors.color = BLUE
    sees(told, page, BLUE, "img", 64, 48)
    page.close()
