# SPDX-License-Identifier: Apache-2.0
"""Drawings as SVG: boxes, arrows, lines and text, in the style of all drawings of the documentation."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import escape

FONT = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"
INK, PALE = "#20262d", "#66707a"
FILLS = {
    "input": "#fdebc8",
    "node": "#d8e8f8",
    "core": "#dcf0dc",
    "hardware": "#ecdff3",
    "note": "#f3f4f5",
    "safe": "#f9dcd8",
}
LINE = 15  # [px] between two lines of text


@dataclass
class Box:
    """A rectangle with a title and lines of text."""

    x: float
    y: float
    width: float
    height: float
    title: str
    lines: tuple[str, ...] = ()
    kind: str = "node"

    @property
    def left(self) -> tuple[float, float]:
        """Middle of the left side."""
        return self.x, self.y + self.height / 2

    @property
    def right(self) -> tuple[float, float]:
        """Middle of the right side."""
        return self.x + self.width, self.y + self.height / 2

    @property
    def top(self) -> tuple[float, float]:
        """Middle of the upper side."""
        return self.x + self.width / 2, self.y

    @property
    def bottom(self) -> tuple[float, float]:
        """Middle of the lower side."""
        return self.x + self.width / 2, self.y + self.height


@dataclass
class Drawing:
    """Boxes, arrows and labels, collected as SVG elements."""

    width: int
    height: int
    title: str
    parts: list[str] = field(default_factory=list)

    def box(self, box: Box) -> Box:
        """Draws a box and returns it."""
        self.parts.append(
            f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" rx="7" '
            f'fill="{FILLS[box.kind]}" stroke="{INK}" stroke-width="1.2"/>'
        )
        x = box.x + box.width / 2
        y = box.y + (box.height - LINE * len(box.lines)) / 2 + 5
        self.text(x, y, box.title, size=13.5, bold=True)
        for k, line in enumerate(box.lines):
            self.text(x, y + LINE * (k + 1), line, size=11.5)
        return box

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float = 12,
        bold: bool = False,
        anchor: str = "middle",
        ink: str = INK,
    ) -> None:
        """A line of text."""
        weight = ' font-weight="bold"' if bold else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}" fill="{ink}"{weight}>'
            f"{escape(text)}</text>"
        )

    def arrow(self, *points: tuple[float, float], label: str = "", at: tuple[float, float] | None = None) -> None:
        """An arrow along points, with a label at a place, by default over the middle of its longest piece."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{INK}" stroke-width="1.4" marker-end="url(#tip)"/>'
        )
        if label:
            pieces = list(pairwise(points))
            (x0, y0), (x1, y1) = max(pieces, key=lambda p: abs(p[0][0] - p[1][0]) + abs(p[0][1] - p[1][1]))
            x, y = at or ((x0 + x1) / 2, (y0 + y1) / 2 - 5)
            for k, line in enumerate(label.split("\n")):
                self.text(x, y + LINE * k, line, size=11.5, ink=PALE)

    @property
    def svg(self) -> str:
        """The file."""
        lines = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" font-family="{FONT}" role="img">',
            f"<title>{escape(self.title)}</title>",
            '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
            f'orient="auto-start-reverse"><path d="M0,0 L10,5 L0,10 z" fill="{INK}"/></marker></defs>',
            f'<rect width="{self.width}" height="{self.height}" fill="#ffffff"/>',
            *self.parts,
            "</svg>",
        )
        return "\n".join(lines) + "\n"

    def save(self, path: Path) -> None:
        """Writes the file."""
        path.write_text(self.svg, encoding="utf-8")
