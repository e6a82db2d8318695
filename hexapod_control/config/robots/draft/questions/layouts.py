"""Layouts of the legs: their names, and usual positions of the hips."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hexapod_control.config.robots.draft.leg_draft import PLACES
from hexapod_control.config.robots.draft.questions.question import Answers
from hexapod_control.core.robot import Vector

# x and y of a corner hip over length and width of the body
HIP_X_SHARE = 0.5
HIP_Y_SHARE = 0.5
INNER_HIP_Y_SHARE = 0.75  # y of a hip between the corners over the width of the body
CIRCLE_RADIUS_SHARE = 0.58  # radius of a circle of hips over the shorter side of the body
CORNER_DEG = 45.0  # direction of the front legs
HipPlace = tuple[float, float, float]  # x, y [m] and direction [deg]


@dataclass(frozen=True, slots=True)
class Layout:
    """Number and arrangement of the legs."""

    legs: int
    circle: bool
    mirrored: bool  # right legs are the mirror image of the left ones
    body: Vector  # [m] usual size

    @property
    def places(self) -> tuple[str, ...]:
        """Positions of the legs on one side, front to rear."""
        return PLACES[self.legs // 2]


ROW_BODIES = {4: (0.15, 0.15, 0.05), 6: (0.24, 0.12, 0.05), 8: (0.4, 0.14, 0.05)}
ROUND_BODY = (0.26, 0.26, 0.05)
LAYOUTS = {
    f"{legs} {shape}": Layout(legs, shape == "circle", shape != "free", ROUND_BODY if shape == "circle" else body)
    for shape in ("rows", "circle", "free")
    for legs, body in sorted(ROW_BODIES.items(), key=lambda row: row[0] != 6)
}


def layout(answered: Answers) -> Layout:
    """The layout of the legs."""
    return LAYOUTS[answered.words["legs"]]


def usual_hip(legs: Layout, place: str, size: tuple[float, ...]) -> HipPlace:
    """Usual position (x, y [m], direction [deg]) of the hip of a left leg, for a body of `size` [m]."""
    count = len(legs.places)
    index = legs.places.index(place)
    if legs.circle:
        direction = 180.0 * (index + 0.5) / count
        radius = CIRCLE_RADIUS_SHARE * min(size[:2])
        angle = math.radians(direction)
        return radius * math.cos(angle), radius * math.sin(angle), direction
    share = 1.0 - 2.0 * index / (count - 1)  # 1 in front, -1 at the rear
    y_share = HIP_Y_SHARE if abs(share) == 1.0 else INNER_HIP_Y_SHARE
    return HIP_X_SHARE * size[0] * share, y_share * size[1], 90.0 - (90.0 - CORNER_DEG) * share


def rear_of(front: tuple[float, ...]) -> HipPlace:
    """The mirror image of a hip across the middle of the body."""
    x, y, direction = front
    return -x, y, 180.0 - direction


def right_of(left: tuple[float, ...]) -> HipPlace:
    """The mirror image of a left hip."""
    x, y, direction = left
    return x, -y, -direction
