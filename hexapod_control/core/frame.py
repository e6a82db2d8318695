"""What a motion says in one tick, and what every kind of motion can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

from hexapod_control.core.body import Placement
from hexapod_control.core.contact import place
from hexapod_control.core.kinematics import Reach, Row
from hexapod_control.core.robot import Robot, Vector


class Unreached(NamedTuple):
    """A foot that cannot be where it was asked to be."""

    leg: str
    reason: Reach
    excess: float  # [m], or [rad] beyond a joint limit


class Frame(NamedTuple):
    """A complete row: joints of all legs, and feet where the row is Cartesian."""

    joints: list[Row]  # [rad]
    centres: list[Vector] | None  # [m] ball centres in base_link; None for a motion in joint space
    contacts: list[tuple[float, float]]  # [m] contact points in base_footprint
    planted: list[bool]
    placement: Placement
    unreached: Unreached | None


class Motion(Protocol):
    """Something that moves the robot tick by tick."""

    @property
    def done(self) -> bool:
        """True once the motion has reached its end."""

    @property
    def progress(self) -> float:
        """Share (0 to 1) of it that is done; 0 where there is no end to count to."""

    def copy(self) -> Self:
        """An independent motion in the same state."""

    def advance(self, dt: float, previous: Sequence[Row]) -> Frame:
        """Moves on by `dt` [s]; `previous` are the joints [rad] of the tick before."""


def frame(
    robot: Robot,
    placement: Placement,
    contacts: list[tuple[float, float]],
    lifts: Sequence[float],
    planted: list[bool],
    previous: Sequence[Row],
) -> Frame:
    """The row with all feet at their contact points [m, base_footprint], `lifts` [m] above where they stand."""
    joints, centres, unreached = [], [], None
    preload, radius = robot.walk.preload, robot.foot_radius
    for leg, contact, lift, row in zip(robot.legs, contacts, lifts, previous, strict=True):
        centre, (found, reason, excess) = place(leg, contact, lift - preload, placement, radius, row)
        centres.append(centre)
        joints.append(found)
        if reason is not None and unreached is None:
            unreached = Unreached(leg.name, reason, excess)
    return Frame(joints, centres, contacts, planted, placement, unreached)
