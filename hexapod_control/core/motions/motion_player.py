# SPDX-License-Identifier: Apache-2.0
"""The motion player executes one motion with a planner; one further motion may wait.

The rules: a running motion finishes its cycle before the next one starts; a newer motion replaces the waiting one;
stopping discards the waiting one (source: "We revive the hexapod, part 2", docs/sources.md). At the end of a motion,
gait, step height, tempo and margin are restored, and the body returns to its neutral pose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple

from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.motions.motion_steps import NAMES, Choreography, MotionStep, SitStep, StandStep
from hexapod_control.core.motions.motion_topics import CANCELLED, DONE, REFUSED
from hexapod_control.core.motions.step_execution import StepContext, StepEnd, StepExecution, execute_step, step_place
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import TickPlan
from hexapod_control.core.refusal import Refusal


class PlayerState(Enum):
    """State of the player."""

    NONE = "none"
    RUNNING = "running"
    STOPPING = "stopping"  # the running motion finishes its cycle, and then ends


class MotionEnd(Enum):
    """How a motion has ended; the value is the phase in motion_state."""

    DONE = DONE
    CANCELLED = CANCELLED
    REFUSED = REFUSED


class MotionOutcome(NamedTuple):
    """The end of a motion."""

    name: str
    end: MotionEnd
    progress: float  # share (0 to 1) that was done of the pass in which it ended
    reason: Refusal | None = None  # why it was refused


@dataclass(frozen=True, slots=True)
class RehearsedMotion:
    """A motion that passed the rehearsal (motion_rehearsal.py), and the duration of one pass."""

    motion: Choreography
    duration: float  # [s] of one pass, from its start posture


class MotionPlayer:
    """Plays motions with a planner; call its `step` instead of the `step` of the planner.

    First the robot takes the start posture of the motion, then the steps are executed, once or in a loop. While a
    motion plays, the state of the planner is `moving` instead of `standing` or `walking`.
    """

    def __init__(self, planner: Planner) -> None:
        """Starts without a motion."""
        self.planner = planner
        self.state = PlayerState.NONE
        self.refusal: Refusal | None = None  # why the last motion ended early
        self._context = StepContext(planner)
        self._now: RehearsedMotion | None = None
        self._next: RehearsedMotion | None = None
        self._execution: StepExecution | None = None  # of the current step
        self._remaining: list[MotionStep] = []  # steps of this pass
        self._passes = 0  # number of passes begun
        self._takes_start_posture = False
        self._elapsed = 0.0  # [s] of this pass
        self._total = 0.0  # [s] since the motion began
        self._restored = planner.view.settings  # settings to restore when the motion ends
        self._outcomes: list[MotionOutcome] = []

    @property
    def name(self) -> str:
        """Name of the motion that plays; empty for none."""
        return self._now.motion.name if self._now is not None else ""

    @property
    def phase(self) -> str:
        """Kind of the current step, of nested ones the innermost; empty before the first step."""
        step = self._context.step
        return NAMES[type(step)] if self._execution is not None and step is not None else ""

    @property
    def place(self) -> str:
        """File, line and kind of the current step, as the beginning of a message."""
        return step_place(self._context.step)

    @property
    def waiting(self) -> str:
        """Name of the next motion; empty for none."""
        return self._next.motion.name if self._next is not None else ""

    @property
    def progress(self) -> float:
        """Share (0 to 1) of the present pass that is done."""
        if self._now is None or self._now.duration <= 0.0 or self._takes_start_posture:
            return 0.0
        return min(1.0, self._elapsed / self._now.duration)

    def take_outcomes(self) -> list[MotionOutcome]:
        """Returns the outcomes of motions that have ended since the last call."""
        outcomes = self._outcomes
        self._outcomes = []
        return outcomes

    def execute(self, motion: RehearsedMotion) -> None:
        """Plays a motion at once, or after the running one has finished its cycle."""
        if self._now is None:
            self._start(motion)
        else:
            self._next = motion
            self.state = PlayerState.STOPPING

    def finish_cycle(self) -> None:
        """Ends the running motion after its cycle, and discards the waiting one."""
        self._next = None
        if self._now is not None:
            self.state = PlayerState.STOPPING

    def cancel(self, refusal: Refusal | None = None) -> None:
        """Ends the running motion now: the robot comes to rest smoothly, feet in the air are set down.

        `refusal` says why the motion cannot continue; None if it was cancelled.
        """
        if self._now is None:
            return
        end = MotionEnd.REFUSED if refusal else MotionEnd.CANCELLED
        self.refusal = refusal or self.refusal
        self._next = None
        self._finish(MotionOutcome(self.name, end, self.progress, refusal))
        self.planner.halt()

    def command(self, twist: Twist) -> None:
        """Follows the twist of an operator. A twist other than zero ends a motion; zero has no effect on a motion."""
        if self._now is not None:
            if twist.is_zero:
                return
            self.cancel()
        self.planner.command(twist)

    def change_settings(self, **changes: Any) -> None:
        """Changes walk settings now or, while a motion plays, at its end."""
        if self._now is None:
            self.planner.change_settings(**changes)
        else:
            self._restored = replace(self._restored, **changes)

    def step(self, dt: float) -> TickPlan:
        """Advances motion and planner by `dt` [s]. Returns the plan of the tick."""
        context = self._context
        if self._now is not None:
            context.begin_tick(dt)
            self._advance()
            self._elapsed += dt
            self._total += dt
        context.plan = self.planner.step(dt)
        return context.plan

    def _start(self, motion: RehearsedMotion) -> None:
        """Starts a motion, and stores the settings to restore."""
        self._now = motion
        self.state = PlayerState.RUNNING
        self.refusal = None
        self._restored = self.planner.view.settings
        self._passes = 0
        self._total = 0.0
        self.planner.plays_motion = True
        self._begin_pass(motion.motion)

    def _begin_pass(self, motion: Choreography) -> None:
        """Begins a pass through the steps; the first pass begins with the start posture."""
        self._passes += 1
        self._elapsed = 0.0
        self._execution = None
        self._remaining = list(motion.steps)
        self._takes_start_posture = self._passes == 1
        if self._takes_start_posture:
            self._remaining.insert(0, SitStep() if motion.start == "sitting" else StandStep())

    def _advance(self) -> None:
        """Continues the current step; when it ends, begins the next one in the same tick."""
        while self._now is not None:
            if self._execution is None:
                if not self._remaining:
                    self._end_pass(self._now.motion)
                    continue
                self._execution = execute_step(self._context, self._remaining.pop(0))
            refusal = next(self._execution, StepEnd.DONE)
            if refusal is StepEnd.DONE:
                self._execution = None
                if self._takes_start_posture:  # the pass itself begins here
                    self._takes_start_posture = False
                    self._elapsed = 0.0
                continue
            if refusal:
                self.cancel(refusal)
            return

    def _end_pass(self, motion: Choreography) -> None:
        """Begins the next pass, or ends the motion and starts the waiting one."""
        # A pass without duration would be repeated endlessly within this tick.
        again = self.state is PlayerState.RUNNING and self._total < motion.total_time and self._elapsed > 0.0
        if again and (motion.loops == 0 or self._passes < motion.loops):
            self._begin_pass(motion)
            return
        following = self._next
        self._next = None
        self._finish(MotionOutcome(motion.name, MotionEnd.DONE, 1.0))
        if following is not None:
            self._start(following)

    def _finish(self, outcome: MotionOutcome) -> None:
        """Ends the motion, and restores the settings before it."""
        self._outcomes.append(outcome)
        self._now = None
        self._execution = None
        self._remaining = []
        self.state = PlayerState.NONE
        before = self._restored
        self.planner.plays_motion = False
        self.planner.change_gait(before.selection.name)
        self.planner.change_settings(lift=before.lift, tempo=before.tempo, margin=before.margin)
        self.planner.command(ZERO)
        self.planner.return_to_neutral()
