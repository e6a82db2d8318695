"""Where motions are played: the planner, and what it said last."""

from __future__ import annotations

from hexapod_control.core import motions
from hexapod_control.core.plan import Plan, State
from hexapod_control.core.planner import Planner
from hexapod_control.core.se2 import ZERO, Twist


class Stage:
    """What acts work on: the planner and what it said last."""

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self.plan: Plan | None = None  # of the last tick
        self.dt = 0.0  # [s] of this tick
        self.step: motions.Step | None = None  # under way, the innermost

    @property
    def twist(self) -> Twist:
        """The twist executed in the last tick."""
        return self.plan.twist if self.plan is not None else ZERO

    @property
    def resting(self) -> bool:
        """True while the robot neither walks nor moves a foot."""
        walk = self.planner.standing_walk
        return walk.still if walk is not None else self.planner.state is State.SITTING

    @property
    def at_home(self) -> bool:
        """True while the robot stands in its neutral stance."""
        walk = self.planner.standing_walk
        return walk is not None and walk.at_home


def where(step: motions.Step | None) -> str:
    """Beginning of a message about a step: file:line and kind."""
    if step is None:
        return ""
    return f"{step.place + ': ' if step.place else ''}{motions.NAMES[type(step)]}: "
