# SPDX-License-Identifier: Apache-2.0
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
CORNER_DEG = 45.0  # direction of the front legs
CIRCLE_M = 0.15  # usual radius of a circle of hips
ROUND_HEIGHT_M = 0.05  # of its body, whose length and width are those of the polygon of hips
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


def circle_deg(legs: int, index: int) -> float:
    """Direction [deg] of a left hip on a circle, counted from the front."""
    return 360.0 * (index + 0.5) / legs


def _polygon(legs: int) -> Vector:
    """Size [m] of a body with a hip at each of its corners."""
    corners = [math.radians(circle_deg(legs, index)) for index in range(legs // 2)]
    return 2.0 * CIRCLE_M * math.cos(corners[0]), 2.0 * CIRCLE_M * max(map(math.sin, corners)), ROUND_HEIGHT_M


ROW_BODIES = {4: (0.15, 0.15, 0.05), 6: (0.24, 0.12, 0.05), 8: (0.4, 0.14, 0.05)}
LAYOUTS = {
    f"{legs} {shape}": Layout(legs, shape == "circle", shape != "free", _polygon(legs) if shape == "circle" else body)
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
    share = 1.0 - 2.0 * index / (count - 1)  # 1 in front, -1 at the rear
    y_share = HIP_Y_SHARE if abs(share) == 1.0 else INNER_HIP_Y_SHARE
    return HIP_X_SHARE * size[0] * share, y_share * size[1], 90.0 - (90.0 - CORNER_DEG) * share


def usual_radius(legs: Layout, size: tuple[float, ...]) -> float:
    """Usual radius [m] of a circle of hips: the corners of their polygon are in the body of `size` [m]."""
    usual = _polygon(legs.legs)
    return CIRCLE_M * min(size[0] / usual[0], size[1] / usual[1])


def circle_hip(legs: Layout, place: str, radius: float) -> HipPlace:
    """Position (x, y [m], direction [deg]) of the hip of a left leg on a circle of a radius [m]."""
    direction = circle_deg(legs.legs, legs.places.index(place))
    angle = math.radians(direction)
    return radius * math.cos(angle), radius * math.sin(angle), direction


def rear_of(front: tuple[float, ...]) -> HipPlace:
    """The mirror image of a hip across the middle of the body."""
    x, y, direction = front
    return -x, y, 180.0 - direction


def right_of(left: tuple[float, ...]) -> HipPlace:
    """The mirror image of a left hip."""
    x, y, direction = left
    return x, -y, -direction
