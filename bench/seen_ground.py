# SPDX-License-Identifier: Apache-2.0
"""Walks over ground that is seen, with all nodes in real time over DDS, and shows what a fault of the map does.

`python bench/seen_ground.py --world stairs` starts the graph of `hexapod sim` with a depth camera, and drives along the
way until the robot has passed, stands still or falls. `--fault` breaks the map after a while: `frozen` stops the
process of terrain_map, `killed` kills it, `shifted` moves the map sideways and ahead between it and the planner.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rclpy.qos import QoSProfile
from sensor_msgs.msg import PointCloud2
from terrain import Course

from hexapod_control.bringup import node_graph
from hexapod_control.bringup.process_supervisor import StopSignal, Supervisor
from hexapod_control.clients.bounded_wait import BoundedWait
from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.robot_client import SimulationClient
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.ros.distribution import stamped_by_default
from hexapod_control.ros.qos import COMMAND
from hexapod_control.ros.terrain_messages import terrain_grid, terrain_map_message
from hexapod_control.ros.transport.loopback import private_domain
from hexapod_control.sim.rendering.film import render_recording
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings

READY_S = 60.0
STILL_S = 12.0  # without STILL_M of way, after which a walk ends
STILL_M = 0.05
SHIFTED_MAP = "shifted_map"
WORLDS = ("flat", "blocks", "stairs", "gaps", "stones", "posts", "course")
FAULTS = ("", "frozen", "killed", "shifted")


class MapRelay(SimulationClient):
    """Drives the robot, and passes terrain_map on to the planner, moved by `shift` [m] along x and y."""

    def __init__(self, options: ConnectionOptions) -> None:
        super().__init__(options)
        self.shift = 0.0
        self._shifted = self._node.create_publisher(PointCloud2, SHIFTED_MAP, COMMAND)
        self._node.create_subscription(PointCloud2, "terrain_map", self._on_map, QoSProfile(depth=1))

    def _on_map(self, message: PointCloud2) -> None:
        grid = terrain_grid(message)
        x, y = grid.origin
        moved = replace(grid, origin=(x + self.shift, y + self.shift))
        self._shifted.publish(terrain_map_message(moved, message.header.frame_id))


class SeenWalk:
    """One walk; `reports` are the sentences of gait_planner with their times [s]."""

    def __init__(self, robot: MapRelay, supervisor: Supervisor, options: argparse.Namespace) -> None:
        self._robot = robot
        self._supervisor = supervisor
        self._options = options
        self._wait = BoundedWait(robot, StopSignal(), supervisor.check)

    def stand(self) -> None:
        """Waits for the nodes, and stands up."""
        self._wait.until_ready(READY_S)
        self._wait.stand(READY_S)

    def go(self, goal: float) -> str:
        """Drives along x until the way is `goal` [m]; returns how it ended."""
        robot, options = self._robot, self._options
        begin = robot.truth.last.time
        places: deque[tuple[float, float]] = deque()
        broken = False
        shown = begin
        while True:
            now, pose = robot.truth.last.time, robot.truth.last.pose
            steer = max(-0.3, min(0.3, -pose.yaw - 0.8 * pose.y))
            robot.twist = Twist(options.speed, 0.0, steer)
            self._wait.spin(0.05)
            places.append((now, pose.x))
            while places[0][0] < now - STILL_S:
                places.popleft()
            if now - shown > 5.0:
                speed = (pose.x - places[0][1]) / max(now - places[0][0], 1e-6)
                print(f"{now - begin:6.1f} s: x {pose.x:5.2f} m, {speed:6.3f} m/s", flush=True)
                shown = now
            if options.fault and not broken and now - begin > options.after:
                broken = True
                self._break(now - begin)
            if pose.x > goal:
                return f"passed after {now - begin:.0f} s"
            if now - begin > STILL_S and pose.x - places[0][1] < STILL_M:
                return f"stands since {now - begin - STILL_S:.0f} s"
            if now - begin > options.time:
                return f"walks after {now - begin:.0f} s"

    def _break(self, now: float) -> None:
        print(f"{now:6.1f} s: the map is {self._options.fault}", flush=True)
        if self._options.fault == "shifted":
            self._robot.shift = self._options.shift
        else:
            number = signal.SIGSTOP if self._options.fault == "frozen" else signal.SIGKILL
            os.kill(self._supervisor.pids["terrain_map"], number)

    def sit(self) -> None:
        """Stops, and lets the process of the map go on, so that it can end."""
        if self._options.fault == "frozen":
            os.kill(self._supervisor.pids["terrain_map"], signal.SIGCONT)
        self._robot.twist = ZERO
        self._wait.spin(1.0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Walks once. Returns 1 if the robot has not passed."""
    parser = argparse.ArgumentParser(prog="python bench/seen_ground.py", description=__doc__)
    parser.add_argument("--robot", default="phantomx")
    parser.add_argument("--world", default="stairs", choices=WORLDS)
    parser.add_argument("--set", nargs="*", default=(), metavar="NAME=VALUE", help="settings of the world")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--camera", default="mast")
    parser.add_argument("--speed", type=float, default=0.06, help="[m/s]")
    parser.add_argument("--goal", type=float, default=0.0, help="[m] of x; 0: the end of the way")
    parser.add_argument("--time", type=float, default=300.0, help="[s] at most")
    parser.add_argument("--pace", type=float, default=1.0, help="factor on real time")
    parser.add_argument("--fault", default="", choices=FAULTS)
    parser.add_argument("--after", type=float, default=15.0, help="[s] from the beginning of the walk to the fault")
    parser.add_argument("--shift", type=float, default=0.04, help="[m] of the map along x and y")
    parser.add_argument("--record", type=Path, help="film, .gif or .png")
    options = parser.parse_args(arguments)
    file = load(options.robot)
    settings = {
        **{"world": options.world, "seed": options.seed, "reality": "typical", "reality_seed": options.seed},
        **{name: float(value) for name, value in (pair.split("=", 1) for pair in options.set)},
    }
    with private_domain(), tempfile.TemporaryDirectory(prefix="hexapod_bench_") as folder:
        recording = Path(folder, "run.npz")
        world, ended = _walk(options, settings, recording)
        print(ended, flush=True)
        if options.record:
            render_recording(recording, Simulation(file.robot, urdf(file), world), options.record, lambda _: "")
    return 0 if ended.startswith("passed") else 1


def _walk(options: argparse.Namespace, settings: dict[str, Any], recording: Path) -> tuple[WorldSettings, str]:
    known = {argument.name for argument in node_graph.arguments("sim")}
    given = {name: value for name, value in settings.items() if name in known}
    more = {name: value for name, value in settings.items() if name not in known}
    more |= {"record": str(recording)} if options.record else {}
    more |= {"sim_speed_factor": options.pace} if options.pace != 1.0 else {}
    given |= {"robot": options.robot, "depth_camera": options.camera, "web": False, "use_sim_time": options.pace != 1.0}
    specs = []
    for spec in node_graph.specs("sim", given):
        if spec.executable == "mujoco_sim":
            spec = replace(spec, parameters={**spec.parameters, **more})
        if spec.executable == "gait_planner" and options.fault == "shifted":
            spec = replace(spec, remaps={**spec.remaps, "terrain_map": SHIFTED_MAP})
        specs.append(spec)
    world = WorldSettings(**settings).fitted(load(options.robot).robot)
    begin = time.monotonic()

    def show(line: str) -> None:
        if "WARN" in line or "ERROR" in line or "Traceback" in line:
            print(f"    ({time.monotonic() - begin:.1f} s) {line}", flush=True)

    with Supervisor(specs, show) as supervisor, MapRelay(ConnectionOptions("", stamped_by_default())) as robot:
        walk = SeenWalk(robot, supervisor, options)
        walk.stand()
        begin = time.monotonic()
        ended = walk.go(options.goal or Course.of(world).goal)
        walk.sit()
    return world, ended


if __name__ == "__main__":
    sys.exit(main())
