# SPDX-License-Identifier: Apache-2.0
"""The plane of base_footprint, which follows the feet of a robot that feels the ground."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.fits import fit_plane
from hexapod_control.core.robot import Vector
from hexapod_control.core.walking.foot import Dropping, Foot, Swing
from hexapod_control.core.workspace.twist_limits import change_towards

WITHIN = 0.9  # of the greatest distance of feet from the plane, in which it keeps all of them
HEIGHT_TIME_CONSTANT_S = 0.3  # with which the plane follows the mean height of the feet ...
TILT_TIME_CONSTANT_S = 2.0  # ... and their tilt
# [m/s, rad/s] maxima
HEIGHT_RATE = 0.1
TILT_RATE = 0.15
# [m/s^2, rad/s^2] maxima
HEIGHT_ACCELERATION = 0.5
TILT_ACCELERATION = 2.0


@dataclass
class SupportPlane(Copyable):
    """The rates of the plane."""

    rates: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [1/s, 1/s, m/s] of the slopes a and b and of the height c

    def follow(
        self, points: Sequence[tuple[float, Vector]], feet: Sequence[Foot], dt: float, most: float = math.inf
    ) -> None:
        """Moves the plane towards weighted points [m] for `dt` [s]; updates the heights of all feet above it.

        No point is to be farther than `most` [m] above or below it, or the highest is to be as far as the lowest.
        """
        slope_x, slope_y, height = fit_plane([at for _, at in points], [weight for weight, _ in points]) or (0.0,) * 3
        heights = [z for _, (_, _, z) in points]
        if most < math.inf and heights:
            low = max(heights) - most
            high = min(heights) + most
            height = min(max(height, low), high) if low < high else 0.5 * (low + high)
        x, y, z = self.rates
        self.rates = along, across, up = (
            change_towards(x, _rate(slope_x / TILT_TIME_CONSTANT_S, TILT_RATE), TILT_ACCELERATION * dt),
            change_towards(y, _rate(slope_y / TILT_TIME_CONSTANT_S, TILT_RATE), TILT_ACCELERATION * dt),
            change_towards(z, _rate(height / HEIGHT_TIME_CONSTANT_S, HEIGHT_RATE), HEIGHT_ACCELERATION * dt),
        )
        for foot in feet:
            rise = (along * foot.x + across * foot.y + up) * dt
            if isinstance(foot.state, Swing):
                foot.state.base += rise
                x, y, z = foot.state.origin
                foot.state.origin = x, y, z + rise
                if foot.state.end is not None:
                    foot.state.end += rise
                continue
            foot.x = foot.x - along * dt * foot.z
            foot.y = foot.y - across * dt * foot.z
            foot.z += rise
            if isinstance(foot.state, Dropping):
                foot.state.end += rise


def _rate(rate: float, max_rate: float) -> float:
    """Returns the opposite of a rate, at most `max_rate`."""
    return change_towards(0.0, -rate, max_rate)
