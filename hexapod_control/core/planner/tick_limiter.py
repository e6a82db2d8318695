# SPDX-License-Identifier: Apache-2.0
"""Tick limiting (time scaling): keeps every motion within joint speeds and accelerations, reach, and leg clearance.

Where a tick of dt would exceed a limit, the motion is advanced by a share of dt instead: body, feet and gait clock slow
down together, so every foot stays on its path and planted feet stay fixed in the world. The share is found by
iteration: a copy of the motion is advanced and checked against four limits in turn (reach, joint speed, closing speed
of neighbouring legs, change of joint speed); each violation gives the next, smaller share. The first three limits are
hard; of the attempts within them, the one with the smallest change of joint speed is used. If there is none, feet and
clock stand still while the body returns to its neutral pose, and as a last resort the robot holds. Afterwards the share
returns to 1 over a few ticks. See docs/architecture/walking-mathematics.md, "Tick limiter".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from operator import sub, truediv
from typing import Generic, NamedTuple, TypeVar

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.arrays import read_only
from hexapod_control.core.kinematics.leg_clearance import LegClearance, LegNeighbours
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, forward
from hexapod_control.core.kinematics.whole_body import BodyMotion, UnreachableFoot, WholeBodyPose
from hexapod_control.core.robot import Robot
from hexapod_control.core.workspace.swing_limits import SPEED_SHARE

MAX_ATTEMPTS = 5  # of a tick with decreasing shares, before the robot holds
MIN_TICK_S = 1e-4  # [s] a shorter tick is ignored: rounding errors would look like speed
SLOWED_SHARE = 0.97  # of the possible share, below which a tick counts as slowed
SHARE_RECOVERY_RATE = 10.0  # [1/s] at which the share returns to 1
CLOSING_TOLERANCE_M = 1e-9  # for rounding
BLOCKED_SHARE = 0.05  # share below which a motion slowed by a neighbouring leg counts as blocked
HELD_SPEED = 1e-3  # [rad/s] of a joint, below which it does not move
MIN_LEG_GAP_M = 0.003  # [m] between neighbouring legs
GAP_TOLERANCE_M = 0.0005  # below MIN_LEG_GAP_M, within which legs still keep their gap
MAX_BLOCKED_TIME_S = 0.5  # after which legs that block each other count as deadlocked
CLOSING_TIME_S = 0.04  # in which the remaining gap would close at the highest permitted closing speed
SPIN_UP_TIME_S = 1.0 / 30.0  # from rest to no-load speed: takes a quarter of the stall torque with a lifted leg
# Factors on the share for the next attempt. Speeds are not quite proportional to the share, so it becomes a little
# smaller than in proportion.
UNREACHED_FACTOR = 0.5  # after a foot out of reach: the excess does not determine the share
SPEED_FACTOR = 0.98  # after a joint that was too fast
# after a gap that closed too fast; at least the latter
CLOSING_FACTOR = 0.95
MIN_CLOSING_FACTOR = 0.1
ACCELERATION_FACTOR = 0.6  # after a joint that changed its speed too much, which is not proportional to the share
RETREAT_FACTOR = 0.9  # after a joint that was too fast in a retreat, which is less linear

AnyMotion = TypeVar("AnyMotion", bound=BodyMotion)


class _Attempt(NamedTuple, Generic[AnyMotion]):
    """A tick that violates no hard limit."""

    motion: AnyMotion
    pose: WholeBodyPose
    speeds: list[float]  # [rad/s] of the joints, leg by leg
    share: float  # of the time step
    gap: LegClearance | None  # smallest between neighbouring legs afterwards; None: unknown
    change: float  # maximum change of a joint's speed over its limit


class TickLimiter(Copyable):
    """Limits the ticks of one robot, starting from the joint speeds and the share of the last tick."""

    def __init__(self, robot: Robot) -> None:
        """Starts at rest, with the full share."""
        self._robot = robot
        self._max_speeds = [SPEED_SHARE * joint.no_load_speed for leg in robot.legs for joint in leg.joints]  # [rad/s]
        self._neighbours = LegNeighbours.of(robot)
        self._speeds: list[float] = []  # [rad/s] of the last tick; empty: at rest
        self._last: WholeBodyPose | None = None
        self.gap: LegClearance | None = None  # smallest gap between neighbouring legs after the last tick
        self.blocked: LegClearance | None = None  # the two legs that blocked the last tick
        self.time_share = 1.0  # of its time step by which the last tick advanced
        self.deadlock: LegClearance | None = None  # for one tick: two legs that have blocked each other for too long
        self._blocked_time = 0.0  # [s] for which legs have blocked each other, at most since the last deadlock
        self.held_time = 0.0  # [s] for which nothing has moved although a motion was to advance
        self.slowed = False  # whether the last tick was slowed by a joint, a foot or a neighbouring leg

    def reset(self) -> None:
        """Discards the last tick, after the joints were moved otherwise."""
        self.time_share = 1.0
        self._last = None
        self._speeds = []
        self.gap = None
        self._blocked_time = 0.0
        self.held_time = 0.0

    def advance(
        self, motion: AnyMotion, joints: Sequence[LegJoints], dt: float, pace: float
    ) -> tuple[AnyMotion, WholeBodyPose]:
        """Returns the motion `dt` [s] later, at most at a pace (0 to 1), and the pose of the robot then.

        `joints` (n, 3) [rad] are those of the last tick. The argument `motion` is not modified.
        """
        max_share = share = min(pace, self.time_share + SHARE_RECOVERY_RATE * dt)
        gap = self.gap if self.gap is not None else self._neighbours.gap(joints)
        closing = _max_closing(gap, dt)
        unreached: UnreachableFoot | None = None
        blocked: LegClearance | None = None
        best: _Attempt[AnyMotion] | None = None
        for _ in range(MAX_ATTEMPTS):
            tried = motion.copy()
            pose = tried.advance(share * dt, joints)
            if pose.unreached:
                unreached = pose.unreached
                share *= UNREACHED_FACTOR
                continue
            speeds = _speeds(joints, pose.joints, dt)
            excess = self._speed_ratio(speeds)
            if excess > 1.0:
                share *= SPEED_FACTOR / excess
                continue
            now = self._neighbours.gap(pose.joints)
            if gap.distance - now.distance > closing + CLOSING_TOLERANCE_M:
                blocked = now
                share *= max(CLOSING_FACTOR * closing / (gap.distance - now.distance), MIN_CLOSING_FACTOR)
                continue
            change = self._acceleration_ratio(speeds, dt)
            if best is None or change < best.change:
                best = _Attempt(tried, pose, speeds, share, now, change)
            if change <= 1.0:
                break
            share *= ACCELERATION_FACTOR
        if best is None:
            best = self._retreat(motion, joints, dt, unreached) or self._hold(motion, joints, unreached)
        self.blocked = blocked if best.share < BLOCKED_SHARE else None
        self._note_tick(best, dt, pace, max_share)
        return best.motion, best.pose

    def _note_tick(self, best: _Attempt[AnyMotion], dt: float, pace: float, max_share: float) -> None:
        """Updates what the next tick starts from, and how long nothing has moved, after a tick of `dt` [s]."""
        self._blocked_time = self._blocked_time + dt if self.blocked is not None else 0.0
        self.deadlock = self.blocked if self._blocked_time > MAX_BLOCKED_TIME_S else None
        if self.deadlock is not None:
            self._blocked_time = 0.0
        held = best.share < BLOCKED_SHARE * pace and max(map(abs, best.speeds)) < HELD_SPEED
        self.held_time = self.held_time + dt if held else 0.0
        self.gap = best.gap
        self.slowed = best.share < SLOWED_SHARE * max_share
        self.time_share = best.share
        self._last = best.pose
        self._speeds = best.speeds

    def _retreat(
        self, motion: AnyMotion, joints: Sequence[LegJoints], dt: float, unreached: UnreachableFoot | None
    ) -> _Attempt[AnyMotion] | None:
        """Returns an attempt in which feet and clock stand still while the body returns to its neutral pose, or None.

        Joints are clamped to their limits, and the foot targets follow from them by forward kinematics.
        """
        share = 1.0
        for _ in range(MAX_ATTEMPTS):
            tried = motion.copy()
            pose = tried.retreat(share * dt, joints)
            if pose is None:
                return None
            speeds = _speeds(joints, pose.joints, dt)
            excess = self._speed_ratio(speeds)
            if excess <= 1.0:
                feet = forward(self._robot, read_only(pose.joints)).tolist()
                pose = pose._replace(centers=[(x, y, z) for x, y, z in feet], unreached=unreached)
                return _Attempt(tried, pose, speeds, 0.0, None, math.inf)
            share *= RETREAT_FACTOR / excess
        return None

    def _hold(
        self, motion: AnyMotion, joints: Sequence[LegJoints], unreached: UnreachableFoot | None
    ) -> _Attempt[AnyMotion]:
        """Returns an attempt in which nothing moves."""
        last = self._last if self._last is not None else motion.copy().advance(MIN_TICK_S, joints)
        pose = last._replace(joints=list(joints), unreached=unreached)
        return _Attempt(motion, pose, [0.0] * len(self._max_speeds), 0.0, None, math.inf)

    def _speed_ratio(self, speeds: Sequence[float]) -> float:
        """Maximum of the joint speeds [rad/s] over their limits."""
        return max(map(truediv, map(abs, speeds), self._max_speeds))

    def _acceleration_ratio(self, speeds: Sequence[float], dt: float) -> float:
        """Maximum of the changes of the joint speeds [rad/s] in a tick of `dt` [s] over their limits."""
        changes = map(sub, speeds, self._speeds) if self._speeds else speeds
        return self._speed_ratio(list(changes)) * SPEED_SHARE * SPIN_UP_TIME_S / dt


def _max_closing(gap: LegClearance, dt: float) -> float:
    """Maximum decrease [m] of a gap in a tick of `dt` [s]; unlimited for legs that were too close from the start."""
    if gap.distance < MIN_LEG_GAP_M - GAP_TOLERANCE_M:
        return math.inf
    return max(gap.distance - MIN_LEG_GAP_M, 0.0) * min(1.0, dt / CLOSING_TIME_S)


def _speeds(before: Sequence[LegJoints], after: Sequence[LegJoints], dt: float) -> list[float]:
    """Joint speeds [rad/s], leg by leg, between two sets of joint angles (n, 3) [rad]."""
    angles = zip(chain.from_iterable(before), chain.from_iterable(after), strict=True)
    return [(b - a) / dt for a, b in angles]
