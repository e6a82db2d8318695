"""The screenshots of docs/web.md, from the simulated robot in Chromium: `python docs/figures/page.py [NAME ...]`.

Needs ROS 2, MuJoCo and Chromium, and a machine that does nothing else: a picture waits until the round trip is short
and all nodes report that they are well.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from hexapod_control.bringup import node_graph
from hexapod_control.bringup.process_supervisor import Supervisor
from hexapod_control.clients.bounded_wait import wait_until
from hexapod_control.evaluation.performance.graph.graph_load import private_domain
from hexapod_control.evaluation.performance.page.chromium import Browser, BrowserPage

IMAGES = Path(__file__).parents[1] / "images"
MARK = "the page: "
TIMEOUT_S = 60.0  # for the graph to start, and for every state on the page
STRIDES_S = 4.0  # of walking, for traces and charts
MAX_WAVES = 5  # until the page is calm while the robot waves
PUSH_PX, TURN_PX = 36, -16  # displacement of the sticks on the phone
STATE = "hexapod.robot.state"
WAVING = "document.querySelector('#playing-name').textContent === 'Wave · leg'"
CALM = "hexapod.connection.roundTrip < 300 && !document.querySelector('#diagnostics li:not([data-level=\"0\"])')"
HALFWAY = "document.querySelector('#playing-bar').value > 45"
DRAWN_IN_3D = "(hexapod.scene?.frames ?? 0) > 2"


def until(page: BrowserPage, condition: str) -> None:
    """Waits until an expression is true on the page. Raises TimeoutError."""
    if not wait_until(lambda: bool(page.js(condition)), TIMEOUT_S, time.sleep):
        raise TimeoutError(f"never true on the page: {condition}; {page.errors}")


def save(page: BrowserPage, name: str) -> None:
    """Writes a screenshot."""
    page.screenshot(IMAGES / name)
    print(IMAGES / name)


def show(page: BrowserPage, tab: str) -> None:
    """Changes to a tab of the page."""
    page.js(f"document.querySelector('#tabs [data-tab={tab}]').click()")


def desktop(page: BrowserPage) -> None:
    """The desktop while the robot waves."""
    page.resize(1600, 900)
    page.scheme("light")
    show(page, "views")
    for _ in range(MAX_WAVES):
        page.click("#moves [data-motion=wave]")
        until(page, f"{WAVING} && {HALFWAY}")
        until(page, f"{CALM} || !({WAVING})")
        calm = page.js(WAVING)
        if calm:
            save(page, "page.png")
        until(page, f"{STATE} === 'standing'")
        if calm:
            return
    raise TimeoutError(f"the page was not calm during {MAX_WAVES} waves")


def phone(page: BrowserPage) -> None:
    """A phone, driven by two thumbs."""
    page.resize(360, 740, touch=True)
    page.scheme("dark")
    show(page, "views")
    left, right = page.spot("#left"), page.spot("#right")
    page.touch("Start", left=left)
    page.touch("Start", left=left, right=right)
    page.touch("Move", left=(left[0] - 4, left[1] - PUSH_PX), right=(right[0] + TURN_PX, right[1]))
    time.sleep(STRIDES_S)
    until(page, f"{STATE} === 'walking' && {CALM}")
    save(page, "page-phone.png")
    page.touch("End")
    until(page, f"{STATE} === 'standing'")


def space(page: BrowserPage) -> None:
    """The 3D view of the walking robot."""
    page.resize(1280, 720)
    page.scheme("dark")
    show(page, "space")
    until(page, DRAWN_IN_3D)
    page.key("Down", "i")
    time.sleep(STRIDES_S)
    until(page, f"{STATE} === 'walking' && {CALM}")
    save(page, "page-3d.png")
    page.key("Up", "i")


SCREENSHOTS = {"desktop": desktop, "phone": phone, "space": space}


def main() -> None:
    """Starts robot and browser and takes the screenshots named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", help=f"{', '.join(SCREENSHOTS)} (default: all)")
    names = parser.parse_args().name or SCREENSHOTS
    lines: list[str] = []
    specs = node_graph.specs("sim", {"web": True, "web_port": 0, "stand_on_start": True})
    with private_domain(), Supervisor(specs, lines.append), tempfile.TemporaryDirectory() as profile:
        if not wait_until(lambda: any(MARK in line for line in lines), TIMEOUT_S, time.sleep):
            raise TimeoutError(f"the page does not start: {lines}")
        browser = Browser(profile)
        try:
            page = browser.page(next(line for line in lines if MARK in line).split(MARK)[1])
            until(page, f"globalThis.hexapod && {STATE} === 'standing'")
            for name in names:
                SCREENSHOTS[name](page)
        finally:
            browser.close()


if __name__ == "__main__":
    main()
