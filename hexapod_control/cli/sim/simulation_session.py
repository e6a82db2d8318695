"""A running graph and its operator: waiting with a bound, the scripted drive, driving by keyboard, the way to rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from hexapod_control.bringup.process_supervisor import StopSignal, Supervisor
from hexapod_control.cli.sim.scripted_drive import DriveSegment, DriveSpan
from hexapod_control.clients.keyboard_pilot import KeyboardPilot
from hexapod_control.clients.robot_client import SimulationClient
from hexapod_control.clients.terminal import Terminal, TerminalClosed
from hexapod_control.core.kinematics.se2 import ZERO, Twist

POLL = 0.02  # [s]
READY = 30.0  # [s] from the start of the nodes until all of them answer
POSTURE = 20.0  # [s] for standing up, and for sitting down from a walk
ANSWER = 3.0  # [s] of a service
SLOW = 4.0  # times as long as planned may a segment take on a busy machine
SHORTEST = 2.0  # [s] of steady driving by keyboard that is worth a line in the table


class EndRequested(Exception):  # noqa: N818 - no error: the user wants to end
    """SIGINT or SIGTERM has come."""


class RobotDidNot(RuntimeError):  # noqa: N818
    """The robot did not do what it was asked; one sentence."""


class SimulationSession:
    """Everything that happens while the nodes run. Raises Asked, Failed and NodeDied."""

    def __init__(self, operator: SimulationClient, supervisor: Supervisor, asked: StopSignal) -> None:
        self.operator = operator
        self.spans: list[DriveSpan] = []
        self.moving: tuple[float, float] = (0.0, 0.0)  # [s] of the truth's time: from standing to standing
        self._supervisor = supervisor
        self._asked = asked

    def until(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        """Waits for a condition, at most so long [s]; `what` completes "the robot did not ..."."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                state = self.operator.state or "none"
                raise RobotDidNot(f"the robot did not {what} within {seconds:g} s (gait_state: {state})")
            self.pump()

    def pump(self) -> None:
        """Lets a little time pass."""
        self.operator.spin(POLL)
        self._supervisor.check()
        if self._asked.is_set():
            raise EndRequested

    def ready(self) -> None:
        """Waits until every part of the graph answers."""
        deadline = time.monotonic() + READY
        while missing := self.operator.missing():
            if time.monotonic() > deadline:
                raise RobotDidNot(f"the robot is not ready after {READY:g} s: no {', no '.join(missing)}")
            self.pump()

    def ask(self, service: str) -> None:
        """Calls stand, sit or stop; Failed says why it was refused."""
        answer = self.operator.request(service)
        self.until(answer.done, ANSWER, f"answer to {service}")
        if not answer.result().success:
            raise RobotDidNot(f"{service} was refused: {answer.result().message}")

    def stand(self) -> None:
        """Stands up and waits for it."""
        self.ask("stand")
        operator = self.operator
        self.until(lambda: operator.state == "standing" and max(operator.maxima) > 0.0, POSTURE, "stand up")

    def drive(self, segment: DriveSegment, seconds: float) -> None:
        """Drives one segment, measured on the clock of the truth."""
        truth = self.operator.truth
        start = truth.last.time
        self.operator.twist = segment.twist
        self.operator.send()
        self.until(lambda: truth.last.time >= start + seconds, SLOW * seconds + 5.0, f"get through {segment.name}")
        self.spans.append(DriveSpan(segment, start, truth.last.time))

    def demonstrate(self, script: Sequence[DriveSegment], seconds: float) -> None:
        """Stand, drive the script with so long [s] for each segment, sit."""
        self.stand()
        truth = self.operator.truth
        begin = truth.last.time
        for segment in script:
            self.drive(segment, seconds)
        self.moving = (begin, truth.last.time)
        self.sit()

    def sit(self) -> None:
        """Stops, sits down and waits for it."""
        self.operator.twist = ZERO
        self.operator.send()
        self.ask("sit")
        self.until(lambda: self.operator.state == "sitting", POSTURE, "sit down")

    def rest(self) -> None:
        """Sits down on the way out, unless it sits already; asked again, it leaves at once."""
        self._asked.clear()
        if self.operator.state not in ("sitting", "unknown", ""):
            self.sit()

    def play(self, terminal: Terminal) -> None:
        """Drives by keyboard until asked to end."""
        operator, pilot = self.operator, KeyboardPilot(self.operator, terminal)
        begin = since = operator.truth.last.time
        while True:
            now = operator.truth.last.time
            self.moving = (begin, now)
            before = operator.twist
            try:
                if pilot.look():
                    self._note(before, since)
                    since = now
                self.pump()
            except (EndRequested, TerminalClosed):
                self._note(before, since)
                raise EndRequested from None

    def _note(self, twist: Twist, since: float) -> None:
        """Keeps a steady drive for the table."""
        now = self.operator.truth.last.time
        if not twist.is_zero and now - since >= SHORTEST:
            self.spans.append(DriveSpan(DriveSegment(f"drive {len(self.spans) + 1}", twist), since, now))
