# SPDX-License-Identifier: Apache-2.0
"""Runs a simulated robot and measures its page in Chromium."""

from __future__ import annotations

from collections.abc import Callable

import page_metrics as figures
from chromium import program
from graph_load import NotReadyError

from hexapod_control.bringup import node_graph
from hexapod_control.bringup.process_supervisor import Supervisor
from hexapod_control.clients.bounded_wait import wait_until
from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.robot_client import SimulationClient
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.ros.distribution import stamped_by_default
from hexapod_control.ros.transport.loopback import private_domain

READY_S = 40.0  # time limit for all processes to start and the robot to stand
MARK = "the page: "


def measure(robot_file: RobotFile, progress: Callable[[str], None]) -> dict[str, object]:
    """Returns `web`, the figures of the page. Raises NotReadyError, NodeExitError, BrowserError."""
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
        url = next(line for line in lines if MARK in line).split(MARK)[1]
        return {"web": figures.measure(url, supervisor.pids["web"], progress)}
