# SPDX-License-Identifier: Apache-2.0
"""A dialog with a client in another thread: a prompt stays open until it is answered."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from hexapod_control.config.sentence import Sentence, refuse
from hexapod_control.core.refusal import Refusal
from hexapod_control.servos.calibration.dialog import Abandoned, Dialog, Prompt

POLL_PERIOD_S = 0.02  # between two calls of `meanwhile`


@dataclass(frozen=True, slots=True)
class DialogState:
    """The content for a client to display: the open prompt, and what was said since the last answer."""

    number: int = 0  # of prompts so far
    prompt: Prompt | None = None
    said: tuple[Sentence, ...] = ()


class RemoteDialog(Dialog):
    """One thread asks; a client displays `state` and calls `answer`."""

    def __init__(self) -> None:
        self.state = DialogState()
        self._changed = threading.Condition()
        self._answer: str | None = None
        self._cancelled = False

    # --- the thread that asks -----------------------------------------------------------------------

    def say(self, text: Sentence) -> None:
        """Shows a text."""
        state = self.state
        self.state = DialogState(state.number, None, (*state.said, text))

    def answer_to(self, prompt: Prompt, meanwhile: Callable[[], None] | None = None) -> str:
        """Shows a prompt until it is answered. Raises Abandoned if the dialog is cancelled."""
        with self._changed:
            self._answer = None
            self.state = DialogState(self.state.number + 1, prompt, self.state.said)
        try:
            while True:
                with self._changed:
                    if self._answer is None and not self._cancelled:
                        self._changed.wait(POLL_PERIOD_S if meanwhile else None)
                    if self._cancelled:
                        raise Abandoned
                    if self._answer is not None:
                        return self._answer
                if meanwhile:
                    meanwhile()
        finally:
            self.state = DialogState(self.state.number)

    def wait(self, seconds: float) -> None:
        """Lets time pass, unless the dialog is cancelled: then raises Abandoned."""
        with self._changed:
            self._changed.wait_for(lambda: self._cancelled, seconds)
            if self._cancelled:
                raise Abandoned

    # --- other threads -------------------------------------------------------------------------------------

    def answer(self, text: str) -> Refusal | None:
        """Answers the open prompt."""
        with self._changed:
            if self.state.prompt is None or self._answer is not None:
                return refuse("no_question")
            self._answer = text.strip()
            self._changed.notify()
        return None

    def cancel(self) -> None:
        """Ends the dialog: the open prompt and all later ones raise Abandoned."""
        with self._changed:
            self._cancelled = True
            self._changed.notify()
