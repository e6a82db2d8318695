# SPDX-License-Identifier: Apache-2.0
"""Moves the feet while walking: planted feet stay fixed in the world, swinging feet aim at their next stance.

All points are contact points (x, y) [m] in base_footprint, heights are above its plane.

Stance: in each tick every point is moved by the inverse of the motion of the body, the exact exponential of the twist,
so a planted foot stays fixed in the world for any sequence of twists (docs/architecture/walking-mathematics.md,
"Stance: SE(2) integration"). The twist passed to `step` is compensated for the compliance of the legs
(`statics.leg_compliance`), so that the body of a real robot moves at the executed twist. The balls of planted feet
roll: `kinematics.whole_body`.

Swing: the next stance is centered on the stride center of the leg for the present twist. The aim of a swing is this
center, moved along the twist for half the planned stance time and clamped to the stride region. It is updated every
tick until AIM_FROZEN of the swing, at most at AIM_SPEED, and then fixed in the world. In each tick the foot covers the
share of the remaining distance that makes its travel follow the profile of `gait.swing_trajectory`, as does its lift. A
slow foot first passes its aim by a little and returns to it: else friction would keep it behind its aim at touch-down,
and the first part of the stance would only turn the deflection of the servos round instead of moving the body.

Drop: outside of a swing, after a halt in mid-swing or an early touch-down, a foot moves to the ground. Its horizontal
speed decreases as (1 - t)^2 over the share t of the duration; its height follows a cubic that ends at rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.gait_clock import GaitClock
from hexapod_control.core.gait.swing_trajectory import (
    AIM_FROZEN,
    PEAK_TRAVEL_SPEED,
    SMOOTH,
    SwingTiming,
    lift,
    smooth_travel,
)
from hexapod_control.core.kinematics.se2 import Pose, Twist, exp, moved_point
from hexapod_control.core.robot import Point, Vector
from hexapod_control.core.statics.leg_compliance import steepness
from hexapod_control.core.walking.foot import (
    SEEN_EVEN,
    STANCE,
    Dropping,
    Foot,
    Guided,
    SeenFoothold,
    Stance,
    Swing,
)
from hexapod_control.core.walking.terrain import HeightReach, TerrainAdaptation
from hexapod_control.core.workspace.stance_regions import StanceRegions
from hexapod_control.core.workspace.strides.stride_table import NEUTRAL_REGION, Strides
from hexapod_control.core.workspace.twist_limits import change_towards

LANDING = 0.97  # share of the radius of the stride region in which a foot touches down
AIM_SPEED = 1.0  # [m/s] maximum speed of the aim over the ground: a body that brakes must not jerk a foot in flight
END_SPEED = 0.3  # [m/s] maximum speed of its height
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
    foot: Foot,
    swing: Swing,
    ground_fixed: Point,
    progress: float,
    tick: BodyTick,
    strides: Strides,
    leg: int,
    seen: SeenFoothold | None = None,
) -> None:
    """Advances a swinging foot to a progress in [0, 1]; at the end, the swing becomes a stance.

    `ground_fixed` is its position at the last tick, in the new base_footprint; `leg` is its row.
    With the shares s(p) of the travel and l(p) of the lead, a foot without a new aim is at start + s (aim - start) +
    l lead; as the aim moves, each tick adds the gain (s(p1) - s(p0)) / (1 - s(p0)) of what remains without the lead.
    """
    dt, twist, swing_time, back, _ = tick
    before = swing.progress
    timing = swing.timing
    begins = before == 0.0  # the tick of the lift-off
    remaining = (1.0 - progress) * swing_time  # [s]
    # At an edge only the lift continues: the travel runs by its own progress, which is behind by the lag.
    lag = swing.lag
    swing.lag = swing.lag + (1.0 - swing.travel_rate) * (progress - before)
    if begins:  # the region of this swing and its stance: a foot in flight does not change over to another one
        foot.region = strides.regions[leg]
    disc = strides.disc(leg, foot.region)
    aimed = back.apply(*swing.aim)
    free = progress - lag < AIM_FROZEN * timing.travel_end or begins
    if free:
        x, y = moved_point(twist, 0.5 * swing.stance_time * swing_time, *disc.center)
    else:  # where the aim, fixed in the world, will be in base_footprint at touch-down
        x, y = moved_point(twist, -remaining, *aimed)
    # The region bounds the place at touch-down; the aim is that place, back in base_footprint of now.
    x, y = disc.clamped(x, y, LANDING)
    aim = moved_point(twist, remaining, x, y)
    if seen is not None and not (seen.even and swing.end is None):
        aim = _seen_aim(swing, seen, tick, foot.z, aim, aimed, free=free)
    if not begins and math.dist(aimed, aim) > AIM_SPEED * dt:
        aim = _point_towards(aimed, aim, AIM_SPEED * dt)
    swing.aim = x, y = aim
    if begins and timing == SMOOTH:  # on rough ground the travel ends before the swing does
        swing.lead = _lead(foot, tick)
    travelled = timing.travel_share(before - lag)
    led = timing.lead_share(before - lag)
    gain = (timing.travel_share(progress - swing.lag) - travelled) / (1.0 - travelled) if travelled < 1.0 else 1.0
    change = timing.lead_share(progress - swing.lag) - led
    a, b = ground_fixed
    dx = gain * (x - a + led * swing.lead[0]) + change * swing.lead[0]
    dy = gain * (y - b + led * swing.lead[1]) + change * swing.lead[1]
    lift_progress = timing.lift_progress(progress)
    height = _height(swing, lift_progress, foot.z, dt)
    foot.velocity = (dx / dt, dy / dt, (height - foot.z) / dt)
    foot.x = a + dx
    foot.y = b + dy
    foot.z = height
    if lift_progress < LANDED:
        swing.progress = progress
    else:
        foot.state = STANCE


CLEARANCE = 0.02  # [m] of the ball of a foot above the ground on its way
# Swings over ground that is seen: begin and end of the travel, and the time of the highest point.
TRAVELS = ((0.1, 0.85), (0.2, 0.75), (0.3, 0.65))
TOPS = (0.35, 0.475, 0.6)
DESCENT_END = 0.95
OVER_TERRAIN = tuple(SwingTiming(*travel, top, DESCENT_END) for travel in TRAVELS for top in TOPS)
_OVER = [k / 24 for k in range(1, 24)]
# Of each timing (row) at each of these progresses: share of the travel, share of the lift, whether it still rises
_TRAVELLED, _LIFTED, _RISING = (
    np.array([[share(timing, u) for u in _OVER] for timing in OVER_TERRAIN])
    for share in (
        SwingTiming.travel_share,
        lambda timing, u: lift(timing.lift_progress(u), 1.0),
        lambda timing, u: timing.lift_progress(u) < 0.5,
    )
)
_LIFTED[(_TRAVELLED <= 0.0) | (_TRAVELLED >= 1.0)] = np.inf  # where it stands no lift is needed
_ABOVE_PATH = CLEARANCE * np.minimum(1.0, 8.0 * np.minimum(_TRAVELLED, 1.0 - _TRAVELLED))  # [m] less near its ends


def swing_over(
    path: Sequence[float], length: float, base: float, end: float, least: float
) -> tuple[float, SwingTiming]:
    """Returns lift [m] and timing with which a swing from a height `base` to `end` [m] passes CLEARANCE above its path.

    `path` are the heights [m] of the ground at even distances along its `length` [m], `least` [m] is the smallest lift.
    Of all timings it has the one with which the foot is slowest: the nearer a step is, the longer it rises before it
    travels; and a long way down takes longer than a short way up.
    """
    ends = max(base, end)
    heights = np.array(path)
    at = _TRAVELLED * (len(path) - 1)
    needed = np.maximum(heights[np.floor(at).astype(int)], heights[np.ceil(at).astype(int)]) + _ABOVE_PATH
    low = np.where(_RISING, base, end)
    tops = np.maximum((low + (needed - low) / _LIFTED).max(axis=1), ends + least)
    found = (math.inf, 0.0, OVER_TERRAIN[0])
    for timing, top in zip(OVER_TERRAIN, tops.tolist(), strict=True):
        along = PEAK_TRAVEL_SPEED * length / (timing.travel_end - timing.travel_start)
        up = 0.5 * math.pi * max((top - base) / timing.top, (top - end) / (timing.descent_end - timing.top))
        found = min(found, (math.hypot(along, up), top - ends, timing))
    return found[1:]


def _lead(foot: Foot, tick: BodyTick) -> Point:
    """Returns by how much (x, y) [m] a foot passes its aim: ahead of the body's motion, by what its return lacks."""
    vx = tick.twist.vx - tick.twist.wz * foot.y
    vy = tick.twist.vy + tick.twist.wz * foot.x
    speed = math.hypot(vx, vy)
    if speed <= 0.0:
        return 0.0, 0.0
    lead = min(max(tick.slack - RETURN_SHARE * speed * tick.swing_time, 0.0), LEAD_TIME * speed)
    return lead * vx / speed, lead * vy / speed


def _height(swing: Swing, progress: float, before: float, dt: float) -> float:
    """Height [m] of a foot above the plane at a progress of its lift; `before` [m] is that of `dt` [s] ago."""
    lifted = lift(progress, swing.lift)
    if swing.end is not None:
        if progress >= LANDED:  # its reach may have held it off its foothold
            return change_towards(before, swing.end, END_SPEED * dt)
        ends = max(swing.base, swing.end)
        low = swing.base if progress < 0.5 else swing.end
        return low + lift(progress, ends + swing.lift - low)
    if progress >= LANDED:
        return change_towards(before, swing.felt, END_SPEED * dt) if swing.felt else 0.0
    if not (swing.base or swing.felt):
        return lifted
    travelled = smooth_travel(progress)
    return lifted + (1.0 - travelled) * swing.base + travelled * swing.felt  # it stood above or below the plane


def _see_end(swing: Swing, height: float) -> None:
    """Gives a swing over flat ground an end that is seen, at first the plane; it goes on from its height [m]."""
    progress = swing.timing.lift_progress(swing.progress)
    risen = lift(progress, 1.0)
    swing.end = 0.0
    if progress < 0.5:
        below = (height - swing.lift * risen) / (1.0 - risen)
        swing.base = below if below < 0.0 else height - swing.lift * risen
    else:
        swing.base = min(swing.base, 0.0)
        swing.lift = height / risen


def _seen_aim(
    swing: Swing, seen: SeenFoothold, tick: BodyTick, height: float, nominal: Point, before: Point, *, free: bool
) -> Point:
    """The aim [m] at a foothold that is seen, whose height the end of the swing follows while the aim is `free`.

    `height` [m] is that of the foot, `nominal` the aim on flat ground, `before` that of the last tick.
    """
    if not free:
        return nominal if seen.even else before
    if swing.end is None:
        _see_end(swing, height)
    swing.end = change_towards(swing.end or 0.0, seen.z, END_SPEED * tick.dt)
    return nominal if seen.even else tick.back.apply(seen.x, seen.y)


def _point_towards(point: Point, goal: Point, distance: float) -> Point:
    """Returns the point at a distance [m] from `point` on the straight line to `goal` [m]."""
    share = distance / math.dist(point, goal)
    return point[0] + share * (goal[0] - point[0]), point[1] + share * (goal[1] - point[1])


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
        # The second derivatives at both ends of the cubic of `advance_drop`, and of its slide (1 - t)^2.
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

    The height is (1 - t)^2 ((1 + 2 t) h + t T vz) above its end: the cubic with height h and speed vz at t = 0, both 0
    at t = 1. The slide is the integral of the initial speed times (1 - t)^2.
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
    foot.x = ground_fixed[0] + slide * drop.vx
    foot.y = ground_fixed[1] + slide * drop.vy
    height = drop.end + end * end * ((1.0 + 2.0 * t) * drop.height + t * drop.duration * drop.vz)
    foot.velocity = (slide * drop.vx / dt, slide * drop.vy / dt, (height - foot.z) / dt)
    foot.z = height
    if t >= 1.0:
        foot.z = drop.end
        foot.state = STANCE


SEEN_STRETCH = 1.5  # factor on the swing time over ground that is seen to be uneven: feet rise higher, and search it
AT_NEUTRAL = 0.001  # [m] distance from its neutral foothold up to which a foot of a robot at rest does not step
MAX_LIFT_OFF_DELAY = 0.15  # [cycles] for which a lift-off may wait for other feet to touch the ground


class FootMotion(Copyable):
    """The feet of one robot and the gait clock; `step` advances them by one tick."""

    lift_height: float  # [m]
    lift_share: float  # (0 to 1) of the lift height, at the present speed
    raised: tuple[int, float] | None  # row of a leg that lifts higher than the others, and its lift [m]
    running: bool  # whether the gait clock runs
    seen: tuple[SeenFoothold | None, ...]  # next footholds of all feet at the start of the tick; empty: nothing is seen
    on_plane: bool  # whether the ground about the robot is seen to be one plane, level or a slope
    slack: float  # [m] see `BodyTick`
    twist_is_zero: bool  # whether commanded and executed twist are zero: feet at their neutral footholds need not step

    def __init__(self, feet: Sequence[Foot], clock: GaitClock, lift_height: float) -> None:
        """Starts with these feet and a standing clock; the lift height is in [m]."""
        self.feet = list(feet)
        self.clock = clock
        self.lift_height = lift_height
        self.lift_share = 1.0
        self.raised = None
        self.running = False
        self.seen = ()
        self.on_plane = False
        self.slack = 0.0
        self.twist_is_zero = True
        self.terrain: TerrainAdaptation | None = None  # None: flat ground

    @property
    def uneven(self) -> bool:
        """True if the ground of a next foothold is seen to be uneven, and that about the robot is not one plane."""
        return not self.on_plane and any([seen is not None and not seen.even for seen in self.seen])

    @property
    def stretch(self) -> float:
        """Factor on the nominal swing time over uneven ground, which leaves time to rise and to search the ground."""
        if self.uneven:
            return SEEN_STRETCH
        return self.terrain.stretch if self.terrain is not None else 1.0

    @property
    def all_planted(self) -> bool:
        """True if the gait clock counts every foot as standing; some may still be searching the ground."""
        return all([foot.state.planted for foot in self.feet])

    @property
    def all_in_stance(self) -> bool:
        """True if every foot stands and none is guided."""
        return all([type(foot.state) is Stance for foot in self.feet])

    @property
    def any_in_air(self) -> bool:
        """True if a foot swings or drops."""
        return any(isinstance(foot.state, Swing | Dropping) for foot in self.feet)

    @property
    def guiding(self) -> bool:
        """True if a foot is guided, or about to be."""
        return Guided in [type(foot.state) for foot in self.feet]

    @property
    def in_neutral_regions(self) -> bool:
        """True if every foot strides in its neutral region."""
        return all([foot.region == NEUTRAL_REGION for foot in self.feet])

    def distance_from_neutral(self, regions: StanceRegions) -> float:
        """Returns the greatest distance [m] of a foot from its neutral foothold, or the place seen instead of it.

        A foot at its neutral foothold does not step to another place.
        """
        distances = [math.dist(foot.at[:2], at) for foot, at in zip(self.feet, regions.footholds, strict=True)]
        for leg, (foot, seen) in enumerate(zip(self.feet, self.seen, strict=False)):
            if seen is not None and not seen.even and distances[leg] > AT_NEUTRAL:
                distances[leg] = math.hypot(foot.x - seen.x, foot.y - seen.y)
        return max(distances)

    def step(self, dt: float, twist: Twist, swing_time: float, strides: Strides) -> None:
        """Advances all feet by one tick of the body's motion; times in [s]."""
        tick = BodyTick(dt, twist, swing_time, exp(twist, -dt), self.slack)
        lifting_off = self._lift_offs(dt, swing_time) if self.running else {}
        back = tick.back
        terrain = self.terrain
        cosine, sine = math.cos(back.yaw), math.sin(back.yaw)
        for leg, foot in enumerate(self.feet):
            ground_fixed = back.x + cosine * foot.x - sine * foot.y, back.y + sine * foot.x + cosine * foot.y
            if terrain is not None:
                terrain.meet_obstacles(leg, foot, self.lift_height, dt)
            state = foot.state
            if isinstance(state, Swing):
                state.origin = (*back.apply(*state.origin[:2]), state.origin[2])
                seen = self.seen[leg] if self.seen else None
                advance_swing(foot, state, ground_fixed, state.progress + dt / swing_time, tick, strides, leg, seen)
                if terrain is not None:
                    terrain.begin_search(leg, foot)
            elif isinstance(state, Dropping):
                advance_drop(foot, state, ground_fixed, dt, back)
            elif (
                leg in lifting_off
                and self._may_lift_off(leg)
                and not (self.twist_is_zero and math.dist(ground_fixed, strides.neutral.footholds[leg]) <= AT_NEUTRAL)
            ):
                foot.state = swing = self._lift_off(leg, foot, lifting_off[leg])
                swing.origin = (*ground_fixed, foot.z)
                seen = self.seen[leg] if self.seen else None
                advance_swing(foot, swing, ground_fixed, lifting_off[leg], tick, strides, leg, seen)
            else:
                foot.x, foot.y = ground_fixed

    def sense(self, contacts: Sequence[bool] | None, walk_height: float) -> None:
        """Processes which feet touch the ground; None if unknown or unused. `walk_height` is in [m]."""
        if contacts is None and self.uneven:
            contacts = [foot.state.planted for foot in self.feet]  # what is seen has to do
        if contacts is not None and self.terrain is None:
            self.terrain = TerrainAdaptation(len(contacts), walk_height)
        if self.terrain is not None:
            self.terrain.contacts = contacts
            if self.terrain.even:
                self.terrain = None

    def note_slope(self, slope: Point) -> None:
        """Takes roll and pitch [rad] of the ground; where it is seen to be uneven they say little about it."""
        if self.terrain is not None:
            self.terrain.steepness = 0.0 if self.uneven else steepness(slope)

    @property
    def steepness(self) -> float:
        """How steep the ground is that the feet feel, from 0 to 1."""
        return 0.0 if self.terrain is None else self.terrain.steepness

    def follow_terrain(self, dt: float, reach: HeightReach) -> None:
        """Makes the feet follow the ground for `dt` [s], after a step; `reach` limits their heights."""
        if self.terrain is not None:
            until = self.clock.until if self.running else [math.inf] * len(self.feet)
            self.terrain.step(self.feet, until, dt, reach)

    def _lift_offs(self, dt: float, swing_time: float) -> dict[int, float]:
        """Advances the clock, unless it has to wait. Returns the time since lift-off [swing times] by lifting leg."""
        flight = [0.0 if foot.state is STANCE else time_to_touch_down(foot, swing_time) for foot in self.feet]
        if self.terrain is None:
            return dict(self.clock.advance(dt / swing_time, flight))
        ahead = self.clock.copy()  # the clock itself advances only if no lift-off has to wait for a contact
        lifting_off = dict(ahead.advance(dt / swing_time, flight))
        max_delay = MAX_LIFT_OFF_DELAY * self.clock.gait.cycle * swing_time
        if self.terrain.delays_lift_off(self.feet, lifting_off, dt, max_delay):
            return {}
        self.clock = ahead
        return lifting_off

    def _may_lift_off(self, leg: int) -> bool:
        """False for a leg (row) for which no place is permitted, or chosen yet, on ground that is seen."""
        seen = self.seen[leg] if self.seen else SEEN_EVEN
        return seen is not None and not seen.held

    def _lift_off(self, leg: int, foot: Foot, since: float) -> Swing:
        """Returns the swing of a foot that lifted off `since` [swing times] ago."""
        stance = self.clock.stance_time(leg, 1.0 - since)
        height = self.lift_share * self.lift_height
        if self.raised is not None and leg == self.raised[0]:
            height = self.raised[1]
        if self.terrain is None:
            return Swing(0.0, stance, height)
        seen = self.seen[leg] if self.seen else None
        if seen is not None and not seen.even:
            length = math.dist(foot.at[:2], (seen.x, seen.y))
            path = seen.path or (foot.z, seen.z)  # of a place chosen while the foot was on its way, none is known
            lift, timing = swing_over(path, length, foot.z, seen.z, height)
            return Swing(0.0, stance, lift, foot.z, timing, end=seen.z)
        felt = self.terrain.expected(leg) if seen is None else 0.0
        return Swing(0.0, stance, self.terrain.lift(height, foot.z - felt), foot.z, self.terrain.timing, felt=felt)

    def halt(self, swing_time: float) -> None:
        """Stops the gait: feet in the air go straight down, planted feet stay. The swing time is in [s].

        On ground that is seen they go to their footholds: straight down there may be an edge. A foot whose swing ends
        sooner than a drop finishes the swing: at its speed, a drop would slide too far.
        """
        self.running = False
        self.clock.change = None
        for foot in self.feet:
            if isinstance(foot.state, Swing) and foot.state.end is None and not self.seen:
                drop = drop_after_halt(foot)
                if time_to_touch_down(foot, swing_time) > drop.duration / swing_time:
                    foot.state = drop

    def start(self, phase: float = 0.0) -> None:
        """Starts the gait clock at a phase."""
        self.clock.enter(self.clock.gait, phase)
        self.running = True


def time_to_touch_down(foot: Foot, swing_time: float) -> float:
    """Returns the time to a foot's touch-down [swing times], 0 if it stands; the swing time is in [s]."""
    state = foot.state
    if isinstance(state, Swing):
        return 1.0 - state.progress
    if isinstance(state, Dropping):
        return (state.duration - state.elapsed) / swing_time
    return 0.0
