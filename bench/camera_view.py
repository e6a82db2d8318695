# SPDX-License-Identifier: Apache-2.0
"""Measures how a page shows a camera: from the publishing of an image until it is drawn, traffic, and CPU load.

Also what H.264 and JPEG cost without a page.

Every image carries its number in sixteen black or white squares, which a script of the page reads back at each frame.
"""

from __future__ import annotations

import io
import math
import random
import threading
import time
from collections.abc import Callable
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlsplit

import mujoco
import numpy as np
from chromium import Browser, BrowserPage
from PIL import Image
from process_group import cpu_seconds, session_cpu_seconds
from sensor_msgs.msg import CompressedImage
from slow_link import SlowLink

from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.nodes.web.camera_feed import IMAGE_TOPIC
from hexapod_control.ros.client_node import ClientNode
from hexapod_control.ros.qos import DISPLAY
from hexapod_control.sim.mujoco_model import FRONT_CAMERA
from hexapod_control.sim.rendering.front_camera import JPEG_QUALITY
from hexapod_control.sim.rendering.offscreen_camera import OffscreenCamera
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings
from hexapod_control.web.video import VideoEncoder

SIZE = (640, 480)
RATE = 15.0  # [Hz]
BITS = 16
VIEWS = 60
WARMUP_S = 1.5
WINDOW_S = 4.0
ROUNDS = 3  # windows of video and images by turns: both meet the same load of other programs
LINKS = {"not limited": math.inf, "8 Mbit/s": 1e6, "2 Mbit/s": 2.5e5}  # [bytes/s] to the browser
SHOWN_TIMEOUT_S = 10.0
PRESENTATIONS = {"video": "player", "images": "null"}  # what plays it
SHOW = "(() => { hexapod.camera.player = %s; hexapod.camera.begin(); })()"
WATCH = """(() => {
  const code = new OffscreenCanvas(%d, 1).getContext("2d", {willReadFrequently: true});
  const {camera, connection} = hexapod;
  globalThis.player = camera.player;
  globalThis.drawn = [];
  globalThis.taken = 0;
  globalThis.trips = [];
  connection.on("heartbeat", () => trips.push(connection.roundTrip));
  const receive = connection.receive.bind(connection);
  connection.receive = (text) => {
    if (text.includes('"t":"image"')) taken += text.length;
    receive(text);
  };
  let last = -1;
  const look = () => {
    requestAnimationFrame(look);
    const [width] = camera.size();
    if (!width) return;
    code.drawImage(camera.picture, 0, 2, width, width / %d - 4, 0, 0, %d, 1);
    const {data} = code.getImageData(0, 0, %d, 1);
    let number = 0;
    for (let bit = 0; bit < %d; bit++) number += data[4 * bit] > 127 ? 1 << bit : 0;
    if (number !== last) drawn.push([number, performance.timeOrigin + performance.now()]);
    last = number;
  };
  look();
})()"""


class NumberedCamera(ClientNode):
    """Publishes what the camera of a walking robot sees, numbered, in a thread of its own."""

    def __init__(self, views: list[Any]) -> None:
        super().__init__("numbered_camera")
        self._publisher = self._node.create_publisher(CompressedImage, IMAGE_TOPIC, DISPLAY)
        self.views = views
        self.published: dict[int, float] = {}  # [ms] since the epoch, by number
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> NumberedCamera:
        self._thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._ended.set()
        self._thread.join()
        super().__exit__(*error)

    def _run(self) -> None:
        number = 0
        due = time.monotonic()
        while not self._ended.wait(max(0.0, due - time.monotonic())):
            due += random.uniform(0.8, 1.2) / RATE  # a multiple of the browser's period would depend on the phase
            number += 1
            message = CompressedImage(format="jpeg", data=self._image(number))
            message.header.stamp = self._node.get_clock().now().to_msg()
            self.published[number] = 1000.0 * time.time()
            self._publisher.publish(message)

    def _image(self, number: int) -> bytes:
        place = number % (2 * VIEWS)
        image = self.views[min(place, 2 * VIEWS - 1 - place)].copy()
        side = SIZE[0] // BITS
        for bit in range(BITS):
            image[:side, bit * side : (bit + 1) * side] = 255 if number >> bit & 1 else 0
        return _jpeg(image)


def _jpeg(image: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=JPEG_QUALITY)
    return file.getvalue()


def _encoding(images: list[Any]) -> dict[str, float]:
    """CPU time and size of an image as JPEG, and of the same JPEG as a picture of the video, which has to decode it."""
    begin = time.thread_time()
    sources = [_jpeg(image) for image in images]
    half = time.thread_time()
    encoder = VideoEncoder()
    pictures = [encoder.encode(source, "jpeg", key=False).data for source in sources]
    passed = half - begin, time.thread_time() - half
    sizes = [1e-3 * sum(map(len, each)) / len(images) for each in (sources, pictures)]
    return {
        "jpeg_ms": round(1e3 * passed[0] / len(images), 2),
        "jpeg_to_h264_ms": round(1e3 * passed[1] / len(images), 2),
        "time_ratio": round(passed[1] / passed[0], 2),
        "jpeg_kB": round(sizes[0], 2),
        "h264_kB": round(sizes[1], 2),
    }


def views(robot_file: RobotFile) -> list[Any]:
    """Images of the front camera of a robot that walks between obstacles in a curve, swaying."""
    simulation = Simulation(robot_file.robot, urdf(robot_file), WorldSettings(world="obstacles"))
    camera = OffscreenCamera(simulation.model, *SIZE, shadows=False)
    camera.view.type = mujoco.mjtCamera.mjCAMERA_FIXED
    camera.view.fixedcamid = simulation.model.camera(FRONT_CAMERA).id
    data = simulation.data
    found = []
    for k in range(VIEWS):
        at = k / RATE
        body = BodyPose(
            0.15 * at,
            0.0,
            robot_file.robot.walk.height + 0.004 * math.sin(18.0 * at),
            0.02 * math.sin(9.0 * at),
            0.015 * math.sin(13.0 * at),
            0.2 * at,
        )
        data.qpos[:3] = body.x, body.y, body.z
        mujoco.mju_mat2Quat(data.qpos[3:7], np.array(body.rotation()).ravel())
        mujoco.mj_forward(simulation.model, data)
        found.append(np.array(camera.capture(data)))
    camera.close()
    return found


def measure(
    browser: Browser, url: str, pid: int, robot_file: RobotFile, progress: Callable[[str], None]
) -> dict[str, object]:
    """Figures of the camera on a page at `url` that process `pid` serves, as video and as single images.

    Raises TimeoutError if nothing is shown.
    """
    parts = urlsplit(url)
    with SlowLink(parts.port or 80) as link, NumberedCamera(views(robot_file)) as camera:
        page = browser.page(parts._replace(netloc=f"127.0.0.1:{link.port}").geturl(), 1280, 800)
        _wait(page, "globalThis.hexapod && !document.querySelector('#camera-button').hidden")
        page.js("document.querySelector('#camera-button').click()")
        _wait(page, "hexapod.camera.player && hexapod.camera.size()[0]")
        page.js(WATCH % (5 * (BITS,)))
        found: dict[str, object] = {"encoding": _encoding(camera.views)}
        for name, speed in LINKS.items():
            progress(f"the camera as video and as images: {name}")
            link.speed = speed
            windows = {shown: _Windows(browser, page, pid, camera) for shown in PRESENTATIONS}
            for _ in range(ROUNDS):
                for shown, player in PRESENTATIONS.items():
                    page.js(SHOW % player)
                    time.sleep(WARMUP_S)
                    windows[shown].add()
            found[name] = {shown: each.figures() for shown, each in windows.items()}
        page.close()
        return found


class _Windows:
    """What happens during some windows of time."""

    def __init__(self, browser: Browser, page: BrowserPage, pid: int, camera: NumberedCamera) -> None:
        self._browser = browser
        self._page = page
        self._pid = pid
        self._camera = camera
        self._delays: list[float] = []  # [ms]
        self._trips: list[float] = []  # [ms] of a message to the server and back
        self._totals = np.zeros(4)  # [s] of time, [bytes] of messages, [s] of CPU of server and browser

    def add(self) -> None:
        """Waits for another window."""
        self._page.js("drawn.length = trips.length = taken = 0")
        before = self._counters()
        time.sleep(WINDOW_S)
        drawn, taken, trips = self._page.js("[drawn, taken, trips]")
        self._trips += trips
        self._totals += self._counters() - before + np.array([0.0, taken, 0.0, 0.0])
        published = self._camera.published
        self._delays += [at - published[number] for number, at in drawn if number in published]

    def _counters(self) -> Array:
        return np.array([time.monotonic(), 0.0, cpu_seconds(self._pid), session_cpu_seconds(self._browser.process.pid)])

    def figures(self) -> dict[str, float]:
        """What is printed. Raises TimeoutError if next to nothing was drawn."""
        if len(self._delays) < ROUNDS:
            raise TimeoutError(f"the camera is not shown: {self._page.errors}")
        passed, taken, server, browser = self._totals.tolist()
        return {
            "published_to_drawn_ms_p50": round(median(self._delays), 1),
            "published_to_drawn_ms_p95": round(quantiles(self._delays, n=20)[-1], 1),
            "round_trip_ms_p50": round(median(self._trips), 1),
            "images_per_s": round(len(self._delays) / passed, 1),
            "kB_per_s": round(1e-3 * taken / passed, 1),
            "server_cpu_percent": round(100.0 * server / passed, 1),
            "browser_cpu_percent": round(100.0 * browser / passed, 1),
        }


def _wait(page: BrowserPage, condition: str) -> None:
    deadline = time.monotonic() + SHOWN_TIMEOUT_S
    while not page.js(condition):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the camera is not shown: {page.errors}")
        time.sleep(0.1)
