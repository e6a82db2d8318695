# SPDX-License-Identifier: Apache-2.0
"""The calibration as a user sees it, from a real run: `python docs/figures/terminal.py` draws the pictures.

A simulated person calibrates an emulated robot with unknown mounting of the servos (calibration_bench in test/support).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "test")]
IMAGES = ROOT / "docs" / "images"
COLUMNS, SIZE, LINE, PAD = 118, 13, 18, 14
WIDTH = round(COLUMNS * SIZE * 0.602) + 2 * PAD


def picture(lines: list[str]) -> str:
    """Lines of a terminal as SVG."""
    height = LINE * len(lines) + 2 * PAD
    rows = [
        f'<text x="{PAD}" y="{PAD + LINE * (k + 1) - 5}" xml:space="preserve">{escape(line)}</text>'
        for k, line in enumerate(lines)
    ]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'width="{WIDTH}" height="{height}">',
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#1d2125"/>',
            f'<g font-family="DejaVu Sans Mono, Consolas, monospace" font-size="{SIZE}" fill="#e8e6df">',
            *rows,
            "</g></svg>\n",
        )
    )


def folded(text: str) -> list[str]:
    """Lines no longer than the terminal."""
    found: list[str] = []
    for line in text.rstrip("\n").split("\n"):
        found += textwrap.wrap(line, COLUMNS, drop_whitespace=False, replace_whitespace=False) or [""]
    return found


def calibration() -> str:
    """The text of a whole calibration, answers in it."""
    from support.phantomx import narrow_file
    from support.real_time.calibration_bench import Command, Mounted, Person

    with tempfile.TemporaryDirectory() as folder:
        own = narrow_file(Path(folder, "robot.yaml"))
        mounted = Mounted("feetech_st", own, Path(folder, "bus"))
        mounted.crooked[7] = 0.07  # [rad] the femur of left_rear
        try:
            person = Person(mounted)
            words = ["--robot", str(own), "--protocol", "feetech_st", "--port", mounted.settings.port]
            command = Command(person, *words, "--baud", "1000000")
            answers: list[str] = []
            command.write = lambda answer, write=command.write: (answers.append(answer), write(answer))[1]
            assert command.run() == 0, command.text
        finally:
            mounted.pty.close()
        text = ""
        for line in command.text.split("\n"):
            asks = line.endswith(" ") and answers
            text += line + (answers.pop(0) if asks else "") + "\n"
        return text.replace(f"{folder}/bus", "/dev/hexapod").replace(str(own), "robot.yaml")


def table() -> str:
    """What `hexapod servos watch` shows."""
    from hexapod_control.config.robots.robot_file import load
    from hexapod_control.servos.emulated_robot import robot_emulator
    from hexapod_control.servos.emulated_robot.robot_emulator import emulate
    from hexapod_control.servos.settings.servo_section import servo_settings

    with tempfile.TemporaryDirectory() as folder:
        file, link = load("phantomx"), Path(folder, "bus")
        emulation = emulate(file.robot, servo_settings(file, "feetech_st", str(link)), link)
        for order in ("unplug=5", "heat=9"):
            robot_emulator.parse_fault(order).act(emulation)
        try:
            words = ["servos", "--protocol", "feetech_st", "--port", str(link), "watch", "--count", "1"]
            command = [sys.executable, "-m", "hexapod_control.cli.main", *words]
            return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
        finally:
            emulation.pty.close()


def draw() -> None:
    """Writes the pictures."""
    lines = folded(calibration())
    at = {name: next(k for k, line in enumerate(lines) if name in line) for name in ("servo 8:", "The rest")}
    copied = next(k for k, line in enumerate(lines) if line.startswith("measure the scale"))
    parts = {
        "calibrate-wiggle": [*lines[: at["servo 8:"]], "…"],
        "calibrate-rest": [*lines[at["The rest"] : copied + 8]],
        "servos-watch": folded(table()),
    }
    for name, part in parts.items():
        (IMAGES / f"{name}.svg").write_text(picture(part), encoding="utf-8")


if __name__ == "__main__":
    draw()
