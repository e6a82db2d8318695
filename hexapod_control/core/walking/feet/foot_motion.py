"""Moves the feet while walking: planted feet stay fixed in the world, swinging feet aim at their next stance.

All points are contact points (x, y) [m] in base_footprint. In each tick every point is moved by the inverse of the
motion of the body, the exact exponential of the twist, so a planted foot stays fixed in the world for any sequence of
twists (docs/architecture/walking-mathematics.md, "Stance: SE(2) integration"). The twist passed to `step` is
compensated for the compliance of the legs (`statics.leg_compliance`), so that the body of a real robot moves at the
executed twist. The balls of planted feet roll: `kinematics.rolling_contact`, applied to all feet in
`kinematics.whole_body`. The additional motion of swinging feet is in `swing_motion`, that of dropping feet in
`drop_motion`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.gait_clock import GaitClock
from hexapod_control.core.kinematics.se2 import Twist, exp
from hexapod_control.core.walking.feet.drop_motion import advance_drop, drop_after_halt
from hexapod_control.core.walking.feet.region_guard import allowed_share
from hexapod_control.core.walking.feet.swing_motion import BodyTick, advance_swing
from hexapod_control.core.walking.foot import STANCE, Dropping, Foot, Guided, Stance, Swing
from hexapod_control.core.walking.terrain.height_reach import HeightReach
from hexapod_control.core.walking.terrain.terrain_adaptation import TerrainAdaptation
from hexapod_control.core.workspace.stance_regions import StanceRegions
from hexapod_control.core.workspace.strides.stride_regions import NEUTRAL_REGION, Strides

AT_NEUTRAL = 0.001  # [m] distance from its neutral foothold up to which a foot of a robot at rest does not step
MAX_LIFT_OFF_DELAY = 0.15  # [cycles] for which a lift-off may wait for other feet to touch the ground


class FootMotion(Copyable):
    """The feet of one robot and the gait clock; `step` advances them by one tick."""

    lift_height: float  # [m]
    lift_share: float  # (0 to 1) of the lift height, at the present speed
    raised: tuple[int, float] | None  # row of a leg that lifts higher than the others, and its lift [m]
    running: bool  # whether the gait clock runs
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
        self.slack = 0.0
        self.twist_is_zero = True
        self.terrain: TerrainAdaptation | None = None  # None: flat ground

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

    def distance_from_neutral(self, stance: StanceRegions) -> float:
        """Returns the greatest distance [m] of a foot from its neutral foothold."""
        pairs = zip(self.feet, stance.footholds, strict=True)
        return max([math.hypot(foot.x - x, foot.y - y) for foot, (x, y) in pairs])

    def allowed_share(self, twist: Twist, dt: float, swing_time: float, strides: Strides) -> float:
        """Returns the share (0 to 1) of the twist at which planted feet stay in their regions, see `region_guard`."""
        clock = self.clock if self.running else None
        return allowed_share(self.feet, clock, twist, dt, swing_time, strides)

    def step(self, dt: float, twist: Twist, swing_time: float, strides: Strides) -> None:
        """Advances all feet by one tick of the body's motion; times in [s]."""
        tick = BodyTick(dt, twist, swing_time, exp(twist, -dt), self.slack)
        lifted = self._lift_offs(dt, swing_time) if self.running else {}
        back, terrain = tick.back, self.terrain
        cosine, sine = math.cos(back.yaw), math.sin(back.yaw)
        for leg, foot in enumerate(self.feet):
            ground_fixed = back.x + cosine * foot.x - sine * foot.y, back.y + sine * foot.x + cosine * foot.y
            if terrain is not None:
                terrain.meet_obstacles(leg, foot, self.lift_height, dt)
            state = foot.state
            if isinstance(state, Swing):
                advance_swing(foot, state, ground_fixed, state.progress + dt / swing_time, tick, strides, leg)
                if terrain is not None:
                    terrain.begin_search(leg, foot)
            elif isinstance(state, Dropping):
                advance_drop(foot, state, ground_fixed, dt, back)
            elif leg in lifted and not (
                self.twist_is_zero and math.dist(ground_fixed, strides.neutral.footholds[leg]) <= AT_NEUTRAL
            ):
                foot.state = swing = self._lift_off(leg, foot, lifted[leg])
                advance_swing(foot, swing, ground_fixed, lifted[leg], tick, strides, leg)
            else:
                foot.x, foot.y = ground_fixed

    def sense(self, contacts: Sequence[bool] | None, walk_height: float) -> None:
        """Processes which feet touch the ground; None if unknown or unused. `walk_height` is in [m]."""
        if contacts is not None and self.terrain is None:
            self.terrain = TerrainAdaptation(len(contacts), walk_height)
        if self.terrain is not None:
            self.terrain.contacts = contacts
            if self.terrain.even:
                self.terrain = None

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
        ahead = self.clock.copy()
        lifted = dict(ahead.advance(dt / swing_time, flight))
        max_delay = MAX_LIFT_OFF_DELAY * self.clock.gait.cycle * swing_time
        if self.terrain.delays_lift_off(self.feet, lifted, dt, max_delay):
            return {}
        self.clock = ahead
        return lifted

    def _lift_off(self, leg: int, foot: Foot, since: float) -> Swing:
        """Returns the swing of a foot that lifted off `since` [swing times] ago."""
        stance = self.clock.stance(leg, 1.0 - since)
        height = self.lift_share * self.lift_height
        if self.raised is not None and leg == self.raised[0]:
            height = self.raised[1]
        if self.terrain is None:
            return Swing(0.0, stance, height)
        return Swing(0.0, stance, self.terrain.lift(height, foot.z), foot.z, self.terrain.timing)

    def halt(self, swing_time: float) -> None:
        """Stops the gait: feet in the air go straight down, planted feet stay. The swing time is in [s].

        A foot whose swing ends sooner than a drop finishes the swing: at its speed, a drop would slide too far.
        """
        self.running = False
        self.clock.change = None
        for foot in self.feet:
            if isinstance(foot.state, Swing):
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
