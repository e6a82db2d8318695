"""The motion player: one motion at a time, one next, on top of a planner.

Source of the rules: "We revive the hexapod, part 2" (docs/sources.md): a motion that is running finishes its cycle
before the next one starts; a newer next one replaces the one that waits; stopping means that there is no next. A motion
leaves the robot as it was found: its gait, step height and tempo come back, and the body goes to its neutral pose.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.motions.motion_steps import NAMES, Choreography, MotionStep, SitStep, StandStep
from hexapod_control.core.motions.step_execution import StepContext, StepExecution, act, where
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan


class PlayerState(Enum):
    """What the player is doing."""

    NONE = "none"
    RUNNING = "running"
    STOPPING = "stopping"  # the running motion finishes its cycle


@dataclass(frozen=True, slots=True)
class RehearsedMotion:
    """A motion that was found to be possible, and how long one pass of it takes (core.rehearsal makes these)."""

    motion: Choreography
    duration: float  # [s] of one pass, from its start posture


class MotionPlayer:
    """Plays motions with a planner; `step` takes the place of the planner's."""

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self.state = PlayerState.NONE
        self.refusal = ""  # why the last motion ended before its end
        self._stage = StepContext(planner)
        self._now: RehearsedMotion | None = None
        self._next: RehearsedMotion | None = None
        self._act: StepExecution | None = None
        self._left: list[MotionStep] = []  # steps of this pass still to come
        self._passes = 0  # begun
        self._placing = False  # getting into the posture it starts from
        self._elapsed = 0.0  # [s] of this pass
        self._total = 0.0  # [s] since the motion began
        self._before = planner.style

    @property
    def name(self) -> str:
        """Of the motion that is played; empty for none."""
        return self._now.motion.name if self._now is not None else ""

    @property
    def phase(self) -> str:
        """Kind of the step under way, the innermost; empty before the first."""
        step = self._stage.step
        return NAMES[type(step)] if self._act is not None and step is not None else ""

    @property
    def place(self) -> str:
        """Beginning of a message about the step under way."""
        return where(self._stage.step)

    @property
    def waiting(self) -> str:
        """Name of the next motion; empty for none."""
        return self._next.motion.name if self._next is not None else ""

    @property
    def progress(self) -> float:
        """Share (0 to 1) of the present pass."""
        if self._now is None or self._now.duration <= 0.0 or self._placing:
            return 0.0
        return min(1.0, self._elapsed / self._now.duration)

    @property
    def gait_state(self) -> RobotState:
        """What the robot is doing, motions included."""
        state = self.planner.state
        return (
            RobotState.MOVING if self._now is not None and state in (RobotState.STANDING, RobotState.WALKING) else state
        )

    def execute(self, piece: RehearsedMotion) -> None:
        """Plays a motion: at once, or after the one that is running has finished its cycle."""
        if self._now is None:
            self._start(piece)
        else:
            self._next, self.state = piece, PlayerState.STOPPING

    def stop(self) -> None:
        """Lets the running motion finish its cycle; nothing comes after it."""
        self._next = None
        if self._now is not None:
            self.state = PlayerState.STOPPING

    def cancel(self) -> None:
        """Ends the running motion now, smoothly: what moves comes to rest, feet in the air go down."""
        if self._now is None:
            return
        self._next = None
        self._finish()
        self.planner.halt()

    def command(self, twist: Twist) -> None:
        """A twist from an operator: zero leaves a motion alone, anything else ends it and is followed."""
        if self._now is not None:
            if twist.is_zero:
                return
            self.cancel()
        self.planner.command(twist)

    def step(self, dt: float) -> TickPlan:
        """One tick [s] of the motion and of the planner."""
        stage = self._stage
        stage.dt = dt
        if self._now is not None:
            self._advance()
            self._elapsed += dt
            self._total += dt
        stage.plan = self.planner.step(dt)
        return stage.plan

    def _start(self, piece: RehearsedMotion) -> None:
        self._now, self.state, self.refusal = piece, PlayerState.RUNNING, ""
        planner = self.planner
        self._before = planner.style
        self._passes, self._total = 0, 0.0
        self._pass(piece.motion)

    def _pass(self, motion: Choreography) -> None:
        """Begins a pass through the steps, from the posture the motion starts in."""
        self._passes += 1
        self._elapsed = 0.0
        self._act = None
        self._left = list(motion.steps)
        self._placing = self._passes == 1
        if self._placing:
            self._left.insert(0, SitStep() if motion.start == "sitting" else StandStep())

    def _advance(self) -> None:
        """Goes on with the act; begins the next as soon as one ends, in the same tick."""
        while self._now is not None:
            if self._act is None:
                if not self._left:
                    self._end_of_pass(self._now.motion)
                    continue
                step = self._left.pop(0)
                self._act = act(self._stage, step)
            said = next(self._act, None)
            if said is None:
                self._act = None
                if self._placing:  # the pass itself begins here
                    self._placing, self._elapsed = False, 0.0
                continue
            if said:
                self.refusal = said
                self.cancel()
            return

    def _end_of_pass(self, motion: Choreography) -> None:
        # A pass that took no time would come again without end within this tick.
        again = self.state is PlayerState.RUNNING and self._total < motion.total_time and self._elapsed > 0.0
        if again and (motion.loops == 0 or self._passes < motion.loops):
            self._pass(motion)
            return
        following = self._next
        self._next = None
        self._finish()
        if following is not None:
            self._start(following)

    def _finish(self) -> None:
        """Puts everything back as it was before the motion."""
        self._now, self._act, self._left, self.state = None, None, [], PlayerState.NONE
        self.planner.gait(self._before.gait.name)
        self.planner.restyle(lift=self._before.lift, tempo=self._before.tempo)
        self.planner.command(ZERO)
        self.planner.settle()
