# SPDX-License-Identifier: Apache-2.0
"""Runs a simulated robot and measures its page in Chromium; with `--minutes`, memory and frames over real minutes.

`make bench ARGS=web`, or `PYTHONPATH=bench python bench/page_load.py --minutes 30`.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import camera_view
import page_metrics as figures
from chromium import Browser, program
from geometry_msgs.msg import Twist, TwistStamped
from graph_load import NotReadyError

from hexapod_control.bringup import node_graph
from hexapod_control.bringup.process_supervisor import Supervisor
from hexapod_control.clients.bounded_wait import wait_until
from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.robot_client import SimulationClient
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.ros.client_node import ClientNode
from hexapod_control.ros.distribution import stamped_by_default
from hexapod_control.ros.qos import COMMAND
from hexapod_control.ros.transport.loopback import private_domain

READY_S = 40.0  # time limit for all processes to start and the robot to stand
MARK = "the page: "
Waiter = Callable[[float], None]
"""Waits for that time [s]; raises NodeExitError if a process has ended."""


class VelocityTimes(ClientNode):
    """Notes when velocities arrive, in a thread of its own."""

    def __init__(self) -> None:
        super().__init__("velocity_times")
        kind = TwistStamped if stamped_by_default() else Twist
        self._node.create_subscription(kind, "cmd_vel", self._take, COMMAND)
        self._times: list[tuple[float, bool]] = []  # [s], and whether it moves
        self._ended = False
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> VelocityTimes:
        self._thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._ended = True
        self._thread.join()
        super().__exit__(*error)

    def _run(self) -> None:
        while not self._ended:
            self._spin_once(0.05)

    def _take(self, message: Any) -> None:
        twist = getattr(message, "twist", message)
        moves = any((twist.linear.x, twist.linear.y, twist.angular.z))
        self._times.append((time.monotonic(), moves))

    def wait(self, after: float, *, moving: bool) -> float | None:
        """As `figures.VelocityWatch`."""
        while time.monotonic() - after < figures.STICK_TIMEOUT_S:
            found = next((at for at, moves in list(self._times) if at > after and moves is moving), None)
            if found is not None:
                return found
            time.sleep(0.001)
        return None


@contextmanager
def _standing(robot_file: RobotFile) -> Iterator[tuple[str, int, Waiter]]:
    """A simulated robot that stands: address and process of its page, and how to wait."""
    program()  # a missing browser is reported before the robot starts
    lines: list[str] = []
    given = {"robot": str(robot_file.path), "web": True, "web_port": 0, "stand_on_start": True}
    specs = node_graph.specs("sim", given)
    with private_domain(), Supervisor(specs, lines.append) as supervisor:
        with SimulationClient(ConnectionOptions("", stamped_by_default())) as watcher:

            def spin(seconds: float) -> None:
                watcher.spin(seconds)
                supervisor.check()

            if not wait_until(lambda: watcher.state == "standing" and any(MARK in s for s in lines), READY_S, spin):
                raise NotReadyError(f"the robot does not stand after {READY_S:g} s: {'; '.join(lines[-3:])}")

        def wait(seconds: float) -> None:
            time.sleep(seconds)
            supervisor.check()

        yield next(line for line in lines if MARK in line).split(MARK)[1], supervisor.pids["web"], wait


def measure(robot_file: RobotFile, progress: Callable[[str], None]) -> dict[str, object]:
    """Returns `web`, the figures of the page. Raises NotReadyError, NodeExitError, BrowserError."""
    with _standing(robot_file) as (url, pid, _):
        with VelocityTimes() as watch:
            found = figures.measure(url, pid, watch, progress)
        with tempfile.TemporaryDirectory(prefix="hexapod_", ignore_cleanup_errors=True) as folder:
            browser = Browser(Path(folder, "profile"))
            try:
                camera = camera_view.measure(browser, url, pid, robot_file, progress)
            finally:
                browser.close()
        return {"web": {**found, "camera": camera}}


def _minutes(robot_file: RobotFile, minutes: int) -> None:
    """Prints memory, frames and CPU load of the page of a robot that walks in a circle, every fifth of the time."""
    with _standing(robot_file) as (url, _, wait), tempfile.TemporaryDirectory(prefix="hexapod_") as folder:
        browser = Browser(Path(folder, "profile"))
        try:
            page = figures.open_page(browser, url)
            for minute in range(minutes + 1):
                page.js("hexapod.velocity.set('walk', 0.5, 0, 0.3)")
                if minute % max(1, minutes // 6) == 0:
                    found = figures.drawing(browser, page, "projections")
                    print(f"{minute:3} min: heap {figures.heap(page):.2f} MB, {found}", flush=True)
                page.js("hexapod.velocity.set('walk', 0.5, 0, 0.3)")
                wait(60.0 if minute < minutes else 0.0)
        finally:
            browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", default="phantomx", metavar="NAME|FILE", help="robot (default: %(default)s)")
    parser.add_argument("--minutes", type=int, default=30, help="how long it walks (default: %(default)s)")
    args = parser.parse_args()
    _minutes(load(args.robot), args.minutes)
