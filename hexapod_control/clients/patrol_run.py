# SPDX-License-Identifier: Apache-2.0
"""Drives a running robot from waypoint to waypoint; reports progress and result, and draws a map of the path."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hexapod_control.bringup.process_supervisor import StopSignal
from hexapod_control.clients.bounded_wait import POSTURE_S, BoundedWait, EndRequested, wait_until
from hexapod_control.clients.patrol_client import PatrolClient
from hexapod_control.clients.robot_client import COMMAND_PERIOD_S
from hexapod_control.clients.robot_search import why_no_robot
from hexapod_control.config.errors import DONE, FAILED, RobotError
from hexapod_control.config.waypoint_file import PatrolRoute
from hexapod_control.core.kinematics.se2 import ZERO, Pose, wrap
from hexapod_control.core.steering.path_following import (
    Pursuit,
    PursuitCommand,
    PursuitPhase,
    Waypoint,
)

CELL_M = 0.02  # size of a cell of the obstacle map
MAX_CELLS = 200_000
MIN_HITS = 5  # scans with an obstacle in a cell, for the cell to be drawn; fewer are noise
ARROW_M = 0.25
READY_S = 20.0  # time limit for all topics and services to be available
STATUS_PERIOD_S = 0.5  # between two lines of progress
PATH_STEP_M = 0.02  # between two points of the path in the map


@dataclass(slots=True)
class PatrolResult:
    """Path, arrivals and obstacles of a patrol, in the frame odom."""

    waypoints: tuple[Waypoint, ...]
    tolerance: float  # [m]
    radius: float  # [m] of the robot
    odometry: list[Pose] = field(default_factory=list)
    truth: list[Pose] = field(default_factory=list)  # empty on a real robot
    arrivals: list[tuple[float, float]] = field(default_factory=list)  # [m] where waypoints were reached
    hits: Counter[tuple[int, int]] = field(default_factory=Counter)  # scans with an obstacle in a cell
    headline: str = ""

    def add_scan(self, points: Sequence[Sequence[float]]) -> None:
        """Adds the obstacle points (k, 2) [m] of a scan."""
        if len(self.hits) < MAX_CELLS:
            self.hits.update((round(x / CELL_M), round(y / CELL_M)) for x, y in points)


def draw(result: PatrolResult, path: Path) -> None:
    """Draws the map into a file, whose suffix gives its format."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.patches import Circle

    figure, axes = plt.subplots(figsize=(7.5, 7.5))
    if result.hits:
        cells = [(x * CELL_M, y * CELL_M) for (x, y), times in result.hits.items() if times >= MIN_HITS]
        axes.plot(
            [x for x, _ in cells],
            [y for _, y in cells],
            ".",
            color="#8a8f98",
            markersize=1.2,
            label="seen by the lidar",
        )
    for name, track, colour, style in (
        ("odometry", result.odometry, "#1f77b4", "-"),
        ("ground truth", result.truth, "#e4572e", "--"),
    ):
        if track:
            axes.plot([p.x for p in track], [p.y for p in track], style, color=colour, linewidth=1.3, label=name)
    start = result.odometry[0]
    axes.add_patch(Circle(start[:2], result.radius, fill=False, color="#1f77b4", linewidth=0.6, label="robot"))
    for number, goal in enumerate(dict.fromkeys(result.waypoints), start=1):
        axes.add_patch(Circle((goal.x, goal.y), max(result.tolerance, 0.03), color="#2e8b57", alpha=0.8))
        if goal.yaw is not None:
            tip = (goal.x + ARROW_M * math.cos(goal.yaw), goal.y + ARROW_M * math.sin(goal.yaw))
            axes.annotate("", tip, (goal.x, goal.y), arrowprops={"arrowstyle": "->", "color": "#2e8b57"})
        axes.annotate(str(number), (goal.x, goal.y), xytext=(5, 5), textcoords="offset points", fontsize=9)
    axes.set(aspect="equal", xlabel="x in odom [m]", ylabel="y in odom [m]")
    axes.set_title(result.headline, fontsize=9)
    axes.grid(alpha=0.2)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=4, frameon=False, fontsize=8, markerscale=6)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


class PatrolRun:
    """One patrol: call `prepare`, `go`, `close`. They raise EndRequested and RobotError."""

    def __init__(
        self, robot: PatrolClient, pursuit: Pursuit, result: PatrolResult, wait: BoundedWait, blind: bool
    ) -> None:
        self._robot = robot
        self._pursuit = pursuit
        self._result = result
        self._blind = blind
        self._wait = wait
        self._begin = 0.0  # [s] time of the odometry
        self._reported = 0.0  # [s] steady time of the last line of progress
        self._drawn = -math.inf  # [s] of the last scan in the picture
        self._world_in_odom = Pose(0.0, 0.0, 0.0)  # pose of the world in odom at the start
        self._errors: list[tuple[float, float]] = []  # [m], [rad] by ground truth
        self._phrase = ""
        self._last_walkable = time.monotonic()  # [s] steady time at which the robot could walk last

    def prepare(self) -> None:
        """Waits until all topics and services are available, and stands up."""
        robot = self._robot
        until = self._wait.until
        if not wait_until(lambda: len(robot.odometry) > 0, READY_S, self._wait.spin):
            raise RobotError(f"no odom arrives: {why_no_robot(robot.robot_namespace)}")
        until(lambda: robot.state != "", READY_S, "no gait_state: is gait_planner running?")
        lost = "gait_state is unknown: does the driver or the simulator run, and is its torque on (hexapod arm)?"
        until(lambda: robot.state != "unknown", READY_S, lost)
        if not self._blind:
            missing = "no scan: start the driver of the lidar, or give --blind to walk without seeing obstacles"
            until(lambda: not robot.view.scan_is_old, READY_S, missing)
        until(lambda: robot.has_listener, READY_S, "no node subscribes to cmd_vel: are --cmd-vel and --stamped right?")
        if robot.state in ("sitting", "sinking", "rising"):  # rising: perhaps halted
            until(lambda: robot.has_service("stand"), READY_S, "no service stand: is gait_planner running?")
            self._wait.request("stand")
        self._wait.until_robot(lambda: min(robot.maxima) > 0.0, POSTURE_S, "stand up")
        if robot.view.unplaced_frame and not self._blind:
            text = f"scan: /tf_static does not place its frame {robot.view.unplaced_frame} on base_link"
            print(f"{text}; taken as base_link, publish the place of the lidar", file=sys.stderr)
        self._begin = robot.odometry.last.time
        self._last_walkable = time.monotonic()
        truth = self._truth()  # in the world, before the alignment below
        if truth is not None:
            self._world_in_odom = robot.odometry.last.pose @ truth.inverse()

    def go(self) -> None:
        """Walks until every waypoint is reached."""
        robot, last = self._robot, self._begin
        while True:
            now, pose = robot.odometry.last.time, robot.odometry.last.pose
            command = self._pursuit.step(pose, robot.maxima, robot.view.obstacles, max(0.0, now - last))
            last = now
            self._record(pose)
            self._arrive(command, now)
            if command.phase is PursuitPhase.DONE:
                robot.twist = ZERO
                return
            if command.phase is PursuitPhase.STUCK:
                raise RobotError(self._stuck(command))
            waiting = self._reason_to_wait()
            self._check_posture()
            robot.twist = ZERO if waiting else command.twist
            self._show_progress(command, waiting)
            self._wait.spin(COMMAND_PERIOD_S)

    def _reason_to_wait(self) -> str:
        robot = self._robot
        if robot.view.odometry_is_old:
            return "stopped: no odom, does the robot run?"
        if robot.view.scan_is_old and not self._blind:
            return "stopped: no scan, does the lidar's driver run?"
        if robot.other_driver:
            return f"waiting: {robot.other_driver} drives"
        return "" if min(robot.maxima) > 0.0 else f"waiting: the robot is {robot.state}"

    def _check_posture(self) -> None:
        """Raises RobotError if the robot has not been able to walk for a while: only the operator may stand it up."""
        now = time.monotonic()
        if min(self._robot.maxima) > 0.0:
            self._last_walkable = now
        elif now - self._last_walkable > POSTURE_S:
            text = f"the robot cannot walk for {POSTURE_S:g} s (gait_state: {self._robot.state})"
            raise RobotError(
                f"{text}: run hexapod arm if its torque is off, then hexapod stand, and start the patrol again"
            )

    def _truth(self) -> Pose | None:
        """True pose in odom at the time of the newest odometry; None on a real robot."""
        robot = self._robot
        return self._world_in_odom @ robot.truth.at(robot.odometry.last.time) if len(robot.truth) > 1 else None

    def _record(self, pose: Pose) -> None:
        result = self._result
        truth = self._truth()
        for track, place in ((result.odometry, pose), (result.truth, truth)):
            if place is not None and (not track or math.dist(track[-1][:2], place[:2]) >= PATH_STEP_M):
                track.append(place)
        if self._robot.view.scanned > self._drawn:
            self._drawn = self._robot.view.scanned
            result.add_scan(self._robot.view.obstacles.tolist())

    def _arrive(self, command: PursuitCommand, now: float) -> None:
        while len(self._result.arrivals) < command.reached:
            number = len(self._result.arrivals)
            goal = self._pursuit.waypoints[number]
            pose = self._robot.odometry.last.pose
            self._result.arrivals.append(pose[:2])
            line = f"waypoint {number + 1} of {len(self._pursuit.waypoints)} reached after {now - self._begin:.1f} s"
            line += f", {_error_text(goal, pose)}"
            truth = self._truth()
            if truth is not None:
                off = 0.0 if goal.yaw is None else abs(wrap(goal.yaw - truth.yaw))
                self._errors.append((math.dist((goal.x, goal.y), truth[:2]), off))
                line += f"; by ground truth {_error_text(goal, truth)}"
            self._clear()
            print(line, flush=True)

    def _show_progress(self, command: PursuitCommand, waiting: str) -> None:
        """Shows the progress: on a terminal in one line that is overwritten, elsewhere only changes."""
        phrase = waiting or command.phase.value
        count = len(self._pursuit.waypoints)
        line = f"to waypoint {command.reached + 1} of {count}: {command.distance:.2f} m, {phrase}"
        if sys.stderr.isatty():
            if time.monotonic() - self._reported >= STATUS_PERIOD_S:
                self._reported = time.monotonic()
                print(f"\r{line:70s}", end="", file=sys.stderr, flush=True)
        elif phrase != self._phrase and (waiting or command.phase is PursuitPhase.BLOCKED):
            print(line, file=sys.stderr, flush=True)
        self._phrase = phrase

    @staticmethod
    def _clear() -> None:
        if sys.stderr.isatty():
            print(f"\r{'':70s}\r", end="", file=sys.stderr, flush=True)

    def _stuck(self, command: PursuitCommand) -> str:
        goal = self._pursuit.waypoints[command.reached]
        seen = self._robot.view.obstacles
        number = command.reached + 1
        distance = command.distance
        text = f"waypoint {number} ({goal.x:g}, {goal.y:g}) cannot be reached: {distance:.2f} m away, "
        text += f"no progress for {self._pursuit.settings.progress_timeout:g} s"
        if len(seen) and not self._blind:
            near = float(np.hypot(*(seen - (goal.x, goal.y)).T).min())
            room = self._pursuit.settings.radius + self._pursuit.settings.clearance
            text += (
                f"; the nearest obstacle is {near:.2f} m from it, the robot needs {room:.2f} m" if near < room else ""
            )
        return text

    def close(self) -> None:
        """Prints the result and stores it as the headline of the map."""
        result, robot = self._result, self._robot
        self._clear()
        text = f"{len(result.arrivals)} of {len(self._pursuit.waypoints)} waypoints reached"
        if self._errors:
            worst, turn = (max(values) for values in zip(*self._errors, strict=True))
            text += f", at most {1e3 * worst:.0f} mm and {math.degrees(turn):.1f} deg off by ground truth"
        if robot.collisions is not None:
            text += f", {robot.collisions} collision{'' if robot.collisions == 1 else 's'}"
        result.headline = text
        print(text, flush=True)


def _error_text(goal: Waypoint, pose: Pose) -> str:
    distance = f"{1e3 * math.dist((goal.x, goal.y), pose[:2]):.0f} mm"
    turn = "" if goal.yaw is None else f" and {math.degrees(abs(wrap(goal.yaw - pose.yaw))):.1f} deg"
    return f"{distance}{turn} off"


def follow(
    robot: PatrolClient,
    route: PatrolRoute,
    stop: StopSignal,
    *,
    blind: bool,
    check: Callable[[], None] = lambda: None,
) -> tuple[int, PatrolResult]:
    """Walks a robot along a route; `check` as in BoundedWait. Returns the exit code and the data of the map."""
    pursuit = Pursuit(route.waypoints, route.settings)
    result = PatrolResult(pursuit.waypoints, route.settings.tolerance, route.settings.radius)
    walk = PatrolRun(robot, pursuit, result, BoundedWait(robot, stop, check), blind)
    code = DONE
    try:
        walk.prepare()
        walk.go()
    except EndRequested:
        pass
    except RobotError as failure:
        print(f"\nhexapod: {failure}" if sys.stderr.isatty() else f"hexapod: {failure}", file=sys.stderr, flush=True)
        code = FAILED
    robot.stop_driving()
    walk.close()
    return code, result
