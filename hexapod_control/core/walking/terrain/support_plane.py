"""The plane of base_footprint follows the standing feet: their mean height quickly, their tilt slowly.

The goal is the least-squares plane through the standing feet, which is approached as by a first-order low-pass with
bounded rates and accelerations. The feet do not move in the world: when the plane moves by a slope and a height, the
height of every foot above it changes by the opposite. Height and slope are relative to base_footprint:
z = a x + b y + c [m].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.plane_fit import fit_plane
from hexapod_control.core.walking.foot import Dropping, Foot, Swing
from hexapod_control.core.workspace.twist_limits import change_towards

HEIGHT_TIME_CONSTANT_S = 0.3  # with which the plane follows the mean height of the feet ...
TILT_TIME_CONSTANT_S = 2.0  # ... and their tilt
HEIGHT_RATE, TILT_RATE = 0.1, 0.15  # [m/s, rad/s] maxima
HEIGHT_ACCELERATION, TILT_ACCELERATION = 0.5, 2.0  # [m/s^2, rad/s^2] maxima


@dataclass
class SupportPlane(Copyable):
    """The rates of the plane."""

    rates: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [1/s, 1/s, m/s] of the slopes a and b and of the height c

    def follow(self, standing: Sequence[Foot], feet: Sequence[Foot], dt: float) -> None:
        """Moves the plane towards the standing feet for `dt` [s]; updates the heights of all feet above it."""
        slope_x, slope_y, height = fit_plane([foot.at for foot in standing]) or (0.0, 0.0, 0.0)
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
                continue
            foot.x, foot.y = foot.x - along * dt * foot.z, foot.y - across * dt * foot.z
            foot.z += rise
            if isinstance(foot.state, Dropping):
                foot.state.end += rise


def _rate(rate: float, max_rate: float) -> float:
    """Returns the opposite of a rate, at most `max_rate`."""
    return change_towards(0.0, -rate, max_rate)
