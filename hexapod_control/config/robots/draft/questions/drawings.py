"""Drawings of what to measure, to the scale of the answers so far: from above, a leg from the side, and boxes."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Union

from hexapod_control.config.robots.draft.questions import scenes
from hexapod_control.config.robots.draft.questions.canvas import WIDTH, Canvas, CanvasSize
from hexapod_control.config.robots.draft.questions.svg_canvas import SvgCanvas
from hexapod_control.core.robot import Leg, Point, Robot, Vector

DrawingCanvas = Union[Canvas, SvgCanvas]  # noqa: UP007 - evaluated
Draw = Callable[[Robot, Collection[str], type[DrawingCanvas]], DrawingCanvas]
DOWN_RAD = -math.pi / 2.0
FROM_ABOVE = CanvasSize(19, WIDTH - 24, 12)
FROM_THE_SIDE = CanvasSize(11, WIDTH - 48, 18)
BOXES = CanvasSize(3, WIDTH, 0)
FEMUR_RAD, TIBIA_RAD = math.radians(30.0), math.radians(-75.0)  # above the horizontal, in the drawing of a leg


def drawing(kind: str, robot: Robot, legs: Collection[str] = ()) -> list[str]:
    """Lines of at most WIDTH characters; `legs` are the legs shown, named above a drawing from the side."""
    if kind in SCENES:
        return SCENES[kind].strip("\n").splitlines()
    names = () if kind in KINDS_FROM_ABOVE else legs
    return [*names, *DRAWINGS[kind](robot, legs, Canvas).picture("").splitlines()]


def svg_drawing(kind: str, robot: Robot, legs: Collection[str], title: str) -> str:
    """The drawing of a question as SVG, with a title for screen readers."""
    if kind in SCENES:
        return scenes.scene_svg(kind, title)
    return DRAWINGS[kind](robot, legs, SvgCanvas).picture(title)


def _from_above(
    robot: Robot, legs: Collection[str], canvas_type: type[DrawingCanvas], sizes: bool = False, hip: bool = True
) -> DrawingCanvas:
    """Body, hips and feet, forward up, with the dimensions of the body and of the first leg's hip."""
    feet = {leg.name: _ahead(leg.hip, leg.hip_yaw, math.dist(leg.hip[:2], leg.foothold)) for leg in robot.legs}
    points = [_turned(point) for point in (*feet.values(), *(leg.hip for leg in robot.legs))]
    length, width, _ = robot.body.size
    corners = [_turned((x * length / 2.0, y * width / 2.0)) for x, y in ((1, 1), (1, -1), (-1, -1), (-1, 1))]
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
        hip, start = (0.0, 0.0), (leg.coxa.length, leg.femur_vertical)
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
    "lengths": _leg({"hip": "hip", "coxa": "coxa", "femur": "femur", "tibia": "tibia", "foot": "middle of the ball"}),
    "offsets": _leg({"hip": "hip", "femur axis": "femur axis: above, beside?"}),
    "servos": _leg({"hip": "coxa servo", "femur axis": "femur servo", "knee": "tibia servo"}),
    "limits": _leg({"hip": "coxa: + to the left", "femur axis": "femur: + up", "knee": "tibia: + up, 0 straight"}),
    "masses": _boxes("whole robot with battery", "scale", "one leg, coxa to foot", arrows=False),
    "supply": _boxes("battery", "regulator, if any", "servos: measure here", arrows=True),
    "pose": _leg({"coxa": "coxa straight out", "knee": "femur level", "foot": "tibia straight down"}, 0.0, DOWN_RAD),
    "turn coxa": _leg({"coxa": "this joint: + counter-clockwise from above"}),
    "turn femur": _leg({"femur axis": "this joint: + foot up"}),
    "turn tibia": _leg({"knee": "this joint: + foot up and out"}),
    "height": _leg({"hip": "hip", "height": "hip height", "foot": "ground"}),
}
KINDS_FROM_ABOVE = ("top", "leg", "body", "hips")
SCENES = {"stand": scenes.STAND, "weight": scenes.WEIGHT, "walk": scenes.WALK}  # the same for all robots
