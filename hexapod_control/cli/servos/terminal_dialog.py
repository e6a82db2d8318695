# SPDX-License-Identifier: Apache-2.0
"""Dialogs in a terminal."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable

from hexapod_control.config.robots.draft.questions.drawings import drawing
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.robot import Robot
from hexapod_control.servos.calibration.dialog import Abandoned, Dialog, Prompt

POLL_PERIOD_S = 0.05


class TerminalDialog(Dialog):
    """A dialog on standard input and output, line by line."""

    def __init__(self, robot: Robot | None = None) -> None:
        """With a robot, the joint or leg of a prompt is drawn whenever it changes."""
        self._robot = robot
        self._picture = ""  # of the stage
        self._drawn: tuple[str, str] | None = None
        self._rest = b""

    def say(self, text: Sentence) -> None:
        """Prints a text."""
        print(text, flush=True)

    def introduce(self, text: Sentence, picture: str) -> None:
        """Prints the text of a stage, and draws its picture."""
        self._picture = picture
        self.say(text)
        self._draw(picture, "")

    def answer_to(self, prompt: Prompt, meanwhile: Callable[[], None] | None = None) -> str:
        """Prints a prompt and returns the answer; calls `meanwhile` periodically until it is there.

        Raises Abandoned at the end of the input.
        """
        self._draw(prompt.picture or self._picture, prompt.joint[0] if prompt.joint else "")
        print(prompt.line, end="", flush=True)
        while b"\n" not in self._rest:
            if select.select([sys.stdin], [], [], POLL_PERIOD_S if meanwhile else None)[0]:
                data = os.read(sys.stdin.fileno(), 4096)
                if not data:
                    raise Abandoned
                self._rest += data
            elif meanwhile:
                meanwhile()
        line, _, self._rest = self._rest.partition(b"\n")
        if not sys.stdin.isatty():
            print(flush=True)
        return line.decode(errors="replace").strip()

    def _draw(self, kind: str, leg: str) -> None:
        """Draws a picture of a leg, unless it is the last one."""
        if self._robot is not None and kind and (kind, leg) != self._drawn:
            self._drawn = kind, leg
            print("", *drawing(kind, self._robot, [leg] if leg else ()), "", sep="\n", flush=True)
