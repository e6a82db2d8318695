# SPDX-License-Identifier: Apache-2.0
"""`hexapod dots`: the sheet in true scale on whose dots the feet of a robot stand while it is calibrated."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hexapod_control.cli.bounded_options import CommandFailedError, output_file
from hexapod_control.config.errors import DONE
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.robot import Robot
from hexapod_control.servos.calibration.foot_dots import NoDotsError, dot_name, dots, femur_axis_height

PAPERS = {"a4": (210.0, 297.0), "a3": (297.0, 420.0), "letter": (215.9, 279.4)}  # [mm]
LEFT = 18.0  # [mm] margin, with a ruler
BOTTOM = 24.0  # [mm] the same
RIGHT = 8.0  # [mm] margin
TOP = 8.0  # [mm] margin
OVERLAP = 10.0  # [mm] of two pages; they are cut and joined in its middle
AROUND = (15.0, 22.0)  # [mm] beside dots, and before and behind them: their labels
ARROW = 30.0  # [mm]
CROSS = 6.0  # [mm] half of its width
RULER = 100.0  # [mm]
MM_PER_INCH = 25.4
COLOURS = ("#1b5fa8", "#c2410c")  # of the dots A and B
THIN = 0.5  # [pt] lines
FAINT = "#777777"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("robot", metavar="ROBOT", help="a robot file, or a name that comes with the package")
    parser.add_argument(
        "--output",
        type=output_file("a sheet", (".pdf", ".svg")),
        metavar="FILE",
        help="sheet to write: a PDF for the printer, or an SVG of one large page (default: dots_ROBOT.pdf)",
    )
    parser.add_argument("--paper", choices=tuple(PAPERS), default="a4", help="paper of the PDF (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Writes the sheet. Raises RobotFileError, CommandFailedError, or OSError if it cannot."""
    robot = load(args.robot).robot
    path = args.output or Path(f"dots_{robot.name}.pdf")
    try:
        sheet = Sheet.of(robot)
    except NoDotsError as error:
        raise CommandFailedError(f"{args.robot}: {error}") from None
    pages = sheet.pages(PAPERS[args.paper]) if path.suffix.lower() == ".pdf" else [sheet.one_page()]
    draw(sheet, pages, path)
    print(f"{path}: {len(pages)} page{'s' * (len(pages) > 1)}; print at 100 %, not fitted to the page")
    print(f"the body lies with its femur axes {1e3 * femur_axis_height(robot):.0f} mm above the paper")
    return DONE


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its place in the rows and columns of the sheet, and what of the sheet is on it."""

    row: int  # from the top
    column: int
    size: tuple[float, float]  # [mm]
    corner: tuple[float, float]  # [mm] lower left corner of the drawn part on the sheet
    part: tuple[float, float]  # [mm] width and height of the drawn part

    def shows(self, x: float, y: float) -> bool:
        """Whether a point of the sheet [mm] is on it, off the middle of the overlaps."""
        half = OVERLAP / 2.0
        inside = (half <= at - low <= size - half for at, low, size in zip((x, y), self.corner, self.part, strict=True))
        return all(inside)


@dataclass(frozen=True, slots=True)
class Sheet:
    """The drawing in millimetres: x to the right, y forwards, the origin below that of base_link."""

    robot: Robot
    dots: tuple[tuple[tuple[float, float], ...], ...]  # [mm] by place and leg
    low: tuple[float, float]  # [mm] lower left corner
    high: tuple[float, float]  # [mm] upper right corner

    @classmethod
    def of(cls, robot: Robot) -> Sheet:
        """The sheet of a robot. Raises NoDotsError."""
        places = tuple(tuple(_on_sheet(x, y) for x, y, _ in feet) for feet in dots(robot).tolist())
        (x, y, _), (length, width, _) = robot.body.center, robot.body.size
        front = _on_sheet(x + length / 2.0, y)[1] + ARROW
        points = [*places[0], *places[1]]
        half = 500.0 * width
        across = [each[0] for each in points] + [-1e3 * y - half, -1e3 * y + half]
        along = [each[1] for each in points] + [front - ARROW / 2.0, 1e3 * (x - length / 2.0)]
        low, high = ((pick(across), pick(along)) for pick in (min, max))
        return cls(robot, places, (low[0] - AROUND[0], low[1] - AROUND[1]), (high[0] + AROUND[0], high[1] + AROUND[1]))

    @property
    def size(self) -> tuple[float, float]:
        """Width and height [mm]."""
        return self.high[0] - self.low[0], self.high[1] - self.low[1]

    def one_page(self) -> Page:
        """All on one page."""
        width, height = self.size[0], self.size[1]
        return Page(0, 0, (width + LEFT + RIGHT, height + TOP + BOTTOM), self.low, self.size)

    def pages(self, paper: tuple[float, float]) -> list[Page]:
        """The pages of paper [mm] upright or across, whichever needs fewer."""
        return min((self._tiles(size) for size in (paper, paper[::-1])), key=len)

    def _tiles(self, size: tuple[float, float]) -> list[Page]:
        part = size[0] - LEFT - RIGHT, size[1] - TOP - BOTTOM
        steps = part[0] - OVERLAP, part[1] - OVERLAP
        columns, rows = (
            max(1, math.ceil((whole - OVERLAP) / step)) for whole, step in zip(self.size, steps, strict=True)
        )
        left = (self.low[0] + self.high[0] - columns * steps[0] - OVERLAP) / 2.0
        top = (self.low[1] + self.high[1] + rows * steps[1] + OVERLAP) / 2.0
        every = [
            Page(row, column, size, (left + column * steps[0], top - row * steps[1] - part[1]), part)
            for row in range(rows)
            for column in range(columns)
        ]
        return [page for page in every if any(page.shows(*point) for point in self._points())]

    def _points(self) -> Iterator[tuple[float, float]]:
        """What must be on a page: dots, hips, and points of the outline of the body."""
        yield from (*self.dots[0], *self.dots[1])
        yield from (_on_sheet(*leg.hip[:2]) for leg in self.robot.legs)
        (x, y, _), (length, width, _) = self.robot.body.center, self.robot.body.size
        for share in (step / 20.0 - 0.5 for step in range(21)):
            for side in (-0.5, 0.5):
                yield _on_sheet(x + share * length, y + side * width)
                yield _on_sheet(x + side * length, y + share * width)


def draw(sheet: Sheet, pages: list[Page], path: Path) -> None:
    """Writes the pages. Raises OSError."""
    import matplotlib  # takes a second

    matplotlib.use("Agg")  # no screen
    import matplotlib.pyplot as plt
    from matplotlib.backends.backend_pdf import PdfPages

    if path.suffix.lower() == ".pdf":
        with PdfPages(path) as file:
            for page in pages:
                figure = _figure(plt, sheet, page, pages)
                file.savefig(figure)
                plt.close(figure)
    else:
        figure = _figure(plt, sheet, pages[0], pages)
        figure.savefig(path)
        plt.close(figure)


def _figure(plt: Any, sheet: Sheet, page: Page, pages: list[Page]) -> Any:
    width, height = page.size
    figure = plt.figure(figsize=(width / MM_PER_INCH, height / MM_PER_INCH))
    paper = figure.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(0.0, width), ylim=(0.0, height))
    paper.axis("off")
    _rulers(paper, sheet, page, pages)
    (x, y), (across, along) = page.corner, page.part
    box = LEFT / width, BOTTOM / height, across / width, along / height
    axes = figure.add_axes(box, xlim=(x, x + across), ylim=(y, y + along), zorder=-1)
    axes.axis("off")
    _robot(axes, sheet)
    _cuts(axes, page, pages)
    return figure


def _robot(axes: Any, sheet: Sheet) -> None:
    """Outline of the body with its front, hips and dots."""
    robot = sheet.robot
    (x, y, _), (length, width, _) = robot.body.center, robot.body.size
    left, rear = _on_sheet(x - length / 2.0, y + width / 2.0)
    right, front = _on_sheet(x + length / 2.0, y - width / 2.0)
    axes.plot((left, left, right, right, left), (rear, front, front, rear, rear), color="black", linewidth=1.0)
    for ends in (((left, right), (0.0, 0.0)), ((0.0, 0.0), (rear, front))):
        axes.plot(*ends, color=FAINT, linewidth=THIN, linestyle=(0, (8, 4)))
    middle = (left + right) / 2.0
    arrow = {"arrowstyle": "-|>", "linewidth": 2.0, "mutation_scale": 20.0, "color": "black"}
    axes.annotate("", (middle, front + ARROW), (middle, front + 5.0), arrowprops=arrow)
    axes.text(middle + 4.0, front + 10.0, "front", fontsize=11, clip_on=True)
    axes.text(middle, rear + 6.0, robot.name, fontsize=11, ha="center", clip_on=True)
    for leg, one, other in zip(robot.legs, *sheet.dots, strict=True):
        hip = _on_sheet(*leg.hip[:2])
        for end in (one, other):
            axes.plot(*zip(hip, end, strict=True), color=FAINT, linewidth=THIN, linestyle=":")
        _cross(axes, hip, 3.0, "black")
    radius = max(1e3 * robot.foot_radius, 1.5)
    for place, (feet, colour) in enumerate(zip(sheet.dots, COLOURS, strict=True)):
        for leg, foot in enumerate(feet):
            _cross(axes, foot, max(CROSS, radius + 3.0), colour)
            turn = [math.radians(degrees) for degrees in range(0, 361, 5)]
            circle = [(foot[0] + radius * math.cos(angle), foot[1] + radius * math.sin(angle)) for angle in turn]
            axes.plot(*zip(*circle, strict=True), color=colour, linewidth=THIN)
            below = foot[1] - max(CROSS, radius + 3.0) - 1.0
            text = {"color": colour, "ha": "center", "va": "top", "clip_on": True}
            axes.text(foot[0], below, dot_name(place, leg), fontsize=12, weight="bold", **text)
            axes.text(foot[0], below - 5.0, robot.legs[leg].name, fontsize=8, **text)


def _cross(axes: Any, at: tuple[float, float], half: float, colour: str) -> None:
    x, y = at
    axes.plot((x - half, x + half), (y, y), color=colour, linewidth=THIN)
    axes.plot((x, x), (y - half, y + half), color=colour, linewidth=THIN)


def _cuts(axes: Any, page: Page, pages: list[Page]) -> None:
    """A line in the middle of every overlap with another page."""
    (x, y), (across, along) = page.corner, page.part
    half = OVERLAP / 2.0
    columns, rows = (1 + max(getattr(each, name) for each in pages) for name in ("column", "row"))
    style = {"color": FAINT, "linewidth": THIN, "linestyle": (0, (3, 2))}
    seams = ((page.column > 0, x + half), (page.column < columns - 1, x + across - half))
    for _, at in (seam for seam in seams if seam[0]):
        axes.plot((at, at), (y, y + along), **style)
        axes.text(at, y + along / 2.0, "cut here, join", color=FAINT, fontsize=6, rotation=90, ha="right", va="center")
    seams = ((page.row > 0, y + along - half), (page.row < rows - 1, y + half))
    for _, at in (seam for seam in seams if seam[0]):
        axes.plot((x, x + across), (at, at), **style)
        axes.text(x + across / 2.0, at, "cut here, join", color=FAINT, fontsize=6, ha="center", va="bottom")


def _rulers(paper: Any, sheet: Sheet, page: Page, pages: list[Page]) -> None:
    """100 mm along both edges, by which the scale of the printer is checked, and which page it is."""
    for mark in range(0, int(RULER) + 1):
        long = 4.0 if mark % 10 == 0 else 3.0 if mark % 5 == 0 else 2.0
        paper.plot((LEFT + mark,) * 2, (14.0, 14.0 + long), color="black", linewidth=THIN)
        paper.plot((10.0, 10.0 + long), (BOTTOM + mark,) * 2, color="black", linewidth=THIN)
    paper.plot((LEFT, LEFT + RULER), (14.0, 14.0), color="black", linewidth=THIN)
    paper.plot((10.0, 10.0), (BOTTOM, BOTTOM + RULER), color="black", linewidth=THIN)
    paper.text(LEFT + RULER + 3.0, 14.0, "100 mm: measure it, both ways", fontsize=7)
    which = f"page {pages.index(page) + 1} of {len(pages)}: row {page.row + 1}, column {page.column + 1}; "
    height = 1e3 * femur_axis_height(sheet.robot)
    text = f"{which * (len(pages) > 1)}{sheet.robot.name}, femur axes {height:.0f} mm above the paper"
    paper.text(LEFT, 9.0, text, fontsize=8)


def _on_sheet(x: float, y: float) -> tuple[float, float]:
    """A point (x forwards, y to the left) [m] on the sheet [mm]."""
    return -1e3 * y, 1e3 * x
