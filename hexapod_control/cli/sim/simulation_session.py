"""Driving while the nodes of `hexapod sim` run: the scripted drive, driving by keyboard, sitting down at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from hexapod_control.bringup.process_supervisor import StopSignal, Supervisor
from hexapod_control.cli.sim.scripted_drive import DriveSegment, DriveSpan
from hexapod_control.clients.bounded_wait import POSTURE_S, BoundedWait, EndRequested, drive_limit
from hexapod_control.clients.keyboard_pilot import KeyboardPilot
from hexapod_control.clients.robot_client import SimulationClient
from hexapod_control.clients.terminal import Terminal, TerminalClosed
from hexapod_control.core.kinematics.se2 import ZERO, Twist

READY_S = 30.0  # time limit for all nodes to respond after their start
ALONE_S = 5.0  # time limit for the nodes of another robot in the same namespace to be gone
MIN_SPAN_S = 2.0  # shortest steady drive by keyboard that gets a line in the table


class SimulationSession:
    """Drives the robot from the start of its nodes until it sits.

    Raises EndRequested, RobotError and NodeExitError.
    """

    def __init__(self, robot: SimulationClient, supervisor: Supervisor, stop: StopSignal) -> None:
        self.robot = robot
        self.spans: list[DriveSpan] = []
        self.moving: tuple[float, float] = (0.0, 0.0)  # [s] of ground truth time: from standing to standing
        self._stop, self._graph = stop, supervisor.graph
        self._wait = BoundedWait(robot, stop, supervisor.check)

    def ready(self) -> None:
        """Waits until all nodes of this graph respond; topics and services alone may belong to another robot."""
        self._wait.until_robot(lambda: self._graph in self.robot.graphs, READY_S, "start")
        self._wait.until_robot(self._alone, ALONE_S, "start alone in its ROS_DOMAIN_ID and namespace")
        self._wait.until_ready(READY_S)

    def _alone(self) -> bool:
        """True if requests reach the planner of this graph and no other."""
        return self.robot.graphs == {self._graph}

    def demonstrate(self, script: Sequence[DriveSegment], seconds: float) -> None:
        """Stands up, drives each segment of the script for `seconds` [s], sits down."""
        self._wait.stand(POSTURE_S)
        truth = self.robot.truth
        begin = truth.last.time
        for segment in script:
            self._drive(segment, seconds)
        self.moving = (begin, truth.last.time)
        self.sit()

    def _drive(self, segment: DriveSegment, seconds: float) -> None:
        """Drives one segment, timed by ground truth."""
        truth = self.robot.truth
        start = truth.last.time
        self.robot.twist = segment.twist
        self.robot.send()
        limit = drive_limit(seconds)
        self._wait.until_robot(lambda: truth.last.time >= start + seconds, limit, f"get through {segment.name}")
        self.spans.append(DriveSpan(segment, start, truth.last.time))

    def sit(self) -> None:
        """Stops, sits down and waits until the robot sits."""
        self.robot.twist = ZERO
        self.robot.send()
        self._wait.request("sit")
        self._wait.until_robot(lambda: self.robot.state == "sitting", POSTURE_S, "sit down")

    def rest(self) -> None:
        """Sits down before the end, unless the robot sits already; a second request to end skips this."""
        self._stop.clear()
        if self._alone() and self.robot.state not in ("sitting", "unknown", ""):
            self.sit()

    def stay(self) -> NoReturn:
        """Waits until the user wants to end."""
        while True:
            self._wait.spin()

    def play(self, terminal: Terminal) -> None:
        """Drives by keyboard until the user wants to end."""
        robot, pilot = self.robot, KeyboardPilot(self.robot, terminal)
        begin = since = robot.truth.last.time
        while True:
            now = robot.truth.last.time
            self.moving = (begin, now)
            before = robot.twist
            try:
                if pilot.step():
                    self._add_span(before, since)
                    since = now
                self._wait.spin()
            except (EndRequested, TerminalClosed):
                self._add_span(before, since)
                raise EndRequested from None

    def _add_span(self, twist: Twist, since: float) -> None:
        """Adds a drive with a constant twist to the table, if it was long enough."""
        now = self.robot.truth.last.time
        if not twist.is_zero and now - since >= MIN_SPAN_S:
            self.spans.append(DriveSpan(DriveSegment(f"drive {len(self.spans) + 1}", twist), since, now))
