"""Uneven ground under the feet: where a swing ends by contact, and how the body follows the heights of the feet.

The plane of base_footprint stands for the ground. On uneven ground a planted foot has a height of its own above it,
that at which it touched:
- a swing that touches early ends there, one that runs against an edge goes over it (`edges`);
- a foot that does not touch sinks on, planted for the gait clock, down to a bound (`ground_search`);
- lift-offs wait until three other feet carry (`lift_off_delay`);
- the plane follows the planted feet (`support_plane`), so the body keeps its height above the ground and ends up
  parallel to its general slope;
- after touch-downs off the plane, swings go up before they travel and are over their aim before they are down.
Without contacts all heights fade to zero, and the walk is the one over flat ground. See docs/rough-ground.md.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hexapod_control.core.gait.swing_trajectory import SMOOTH, SwingTiming
from hexapod_control.core.walking.foot import Dropping, Foot, Swing
from hexapod_control.core.walking.terrain.edges import early_touch_down, raise_over_edge, stop_at_contact
from hexapod_control.core.walking.terrain.foot_contact import TERRAIN_TOLERANCE, FootContact
from hexapod_control.core.walking.terrain.ground_search import keep_in_reach, search_ground, starts_search
from hexapod_control.core.walking.terrain.height_reach import HeightReach
from hexapod_control.core.walking.terrain.lift_off_delay import CARRYING_FEET, LiftOffDelay
from hexapod_control.core.walking.terrain.support_plane import SupportPlane

FADE_S = 0.3  # in which the heights go to zero without contacts
SWING_STRETCH = 4.0 / 3.0  # times the nominal time a swing takes on rough ground, to have time for the search
# Of a swing on rough ground: up before it travels, because of edges, and at its aim before it is down: where
# the ground is met, the foot should not travel any more.
STEEP = SwingTiming(off=0.1, there=0.75, up=0.45, down=0.95)
ROUGH_HEIGHT = 0.01  # [m] touch-downs so far from the plane are rough ground
SMOOTHING = 0.1  # by which one touch-down on the plane makes the ground less rough
LIFT_FROM_ABOVE, LIFT_FROM_BELOW = 0.5, 0.25  # share of the lift-off height: less, or more, lift
DEPTH = 0.4  # share of the walk's height that feet follow the ground below and above the plane
RETREAT_S = 1.0  # in which feet come back to the plane where they are out of reach
LEAVING = 0.2  # [swing times] before its lift-off: an unloaded foot does not search the ground any more


def ease_out(t: float) -> float:
    """Share of a displacement that is left at t in [0, 1], from 1 to 0, at rest at both ends."""
    return 1.0 - t * t * (3.0 - 2.0 * t)


class TerrainAdaptation:
    """How the feet follow the ground; it exists from the first known contacts until the heights have faded away."""

    def __init__(self, count: int, height: float) -> None:
        """For so many feet of a robot that walks at a height [m]; nothing is sensed yet."""
        self.depth = DEPTH * height  # [m] from the plane that a foot stands at most
        self.contacts: Sequence[bool] | None = None  # as sensed now; None: not known
        self.roughness = 0.0  # 0: flat; 1: so rough that feet should come down early
        self.feet = [FootContact() for _ in range(count)]
        self._lift_off_delay = LiftOffDelay()
        self._plane = SupportPlane()
        self._faded = 1.0  # share of the fade that is over

    @property
    def waiting(self) -> bool:
        """True while a lift-off waits for feet to touch."""
        return self._lift_off_delay.waiting

    @property
    def even(self) -> bool:
        """True while the ground is taken as flat and nothing is sensed: the feet walk as if this did not exist."""
        return self.contacts is None and self._faded >= 1.0

    @property
    def timing(self) -> SwingTiming:
        """Of a swing that begins now, if nothing stops it."""
        return SMOOTH.towards(STEEP, self.roughness)

    @property
    def stretch(self) -> float:
        """Times the nominal swing time a swing should take, to have time for a search at its end."""
        return 1.0 + self.roughness * (SWING_STRETCH - 1.0)

    @staticmethod
    def lift(height: float, base: float) -> float:
        """Lift [m] of a swing from a height `base` [m]: less from above the plane, more from below it."""
        return height - (LIFT_FROM_ABOVE if base > 0.0 else LIFT_FROM_BELOW) * base

    def touches(self, leg: int) -> bool:
        """True if a foot is known to touch."""
        return self.contacts is not None and self.contacts[leg]

    def delays_lift_off(self, feet: Sequence[Foot], lifted: Collection[int], dt: float, most: float) -> bool:
        """True if these lift-offs must wait for other feet to touch, `most` [s] at most; see `LiftOffDelay`."""
        return self._lift_off_delay.update(feet, self.contacts, lifted, dt, most)

    def meet_obstacles(self, leg: int, foot: Foot, lift_height: float, dt: float) -> None:
        """Before a foot moves: raises a swing of a lift height [m] over an edge, and ends one that meets the ground."""
        touches = self.touches(leg)
        raise_over_edge(foot, self.feet[leg], touches, lift_height, dt)
        if early_touch_down(foot, touches, self.depth):
            stop_at_contact(foot)

    def begin_search(self, leg: int, foot: Foot) -> None:
        """After a swinging foot has moved: it is planted and sinks on if it is over its aim and slow enough."""
        starts_search(foot, self.feet[leg])

    def step(self, feet: Sequence[Foot], until: Sequence[float], dt: float, reach: HeightReach) -> None:
        """Moves the heights of all feet on by `dt` [s].

        `until` [swing times] is the time until each foot lifts off (inf: the clock stands), `reach` what heights the
        feet can be at.
        """
        contacts = self.contacts
        if contacts is None:
            self._fade(feet, dt)
            return
        self._faded = 0.0
        for leg, (foot, contact) in enumerate(zip(feet, self.feet, strict=True)):
            if not contact.search_begun:
                search_ground(
                    leg,
                    foot,
                    contact,
                    dt,
                    reach,
                    touches=contacts[leg],
                    leaving=until[leg] < LEAVING,
                    roughness=self.roughness,
                    depth=self.depth,
                )
            contact.search_begun = False
            self._note_touch_down(foot, contact, contacts[leg])
        standing = [foot for foot, touches in zip(feet, contacts, strict=True) if foot.state.planted and touches]
        if len(standing) < CARRYING_FEET:
            standing = [foot for foot in feet if foot.state.planted]
        self._plane.follow(standing, feet, dt)
        for leg, (foot, contact) in enumerate(zip(feet, self.feet, strict=True)):
            if isinstance(foot.state, Swing | Dropping):
                keep_in_reach(leg, foot, contact, dt, reach)

    def _note_touch_down(self, foot: Foot, contact: FootContact, touches: bool) -> None:
        """Adapts the roughness to a foot that has touched for the first time since it is planted."""
        planted = foot.state.planted
        if planted and touches and not contact.touched:
            off_plane = (abs(foot.z) - TERRAIN_TOLERANCE) / (ROUGH_HEIGHT - TERRAIN_TOLERANCE)
            self.roughness = max(min(max(off_plane, 0.0), 1.0), self.roughness - SMOOTHING)
        contact.touched = planted and (touches or contact.touched)

    def _fade(self, feet: Sequence[Foot], dt: float) -> None:
        """Brings all heights towards the plane, where nothing is known of contacts."""
        before = ease_out(self._faded)
        self._faded = min(1.0, self._faded + dt / FADE_S)
        share = ease_out(self._faded) / before if before > 0.0 else 0.0
        for contact in self.feet:
            contact.sinking = 0.0
        self._plane = SupportPlane()
        self._lift_off_delay.clear()
        for foot in feet:
            state = foot.state
            if isinstance(state, Swing):
                state.base *= share
            elif isinstance(state, Dropping):
                foot.z -= (1.0 - share) * state.end
                state.end *= share
            else:
                foot.z *= share

    def retreat(self, feet: Sequence[Foot], dt: float) -> None:
        """Brings planted feet nearer to the plane for `dt` [s]: the recovery from a posture that is out of reach."""
        for foot in feet:
            if foot.state.planted:
                foot.z *= max(0.0, 1.0 - dt / RETREAT_S)
