"""Dialog over services: a question stays open until it is answered. One thread asks, other threads answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from hexapod_control.servos.calibration.dialog import Abandoned

POLL_PERIOD_S = 0.02  # between two calls of `meanwhile`


@dataclass(frozen=True, slots=True)
class DialogState:
    """The content for a client to display: the open question, and the texts since the last answer."""

    number: int = 0  # of questions so far
    question: str = ""  # empty if none is open
    said: tuple[str, ...] = ()


class RemoteDialog:
    """A dialog with a remote client, which displays `state` and calls `answer`."""

    def __init__(self) -> None:
        self.state = DialogState()
        self._changed = threading.Condition()
        self._answer: str | None = None
        self._cancelled = False

    # --- the thread that asks -----------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Shows a text."""
        state = self.state
        self.state = DialogState(state.number, "", (*state.said, text))

    def ask(self, question: str, meanwhile: Callable[[], None] | None = None) -> str:
        """Shows a question until it is answered. Raises Abandoned if it is cancelled."""
        with self._changed:
            self._answer = None
            self.state = DialogState(self.state.number + 1, question.strip(), self.state.said)
        while True:
            with self._changed:
                if self._answer is None and not self._cancelled:
                    self._changed.wait(POLL_PERIOD_S if meanwhile else None)
                if self._cancelled:
                    raise Abandoned
                if self._answer is not None:
                    self.state = DialogState(self.state.number)
                    return self._answer
            if meanwhile:
                meanwhile()

    # --- other threads -------------------------------------------------------------------------------------

    def answer(self, text: str) -> str:
        """Answers the open question. Returns why that is not possible, or an empty text."""
        with self._changed:
            if not self.state.question or self._answer is not None:
                return "no question is open"
            self._answer = text.strip()
            self._changed.notify()
        return ""

    def cancel(self) -> None:
        """Ends the dialog: the open question and all later ones raise Abandoned."""
        with self._changed:
            self._cancelled = True
            self._changed.notify()
