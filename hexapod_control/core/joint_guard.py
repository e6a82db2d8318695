"""Whatever a motion asks: no joint is too fast, no foot out of reach.

Where a tick asks too much, clock and body are slowed together, so that the way of every foot stays what it was
and planted feet stay fixed in the world. What was slowed gets back to full pace over a few ticks: a joint that
doubled its speed from one tick to the next would be a jerk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hexapod_control.core.frame import Frame, Motion, Unreached
from hexapod_control.core.kinematics import Row, forward, read_only
from hexapod_control.core.limits import SPEED_SHARE
from hexapod_control.core.robot import Robot
from hexapod_control.core.walk import Walk

TRIES = 5  # of a tick at a smaller and smaller share, before the robot holds its row
SHORTEST_STEP = 1e-4  # [s] a shorter tick is none: rounding would look like speed
RECOVERY = 10.0  # [1/s] at which the pace comes back to one


class Guarded(NamedTuple):
    """A tick as it may be carried out."""

    motion: Motion
    frame: Frame
    share: float  # of the tick's time


class JointGuard:
    """Slows the ticks of one robot."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._top = [[SPEED_SHARE * joint.no_load_speed for joint in leg.joints] for leg in robot.legs]
        self._share = 1.0  # of the last tick
        self._last: Frame | None = None

    def copy(self) -> JointGuard:
        """An independent guard in the same state."""
        other = JointGuard.__new__(JointGuard)
        other.__dict__.update(self.__dict__)
        return other

    def forget(self) -> None:
        """The row is not the one of the last tick any more."""
        self._share, self._last = 1.0, None

    def advance(self, motion: Motion, row: Sequence[Row], dt: float, pace: float) -> Guarded:
        """The motion `dt` [s] later at most at this pace (0 to 1); `row` are the joints [rad] of the tick before."""
        share = min(pace, self._share + RECOVERY * dt)
        unreached: Unreached | None = None
        for _ in range(TRIES):
            tried = motion.copy()
            found = tried.advance(share * dt, row)
            excess = self._speed_ratio(row, found.joints, dt)
            if found.unreached:
                unreached = found.unreached
                share *= 0.5
            elif excess > 1.0:
                share *= 0.98 / excess
            else:
                self._share, self._last = share, found
                return Guarded(tried, found, share)
        held = self._held(motion, row, dt, unreached)
        self._share, self._last = 0.0, held.frame
        return held

    def _held(self, motion: Motion, row: Sequence[Row], dt: float, unreached: Unreached | None) -> Guarded:
        """As `advance` where no share of the tick will do: feet and clock stand, the body pose goes back to neutral.

        Joints are clamped to what they reach meanwhile, and the foot targets are where those joints put the feet.
        """
        share = 1.0
        for _ in range(TRIES):
            tried = motion.copy()
            if not isinstance(tried, Walk):
                break
            found = tried.retreat(share * dt, row)
            excess = self._speed_ratio(row, found.joints, dt)
            if excess <= 1.0:
                feet = forward(self._robot, read_only(found.joints)).tolist()
                found = found._replace(centres=[(x, y, z) for x, y, z in feet], unreached=unreached)
                return Guarded(tried, found, 0.0)
            share *= 0.9 / excess
        last = self._last if self._last is not None else motion.copy().advance(SHORTEST_STEP, row)
        return Guarded(motion, last._replace(joints=list(row), unreached=unreached), 0.0)

    def _speed_ratio(self, before: Sequence[Row], after: Sequence[Row], dt: float) -> float:
        """Greatest joint speed over its limit."""
        worst = 0.0
        for (a0, a1, a2), (b0, b1, b2), (t0, t1, t2) in zip(before, after, self._top, strict=True):
            worst = max(worst, abs(b0 - a0) / t0, abs(b1 - a1) / t1, abs(b2 - a2) / t2)
        return worst / dt
