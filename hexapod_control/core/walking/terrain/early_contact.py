"""Swings that meet an obstacle: ground that is higher than expected, or an edge in the path of the foot.

A contact after EARLIEST_TOUCH_DOWN, once the foot no longer rises, is the ground: the foot stops there and is planted.
An earlier contact, after the foot has left the ground, is an edge: the foot rises along it without travelling until the
contact ends, by at most CLIMB_HEIGHT. Afterwards it travels faster, so that it reaches its aim at touch-down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.robot import Vector
from hexapod_control.core.walking.foot import Dropping, Foot, Swing

TERRAIN_TOLERANCE = 0.003  # [m] height above the expected ground, up to which a contact is with that ground
EARLIEST_TOUCH_DOWN = 0.5  # progress of a swing from which a contact ends it; before, it is the old ground or an edge
REACH_MARGIN = 0.001  # [m] between feet in the air and the limit of their reach


@dataclass
class FootContact(Copyable):
    """Contact history of one foot, and the speeds at which it follows the ground."""

    sinking: float = 0.0  # [m/s] downward speed of a planted foot that searches the ground
    climbing: float = 0.0  # [m/s] upward speed of a swinging foot that rises along an edge
    rising: float = 0.0  # [m/s] upward speed of a foot in the air
    left_ground: bool = False  # whether the foot has been without contact since its lift-off
    touched: bool = True  # whether the foot has had contact since its touch-down
    without_contact: float = 0.0  # [s] for which a planted foot has had no contact
    search_begun: bool = False  # whether the search began in this tick: the foot has moved already


CLIMB_SPEED = 0.2  # [m/s] at which a foot rises along an edge
CLIMB_HEIGHT = 0.03  # [m] maximum rise above its lift height
# [m/s^2] while the foot touches the edge, and afterwards
CLIMB_ACCELERATION = 6.0
CLIMB_DECELERATION = 3.0
CONTACT_DECELERATION = 10.0  # [m/s^2] of a foot that has made contact
SHORTEST_STOP_S = 0.02
STOP_DECELERATION = 4.0  # initial speed over duration: deceleration at the start, the second derivative of t (1 - t)^2


def early_touch_down(foot: Foot, touches: bool, max_offset: float) -> bool:
    """Returns True if a foot in the air touches ground that is higher than expected, by at most `max_offset` [m]."""
    if not touches or foot.z > max_offset:
        return False
    if isinstance(foot.state, Dropping):
        return not foot.state.touched and foot.z > foot.state.end + TERRAIN_TOLERANCE
    return isinstance(foot.state, Swing) and not _rises(foot, foot.state) and foot.z > TERRAIN_TOLERANCE


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
