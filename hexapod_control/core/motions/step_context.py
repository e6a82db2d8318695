"""The context of the steps of a motion, and the interface of their execution."""

from __future__ import annotations

from collections.abc import Iterator

from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.motions import motion_steps
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import TickPlan

MAX_STEPS_PER_TICK = 8  # that may begin in a tick: a motion may have thousands of steps without duration
StepExecution = Iterator[str]
"""Yields once per tick: an empty text while the step runs, or why it cannot continue. Ends when the step is done."""


class StepContext:
    """The planner that executes the steps, the plan of the last tick, and the current step."""

    def __init__(self, planner: Planner) -> None:
        """Starts without a plan."""
        self.planner = planner
        self.plan: TickPlan | None = None  # of the last tick
        self.dt = 0.0  # [s] of this tick
        self.step: motion_steps.MotionStep | None = None  # the current one, innermost
        self._begun = 0  # number of steps begun in this tick

    def begin_tick(self, dt: float) -> None:
        """Begins a tick of `dt` [s]."""
        self.dt, self._begun = dt, 0

    def may_begin(self) -> bool:
        """Counts a step that is about to begin. Returns False if no more may begin in this tick."""
        self._begun += 1
        return self._begun <= MAX_STEPS_PER_TICK

    @property
    def twist(self) -> Twist:
        """The twist executed in the last tick."""
        return self.plan.twist if self.plan is not None else ZERO


def coming_to_rest(context: StepContext) -> StepExecution:
    """Brings the robot to rest, with all feet on the ground or held in the air."""
    context.planner.command(ZERO)
    while not context.planner.view.at_rest:
        yield ""


def step_place(step: motion_steps.MotionStep | None) -> str:
    """Returns the beginning of a message about a step: file:line and kind; empty for None."""
    if step is None:
        return ""
    return f"{step.place + ': ' if step.place else ''}{motion_steps.NAMES[type(step)]}: "
