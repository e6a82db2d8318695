# SPDX-License-Identifier: Apache-2.0
"""Measures how a page shows a camera: from the publishing of an image until it is drawn, traffic, and CPU load.

Every image carries its number in sixteen black or white squares, which a script of the page reads back at each frame.
"""

from __future__ import annotations

import io
import math
import threading
import time
from collections.abc import Callable
from statistics import median, quantiles
from typing import Any

import mujoco
import numpy as np
from chromium import Browser, BrowserPage
from PIL import Image
from process_group import cpu_seconds, session_cpu_seconds
from sensor_msgs.msg import CompressedImage

from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.nodes.web.camera_feed import IMAGE_TOPIC
from hexapod_control.ros.client_node import ClientNode
from hexapod_control.ros.qos import DISPLAY
from hexapod_control.sim.mujoco_model import FRONT_CAMERA
from hexapod_control.sim.rendering.front_camera import JPEG_QUALITY
from hexapod_control.sim.rendering.offscreen_camera import OffscreenCamera
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings

SIZE = (640, 480)
RATE = 15.0  # [Hz]
BITS = 16
VIEWS = 60
WARMUP_S = 3.0
WINDOW_S = 20.0
SHOWN_TIMEOUT_S = 10.0
PRESENTATIONS = (("video", "video", "0"), ("images", "img", "hexapod.camera.player = null; 0"))
WATCH = """(() => {
  const code = new OffscreenCanvas(%d, 1).getContext("2d", {willReadFrequently: true});
  const {camera, connection} = hexapod;
  globalThis.drawn = [];
  globalThis.taken = 0;
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
        self._views = views
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
            due += 1.0 / RATE
            number += 1
            message = CompressedImage(format="jpeg", data=self._image(number))
            message.header.stamp = self._node.get_clock().now().to_msg()
            self.published[number] = 1000.0 * time.time()
            self._publisher.publish(message)

    def _image(self, number: int) -> bytes:
        place = number % (2 * VIEWS)
        image = self._views[min(place, 2 * VIEWS - 1 - place)].copy()
        side = SIZE[0] // BITS
        for bit in range(BITS):
            image[:side, bit * side : (bit + 1) * side] = 255 if number >> bit & 1 else 0
        file = io.BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=JPEG_QUALITY)
        return file.getvalue()


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
    browser: Browser, page: BrowserPage, pid: int, robot_file: RobotFile, progress: Callable[[str], None]
) -> dict[str, object]:
    """Figures of the camera on an open page that process `pid` serves, as video and as single images.

    Raises TimeoutError if nothing is shown.
    """
    with NumberedCamera(views(robot_file)) as camera:
        _wait(page, "!document.querySelector('#camera-button').hidden")
        page.js(WATCH % (5 * (BITS,)))
        page.js("document.querySelector('#camera-button').click()")
        found: dict[str, object] = {}
        for name, element, prepare in PRESENTATIONS:
            progress(f"the camera: {name}")
            page.js(prepare)
            _wait(page, f"drawn.length > 5 && hexapod.camera.picture.localName === '{element}'")
            time.sleep(WARMUP_S)
            found[name] = _figures(browser, page, pid, camera)
        return found


def _figures(browser: Browser, page: BrowserPage, pid: int, camera: NumberedCamera) -> dict[str, float]:
    page.js("drawn.length = taken = 0")
    start = time.monotonic()
    busy = cpu_seconds(pid), session_cpu_seconds(browser.process.pid)
    time.sleep(WINDOW_S)
    drawn, taken = page.js("[drawn, taken]")
    passed = time.monotonic() - start
    server = cpu_seconds(pid) - busy[0]
    shown = session_cpu_seconds(browser.process.pid) - busy[1]
    ages = [at - camera.published[number] for number, at in drawn if number in camera.published]
    return {
        "to_drawn_ms_p50": round(median(ages), 1),
        "to_drawn_ms_p95": round(quantiles(ages, n=20)[-1], 1),
        "images_per_s": round(len(ages) / passed, 1),
        "kB_per_s": round(1e-3 * taken / passed, 1),
        "server_cpu_percent": round(100.0 * server / passed, 1),
        "browser_cpu_percent": round(100.0 * shown / passed, 1),
    }


def _wait(page: BrowserPage, condition: str) -> None:
    deadline = time.monotonic() + SHOWN_TIMEOUT_S
    while not page.js(condition):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the camera is not shown: {page.errors}")
        time.sleep(0.1)
