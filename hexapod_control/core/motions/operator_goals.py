# SPDX-License-Identifier: Apache-2.0
"""Goals of an operator that are followed to their end: a posture, or feet at points.

A goal begins with a request that was accepted. Then `end` is called after every tick, until it tells how the goal has
ended: reached, or not, because another request, a stop or a fault came before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from hexapod_control.core.motions.operator_commands import OperatorCommands
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.robot import Vector
from hexapod_control.core.walking.foot import Foot, Guided

PATIENCE_S = 3.0  # at rest, after which a goal that is not reached has ended
SAME_POINT = 0.005  # [m] from its goal, within which a foot that has landed is there


class GoalEnd(NamedTuple):
    """How a goal has ended."""

    reason: Refusal | None = None  # why it was not reached; None if it was


class OperatorGoal(Protocol):
    """A goal that has begun."""

    def end(self, plan: TickPlan, dt: float) -> GoalEnd | None:
        """Returns how the goal has ended, after a tick of `dt` [s]; None while it has not."""

    def cancel(self) -> None:
        """Requests that the robot gives the goal up."""


class _Patience:
    """Watches whether the robot still moves towards a goal."""

    def __init__(self, commands: OperatorCommands, planner: Planner) -> None:
        self._commands = commands
        self._planner = planner
        self._rest = 0.0  # [s]

    def end(self, plan: TickPlan, dt: float, *, towards: bool) -> GoalEnd | None:
        """Returns the end of a goal that is not reached; `towards`: the planner still intends to reach it."""
        view = self._planner.view
        paused = self._commands.interrupted
        self._rest = self._rest + dt if plan.at_rest and not paused else 0.0
        if paused or (towards and self._rest < PATIENCE_S):
            return None
        state = self._planner.state.value
        text = "another request, a stop or a fault came before the end; the robot is {state}"
        return GoalEnd(view.why_unknown or view.held_reason or Refusal("goal_displaced", text, state=state))


class PostureGoal:
    """The robot stands, or lies."""

    def __init__(self, commands: OperatorCommands, planner: Planner, *, lies: bool) -> None:
        """Follows a request that has been accepted."""
        self._commands = commands
        self._planner = planner
        self._patience = _Patience(commands, planner)
        self._lies = lies

    def end(self, plan: TickPlan, dt: float) -> GoalEnd | None:
        """A robot that walks stands on its feet."""
        view = self._planner.view
        state = self._planner.state
        if self._lies:
            towards = view.lying_down or state is RobotState.SINKING
            reached = state is RobotState.SITTING
        else:
            towards = not view.lying_down and (view.rising or view.on_feet)
            reached = towards and not view.rising and (plan.at_rest or state is RobotState.WALKING)
        return GoalEnd() if reached else self._patience.end(plan, dt, towards=towards)

    def cancel(self) -> None:
        """Stops the robot where it is."""
        self._commands.halt()


class FeetGoal:
    """Feet are at points."""

    def __init__(self, commands: OperatorCommands, planner: Planner, centers: Mapping[str, Vector]) -> None:
        """Follows a request that has been accepted; `centers` [m, base_link] of the feet, by leg."""
        self._commands = commands
        self._planner = planner
        self._patience = _Patience(commands, planner)
        self._goals = {leg: self._point(leg) for leg in centers}  # contact points and heights [m, base_footprint]

    def _foot(self, leg: str) -> Foot | None:
        """The foot of a leg; None unless the robot is on its feet and uses the leg."""
        walk = self._planner.view.walk
        names = self._planner.capabilities.robot.leg_names
        return walk.motion.feet[names.index(leg)] if walk is not None and leg in names else None

    def _point(self, leg: str) -> Vector | None:
        """Where the foot of a leg will be, as far as it is known [m, base_footprint]; None unless on its feet."""
        foot = self._foot(leg)
        if foot is None:
            return None
        return foot.state.path[-1] if isinstance(foot.state, Guided) else foot.at

    @property
    def distance(self) -> float:
        """Distance [m] of the foot that is farthest from its point."""
        feet = ((self._foot(leg), goal) for leg, goal in self._goals.items())
        return max((math.dist(foot.at, goal) for foot, goal in feet if foot and goal), default=0.0)

    def end(self, plan: TickPlan, dt: float) -> GoalEnd | None:
        """A foot whose path leads elsewhere has got another goal."""
        points = {leg: self._point(leg) for leg in self._goals}
        towards = all(
            point is not None and goal is not None and math.dist(point, goal) < SAME_POINT
            for point, goal in zip(points.values(), self._goals.values(), strict=True)
        )
        arrived = all(foot is not None and foot.arrived for foot in map(self._foot, self._goals))
        return GoalEnd() if towards and arrived else self._patience.end(plan, dt, towards=towards)

    def cancel(self) -> None:
        """Sets the feet down."""
        if self._commands.guide_feet({}):
            self._commands.halt()
