"""Drawings of what to measure, to the scale of the robot so far: from above, a leg from the side, and boxes."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

from hexapod_control.config.robots.draft.questions import scenes
from hexapod_control.config.robots.draft.questions.canvas import WIDTH, Canvas
from hexapod_control.core.robot import Point, Robot, Vector

TOP_ROWS, SIDE_ROWS = 19, 11
DOWN_RAD = -math.pi / 2.0
FEMUR_RAD, TIBIA_RAD = math.radians(30.0), math.radians(-75.0)  # over the horizon, in the drawing of a leg


def drawing(kind: str, robot: Robot, legs: Collection[str] = ()) -> list[str]:
    """Lines of at most WIDTH characters; `legs` are those that a question is about."""
    return DRAWINGS[kind](robot, legs)


def _from_above(robot: Robot, legs: Collection[str], sizes: bool = False, hip: bool = True) -> list[str]:
    """Body, hips and feet, forward up; the measures of the body, and those to the `hip` of the first of `legs`."""
    feet = {leg.name: _ahead(leg.hip, leg.hip_yaw, math.dist(leg.hip[:2], leg.foothold)) for leg in robot.legs}
    points = [_turned(point) for point in (*feet.values(), *(leg.hip for leg in robot.legs))]
    length, width, _ = robot.body.size
    corners = [_turned((x * length / 2.0, y * width / 2.0)) for x, y in ((1, 1), (1, -1), (-1, -1), (-1, 1))]
    across, up = zip(*points, *corners, strict=True)
    canvas = Canvas((min(across), min(up)), (max(across), max(up)), TOP_ROWS)
    for start, end in zip(corners, (*corners[1:], corners[0]), strict=True):
        canvas.line(start, end)
    for leg in robot.legs:
        canvas.line(_turned(leg.hip), _turned(feet[leg.name]), "" if leg.name in legs or not legs else ".")
    middle = (0.0, 0.0)
    canvas.mark(middle, "+")
    for leg in robot.legs:
        canvas.label(_turned(feet[leg.name]), leg.name)
        canvas.mark(_turned(leg.hip), "O" if leg.name in legs else "o")
    canvas.mark((0.0, max(up)), "^ forward")
    if sizes:
        _measure(canvas, ("length", "width"), (length / 2.0, 0.0), (-length / 2.0, 0.0))
        _measure(canvas, ("length", "width"), (-length / 4.0, width / 2.0), (-length / 4.0, -width / 2.0))
    for leg in [leg for leg in robot.legs if hip and leg.name in legs][:1]:
        x, y = leg.hip[:2]
        _measure(canvas, ("forward", "left"), (0.0, 0.0), (x, 0.0))
        _measure(canvas, ("forward", "left"), (x, 0.0), (x, y))
        canvas.mark(_turned(leg.hip), "O")
    return canvas.lines()


def _measure(canvas: Canvas, names: tuple[str, str], start: Point, end: Point) -> None:
    """A line along or across the body with its name, unless it is too short for one."""
    along = start[1] == end[1]
    canvas.line(_turned(start), _turned(end), ":" if along else "=")
    (_, above), (_, below) = canvas.place(_turned(start)), canvas.place(_turned(end))
    middle = _turned(_middle(start, end))
    if not along:
        canvas.mark(middle, names[1], -2, 1)
    elif abs(above - below) > 1:
        canvas.mark(middle, names[0], 2)


def _turned(point: Sequence[float]) -> Point:
    """X forward and y left of the robot as right and up of the drawing."""
    return -point[1], point[0]


def _ahead(hip: Vector, yaw: float, reach: float) -> Point:
    return hip[0] + reach * math.cos(yaw), hip[1] + reach * math.sin(yaw)


def _body(robot: Robot, _: Collection[str]) -> list[str]:
    return _from_above(robot, (), sizes=True)


def _one_leg(robot: Robot, legs: Collection[str]) -> list[str]:
    return _from_above(robot, legs, hip=False)


def _scene(text: str) -> Callable[[Robot, Collection[str]], list[str]]:
    """A drawing that is the same for all robots."""
    return lambda _, __: text.strip("\n").splitlines()


def _leg(
    labels: Mapping[str, str], femur: float = FEMUR_RAD, tibia: float = TIBIA_RAD
) -> Callable[[Robot, Collection[str]], list[str]]:
    """A leg from the side with labels at hip, coxa, femur axis, femur, knee, tibia, foot and height."""

    def draw(robot: Robot, legs: Collection[str]) -> list[str]:
        leg = next((leg for leg in robot.legs if leg.name in legs), robot.legs[0])
        hip = (0.0, 0.0)
        start = (leg.coxa.length, leg.femur_vertical)
        knee = _end(start, leg.femur.length, femur)
        foot = _end(knee, leg.tibia.length, tibia)
        half = leg.coxa.length
        points = {
            "hip": hip,
            "coxa": _middle(hip, start),
            "femur axis": start,
            "femur": _middle(start, knee),
            "knee": knee,
            "tibia": _middle(knee, foot),
            "foot": foot,
            "height": (-half / 2.0, foot[1] / 2.0),
        }
        low = (-half, min(foot[1], 0.0))
        canvas = Canvas(low, (max(foot[0], knee[0]), max(knee[1], start[1], 0.0)), SIDE_ROWS, WIDTH - 48, 18)
        canvas.line((-half, foot[1]), (foot[0] + half, foot[1]), "_")
        for ends in ((hip, (start[0], 0.0)), ((start[0], 0.0), start), (start, knee), (knee, foot)):
            canvas.line(*ends)
        if "height" in labels:
            canvas.line((-half / 2.0, 0.0), (-half / 2.0, foot[1]), ":")
        for point in (hip, start, knee, foot):
            canvas.mark(point, "o")
        for name, text in labels.items():
            before = name in ("hip", "femur", "height")
            below = name in ("coxa", "femur axis") and leg.femur_vertical >= 0.0
            canvas.mark(points[name], text, -1 - len(text) if before else 0 if below else 2, 1 if below else 0)
        return [*legs, *canvas.lines()]

    return draw


def _end(start: Point, length: float, angle: float) -> Point:
    return start[0] + length * math.cos(angle), start[1] + length * math.sin(angle)


def _middle(a: Point, b: Point) -> Point:
    return (a[0] + b[0]) / 2.0, (a[1] + b[1]) / 2.0


def _boxes(*texts: str, sign: str) -> Callable[[Robot, Collection[str]], list[str]]:
    """Boxes side by side with a sign between them."""

    def draw(_: Robot, __: Collection[str]) -> list[str]:
        edge = (" " * len(sign)).join(f"+{'-' * (len(text) + 2)}+" for text in texts)
        return [f"  {line}" for line in (edge, sign.join(f"| {text} |" for text in texts), edge)]

    return draw


DRAWINGS: dict[str, Callable[[Robot, Collection[str]], list[str]]] = {
    "top": _from_above,
    "leg": _one_leg,
    "body": _body,
    "hips": _from_above,
    "lengths": _leg({"hip": "hip", "coxa": "coxa", "femur": "femur", "tibia": "tibia", "foot": "middle of the ball"}),
    "offsets": _leg({"hip": "hip", "femur axis": "femur axis: above, beside?"}),
    "servos": _leg({"hip": "coxa servo", "femur axis": "femur servo", "knee": "tibia servo"}),
    "limits": _leg({"hip": "coxa: + to the left", "femur axis": "femur: + up", "knee": "tibia: + up, 0 straight"}),
    "masses": _boxes("whole robot with battery", "scale", "one leg, coxa to foot", sign="    "),
    "supply": _boxes("battery", "regulator, if any", "servos: measure here", sign=" -> "),
    "stand": _scene(scenes.STAND),
    "weight": _scene(scenes.WEIGHT),
    "walk": _scene(scenes.WALK),
    "pose": _leg(
        {"coxa": "coxa straight out", "knee": "femur level", "foot": "tibia straight down"}, 0.0, -math.pi / 2
    ),
    "turn coxa": _leg({"coxa": "this joint: + counter-clockwise from above"}),
    "turn femur": _leg({"femur axis": "this joint: + foot up"}),
    "turn tibia": _leg({"knee": "this joint: + foot up and out"}),
    "height": _leg({"hip": "hip", "height": "hip height", "foot": "ground"}),
}
