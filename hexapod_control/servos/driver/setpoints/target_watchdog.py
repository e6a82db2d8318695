"""Watchdog over joint targets: when they stop arriving while the robot moves, the driver holds."""

from __future__ import annotations

import math
from enum import Enum

TARGET_TIMEOUT_S = 0.2  # without targets, while moving, after which the driver holds
SILENCE_QUESTION = "do gait_planner and inverse_kinematics run?"


class TargetFlow(Enum):
    """Whether targets arrive."""

    RESTING = "resting"  # the robot does not move: targets may stop
    MOVING = "moving"
    HOLDING = "holding"  # targets stopped while the robot moved


class TargetWatchdog:
    """Call `arrived` for each set of targets and `check` once per cycle. Times are steady [s]."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Returns to the state before the first targets."""
        self._flow = TargetFlow.RESTING
        self._arrival = math.nan
        self._holding_since = math.nan

    @property
    def holding(self) -> bool:
        """Whether targets stopped arriving while the robot moved."""
        return self._flow is TargetFlow.HOLDING

    @property
    def last_arrival(self) -> float:
        """Time of the last targets; NaN before the first."""
        return self._arrival

    def arrived(self, now: float, *, moving: bool) -> None:
        """Registers targets of a moving or resting robot."""
        self._arrival = now
        self._flow = TargetFlow.MOVING if moving else TargetFlow.RESTING

    def rest(self) -> None:
        """Records that the robot holds on purpose: missing targets are not a fault."""
        if self._flow is TargetFlow.MOVING:
            self._flow = TargetFlow.RESTING

    def check(self, now: float) -> str:
        """A warning when targets have just timed out; else an empty text."""
        if self._flow is not TargetFlow.MOVING or not now - self._arrival > TARGET_TIMEOUT_S:
            return ""
        self._flow, self._holding_since = TargetFlow.HOLDING, now
        silence = f"no joint_targets for {TARGET_TIMEOUT_S:g} s while moving"
        return f"{silence}: holding the last joint angles; {SILENCE_QUESTION}"

    def held_for(self, now: float) -> float:
        """Time [s] for which the driver has been holding; 0 while targets arrive."""
        return now - self._holding_since if self.holding else 0.0

    def extend(self, seconds: float) -> None:
        """Extends the timeout by a pause [s] of the simulation."""
        self._arrival += seconds
