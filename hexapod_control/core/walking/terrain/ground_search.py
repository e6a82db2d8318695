"""Ground search: feet without contact sink until they touch, within the reach of the legs.

A foot without contact where the ground was expected is planted for the gait clock, but continues to sink at a bounded
speed until it touches, is due to lift off, or is at the limit of its reach or of the permitted depth. A foot in the air
that rises to the limit of its reach is slowed down before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hexapod_control.core.kinematics.body_pose import Placement
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.whole_body import ball_center_and_joints
from hexapod_control.core.robot import Robot
from hexapod_control.core.walking.foot import STANCE, Dropping, Foot, Swing
from hexapod_control.core.walking.terrain.early_contact import CONTACT_DECELERATION, REACH_MARGIN, FootContact
from hexapod_control.core.workspace.stance_regions import reaches
from hexapod_control.core.workspace.strides.stride_table import Strides


class HeightReach(NamedTuple):
    """The heights in reach of all feet in one tick."""

    robot: Robot
    placement: Placement  # of the body
    strides: Strides
    joints: Sequence[LegJoints]  # [rad] of the tick before

    def includes(self, leg: int, foot: Foot, height: float) -> bool:
        """Returns True if a foot can be at a height [m]; a planted foot at the other end of its stance, too."""
        robot = self.robot
        x, y = self.strides.disc(leg, foot.region).center
        here = (foot.x, foot.y)
        there = (2.0 * x - foot.x, 2.0 * y - foot.y)
        lift = height - robot.walk.preload
        _, (_, reason, _) = ball_center_and_joints(
            robot.legs[leg], here, lift, self.placement, robot.foot_radius, self.joints[leg]
        )
        return reason is None and (
            not foot.state.planted or reaches(robot.legs[leg], robot, there, height, self.placement)
        )


SEARCH_SPEED = 0.15  # [m/s] at which a foot without contact sinks
SEARCH_ACCELERATION = 6.0  # [m/s^2] of the foot when the search begins
TOUCH_DOWN_DELAY_S = 0.03  # without contact, after which a foot that has just landed on flat ground searches ...
LOST_CONTACT_DELAY_S = 0.1  # ... and one that has already had contact
SEARCH_REACH_MARGIN = 0.008  # [m] from the limit of reach: joint speeds diverge near full extension
RISE_BRAKING = 3.0  # [m/s^2] deceleration of feet in the air that rise to the limit of their reach
BISECTIONS = 8  # steps of the search for the greatest height in reach


def start_search(foot: Foot, contact: FootContact) -> None:
    """Plants a swinging foot that is above its aim and slow enough; from then on it searches the ground."""
    swing = foot.state
    speed = -foot.velocity[2]
    if not isinstance(swing, Swing) or not swing.timing.searches_ground:
        return
    if swing.progress - swing.lag < swing.timing.travel_end or speed > SEARCH_SPEED:
        return
    foot.state = STANCE
    contact.sinking = max(speed, 0.0)
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
) -> None:
    """Lowers a planted foot without contact for `dt` [s].

    `leaving` is true for a foot that is due to lift off soon; `roughness` (0 to 1) shortens the delay; `depth` [m] is
    the limit below the plane.
    """
    planted = foot.state.planted
    speed = contact.sinking
    contact.without_contact = contact.without_contact + dt if planted and not touches else 0.0
    if not planted:
        contact.sinking = 0.0
        return
    goal = 0.0
    delay = (1.0 - roughness) * (LOST_CONTACT_DELAY_S if contact.touched else TOUCH_DOWN_DELAY_S)
    if foot.z and not reach.includes(leg, foot, foot.z + math.copysign(SEARCH_REACH_MARGIN, foot.z)):
        goal = math.copysign(min(SEARCH_SPEED, abs(foot.z) / dt), foot.z)
    elif not touches and not leaving and (speed or contact.without_contact > delay):
        remaining = foot.z + depth
        ahead = SEARCH_REACH_MARGIN + SEARCH_SPEED * (dt + SEARCH_SPEED / (2.0 * CONTACT_DECELERATION))
        if remaining > 0.0 and reach.includes(leg, foot, foot.z - ahead):
            goal = min(SEARCH_SPEED, math.sqrt(2.0 * CONTACT_DECELERATION * remaining), remaining / dt)
    acceleration = SEARCH_ACCELERATION if speed >= 0.0 else CONTACT_DECELERATION
    speed = min(max(goal, speed - CONTACT_DECELERATION * dt), speed + acceleration * dt)
    contact.sinking = speed
    if speed:
        foot.z -= speed * dt


def keep_in_reach(leg: int, foot: Foot, contact: FootContact, dt: float, reach: HeightReach) -> None:
    """Slows a foot in the air down before it rises to the limit of its reach, in a tick of `dt` [s]."""
    vx, vy, speed = foot.velocity
    before = contact.rising
    if speed > 0.0:
        start = foot.z - speed * dt
        if not reach.includes(leg, foot, foot.z + REACH_MARGIN + speed * speed / (2.0 * RISE_BRAKING)):
            speed = min(speed, max(before - RISE_BRAKING * dt, 0.0))
        speed = min(speed, max(before, 0.0) + CONTACT_DECELERATION * dt)
        foot.z = start + speed * dt
        foot.velocity = (vx, vy, speed)
    contact.rising = speed
    if not reach.includes(leg, foot, foot.z + REACH_MARGIN):
        foot.z = _greatest_height(leg, foot, reach)
        if isinstance(foot.state, Dropping):
            foot.state.end = min(foot.state.end, foot.z)


def _greatest_height(leg: int, foot: Foot, reach: HeightReach) -> float:
    """Returns the greatest height [m] in reach of a foot in the air."""
    low = 0.0
    high = foot.z
    for _ in range(BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if reach.includes(leg, foot, middle + REACH_MARGIN) else (low, middle)
    return low
