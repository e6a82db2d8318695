"""The page is usable for all: large controls in their places, by keyboard alone, and axe finds no violation."""

import os
from itertools import pairwise
from pathlib import Path

import axe_core_python
import pytest
from support.real_time.web.page_checks import COVERED, HEADINGS, NAMELESS, OUTSIDE, PAGE_SIZE, SIZES, SMALL, UNFOCUSABLE

SHOTS = os.environ.get("HEXAPOD_SHOTS", "")  # folder for screenshots, to look at them

SCREENS = [
    (1280, 720, ""),
    *((390, 844, sheet) for sheet in ("", "health", "drive", "moves", "body", "charts", "records", "log")),
    (844, 390, ""),
]
RUN = """axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice']}).then(({violations}) =>
  violations.map(({id, nodes}) => [id, nodes.map(({html}) => html.slice(0, 100))]))"""

REACHED = "stop estop step gait raise lower left right seat share help log-button pose-z lift"

pytestmark = [pytest.mark.browser, pytest.mark.heavy]


@pytest.fixture(scope="module")
def axe(scripted):
    source = Path(axe_core_python.__file__).with_name("axe.min.js").read_text()
    scripted.page.call("Runtime.evaluate", expression=source)
    scripted.page.js("requestAnimationFrame = () => 0; 0")  # stops drawing: axe checks no pictures


@pytest.mark.parametrize(
    ("width", "height", "scheme"), [(*size, ("light", "dark")[i % 2]) for i, size in enumerate(SIZES)]
)
def test_controls_are_large_in_place_and_never_covered(told, tmp_path, width, height, scheme):
    page = told.page
    page.resize(width, height, touch=width < 1100)
    page.scheme(scheme)
    for sheet in ("", "body", "health", "moves", "log"):
        page.js(f"hexapod.sheets.show('{sheet}')")
        page.js("new Promise((done) => setTimeout(done, 60))")
        assert page.js(PAGE_SIZE) == [width, height]
        assert page.js(SMALL) == [], sheet
        assert page.js(OUTSIDE) == [], sheet
        assert page.js(COVERED) == [], sheet
        if sheet == "body":
            assert page.box("#pose-roll")[2] > 0.6 * min(width, 360), "a slider is too short to be exact"
        assert page.js(UNFOCUSABLE) == [], sheet
    page.js("hexapod.sheets.show('')")
    (left, top, wide, _), (right, level, _, _) = page.box("#left"), page.box("#right")
    assert top == pytest.approx(level, abs=2.0), "one stick is below the other"
    assert wide >= 100 and left + wide <= right
    page.screenshot(Path(SHOTS or tmp_path, f"page-{width}x{height}-{scheme}.png"))
    if width < 700:  # a swipe shows the next picture
        for kind, place in (("Start", 0.8), ("Move", 0.2)):
            page.touch(kind, finger=page.spot("#stage", place))
        page.touch("End")
        assert page.js("document.body.dataset.picture") == "top"
        page.js("document.querySelector('#pictures button').click()")
    page.resize(1280, 720)
    page.scheme("light")


def test_assistive_technology_finds_names_headings_and_the_state(told):
    page = told.page
    assert page.js(NAMELESS) == []
    levels = page.js(HEADINGS)
    assert all(text for _, text in levels)
    assert levels[0][0] == 1
    assert all(after[0] - before[0] <= 1 for before, after in pairwise(levels))
    assert told.text("#spoken") == "Standing"
    assert page.js("document.querySelector('#spoken').getAttribute('aria-live')") == "polite"
    assert page.js("document.querySelectorAll('[role=tab]').length") == 0


def test_everything_is_reached_by_the_keyboard_alone(told):
    page, seen = told.page, set()
    for _ in range(100):
        page.press("Tab", "Tab")
        seen.add(page.js("document.activeElement.id"))
    assert set(REACHED.split()) <= seen
    page.js("document.querySelector('#step').focus()")
    page.press("Enter", "Enter")
    told.until(lambda: told.called == ["sit"], what="sitting down by the button")
    page.js("document.activeElement.blur()")
    page.press("t")
    told.until(lambda: told.called == ["sit", "stand"], what="standing up by a key")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height", "sheet"), SCREENS)
def test_axe_finds_no_violation(scripted, axe, width, height, sheet, theme):
    page = scripted.page
    page.resize(width, height, touch=width < 1000)
    page.scheme(theme)
    page.js(f"hexapod.sheets.show('{sheet}')")
    assert page.js(RUN) == []
