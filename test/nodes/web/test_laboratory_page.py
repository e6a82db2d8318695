# SPDX-License-Identifier: Apache-2.0
"""The gait laboratory in a real Chromium: sliders, diagrams and the walking robot, and a saved gait in its file."""

import contextlib
import os
from pathlib import Path

import axe_core_python
import pytest
from chromium import BrowserError
from support.real_time.web.page_checks import (
    DRAW_AGAIN,
    NAMELESS,
    PAGE_SIZE,
    SMALL,
    STOP_DRAWING,
    UNFOCUSABLE,
    draw_less,
)

from hexapod_control.config.robots.robot_file import load

pytestmark = [pytest.mark.browser, pytest.mark.heavy]

SHOTS = os.environ.get("HEXAPOD_SHOTS", "")  # folder for screenshots, to look at them
SIZES = [(1280, 800), (390, 844), (844, 390), (320, 568)]
TOP = "lab.cycle.top"
RUN = """axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"]}).then(({violations}) =>
  violations.map(({id, nodes}) => [id, nodes.map(({html}) => html.slice(0, 100))]))"""
PIXELS = """(() => { const c = document.querySelector('%s');
  const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height);
  return data.reduce((sum, value) => (sum * 31 + value) %% 1000003, 7); })()"""
DIAGRAM, MARGINS = PIXELS % "#diagram", PIXELS % "#margins"
MAX_WAIT_S = 40.0


class LaboratoryPage:
    """The laboratory, opened by its link on the page of a robot that is started in a folder."""

    def __init__(self, scripted):
        self.until = scripted.until
        page = self.page = scripted.browser.page(scripted.url, 1280, 800)
        draw_less(page)
        self.until(lambda: page.js("globalThis.hexapod?.connection.state") == "open", MAX_WAIT_S)
        page.js("document.querySelector('a[href=\"lab.html\"]').click()")
        self.until(self._shown, MAX_WAIT_S, "the first cycle")

    def _shown(self):
        with contextlib.suppress(BrowserError):  # it is being loaded
            return self.page.js("!!globalThis.lab?.cycle")

    def text(self, selector):
        return self.page.js(f"document.querySelector('{selector}').textContent")

    def settle(self):
        """Waits until the values that are shown are answered."""
        self.until(lambda: not self.page.js("lab.busy"), MAX_WAIT_S, "the last answer")

    def move(self, key, value):
        """Moves a slider, and waits for the answer."""
        self.page.choose(f"[id='{key}']", str(value))
        self.settle()

    def type(self, key, value):
        """Types a value beside a slider."""
        self.page.js(f"""(() => {{ const row = document.getElementById('{key}').closest('.wide-row');
          const typed = row.querySelector('[type=number]'); typed.value = {value}; typed.onchange(); }})()""")
        self.settle()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The working folder of the robot's program."""
    folder, before = tmp_path_factory.mktemp("robots"), Path.cwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


@pytest.fixture(scope="module")
def opened(folder, scripted):
    return LaboratoryPage(scripted)


@pytest.fixture
def lab(opened):
    opened.page.js("document.querySelector('#reset').click()")
    opened.settle()
    yield opened
    assert opened.page.errors == []


def test_a_student_changes_a_gait_watches_it_and_saves_it(lab, folder):
    page = lab.page
    page.choose("#gait", "tetrapod")
    lab.settle()
    top, facts, diagram, margins = page.js(TOP), lab.text("#facts"), page.js(DIAGRAM), page.js(MARGINS)
    lab.move("duty_factor", 0.75)
    assert page.js("document.querySelector('#gait').value") == ""
    assert page.js(TOP)[0] < top[0]
    assert lab.text("#facts") != facts
    lab.until(lambda: page.js(DIAGRAM) != diagram and page.js(MARGINS) != margins, what="other diagrams")
    begin = page.js("lab.odom[0]")
    lab.until(lambda: page.js("lab.odom[0]") > begin + 0.02, what="the robot walks")
    lab.until(lambda: 3 < page.js("lab.projections.pose.planted.filter(Boolean).length") < 6, what="feet in the air")
    page.js("document.querySelector('#name').value = 'stroll'")
    page.js("document.querySelector('#group-save .strong').click()")
    path = folder / "my_phantomx.yaml"
    lab.until(lambda: str(path) in lab.text("#saved"), what="the gait is saved")
    (stroll,) = load(path).robot.gaits
    assert (stroll.name, stroll.duty_factor) == ("stroll", 0.75)


def test_leg_lengths_change_the_drawn_robot_and_the_top_speed_follows(lab):
    page, before = lab.page, lab.page.js(TOP)
    lab.move("leg.femur.length", 75)
    assert page.js("lab.cycle.shape.legs.map(({femur}) => femur)") == pytest.approx([0.075] * 6)
    assert page.js(TOP) != before
    assert page.js("document.querySelector('#facts').getAttribute('aria-busy') === String(!lab.cycle.final)")


def test_a_refused_value_is_named_at_its_slider_and_the_robot_walks_on(lab):
    page, walk = lab.page, lab.page.js("JSON.stringify(lab.cycle)")
    lab.type("walk.height", 9000)
    assert lab.text("#refusal").startswith("Height of the body: must be in [0.001, 2] m, is 9")
    assert page.js("document.getElementById('walk.height').getAttribute('aria-invalid')") == "true"
    assert page.js("JSON.stringify(lab.cycle)") == walk
    lab.type("walk.height", 100)
    assert page.js("document.querySelector('#refusal').hidden"), lab.text("#refusal")


def test_dragging_a_leg_in_the_diagram_moves_its_phase(lab):
    page = lab.page
    page.choose("#gait", "wave")
    before = page.js("lab.values['lift_off.left_front']")
    page.mouse("Pressed", page.spot("#diagram", 0.5, 0.05))
    page.mouse("Moved", page.spot("#diagram", 0.55, 0.05))
    page.mouse("Released", page.spot("#diagram", 0.55, 0.05), 0)
    assert page.js("lab.values['lift_off.left_front']") > before + 0.02


@pytest.mark.parametrize(
    ("width", "height", "theme"), [(*size, ("light", "dark")[row % 2]) for row, size in enumerate(SIZES)]
)
def test_the_laboratory_is_accessible_and_fits_every_screen(lab, width, height, theme):
    page = lab.page
    page.resize(width, height, touch=width < 1000)
    page.js(f"document.documentElement.dataset.theme = '{theme}'")
    if SHOTS:
        page.screenshot(Path(SHOTS, f"lab-{width}x{height}-{theme}.png"))
    page.js(STOP_DRAWING)
    if not page.js("globalThis.axe !== undefined"):
        source = Path(axe_core_python.__file__).with_name("axe.min.js").read_text()
        page.call("Runtime.evaluate", expression=source)
    assert page.js(PAGE_SIZE) == [width, height]
    assert page.js(SMALL) == []
    assert page.js(NAMELESS) == []
    assert page.js(UNFOCUSABLE) == []
    assert page.js(RUN) == []
    page.js(DRAW_AGAIN)
    page.resize(1280, 800)


def test_everything_is_reached_by_the_keyboard_alone(lab):
    page = lab.page
    page.js("document.activeElement.blur()")
    left = {"stop", "estop", "gait", "duty_factor", "axis", "leg.tibia.length", "name", "reset", "back"}
    for _ in range(90):
        page.press("Tab", "Tab")
        left.discard(page.js("document.activeElement.id"))
        if not left:
            break
    assert not left
