"""A patrol with a running robot: what it waits for, what it says, and when it gives up."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np

from hexapod_control.bringup.process_supervisor import StopSignal
from hexapod_control.clients.patrol_client import UNKNOWN, PatrolClient
from hexapod_control.clients.patrol_map import PatrolResult
from hexapod_control.clients.robot_client import PERIOD
from hexapod_control.core.kinematics.se2 import ZERO, Pose, wrap
from hexapod_control.core.steering.path_following import (
    Pursuit,
    PursuitCommand,
    PursuitPhase,
    PursuitSettings,
    Waypoint,
)

READY = 20.0  # [s] until everything that is needed has come
POSTURE = 20.0  # [s] for standing up
ANSWER = 3.0  # [s] of a service
STATUS = 0.5  # [s] between two lines of progress
WAY = 0.02  # [m] between two points of the picture


class RobotDidNot(RuntimeError):  # noqa: N818
    """The patrol has to end; one sentence."""


class EndRequested(Exception):  # noqa: N818 - no error: the user wants to end
    """SIGINT or SIGTERM has come."""


class _PatrolRun:
    """One patrol. Raises Asked and Failed."""

    def __init__(
        self, patroller: PatrolClient, pursuit: Pursuit, result: PatrolResult, asked: StopSignal, blind: bool
    ) -> None:
        self._patroller, self._pursuit, self._result = patroller, pursuit, result
        self._asked, self._blind = asked, blind
        self._begin = self._told = 0.0
        self._drawn = -math.inf  # [s] of the last scan in the picture
        self._align = UNKNOWN  # the world in odom, as of the start
        self._errors: list[tuple[float, float]] = []  # [m], [rad] by ground truth
        self._phrase = ""

    def _until(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise RobotDidNot(what)
            self._pump()

    def _pump(self) -> None:
        self._patroller.spin(PERIOD)
        if self._asked.is_set():
            raise EndRequested

    def prepare(self) -> None:
        """Waits for what is needed, and stands up."""
        robot = self._patroller
        self._until(
            lambda: len(robot.odometry) > 0, READY, "no odom: is the robot running, in this namespace and domain?"
        )
        self._until(lambda: robot.state not in ("", "unknown"), READY, "no gait_state: is gait_planner running?")
        if not self._blind:
            missing = "no scan: start the driver of the lidar, or give --blind to walk without seeing obstacles"
            self._until(lambda: not robot.blind, READY, missing)
        deaf = "nobody listens to cmd_vel: are --cmd-vel and --stamped as the robot's?"
        self._until(lambda: robot.heard, READY, deaf)
        if robot.state in ("sitting", "sinking"):
            self._until(lambda: robot.ready("stand"), READY, "no service stand: is gait_planner running?")
            answer = robot.request("stand")
            self._until(answer.done, ANSWER, "stand was not answered")
            if not answer.result().success:
                raise RobotDidNot(f"stand was refused: {answer.result().message}")
        self._until(lambda: min(robot.maxima) > 0.0, POSTURE, f"the robot is not on its feet: it is {robot.state}")
        self._begin = robot.odometry.last.time
        truth = self._truth()  # as long as nothing is aligned, in the world
        if truth is not None:
            self._align = robot.odometry.last.pose @ truth.inverse()

    def go(self) -> None:
        """Walks until everything is reached."""
        robot, last = self._patroller, self._begin
        while True:
            now, pose = robot.odometry.last.time, robot.odometry.last.pose
            order = self._pursuit.step(pose, robot.maxima, robot.obstacles, max(0.0, now - last))
            last = now
            self._note(pose)
            self._arrive(order, now)
            if order.phase is PursuitPhase.DONE:
                robot.twist = ZERO
                return
            if order.phase is PursuitPhase.STUCK:
                raise RobotDidNot(self._stuck(order))
            hindrance = self._hindrance()
            robot.twist = ZERO if hindrance else order.twist
            self._tell(order, hindrance)
            self._pump()

    def _hindrance(self) -> str:
        robot = self._patroller
        if robot.lost:
            return "stopped: no odom"
        if robot.blind and not self._blind:
            return "stopped: no scan"
        if robot.other:
            return f"waiting: {robot.other} drives"
        return "" if min(robot.maxima) > 0.0 else f"waiting: the robot is {robot.state}"

    def _truth(self) -> Pose | None:
        """Where the robot really is at the time of its odometry, in odom."""
        robot = self._patroller
        return self._align @ robot.truth.at(robot.odometry.last.time) if len(robot.truth) > 1 else None

    def _note(self, pose: Pose) -> None:
        result, truth = self._result, self._truth()
        for track, place in ((result.odometry, pose), (result.truth, truth)):
            if place is not None and (not track or math.dist(track[-1][:2], place[:2]) >= WAY):
                track.append(place)
        if self._patroller.scanned > self._drawn:
            self._drawn = self._patroller.scanned
            result.see(self._patroller.obstacles.tolist())

    def _arrive(self, order: PursuitCommand, now: float) -> None:
        while len(self._result.arrivals) < order.reached:
            number = len(self._result.arrivals)
            goal, pose = self._pursuit.waypoints[number], self._patroller.odometry.last.pose
            self._result.arrivals.append(pose[:2])
            line = f"waypoint {number + 1} of {len(self._pursuit.waypoints)} reached after {now - self._begin:.1f} s"
            line += f", {_error(goal, pose)}"
            truth = self._truth()
            if truth is not None:
                off = 0.0 if goal.yaw is None else abs(wrap(goal.yaw - truth.yaw))
                self._errors.append((math.dist((goal.x, goal.y), truth[:2]), off))
                line += f"; by ground truth {_error(goal, truth)}"
            self._clear()
            print(line, flush=True)

    def _tell(self, order: PursuitCommand, hindrance: str) -> None:
        """Where it is, on a terminal in one line that changes; elsewhere only what is new."""
        phrase = hindrance or order.phase.value
        count = len(self._pursuit.waypoints)
        line = f"to waypoint {order.reached + 1} of {count}: {order.distance:.2f} m, {phrase}"
        if sys.stderr.isatty():
            if time.monotonic() - self._told >= STATUS:
                self._told = time.monotonic()
                print(f"\r{line:70s}", end="", file=sys.stderr, flush=True)
        elif phrase != self._phrase and (hindrance or order.phase is PursuitPhase.BLOCKED):
            print(line, file=sys.stderr, flush=True)
        self._phrase = phrase

    @staticmethod
    def _clear() -> None:
        if sys.stderr.isatty():
            print(f"\r{'':70s}\r", end="", file=sys.stderr, flush=True)

    def _stuck(self, order: PursuitCommand) -> str:
        goal, seen = self._pursuit.waypoints[order.reached], self._patroller.obstacles
        text = f"waypoint {order.reached + 1} ({goal.x:g}, {goal.y:g}) cannot be reached: {order.distance:.2f} m away, "
        text += f"no progress for {self._pursuit.settings.patience:g} s"
        if len(seen) and not self._blind:
            near = float(np.hypot(*(seen - (goal.x, goal.y)).T).min())
            room = self._pursuit.settings.radius + self._pursuit.settings.clearance
            text += f"; it has {near:.2f} m of room, the robot needs {room:.2f} m" if near < room else ""
        return text

    def close(self) -> None:
        """The headline."""
        result, robot = self._result, self._patroller
        self._clear()
        text = f"{len(result.arrivals)} of {len(self._pursuit.waypoints)} waypoints reached"
        if self._errors:
            worst, turn = (max(values) for values in zip(*self._errors, strict=True))
            text += f", at most {1e3 * worst:.0f} mm and {math.degrees(turn):.1f} deg off by ground truth"
        if robot.collisions is not None:
            text += f", {robot.collisions} collision{'' if robot.collisions == 1 else 's'}"
        result.headline = text
        print(text, flush=True)


def _error(goal: Waypoint, pose: Pose) -> str:
    text = f"{1e3 * math.dist((goal.x, goal.y), pose[:2]):.0f} mm"
    return text if goal.yaw is None else f"{text} {math.degrees(abs(wrap(goal.yaw - pose.yaw))):.1f} deg off"


def follow(
    patroller: PatrolClient,
    waypoints: Sequence[Waypoint],
    settings: PursuitSettings,
    asked: StopSignal,
    *,
    blind: bool,
) -> tuple[int, PatrolResult]:
    """Walks. Returns the exit code and what is to be drawn."""
    pursuit = Pursuit(waypoints, settings)
    result = PatrolResult(pursuit.waypoints, settings.tolerance, settings.radius)
    walk = _PatrolRun(patroller, pursuit, result, asked, blind)
    code = 0
    try:
        walk.prepare()
        walk.go()
    except EndRequested:
        pass
    except RobotDidNot as failure:
        print(f"\nhexapod: {failure}" if sys.stderr.isatty() else f"hexapod: {failure}", file=sys.stderr, flush=True)
        code = 1
    patroller.rest()
    walk.close()
    return code, result
