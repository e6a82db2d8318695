"""Drawings that are the same for all robots: on a stand, with the weight on the feet, walking."""

from __future__ import annotations

from collections.abc import Callable

from hexapod_control.config.robots.draft.questions.canvas import ASPECT, CanvasSize
from hexapod_control.config.robots.draft.questions.svg_canvas import SvgCanvas
from hexapod_control.core.robot import Point

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
