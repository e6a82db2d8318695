# SPDX-License-Identifier: Apache-2.0
"""Body levelling: integral control of a tilt added to the body pose, until the IMU measures the requested attitude.

The tilt is the integral of the error, with bounded rate and acceleration. It is limited to MAX_TILT and to the reach of
the legs; before it grows, the stance regions shrink as for a pose. Without an IMU it fades to zero. Roll and pitch are
in [rad], as in `BodyPose`: + pitch is nose down.
See docs/architecture/walking-mathematics.md, "Terrain adaptation".
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.walking.body.pose_feasibility import PoseFeasibility
from hexapod_control.core.walking.foot import Foot
from hexapod_control.core.workspace.stance_regions import REGION_SHARES
from hexapod_control.core.workspace.twist_limits import change_towards

MAX_TILT = math.radians(10.0)  # [rad] of roll and pitch together
GAIN = 2.0  # [1/s] rate of the tilt per error
RATE = 0.35  # [rad/s] maximum rate of the tilt
ACCELERATION = 2.0  # [rad/s^2] maximum change of that rate
# [rad/s, rad/s^2] of the return to zero: 10 deg in 0.3 s
FADE_RATE = 1.2
FADE_ACCELERATION = 10.0
TILT_GRID = math.radians(1.0)  # [rad] resolution of the tilt for which the region share is computed
REGION_SHARE_RATE = 0.5  # [1/s] at which the region share may change; strides get shorter first
MIN_REGION_SHARE = 0.6  # below which the tilt does not grow

Tilt = tuple[float, float]
"""Roll and pitch [rad]."""

LEVEL: Tilt = (0.0, 0.0)


class BodyLevelling(Copyable):
    """The tilt and its rates; the object exists from the first measured attitude until the tilt has faded to zero."""

    def __init__(self) -> None:
        """Starts without tilt."""
        self.measured: Tilt | None = None  # [rad] of the body in the world; None: not known
        self.tilt = LEVEL
        self._rates = LEVEL  # [rad/s]
        self.region_share = REGION_SHARES[0]  # that the tilt leaves

    @property
    def faded(self) -> bool:
        """True if no attitude is measured and the tilt is zero."""
        return self.measured is None and self.tilt == LEVEL

    def slope(self, pose: BodyPose) -> Tilt:
        """Returns roll and pitch [rad] of the ground under a body in this pose; level if no attitude is measured."""
        if self.measured is None:
            return LEVEL
        return self.measured[0] - pose.roll - self.tilt[0], self.measured[1] - pose.pitch - self.tilt[1]

    def applied_to(self, pose: BodyPose) -> BodyPose:
        """Returns a pose with the tilt added."""
        return _tilted(pose, self.tilt)

    def step(self, dt: float, pose: BodyPose, feasibility: PoseFeasibility, feet: Sequence[Foot]) -> None:
        """Advances the tilt by `dt` [s], as far as all feet stay in reach with it and a pose."""
        if self.measured is None:
            self._fade(dt)
            return
        (roll, pitch), (measured_roll, measured_pitch) = self.tilt, self.measured
        goal = (roll + pose.roll - measured_roll, pitch + pose.pitch - measured_pitch)
        size = math.hypot(*goal)
        factor = MAX_TILT / size if size > MAX_TILT else 1.0
        errors = [factor * end - now for now, end in zip(self.tilt, goal, strict=True)]
        wanted = [min(max(GAIN * error, -RATE), RATE) for error in errors]
        rates = _rates_towards(self._rates, wanted, ACCELERATION * dt)
        rest = _at_rest(self.tilt, rates, dt)
        share = feasibility.tilted_region_share(_tilted(pose, _on_grid(rest)))
        if share >= MIN_REGION_SHARE:
            self.region_share = change_towards(self.region_share, share, REGION_SHARE_RATE * dt)
        if share < MIN_REGION_SHARE or not feasibility.all_feet_reachable(_tilted(pose, rest), feet):
            rates = _rates_towards(self._rates, LEVEL, ACCELERATION * dt)
        self._move(rates, dt)

    def _move(self, rates: Tilt, dt: float) -> None:
        self.tilt = (self.tilt[0] + dt * rates[0], self.tilt[1] + dt * rates[1])
        self._rates = rates

    def _fade(self, dt: float) -> None:
        """Returns the tilt to zero for `dt` [s], with bounded rate and acceleration."""
        wanted = [
            -math.copysign(min(FADE_RATE, math.sqrt(2.0 * FADE_ACCELERATION * abs(t)), abs(t) / dt), t)
            for t in self.tilt
        ]
        self._move(_rates_towards(self._rates, wanted, FADE_ACCELERATION * dt), dt)
        slow = FADE_ACCELERATION * dt
        if max(map(abs, self.tilt)) < 1e-5 and max(map(abs, self._rates)) <= slow:
            self.tilt = LEVEL
            self._rates = LEVEL
            self.region_share = REGION_SHARES[0]

    def retreat(self, dt: float) -> None:
        """Reduces the tilt towards zero for `dt` [s]."""
        size = math.hypot(*self.tilt)
        share = max(0.0, 1.0 - RATE * dt / size) if size else 0.0
        self.tilt = (share * self.tilt[0], share * self.tilt[1])
        self._rates = LEVEL


def _tilted(pose: BodyPose, tilt: Tilt) -> BodyPose:
    return pose._replace(roll=pose.roll + tilt[0], pitch=pose.pitch + tilt[1])


def _rates_towards(now: Tilt, goal: Sequence[float], max_change: float) -> Tilt:
    """Returns the rates [rad/s] after a change of at most `max_change` [rad/s] towards the goal."""
    return change_towards(now[0], goal[0], max_change), change_towards(now[1], goal[1], max_change)


def _at_rest(tilt: Tilt, rates: Tilt, dt: float) -> Tilt:
    """Returns the tilt [rad] at which the body can come to rest after a tick of `dt` [s] with these rates [rad/s]."""
    roll, pitch = (t + r * (dt + abs(r) / (2.0 * ACCELERATION)) for t, r in zip(tilt, rates, strict=True))
    return roll, pitch


def _on_grid(tilt: Tilt) -> Tilt:
    """Rounds a tilt [rad] to the grid, so that an almost level body needs no smaller regions."""
    roll, pitch = (round(t / TILT_GRID) * TILT_GRID for t in tilt)
    return roll, pitch
