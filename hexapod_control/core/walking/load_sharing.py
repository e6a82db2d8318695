# SPDX-License-Identifier: Apache-2.0
"""Sharing of the load: every planned foot bears its part, although the zeros of the joints are wrong by degrees.

A femur that is wrong by 2 degrees holds its foot some millimetres too high or too low. The body tilts until three feet
stand; when the supporting legs change, a foot that is too high touches late, and for a while only two feet bear load.
Loads of the feet show it: those of all feet while the robot stands, and those around touch-down and lift-off while it
walks, when more feet are on the ground than are needed. A load that is planned differently by position or weight is
linear over the feet, so only what deviates from a plane counts. Divided by the stiffness of a leg it is the height
by which a foot is too low. A trim of its femur takes that back.

Wrong zeros of femur and tibia also tilt the way of a foot: too low where it touches down and too high where it lifts
off, or the other way round. So the height of a trim depends on how far the foot reaches out: its slope follows from the
loads when legs change that reach far and near in turn.

Loads come from foot_states; without them, from how far measured joints give way. See
docs/architecture/walking-mathematics.md, "Sharing of the load".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.fits import fit_plane
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, clamp
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.robot import Leg, Robot
from hexapod_control.core.statics.leg_compliance import compliance
from hexapod_control.core.statics.static_stability import GRAVITY, MIN_SUPPORTING_FEET
from hexapod_control.core.walking.feet.foot_motion import FootMotion
from hexapod_control.core.walking.foot import Swing
from hexapod_control.core.workspace.twist_limits import change_towards

EXCHANGE = 0.12  # [swing times] around touch-down and lift-off, in which loads count
STANDING_TIME_S = 0.3  # between two updates of a robot at rest
STANDING_GAIN = 0.8  # share of a height error that a robot at rest takes back
FIRST_GAIN = 0.8  # the same after the first gait cycle ...
LAST_GAIN = 0.15  # ... and after all later ones: loads on rough ground differ from step to step
GAIN_DECAY = 0.75  # of the gain from one update to the next
DEAD_ZONE_M = 0.00015  # height errors up to this are left ...
STANDING_DEAD_ZONE_M = 0.0006  # ... and at rest, where friction bears a part of the load
MIN_LEVER = 0.2  # of the tibia, on which a femur turns a foot
MIN_LOAD_SHARE = 0.3  # of the planned loads, that is measured while the robot stands on its feet
TRIM_SPEED = 0.02  # [m/s] at which a foot moves to its trim ...
SLOPE_SPEED = 1.0  # [1/s] ... and its slope changes
FIXED_POINT_STEPS = 3  # after which a trim that depends on the angle it is subtracted from is exact to 1e-5 rad
USUAL_LATE = 0.4  # of the sag of a standing robot: height error of all feet at touch-down that is none, but dynamics
MIN_REACH_CHANGE = 0.04  # of the reach: with less its slope is hardly known
HOLD_TIME_S = 0.025  # time constant of each of the two low passes with which a leg takes up its load
NEGLIGIBLE_RAD = 1e-5


@dataclass(frozen=True, slots=True)
class LoadedTick:
    """Loads of the walking legs in one tick."""

    rows: Sequence[int]  # of these legs in the whole robot
    planned: Sequence[float]  # [N]
    measured: Sequence[float]  # [N] of `delay` ticks ago
    counted: tuple[int, ...]  # feet of which the loads tell their height: -1 at touch-down, 1 at lift-off or at rest
    phase: float | None  # of the gait, in [0, 1); None: the robot stands
    joints: Array | None  # (n, 3) [rad] planned; None: unknown
    delay: int = 0  # [ticks]


@dataclass(frozen=True, slots=True)
class LegStiffness:
    """What a leg does under load, and by a trim of its femur."""

    leg: Leg
    stiffness: float  # [N/m] vertical, in the neutral stance
    reach: float  # [m] from the axis of the femur to the foot, horizontally, in the neutral stance

    @classmethod
    def all_of(cls, robot: Robot) -> tuple[LegStiffness, ...]:
        """Those of all legs of a robot."""
        return tuple(
            [
                cls(leg, 1.0 / float(compliance(leg, joints)[2, 2]), _reach(leg, joints[1], joints[2]))
                for leg, joints in zip(robot.legs, standing_joints(robot), strict=True)
            ]
        )

    def farther(self, femur: float, tibia: float) -> float:
        """By how much [m] the foot reaches farther than in the neutral stance, with these joint angles [rad]."""
        return _reach(self.leg, femur, tibia) - self.reach

    def angles(self, femur: float, tibia: float, height: float, slope: float) -> tuple[float, float]:
        """Trims [rad] of femur and tibia at these angles [rad], by a height [m] and its slope over the reach.

        The height turns the femur, as a wrong zero would; the slope moves the foot only up and down.
        """
        turned = height / max(self.reach, MIN_LEVER * self.leg.tibia.length)
        raised = slope * self.farther(femur, tibia)
        up = math.sin(femur + tibia)  # of the tibia
        across = self.leg.femur.length * math.sin(tibia)  # [m] of the femur, seen along the tibia
        if raised == 0.0 or abs(across) < MIN_LEVER * self.leg.femur.length:
            return turned, 0.0
        # J (df, dt) = (0, raised) with the Jacobian of the foot in the plane of the leg
        down = self.leg.femur.length * math.sin(femur) + self.leg.tibia.length * up
        return turned + raised * up / across, -raised * down / (across * self.leg.tibia.length)


@dataclass(slots=True)
class _Exchange(Copyable):
    """Consecutive ticks in which the same feet count."""

    counted: tuple[int, ...]
    loads: list[float]  # [N] sums of measured minus planned loads
    farther: list[float]  # [m] sums of how much farther the feet reach than in the neutral stance
    ticks: int = 0


class _Seen(NamedTuple):
    """Mean height of a foot in an exchange."""

    row: int
    farther: float  # [m]
    low: float  # [m]
    late: float  # [m] the same of feet that all touch down and lift off with a height error of 1 m
    ticks: int


class LoadSharing(Copyable):
    """Trims of the femurs of one robot; `step` updates them after every tick."""

    def __init__(self, robot: Robot) -> None:
        """Starts without trims."""
        self._robot = robot
        self._legs = LegStiffness.all_of(robot)
        self.heights = (0.0,) * len(robot.legs)  # [m] by which each foot is raised, in the neutral stance ...
        self.slopes = self.heights  # ... and more per metre that it reaches farther
        self._goal = self.heights
        self._slope_goal = self.slopes
        self._gain = FIRST_GAIN
        self.restart()

    def restart(self) -> None:
        """Forgets the loads so far; the trims stay."""
        # Of the last ticks, newest first: counted feet, their planned loads [N] and joints (n, 3) [rad]
        self._past: list[tuple[tuple[int, ...], Sequence[float], Array | None]] = []
        self._phase: float | None = None  # of the gait in the last tick
        self._clear()

    def _clear(self) -> None:
        self._sums: tuple[float, ...] = ()  # [N s] measured minus planned load, by walking leg
        self._times: tuple[float, ...] = ()  # [s]
        self._standing = 0.0  # [s]
        self._cycles = 0.0  # of the gait in which the loads were summed
        self._exchange: _Exchange | None = None
        self._seen: list[_Seen] = []  # in this gait cycle

    def trimmed(self, joints: Array) -> Array:
        """Returns joint angles (n, 3) [rad] with the trims, within the limits of the joints."""
        if not any(self.heights + self.slopes):
            return joints
        rows = [
            clamp(leg.leg, (coxa, femur + turned, tibia + bent))
            for leg, (coxa, femur, tibia), height, slope in zip(
                self._legs, joints.tolist(), self.heights, self.slopes, strict=True
            )
            for turned, bent in [leg.angles(femur, tibia, height, slope)]
        ]
        return read_only(rows)

    def without_trims(self, joints: tuple[float, ...]) -> tuple[float, ...]:
        """Returns measured joint angles (3 n) [rad] as they are planned."""
        if not any(self.heights + self.slopes):
            return joints
        angles = [*joints]
        for row, (height, slope, leg) in enumerate(zip(self.heights, self.slopes, self._legs, strict=True)):
            _, femur, tibia = joints[3 * row : 3 * row + 3]
            planned = femur, tibia
            for _ in range(FIXED_POINT_STEPS if slope else 1):
                turned, bent = leg.angles(*planned, height, slope)
                planned = femur - turned, tibia - bent
            angles[3 * row + 1 : 3 * row + 3] = planned
        return tuple(angles)

    def loads_by_sag(self, sag: Sequence[float], rows: Sequence[int]) -> tuple[float, ...]:
        """Returns the loads [N] of legs (rows) under which the body gives way by `sag` [m]."""
        return tuple(self._legs[row].stiffness * z for row, z in zip(rows, sag, strict=True))

    def step(self, dt: float, tick: LoadedTick | None, most: float) -> None:
        """Compares planned and measured loads after a tick of `dt` [s]; None: they are unknown, or no feet to stand on.

        `most` is the largest trim of a foot as a share of the walk height, 0: none.
        """
        limit = most * self._robot.walk.height
        self._goal = _within(self._goal, limit)
        self._slope_goal = _within(self._slope_goal, most)
        self._move(dt)
        if most <= 0.0 or tick is None:
            self.restart()
            return
        self._past = [(tick.counted, tick.planned, tick.joints), *self._past[: tick.delay]]
        counted, planned, joints = self._past[-1]
        if len(self._sums) != len(planned):
            self._sums = self._times = (0.0,) * len(planned)
        lifted = sum(tick.measured) < MIN_LOAD_SHARE * sum(planned)  # or the sensors do not work, or it hops in a walk
        if lifted and tick.phase is None:
            self.restart()
            return
        span = 0.0 if lifted else dt
        pairs = zip(self._sums, counted, tick.measured, planned, strict=True)
        self._sums = tuple([s + span * abs(c) * (load - p) for s, c, load, p in pairs])
        self._times = tuple([time + span * abs(c) for time, c in zip(self._times, counted, strict=True)])
        self._standing = self._standing + dt if tick.phase is None else 0.0
        if self._standing > STANDING_TIME_S:
            self._update(tick.rows, STANDING_GAIN, STANDING_DEAD_ZONE_M, math.inf)
            self._clear()
        elif tick.phase is not None and self._phase is not None:
            self._note(tick, None if lifted else joints, counted, planned)
            self._cycles += (tick.phase - self._phase) % 1.0
            if self._cycles >= 1.0:
                self._end_exchange(tick.rows)
                self._update_slopes(self._gain, limit)
                self._update(tick.rows, self._gain, DEAD_ZONE_M, limit)
                self._gain = max(LAST_GAIN, GAIN_DECAY * self._gain)
                self._clear()
        self._phase = tick.phase

    def _note(self, tick: LoadedTick, joints: Array | None, counted: tuple[int, ...], planned: Sequence[float]) -> None:
        """Adds a tick in a walk to the present exchange, if the feet that count are more than a plane needs."""
        exchange = self._exchange
        if exchange is not None and counted != exchange.counted:
            self._end_exchange(tick.rows)
            exchange = None
        if joints is None or sum(map(abs, counted)) <= MIN_SUPPORTING_FEET:
            return
        if exchange is None:
            exchange = self._exchange = _Exchange(counted, [0.0] * len(counted), [0.0] * len(counted))
        exchange.ticks += 1
        rows = zip(tick.rows, tick.measured, planned, joints.tolist(), strict=True)
        for i, (row, load, plan, (_, femur, tibia)) in enumerate(rows):
            exchange.loads[i] += load - plan
            exchange.farther[i] += self._legs[row].farther(femur, tibia)

    def _end_exchange(self, rows: Sequence[int]) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is None:
            return
        at = [i for i, side in enumerate(exchange.counted) if side]
        feet = [rows[i] for i in at]
        low = self._low(feet, [exchange.loads[i] / exchange.ticks for i in at])
        late = self._low(feet, [self._legs[rows[i]].stiffness * exchange.counted[i] for i in at])
        for i, error, common in zip(at, low, late, strict=False):
            self._seen.append(_Seen(rows[i], exchange.farther[i] / exchange.ticks, error, common, exchange.ticks))

    def _update_slopes(self, gain: float, plausible: float) -> None:
        """Takes a share (0 to 1) of the slopes of the height errors back, as `_update` their means.

        Loads that change later than planned, as even ideal ones do, look as if all feet touched down high and lifted
        off low: that is left out up to USUAL_LATE.
        """
        if not self._seen or max([abs(seen.low) for seen in self._seen]) > plausible:
            return
        late = sum([seen.ticks * seen.late * seen.low for seen in self._seen])
        late /= sum([seen.ticks * seen.late**2 for seen in self._seen]) or 1.0
        usual = USUAL_LATE * GRAVITY * self._robot.mass / sum([leg.stiffness for leg in self._legs])
        late = min(max(late, -usual), usual)
        goal = [*self._slope_goal]
        for row, leg in enumerate(self._legs):
            found = [(seen.ticks, seen.farther, seen.low - late * seen.late) for seen in self._seen if seen.row == row]
            ticks = sum([count for count, _, _ in found]) or 1
            middle = sum([count * farther for count, farther, _ in found]) / ticks
            spread = sum([count * (farther - middle) ** 2 for count, farther, _ in found]) / ticks
            both = sum([count * (farther - middle) * low for count, farther, low in found]) / ticks
            goal[row] += gain * both / (spread + (MIN_REACH_CHANGE * leg.reach) ** 2)
        self._slope_goal = tuple(goal)

    def _move(self, dt: float) -> None:
        if self.heights != self._goal:
            self.heights = _towards(self.heights, self._goal, TRIM_SPEED * dt)
        if self.slopes != self._slope_goal:
            self.slopes = _towards(self.slopes, self._slope_goal, SLOPE_SPEED * dt)

    def _update(self, rows: Sequence[int], gain: float, dead_zone: float, plausible: float) -> None:
        """Takes a share (0 to 1) of the height errors back, if they exceed the dead zone [m].

        Beyond a plausible error [m] something else pulls at a foot, such as what it is caught in: nothing is learned.
        """
        if min(self._times) <= 0.0:
            return
        low = self._low(rows, [total / time for total, time in zip(self._sums, self._times, strict=True)])
        if dead_zone < max(map(abs, low), default=0.0) <= plausible:
            goal = [*self._goal]
            for row, error in zip(rows, low, strict=True):
                goal[row] += gain * error
            self._goal = tuple(goal)

    def _low(self, rows: Sequence[int], loads: Sequence[float]) -> list[float]:
        """By how much [m] feet (rows) are too low that bear more than planned by `loads` [N]; empty if unknown."""
        points = [(*self._robot.legs[row].foothold, load) for row, load in zip(rows, loads, strict=True)]
        plane = fit_plane(points)
        if plane is None:
            return []
        a, b, c = plane
        return [
            (z - a * x - b * y - c) / self._legs[row].stiffness for row, (x, y, z) in zip(rows, points, strict=True)
        ]


class HeldLoads(Copyable):
    """By how much the targets of the servos are beyond the planned angles, so that the legs bear their loads there.

    Without it the body falls back and rolls at every change of the supporting legs: a leg touches down without load,
    and gives way when the load moves to it (`holding_angles`). Feet of one side then touch early and push the others
    off the ground. Two low passes move the load over: while one leg gives it back, another takes up as much.
    """

    def __init__(self, robot: Robot) -> None:
        """Starts with all targets at the planned angles."""
        self._legs = robot.legs
        self.angles = read_only(np.zeros((len(robot.legs), 3)))  # [rad] beyond the planned ones, after both low passes
        self._first = self.angles  # ... and after the first
        self.active = False  # whether targets differ from the planned angles

    def step(self, dt: float, rows: Sequence[int], angles: Sequence[LegJoints]) -> None:
        """Moves the targets of the legs `rows` for `dt` [s] towards `angles` [rad] beyond the planned ones.

        All others return to the planned ones; so do all if both are empty.
        """
        if not rows and not self.active:
            return
        goal = np.zeros_like(self.angles)
        if rows:
            goal[list(rows)] = angles
        share = 1.0 - math.exp(-dt / HOLD_TIME_S)
        first = self._first + share * (goal - self._first)
        held = self.angles + share * (first - self.angles)
        self.active = bool(rows) or max(np.abs(held).max(), np.abs(first).max()) > NEGLIGIBLE_RAD
        self.angles = read_only(held if self.active else goal)
        self._first = read_only(first if self.active else goal)

    def applied(self, joints: Array) -> Array:
        """Returns joint angles (n, 3) [rad] beyond these, within the limits of the joints."""
        if not self.active:
            return joints
        rows = zip(self._legs, (joints + self.angles).tolist(), strict=True)
        return read_only([clamp(leg, (coxa, femur, tibia)) for leg, (coxa, femur, tibia) in rows])


def _reach(leg: Leg, femur: float, tibia: float) -> float:
    """How far [m] a foot is from the axis of its femur, horizontally, with these joint angles [rad]."""
    return leg.femur.length * math.cos(femur) + leg.tibia.length * math.cos(femur + tibia)


def _within(values: Sequence[float], most: float) -> tuple[float, ...]:
    return tuple([min(max(value, -most), most) for value in values])


def _towards(values: Sequence[float], goals: Sequence[float], change: float) -> tuple[float, ...]:
    return tuple([change_towards(now, goal, change) for now, goal in zip(values, goals, strict=True)])


def exchanging(motion: FootMotion) -> tuple[int, ...]:
    """Feet that are about to touch down or have just done so: -1; that are about to lift off or have: 1; others: 0."""
    stance_time = motion.clock.gait.stance_time
    found = []
    for foot, until in zip(motion.feet, motion.clock.until, strict=True):
        if isinstance(foot.state, Swing):
            progress = foot.state.progress
            found.append((progress <= EXCHANGE) - (progress >= 1.0 - EXCHANGE))
        else:
            planted = foot.state.planted
            found.append((planted and until <= EXCHANGE) - (planted and until >= stance_time - EXCHANGE))
    return tuple(found)
