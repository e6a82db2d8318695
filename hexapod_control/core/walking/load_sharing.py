# SPDX-License-Identifier: Apache-2.0
"""Sharing of the load: every planned foot bears its part, although the zeros of the joints are wrong by degrees.

A femur that is wrong by 2 degrees holds its foot some millimetres too high or too low. The body tilts until three feet
stand; when the supporting legs change, a foot that is too high touches late, and for a while only two feet bear load.
Loads of the feet show it: those of all feet while the robot stands, and those around touch-down and lift-off while it
walks, when more feet are on the ground than are needed. A load that is planned differently by position or weight is
linear over the feet, so only what deviates from a plane counts. Divided by the stiffness of a leg it is the height
by which a foot is too low. A trim of its femur takes that back.

Loads come from foot_states; without them, from how far measured joints give way. See
docs/architecture/walking-mathematics.md, "Sharing of the load".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.fits import fit_plane
from hexapod_control.core.kinematics.leg_kinematics import clamp
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.robot import Robot
from hexapod_control.core.statics.leg_compliance import compliance
from hexapod_control.core.walking.feet.foot_motion import FootMotion
from hexapod_control.core.walking.foot import Swing
from hexapod_control.core.workspace.twist_limits import change_towards

EXCHANGE = 0.12  # [swing times] around touch-down and lift-off, in which loads count
STANDING_TIME_S = 0.3  # between two updates of a robot at rest
STANDING_GAIN = 0.8  # share of a height error that a robot at rest takes back
FIRST_GAIN = 0.8  # the same after the first gait cycle ...
LAST_GAIN = 0.15  # ... and after all later ones: loads on rough ground differ from step to step
GAIN_DECAY = 0.75  # of the gain from one update to the next
DEAD_ZONE_M = 0.0003  # height errors up to this are left ...
STANDING_DEAD_ZONE_M = 0.0006  # ... and at rest, where friction bears a part of the load
MIN_LOAD_SHARE = 0.3  # of the planned loads, that is measured while the robot stands on its feet
TRIM_SPEED = 0.02  # [m/s] at which a foot moves to its trim


@dataclass(frozen=True, slots=True)
class LoadedTick:
    """Loads of the walking legs in one tick."""

    rows: Sequence[int]  # of these legs in the whole robot
    planned: Sequence[float]  # [N]
    measured: Sequence[float]  # [N] of `delay` ticks ago
    counted: tuple[bool, ...]  # feet of which the loads tell their height
    phase: float | None  # of the gait, in [0, 1); None: the robot stands
    delay: int = 0  # [ticks]


@dataclass(frozen=True, slots=True)
class LegStiffness:
    """What a leg does under load in the neutral stance."""

    stiffness: float  # [N/m] vertical
    lever: float  # [m] from the axis of the femur to the foot, horizontally

    @classmethod
    def all_of(cls, robot: Robot) -> tuple[LegStiffness, ...]:
        """Those of all legs of a robot."""
        found = []
        for leg, joints in zip(robot.legs, standing_joints(robot), strict=True):
            _, femur, tibia = joints
            lever = leg.femur.length * math.cos(femur) + leg.tibia.length * math.cos(femur + tibia)
            found.append(cls(1.0 / float(compliance(leg, joints)[2, 2]), max(lever, 0.2 * leg.tibia.length)))
        return tuple(found)


class LoadSharing(Copyable):
    """Trims of the femurs of one robot; `step` updates them after every tick."""

    def __init__(self, robot: Robot) -> None:
        """Starts without trims."""
        self._robot = robot
        self._legs = LegStiffness.all_of(robot)
        self.heights = (0.0,) * len(robot.legs)  # [m] by which each foot is raised
        self._goal = self.heights
        self._gain = FIRST_GAIN
        self.restart()

    def restart(self) -> None:
        """Forgets the loads so far; the trims stay."""
        self._past: list[tuple[tuple[bool, ...], Sequence[float]]] = []  # counted feet and their planned loads [N]
        self._phase: float | None = None  # of the gait in the last tick
        self._clear()

    def _clear(self) -> None:
        self._sums: tuple[float, ...] = ()  # [N s] measured minus planned load, by walking leg
        self._times: tuple[float, ...] = ()  # [s]
        self._standing = 0.0  # [s]
        self._cycles = 0.0  # of the gait in which the loads were summed

    def trimmed(self, joints: Array) -> Array:
        """Returns joint angles (n, 3) [rad] with the trims, within the limits of the joints."""
        rows = [
            clamp(leg, (coxa, femur + height / given.lever, tibia))
            for leg, (coxa, femur, tibia), height, given in zip(
                self._robot.legs, joints.tolist(), self.heights, self._legs, strict=True
            )
        ]
        return read_only(rows)

    def without_trims(self, joints: tuple[float, ...]) -> tuple[float, ...]:
        """Returns measured joint angles (3 n) [rad] as they are planned."""
        if not any(self.heights):
            return joints
        angles = [*joints]
        for row, (height, leg) in enumerate(zip(self.heights, self._legs, strict=True)):
            angles[3 * row + 1] -= height / leg.lever
        return tuple(angles)

    def loads_by_sag(self, sag: Sequence[float], rows: Sequence[int]) -> tuple[float, ...]:
        """Returns the loads [N] of legs (rows) under which the body gives way by `sag` [m]."""
        return tuple(self._legs[row].stiffness * z for row, z in zip(rows, sag, strict=True))

    def step(self, dt: float, tick: LoadedTick | None, most: float) -> None:
        """Compares planned and measured loads after a tick of `dt` [s]; None: they are unknown, or no feet to stand on.

        `most` is the largest trim of a foot as a share of the walk height, 0: none.
        """
        limit = most * self._robot.walk.height
        self._goal = tuple([min(max(height, -limit), limit) for height in self._goal])
        self._move(dt)
        if most <= 0.0 or tick is None:
            self.restart()
            return
        self._past = [(tick.counted, tick.planned), *self._past[: tick.delay]]
        counted, planned = self._past[-1]
        if len(self._sums) != len(planned):
            self._sums = self._times = (0.0,) * len(planned)
        lifted = sum(tick.measured) < MIN_LOAD_SHARE * sum(planned)  # or the sensors do not work, or it hops in a walk
        if lifted and tick.phase is None:
            self.restart()
            return
        span = 0.0 if lifted else dt
        pairs = zip(self._sums, counted, tick.measured, planned, strict=True)
        self._sums = tuple([s + span * c * (load - p) for s, c, load, p in pairs])
        self._times = tuple([time + span * c for time, c in zip(self._times, counted, strict=True)])
        self._standing = self._standing + dt if tick.phase is None else 0.0
        if self._standing > STANDING_TIME_S:
            self._update(tick.rows, STANDING_GAIN, STANDING_DEAD_ZONE_M, math.inf)
            self._clear()
        elif tick.phase is not None and self._phase is not None:
            self._cycles += (tick.phase - self._phase) % 1.0
            if self._cycles >= 1.0:
                self._update(tick.rows, self._gain, DEAD_ZONE_M, limit)
                self._gain = max(LAST_GAIN, GAIN_DECAY * self._gain)
                self._clear()
        self._phase = tick.phase

    def _move(self, dt: float) -> None:
        if self.heights != self._goal:
            change = TRIM_SPEED * dt
            self.heights = tuple(change_towards(a, b, change) for a, b in zip(self.heights, self._goal, strict=True))

    def _update(self, rows: Sequence[int], gain: float, dead_zone: float, plausible: float) -> None:
        """Takes a share (0 to 1) of the height errors back, if they exceed the dead zone [m].

        Beyond a plausible error [m] something else pulls at a foot, such as what it is caught in: nothing is learned.
        """
        if min(self._times) <= 0.0:
            return
        means = [total / time for total, time in zip(self._sums, self._times, strict=True)]
        points = [(*self._robot.legs[row].foothold, load) for row, load in zip(rows, means, strict=True)]
        plane = fit_plane(points)
        if plane is None:
            return
        a, b, c = plane
        low = [(z - a * x - b * y - c) / self._legs[row].stiffness for row, (x, y, z) in zip(rows, points, strict=True)]
        if dead_zone < max(map(abs, low)) <= plausible:
            goal = [*self._goal]
            for row, error in zip(rows, low, strict=True):
                goal[row] += gain * error
            self._goal = tuple(goal)


def exchanging(motion: FootMotion) -> tuple[bool, ...]:
    """Which feet are about to touch down or lift off, or have just done so."""
    stance_time = motion.clock.gait.stance_time
    found = []
    for foot, until in zip(motion.feet, motion.clock.until, strict=True):
        if isinstance(foot.state, Swing):
            found.append(not EXCHANGE < foot.state.progress < 1.0 - EXCHANGE)
        else:
            found.append(foot.state.planted and not EXCHANGE < until < stance_time - EXCHANGE)
    return tuple(found)
