"""axe finds no violation on any screen of the page, in both themes."""

from pathlib import Path

import axe_core_python
import pytest
from support.real_time.web.scripted_robot import ScriptedRobot

SCREENS = [
    (1280, 720, ""),
    *((390, 844, sheet) for sheet in ("", "health", "drive", "moves", "body", "charts", "records", "log")),
    (844, 390, ""),
]
RUN = """axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice']}).then(({violations}) =>
  violations.map(({id, nodes}) => [id, nodes.map(({html}) => html.slice(0, 100))]))"""

pytestmark = [pytest.mark.browser, pytest.mark.heavy]


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    made = ScriptedRobot(tmp_path_factory.mktemp("chromium"))
    made.tell()
    made.shows("Standing", "good", "Sit")
    source = Path(axe_core_python.__file__).with_name("axe.min.js").read_text()
    made.page.call("Runtime.evaluate", expression=source)
    made.page.js("requestAnimationFrame = () => 0; 0")  # stops drawing: axe checks no pictures
    yield made
    made.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height", "sheet"), SCREENS)
def test_axe_finds_no_violation(robot, width, height, sheet, theme):
    page = robot.page
    page.resize(width, height, touch=width < 1000)
    page.scheme(theme)
    page.js(f"hexapod.sheets.show('{sheet}')")
    assert page.js(RUN) == []
