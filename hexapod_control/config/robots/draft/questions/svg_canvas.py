# SPDX-License-Identifier: Apache-2.0
"""The drawings of the questions as SVG, with CSS classes for the colours of the page."""

from __future__ import annotations

from xml.sax.saxutils import escape

from hexapod_control.config.robots.draft.questions.canvas import ASPECT, CanvasSize
from hexapod_control.core.robot import Point

WIDTH_PX = 330.0  # of the drawing without its labels
# height of a text, and largest width of a letter
TEXT_PX = 15.0
LETTER_PX = 8.4
MARGIN_PX = 6.0  # around the drawing
GAP_PX = 11.0  # next to a label
RADIUS_PX = 5.0  # of a joint
# height of a box, and of the gap below it
BOX_PX = 40.0
BOX_GAP_PX = 26.0
MIN_LABELLED_PX = 22.0  # height of a vertical dimension line with a label


class SvgCanvas:
    """Lines, joints and labels; the picture grows to contain them."""

    def __init__(self, low: Point, high: Point, room: CanvasSize) -> None:
        """Scales the points from `low` to `high` [m] in the proportions of a canvas in the terminal."""
        width = max(high[0] - low[0], 1e-6)  # [m]
        height = max(high[1] - low[1], 1e-6)  # [m]
        self._scale = WIDTH_PX * min(1.0 / width, ASPECT * room.rows / room.columns / height)  # px per metre
        self._center = (low[0] + high[0]) / 2.0
        self._parts: list[str] = []
        self._corners: list[Point] = []  # [px] corners of the drawn elements

    def line(self, start: Point, end: Point, kind: str = "leg") -> None:
        """Draws a line between two points [m]."""
        self._stroke(self._place(start), self._place(end), kind)

    def joint(self, point: Point, strong: bool = False) -> None:
        """Marks a joint axis, or another reference point of a dimension; `strong` for the one asked for."""
        x, y = self._place(point)
        self._add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS_PX + 2.0 * strong:g}" class="joint"/>', (x, y))

    def middle(self, point: Point) -> None:
        """Marks the middle of the body."""
        x, y = self._place(point)
        self._add(f'<path d="M{x - 6:.1f},{y:.1f} h12 M{x:.1f},{y - 6:.1f} v12" class="body"/>', (x, y))

    def forward(self, point: Point) -> None:
        """Marks the direction in which the robot walks, which is up."""
        x, y = self._place(point)
        self._text((x, y - GAP_PX), "↑ forward", "middle")

    def label(self, point: Point, text: str, side: str) -> None:
        """Writes a text next to a point [m]: left, above, right, below, or outside (away from the middle)."""
        x, y = self._place(point)
        if side == "outside":
            side = "right" if point[0] >= self._center else "left"
        dx, dy, anchor = {
            "left": (-GAP_PX, TEXT_PX / 3.0, "end"),
            "above": (-GAP_PX / 2.0, -GAP_PX, "end"),
            "right": (GAP_PX, TEXT_PX / 3.0, "start"),
            "below": (0.0, GAP_PX + TEXT_PX, "middle"),
        }[side]
        self._text((x + dx, y + dy), text, anchor)

    def measure(self, start: Point, end: Point, text: str, side: str = "right") -> None:
        """Draws a dimension line, vertical or horizontal, with a label if it is long enough."""
        if start == end:
            return
        (x0, y0), (x1, y1) = self._place(start), self._place(end)
        self._stroke((x0, y0), (x1, y1), "measure")
        if start[1] == end[1]:
            self._text(((x0 + x1) / 2.0, y0 + TEXT_PX + 3.0), text, "middle", "measured")
        elif abs(y1 - y0) >= MIN_LABELLED_PX:
            shift, anchor = (-GAP_PX, "end") if side == "left" else (GAP_PX, "start")
            self._text((x0 + shift, (y0 + y1) / 2.0 + TEXT_PX / 3.0), text, anchor, "measured")

    def boxes(self, texts: tuple[str, ...], arrows: bool) -> None:
        """Draws boxes one below the other, with arrows between them or without."""
        width = max(map(len, texts)) * LETTER_PX + 3.0 * GAP_PX
        for i, text in enumerate(texts):
            y = i * (BOX_PX + BOX_GAP_PX)
            rect = f'<rect x="0" y="{y:g}" width="{width:g}" height="{BOX_PX:g}" rx="7" class="body"/>'
            self._add(rect, (0.0, y), (width, y + BOX_PX))
            self._text((width / 2.0, y + BOX_PX / 2.0 + TEXT_PX / 3.0), text, "middle")
            if arrows and i:
                self._text((width / 2.0, y - BOX_GAP_PX / 2.0 + TEXT_PX / 3.0), "↓", "middle", "measured")

    def picture(self, title: str) -> str:
        """The drawing, with a title for screen readers."""
        across, down = zip(*self._corners, strict=True)
        left, top = min(across) - MARGIN_PX, min(down) - MARGIN_PX
        width = max(across) + MARGIN_PX - left
        height = max(down) + MARGIN_PX - top
        box = f"{left:.0f} {top:.0f} {width:.0f} {height:.0f}"
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" role="img" font-size="{TEXT_PX:g}">'
        return "".join((head, f"<title>{escape(title)}</title>", *self._parts, "</svg>"))

    def _place(self, point: Point) -> Point:
        return self._scale * point[0], -self._scale * point[1]

    def _add(self, part: str, *corners: Point) -> None:
        self._parts.append(part)
        self._corners += [(x + sign * RADIUS_PX, y + sign * RADIUS_PX) for x, y in corners for sign in (-1.0, 1.0)]

    def _stroke(self, start: Point, end: Point, kind: str) -> None:
        x0, y0 = start
        x1, y1 = end
        line = f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" class="{kind}"/>'
        self._add(line, start, end)

    def _text(self, place: Point, text: str, anchor: str, kind: str = "label") -> None:
        x, y = place
        width = LETTER_PX * len(text)
        left = x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
        part = f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'
        self._add(part, (left, y - TEXT_PX), (left + width, y))
