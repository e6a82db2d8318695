"""The feet while walking: planted feet ride with the ground, swinging feet aim at their next stance.

All points are contact points (x, y) [m] in base_footprint. Each tick every point is moved by the inverse of
the body's motion, the exact exponential of the twist, so a planted foot stays fixed in the world for any
sequence of twists. A swinging foot covers, relative to the ground, a growing share of what is left to its aim: the
start of a stance that is centred on the neutral foothold under the present twist, re-aimed every tick.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hexapod_control.core.gait.gait_clock import GaitClock
from hexapod_control.core.gait.swing_trajectory import AIM_FROZEN, SMOOTH, SwingTiming, lift, share
from hexapod_control.core.kinematics.se2 import Pose, Twist, carried, exp
from hexapod_control.core.robot import Point, Vector
from hexapod_control.core.walking.guided_foot import GuidedFoot, rest
from hexapod_control.core.walking.terrain_adaptation import WAIT, HeightReachable, TerrainAdaptation, stop_time
from hexapod_control.core.workspace.stance_regions import IN_FLIGHT, StanceRegions

LANDING = 0.97  # share of the stance region's radius in which a foot is set down
GUARD = 0.985  # share of it that a planted foot may use; the rest takes the curvature of one tick's motion
SLACK = 0.01  # share of it that a foot about to lift off may go beyond that
BRAKE = 1.5  # [m/s^2] with which the guard slows the body
AT_HOME = 0.001  # [m] from the neutral foothold within which a resting foot need not step
LANDED = 1.0 - 1e-9  # progress at which a swing is over: rounding must not keep a foot in the air for a tick
LATE = 0.02  # [s] from the touch of a foot to the tick that knows of it
DROP_TIMES = tuple(0.1 + 0.025 * k for k in range(13))  # [s] a foot may take to the ground after a halt in mid-swing
DROP_ACCELERATION = 6.0  # [m/s^2] of the foot on that way, if a drop can be had that slow


class BodyTick(NamedTuple):
    """The body's motion in one tick."""

    dt: float  # [s]
    twist: Twist
    swing_time: float  # [s]
    back: Pose  # of the old base_footprint in the new one: what rides with the ground is moved by it


class StanceRegion(NamedTuple):
    """Where one foot may stand."""

    home: Point  # [m] neutral foothold
    radius: float  # [m]


@dataclass(slots=True)
class DroppingFoot:
    """A foot on its way straight down after a halt, or one that stops where it has touched the ground."""

    duration: float  # [s]
    elapsed: float  # [s]
    height: float  # [m] at the start, above that at the end
    sinking: float  # [m/s] vertical speed at the start, + up
    vx: float  # [m/s] speed over the ground at the start, in the present base_footprint
    vy: float
    end: float = 0.0  # [m] height at the end
    touched: bool = False  # it comes back to where it has touched, instead of sliding on


@dataclass(slots=True)
class Foot:
    """One foot."""

    x: float  # [m] contact point in base_footprint
    y: float
    z: float = 0.0  # [m] height above the ground
    progress: float | None = None  # of the swing, in [0, 1); None: planted (or dropping)
    aim: Point = (0.0, 0.0)  # where the swing ends, rides with the ground
    stance: float = 0.0  # [swing times] the foot will stand after touch-down, as planned at lift-off
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [m/s] over the ground, of the last tick in the air
    drop: DroppingFoot | None = None
    hand: GuidedFoot | None = None
    lift: float = 0.0  # [m] height of the swing, as planned at lift-off
    base: float = 0.0  # [m] height at lift-off, fades over the swing
    timing: SwingTiming = SMOOTH  # of the swing, as planned at lift-off
    pace: float = 1.0  # share of its speed over the ground that a swing has
    late: float = 0.0  # progress by which its way over the ground is behind for that

    @property
    def planted(self) -> bool:
        """True if the foot stands."""
        return self.progress is None and self.drop is None and (self.hand is None or self.hand.waiting)

    @property
    def places(self) -> tuple[Vector, ...]:
        """Where it is [m], and where it can come to rest if it is led by hand."""
        at = (self.x, self.y, self.z)
        return (at,) if self.hand is None else (at, rest(at, self.hand.velocity))

    def copy(self) -> Foot:
        """An independent foot in the same state."""
        drop, hand = self.drop, self.hand
        if drop is not None:
            drop = DroppingFoot(
                drop.duration, drop.elapsed, drop.height, drop.sinking, drop.vx, drop.vy, drop.end, drop.touched
            )
        if hand is not None:
            hand = hand.copy()
        swing = (self.lift, self.base, self.timing, self.pace, self.late)
        return Foot(self.x, self.y, self.z, self.progress, self.aim, self.stance, self.velocity, drop, hand, *swing)


def clamp_to_disc(x: float, y: float, centre: Point, radius: float) -> Point:
    """The point (x, y) [m], pulled into the disc about the centre."""
    dx, dy = x - centre[0], y - centre[1]
    distance = math.hypot(dx, dy)
    if distance <= radius:
        return x, y
    factor = radius / distance
    return centre[0] + factor * dx, centre[1] + factor * dy


def time_inside(x: float, y: float, twist: Twist, centre: Point, radius: float) -> float:
    """Time [s] a planted foot at (x, y) stays within `radius` [m] of the centre while the body follows the twist."""
    fx, fy = twist.wz * y - twist.vx, -twist.wz * x - twist.vy
    speed = math.hypot(fx, fy)
    if speed < 1e-12:
        return math.inf
    if abs(twist.wz) * radius < 1e-6 * speed:  # as good as straight
        ex, ey = x - centre[0], y - centre[1]
        along, square = (ex * fx + ey * fy) / speed, ex * ex + ey * ey - radius * radius
        root = along * along - square
        return max(0.0, (math.sqrt(root) - along) / speed) if root > 0.0 else 0.0
    # Seen from the body the foot goes round the turn's centre: it is inside as long as its angle from the
    # direction of the region's centre is below that of the circles' intersection.
    turn_x, turn_y = -twist.vy / twist.wz, twist.vx / twist.wz
    px, py = x - turn_x, y - turn_y
    cx, cy = centre[0] - turn_x, centre[1] - turn_y
    product = 2.0 * math.hypot(px, py) * math.hypot(cx, cy)
    cosine = (px * px + py * py + cx * cx + cy * cy - radius * radius) / product if product > 0.0 else -1.0
    if cosine <= -1.0:
        return math.inf
    if cosine >= 1.0:
        return 0.0
    angle = math.atan2(cx * py - cy * px, cx * px + cy * py)
    return max(0.0, (math.acos(cosine) + math.copysign(angle, angle * twist.wz)) / abs(twist.wz))


def _drop_time(height: float, velocity: tuple[float, float, float]) -> float:
    """Duration [s] of the drop from a height [m] with a velocity [m/s]: the shortest without a jerk, never dipping."""

    def jerk(duration: float) -> float:
        start = 6.0 * height / duration**2 + 4.0 * vz / duration
        end = 6.0 * height / duration**2 + 2.0 * vz / duration
        return max(abs(start), abs(end), 2.0 * slide / duration)

    vx, vy, vz = velocity
    slide = math.hypot(vx, vy)
    most = 2.5 * height / -vz if vz < 0.0 else math.inf  # a longer one would dip below the ground
    times = [time for time in DROP_TIMES if time <= most] or [max(most, 1e-3)]
    return next((time for time in times if jerk(time) <= DROP_ACCELERATION), min(times, key=jerk))


def _settled(t: float, duration: float) -> float:
    """Way [s, times the speed at the start] of a stop after a share t of its duration [s], to where it was LATE ago."""
    return duration * t * (1.0 - t) ** 2 - LATE * t * t * (3.0 - 2.0 * t)


class FootMotion:
    """Feet and schedule; `step` moves them by one tick."""

    def __init__(self, feet: Sequence[Foot], schedule: GaitClock, lift_height: float) -> None:
        """Takes over the feet and the schedule; the lift height is in [m]."""
        self.feet = list(feet)
        self.schedule = schedule
        self.lift_height = lift_height
        self.running = False  # does the gait's clock run
        self.resting = True  # is the commanded motion zero: feet at home need not step
        self.ground: TerrainAdaptation | None = None  # None: flat

    def copy(self) -> FootMotion:
        """An independent walker in the same state."""
        other = FootMotion([foot.copy() for foot in self.feet], self.schedule.copy(), self.lift_height)
        other.running, other.resting = self.running, self.resting
        other.ground = self.ground.copy() if self.ground else None
        return other

    @property
    def all_planted(self) -> bool:
        """True if every foot stands."""
        return all(foot.planted for foot in self.feet)

    @property
    def in_swing(self) -> bool:
        """True if a foot is in the air by the gait, or on its way down from there."""
        return any(foot.progress is not None or foot.drop is not None for foot in self.feet)

    @property
    def by_hand(self) -> bool:
        """True if a foot is led by hand, or about to be."""
        return any(foot.hand is not None for foot in self.feet)

    def away(self, stance: StanceRegions) -> float:
        """Greatest distance [m] of a foot from its neutral foothold."""
        homes = stance.footholds
        return max([math.hypot(foot.x - x, foot.y - y) for foot, (x, y) in zip(self.feet, homes, strict=True)])

    def allowed(self, twist: Twist, dt: float, swing_time: float, stance: StanceRegions, room: float) -> float:
        """Share (0 to 1) of the twist at which no planted foot leaves its region before it can lift off.

        Nor does one that goes straight down leave what it may use in flight.
        """
        factor = 1.0
        for leg, foot in enumerate(self.feet):
            if not foot.planted and foot.drop is None:
                continue
            radius = room * stance.radii[leg]
            edge = (GUARD if foot.planted else IN_FLIGHT) * radius
            inside = time_inside(foot.x, foot.y, twist, stance.footholds[leg], edge)
            stays = self.schedule.stance(leg, 0.0) * swing_time if self.running else math.inf
            speed = math.hypot(twist.vx - twist.wz * foot.y, twist.vy + twist.wz * foot.x)
            if (stays - inside) * speed <= SLACK * radius:
                continue
            # Either slow enough to last until its lift-off, or still able to brake before the edge.
            brake = 1.0 - BRAKE * dt / speed if self.running else 1.0
            factor = min(factor, max(inside / stays, min(brake, math.sqrt(2.0 * BRAKE * inside / speed), inside / dt)))
        return factor

    def step(self, dt: float, twist: Twist, swing_time: float, stance: StanceRegions, room: float) -> None:
        """Moves all feet by one tick of the body's motion. Times in [s], `room` as in `allowed`."""
        tick = BodyTick(dt, twist, swing_time, exp(twist, -dt))
        lifted: dict[int, float] = {}
        if self.running:
            flight = [self.flight(foot, swing_time) for foot in self.feet]
            lifted = self._lifting(dt, swing_time, flight)
        back = tick.back
        cosine, sine = math.cos(back.yaw), math.sin(back.yaw)
        for leg, foot in enumerate(self.feet):
            x = back.x + cosine * foot.x - sine * foot.y
            y = back.y + sine * foot.x + cosine * foot.y
            if self.ground is not None:
                self.ground.climb(leg, foot, self.lift_height, dt)
                if self.ground.meets(leg, foot):
                    self._touch(foot)
            progress = foot.progress
            if progress is None and foot.drop is None and leg not in lifted:
                foot.x, foot.y = x, y
                continue
            region = StanceRegion(stance.footholds[leg], room * stance.radii[leg])
            if progress is not None:
                self._swing(foot, (x, y), progress, progress + dt / swing_time, tick, region)
                if self.ground is not None and self.ground.sinks(leg, foot):
                    foot.progress = None
            elif foot.drop is not None:
                self._sink(foot, foot.drop, (x, y), tick)
            elif not (self.resting and math.dist((x, y), region.home) <= AT_HOME):
                since = lifted[leg]
                foot.stance = self.schedule.stance(leg, 1.0 - since)
                foot.lift = self.lift_height
                if self.ground is not None:
                    foot.base, foot.timing = foot.z, self.ground.timing
                    foot.lift = self.ground.lift(self.lift_height, foot.z)
                self._swing(foot, (x, y), 0.0, since, tick, region)
            else:
                foot.x, foot.y = x, y

    def feel(self, dt: float, reach: HeightReachable) -> None:
        """Lets the feet follow the ground for `dt` [s], after a step; `reach` as in Ground.step."""
        if self.ground is not None:
            until = self.schedule.until if self.running else [math.inf] * len(self.feet)
            self.ground.step(self.feet, until, dt, reach)

    def _lifting(self, dt: float, swing_time: float, flight: list[float]) -> dict[int, float]:
        """Moves the clock on, or lets it wait: legs that lift off, and the time since [swing times]."""
        if self.ground is None:
            return dict(self.schedule.advance(dt / swing_time, flight))
        ahead = self.schedule.copy()
        lifted = dict(ahead.advance(dt / swing_time, flight))
        if self.ground.holds(self.feet, lifted, dt, WAIT * self.schedule.gait.cycle * swing_time):
            return {}
        self.schedule = ahead
        return lifted

    @staticmethod
    def _touch(foot: Foot) -> None:
        """Stops a foot in the air on ground that is higher than expected."""
        vx, vy, vz = foot.velocity
        foot.drop = DroppingFoot(stop_time(foot.velocity), 0.0, 0.0, vz, vx, vy, foot.z, touched=True)
        foot.progress = None

    @staticmethod
    def flight(foot: Foot, swing_time: float) -> float:
        """Time to a foot's touch-down [swing times], 0 if it stands."""
        if foot.progress is not None:
            return 1.0 - foot.progress
        if foot.drop is not None:
            return (foot.drop.duration - foot.drop.elapsed) / swing_time
        return 0.0

    def _swing(
        self, foot: Foot, ridden: Point, before: float, progress: float, tick: BodyTick, region: StanceRegion
    ) -> None:
        """Advances a swing from one progress to the next; the foot has already ridden with the ground."""
        dt, twist, swing_time, back = tick
        home, radius = region
        timing = foot.timing
        left = (1.0 - progress) * swing_time
        late, foot.late = foot.late, foot.late + (1.0 - foot.pace) * (progress - before)
        if progress - late < AIM_FROZEN * timing.there or before == 0.0:
            x, y = carried(twist, 0.5 * foot.stance * swing_time, home[0], home[1])
        else:
            x, y = carried(twist, -left, *back.apply(*foot.aim))
        x, y = clamp_to_disc(x, y, home, LANDING * radius)
        foot.aim = x, y = carried(twist, left, x, y)
        done = timing.travelled(before - late)
        gain = (timing.travelled(progress - foot.late) - done) / (1.0 - done) if done < 1.0 else 1.0
        dx, dy = gain * (x - ridden[0]), gain * (y - ridden[1])
        way = timing.lifted(progress)
        height = lift(way, foot.lift) + (1.0 - share(way)) * foot.base if way < LANDED else 0.0
        foot.velocity = (dx / dt, dy / dt, (height - foot.z) / dt)
        foot.x, foot.y, foot.z = ridden[0] + dx, ridden[1] + dy, height
        foot.progress = progress if way < LANDED else None

    @staticmethod
    def _sink(foot: Foot, drop: DroppingFoot, ridden: Point, tick: BodyTick) -> None:
        """Advances a drop: the speed over the ground fades as (1 - t)^2, the height follows a cubic to rest."""
        start = 1.0 - drop.elapsed / drop.duration
        drop.elapsed = min(drop.elapsed + tick.dt, drop.duration)
        t = drop.elapsed / drop.duration
        end = 1.0 - t
        cosine, sine = math.cos(tick.back.yaw), math.sin(tick.back.yaw)
        drop.vx, drop.vy = cosine * drop.vx - sine * drop.vy, sine * drop.vx + cosine * drop.vy
        slide = drop.duration / 3.0 * (start**3 - end**3)
        if drop.touched:
            slide = _settled(t, drop.duration) - _settled(1.0 - start, drop.duration)
        foot.x, foot.y = ridden[0] + slide * drop.vx, ridden[1] + slide * drop.vy
        height = drop.end + end * end * ((1.0 + 2.0 * t) * drop.height + t * drop.duration * drop.sinking)
        foot.velocity = (slide * drop.vx / tick.dt, slide * drop.vy / tick.dt, (height - foot.z) / tick.dt)
        foot.z = height
        if t >= 1.0:
            foot.z, foot.drop = drop.end, None

    def halt(self, swing_time: float) -> None:
        """Stops the gait: feet in the air go straight down and stay, planted feet stay. The swing time is in [s].

        A foot whose swing ends sooner than that ends it: it is fast, and would slide on out of reach.
        """
        self.running = False
        self.schedule.change = None
        for foot in self.feet:
            if foot.progress is None:
                continue
            duration = _drop_time(foot.z, foot.velocity)
            if self.flight(foot, swing_time) > duration / swing_time:
                vx, vy, vz = foot.velocity
                foot.drop = DroppingFoot(duration, 0.0, foot.z, vz, vx, vy)
                foot.progress = None

    def start(self, phase: float = 0.0) -> None:
        """Sets the gait's clock going at a phase."""
        self.schedule.enter(self.schedule.gait, phase)
        self.running = True
