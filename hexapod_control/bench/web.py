"""The page of a simulated robot in Chromium: frame rate, latency of a drag, cost of spectators."""

from __future__ import annotations

import time
from collections.abc import Callable

from hexapod_control import graph
from hexapod_control.bench.ros import NotReadyError, private_domain
from hexapod_control.cli.link import Link
from hexapod_control.cli.operator import Watcher
from hexapod_control.cli.supervisor import Supervisor
from hexapod_control.web import measure as figures
from hexapod_control.web.browser import program

READY = 40.0  # [s] for all processes to start and the robot to stand
MARK = "the page: "


def measure(robot: str, progress: Callable[[str], None]) -> dict[str, object]:
    """`web` of the robot with this name or file. Raises NotReadyError, NodeDied, NoBrowserError."""
    program()  # what is missing is told before the robot starts
    lines: list[str] = []
    specs = graph.specs("sim", {"robot": robot, "web": True, "web_port": 0, "stand_on_start": True})
    with private_domain(), Supervisor(specs, lines.append) as supervisor:
        with Watcher(Link("", graph.stamped_by_default())) as watcher:
            deadline = time.monotonic() + READY
            while watcher.state != "standing" or not any(MARK in line for line in lines):
                supervisor.check()
                if time.monotonic() > deadline:
                    raise NotReadyError(f"the robot does not stand after {READY:g} s: {'; '.join(lines[-3:])}")
                watcher.spin(0.05)
        url = next(line for line in lines if MARK in line).split(MARK)[1]
        return {"web": figures.measure(url, supervisor.pids["web"], progress)}
