# SPDX-License-Identifier: Apache-2.0
"""`hexapod start` in a real Chromium: from the gallery to a simulated robot, to a first evening, and to their ends."""

import contextlib
import signal
import subprocess

import pytest
from chromium import Browser, BrowserError
from support.real_time.programs import HEXAPOD, read_line, until
from support.real_time.web.page_checks import PAUSE_S

from hexapod_control.config.robots.robot_file import known_robots, resolve

pytestmark = [pytest.mark.heavy, pytest.mark.browser, pytest.mark.process, pytest.mark.physics]

CHOSEN = "document.querySelector('#robots :checked')?.value"
# names of files that are broken within a word: their lines begin in the middle of one
CUT_NAMES = """[...document.querySelectorAll('#robots b')].flatMap((name) => [...name.childNodes].filter((part) =>
  part.data && (() => { const range = document.createRange(); range.selectNode(part);
  return range.getClientRects().length > 1; })()).map((part) => part.data))"""
TITLE = "document.querySelector('#running-title')?.textContent"
SIMULATE = """import("./requests.js")
  .then(({request}) => request("start", {what: "sim", robot: "my_robot.yaml", port: ""}))
  .then(({program}) => program.what)"""


class Desk:
    """The program and a page."""

    def __init__(self, folder, profile):
        self.folder = folder
        self.file, self.wrong = folder / "sent" / "mine.yaml", folder / "sent" / "wrong.yaml"
        self.file.parent.mkdir()
        self.file.write_text(resolve("phantomx").read_text())
        self.wrong.write_text("robot: [")
        command = [*HEXAPOD, "start", "--folder", str(folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = read_line(self.process).split("the page: ")[1].strip()
        self.browser = Browser(profile)
        self.page = self.browser.page(self.url, 390, 844, touch=True)

    def until(self, condition, seconds=20.0):
        def holds():
            with contextlib.suppress(BrowserError):  # while another page is loaded
                return self.page.js(condition)

        until(holds, f"{condition}; {self.page.errors}", seconds, PAUSE_S)

    def send(self, path):
        """A file that is chosen for upload."""
        root = self.page.call("DOM.getDocument")["root"]["nodeId"]
        node = self.page.call("DOM.querySelector", nodeId=root, selector="#file")["nodeId"]
        self.page.call("DOM.setFileInputFiles", files=[str(path)], nodeId=node)

    def press(self, selector):
        self.page.js(f"document.querySelector('{selector}').click()")

    def end_from_its_page(self):
        """Back to the page of the program, where what was started is ended."""
        self.page.call("Page.navigate", url=self.url)
        self.until(f"{TITLE} && !document.querySelector('#running').hidden")
        self.press("#end")
        self.until("document.querySelector('#running')?.hidden")


@pytest.fixture
def desk(tmp_path_factory):
    desk = Desk(tmp_path_factory.mktemp("robots"), tmp_path_factory.mktemp("chromium"))
    yield desk
    desk.browser.close()
    desk.process.terminate()
    desk.process.wait(20.0)


def test_the_page_leads_from_the_gallery_to_a_simulated_robot_and_to_a_first_evening(desk):
    desk.until(f"document.querySelectorAll('#robots input').length === {len(known_robots())}")
    desk.send(desk.wrong)
    desk.until("document.querySelector('#refusal').textContent.includes('is not valid YAML')")
    desk.send(desk.file)
    desk.until(f"{CHOSEN} === 'my_robot.yaml' && !document.querySelector('#refusal').textContent")
    desk.press("#sim")
    desk.until("globalThis.hexapod?.robot.shape?.name === 'phantomx'", 30.0)
    desk.end_from_its_page()

    desk.page.choose("#language", "de")
    desk.until("document.querySelector('#sim').textContent === 'Simulation starten'")
    desk.send(desk.wrong)
    refused = "/^Die Datei wird nicht angenommen: .*{}/.test(document.querySelector('#refusal').textContent)"
    desk.until(refused.format("ist kein gültiges YAML: "))
    desk.wrong.write_text(desk.file.read_text().replace("mass: ", "mass: 90000 # "))
    desk.send(desk.wrong)
    desk.until(
        "/Zeile \\d+: [a-z.]*mass: muss in .* liegen, ist 90000/.test(document.querySelector('#refusal').textContent)"
    )
    desk.press("#robots [value=phantomx]")
    desk.press("[value=real]")
    assert "my_phantomx.yaml" in desk.page.js("document.querySelector('#hint').textContent")
    for act in ("#robot", "#identify", "#measure"):
        button = f"document.querySelector('{act}')"
        assert desk.page.js(f"{button}.checkVisibility() && {button}.disabled && !!{button}.textContent")
    assert "nach dem ersten Abend" in desk.page.js("document.querySelector('#not-ready').textContent")
    assert desk.page.js(CUT_NAMES) == []
    desk.press("#first")
    desk.until("document.querySelector('#robot')?.textContent === 'my_phantomx.yaml'")
    desk.until("document.querySelector('#usual button')?.textContent === 'Beginnen'")
    desk.page.call("Page.navigate", url=desk.url)
    desk.until(f"{TITLE} === 'Erster Abend von phantomx'")
    assert desk.page.js(SIMULATE) == "first", "one program at once"
    desk.end_from_its_page()
    assert (desk.folder / "my_phantomx.yaml").read_text() == resolve("phantomx").read_text()
    desk.process.send_signal(signal.SIGINT)
    assert desk.process.wait(12.0) == 0  # although the page asks for news
    assert desk.page.errors == []
