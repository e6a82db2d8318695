"""A dialog that shows a picture with every question: of the leg or joint that it names, else of the stage."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from hexapod_control.config.robots.draft.questions.drawings import drawing
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Robot
from hexapod_control.servos.calibration.dialog import Dialog


class PicturedDialog:
    """Wraps a dialog. A picture is shown once, until another one is needed."""

    def __init__(self, dialog: Dialog, robot: Robot) -> None:
        self.picture = "top"  # of questions that name no leg
        self._dialog, self._robot = dialog, robot
        self._shown: tuple[str, tuple[str, ...]] | None = None

    def say(self, text: str) -> None:
        """Shows a text."""
        self._dialog.say(text)

    def ask(self, question: str, meanwhile: Callable[[], None] | None = None) -> str:
        """The answer to a question, below its picture."""
        self.show(*self._of(question))
        return self._dialog.ask(question, meanwhile)

    def show(self, kind: str, legs: Collection[str] = ()) -> None:
        """Shows a picture, unless it is the last one."""
        if (kind, tuple(legs)) != self._shown:
            self._shown = kind, tuple(legs)
            self._dialog.say("\n".join(["", *drawing(kind, self._robot, legs), ""]))

    def _of(self, question: str) -> tuple[str, tuple[str, ...]]:
        """Picture of a question, and the legs in it; a proposed answer in brackets shows nothing."""
        asked = re.sub(r"\[.*?\]", "", question)
        legs = tuple(leg for leg in self._robot.leg_names if re.search(rf"\b{leg}(\b|_)", asked))
        if len(legs) != 1:
            return self.picture, ()
        joint = next((joint for joint in JOINTS if f"{legs[0]}_{joint}" in asked), "")
        return (f"turn {joint}" if joint else "leg"), legs
