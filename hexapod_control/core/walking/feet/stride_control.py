# SPDX-License-Identifier: Apache-2.0
"""Where the feet stride: the regions of their next swings, and the guard that keeps planted feet inside.

As long as strides about the neutral footholds are fast enough, and in all gaits but the fastest, the feet stride there,
where the robot is most stable. At higher speed the stride centers move to where the legs are fastest in the direction
of travel. A foot changes to its next region when it lifts off. With each swing, a region moves at most so far that the
swing is hardly longer than in steady walking. Where legs are close together, no leg may lead its neighbours by more
than the maximum lead (`StrideTable.max_lead`). Meanwhile the robot walks more slowly. See
docs/architecture/walking-mathematics.md, "Stride centers".

The region guard (`allowed_share`) slows the body down so that planted feet stay inside their regions. In the body frame
a planted foot moves on a circle about the center of rotation (on a line when walking straight), so the time until it
leaves its region, a disc about its stride center, follows from the intersection of two circles. While the regions move,
a foot may use the one in which it landed and the next one. If a foot would leave its region before its lift-off, the
twist is scaled, which keeps the path of the body: either so that the foot stays inside until its lift-off, or so that
the body can still brake before the edge. Points are contact points (x, y) [m] in base_footprint.
Formulas: docs/architecture/walking-mathematics.md, "Region guard".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.gait_clock import GaitClock
from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.leg_clearance import LegNeighbours
from hexapod_control.core.kinematics.se2 import Twist, moved_point
from hexapod_control.core.robot import Point, Vector
from hexapod_control.core.walking.foot import Dropping, Foot, Swing
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.stance_regions import FLIGHT_REACH_SHARE, StanceRegions
from hexapod_control.core.workspace.strides.stride_table import (
    NEUTRAL_REGION,
    StrideRegion,
    Strides,
    split_region_share,
)

MAX_SWING_PER_STRIDE = 1.28  # travel of a swing that moves its region: at most this many steady strides, or ...
MAX_SWING_PER_RADIUS = 1.9  # ... this many radii of the neutral region
SMALL_DISPLACEMENT = 0.001  # [m] of a stride center, up to which the lead of a leg is not limited
MIN_STRIDE_SHARE = 0.6  # of MAX_SWING_PER_RADIUS: strides are not shortened further while regions move


class StrideDemand(NamedTuple):
    """The conditions on which the stride regions depend."""

    regions: StanceRegions
    gait: Gait  # the active one
    region_share: float  # that the body pose leaves, see REGION_SHARES
    moved: float  # share (0 to 1) of the displacement of the regions
    twist: Twist  # the limited command, to which the executed twist ramps


class StrideControl(Copyable):
    """The regions in which the feet stride next; `step` advances them by one tick."""

    _demand: StrideDemand | None
    _goal: tuple[StrideRegion, ...]  # for the demanded twist
    _lengths: tuple[float, ...]  # [m] largest displacements of the centers while they move; empty: they rest
    _neighbours: tuple[tuple[int, int], ...]  # rows of both neighbours of each leg
    regions: tuple[StrideRegion, ...]  # for the next swings

    def __init__(self, capabilities: Capabilities) -> None:
        """Starts with the neutral regions."""
        self._capabilities = capabilities
        self._neighbours = LegNeighbours.of(capabilities.robot).by_row
        self.regions = (NEUTRAL_REGION,) * len(capabilities.robot.legs)
        self._goal = self.regions
        self._lengths = ()
        self.speed_share = 1.0  # of the demanded twist, at which swings are short enough to move their regions
        self._demand = None

    def step(self, demand: StrideDemand, twist: Twist, swing_time: float, feet: Sequence[Foot]) -> Strides:
        """Returns the regions for the next swing of each foot at the executed twist and swing time [s]."""
        share = split_region_share(demand.region_share).radii
        if self._demand != demand:
            self._demand, self._goal = demand, self._regions(demand)
        regions = tuple([foot.region for foot in feet])
        self.speed_share = 1.0
        if regions == self._goal:
            self._lengths = ()
        else:
            regions = self._next(regions, demand, twist, swing_time)
        self.regions = regions
        return Strides(demand.regions, regions, share)

    def _regions(self, demand: StrideDemand) -> tuple[StrideRegion, ...]:
        return self._capabilities.strides.regions(demand.regions, demand.twist, demand.moved)

    def _next(
        self, regions: Sequence[StrideRegion], demand: StrideDemand, twist: Twist, swing_time: float
    ) -> tuple[StrideRegion, ...]:
        """The regions of the next swings, as far towards the goal as a swing may move them; sets `speed_share`."""
        neutral = demand.regions
        stance_time = swing_time * demand.gait.stance_time  # [s]
        next_regions = []
        distances = [math.dist(a.displacement, b.displacement) for a, b in zip(regions, self._goal, strict=True)]
        max_steps = self._max_steps(regions, distances)
        for leg, (now, goal, distance) in enumerate(zip(regions, self._goal, distances, strict=True)):
            x, y = neutral.footholds[leg]
            speed = twist.speed_at(x, y)
            goal_speed = demand.twist.speed_at(x, y)
            stride, goal_stride = stance_time * speed, stance_time * goal_speed
            usual = MAX_SWING_PER_RADIUS * neutral.radii[leg]
            longest = max(MAX_SWING_PER_STRIDE * goal_stride, usual)
            if goal_stride > 0.0:
                share = max(longest - distance, MIN_STRIDE_SHARE * usual) / goal_stride
                self.speed_share = min(self.speed_share, share)
            step = max(min(longest - stride, max_steps[leg]), 0.0)
            next_regions.append(goal if distance <= step else self._towards(leg, neutral, now, goal, step / distance))
        return tuple(next_regions)

    def _max_steps(self, regions: Sequence[StrideRegion], distances: Sequence[float]) -> list[float]:
        """Distance [m] that each center may move within the maximum lead; `distances` [m] are those to the goals."""
        max_lead = self._capabilities.strides.max_lead
        if max_lead == math.inf:
            return [math.inf] * len(distances)
        displaced = [max(_length(a), _length(b)) for a, b in zip(regions, self._goal, strict=True)]
        self._lengths = tuple(map(max, displaced, self._lengths or displaced))
        remaining = [
            d / length if length > SMALL_DISPLACEMENT else 0.0
            for d, length in zip(distances, self._lengths, strict=True)
        ]
        leads = [max(remaining[a], remaining[b]) - own for own, (a, b) in zip(remaining, self._neighbours, strict=True)]
        return [
            (max_lead - lead) * length if length > SMALL_DISPLACEMENT else math.inf
            for lead, length in zip(leads, self._lengths, strict=True)
        ]

    def _towards(
        self, leg: int, stance: StanceRegions, now: StrideRegion, goal: StrideRegion, part: float
    ) -> StrideRegion:
        """The region of a leg (row) between `now` (part 0) and `goal` (part 1)."""
        offset = now.offset.towards(goal.offset, part)
        scale, moved = (a + part * (b - a) for a, b in ((now.scale, goal.scale), (now.moved, goal.moved)))
        return self._capabilities.strides.placed(leg, stance, offset, scale, moved)


def _length(region: StrideRegion) -> float:
    """The distance [m] of the center of a region from the neutral foothold."""
    return math.hypot(*region.displacement)


MAX_STANCE_RADIUS_SHARE = 0.985  # of the radius that a planted foot may use; the rest covers the motion of one tick
LIFT_OFF_TOLERANCE_SHARE = 0.01  # of the radius: a foot may exceed the above by this before its lift-off
BRAKING_DECELERATION = 1.5  # [m/s^2] of a planted foot relative to the body
OUTSIDE_SHARE = 0.3  # of the speed, for a tick with a foot outside of its region: the body stops within a few ticks
SEEN_RADIUS_SHARES = (1.15, 1.3, 1.5)  # of the radius, tried in turn, for a foot at a place that was chosen for it
REACH_SHARE = 1.05  # of its distance from the middle, up to which the leg reaches: body and foot move on meanwhile
MIN_FOOT_SPEED = 1e-12  # [m/s] relative to the body; a slower foot counts as not moving


def time_inside(x: float, y: float, twist: Twist, center: Point, radius: float) -> float:
    """Returns the time [s] for which a planted foot at (x, y) stays within `radius` [m] of `center` at this twist."""
    vx, vy, wz = twist
    # not by Twist.velocity_at: its call would slow down every tick
    fx = wz * y - vx
    fy = -wz * x - vy
    speed = math.hypot(fx, fy)
    if speed < MIN_FOOT_SPEED:
        return math.inf
    if abs(wz) * radius < 1e-6 * speed:  # straight, within rounding
        ex = x - center[0]
        ey = y - center[1]
        along = (ex * fx + ey * fy) / speed
        square = ex * ex + ey * ey - radius * radius
        root = along * along - square
        return max(0.0, (math.sqrt(root) - along) / speed) if root > 0.0 else 0.0
    # In the body frame the foot moves on a circle about the center of rotation. It is inside the region as long as its
    # angle from the direction of the region's center is smaller than that of the intersection of both circles.
    pivot_x = -vy / wz
    pivot_y = vx / wz
    px = x - pivot_x
    py = y - pivot_y
    cx = center[0] - pivot_x
    cy = center[1] - pivot_y
    product = 2.0 * math.hypot(px, py) * math.hypot(cx, cy)
    cosine = (px * px + py * py + cx * cx + cy * cy - radius * radius) / product if product > 0.0 else -1.0
    if cosine <= -1.0:
        return math.inf
    if cosine >= 1.0:
        return 0.0
    angle = math.atan2(cx * py - cy * px, cx * px + cy * py)
    return max(0.0, (math.acos(cosine) + math.copysign(angle, angle * wz)) / abs(wz))


def allowed_share(
    feet: Sequence[Foot], clock: GaitClock | None, twist: Twist, dt: float, swing_time: float, strides: Strides
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
        outside = math.dist((foot.x, foot.y), disc.center) > disc.radius
        if strides.regions[leg] != foot.region:  # it may use both, and counts as outside only if it is in neither
            following = strides.disc(leg, strides.regions[leg])
            inside_following = time_inside(foot.x, foot.y, twist, following.center, share * following.radius)
            outside = outside and math.dist((foot.x, foot.y), following.center) > following.radius
            if inside_following > inside:
                disc = following
                inside = inside_following
        if inside == math.inf:
            continue
        until_lift_off = math.inf if clock is None else clock.stance_time(leg, 0.0) * swing_time
        speed = twist.speed_at(foot.x, foot.y)
        if (until_lift_off - inside) * speed <= LIFT_OFF_TOLERANCE_SHARE * disc.radius:
            continue
        # Either the foot stays inside until its lift-off, or the body brakes so hard that it can stop before the edge.
        braking_share = 1.0 if clock is None else 1.0 - BRAKING_DECELERATION * dt / speed
        stopping_share = min(math.sqrt(2.0 * BRAKING_DECELERATION * inside / speed), inside / dt)
        if clock is not None and outside:
            stopping_share = OUTSIDE_SHARE  # the foot has touched down outside of its region
        factor = min(factor, max(inside / until_lift_off, min(braking_share, stopping_share)))
    return factor


def steady_share(
    feet: Sequence[Foot],
    clock: GaitClock,
    twist: Twist,
    dt: float,
    swing_time: float,
    strides: Strides,
    reaches: Callable[[int, Vector], bool],
) -> float:
    """As `allowed_share`, on ground that is seen to be uneven, where feet land at the places chosen for them.

    Where a place lies in the disc depends on the way of the body until then. So the body moves evenly: not fast at
    first and then at a stop, and so slowly that feet in the air, too, can stand at their places until they lift off
    again. A foot may leave its disc, by SEEN_RADIUS_SHARES, as far as a leg (row) `reaches` the points (x, y, z) [m].
    """
    factor = 1.0
    for leg, foot in enumerate(feet):
        state = foot.state
        x, y, z = foot.at
        until_lift_off = clock.stance_time(leg, 0.0) * swing_time
        if isinstance(state, Swing):
            x, y = state.aim
            z = state.end or 0.0
            until_lift_off = (1.0 - state.progress + state.stance_time) * swing_time
        center = strides.disc(leg, foot.region).center
        nearer = math.dist(moved_point(twist, -until_lift_off, x, y), center) < math.dist((x, y), center)
        inside = until_lift_off if nearer else 0.0  # the body has to go on for a foot that is ahead of its disc
        for region in {foot.region, strides.regions[leg]}:
            disc = strides.disc(leg, region)
            inside = max(inside, time_inside(x, y, twist, disc.center, MAX_STANCE_RADIUS_SHARE * disc.radius))
        for share in SEEN_RADIUS_SHARES:
            if inside >= until_lift_off:
                break
            disc = strides.disc(leg, foot.region)
            longer = min(time_inside(x, y, twist, disc.center, share * disc.radius), until_lift_off)
            px, py = moved_point(twist, -longer, x, y)
            cx, cy = disc.center
            beyond = cx + REACH_SHARE * (px - cx), cy + REACH_SHARE * (py - cy)
            if longer > inside and reaches(leg, (*beyond, z)):
                inside = longer
        if inside < until_lift_off:
            braking_share = 1.0 - BRAKING_DECELERATION * dt / max(twist.speed_at(x, y), MIN_FOOT_SPEED)
            factor = min(factor, max(inside / until_lift_off, braking_share))
    return factor
