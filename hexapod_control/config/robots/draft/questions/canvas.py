# SPDX-License-Identifier: Apache-2.0
"""Text drawings for a terminal."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hexapod_control.core.robot import Point

WIDTH = 78  # columns of a drawing
ASPECT = 2.0  # height of a character over its width
STROKES = {"body": "", "leg": "", "other": ".", "ground": "_"}  # characters by kind of line; empty: by slope


@dataclass(frozen=True, slots=True)
class CanvasSize:
    """Size of a drawing in characters, with a margin of columns on its left for labels."""

    rows: int
    columns: int
    margin: int


class Canvas:
    """A grid of characters; points in metres are drawn to scale."""

    def __init__(self, low: Point, high: Point, size: CanvasSize) -> None:
        """Scales the points from `low` to `high` [m], x to the right and y up, to the canvas."""
        width = max(high[0] - low[0], 1e-6)  # [m]
        height = max(high[1] - low[1], 1e-6)  # [m]
        columns = size.columns
        self._scale = min((columns - 1) / width, ASPECT * (size.rows - 1) / height)  # characters per metre
        self._left = low[0]
        self._top = high[1]
        self._margin = size.margin + (columns - 1 - width * self._scale) / 2.0
        self._rows = [[" "] * WIDTH for _ in range(size.rows)]

    def line(self, start: Point, end: Point, kind: str = "leg") -> None:
        """Draws a line between two points [m]."""
        self._line(start, end, STROKES[kind])

    def joint(self, point: Point, strong: bool = False) -> None:
        """Marks a joint axis, or another reference point of a dimension; `strong` for the one asked for."""
        self._mark(point, "O" if strong else "o")

    def middle(self, point: Point) -> None:
        """Marks the middle of the body."""
        self._mark(point, "+")

    def forward(self, point: Point) -> None:
        """Marks the direction in which the robot walks, which is up."""
        self._mark(point, "^ forward")

    def label(self, point: Point, text: str, side: str) -> None:
        """Writes a text next to a point [m]: left, above, right, below, or outside (away from the middle)."""
        if side == "outside":
            side = "right" if self._place(point)[0] >= WIDTH / 2 else "left"
        before = (-1 - len(text), 0)
        shift, down = {"left": before, "above": before, "right": (2, 0), "below": (0, 1)}[side]
        self._mark(point, text, shift, down)

    def measure(self, start: Point, end: Point, text: str, side: str = "right") -> None:
        """Draws a dimension line, vertical or horizontal, with a label if it is long enough."""
        if start == end:
            return
        across = start[1] == end[1]
        self._line(start, end, "=" if across else ":")
        point = (start[0] + end[0]) / 2.0, (start[1] + end[1]) / 2.0
        if across:
            self._mark(point, text, -2, 1)
        elif abs(self._place(start)[1] - self._place(end)[1]) > 1:
            self.label(point, text, side)

    def picture(self, _: str) -> str:
        """The drawing; the title is omitted, since the question is printed above it."""
        return "\n".join("".join(row).rstrip() for row in self._rows)

    def boxes(self, texts: tuple[str, ...], arrows: bool) -> None:
        """Draws boxes side by side, with arrows between them or without."""
        gap = " -> " if arrows else "    "
        edge = "    ".join(f"+{'-' * (len(text) + 2)}+" for text in texts)
        for row, line in enumerate((edge, gap.join(f"| {text} |" for text in texts), edge)):
            self._put(2, row, line)

    def _place(self, point: Point) -> tuple[int, int]:
        """Column and row of a point [m]."""
        x, y = point
        return round(self._margin + self._scale * (x - self._left)), round(self._scale / ASPECT * (self._top - y))

    def _put(self, column: int, row: int, text: str) -> None:
        """Writes a text, cropped at the edges."""
        if 0 <= row < len(self._rows):
            for i, character in enumerate(text, column):
                if 0 <= i < WIDTH:
                    self._rows[row][i] = character

    def _mark(self, point: Point, text: str, shift: int = 0, down: int = 0) -> None:
        """Writes a text at a point [m], moved by columns and rows."""
        column, row = self._place(point)
        self._put(column + shift, row + down, text)

    def _line(self, start: Point, end: Point, character: str) -> None:
        """Draws a line of one character, or of the one with its slope for an empty text."""
        (x0, y0), (x1, y1) = self._place(start), self._place(end)
        steps = max(abs(x1 - x0), abs(y1 - y0), 1)
        drawn = character or _with_slope(x1 - x0, y1 - y0)
        for i in range(steps + 1):
            self._put(round(x0 + (x1 - x0) * i / steps), round(y0 + (y1 - y0) * i / steps), drawn)


def _with_slope(columns: int, rows: int) -> str:
    """The character with the slope of a line; rows count downwards."""
    angle = math.degrees(math.atan2(-ASPECT * rows, columns)) % 180.0
    names = ((22.5, "-"), (67.5, "/"), (112.5, "|"), (157.5, "\\"), (180.1, "-"))
    return next(character for end, character in names if angle < end)
