# SPDX-License-Identifier: Apache-2.0
"""The dialog of the first evening with a page: keeps what the page shows, takes answers from another thread."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Union

from hexapod_control.config.robots.draft.questions.drawings import svg_drawing
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.robot import Robot
from hexapod_control.servos.calibration.dialog import Prompt, TorqueStop
from hexapod_control.servos.calibration.remote_dialog import RemoteDialog

MAX_LINES = 200  # of the record
SAID = "said"
ASKED = "asked"
ANSWERED = "answered"
Said = Union[Sentence, str]  # noqa: UP007 - evaluated; an answer is a text


class PageDialog(RemoteDialog):
    """One thread asks; the others read `state`, `record` and `pictures`, answer and stop."""

    def __init__(self, robot: Robot) -> None:
        super().__init__()
        self.record: deque[tuple[str, Said]] = deque(maxlen=MAX_LINES)  # texts, questions and answers
        self.pictures: tuple[str, ...] = ()  # SVG
        self.changes = 0  # grows with each change
        self._robot = robot
        self._stop = threading.Event()
        self._picture = ""  # of the stage

    # --- the thread that asks -----------------------------------------------------------------------

    def say(self, text: Sentence) -> None:
        """Shows a text."""
        self._note(SAID, text)

    def introduce(self, text: Sentence, picture: str) -> None:
        """Shows the picture of a stage; the page takes the rest from the StageMachine."""
        self._picture = picture
        self._draw((picture,), ())

    def answer_to(self, prompt: Prompt, meanwhile: Callable[[], None] | None = None) -> str:
        """As in Dialog; raises TorqueStop as soon as the operator wants the torque off."""

        def both() -> None:
            self.check()
            if meanwhile:
                meanwhile()

        if prompt.picture:  # that of a joint next to the place of its leg
            other = self._picture if prompt.picture == "leg" else prompt.picture
            self._draw(("leg",) if other == "leg" else ("leg", other), prompt.joint[:1])
        else:
            self._draw((self._picture,), ())
        self._note(ASKED, prompt.text)
        answer = super().answer_to(prompt, both)
        self._note(ANSWERED, answer)
        return answer

    def check(self) -> None:
        """Raises TorqueStop if the operator wants the torque off."""
        if self._stop.is_set():
            raise TorqueStop

    def sleep(self, seconds: float) -> None:
        """Waits for a time [s]; raises TorqueStop as soon as the operator wants the torque off."""
        self._stop.wait(seconds)
        self.check()

    def relaxed(self) -> None:
        """As in Dialog."""
        self._stop.clear()
        self._count()

    def _draw(self, kinds: tuple[str, ...], legs: tuple[str, ...]) -> None:
        self.pictures = tuple(svg_drawing(kind, self._robot, legs, " ".join((kind, *legs))) for kind in kinds if kind)

    def _note(self, kind: str, said: Said) -> None:
        self.record.append((kind, said))
        self._count()

    def _count(self) -> None:
        with self._changed:
            self.changes += 1

    # --- other threads -------------------------------------------------------------------------------------

    @property
    def stopping(self) -> bool:
        """True while the torque is being switched off."""
        return self._stop.is_set()

    def answer_number(self, number: int, text: str) -> None:
        """Answers the prompt of a number, if it is still open."""
        if number == self.state.number:
            self.answer(text)

    def stop(self) -> None:
        """Requests that the torque is switched off."""
        self._stop.set()
        self._count()
