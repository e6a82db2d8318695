"""A drawing made of characters."""

from __future__ import annotations

import math

from hexapod_control.core.robot import Point

WIDTH = 78  # columns of a drawing
ASPECT = 2.0  # height of a character in its width


class Canvas:
    """Characters at columns and rows; places in metres are drawn to scale."""

    def __init__(self, low: Point, high: Point, rows: int, columns: int = WIDTH - 24, margin: int = 12) -> None:
        """Room for the points from `low` to `high` [m], x to the right and y up, with a margin for labels."""
        across, up = max(high[0] - low[0], 1e-6), max(high[1] - low[1], 1e-6)
        self._scale = min((columns - 1) / across, ASPECT * (rows - 1) / up)  # characters per metre
        self._left, self._top = low[0], high[1]
        self._margin = margin + (columns - 1 - across * self._scale) / 2.0
        self._rows = [[" "] * WIDTH for _ in range(rows)]

    def place(self, point: Point) -> tuple[int, int]:
        """Column and row of a point [m]."""
        x, y = point
        return round(self._margin + self._scale * (x - self._left)), round(self._scale / ASPECT * (self._top - y))

    def put(self, column: int, row: int, text: str) -> None:
        """Writes a text; what is outside is left out."""
        if 0 <= row < len(self._rows):
            for i, sign in enumerate(text, column):
                if 0 <= i < WIDTH:
                    self._rows[row][i] = sign

    def mark(self, point: Point, text: str, shift: int = 0, down: int = 0) -> None:
        """Writes a text at a point [m], moved by columns and rows."""
        column, row = self.place(point)
        self.put(column + shift, row + down, text)

    def label(self, point: Point, text: str) -> None:
        """Writes a text beside a point [m], away from the middle of the drawing."""
        column, _ = self.place(point)
        self.mark(point, text, 2 if column >= WIDTH / 2 else -1 - len(text))

    def line(self, start: Point, end: Point, sign: str = "") -> None:
        """Draws a line between two points [m], with characters of its slope, or with `sign`."""
        (x0, y0), (x1, y1) = self.place(start), self.place(end)
        steps = max(abs(x1 - x0), abs(y1 - y0), 1)
        drawn = sign or _sign(x1 - x0, y1 - y0)
        for i in range(steps + 1):
            self.put(round(x0 + (x1 - x0) * i / steps), round(y0 + (y1 - y0) * i / steps), drawn)

    def lines(self) -> list[str]:
        """The drawing."""
        return ["".join(row).rstrip() for row in self._rows]


def _sign(columns: int, rows: int) -> str:
    """The character that looks most like a line; rows count downwards."""
    angle = math.degrees(math.atan2(-ASPECT * rows, columns)) % 180.0
    names = ((22.5, "-"), (67.5, "/"), (112.5, "|"), (157.5, "\\"), (180.1, "-"))
    return next(sign for end, sign in names if angle < end)
