# SPDX-License-Identifier: Apache-2.0
"""Adaptation to uneven ground: contacts end swings, feet search the ground, and the body follows the feet.

The plane of base_footprint approximates the ground. On uneven ground every planted foot has its own height above it,
that at which it touched the ground:

- a swing that touches early ends there; one that meets an edge rises over it (`raise_over_edge`);
- a foot that does not touch sinks, planted for the gait clock, down to a limit (`search_ground`);
- lift-offs wait until three other feet support the robot (`LiftOffDelay`);
- the plane follows the planted feet (`SupportPlane`), so that the body keeps its height above the ground and becomes
  parallel to its mean slope;
- after touch-downs away from the plane, swings rise before they travel, and reach their aim before they descend; where
  steps follow the heights of those before, as at the foot of a ramp, they end at such heights (`Expectation`).

Without contacts all heights fade to zero, and the robot walks as on flat ground. See docs/rough-ground.md, and
docs/architecture/walking-mathematics.md, "Terrain adaptation".

A contact after EARLIEST_TOUCH_DOWN, once the foot no longer rises, is the ground: the foot stops there and is planted.
An earlier contact, after the foot has left the ground, is an edge: the foot rises along it without travelling until the
contact ends, by at most CLIMB_HEIGHT. Afterwards it travels faster, so that it reaches its aim at touch-down.

A foot without contact where the ground was expected is planted for the gait clock, but continues to sink at a bounded
speed until it touches, is due to lift off, or is at the limit of its reach or of the permitted depth. A foot in the air
that rises to the limit of its reach is slowed down before.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.swing_trajectory import SMOOTH, SwingTiming
from hexapod_control.core.kinematics.body_pose import Placement
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.whole_body import ball_center_and_joints
from hexapod_control.core.robot import Robot, Vector
from hexapod_control.core.statics.static_stability import MIN_SUPPORTING_FEET
from hexapod_control.core.walking.foot import STANCE, Dropping, Foot, Swing
from hexapod_control.core.walking.support_plane import WITHIN, SupportPlane
from hexapod_control.core.workspace.strides.stride_table import Strides

TERRAIN_TOLERANCE = 0.003  # [m] height above the expected ground, up to which a contact is with that ground
EARLIEST_TOUCH_DOWN = 0.5  # progress of a swing from which a contact ends it; before, it is the old ground or an edge
SINK_BRAKING = 30.0  # [m/s^2] of a foot that comes down, before the limit of its reach
REACH_MARGIN = 0.001  # [m] between feet in the air and the limit of their reach


@dataclass
class FootContact(Copyable):
    """Contact history of one foot, and the speeds at which it follows the ground."""

    sinking: float = 0.0  # [m/s] downward speed of a planted foot that searches the ground
    climbing: float = 0.0  # [m/s] upward speed of a swinging foot that rises along an edge
    rising: float = 0.0  # [m/s] upward speed of a foot in the air
    left_ground: bool = False  # whether the foot has been without contact since its lift-off
    lowest: float = -math.inf  # [m] height above the plane down to which a planted foot searches
    touched: bool = True  # whether the foot has had contact since its touch-down
    without_contact: float = 0.0  # [s] for which a planted foot has had no contact
    search_begun: bool = False  # whether the search began in this tick: the foot has moved already
    expected: float = 0.0  # [m] height above the plane at which it expected ground that it did not see
    found: float = 0.0  # [m] the same at which it last touched the ground


CLIMB_SPEED = 0.2  # [m/s] at which a foot rises along an edge
CLIMB_HEIGHT = 0.03  # [m] maximum rise above its lift height
# [m/s^2] while the foot touches the edge, and afterwards
CLIMB_ACCELERATION = 6.0
CLIMB_DECELERATION = 3.0
CONTACT_DECELERATION = 10.0  # [m/s^2] of a foot that has made contact
SHORTEST_STOP_S = 0.02
STOP_DECELERATION = 4.0  # initial speed over duration: deceleration at the start, the second derivative of t (1 - t)^2


def seen_end(foot: Foot) -> float | None:
    """Returns the height [m] of the seen foothold to which a foot swings; None: it does not, or sees none."""
    return foot.state.end if isinstance(foot.state, Swing) else None


def _expected(swing: Swing) -> float:
    """Returns the height [m] at which a swing is to end."""
    return swing.felt if swing.end is None else swing.end


def early_touch_down(foot: Foot, touches: bool, max_offset: float) -> bool:
    """Returns True if a foot in the air touches ground that is higher than expected, by at most `max_offset` [m]."""
    state = foot.state
    expected = _expected(state) if isinstance(state, Swing) else 0.0
    if not touches or foot.z > max_offset + max(seen_end(foot) or 0.0, 0.0):
        return False
    if isinstance(state, Dropping):
        return not state.touched and foot.z > state.end + TERRAIN_TOLERANCE
    return isinstance(state, Swing) and not _rises(foot, state) and foot.z > expected + TERRAIN_TOLERANCE


def stop_at_contact(foot: Foot) -> None:
    """Stops a foot in the air at its point of contact."""
    vx, vy, vz = foot.velocity
    foot.state = Dropping(stop_time(foot.velocity), 0.0, vz, vx, vy, foot.z, touched=True)


def stop_time(velocity: Vector) -> float:
    """Returns the time [s] in which a foot stops that has made contact at a velocity [m/s]."""
    return max(SHORTEST_STOP_S, STOP_DECELERATION * math.hypot(*velocity) / CONTACT_DECELERATION)


def raise_over_edge(foot: Foot, contact: FootContact, touches: bool, lift_height: float, dt: float) -> None:
    """Raises a swing over an edge that its foot touches on the way up; `lift_height` [m] is the nominal one."""
    swing = foot.state
    if not isinstance(swing, Swing):
        contact.left_ground = False
        contact.climbing = 0.0
        return
    contact.left_ground = contact.left_ground or not touches
    at_edge = touches and contact.left_ground and _rises(foot, swing) and swing.lift < lift_height + CLIMB_HEIGHT
    speed = contact.climbing
    speed = min(speed + CLIMB_ACCELERATION * dt, CLIMB_SPEED) if at_edge else max(speed - CLIMB_DECELERATION * dt, 0.0)
    contact.climbing = speed
    swing.lift += max(0.0, speed - max(0.0, foot.velocity[2])) * dt  # without the rise by the swing itself
    swing.travel_rate = 1.0 - speed / CLIMB_SPEED


def _rises(foot: Foot, swing: Swing) -> bool:
    """True if a swinging foot has not yet begun to descend."""
    return swing.progress < EARLIEST_TOUCH_DOWN or foot.velocity[2] > 0.0


class HeightReach(NamedTuple):
    """The heights in reach of all feet in one tick."""

    robot: Robot
    placement: Placement  # of the body
    strides: Strides
    joints: Sequence[LegJoints]  # [rad] of the tick before

    def includes(self, leg: int, foot: Foot, height: float) -> bool:
        """Returns True if a foot can be at a height [m]; a planted foot at the other end of its stance, too."""
        robot = self.robot
        places = [(foot.x, foot.y)]
        if foot.state.planted:
            x, y = self.strides.disc(leg, foot.region).center
            places.append((2.0 * x - foot.x, 2.0 * y - foot.y))
        lift = height - robot.walk.preload
        for place in places:
            # From the joints of now the ball's rolling is known to 0.6 mm at the other end: less than the margins.
            _, (_, reason, _) = ball_center_and_joints(
                robot.legs[leg], place, lift, self.placement, robot.foot_radius, self.joints[leg]
            )
            if reason is not None:
                return False
        return True


SEARCH_SPEED = 0.15  # [m/s] at which a foot without contact sinks
# [m/s] the same on a steep slope: a contact is known 0.05 to 0.1 s late, and a fast foot pushes the body off the others
LANDING_SPEED = 0.08  # of a foot that has not touched yet, within ROUGH_HEIGHT of where it was to touch down
SEARCH_ACCELERATION = 6.0  # [m/s^2] of the foot when the search begins
TOUCH_DOWN_DELAY_S = 0.03  # without contact, after which a foot that has just landed on flat ground searches ...
LOST_CONTACT_DELAY_S = 0.1  # ... and one that has already had contact
SEEN_DEPTH = 0.03  # [m] below a foothold that is seen, down to which a foot searches: not into a gap beside it
SEARCH_REACH_MARGIN = 0.008  # [m] from the limit of reach: joint speeds diverge near full extension
RISE_BRAKING = 3.0  # [m/s^2] deceleration of feet in the air that rise to the limit of their reach
BISECTIONS = 8  # steps of the search for the greatest height in reach


def start_search(foot: Foot, contact: FootContact) -> None:
    """Plants a swinging foot that is above its aim and slow enough; from then on it searches the ground."""
    swing = foot.state
    speed = -foot.velocity[2]
    if not isinstance(swing, Swing) or not swing.timing.searches_ground:
        return
    # Over ground that is seen it is at its height by the end of the descent; before, reach may hold it lower.
    over_aim = swing.timing.travel_end if swing.end is None else swing.timing.descent_end
    if swing.progress - swing.lag < over_aim or not 0.0 <= speed <= SEARCH_SPEED:
        return
    foot.state = STANCE
    contact.sinking = speed
    contact.search_begun = True


def search_ground(
    leg: int,
    foot: Foot,
    contact: FootContact,
    dt: float,
    reach: HeightReach,
    *,
    touches: bool,
    leaving: bool,
    roughness: float,
    depth: float,
    gentle: float = 0.0,
    spare: bool = False,
) -> None:
    """Lowers a planted foot without contact for `dt` [s].

    `leaving` is true for a foot that is not to search: it is due to lift off soon, or has found the ground of a robot
    that stands; `roughness` (0 to 1) shortens the delay; `depth` [m] is the limit below the plane. With `gentle` (0 to
    1) it is slow near the ground. A foot that has touched does not search if it is `spare`, as others support the
    robot: it would push them off, and they would search in turn.

    The sinking speed follows a goal with bounded acceleration. The goal stops the foot at its limit: with a
    deceleration a it may be sqrt(2 a r) when r remains, and less than r / dt so that the last tick does not overshoot.
    """
    planted = foot.state.planted
    speed = contact.sinking
    contact.without_contact = contact.without_contact + dt if planted and not touches else 0.0
    if not planted:
        contact.sinking = 0.0
        if isinstance(foot.state, Swing):
            contact.expected = foot.state.felt
            contact.lowest = -math.inf if foot.state.end is None else min(foot.state.end, 0.0) - SEEN_DEPTH
        return
    goal = 0.0  # also with contact, or before the delay: a foot that sinks slows down
    delay = (1.0 - roughness) * (LOST_CONTACT_DELAY_S if contact.touched else TOUCH_DOWN_DELAY_S)
    # Out of reach, as the body has moved: back towards the plane, up (a negative sinking speed) from a hole.
    if foot.z and not reach.includes(leg, foot, foot.z + math.copysign(SEARCH_REACH_MARGIN, foot.z)):
        goal = math.copysign(min(SEARCH_SPEED, abs(foot.z) / dt), foot.z)
    elif not (touches or leaving or (spare and contact.touched)) and (speed or contact.without_contact > delay):
        remaining = foot.z - max(-depth, contact.lowest)
        # the way in this tick, and that of braking from full speed after it
        ahead = SEARCH_REACH_MARGIN + SEARCH_SPEED * (dt + SEARCH_SPEED / (2.0 * CONTACT_DECELERATION))
        if remaining > 0.0 and reach.includes(leg, foot, foot.z - ahead):
            most = SEARCH_SPEED
            if not contact.touched and abs(foot.z - contact.expected) < ROUGH_HEIGHT:
                most += gentle * (LANDING_SPEED - SEARCH_SPEED)
            goal = min(most, math.sqrt(2.0 * CONTACT_DECELERATION * remaining), remaining / dt)
    # A foot that still rises brakes as one that has touched; the start of a search must not pull at the leg.
    acceleration = SEARCH_ACCELERATION if speed >= 0.0 else CONTACT_DECELERATION
    speed = min(max(goal, speed - CONTACT_DECELERATION * dt), speed + acceleration * dt)
    contact.sinking = speed
    if speed:
        foot.z -= speed * dt


def keep_in_reach(leg: int, foot: Foot, contact: FootContact, dt: float, reach: HeightReach) -> None:
    """Slows a foot in the air down before it rises to the limit of its reach, in a tick of `dt` [s]."""
    vx, vy, speed = foot.velocity
    before = contact.rising
    if speed > 0.0:  # the swing has moved the foot already: its rise of this tick is taken back and shortened
        start = foot.z - speed * dt
        speed = min(speed, max(before, 0.0) + CONTACT_DECELERATION * dt)  # a foot below its path is to catch up
        if not reach.includes(leg, foot, start + speed * dt + REACH_MARGIN + speed * speed / (2.0 * RISE_BRAKING)):
            speed = min(speed, max(before - RISE_BRAKING * dt, 0.0))
        foot.z = start + speed * dt
        foot.velocity = (vx, vy, speed)
    elif speed < 0.0 and isinstance(foot.state, Swing) and foot.state.end is not None:
        # A place that the leg reaches only when the body has moved on: the foot waits above it.
        start = foot.z - speed * dt
        speed = max(speed, min(before, 0.0) - SINK_BRAKING * dt)
        if not reach.includes(leg, foot, start + speed * dt - REACH_MARGIN - speed * speed / (2.0 * SINK_BRAKING)):
            speed = max(speed, min(before + SINK_BRAKING * dt, 0.0))
        foot.z = start + speed * dt
        foot.velocity = (vx, vy, speed)
    contact.rising = speed
    lower = isinstance(foot.state, Swing) and (foot.state.end is not None or foot.state.felt < 0.0)
    margin = -SEARCH_REACH_MARGIN if foot.z < 0.0 and lower else REACH_MARGIN
    if not reach.includes(leg, foot, foot.z + margin):
        if not reach.includes(leg, foot, margin):  # at no height: it travels no farther than the leg reaches
            _keep_near((foot.x - vx * dt, foot.y - vy * dt, foot.z), leg, foot, margin, reach)
        if not reach.includes(leg, foot, foot.z + margin):
            _keep_near((foot.x, foot.y, 0.0), leg, foot, margin, reach)
        if isinstance(foot.state, Dropping):
            foot.state.end = min(foot.state.end, foot.z)  # else the drop would lead out of reach again


def _keep_near(near: Vector, leg: int, foot: Foot, margin: float, reach: HeightReach) -> None:
    """Puts a foot in the air to the point between a near one [m] and it that is nearest to it and in reach.

    The margin [m] is above the foot, or, if negative, below it.
    """
    far = foot.at
    for _ in range(BISECTIONS):
        x, y, z = ((a + b) / 2.0 for a, b in zip(near, far, strict=True))
        foot.x = x
        foot.y = y
        near, far = ((x, y, z), far) if reach.includes(leg, foot, z + margin) else (near, (x, y, z))
    foot.x, foot.y, foot.z = near


FORGETTING = 0.9  # weight of the touch-downs so far with each new one
EXPECTED_BEYOND_M = 0.01  # [m] from the plane, up to which a foot expects the ground on it


@dataclass
class Expectation(Copyable):
    """How far the ground of the next step is like that of the last one.

    Where a ramp begins, each foot touches at a height like that of its step before, until the plane has followed. With
    the part p of its last height beyond EXPECTED_BEYOND_M, it expects the ground at share p. The share, from 0 to 1, is
    the regression of the heights z of the last touch-downs on p: sum(p z) / (sum(p^2) + EXPECTED_BEYOND_M^2).
    """

    both: float = 0.0  # [m^2] sum of p z
    square: float = 0.0  # [m^2] sum of p^2

    def learn(self, last: float, now: float) -> None:
        """Takes the height [m] of a touch-down, and that of the same foot before."""
        last = self._beyond(last)
        self.both = FORGETTING * self.both + last * now
        self.square = FORGETTING * self.square + last * last

    @property
    def share(self) -> float:
        """The share (0 to 1)."""
        return min(max(self.both / (self.square + EXPECTED_BEYOND_M**2), 0.0), 1.0)

    def after(self, last: float) -> float:
        """Returns the height [m] at which a foot expects the ground that touched it at a height [m] before."""
        return self.share * self._beyond(last)

    @staticmethod
    def _beyond(height: float) -> float:
        return height - min(max(height, -EXPECTED_BEYOND_M), EXPECTED_BEYOND_M)


@dataclass
class LiftOffDelay(Copyable):
    """Whether a lift-off waits, and for how long."""

    waiting: bool = False
    waited: float = 0.0  # [s]

    def clear(self) -> None:
        """Ends the delay."""
        self.waiting = False
        self.waited = 0.0

    def update(
        self,
        feet: Sequence[Foot],
        contacts: Sequence[bool] | None,
        lifting_off: Collection[int],
        dt: float,
        max_delay: float,
        *,
        probing: bool = False,
    ) -> bool:
        """Returns True if the legs (rows) in `lifting_off` must wait because fewer than three others touch the ground.

        Or because a foot is `probing`. They wait at most `max_delay` [s], and without a limit while a foot drops. `dt`
        [s] is the duration of the tick.
        """
        self.waiting = False
        if not lifting_off:
            return False
        if any(isinstance(foot.state, Dropping) for foot in feet):
            standing = sum(foot.state.planted and leg not in lifting_off for leg, foot in enumerate(feet))
            self.waiting = standing < MIN_SUPPORTING_FEET
        if contacts is None or self.waiting:
            return self.waiting
        supporting = sum(
            touches and leg not in lifting_off and not _early_in_swing(foot)
            for leg, (foot, touches) in enumerate(zip(feet, contacts, strict=True))
        )
        if (supporting >= MIN_SUPPORTING_FEET and not probing) or self.waited >= max_delay:
            self.waited = 0.0
            return False
        self.waited += dt
        self.waiting = True
        return True


def _early_in_swing(foot: Foot) -> bool:
    """True for a foot in the first part of its swing: its contact is not a touch-down."""
    return isinstance(foot.state, Swing) and foot.state.progress < EARLIEST_TOUCH_DOWN


FADE_S = 0.3  # in which the heights fade to zero while contacts are unknown
SWING_STRETCH = 4.0 / 3.0  # factor on the swing time on rough ground, which leaves time for the search
# Timing of a swing on rough ground: the foot rises before it travels, because of edges, and reaches its aim before it
# touches the ground.
STEEP = SwingTiming(travel_start=0.1, travel_end=0.75, top=0.45, descent_end=0.95)
ROUGH_HEIGHT = 0.01  # [m] distance of a touch-down from the plane that gives a roughness of 1
SMOOTHING = 0.1  # by which a touch-down on the plane reduces the roughness
# share of the height at lift-off by which the lift changes
LIFT_FROM_ABOVE = 0.5
LIFT_FROM_BELOW = 0.25
MAX_OFFSET_SHARE = 0.4  # of the walk height: maximum distance of planted feet from the plane
RETREAT_S = 1.0  # time constant with which feet return to the plane if they are out of reach
SEARCH_END = 0.2  # [swing times] before its lift-off, from which a foot no longer searches the ground


def ease_out(t: float) -> float:
    """Returns the remaining share of a displacement at t in [0, 1]: a cubic from 1 to 0, at rest at both ends."""
    return 1.0 - t * t * (3.0 - 2.0 * t)


class TerrainAdaptation(Copyable):
    """Makes the feet follow the ground; the object exists from the first contacts until all heights have faded."""

    def __init__(self, count: int, height: float) -> None:
        """`count` is the number of feet, `height` [m] the walk height."""
        self.max_offset = MAX_OFFSET_SHARE * height  # [m] maximum distance of a planted foot from the plane
        self.contacts: Sequence[bool] | None = None  # by foot; None: unknown
        self.roughness = 0.0  # of the ground, from 0 (flat) to 1
        self.probing: frozenset[int] = frozenset()  # feet that feel for unknown ground: others wait for them
        self.steepness = 0.0  # of its slope, from 0 to 1, see `steepness`
        self.feet = [FootContact() for _ in range(count)]
        self._lift_off_delay = LiftOffDelay()
        self._plane = SupportPlane()
        self._expectation = Expectation()
        self._faded = 1.0  # progress (0 to 1) of the fade

    @property
    def waiting(self) -> bool:
        """True while a lift-off waits for feet to touch."""
        return self._lift_off_delay.waiting

    @property
    def even(self) -> bool:
        """True if contacts are unknown and all heights have faded: the robot walks as on flat ground."""
        return self.contacts is None and self._faded >= 1.0

    def expected(self, leg: int) -> float:
        """Returns the height [m] above the plane at which a foot (row) that lifts off expects the ground."""
        return self._expectation.after(self.feet[leg].found)

    @property
    def timing(self) -> SwingTiming:
        """Timing of a swing that begins now."""
        return SMOOTH.towards(STEEP, self.roughness)

    @property
    def stretch(self) -> float:
        """Factor on the nominal swing time, which leaves time for a search at the end of the swing."""
        return 1.0 + self.roughness * (SWING_STRETCH - 1.0)

    @staticmethod
    def lift(height: float, base: float) -> float:
        """Returns the lift [m] of a swing from a height `base` [m]: less from above the plane, more from below."""
        return height - (LIFT_FROM_ABOVE if base > 0.0 else LIFT_FROM_BELOW) * base

    def touches(self, leg: int) -> bool:
        """Returns True if a foot (row) is known to touch the ground."""
        return self.contacts is not None and self.contacts[leg]

    def bearing(self, feet: Sequence[Foot]) -> list[bool]:
        """Returns which feet bear load: those that have touched the ground since they were planted, or just lost it."""
        return [
            foot.state.planted and contact.touched and contact.without_contact < LOST_CONTACT_DELAY_S
            for foot, contact in zip(feet, self.feet, strict=True)
        ]

    def delays_lift_off(self, feet: Sequence[Foot], lifting_off: Collection[int], dt: float, max_delay: float) -> bool:
        """Returns True if lift-offs must wait for other feet to touch, at most `max_delay` [s]; see `LiftOffDelay`."""
        return self._lift_off_delay.update(
            feet, self.contacts, lifting_off, dt, math.inf if self.probing else max_delay, probing=bool(self.probing)
        )

    def meet_obstacles(self, leg: int, foot: Foot, lift_height: float, dt: float) -> None:
        """Before a foot moves: raises a swing over an edge, or ends one that is on the ground; `lift_height` in [m]."""
        touches = self.touches(leg)
        raise_over_edge(foot, self.feet[leg], touches, lift_height, dt)
        if early_touch_down(foot, touches, self.max_offset):
            stop_at_contact(foot)

    def begin_search(self, leg: int, foot: Foot) -> None:
        """After a swinging foot has moved: plants it if it is above its aim and slow enough to search the ground."""
        start_search(foot, self.feet[leg])

    def step(self, feet: Sequence[Foot], until: Sequence[float], dt: float, reach: HeightReach) -> None:
        """Advances the heights of all feet by `dt` [s].

        `until` [swing times] is the time until each foot lifts off (inf: the clock stands); `reach` limits the heights.
        """
        contacts = self.contacts
        if contacts is None:
            self._fade(feet, dt)
            return
        self._faded = 0.0
        bearing = self.bearing(feet)
        few = len(feet) <= MIN_SUPPORTING_FEET + 1  # one near the edge of their support bears only now and then
        for leg, (foot, contact) in enumerate(zip(feet, self.feet, strict=True)):
            found = contact.touched and until[leg] == math.inf  # feet that share the load would push each other off
            if not contact.search_begun:
                search_ground(
                    leg,
                    foot,
                    contact,
                    dt,
                    reach,
                    touches=contacts[leg],
                    leaving=found or (until[leg] < SEARCH_END and not self.probing),
                    roughness=self.roughness,
                    depth=self.max_offset,
                    gentle=self.steepness,
                    spare=leg not in self.probing and (few or sum(bearing) - bearing[leg] >= MIN_SUPPORTING_FEET),
                )
            contact.search_begun = False
            self._note_touch_down(foot, contact, contacts[leg])
        standing = [foot for foot, touches in zip(feet, contacts, strict=True) if foot.state.planted and touches]
        if len(standing) < MIN_SUPPORTING_FEET:
            standing = [foot for foot in feet if foot.state.planted]
        mapped = any([contact.lowest > -math.inf for contact in self.feet])  # the last swings had seen footholds
        planned = any([seen_end(foot) is not None for foot in feet])
        weight = 1.0 if planned else 0.0 if mapped else self._expectation.share  # of where feet in the air will stand
        points = [(1.0, foot.at) for foot in standing]
        if weight > 0.0:
            points += [(weight, (*s.aim, _expected(s))) for s in (foot.state for foot in feet) if isinstance(s, Swing)]
        self._plane.follow(points, feet, dt, math.inf if mapped else WITHIN * self.max_offset)
        for leg, (foot, contact) in enumerate(zip(feet, self.feet, strict=True)):
            if isinstance(foot.state, Swing | Dropping):
                keep_in_reach(leg, foot, contact, dt, reach)

    def _note_touch_down(self, foot: Foot, contact: FootContact, touches: bool) -> None:
        """Updates the roughness when a foot touches the ground for the first time since it was planted."""
        planted = foot.state.planted
        if planted and touches and not contact.touched:
            self._expectation.learn(contact.found, foot.z)
            contact.found = foot.z
            roughness = (abs(foot.z - contact.expected) - TERRAIN_TOLERANCE) / (ROUGH_HEIGHT - TERRAIN_TOLERANCE)
            self.roughness = max(min(max(roughness, 0.0), 1.0), self.roughness - SMOOTHING)
        contact.touched = planted and (touches or contact.touched)

    def _fade(self, feet: Sequence[Foot], dt: float) -> None:
        """Fades all heights to zero while contacts are unknown."""
        before = ease_out(self._faded)
        self._faded = min(1.0, self._faded + dt / FADE_S)
        share = ease_out(self._faded) / before if before > 0.0 else 0.0
        for contact in self.feet:
            contact.sinking = 0.0
            contact.found = 0.0
        self._plane = SupportPlane()
        self._expectation = Expectation()
        self._lift_off_delay.clear()
        for foot in feet:
            state = foot.state
            if isinstance(state, Swing):
                state.base *= share
                state.felt *= share
            elif isinstance(state, Dropping):
                foot.z -= (1.0 - share) * state.end
                state.end *= share
            else:
                foot.z *= share

    def retreat(self, feet: Sequence[Foot], dt: float) -> None:
        """Moves feet that stand, and the ends of feet that drop, towards the plane, after a foot was out of reach.

        `dt` [s] is the duration of the tick.
        """
        share = min(1.0, dt / RETREAT_S)
        for foot in feet:
            if foot.state.planted:
                foot.z -= share * foot.z
            elif isinstance(foot.state, Dropping):
                foot.z -= share * foot.state.end
                foot.state.end -= share * foot.state.end
