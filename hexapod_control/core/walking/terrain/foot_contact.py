"""What is known about the contact of one foot with uneven ground, besides whether it touches now."""

from __future__ import annotations

from dataclasses import dataclass

TERRAIN_TOLERANCE = 0.003  # [m] a contact this near to the expected ground is the expected ground
EARLIEST_TOUCH_DOWN = 0.5  # progress of a swing from which a contact may end it: before, it is the lift-off or an edge
REACH_MARGIN = 0.001  # [m] of their reach that feet in the air keep


@dataclass(slots=True)
class FootContact:
    """The recent past of one foot, and the speeds by which it follows the ground."""

    sinking: float = 0.0  # [m/s] of a planted foot that searches the ground, + down
    climbing: float = 0.0  # [m/s] of a swinging foot that has run against an edge
    rising: float = 0.0  # [m/s] of a foot in the air
    left_ground: bool = False  # has the foot been without contact since its lift-off
    touched: bool = True  # has the foot had contact since it is planted
    without_contact: float = 0.0  # [s] for which a planted foot has had no contact
    search_begun: bool = False  # did the search begin in this tick: the foot has moved already
