# SPDX-License-Identifier: Apache-2.0
"""The screenshot of docs/your-own-robot.md, from `hexapod new --page`: `python docs/figures/interview.py`."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
sys.path.insert(0, str(Path(__file__).parent))

from chromium import Browser
from page import IMAGES, until

COMMAND = (sys.executable, "-m", "hexapod_control.cli.main", "new", "my_robot.yaml", "--page")
ANSWERS = 5  # before the question for the lengths of a leg
LENGTHS = "[...document.querySelectorAll('.field label')].map((each) => each.textContent).join() === 'coxa,femur,tibia'"
PAUSE_S = 0.5  # in which the drawing follows


def main() -> None:
    """Answers the first questions with their proposals and types a longer tibia."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as profile:
        program = subprocess.Popen(COMMAND, cwd=folder, stdout=subprocess.PIPE, text=True)
        assert program.stdout is not None
        browser = Browser(profile)
        try:
            page = browser.page(program.stdout.readline().split("the page: ")[1].strip(), 1100, 720)
            for number in range(1, ANSWERS + 1):
                until(page, f"document.querySelector('#place')?.textContent.startsWith('Question {number} ')")
                page.press("Enter", "Enter")
            until(page, LENGTHS)
            page.choose("#part-2", "155")
            time.sleep(PAUSE_S)
            page.screenshot(IMAGES / "interview.png")
        finally:
            browser.close()
            program.send_signal(signal.SIGINT)
            program.wait()


if __name__ == "__main__":
    main()
