# SPDX-License-Identifier: Apache-2.0
"""Restores a static margin that is too small: the walk slows down, the body shifts, then the gait changes.

While the static margin of a tick is smaller than required,
1. the walk slows down, to SLOWEST_SHARE of its speed;
2. then the body shifts away from the nearest edge of the support polygon, by at most MAX_SHIFT;
3. then, at most every GAIT_CHANGE_INTERVAL_S, the gait changes to the one with the next greater duty factor.
Each measure is exhausted before the next begins. After SETTLED_TIME_S with a margin that is larger by RELEASE_MARGIN,
shift and speed are undone in reverse order and more slowly; the gait stays until another one is requested.
See docs/architecture/walking-mathematics.md, "Static stability and margin recovery".
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.robot import Point

SLOWEST_SHARE = 0.5  # lowest share of the speed
SLOWING_RATE = 1.0  # [1/s]
SHIFT_SPEED = 0.02  # [m/s]
MAX_SHIFT = 0.03  # [m]
SETTLED_TIME_S = 2.0  # with sufficient margin, before measures are undone
RELEASE_MARGIN = 0.005  # [m] by which the margin must exceed the required one in that time
RELEASE_RATE = 0.25  # share of SLOWING_RATE and SHIFT_SPEED, at which measures are undone
SHIFT_DEADBAND = 0.002  # [m] smaller changes of the shift are not passed on to the body
GAIT_CHANGE_INTERVAL_S = 3.0  # minimum time between two gait changes because of the margin
NO_SHIFT = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class RecoveryMeasures:
    """The active measures."""

    speed_share: float = 1.0  # of the speed
    shift: Point = NO_SHIFT  # [m] shift of the body in base_footprint
    settled: float = 0.0  # [s] for which the margin has been sufficient
    lowest: float = math.inf  # [m] smallest margin in that time

    @property
    def exhausted(self) -> bool:
        """True if speed and shift are at their limits."""
        return self.speed_share <= SLOWEST_SHARE and math.hypot(*self.shift) >= MAX_SHIFT - 1e-9

    def after(self, dt: float, margin: float, required_margin: float, inward: Point) -> RecoveryMeasures:
        """Returns the measures `dt` [s] later for a margin [m]; `inward` is a unit vector into the polygon."""
        if margin >= required_margin:
            return self._released(dt, margin, required_margin)
        # One measure at a time: slowing down costs nothing, a shift moves all joints, and often it is not needed.
        if self.speed_share > SLOWEST_SHARE:
            share = max(SLOWEST_SHARE, self.speed_share - SLOWING_RATE * dt)
            return replace(self, speed_share=share, settled=0.0, lowest=math.inf)
        x = self.shift[0] + SHIFT_SPEED * dt * inward[0]
        y = self.shift[1] + SHIFT_SPEED * dt * inward[1]
        size = math.hypot(x, y)
        factor = MAX_SHIFT / size if size > MAX_SHIFT else 1.0
        return replace(self, shift=(factor * x, factor * y), settled=0.0, lowest=math.inf)

    def _released(self, dt: float, margin: float, required_margin: float) -> RecoveryMeasures:
        """Returns the measures `dt` [s] later if the margin [m] is sufficient."""
        # The margin swings with every step: only the smallest one of several cycles says that less will do.
        settled = self.settled + dt
        lowest = min(self.lowest, margin)
        if settled < SETTLED_TIME_S or (self.speed_share >= 1.0 and self.shift == NO_SHIFT):
            return replace(self, settled=settled, lowest=lowest)
        if lowest < required_margin + RELEASE_MARGIN:
            return replace(self, settled=0.0, lowest=math.inf)
        size = math.hypot(*self.shift)
        if size > 0.0:  # towards the middle, whatever edge it was shifted away from
            factor = max(0.0, 1.0 - RELEASE_RATE * SHIFT_SPEED * dt / size)
            return replace(self, shift=(factor * self.shift[0], factor * self.shift[1]), settled=settled, lowest=lowest)
        share = min(1.0, self.speed_share + RELEASE_RATE * SLOWING_RATE * dt)
        return replace(self, speed_share=share, settled=settled, lowest=lowest)


class MarginRecovery(Copyable):
    """Updates the measures every tick, and decides when the body has to shift and the gait to change."""

    _since_gait_change: float  # [s]
    external_speed_share: float  # limit of the speed share for another reason than the margin
    measures: RecoveryMeasures
    requested_shift: Point  # [m] requested from the body
    required_margin: float  # [m]; 0 disables all measures

    def __init__(self) -> None:
        """Starts without measures."""
        self.measures = RecoveryMeasures()
        self.required_margin = 0.0
        self.external_speed_share = 1.0
        self.requested_shift = NO_SHIFT
        self._since_gait_change = 0.0

    @property
    def speed_share(self) -> float:
        """Share (0 to 1) of the speed at which the robot may walk."""
        return min(self.measures.speed_share, self.external_speed_share)

    def update(self, dt: float, margin: float, inward: Point) -> bool:
        """Processes the margin [m] of the last tick. Returns True if `requested_shift` has changed."""
        self.measures = self.measures.after(dt, margin, self.required_margin, inward)
        shift = self.measures.shift
        # The end of a release is exact, however small the last change: else a rest of it would stay for ever.
        released = shift == NO_SHIFT and self.requested_shift != NO_SHIFT
        if released or math.dist(shift, self.requested_shift) > SHIFT_DEADBAND:
            self.requested_shift = shift
            return True
        return False

    def safer_gait(self, dt: float, margin: float, gait: Gait, gaits: Iterable[Gait]) -> Gait | None:
        """Returns the gait with the next greater duty factor if the margin [m] requires it, else None.

        Call it once per tick of `dt` [s]. A change is required if the other measures are exhausted, and the last change
        of gait was long enough ago.
        """
        self._since_gait_change += dt
        sufficient = margin >= self.required_margin or not self.measures.exhausted
        if sufficient or self._since_gait_change <= GAIT_CHANGE_INTERVAL_S:
            return None
        self._since_gait_change = 0.0  # also without a safer gait: it is not looked for in every tick
        safer = (other for other in gaits if other.duty_factor > gait.duty_factor)
        return min(safer, key=lambda other: other.duty_factor, default=None)
