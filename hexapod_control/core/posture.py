"""Getting up and lying down: a joint-space motion to the knee-up branch, then the body rises over planted feet.

Standing up starts wherever the joints were measured. Nothing is known of the branch that pose is on, so the
first part is in joint space, to the feet just above the ground at their neutral footholds with the body on its
belly; the second part is Cartesian: the feet stay and the body rises. Lying down is the second part backwards.
Both parts follow a quintic, at rest at both ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hexapod_control.core.body import BodyPose, Placement
from hexapod_control.core.footing import belly_height
from hexapod_control.core.frame import Frame, frame
from hexapod_control.core.kinematics import Row
from hexapod_control.core.robot import Robot
from hexapod_control.core.row_motion import SHORTEST
from hexapod_control.core.stance import GUESS, Point
from hexapod_control.core.swing import PEAK_SHARE_SPEED, share

CLEAR = 0.015  # [m] the feet stay above the ground while the joints find their place
RISE_SPEED = 0.08  # [m/s] of the body, at the peak
STEP = 0.002  # [m] between the heights tried on the way down


@dataclass(slots=True)
class Rise:
    """The body goes straight up or down over feet that stay."""

    robot: Robot
    contacts: tuple[Point, ...]  # [m] of the feet in base_footprint
    start: float  # [m] offset from the walk height
    goal: float  # [m]
    duration: float  # [s]
    elapsed: float = 0.0  # [s]

    @classmethod
    def between(cls, robot: Robot, contacts: Sequence[Point], start: float, goal: float) -> Rise:
        """The rise (or the descent) from one offset [m] to another at a calm speed."""
        duration = max(SHORTEST, PEAK_SHARE_SPEED * abs(goal - start) / RISE_SPEED)
        return cls(robot, tuple(contacts), start, goal, duration)

    @property
    def done(self) -> bool:
        """True at the goal."""
        return self.elapsed >= self.duration

    @property
    def offset(self) -> float:
        """Present offset from the walk height [m]."""
        return self.start + share(self.elapsed / self.duration) * (self.goal - self.start)

    @property
    def progress(self) -> float:
        """Share of the time that has passed."""
        return min(1.0, self.elapsed / self.duration)

    def copy(self) -> Rise:
        """An independent rise in the same state."""
        return replace(self)

    def advance(self, dt: float, previous: Sequence[Row]) -> Frame:
        """The row one tick later."""
        self.elapsed += dt
        placement = Placement(BodyPose(z=self.offset), self.robot.walk.height)
        count = len(self.contacts)
        return frame(self.robot, placement, list(self.contacts), [0.0] * count, [True] * count, previous)


def row_in(robot: Robot, contacts: Sequence[Point], pose: BodyPose) -> tuple[Row, ...] | None:
    """Joints (n, 3) [rad] with the feet at contacts [m, base_footprint] and the body in a pose, if in reach."""
    placement = Placement(pose, robot.walk.height)
    count = len(robot.legs)
    row: list[Row] = [GUESS] * count
    for _ in range(3):  # the rolling shift settles
        found = frame(robot, placement, list(contacts), [0.0] * count, [True] * count, row)
        row = found.joints
    return None if found.unreached else tuple(row)


def row_at(robot: Robot, contacts: Sequence[Point], offset: float) -> tuple[Row, ...] | None:
    """As `row_in` with the body level, `offset` [m] from the walk height."""
    return row_in(robot, contacts, BodyPose(z=offset))


def lying_offset(robot: Robot, contacts: Sequence[Point]) -> float:
    """Offset [m] from the walk height at which the body lies and the feet at `contacts` are clear of the ground.

    Where the legs cannot fold that far it is the lowest the feet can follow.
    """
    floor = belly_height(robot) - CLEAR - robot.walk.height
    offset = 0.0
    while offset - STEP > floor and row_at(robot, contacts, offset - STEP) is not None:
        offset -= STEP
    return offset
