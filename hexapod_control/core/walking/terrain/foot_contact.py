"""History of the contact of one foot with uneven ground."""

from __future__ import annotations

from dataclasses import dataclass

from hexapod_control.core.copyable import Copyable

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
