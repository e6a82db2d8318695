"""The plane of base_footprint follows the feet that stand: their mean height quickly, their tilt slowly.

The plane is the least-squares plane through the standing feet; it is approached as by a first-order lag with bounded
rates and accelerations. The feet do not move for that: moving the plane by a slope and a height changes the height of
every foot above it by the opposite amount. Height and slope are those over base_footprint: z = a x + b y + c [m].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hexapod_control.core.kinematics.plane_fit import fit_plane
from hexapod_control.core.walking.foot import Dropping, Foot, Swing

HEIGHT_TIME_CONSTANT_S = 0.3  # with which the plane follows the mean height of the feet ...
TILT_TIME_CONSTANT_S = 2.0  # ... and their tilt
HEIGHT_RATE, TILT_RATE = 0.1, 0.15  # [m/s, rad/s] at which the plane moves at most
HEIGHT_ACCELERATION, TILT_ACCELERATION = 0.5, 2.0  # [m/s^2, rad/s^2]


@dataclass(slots=True)
class SupportPlane:
    """How fast the plane moves."""

    rates: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [1/s, 1/s, m/s] of the heights over x, over y, and of all

    def follow(self, standing: Sequence[Foot], feet: Sequence[Foot], dt: float) -> None:
        """Moves the plane towards the feet that stand for `dt` [s], which shows in the heights of all feet."""
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


def change_towards(now: float, wanted: float, most: float) -> float:
    """What comes nearest to the value wanted with a change of at most `most`."""
    return now + min(max(wanted - now, -most), most)


def _rate(error: float, most: float) -> float:
    """The rate that takes an error [1/s, m/s] back, at most `most`."""
    return change_towards(0.0, -error, most)
