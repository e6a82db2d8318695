# SPDX-License-Identifier: Apache-2.0
"""What is recorded of one joint on the stand: goals, readings, and the steps they make."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hexapod_control.core.kinematics.arrays import Array

REST_S = 0.1  # at the end of a step, over which angles are averaged
STILL_SHARE = 0.2  # of its goals, which a joint must move at least


class SweepReading(NamedTuple):
    """A reading during a slow sweep at constant speed."""

    goal: float  # [rad] at that time
    angle: float  # [rad]
    torque: float  # [N m] that holds the leg
    speed: float  # [rad/s] of the goal


@dataclass(slots=True)
class JointRecording:
    """The steps of one joint: when each goal was sent, which torque holds the leg there, and what was read."""

    goals: list[tuple[float, float, float]] = field(default_factory=list)  # time, angle, torque
    readings: list[tuple[float, float]] = field(default_factory=list)  # time, angle
    breaks: set[int] = field(default_factory=set)  # goals before which the joint was moved by something else
    sweeps: list[SweepReading] = field(default_factory=list)

    @property
    def is_still(self) -> bool:
        """Whether the joint did not follow its goals."""
        goals = np.array([goal for _, goal, _ in self.goals])
        angles = np.array([angle for _, angle in self.readings])
        return not len(angles) or bool(np.ptp(angles) < STILL_SHARE * np.ptp(goals))

    def steps(self) -> list[Step]:
        """The steps, each with the rests before and after it."""
        times, angles = np.array(self.readings).reshape(-1, 2).T
        ends = [*(time for time, *_ in self.goals[1:]), math.inf]
        rests: list[float] = []
        found: list[Step] = []
        for index, ((time, goal, torque), end) in enumerate(zip(self.goals, ends, strict=True)):
            inside = (times >= time) & (times < end)
            last = times[inside][-1] if inside.any() else time
            at_rest = inside & (times > last - REST_S)
            rests.append(float(angles[at_rest].mean()) if at_rest.any() else math.nan)
            if index == 0 or index in self.breaks:
                continue
            change = goal - self.goals[index - 1][1]
            same = bool(found) and index - 1 not in self.breaks and found[-1].change * change > 0.0
            found.append(Step(change, goal, torque, rests[-2], rests[-1], times[inside] - time, angles[inside], same))
        return [step for step in found if math.isfinite(step.before + step.after)]


class Step(NamedTuple):
    """One step of a goal."""

    change: float  # [rad] of the goal
    goal: float  # [rad]
    torque: float  # [N m] that holds the leg
    before: float  # [rad] at rest
    after: float  # [rad]
    times: Array  # (m,) [s] since the goal
    angles: Array  # (m,) [rad]
    is_same_way: bool  # as the step before


def resolution(recording: JointRecording) -> float:
    """The smallest change [rad] of the angles of a joint; 0 if it has not moved."""
    changes = np.diff(np.unique([angle for _, angle in recording.readings]))
    changes = changes[changes > 1e-9]
    return float(changes.min()) if len(changes) else 0.0
