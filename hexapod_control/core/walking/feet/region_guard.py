"""Region guard: slows the body down so that planted feet stay inside their stance regions.

Points are contact points (x, y) [m] in base_footprint. In the body frame a planted foot moves on a circle about the
center of rotation (on a line when walking straight), so the time until it leaves its region, a disc about its stride
center, follows from the intersection of two circles. While the regions move, a foot may use the one in which it landed
and the next one. If a foot would leave its region before its lift-off, the twist is scaled, which keeps the path of the
body: either so that the foot stays inside until its lift-off, or so that the body can still brake before the edge.
Formulas: docs/architecture/walking-mathematics.md, "Region guard".
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.core.gait.gait_clock import GaitClock
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Point
from hexapod_control.core.walking.foot import Dropping, Foot
from hexapod_control.core.workspace.stance_regions import FLIGHT_REACH_SHARE
from hexapod_control.core.workspace.strides.stride_regions import Disc, Strides

MAX_STANCE_RADIUS_SHARE = 0.985  # of the radius that a planted foot may use; the rest covers the motion of one tick
LIFT_OFF_TOLERANCE_SHARE = 0.01  # of the radius: a foot may exceed the above by this before its lift-off
BRAKING_DECELERATION = 1.5  # [m/s^2] of a planted foot relative to the body
OUTSIDE_SHARE = 0.3  # of the speed, for a tick with a foot outside of its region: the body stops within a few ticks
MIN_FOOT_SPEED = 1e-12  # [m/s] relative to the body; a slower foot counts as not moving


def clamp_to_disc(x: float, y: float, disc: Disc, share: float) -> Point:
    """Clamps a point (x, y) [m] to a disc with this share of its radius."""
    center, radius = disc.center, share * disc.radius
    dx, dy = x - center[0], y - center[1]
    distance = math.hypot(dx, dy)
    if distance <= radius:
        return x, y
    factor = radius / distance
    return center[0] + factor * dx, center[1] + factor * dy


def time_inside(x: float, y: float, twist: Twist, center: Point, radius: float) -> float:
    """Returns the time [s] for which a planted foot at (x, y) stays within `radius` [m] of `center` at this twist."""
    vx, vy, wz = twist
    fx, fy = wz * y - vx, -wz * x - vy  # not by Twist.velocity_at: its call would slow down every tick
    speed = math.hypot(fx, fy)
    if speed < MIN_FOOT_SPEED:
        return math.inf
    if abs(wz) * radius < 1e-6 * speed:  # straight, within rounding
        ex, ey = x - center[0], y - center[1]
        along, square = (ex * fx + ey * fy) / speed, ex * ex + ey * ey - radius * radius
        root = along * along - square
        return max(0.0, (math.sqrt(root) - along) / speed) if root > 0.0 else 0.0
    # In the body frame the foot moves on a circle about the center of rotation. It is inside the region as long as its
    # angle from the direction of the region's center is smaller than that of the intersection of both circles.
    pivot_x, pivot_y = -vy / wz, vx / wz
    px, py = x - pivot_x, y - pivot_y
    cx, cy = center[0] - pivot_x, center[1] - pivot_y
    product = 2.0 * math.hypot(px, py) * math.hypot(cx, cy)
    cosine = (px * px + py * py + cx * cx + cy * cy - radius * radius) / product if product > 0.0 else -1.0
    if cosine <= -1.0:
        return math.inf
    if cosine >= 1.0:
        return 0.0
    angle = math.atan2(cx * py - cy * px, cx * px + cy * py)
    return max(0.0, (math.acos(cosine) + math.copysign(angle, angle * wz)) / abs(wz))


def allowed_share(
    feet: Sequence[Foot],
    clock: GaitClock | None,
    twist: Twist,
    dt: float,
    swing_time: float,
    strides: Strides,
) -> float:
    """Returns the share (0 to 1) of the twist at which no planted foot leaves its region before it lifts off.

    Dropping feet stay within FLIGHT_REACH_SHARE of the radius of their region. `clock` is None while the gait clock
    stands; `dt` and `swing_time` are in [s].
    """
    factor = 1.0
    for leg, foot in enumerate(feet):
        planted = foot.state.planted
        if not planted and not isinstance(foot.state, Dropping):
            continue
        share = MAX_STANCE_RADIUS_SHARE if planted else FLIGHT_REACH_SHARE
        disc = strides.disc(leg, foot.region)
        inside = time_inside(foot.x, foot.y, twist, disc.center, share * disc.radius)
        if strides.regions[leg] != foot.region:
            disc = strides.disc(leg, strides.regions[leg])
            inside = max(inside, time_inside(foot.x, foot.y, twist, disc.center, share * disc.radius))
        if inside == math.inf:
            continue
        until_lift_off = math.inf if clock is None else clock.stance(leg, 0.0) * swing_time
        speed = twist.speed_at(foot.x, foot.y)
        if (until_lift_off - inside) * speed <= LIFT_OFF_TOLERANCE_SHARE * disc.radius:
            continue
        # Either the foot stays inside until its lift-off, or the body brakes so hard that it can stop before the edge.
        braking_share = 1.0 if clock is None else 1.0 - BRAKING_DECELERATION * dt / speed
        stopping_share = min(math.sqrt(2.0 * BRAKING_DECELERATION * inside / speed), inside / dt)
        if clock is not None and math.dist((foot.x, foot.y), disc.center) > disc.radius:
            stopping_share = OUTSIDE_SHARE  # the foot has touched down outside of its region
        factor = min(factor, max(inside / until_lift_off, min(braking_share, stopping_share)))
    return factor
