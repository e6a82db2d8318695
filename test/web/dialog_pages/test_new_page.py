# SPDX-License-Identifier: Apache-2.0
"""`hexapod new --page` in a real Chromium: from the first question to the robot file, and foreign requests."""

import contextlib
import json
import os
import signal
import subprocess
import urllib.error
import urllib.request

import pytest
from chromium import Browser, BrowserError
from support.real_time.programs import HEXAPOD, read_line, until
from support.real_time.web.page_checks import PAUSE_S

from hexapod_control.config.robots.draft.questions.answers_file import read_answers
from hexapod_control.config.robots.robot_file import load
from hexapod_control.web.dialog_pages.request_server import MAX_REQUEST_BYTES

pytestmark = [pytest.mark.heavy, pytest.mark.browser, pytest.mark.process]

KEY = "document.querySelector('#overview [aria-current] span')?.textContent"
FOOT = "Math.max(...[...document.querySelectorAll('#drawing line')].map((line) => line.y2.baseVal.value))"
SMALL = """(() => {
  const size = (each) => Object.values((each.closest(".choice") ?? each).getBoundingClientRect().toJSON()).slice(2, 4);
  const used = [...document.querySelectorAll("button, input, select")].filter((each) => each.checkVisibility());
  return used.filter((each) => Math.min(...size(each)) < 44).map((each) => each.outerHTML);
})()"""
NAMED = {"textbox", "combobox", "button", "radio", "image", "progressbar", "group", "navigation"}


class Desk:
    """The program and a page."""

    def __init__(self, folder, profile):
        self.folder = folder
        self.start()
        self.browser = Browser(profile)
        self.page = self.browser.page(self.url, 1280, 720)
        self.until(f"{KEY} === 'legs'")

    def start(self):
        command = [*HEXAPOD, "new", "mine.yaml", "--page", "--values"]
        self.process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, text=True)
        self.url = read_line(self.process).split("the page: ")[1].strip()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=10.0)[0], self.process.returncode

    def until(self, condition, seconds=30.0):
        def holds():
            with contextlib.suppress(BrowserError):  # while the page is loaded again
                return self.page.js(condition)

        until(holds, f"{condition}; {self.page.errors}", seconds, PAUSE_S)

    def type(self, number, text):
        self.page.js(f"{{ const part = document.querySelector('#part-{number}'); part.focus(); part.select(); }}")
        self.page.call("Input.insertText", text=text)

    def enter(self, question, by_mouse=False):
        """Presses Enter or Next, takes a proposal if a measurement is wanted, and waits for this question."""
        before = self.page.js(KEY)
        if by_mouse:
            self.page.click("#next")
        else:
            self.page.press("Enter", "Enter")
        self.until(f"{KEY} !== '{before}' || !document.querySelector('#assume').hidden")
        if self.page.js(f"{KEY} === '{before}'"):
            assert "unmeasured" in self.hint()
            self.page.click("#assume")
        self.until(f"{KEY} === '{question}'")

    def hint(self):
        return self.page.js("document.querySelector('#hint').textContent")

    def post(self, body, origin="", token="", path="/request"):
        address, mine = self.url.split("/#")
        headers = {"Origin": origin or address, "Authorization": f"Bearer {token or mine}"}
        request = urllib.request.Request(f"{address}{path}", body, headers)
        with urllib.request.urlopen(request, timeout=5.0) as response:
            return json.load(response)


@pytest.fixture
def desk(tmp_path_factory):
    desk = Desk(tmp_path_factory.mktemp("robot"), tmp_path_factory.mktemp("chromium"))
    yield desk
    desk.browser.close()
    desk.process.kill()


def answer_by_keyboard(desk):
    """The keyboard alone answers, and the drawing follows what is typed."""
    page = desk.page
    page.press("ArrowDown", "ArrowDown")
    desk.until("document.querySelectorAll('#drawing .leg').length === 4")
    desk.enter("body")
    page.choose("#language", "de")
    desk.until("document.querySelector('label').textContent === 'Länge'")
    page.choose("#language", "en")
    desk.until("document.querySelector('label').textContent === 'length'")
    for question in ("hip left front", "hip left rear", "lengths"):
        desk.enter(question)
    foot = page.js(FOOT)
    desk.type(2, "20")
    page.choose("#part-2 + select", "cm")
    desk.until(f"{FOOT} > {foot} + 20")
    assert read_answers(desk.folder / "mine.answers.json").keys() == {"legs", "body", "hip left_front", "hip left_rear"}


def keep_an_implausible_answer(desk):
    """An implausible answer is shown with its reason and kept on request."""
    desk.type(1, "133")
    desk.type(2, "66 mm")
    desk.until("!document.querySelector('#keep').hidden")
    assert "femur.length" in desk.hint() and "swapped?" in desk.hint()
    desk.page.press("Enter", "Enter")
    desk.until("!document.querySelector('#keep').hidden")
    desk.page.click("#keep")
    desk.until(f"{KEY} === 'offsets'")
    assert read_answers(desk.folder / "mine.answers.json")["lengths"] == "52 mm 133 mm 66 mm !"
    desk.page.click("#undo")
    desk.until(f"{KEY} === 'lengths' && document.querySelector('#part-1').value === '66'")
    desk.type(0, "5,2")
    desk.until("document.querySelector('#hint').textContent.includes('must be 3 numbers')")
    desk.type(0, "6.2 cm")
    desk.enter("offsets")


def restart(desk):
    """A restart continues at the open question with all answers."""
    output, code = desk.stop()
    assert code == 130 and "to continue" in output and not (desk.folder / "mine.yaml").exists()
    desk.start()
    desk.page.js("globalThis.old = true")
    desk.page.call("Page.navigate", url=desk.url)
    desk.until(f"!globalThis.old && {KEY} === 'offsets'")
    desk.page.click("#back")
    desk.until(f"{KEY} === 'lengths' && document.querySelector('#part-0').value === '6.2'")
    assert desk.page.js("document.querySelector('#part-0 + select').value") == "cm"
    desk.enter("offsets")


def look_at_the_controls(desk, width, height, scheme):
    """Every control is named, large and on the screen."""
    page = desk.page
    page.resize(width, height, touch=width < 1000)
    page.scheme(scheme)
    assert page.js("document.documentElement.scrollWidth") == width and page.js(SMALL) == []
    top, tall = page.box("#next")[1::2]
    assert top + tall <= height
    colour = {"dark": "rgb(16, 20, 26)", "light": "rgb(238, 241, 245)"}[scheme]
    desk.until(f"getComputedStyle(document.body).backgroundColor === '{colour}'")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    used = [node for node in nodes if not node["ignored"] and node["role"]["value"] in NAMED]
    assert {"radio", "button", "image"} <= {node["role"]["value"] for node in used}
    assert [node for node in used if not node.get("name", {}).get("value")] == []
    page.resize(1280, 720)


def finish(desk):
    """The last answer leads to robot file, picture, verdict and command."""
    desk.enter("servo")
    for question in ("voltage", "limits", "masses", "height"):
        desk.enter(question, by_mouse=True)
    for _ in range(3):  # however often Next is pressed, it takes nothing that is not measured
        desk.page.click("#next")
    assert desk.page.js(KEY) == "height"
    desk.page.click("#assume")
    desk.until("document.querySelector('#verdict').textContent.endsWith('.')", 30.0)
    remarks = desk.page.js(
        "[document.querySelector('#verdict').textContent, document.querySelector('#remarks').innerText]"
    )
    assert remarks == ["No problem found.", ""]
    assert "not measurements of your robot" in desk.page.js("document.querySelector('#assumed').textContent")
    robot_file = desk.folder / "mine.yaml"
    assert load(robot_file).robot.legs[0].coxa.length == pytest.approx(0.062)
    assert desk.page.js("document.querySelector('#command').textContent") == f"hexapod sim --robot {robot_file} --demo"
    assert "from above" in desk.page.js("document.querySelector('#picture').textContent")
    desk.page.choose("#language", "de")
    desk.until("document.querySelector('#verdict').textContent === 'Kein Problem gefunden.'")
    german = desk.page.js("document.querySelector('main').innerText")
    assert "von oben" in german and "Hüfte links vorn" in german and "from above" not in german
    assert desk.page.errors == []


def go_on(desk):
    """A button starts the first evening with the new robot file, and leads to its page in the same language."""
    desk.page.click("#first")
    desk.until("document.documentElement.lang === 'de' && document.querySelector('#stages') !== null")
    desk.until("document.body.innerText.includes('mine.yaml')")
    evening = desk.page.js("location.origin")
    assert evening != desk.url.split("/#")[0]
    desk.page.js("globalThis.old = true")
    desk.page.call("Page.navigate", url=desk.url)
    desk.until("!globalThis.old && document.querySelector('#result:not([hidden])') !== null")
    return evening


FOREIGN = [
    (403, {"origin": "http://other.example"}),
    (401, {"token": "wrong"}),
    (400, {"body": b'{"act": "write", "text": "/tmp/x"}'}),
    (400, {"body": b'{"act": "answer", "text": ["x"]}'}),
    (400, {"body": b"[1]"}),
    (413, {"body": b" " * (MAX_REQUEST_BYTES + 1)}),
    (405, {"path": "/../mine.yaml"}),
]


def refuse(desk, code, request_):
    """A request that does not come from the page is refused and changes nothing."""
    before = sorted(os.listdir(desk.folder)), (desk.folder / "mine.answers.json").read_text()
    with pytest.raises(urllib.error.HTTPError) as error:
        desk.post(**{"body": b'{"act": "show"}'} | request_)
    assert error.value.code == code
    assert (sorted(os.listdir(desk.folder)), (desk.folder / "mine.answers.json").read_text()) == before


def be_behind(desk):
    """An outdated window gets the current question and changes nothing."""
    before = (desk.folder / "mine.answers.json").read_text()
    shown = desk.post(b'{"act": "go", "number": 2}')
    assert shown["key"] == "body"
    assert desk.post(b'{"act": "answer", "key": "height", "text": "90"}')["key"] == "body"
    assert (desk.folder / "mine.answers.json").read_text() == before


def test_the_page_leads_from_the_first_question_to_a_robot_file_and_refuses_foreign_requests(desk):
    answer_by_keyboard(desk)
    keep_an_implausible_answer(desk)
    restart(desk)
    look_at_the_controls(desk, 390, 844, "dark")
    look_at_the_controls(desk, 1280, 720, "light")
    finish(desk)
    evening = go_on(desk)
    for code, request_ in FOREIGN:
        refuse(desk, code, request_)
    be_behind(desk)
    desk.stop()
    with pytest.raises(urllib.error.URLError):  # what it has started has ended with it
        urllib.request.urlopen(evening, timeout=5.0)
