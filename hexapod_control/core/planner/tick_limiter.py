"""Whatever a motion asks: no joint is too fast or jerked, no foot out of reach, no leg touches its neighbour.

Where a tick asks too much, clock and body are slowed together, so that the way of every foot stays what it was
and planted feet stay fixed in the world. What was slowed gets back to full pace over a few ticks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hexapod_control.core.kinematics.arrays import read_only
from hexapod_control.core.kinematics.leg_clearance import LegClearance, LegNeighbours
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, forward
from hexapod_control.core.kinematics.whole_body import BodyMotion, UnreachableFoot, WholeBodyPose
from hexapod_control.core.robot import Robot
from hexapod_control.core.walking.walk_controller import WalkController
from hexapod_control.core.workspace.speed_envelope import SPEED_SHARE

TRIES = 5  # of a tick at a smaller and smaller share, before the robot holds its row
SHORTEST_STEP = 1e-4  # [s] a shorter tick is none: rounding would look like speed
SLOWED = 0.97  # a tick of a smaller share than this, of what it could have had, is a slowed one
RECOVERY = 10.0  # [1/s] at which the pace comes back to one
SAME = 1e-9  # [m] that a gap may close by rounding
CRAWL = 0.05  # share below which a motion that is kept from going on as good as stands
LEAST_GAP = 0.003  # [m] between neighbouring legs
CLOSING_TIME = 0.04  # [s] in which what is left of a gap may close, at every instant
SPIN_UP = 1.0 / 30.0  # [s] from rest to no-load speed: a servo needs a quarter of its stall torque for a leg in the air


class LimitedTick(NamedTuple):
    """A tick as it may be carried out."""

    motion: BodyMotion
    frame: WholeBodyPose
    share: float  # of the tick's time
    gap: LegClearance | None = None  # between neighbouring legs after it, where it is known
    blocked: LegClearance | None = None  # the one that keeps the motion from going on


class TickLimiter:
    """Slows the ticks of one robot."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._top = [[SPEED_SHARE * joint.no_load_speed for joint in leg.joints] for leg in robot.legs]
        self._still = [(0.0, 0.0, 0.0)] * len(robot.legs)
        self._speed: list[LegJoints] = self._still  # [rad/s] of the last tick
        self._ring = LegNeighbours.of(robot)
        self._gap: LegClearance | None = None  # of the last tick
        self._share = 1.0  # of the last tick
        self._slowed = False
        self._last: WholeBodyPose | None = None

    def copy(self) -> TickLimiter:
        """An independent guard in the same state."""
        other = TickLimiter.__new__(TickLimiter)
        other.__dict__.update(self.__dict__)
        return other

    @property
    def slowed(self) -> bool:
        """True if the last tick was slowed because of a joint, a foot or a neighbouring leg."""
        return self._slowed

    @property
    def gap(self) -> LegClearance | None:
        """Where neighbouring legs were nearest to each other after the last tick."""
        return self._gap

    def forget(self) -> None:
        """The row is not the one of the last tick any more."""
        self._share, self._last, self._speed, self._gap = 1.0, None, self._still, None

    def advance(self, motion: BodyMotion, row: Sequence[LegJoints], dt: float, pace: float) -> LimitedTick:
        """The motion `dt` [s] later at most at this pace (0 to 1); `row` are the joints [rad] of the tick before."""
        share = min(pace, self._share + RECOVERY * dt)
        gap = self._gap if self._gap is not None else self._ring.gap(row)
        # Most by which a gap may close in this tick [m]; legs that were found crossed must be able to part.
        closes = math.inf if gap.distance < LEAST_GAP else (gap.distance - LEAST_GAP) * min(1.0, dt / CLOSING_TIME)
        unreached: UnreachableFoot | None = None
        blocked: LegClearance | None = None
        best: tuple[float, LimitedTick] | None = None
        for _ in range(TRIES):
            tried = motion.copy()
            found = tried.advance(share * dt, row)
            speed = _speed(row, found.joints, dt)
            if found.unreached:
                unreached = found.unreached
                share *= 0.5
                continue
            excess = self._speed_ratio(speed)
            if excess > 1.0:
                share *= 0.98 / excess
                continue
            now = self._ring.gap(found.joints)
            if gap.distance - now.distance > closes + SAME:
                blocked = now
                share *= max(0.95 * closes / (gap.distance - now.distance), 0.1)
                continue
            jerk = self._acceleration_ratio(speed, dt)
            if best is None or jerk < best[0]:
                best = jerk, LimitedTick(tried, found, share, now)
            if jerk <= 1.0:
                break
            share *= 0.6
        guarded = best[1] if best is not None else self._held(motion, row, dt, unreached)
        if blocked is not None and guarded.share < CRAWL:
            guarded = guarded._replace(blocked=blocked)
        self._gap = guarded.gap
        self._slowed = guarded.share < SLOWED * min(pace, self._share + RECOVERY * dt)
        self._share, self._last, self._speed = guarded.share, guarded.frame, _speed(row, guarded.frame.joints, dt)
        return guarded

    def _held(
        self, motion: BodyMotion, row: Sequence[LegJoints], dt: float, unreached: UnreachableFoot | None
    ) -> LimitedTick:
        """As `advance` where no share of the tick will do: feet and clock stand, the body pose goes back to neutral.

        Joints are clamped to what they reach meanwhile, and the foot targets are where those joints put the feet.
        """
        share = 1.0
        for _ in range(TRIES):
            tried = motion.copy()
            if not isinstance(tried, WalkController):
                break
            found = tried.retreat(share * dt, row)
            excess = self._speed_ratio(_speed(row, found.joints, dt))
            if excess <= 1.0:
                feet = forward(self._robot, read_only(found.joints)).tolist()
                found = found._replace(centres=[(x, y, z) for x, y, z in feet], unreached=unreached)
                return LimitedTick(tried, found, 0.0)
            share *= 0.9 / excess
        last = self._last if self._last is not None else motion.copy().advance(SHORTEST_STEP, row)
        return LimitedTick(motion, last._replace(joints=list(row), unreached=unreached), 0.0)

    def _speed_ratio(self, speeds: Sequence[LegJoints]) -> float:
        """Greatest joint speed [rad/s] over its limit."""
        worst = 0.0
        for (a, b, c), (t0, t1, t2) in zip(speeds, self._top, strict=True):
            worst = max(worst, abs(a) / t0, abs(b) / t1, abs(c) / t2)
        return worst

    def _acceleration_ratio(self, speeds: Sequence[LegJoints], dt: float) -> float:
        """Greatest change of a joint's speed [rad/s] in a tick over its limit."""
        worst = 0.0
        for (a0, b0, c0), (a1, b1, c1), (t0, t1, t2) in zip(self._speed, speeds, self._top, strict=True):
            worst = max(worst, abs(a1 - a0) / t0, abs(b1 - b0) / t1, abs(c1 - c0) / t2)
        return worst * SPEED_SHARE * SPIN_UP / dt


def _speed(before: Sequence[LegJoints], after: Sequence[LegJoints], dt: float) -> list[LegJoints]:
    """Joint speeds [rad/s] between two rows."""
    return [
        ((b0 - a0) / dt, (b1 - a1) / dt, (b2 - a2) / dt)
        for (a0, a1, a2), (b0, b1, b2) in zip(before, after, strict=True)
    ]
