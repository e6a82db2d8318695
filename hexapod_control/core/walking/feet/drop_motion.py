"""Drops: a foot moves to the ground outside of a swing, after a halt in mid-swing or after an early touch-down.

Its horizontal speed decreases as (1 - t)^2 over the share t of the duration; its height follows a cubic that ends at
rest. Points and heights are as in `walking.foot`.
"""

from __future__ import annotations

import math

from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.robot import Point, Vector
from hexapod_control.core.walking.foot import STANCE, Dropping, Foot

CONTACT_DELAY_S = 0.02  # from a contact to the tick that reacts to it
DROP_TIMES_S = tuple(0.1 + 0.025 * k for k in range(13))  # candidate durations of a drop after a halt
DROP_ACCELERATION = 6.0  # [m/s^2] maximum of the foot: the shortest duration that keeps it is used


def drop_after_halt(foot: Foot) -> Dropping:
    """Returns the drop of a foot in mid-swing to the ground plane, from its present position and velocity."""
    vx, vy, vz = foot.velocity
    return Dropping(_drop_time(foot.z, foot.velocity), foot.z, vz, vx, vy)


def _drop_time(height: float, velocity: Vector) -> float:
    """Returns the shortest duration [s] of a drop from a height [m] within DROP_ACCELERATION, above ground."""

    def acceleration(duration: float) -> float:
        start = 6.0 * height / duration**2 + 4.0 * vz / duration
        end = 6.0 * height / duration**2 + 2.0 * vz / duration
        return max(abs(start), abs(end), 2.0 * slide / duration)

    vx, vy, vz = velocity
    slide = math.hypot(vx, vy)
    longest = 2.5 * height / -vz if vz < 0.0 else math.inf  # with a longer one, the cubic goes below the ground
    times = [time for time in DROP_TIMES_S if time <= longest] or [max(longest, 1e-3)]
    return next((time for time in times if acceleration(time) <= DROP_ACCELERATION), min(times, key=acceleration))


def _back_to_contact(t: float, duration: float) -> float:
    """Displacement per initial speed [s] of a foot that returns to its contact, after a share t of the duration [s]."""
    return duration * t * (1.0 - t) ** 2 - CONTACT_DELAY_S * t * t * (3.0 - 2.0 * t)


def advance_drop(foot: Foot, drop: Dropping, ground_fixed: Point, dt: float, back: Pose) -> None:
    """Advances a dropping foot by `dt` [s].

    `ground_fixed` is its position at the last tick, transformed by `back` to the new base_footprint.
    """
    start = 1.0 - drop.elapsed / drop.duration
    drop.elapsed = min(drop.elapsed + dt, drop.duration)
    t = drop.elapsed / drop.duration
    end = 1.0 - t
    cosine, sine = math.cos(back.yaw), math.sin(back.yaw)
    drop.vx, drop.vy = cosine * drop.vx - sine * drop.vy, sine * drop.vx + cosine * drop.vy
    slide = drop.duration / 3.0 * (start**3 - end**3)
    if drop.touched:
        slide = _back_to_contact(t, drop.duration) - _back_to_contact(1.0 - start, drop.duration)
    foot.x, foot.y = ground_fixed[0] + slide * drop.vx, ground_fixed[1] + slide * drop.vy
    height = drop.end + end * end * ((1.0 + 2.0 * t) * drop.height + t * drop.duration * drop.vz)
    foot.velocity = (slide * drop.vx / dt, slide * drop.vy / dt, (height - foot.z) / dt)
    foot.z = height
    if t >= 1.0:
        foot.z, foot.state = drop.end, STANCE
