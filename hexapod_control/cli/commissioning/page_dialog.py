"""The front end of the first evening for a page: stores what the page shows, takes answers from another thread."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection
from itertools import count

from hexapod_control.config.robots.draft.questions.drawings import svg_drawing
from hexapod_control.core.robot import Robot
from hexapod_control.servos.calibration.dialog import TorqueStop
from hexapod_control.servos.calibration.remote_dialog import RemoteDialog
from hexapod_control.servos.commissioning.stages import Stage

MAX_LINES = 200  # of the record
SAID, ASKED, ANSWERED = "said", "asked", "answered"


class PageDialog:
    """One thread asks; the others read `state`, `question`, `record` and `pictures`, answer and stop."""

    def __init__(self) -> None:
        self.record: deque[tuple[str, str]] = deque(maxlen=MAX_LINES)  # texts, questions and answers
        self.pictures: tuple[str, ...] = ()  # SVG
        self._remote = RemoteDialog()
        self._number = 0  # of the open question, 0 if there is none
        self._stop = threading.Event()
        self._picture = ""  # of the stage
        self._numbers = count(1)
        self._changes = 0  # grows with each change

    # --- the thread that asks -----------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Shows a text."""
        self._note(SAID, text)

    def ask(self, question: str, meanwhile: Callable[[], None] | None = None) -> str:
        """As in Dialog; raises TorqueStop as soon as the operator wants the torque off."""

        def both() -> None:
            self.check()
            if meanwhile:
                meanwhile()

        self._number = self._remote.state.number + 1
        self._note(ASKED, question)
        try:
            answer = self._remote.ask(question, both)
        finally:
            self._number = 0
        self._note(ANSWERED, answer)
        return answer

    def introduce(self, stage: Stage, number: int, count: int) -> None:
        """Stores the picture of the stage; the page takes the rest from the StageMachine."""
        self._picture = stage.picture

    def draw(self, kind: str, robot: Robot, legs: Collection[str]) -> None:
        """Shows a drawing of a leg, the position of the leg, and the drawing of the stage."""
        kinds = [kind]
        if legs:
            other = self._picture if kind == "leg" else kind
            kinds = ["leg"] if other == "leg" else ["leg", other]
        self.pictures = tuple(svg_drawing(each, robot, legs, " ".join((each, *legs))) for each in kinds)
        self._changed()

    def check(self) -> None:
        """Raises TorqueStop if the operator wants the torque off."""
        if self._stop.is_set():
            raise TorqueStop

    def sleep(self, seconds: float) -> None:
        """Waits for a time [s]; raises TorqueStop as soon as the operator wants the torque off."""
        self._stop.wait(seconds)
        self.check()

    def relaxed(self) -> None:
        """As in FrontEnd."""
        self._stop.clear()
        self._changed()

    def _note(self, kind: str, text: str) -> None:
        self.record.append((kind, text.strip()))
        self._changed()

    def _changed(self) -> None:
        self._changes = next(self._numbers)

    # --- other threads -------------------------------------------------------------------------------------

    @property
    def changes(self) -> int:
        """A number that grows with each change."""
        return self._changes

    @property
    def state(self) -> str:
        """A text that differs after each change."""
        return f"{self._changes}.{self.question[0]}"

    @property
    def question(self) -> tuple[int, str]:
        """Number and text of the open question; 0 and empty if there is none."""
        state = self._remote.state
        return (state.number, state.question) if state.number == self._number else (0, "")

    @property
    def stopping(self) -> bool:
        """True while the torque is being switched off."""
        return self._stop.is_set()

    def answer(self, number: int, text: str) -> None:
        """Answers a question, if it is still open."""
        if number and number == self.question[0]:
            self._remote.answer(text)

    def stop(self) -> None:
        """Requests that the torque is switched off."""
        self._stop.set()
        self._changed()
