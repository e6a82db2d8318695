# SPDX-License-Identifier: Apache-2.0
"""Top and side view of a robot in its neutral stance, as SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape

from hexapod_control.core.kinematics.leg_kinematics import base_to_hip, hip_to_base, leg_forward, leg_inverse
from hexapod_control.core.robot import Leg, Point, Robot, Vector

SIZE = 420  # [px] of one view
MARGIN = 60  # [px]
EVEN = 1.1  # largest over smallest distance, and over smallest angle, of hips on a circle
BOX = ((1.0, 1.0), (1.0, -1.0), (-1.0, -1.0), (-1.0, 1.0))  # corners from above
LEFT = "#2e8b57"
RIGHT = "#e4572e"
INK = "#20262d"
PALE = "#9aa3ab"
FONT = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"

Projection = Callable[[Vector], Point]


def views_svg(robot: Robot) -> str:
    """The views side by side: from above with forward up, and from the right with forward to the right."""
    chains = {leg.name: _chain(robot, leg) for leg in robot.legs}
    reach = max(abs(value) for chain in chains.values() for point in chain for value in point)
    scale = (SIZE / 2.0 - MARGIN) / reach

    def top(point: Vector) -> Point:
        return SIZE / 2.0 - scale * point[1], SIZE / 2.0 - scale * point[0]

    def side(point: Vector) -> Point:
        return 1.5 * SIZE + scale * point[0], SIZE / 2.0 - scale * point[2]

    near = [name for name, chain in chains.items() if chain[-1][1] <= 0.0]  # the right legs hide the left ones
    above = [(x, y, 0.0) for x, y in body_outline(robot)]
    beside = [_corner(robot, *signs) for signs in ((-1, 0, -1), (-1, 0, 1), (1, 0, 1), (1, 0, -1))]
    parts = [
        *_view(robot, chains, above, top, "from above", chains),
        *_view(robot, chains, beside, side, "from the right", near),
    ]
    x0, ground = side((-reach, 0.0, -robot.walk.height))
    x1, _ = side((reach, 0.0, -robot.walk.height))
    parts.append(_line([(x0, ground), (x1, ground)], PALE, 1.0))
    parts += _ruler(scale, reach)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * SIZE} {SIZE}" font-family="{FONT}" role="img">'
    return "\n".join((head, f"<title>{escape(robot.name)}</title>", *parts, "</svg>", ""))


def _chain(robot: Robot, leg: Leg) -> tuple[Vector, ...]:
    """Hip, femur axis, knee and foot [m] in base_link."""
    ball = base_to_hip(leg, robot.neutral_ball(leg))
    angles = leg_inverse(leg, ball, (0.0, 0.0, 0.0)).joints
    knee, foot = leg_forward(leg, angles)
    c, s = math.cos(angles[0]), math.sin(angles[0])
    along = leg.coxa.length
    across = leg.femur_lateral
    start = (c * along - s * across, s * along + c * across, leg.femur_vertical)
    return tuple(hip_to_base(leg, point) for point in ((0.0, 0.0, 0.0), start, knee, foot))


def _view(
    robot: Robot,
    chains: dict[str, tuple[Vector, ...]],
    body: Sequence[Vector],
    seen: Projection,
    title: str,
    labelled: Collection[str],
) -> Iterator[str]:
    middle = seen((0.0, 0.0, 0.0))[0]
    yield _text((middle, 20.0), robot.name, INK)
    yield _text((middle, 36.0), title, PALE)
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(seen, body))
    yield f'<polygon points="{path}" fill="none" stroke="{INK}"/>'
    for name, chain in chains.items():
        colour = LEFT if chain[-1][1] > 0.0 else RIGHT
        line = [seen(point) for point in chain]
        yield _line(line, colour, 2.5)
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{INK}"/>' for x, y in line[:-1])
        x, y = line[-1]
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
        if name in labelled:
            yield _text((x, y + (14.0 if y > SIZE / 2.0 else -8.0)), name, PALE, 9.0)
    x, y = seen((0.0, 0.0, 0.0))
    yield f'<path d="M{x - 5:.1f},{y:.1f} h10 M{x:.1f},{y - 5:.1f} v10" stroke="{INK}"/>'


def body_outline(robot: Robot) -> tuple[Point, ...]:
    """Corners (x, y) [m] of the body from above, in base_link: a polygon if its hips are on a circle, else the box."""
    x, y, _ = robot.body.center
    hips = sorted((math.atan2(leg.hip[1] - y, leg.hip[0] - x), math.dist(leg.hip[:2], (x, y))) for leg in robot.legs)
    angles, distances = zip(*hips, strict=True)
    gaps = [b - a for a, b in pairwise((*angles, angles[0] + math.tau))]
    even = max(distances) < EVEN * min(distances) and max(gaps) < EVEN * min(gaps)
    corners = [(math.cos(angle), math.sin(angle)) for angle in angles] if even and len(hips) > len(BOX) else BOX
    ends = [max(map(abs, along)) for along in zip(*corners, strict=True)]
    x_scale, y_scale = (size / (2.0 * end) for size, end in zip(robot.body.size, ends, strict=False))
    return tuple((x + x_scale * forward, y + y_scale * left) for forward, left in corners)


def _corner(robot: Robot, *signs: int) -> Vector:
    x, y, z = (c + sign * size / 2.0 for c, sign, size in zip(robot.body.center, signs, robot.body.size, strict=True))
    return x, y, z


def _ruler(scale: float, reach: float) -> Iterator[str]:
    length = max(size for size in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if size <= max(0.01, reach))
    y = SIZE - 20.0
    yield _line([(20.0, y), (20.0 + scale * length, y)], INK, 2.0)
    yield _text((20.0 + scale * length / 2.0, y + 14.0), f"{1000.0 * length:g} mm", INK, 10.0)


def _line(points: Sequence[Point], colour: str, width: float) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width:g}" stroke-linejoin="round"/>'


def _text(place: Point, text: str, colour: str, size: float = 13.0) -> str:
    x, y = place
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="middle" fill="{colour}">{escape(text)}</text>'
    )
