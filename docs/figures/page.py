# SPDX-License-Identifier: Apache-2.0
"""Screenshots of the page with the simulated robot in Chromium: `python docs/figures/page.py [--all FOLDER]`.

Without an option the three pictures of docs/web.md; with --all the page at all sizes, dark and light, in every state.
Needs ROS 2, MuJoCo and Chromium. A picture is taken when the robot answers quickly; a loaded computer delays it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from chromium import Browser, BrowserPage

from hexapod_control.bringup import node_graph
from hexapod_control.bringup.process_supervisor import Supervisor
from hexapod_control.clients.bounded_wait import wait_until
from hexapod_control.ros.transport.loopback import private_domain

IMAGES = Path(__file__).parents[1] / "images"
MARK = "the page: "
TIMEOUT_S = 60.0  # for the graph to start, and for every state on the page
STRIDES_S = 4.0  # of walking, for path and plots
SETTLE_S = 0.8  # for the page to draw in a new size
MAX_ROUND_TRIP_MS = 100.0
QUIET_S = 300.0  # for the computer to become quiet
SIZES = ((320, 568), (390, 844), (844, 390), (820, 1180), (1280, 720), (1440, 900))
MAX_TOUCH_WIDTH = 1100  # [px] of a screen that is touched
SCHEMES = ("light", "dark")
SAY = "globalThis.hexapod?.robot.now?.say"


def until(page: BrowserPage, condition: str, seconds: float = TIMEOUT_S) -> None:
    """Waits until an expression is true on a page. Raises TimeoutError."""
    if not wait_until(lambda: bool(page.js(condition)), seconds, time.sleep):
        raise TimeoutError(f"never true on the page: {condition}; {page.errors}")


class Stage:
    """The simulated robot and its page."""

    def __init__(self, page: BrowserPage, other: BrowserPage, supervisor: Supervisor) -> None:
        self.page, self.other, self.supervisor = page, other, supervisor

    def until(self, condition: str) -> None:
        """Waits until an expression is true on the page. Raises TimeoutError."""
        until(self.page, condition)

    def wait_for(self, *sentences: str) -> None:
        """Waits for one of the sentences of the page, by key."""
        self.until(f"{list(sentences)}.includes({SAY})")

    def step(self) -> None:
        """Presses the large button."""
        self.page.js("document.querySelector('#step').click()")

    # --- states -------------------------------------------------------------------------------------------------

    def sitting(self) -> None:
        """At rest on its belly."""
        self.wait_for("sitting")
        self.page.js("document.querySelector('#banner-no').click()")  # the other page has the same name

    def goal(self) -> None:
        """Standing, with a goal on the map."""
        self.step()
        self.wait_for("standing")
        self.page.js("document.querySelector('[data-picture=map]').click(); hexapod.map.mark([[0.8, 0.3]])")

    def walking(self) -> None:
        """Driven by a key."""
        self.page.js("hexapod.map.mark([]); document.querySelector('[data-picture=space]').click()")
        self.wait_for("standing")
        self.page.key("Down", "i")
        time.sleep(STRIDES_S)
        self.wait_for("walking_at")

    def other_driver(self) -> None:
        """Another page drives."""
        self.page.key("Up", "i")
        self.wait_for("standing")
        self.page.js("document.querySelector('#seat').click()")
        self.other.js("document.querySelector('#seat').click()")
        self.until("hexapod.people.driver && !hexapod.people.drives")

    def fault(self) -> None:
        """A node is hung."""
        self.other.js("document.querySelector('#seat').click()")
        os.kill(self.supervisor.pids["inverse_kinematics"], signal.SIGSTOP)
        self.wait_for("stale")

    def estop(self) -> None:
        """The torque is cut."""
        os.kill(self.supervisor.pids["inverse_kinematics"], signal.SIGCONT)
        self.wait_for("standing")
        self.page.press(" ", "Space", 8)
        self.wait_for("estop_by")

    def disconnected(self) -> None:
        """The server hangs."""
        os.kill(self.supervisor.pids["web"], signal.SIGSTOP)
        self.until("hexapod.connection.state !== 'open'")


STATES: tuple[Callable[[Stage], None], ...] = (
    Stage.sitting,
    Stage.goal,
    Stage.walking,
    Stage.other_driver,
    Stage.fault,
    Stage.estop,
    Stage.disconnected,
)
DOCUMENTED = {  # pictures of docs/web.md: state, its sentence, size, scheme
    "page.png": ("walking", "walking_at", (1440, 900), "light"),
    "page-map.png": ("goal", "standing", (390, 844), "light"),
    "page-phone.png": ("walking", "walking_at", (390, 844), "dark"),
    "page-estop.png": ("estop", "estop_by", (390, 844), "light"),
}


def save(page: BrowserPage, size: tuple[int, int], scheme: str, path: Path, sentence: str = "") -> None:
    """Writes a screenshot; with a sentence when the page shows it and the robot answers quickly."""
    page.resize(*size, touch=size[0] < MAX_TOUCH_WIDTH)
    page.scheme(scheme)
    time.sleep(SETTLE_S)
    if sentence:
        until(page, f"{SAY} === '{sentence}' && hexapod.connection.roundTrip < {MAX_ROUND_TRIP_MS}", QUIET_S)
    page.screenshot(path)
    print(path)


def take(stage: Stage, folder: Path | None) -> None:
    """Brings the robot into each state and takes its pictures."""
    for bring in STATES:
        state = bring.__name__
        bring(stage)
        if folder is not None:
            for size in SIZES:
                for scheme in SCHEMES:
                    save(stage.page, size, scheme, folder / f"{state}-{size[0]}x{size[1]}-{scheme}.png")
        else:
            for name, (wanted, sentence, size, scheme) in DOCUMENTED.items():
                if wanted == state:
                    save(stage.page, size, scheme, IMAGES / name, sentence)
        stage.page.resize(1280, 720)


def main() -> None:
    """Starts robot and browser and takes the screenshots."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="all sizes and states, into this folder")
    folder = parser.parse_args().all
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    specs = node_graph.specs("sim", {"web": True, "web_port": 0, "world": "obstacles", "seed": 3})
    with private_domain(), Supervisor(specs, lines.append) as supervisor, tempfile.TemporaryDirectory() as profile:
        if not wait_until(lambda: any(MARK in line for line in lines), TIMEOUT_S, time.sleep):
            raise TimeoutError(f"the page does not start: {lines}")
        url = next(line for line in lines if MARK in line).split(MARK)[1]
        browser = Browser(profile)
        try:
            take(Stage(browser.page(url), browser.page(url, 390, 844), supervisor), folder)
        finally:
            for node in ("web", "inverse_kinematics"):
                os.kill(supervisor.pids[node], signal.SIGCONT)
            browser.close()


if __name__ == "__main__":
    main()
