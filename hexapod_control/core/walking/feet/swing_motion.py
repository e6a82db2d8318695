"""Swing motion: a foot moves to its aim, the point at which its next stance starts.

That stance is centered on the stride center of the leg for the present twist: the aim is this center, moved along the
twist for half the planned stance time and clamped to the stride region. It is updated every tick until AIM_FROZEN of
the swing, at most at AIM_SPEED, and then fixed in the world. In each tick the foot covers the share of the remaining
distance that makes its travel follow the profile of `gait.swing_trajectory`, as does its lift. A slow foot first passes
its aim by a little and returns to it: else friction would keep it behind its aim at touch-down, and the first part of
the stance would only turn the deflection of the servos round instead of moving the body. Points are contact points
(x, y) [m] in base_footprint. See docs/architecture/walking-mathematics.md, "Swing".
"""

from __future__ import annotations

import math
from typing import NamedTuple

from hexapod_control.core.gait.swing_trajectory import AIM_FROZEN, SMOOTH, lift, smooth_travel
from hexapod_control.core.kinematics.se2 import Pose, Twist, moved_point
from hexapod_control.core.robot import Point
from hexapod_control.core.walking.feet.region_guard import clamp_to_disc
from hexapod_control.core.walking.foot import STANCE, Foot, Swing
from hexapod_control.core.workspace.strides.stride_regions import Strides

LANDING = 0.97  # share of the radius of the stride region in which a foot touches down
AIM_SPEED = 1.0  # [m/s] maximum speed of the aim over the ground: a body that brakes must not jerk a foot in flight
RETURN_SHARE = 0.08  # of the way of the body in a swing, by which a foot moves back before it touches down
LEAD_TIME = 1.0  # [s] maximum lead over the speed of the body: the lead vanishes with the speed
LANDED = 1.0 - 1e-9  # progress at which a swing ends; below 1, so that rounding does not prolong it by a tick


class BodyTick(NamedTuple):
    """The body's motion in one tick."""

    dt: float  # [s]
    twist: Twist
    swing_time: float  # [s]
    back: Pose  # of the old base_footprint in the new one: it transforms points that are fixed in the world
    slack: float = 0.0  # [m] by which a target has to return before its foot follows it, see `friction_lag`


def advance_swing(
    foot: Foot, swing: Swing, ground_fixed: Point, progress: float, tick: BodyTick, strides: Strides, leg: int
) -> None:
    """Advances a swinging foot to a progress in [0, 1]; at the end, the swing becomes a stance.

    `ground_fixed` is its position at the last tick, in the new base_footprint; `leg` is its row.
    """
    dt, twist, swing_time, back, _ = tick
    before, begins, timing = swing.progress, swing.begins, swing.timing
    remaining = (1.0 - progress) * swing_time  # [s]
    lag, swing.lag = swing.lag, swing.lag + (1.0 - swing.travel_rate) * (progress - before)
    if begins:
        foot.region = strides.regions[leg]
    disc, aimed = strides.disc(leg, foot.region), back.apply(*swing.aim)
    if progress - lag < AIM_FROZEN * timing.travel_end or begins:
        x, y = moved_point(twist, 0.5 * swing.stance * swing_time, *disc.center)
    else:
        x, y = moved_point(twist, -remaining, *aimed)
    x, y = clamp_to_disc(x, y, disc, LANDING)
    aim = moved_point(twist, remaining, x, y)
    if not begins and math.dist(aimed, aim) > AIM_SPEED * dt:
        aim = _point_towards(aimed, aim, AIM_SPEED * dt)
    swing.aim = x, y = aim
    if begins and timing == SMOOTH:
        swing.lead = _lead(foot, tick)
    travelled, led = timing.travel_share(before - lag), timing.lead_share(before - lag)
    gain = (timing.travel_share(progress - swing.lag) - travelled) / (1.0 - travelled) if travelled < 1.0 else 1.0
    change = timing.lead_share(progress - swing.lag) - led
    (a, b), (lead_x, lead_y) = ground_fixed, swing.lead
    dx, dy = gain * (x - a + led * lead_x) + change * lead_x, gain * (y - b + led * lead_y) + change * lead_y
    lift_progress, height = timing.lift_progress(progress), 0.0
    if lift_progress < LANDED:
        height = lift(lift_progress, swing.lift)
        if swing.base:
            height += (1.0 - smooth_travel(lift_progress)) * swing.base
    foot.velocity = (dx / dt, dy / dt, (height - foot.z) / dt)
    foot.x, foot.y, foot.z = ground_fixed[0] + dx, ground_fixed[1] + dy, height
    if lift_progress < LANDED:
        swing.progress = progress
    else:
        foot.state = STANCE


def _lead(foot: Foot, tick: BodyTick) -> Point:
    """Returns by how much (x, y) [m] a foot passes its aim: ahead of the body's motion, by what its return lacks."""
    vx, vy = tick.twist.vx - tick.twist.wz * foot.y, tick.twist.vy + tick.twist.wz * foot.x
    speed = math.hypot(vx, vy)
    if speed <= 0.0:
        return 0.0, 0.0
    lead = min(max(tick.slack - RETURN_SHARE * speed * tick.swing_time, 0.0), LEAD_TIME * speed)
    return lead * vx / speed, lead * vy / speed


def _point_towards(point: Point, goal: Point, distance: float) -> Point:
    """Returns the point at a distance [m] from `point` on the straight line to `goal` [m]."""
    share = distance / math.dist(point, goal)
    return point[0] + share * (goal[0] - point[0]), point[1] + share * (goal[1] - point[1])
