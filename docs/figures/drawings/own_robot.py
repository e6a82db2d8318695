# SPDX-License-Identifier: Apache-2.0
"""The drawings of docs/your-own-robot.md as SVG: `python docs/figures/drawings/own_robot.py` or `make drawings`.

They show a leg and the body of `phantomx`, with offsets of the femur that are large enough to be seen.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[3]))

from drawing import FILLS, INK, PALE, Drawing

from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, leg_forward
from hexapod_control.core.robot import Robot

IMAGES = Path(__file__).parents[2] / "images" / "own-robot"
LENGTH, ANGLE = "#00627f", "#b3261e"  # colours of lengths and of angles
SIZE = 14.0  # [px] of text, legible on a phone
OFFSETS = {"femur_vertical": 0.022, "femur_lateral": 0.025}  # [m]
STANDING: LegJoints = (0.0, math.radians(35.0), math.radians(-95.0))
COXA = math.radians(25.0)

Point = tuple[float, float]


@dataclass
class MeasuredDrawing(Drawing):
    """A drawing to scale: points are given in metres, x to the right and y up."""

    scale: float = 1.0  # [px/m]
    origin: Point = (0.0, 0.0)  # [px]

    def px(self, point: Point) -> Point:
        """The place of a point [px]."""
        return self.origin[0] + self.scale * point[0], self.origin[1] - self.scale * point[1]

    def path(self, *points: Point, ink: str = INK, width: float = 1.2, dash: str = "", tips: str = "") -> None:
        """Straight lines along points, with tips at the `start` or `end`, or at both."""
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(self.px, points))
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        ends = "".join(f' marker-{end}="url(#{_marker(ink)})"' for end in tips.split())
        self.parts.append(
            f'<polyline points="{places}" fill="none" stroke="{ink}" stroke-width="{width:g}" '
            f'stroke-linecap="round" stroke-linejoin="round"{dashes}{ends}/>'
        )

    def disc(self, center: Point, radius: float, fill: str = "#ffffff", ink: str = INK) -> None:
        """A disc of a radius in pixels."""
        x, y = self.px(center)
        self.parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{fill}" stroke="{ink}" stroke-width="1.5"/>'
        )

    def area(self, corner: Point, other: Point) -> None:
        """The body, between two corners."""
        (x0, y1), (x1, y0) = self.px(corner), self.px(other)
        self.parts.append(
            f'<rect x="{x0:.1f}" y="{y0:.1f}" width="{x1 - x0:.1f}" height="{y1 - y0:.1f}" rx="4" '
            f'fill="{FILLS["note"]}" stroke="{PALE}" stroke-width="1.2"/>'
        )

    def length(self, start: Point, end: Point, aside: float = 0.0) -> None:
        """A length between two points, drawn beside them by so many pixels to the left of its direction."""
        long = math.dist(start, end)
        across = (start[1] - end[1]) / long, (end[0] - start[0]) / long
        ends = [(x + aside / self.scale * across[0], y + aside / self.scale * across[1]) for x, y in (start, end)]
        if aside:
            for point, moved in zip((start, end), ends, strict=True):
                self.path(point, moved, ink=LENGTH, width=0.6)
        self.path(*ends, ink=LENGTH, width=1.4, tips="start end")

    def angle(self, center: Point, radius: float, start: float, end: float) -> None:
        """An arc with a tip from one direction [rad] to another, of a radius in pixels."""
        steps = [start + (end - start) * k / 24 for k in range(25)]
        far = radius / self.scale
        points = [(center[0] + far * math.cos(each), center[1] + far * math.sin(each)) for each in steps]
        self.path(*points, ink=ANGLE, width=1.6, tips="end")

    def words(self, at: Point, *lines: str, ink: str = INK, anchor: str = "start", bold: bool = False) -> None:
        """Lines of text at a place in pixels."""
        for k, line in enumerate(lines):
            self.text(*at, line, size=SIZE, anchor=anchor, ink=ink, bold=bold and not k)
            at = at[0], at[1] + 1.25 * SIZE

    def heading(self, text: str) -> None:
        """What the drawing shows, in its first line."""
        self.text(16, 24, text, size=SIZE + 1, bold=True, anchor="start")


def _marker(ink: str) -> str:
    return "tip" if ink == INK else f"tip{ink[1:]}"


def _drawing(height: int, title: str, scale: float, origin: Point) -> MeasuredDrawing:
    made = MeasuredDrawing(480, height, title, scale=scale, origin=origin)
    for ink in (LENGTH, ANGLE):
        made.parts.append(
            f'<defs><marker id="{_marker(ink)}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="6" markerHeight="6" '
            f'orient="auto-start-reverse"><path d="M0,0 L10,5 L0,10 z" fill="{ink}"/></marker></defs>'
        )
    return made


def _ahead(start: Point, direction: float, far: float) -> Point:
    return start[0] + far * math.cos(direction), start[1] + far * math.sin(direction)


def leg_side(robot: Robot) -> MeasuredDrawing:
    """One leg from the side, in the plane in which femur and tibia move."""
    leg = replace(robot.legs[0], femur_vertical=OFFSETS["femur_vertical"], femur_lateral=0.0)
    _, femur, tibia = STANDING
    knee, foot = ((r, z) for r, _, z in leg_forward(leg, STANDING))
    hip, hinge, ground = (0.0, 0.0), (leg.coxa.length, leg.femur_vertical), foot[1] - robot.foot_radius
    d = _drawing(365, "One leg from the side: lengths, angles and signs", 1500.0, (98.0, 190.0))
    d.area((-0.06, -0.018), (-0.012, 0.018))
    d.path((-0.06, ground), (0.235, ground), width=2.0)
    d.path((0.0, ground), (0.0, 0.07), ink=PALE, dash="9 4 2 4")
    d.path((-0.06, 0.0), (0.065, 0.0), ink=PALE, dash="3 4")
    d.path(hinge, (0.24, hinge[1]), ink=PALE, dash="6 4")
    d.path(knee, _ahead(knee, femur, 0.055), ink=PALE, dash="6 4")
    d.path(hip, (hinge[0], 0.0), hinge, knee, foot, width=7.0)
    for point in (hip, hinge, knee):
        d.disc(point, 6.0)
    d.disc(foot, robot.foot_radius * d.scale, FILLS["input"])
    d.length(hip, (hinge[0], 0.0), -26.0)
    d.length((hinge[0] + 0.009, 0.0), (hinge[0] + 0.009, hinge[1]))
    d.length(hinge, knee, 24.0)
    d.length(knee, foot, 40.0)
    d.length((-0.056, ground), (-0.056, 0.0))
    d.length((0.0, ground), (foot[0], ground), -22.0)
    d.length(foot, (foot[0], ground))
    d.angle(hinge, 50.0, 0.0, femur)
    d.angle(knee, 42.0, femur, femur + tibia)
    d.heading("A leg from the side, the body is on the left")
    d.words((94, 74), "coxa axis", ink=PALE, anchor="end")
    d.words((102, 236), "coxa.length", ink=LENGTH)
    d.words((198, 206), "femur.", "vertical_offset", ink=LENGTH)
    d.words((192, 92), "femur.length", ink=LENGTH, anchor="end")
    d.words((388, 188), "tibia.length", "to the foot's", "center", ink=LENGTH)
    d.words((388, 284), "foot.radius", ink=LENGTH)
    d.words((20, 256), "walk.", "height", ink=LENGTH)
    d.words((226, 332), "foothold, from the coxa axis", ink=LENGTH, anchor="middle")
    d.words((198, 176), "femur, + lifts", ink=ANGLE)
    d.words((308, 84), "tibia, + lifts:", "here it is negative", ink=ANGLE)
    d.words((474, 151), "all joints 0", ink=PALE, anchor="end")
    return d


def body_above(robot: Robot) -> MeasuredDrawing:
    """The robot from above, front at the top."""
    d = _drawing(570, "The body from above: axes, hips, directions and footholds", 800.0, (240.0, 305.0))
    long, wide, _ = robot.body.size
    d.area((-wide / 2, -long / 2), (wide / 2, long / 2))
    front = robot.legs[0]
    for leg in robot.legs:
        place, stands = _above(*leg.hip[:2]), _above(*leg.foothold)
        d.path(place, stands, width=5.0, ink=INK if leg is front else PALE)
        d.disc(place, 5.0)
        d.disc(stands, 7.0, FILLS["input"])
        x, y = d.px(stands)
        if leg.hip[0]:
            d.words((x, y + (26 if leg.hip[0] < 0 else -50)), leg.name, anchor="middle")
        else:
            d.words((x - 10 if x < 240 else x + 10, y - 16), leg.name, anchor="start" if x < 240 else "end")
    hip, foot = _above(*front.hip[:2]), _above(*front.foothold)
    d.path((0.0, 0.0), (0.0, 0.075), width=2.0, tips="end")
    d.path((0.0, 0.0), (-0.045, 0.0), width=2.0, tips="end")
    d.disc((0.0, 0.0), 4.0, INK)
    d.path(hip, (hip[0], hip[1] + 0.085), ink=PALE, dash="6 4")
    d.angle(hip, 52.0, math.pi / 2, math.pi / 2 + front.hip_yaw)
    d.length((0.0, hip[1]), hip)
    d.length((0.03, 0.0), (0.03, hip[1]))
    d.path((0.0, hip[1]), (0.035, hip[1]), ink=LENGTH, width=0.6)
    d.length(foot, (0.0, foot[1]), 24.0)
    d.path((0.0, 0.0), (0.0, foot[1]), ink=LENGTH, width=0.6)
    d.path(foot, (-0.275, foot[1]), ink=LENGTH, width=0.6)
    d.length((-0.272, 0.0), (-0.272, foot[1]))
    d.path((0.0, 0.0), (-0.275, 0.0), ink=LENGTH, width=0.6)
    d.length((-wide / 2, -long / 2), (wide / 2, -long / 2), -16.0)
    d.length((-wide / 2, -long / 2), (-wide / 2, long / 2), 14.0)
    d.heading("From above, front is up")
    d.words((236, 262), "x", bold=True, anchor="end")
    d.words((206, 322), "y", bold=True)
    d.words((246, 324), "base_link")
    d.words((208, 198), "hip y", ink=LENGTH)
    d.words((270, 262), "hip x", ink=LENGTH)
    d.words((184, 86), "foothold y", ink=LENGTH, anchor="middle")
    d.words((30, 218), "foothold x", ink=LENGTH)
    d.words((200, 158), "yaw_deg,", "+ to the left", ink=ANGLE)
    d.words((172, 360), "body.size x", ink=LENGTH, anchor="end")
    d.words((240, 440), "body.size y", ink=LENGTH, anchor="middle")
    d.words((16, 542), "y and yaw_deg: + left of the middle, - right of it", ink=PALE)
    d.words((16, 561), "hip z: height of the hip above base_link", ink=PALE)
    return d


def hip_above(robot: Robot) -> MeasuredDrawing:
    """The hip of a left leg that points to the left, from above: coxa angle and lateral offset."""
    leg, joints = replace(robot.legs[1], femur_lateral=OFFSETS["femur_lateral"]), (COXA, *STANDING[1:])
    knee, foot = (_above(-y, x) for x, y, _ in leg_forward(leg, joints))
    across = _turned(0.0, leg.femur_lateral)
    d = _drawing(445, "A hip from above: direction of the leg, coxa angle, lateral offset", 1500.0, (390.0, 215.0))
    d.area((0.012, -0.1), (0.052, 0.1))
    d.path((0.0, 0.0), (-0.24, 0.0), ink=PALE, dash="6 4")
    d.path((0.0, 0.0), _turned(0.215, 0.0), ink=PALE, dash="3 4")
    for limit in (leg.coxa_joint.lower, leg.coxa_joint.upper):
        d.path((0.0, 0.0), _ahead((0.0, 0.0), math.pi + limit, 0.1), ink=ANGLE, width=0.8)
    d.path((0.0, 0.0), across, knee, foot, width=7.0)
    d.length((0.0, 0.0), across, -10.0)
    d.disc((0.0, 0.0), 6.0)
    d.disc(across, 3.0)
    d.disc(knee, 6.0)
    d.disc(foot, robot.foot_radius * d.scale, FILLS["input"])
    d.angle((0.0, 0.0), 190.0, math.pi, math.pi + COXA)
    d.heading("The hip of a left leg from above, front is up")
    d.words((24, 206), "leg at yaw_deg: coxa 0", ink=PALE)
    d.words((250, 156), "coxa axis", ink=PALE)
    d.path((-0.055, 0.035), (-0.006, 0.005), ink=PALE, width=0.8)
    d.words((64, 236), "coxa, + counter-", "clockwise", ink=ANGLE)
    d.words((352, 62), "joints.coxa.lower_deg", ink=ANGLE, anchor="end")
    d.words((352, 378), "joints.coxa.upper_deg", ink=ANGLE, anchor="end")
    d.path(_turned(-0.004, leg.femur_lateral / 2), (0.02, -0.118), ink=LENGTH, width=0.8)
    d.words(
        (474, 412), "femur.lateral_offset: + to the left of", "the leg seen from the body", ink=LENGTH, anchor="end"
    )
    return d


def _turned(along: float, left: float) -> Point:
    """A point of the turned leg in the drawing of a hip: so far along it and to its left."""
    cos, sin = math.cos(COXA), math.sin(COXA)
    return -(along * cos - left * sin), -(along * sin + left * cos)


def _above(forward: float, left: float) -> Point:
    """A point of base_link seen from above, front at the top."""
    return -left, forward


DRAWINGS: Mapping[str, Callable[[Robot], MeasuredDrawing]] = {
    "leg-side": leg_side,
    "body-above": body_above,
    "hip-above": hip_above,
}


def drawings() -> dict[str, str]:
    """The files by name."""
    robot = load("phantomx").robot
    return {f"{name}.svg": draw(robot).svg for name, draw in DRAWINGS.items()}


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, svg in drawings().items():
        (IMAGES / name).write_text(svg, encoding="utf-8")
