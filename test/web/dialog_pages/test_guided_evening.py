# SPDX-License-Identifier: Apache-2.0
"""`hexapod first --page` in a real Chromium: an evening from the first click to the end."""

import json

import pytest
from chromium import Browser
from support.kits.first_user import FirstUser
from support.kits.memory_wire import Kit
from support.kits.paged_evening import PagedEvening
from support.phantomx import lying
from support.real_time.programs import until

from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.servos.commissioning.stages import STAGES
from hexapod_control.servos.settings.servo_section import servo_settings

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

PAUSE_S = 0.02  # between two looks at the page: each one is work for three processes
OPEN = ["stand", "supply", "joints", "pose"]
QUESTION = """(() => {
  if (!document.querySelector("#stage")?.textContent) return null;
  if (!document.querySelector("#end").hidden) return 0;
  const busy = document.querySelector("#question").hasAttribute("data-busy");
  return busy ? null : Number(document.querySelector("#answer").dataset.number);
})()"""
TOLD = "[...document.querySelectorAll('#said p, #wrong p')].map((line) => line.textContent).join(' ')"
ANSWER = """((answer) => {
  const one = (selector) => document.querySelector(selector);
  const buttons = [...document.querySelectorAll("#usual button")];
  const button = answer ? buttons.find((each) => each.value === answer) : buttons[0];
  if (button) return button.click();
  const [leg, part, sign] = answer.split(" ");
  if (!one("#joint").hidden && sign) {
    one("#leg").value = leg;
    one("#part").value = part;
    one("#part").onchange();
    one("#sign").value = sign;
    return one("#answer-joint").click();
  }
  one("#answer").value = answer;
  one("#form").requestSubmit();
})"""


class Evening:
    """The program, its page in a browser, and a person who follows it."""

    def __init__(self, folder, profile, capsys):
        self.path = folder / "mine.yaml"
        self.path.write_text(resolve("phantomx").read_text())
        self.kit = Kit(start=lying().ravel().tolist(), changes=[(4, {"direction": -1})])
        self.user = FirstUser(self.kit, [("voltage", "24")])
        self.program = PagedEvening(self.kit, self.path, capsys, OPEN)
        self.browser = Browser(profile)
        self.page = self.browser.page(self.program.url, 390, 844, touch=True)

    def question(self, after=0):
        """Number of the question that the page shows after another one, 0 at the end."""
        found = []

        def asked():
            found[:] = [self.page.js(QUESTION)]
            return found[0] is not None and (found[0] == 0 or found[0] > after)

        until(asked, f"a question after {after}; {self.page.errors}", 10.0, PAUSE_S)
        return found[0]

    def answer(self, text):
        self.page.js(f"{ANSWER}({json.dumps(text)})")

    def close(self):
        self.browser.close()
        self.program.end()


@pytest.fixture
def evening(tmp_path_factory, capsys):
    evening = Evening(tmp_path_factory.mktemp("robot"), tmp_path_factory.mktemp("chromium"), capsys)
    yield evening
    evening.close()


def test_the_page_leads_from_the_first_click_to_a_robot_file_with_the_joints_as_they_are_mounted(evening):
    page, told = evening.page, []
    number = evening.question()
    assert page.js("document.querySelector('#stage').textContent") == str(STAGES[0].title)
    while number:
        evening.answer(evening.user.answer_to(evening.program.dialog.state.prompt))
        number = evening.question(number)
        told.append(page.js(TOLD))
    assert page.js("document.querySelector('#end-title').textContent") == "The robot walks."
    assert any("24 V is not for AX-12A" in text for text in told)
    assert page.js("document.querySelectorAll('#stages i:not(:empty)').length") == len(STAGES)
    found = [(joint.id, joint.direction) for joint in servo_settings(load(evening.path)).joints]
    assert found == [(joint.id, joint.direction) for joint in evening.kit.mounted]
    assert page.js("document.querySelector('#stop').disabled") and page.errors == []
