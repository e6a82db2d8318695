# SPDX-License-Identifier: Apache-2.0
"""Drawings of what to measure, to the scale of the answers so far: from above, a leg from the side, and boxes."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Union

from hexapod_control.config.robots.draft.questions.canvas import ASPECT, WIDTH, Canvas, CanvasSize
from hexapod_control.config.robots.draft.questions.svg_canvas import SvgCanvas
from hexapod_control.config.robots.draft.views import body_outline
from hexapod_control.core.robot import Leg, Point, Robot, Vector

STAND = r"""
            .--------------------.
      o-----|        body        |-----o
     /      '--------------------'      \      all feet hang free
    o          |              |          o
     \         |     box      |         /
      o        |              |        o
  =====================================================  table
"""
WEIGHT = r"""
   first, on its belly                  then, slowly, on its feet
                                              .----------.
   o--.    .----------.    .--o          o----|   body   |----o
  /    '---|   body   |---'    \        /     '----------'     \
 o         '----------'         o      o            ^           o
  ==================================================|==========  floor
"""
WALK = r"""
     o      o                                    o      o
      \    /                                      \    /
   o---====---o    ->   two metres, free   ->  o---====---o
      /    \                                      /    \
     o      o                                    o      o
"""
DrawingCanvas = Union[Canvas, SvgCanvas]  # noqa: UP007 - evaluated
Draw = Callable[[Robot, Collection[str], type[DrawingCanvas]], DrawingCanvas]
DOWN_RAD = -math.pi / 2.0
FROM_ABOVE = CanvasSize(19, WIDTH - 24, 12)
FROM_THE_SIDE = CanvasSize(11, WIDTH - 48, 18)
BOXES = CanvasSize(3, WIDTH, 0)
# above the horizontal, in the drawing of a leg
FEMUR_RAD = math.radians(30.0)
TIBIA_RAD = math.radians(-75.0)


def drawing(kind: str, robot: Robot, legs: Collection[str] = ()) -> list[str]:
    """Lines of at most WIDTH characters; `legs` are the legs shown, named above a drawing from the side."""
    if kind in SCENES:
        return SCENES[kind].strip("\n").splitlines()
    names = () if kind in KINDS_FROM_ABOVE else legs
    return [*names, *DRAWINGS[kind](robot, legs, Canvas).picture("").splitlines()]


def svg_drawing(kind: str, robot: Robot, legs: Collection[str], title: str) -> str:
    """The drawing of a question as SVG, with a title for screen readers."""
    if kind in SCENES:
        return scene_svg(kind, title)
    return DRAWINGS[kind](robot, legs, SvgCanvas).picture(title)


def _from_above(
    robot: Robot, legs: Collection[str], canvas_type: type[DrawingCanvas], sizes: bool = False, hip: bool = True
) -> DrawingCanvas:
    """Body, hips and feet, forward up, with the dimensions of the body and of the first leg's hip."""
    feet = {leg.name: _ahead(leg.hip, leg.hip_yaw, math.dist(leg.hip[:2], leg.foothold)) for leg in robot.legs}
    points = [_turned(point) for point in (*feet.values(), *(leg.hip for leg in robot.legs))]
    length, width, _ = robot.body.size
    corners = [_turned(corner) for corner in body_outline(robot)]
    across, up = zip(*points, *corners, strict=True)
    canvas = canvas_type((min(across), min(up)), (max(across), max(up)), FROM_ABOVE)
    for start, end in zip(corners, (*corners[1:], corners[0]), strict=True):
        canvas.line(start, end, "body")
    for leg in robot.legs:
        canvas.line(_turned(leg.hip), _turned(feet[leg.name]), "leg" if leg.name in legs or not legs else "other")
    canvas.middle((0.0, 0.0))
    for leg in robot.legs:
        canvas.label(_turned(feet[leg.name]), leg.name, "outside")
        canvas.joint(_turned(leg.hip), leg.name in legs)
    canvas.forward((0.0, max(up)))
    if sizes:
        canvas.measure(_turned((length / 2.0, 0.0)), _turned((-length / 2.0, 0.0)), "length")
        canvas.measure(_turned((-length / 4.0, width / 2.0)), _turned((-length / 4.0, -width / 2.0)), "width")
    for leg in [leg for leg in robot.legs if hip and leg.name in legs][:1]:
        _measure_hip(canvas, leg)
    return canvas


def _radius(robot: Robot, _: Collection[str], canvas_type: type[DrawingCanvas]) -> DrawingCanvas:
    canvas = _from_above(robot, (), canvas_type)
    hip = _turned(robot.legs[-1].hip)
    canvas.measure((0.0, 0.0), hip, "radius")
    canvas.middle((0.0, 0.0))
    canvas.joint(hip, strong=True)
    return canvas


def _measure_hip(canvas: DrawingCanvas, leg: Leg) -> None:
    x, y = leg.hip[:2]
    canvas.measure((0.0, 0.0), _turned((x, 0.0)), "forward")
    canvas.measure(_turned((x, 0.0)), _turned((x, y)), "left")
    canvas.joint(_turned(leg.hip), strong=True)


def _turned(point: Sequence[float]) -> Point:
    """X forward and y left of the robot as right and up of the drawing."""
    return -point[1], point[0]


def _ahead(hip: Vector, yaw: float, reach: float) -> Point:
    """The point (x, y) [m] at a distance [m] from a hip in the direction of its yaw [rad]."""
    return hip[0] + reach * math.cos(yaw), hip[1] + reach * math.sin(yaw)


def _body(robot: Robot, _: Collection[str], canvas_type: type[DrawingCanvas]) -> DrawingCanvas:
    return _from_above(robot, (), canvas_type, sizes=True)


def _one_leg(robot: Robot, legs: Collection[str], canvas_type: type[DrawingCanvas]) -> DrawingCanvas:
    return _from_above(robot, legs, canvas_type, hip=False)


def _leg(labels: Mapping[str, str], femur: float = FEMUR_RAD, tibia: float = TIBIA_RAD) -> Draw:
    """A leg from the side with labels at hip, coxa, femur axis, femur, knee, tibia, foot and height."""

    def draw(robot: Robot, legs: Collection[str], canvas_type: type[DrawingCanvas]) -> DrawingCanvas:
        leg = next((leg for leg in robot.legs if leg.name in legs), robot.legs[0])
        hip = (0.0, 0.0)
        start = (leg.coxa.length, leg.femur_vertical)
        knee = _end(start, leg.femur.length, femur)
        foot = _end(knee, leg.tibia.length, tibia)
        half = (leg.coxa.length + leg.femur.length) / 4.0
        points = {
            "hip": hip,
            "coxa": _middle(hip, start),
            "femur axis": start,
            "femur": _middle(start, knee),
            "knee": knee,
            "tibia": _middle(knee, foot),
            "foot": foot,
        }
        low = (-half, min(foot[1], 0.0))
        canvas = canvas_type(low, (max(foot[0], knee[0]), max(knee[1], start[1], 0.0)), FROM_THE_SIDE)
        canvas.line((-half, foot[1]), (foot[0] + half, foot[1]), "ground")
        for ends in ((hip, (start[0], 0.0)), ((start[0], 0.0), start), (start, knee), (knee, foot)):
            canvas.line(*ends)
        if "height" in labels:
            canvas.measure((-half / 2.0, 0.0), (-half / 2.0, foot[1]), labels["height"], "left")
        for point in (hip, start, knee, foot):
            canvas.joint(point)
        for name in (name for name in labels if name in points):
            below = name in ("coxa", "femur axis") and leg.femur_vertical >= 0.0
            side = {"hip": "left", "femur": "above"}.get(name, "below" if below else "right")
            canvas.label(points[name], labels[name], side)
        return canvas

    return draw


def _end(start: Point, length: float, angle: float) -> Point:
    """The end [m] of a link of a length [m] at an angle [rad] above the horizontal."""
    return start[0] + length * math.cos(angle), start[1] + length * math.sin(angle)


def _middle(a: Point, b: Point) -> Point:
    return (a[0] + b[0]) / 2.0, (a[1] + b[1]) / 2.0


def _boxes(*texts: str, arrows: bool) -> Draw:
    def draw(_: Robot, __: Collection[str], canvas_type: type[DrawingCanvas]) -> DrawingCanvas:
        canvas = canvas_type((0.0, 0.0), (1.0, 1.0), BOXES)
        canvas.boxes(texts, arrows)
        return canvas

    return draw


DRAWINGS: dict[str, Draw] = {
    "top": _from_above,
    "leg": _one_leg,
    "body": _body,
    "hips": _from_above,
    "radius": _radius,
    "lengths": _leg({"hip": "hip", "coxa": "coxa", "femur": "femur", "tibia": "tibia", "foot": "middle of the ball"}),
    "offsets": _leg({"hip": "hip", "femur axis": "femur axis: above, beside?"}),
    "servos": _leg({"hip": "coxa servo", "femur axis": "femur servo", "knee": "tibia servo"}),
    "limits": _leg({"hip": "coxa: + to the left", "femur axis": "femur: + up", "knee": "tibia: + up, 0 straight"}),
    "masses": _boxes("whole robot with battery", "scales", "one leg, coxa to foot", arrows=False),
    "supply": _boxes("battery", "regulator, if any", "servos: measure here", arrows=True),
    "pose": _leg({"coxa": "coxa straight out", "knee": "femur level", "foot": "tibia straight down"}, 0.0, DOWN_RAD),
    "turn coxa": _leg({"coxa": "this joint: + counter-clockwise from above"}),
    "turn femur": _leg({"femur axis": "this joint: + foot up"}),
    "turn tibia": _leg({"knee": "this joint: + foot up and out"}),
    "height": _leg({"hip": "hip", "height": "hip height", "foot": "ground"}),
}
KINDS_FROM_ABOVE = ("top", "leg", "body", "hips", "radius")
SCENES = {"stand": STAND, "weight": WEIGHT, "walk": WALK}  # the same for all robots


def scene_svg(kind: str, title: str) -> str:
    """The scene as SVG, with a title for screen readers."""
    width, height, draw = SCENES_IN_LINES[kind]
    canvas = SvgCanvas((0.0, 0.0), (width, height), CanvasSize(round(height), round(ASPECT * width), 0))
    draw(canvas)
    return canvas.picture(title)


def _stand(canvas: SvgCanvas) -> None:
    _from_front(canvas, 11.0, 8.0, -5.0)
    _box(canvas, (8.0, 0.0), (14.0, 8.0))
    canvas.label((11.0, 5.0), "box", "below")
    canvas.line((0.0, 0.0), (22.0, 0.0), "ground")
    canvas.label((11.0, 0.0), "table", "below")
    canvas.label((3.0, 3.0), "all feet hang free", "below")


def _weight(canvas: SvgCanvas) -> None:
    canvas.label((10.0, 7.5), "first, on its belly", "below")
    canvas.label((34.0, 7.5), "then, slowly, on its feet", "below")
    _from_front(canvas, 10.0, 0.0, 0.0)
    _from_front(canvas, 34.0, 3.0, -3.0)
    canvas.measure((34.0, 0.3), (34.0, 2.7), "")
    canvas.line((0.0, 0.0), (44.0, 0.0), "ground")
    canvas.label((22.0, 0.0), "floor", "below")


def _walk(canvas: SvgCanvas) -> None:
    for middle in (5.0, 35.0):
        _box(canvas, (middle - 3.0, 3.0), (middle + 3.0, 6.0))
        for side, foot in ((6.0, 9.0), (3.0, 0.0)):
            for x in (-2.5, 2.5):
                canvas.line((middle + x, side), (middle + 1.6 * x, foot))
                canvas.joint((middle + 1.6 * x, foot))
    canvas.measure((11.0, 4.5), (29.0, 4.5), "two metres, free →")


def _from_front(canvas: SvgCanvas, middle: float, bottom: float, foot: float) -> None:
    """Body and two legs; `foot` is the height of the feet over the bottom of the body."""
    _box(canvas, (middle - 4.0, bottom), (middle + 4.0, bottom + 2.5))
    for side in (-1.0, 1.0):
        hip, knee, end = (
            (middle + side * x, bottom + y) for x, y in ((4.0, 1.2), (6.5, max(2.6, foot + 4.0)), (9.0, foot))
        )
        canvas.line(hip, knee)
        canvas.line(knee, end)
        for point in (hip, knee, end):
            canvas.joint(point)


def _box(canvas: SvgCanvas, low: Point, high: Point) -> None:
    corners = (low, (high[0], low[1]), high, (low[0], high[1]))
    for start, end in zip(corners, (*corners[1:], corners[0]), strict=True):
        canvas.line(start, end, "body")


SCENES_IN_LINES: dict[str, tuple[float, float, Callable[[SvgCanvas], None]]] = {
    "stand": (22.0, 12.0, _stand),
    "weight": (44.0, 8.0, _weight),
    "walk": (40.0, 9.0, _walk),
}
