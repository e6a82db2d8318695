"""The feet while walking: planted feet ride with the ground, swinging feet aim at their next stance.

All points are contact points (x, y) [m] in base_footprint. Each tick every point is moved by the inverse of
the body's motion, the exact exponential of the twist, so a planted foot stays fixed in the world for any
sequence of twists. What a swinging foot does on top of that is in `swing_motion`, a dropping one in `drop_motion`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.core.gait.gait_clock import GaitClock
from hexapod_control.core.kinematics.se2 import Twist, exp
from hexapod_control.core.walking.feet.drop_motion import advance_drop, drop_after_halt
from hexapod_control.core.walking.feet.region_guard import allowed_share
from hexapod_control.core.walking.feet.swing_motion import BodyTick, advance_swing
from hexapod_control.core.walking.foot import Dropping, Foot, Guided, Stance, Swing
from hexapod_control.core.walking.terrain.height_reach import HeightReach
from hexapod_control.core.walking.terrain.terrain_adaptation import TerrainAdaptation
from hexapod_control.core.workspace.stance_regions import StanceRegions

AT_HOME = 0.001  # [m] from the neutral foothold within which a resting foot need not step
MAX_LIFT_OFF_DELAY = 0.15  # cycles a lift-off waits for other feet to touch


class FootMotion:
    """The feet of one robot and the gait clock; `step` moves them by one tick."""

    __slots__ = ("clock", "feet", "lift_height", "resting", "running", "terrain")

    def __init__(self, feet: Sequence[Foot], clock: GaitClock, lift_height: float) -> None:
        """Takes over the feet and the clock; the lift height is in [m]."""
        self.feet = list(feet)
        self.clock = clock
        self.lift_height = lift_height
        self.running = False  # does the gait clock run
        self.resting = True  # is the commanded motion zero: feet at home need not step
        self.terrain: TerrainAdaptation | None = None  # None: flat ground

    @property
    def all_planted(self) -> bool:
        """True if every foot stands."""
        return all([foot.state.planted for foot in self.feet])

    @property
    def all_standing(self) -> bool:
        """True if every foot stands and none is guided."""
        return all([type(foot.state) is Stance for foot in self.feet])

    @property
    def in_swing(self) -> bool:
        """True if a foot is in the air by the gait, or dropping from there."""
        return any(isinstance(foot.state, Swing | Dropping) for foot in self.feet)

    @property
    def guiding(self) -> bool:
        """True if a foot is guided, or about to be."""
        return Guided in [type(foot.state) for foot in self.feet]

    def distance_from_home(self, stance: StanceRegions) -> float:
        """Greatest distance [m] of a foot from its neutral foothold."""
        homes = stance.footholds
        return max([math.hypot(foot.x - x, foot.y - y) for foot, (x, y) in zip(self.feet, homes, strict=True)])

    def allowed_share(
        self, twist: Twist, dt: float, swing_time: float, stance: StanceRegions, region_share: float
    ) -> float:
        """Share (0 to 1) of the twist at which no planted foot leaves its region, see `region_guard`."""
        clock = self.clock if self.running else None
        return allowed_share(self.feet, clock, twist, dt, swing_time, stance, region_share)

    def step(self, dt: float, twist: Twist, swing_time: float, stance: StanceRegions, region_share: float) -> None:
        """Moves all feet by one tick of the body's motion; times in [s].

        `region_share` is the share of the stance regions that the body leaves.
        """
        tick = BodyTick(dt, twist, swing_time, exp(twist, -dt))
        lifted = self._lift_offs(dt, swing_time) if self.running else {}
        back, terrain = tick.back, self.terrain
        cosine, sine = math.cos(back.yaw), math.sin(back.yaw)
        for leg, foot in enumerate(self.feet):
            ground_fixed = back.x + cosine * foot.x - sine * foot.y, back.y + sine * foot.x + cosine * foot.y
            if terrain is not None:
                terrain.meet_obstacles(leg, foot, self.lift_height, dt)
            state = foot.state
            home, radius = stance.footholds[leg], region_share * stance.radii[leg]
            if isinstance(state, Swing):
                advance_swing(foot, state, ground_fixed, state.progress + dt / swing_time, tick, home, radius)
                if terrain is not None:
                    terrain.begin_search(leg, foot)
            elif isinstance(state, Dropping):
                advance_drop(foot, state, ground_fixed, dt, back)
            elif leg in lifted and not (self.resting and math.dist(ground_fixed, home) <= AT_HOME):
                foot.state = swing = self._lift_off(leg, foot, lifted[leg])
                advance_swing(foot, swing, ground_fixed, lifted[leg], tick, home, radius)
            else:
                foot.x, foot.y = ground_fixed

    def sense(self, contacts: Sequence[bool] | None, walk_height: float) -> None:
        """Takes which feet touch the ground (None: unknown, or not to be used); the robot walks at a height [m]."""
        if contacts is not None and self.terrain is None:
            self.terrain = TerrainAdaptation(len(contacts), walk_height)
        if self.terrain is not None:
            self.terrain.contacts = contacts
            if self.terrain.even:
                self.terrain = None

    def follow_terrain(self, dt: float, reach: HeightReach) -> None:
        """Lets the feet follow the ground for `dt` [s], after a step; `reach` is what heights they can be at."""
        if self.terrain is not None:
            until = self.clock.until if self.running else [math.inf] * len(self.feet)
            self.terrain.step(self.feet, until, dt, reach)

    def _lift_offs(self, dt: float, swing_time: float) -> dict[int, float]:
        """Moves the clock on, or lets it wait: legs that lift off, and the time since then [swing times]."""
        flight = [time_in_flight(foot, swing_time) for foot in self.feet]
        if self.terrain is None:
            return dict(self.clock.advance(dt / swing_time, flight))
        ahead = self.clock.copy()
        lifted = dict(ahead.advance(dt / swing_time, flight))
        most = MAX_LIFT_OFF_DELAY * self.clock.gait.cycle * swing_time
        if self.terrain.delays_lift_off(self.feet, lifted, dt, most):
            return {}
        self.clock = ahead
        return lifted

    def _lift_off(self, leg: int, foot: Foot, since: float) -> Swing:
        """The swing of a foot that has lifted off, `since` [swing times] ago."""
        stance = self.clock.stance(leg, 1.0 - since)
        if self.terrain is None:
            return Swing(0.0, stance, self.lift_height)
        return Swing(0.0, stance, self.terrain.lift(self.lift_height, foot.z), foot.z, self.terrain.timing)

    def halt(self, swing_time: float) -> None:
        """Stops the gait: feet in the air go straight down and stay, planted feet stay. The swing time is in [s].

        A foot whose swing ends sooner than its drop would ends it: it is fast, and would slide on out of reach.
        """
        self.running = False
        self.clock.change = None
        for foot in self.feet:
            if isinstance(foot.state, Swing):
                drop = drop_after_halt(foot)
                if time_in_flight(foot, swing_time) > drop.duration / swing_time:
                    foot.state = drop

    def start(self, phase: float = 0.0) -> None:
        """Starts the gait clock at a phase."""
        self.clock.enter(self.clock.gait, phase)
        self.running = True


def time_in_flight(foot: Foot, swing_time: float) -> float:
    """Time to a foot's touch-down [swing times], 0 if it stands; the swing time is in [s]."""
    state = foot.state
    if isinstance(state, Swing):
        return 1.0 - state.progress
    if isinstance(state, Dropping):
        return (state.duration - state.elapsed) / swing_time
    return 0.0
