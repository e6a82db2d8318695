# SPDX-License-Identifier: Apache-2.0
"""The page is usable for all: mouse, keys or gamepad drive, controls are large, and axe finds no violation."""

import json
import os
from itertools import pairwise
from pathlib import Path

import axe_core_python
import pytest
from support.real_time.web.page_checks import (
    COVERED,
    CUT,
    DRAW_AGAIN,
    HEADINGS,
    HIDDEN_ROBOT,
    HIDDEN_TRIP,
    NAMELESS,
    OUTSIDE,
    PAGE_SIZE,
    SIZES,
    SMALL,
    STOP_DRAWING,
    UNFOCUSABLE,
)

from hexapod_control.core.kinematics.se2 import ZERO
from hexapod_control.ros import messages

SHOTS = os.environ.get("HEXAPOD_SHOTS", "")  # folder for screenshots, to look at them

SHEETS = ["", "health", "drive", "routes", "moves", "body", "charts", "records", "settings", "log"]
SCREENS = [
    (1280, 720, ""),
    *((390, 844, sheet) for sheet in SHEETS),
    (844, 390, ""),
]
RUN = """axe.run(document, {runOnly: %s}).then(({violations}) =>
  violations.map(({id, nodes}) => [id, nodes.map(({html}) => html.slice(0, 100))]))"""
RULES = {  # a theme is only another set of colours
    "light": ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"],
    "dark": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
}

REACHED = "stop estop step gait raise lower left right seat share help log-button pose-z lift"

SHIFT = 8  # modifier of a mouse event

pytestmark = [pytest.mark.browser, pytest.mark.heavy]


@pytest.fixture(scope="module")
def axe(scripted):
    source = Path(axe_core_python.__file__).with_name("axe.min.js").read_text()
    scripted.page.call("Runtime.evaluate", expression=source)
    scripted.page.js(STOP_DRAWING)  # axe checks no pictures


@pytest.fixture
def still(told):
    """No picture is drawn: places and sizes of controls do not depend on what pictures show. They do on screenshots."""
    if SHOTS:
        yield
        return
    told.page.js(STOP_DRAWING)
    yield
    told.page.js(DRAW_AGAIN)


@pytest.mark.parametrize(
    ("width", "height", "scheme"), [(*size, ("light", "dark")[i % 2]) for i, size in enumerate(SIZES)]
)
def test_controls_are_large_in_place_and_never_covered(told, still, width, height, scheme):
    page = told.page
    page.resize(width, height, touch=width < 1100)
    page.scheme(scheme)
    for sheet in ("", "body", "health", "routes", "moves", "log"):
        page.js(f"hexapod.sheets.show('{sheet}')")
        page.js("new Promise((done) => setTimeout(done, 60))")
        assert page.js(PAGE_SIZE) == [width, height]
        assert page.js(SMALL) == [], sheet
        assert page.js(OUTSIDE) == [], sheet
        assert page.js(COVERED) == [], sheet
        assert page.js(HIDDEN_ROBOT) == [], f"{sheet or 'a button'} covers the robot"
        assert page.js(CUT) == []
        assert sheet or not page.js(HIDDEN_TRIP), "something covers the button that resets the distance"
        if sheet == "body":
            assert page.box("#pose-roll")[2] > 0.6 * min(width, 360), "a slider is too short to be exact"
        assert page.js(UNFOCUSABLE) == [], sheet
    page.js("hexapod.sheets.show('')")
    (left, top, wide, _), (right, level, _, _) = page.box("#left"), page.box("#right")
    assert top == pytest.approx(level, abs=2.0), "one stick is below the other"
    assert wide >= 100 and left + wide <= right
    if SHOTS:
        page.screenshot(Path(SHOTS, f"page-{width}x{height}-{scheme}.png"))
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
    page, reached = told.page, []
    page.js("getSelection().removeAllRanges()")
    for _ in range(100):
        page.press("Tab", "Tab")
        reached.append(page.js("document.activeElement.id"))
        if set(REACHED.split()) <= set(reached):
            break
    assert set(REACHED.split()) <= set(reached)
    assert [name for name in reached if name][:3] == ["stop", "estop", "step"]
    told.shows("Standing", "good", "Sit")
    page.js("document.querySelector('#step').focus()")
    page.press("Enter", "Enter")
    told.until(lambda: told.called == ["sit"], what="sitting down by the button")
    page.js("document.activeElement.blur()")
    page.press("t")
    told.until(lambda: told.called == ["sit", "stand"], what="standing up by a key")


def test_with_shift_the_top_view_strafes(told):
    page = told.page
    place = page.spot("#view-top", 0.8, 0.5)
    page.mouse("Pressed", place, modifiers=SHIFT)
    told.until(lambda: told.velocity.vy < -0.03)
    assert (told.velocity.vx, told.velocity.wz) == pytest.approx((0.0, 0.0), abs=1e-3)
    page.mouse("Released", place, 0, SHIFT)
    told.rest()


def test_losing_the_window_focus_stops_the_robot_and_is_shown(told):
    """Article A7: loss of the window's focus pauses."""
    page = told.page
    place = page.spot("#view-top", 0.5, 0.1)
    page.mouse("Pressed", place)
    told.until(lambda: told.velocity.vx > 0.02)
    page.js("dispatchEvent(new Event('blur'))")
    assert "Paused" in told.text("#banner-text")
    told.rest()
    page.mouse("Released", place, 0)
    page.js("dispatchEvent(new Event('focus'))")
    assert page.js("document.querySelector('#banner').hidden")


def test_a_key_drives_while_it_is_held(told):
    told.page.key("Down", "i")
    told.until(lambda: told.velocity.vx > 0.03)
    told.page.key("Up", "i")
    told.rest()


def test_space_stops_although_a_key_is_held(told):
    told.page.key("Down", "i")
    told.until(lambda: told.velocity.vx > 0.02)
    told.page.press(" ", "Space")
    told.until(lambda: told.called == ["stop"])
    told.rest()
    told.page.key("Up", "i")


def test_a_stick_with_the_focus_follows_the_arrow_keys(told):
    told.page.js("document.querySelector('#left').focus()")
    told.page.key("Down", "ArrowUp", "ArrowUp")
    told.until(lambda: told.velocity.vx > 0.02)
    told.page.key("Up", "ArrowUp", "ArrowUp")
    told.rest()
    told.page.js("document.activeElement.blur()")


def gamepad(page, buttons=(), axes=(0, 0, 0, 0), there=True):
    pressed = [{"pressed": index in buttons, "value": float(index in buttons)} for index in range(17)]
    pad = {"id": "pad", "index": 0, "connected": True, "mapping": "standard", "axes": axes, "buttons": pressed}
    page.js(f"navigator.getGamepads = () => {json.dumps([pad if there else None])}; 0")


def test_a_gamepad_drives_with_its_dead_man_only_and_its_loss_is_a_stop(told):
    gamepad(told.page)
    told.page.js("new Promise((done) => setTimeout(done, 300))")
    gamepad(told.page, axes=(0, -1, 0, 0))
    told.velocities.clear()
    told.bench.spin(0.5)
    assert {messages.twist(message) for message in told.velocities} <= {ZERO}
    gamepad(told.page, buttons=(4,), axes=(0, -1, 0, 0))
    told.until(lambda: told.velocity.vx > 0.03)
    told.called.clear()
    told.page.js("globalThis.stops = 0; hexapod.connection.on('stopped', () => stops++)")
    gamepad(told.page, there=False)
    told.rest()
    told.until(lambda: told.called == ["stop"])
    told.until(lambda: told.page.js("stops") == 1, what="the report of the stop")
    assert told.text("#hint") == "Gamepad lost: stopped"
    told.page.js("delete navigator.getGamepads; 0")


def test_every_leg_of_a_robot_with_twelve_has_room_for_its_name_in_the_diagrams_on_a_phone(told):
    page = told.page
    page.resize(390, 844, touch=True)
    page.js("""import("./plots/gait_diagram.js").then(({GaitDiagram}) => {
      const canvases = ["gait-diagram", "foot-forces"].map((id) => document.getElementById(id));
      const six = hexapod.robot.shape;
      new GaitDiagram(...canvases).shape({...six, legs: [...six.legs, ...six.legs]});
      hexapod.sheets.show("charts");
    })""")
    for name in ("gait-diagram", "foot-forces"):
        told.until(lambda name=name: page.box(f"#{name}")[3] >= 12 * 11, what=f"lines of {name} 11 px high")
    page.js("""for (const id of ["gait-diagram", "foot-forces"]) document.getElementById(id).style.minHeight = "";
      hexapod.sheets.show("")""")
    page.resize(1280, 720)


@pytest.mark.parametrize("rest", [1, -1])
def test_a_gamepad_whose_trigger_rests_on_the_axis_of_a_stick_turns_nothing_and_the_axis_is_named(told, rest):
    gamepad(told.page, axes=(0, 0, rest, 0))
    told.page.js("new Promise((done) => setTimeout(done, 300))")
    told.velocities.clear()
    gamepad(told.page, buttons=(4,), axes=(0, 0, rest, 0))
    told.until(lambda: "Axis 2 of the gamepad" in told.page.js("document.querySelector('#hint').textContent"))
    gamepad(told.page, buttons=(4,), axes=(0, -1, rest, 0))
    told.until(lambda: told.velocity.vx > 0.03)
    assert {messages.twist(message).wz for message in told.velocities} == {0.0}
    gamepad(told.page, there=False)
    told.rest()
    told.page.js("delete navigator.getGamepads; 0")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height", "sheet"), SCREENS)
def test_axe_finds_no_violation(scripted, axe, width, height, sheet, theme):
    page = scripted.page
    page.resize(width, height, touch=width < 1000)
    page.scheme(theme)
    page.js(f"hexapod.sheets.show('{sheet}')")
    scripted.until(lambda: page.js("document.documentElement.dataset.theme") == theme, what="the theme")
    assert page.js(RUN % json.dumps(RULES[theme])) == []
