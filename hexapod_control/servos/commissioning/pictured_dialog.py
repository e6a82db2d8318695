"""A dialog that shows a drawing with every question: of the leg or joint in the question, else of the stage."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Robot
from hexapod_control.servos.commissioning.front_end import FrontEnd
from hexapod_control.servos.commissioning.stages import Stage


class PicturedDialog:
    """Wraps a front end. A drawing is not shown again until it changes."""

    def __init__(self, front_end: FrontEnd, robot: Robot) -> None:
        self._picture = "top"  # of questions that name no leg
        self._front_end, self._robot = front_end, robot
        self._shown: tuple[str, tuple[str, ...]] | None = None

    def introduce(self, stage: Stage, number: int, count: int) -> None:
        """Shows a stage with its picture."""
        self._picture = stage.picture
        self._front_end.introduce(stage, number, count)
        self._show(stage.picture)

    def say(self, text: str) -> None:
        """Shows a text."""
        self._front_end.say(text)

    def ask(self, question: str, meanwhile: Callable[[], None] | None = None) -> str:
        """The answer to a question, which is shown below its drawing."""
        self._show(*self._picture_of(question))
        return self._front_end.ask(question, meanwhile)

    def relaxed(self) -> None:
        """See `FrontEnd.relaxed`."""
        self._front_end.relaxed()

    def _show(self, kind: str, legs: Collection[str] = ()) -> None:
        """Shows a picture, unless it is the last one."""
        if (kind, tuple(legs)) != self._shown:
            self._shown = kind, tuple(legs)
            self._front_end.draw(kind, self._robot, legs)

    def _picture_of(self, question: str) -> tuple[str, tuple[str, ...]]:
        """Drawing of a question, and the legs in it; a proposed answer in brackets does not count."""
        text = re.sub(r"\[.*?\]", "", question)
        legs = tuple(leg for leg in self._robot.leg_names if re.search(rf"\b{leg}(\b|_)", text))
        if len(legs) != 1:
            return self._picture, ()
        joint = next((joint for joint in JOINTS if f"{legs[0]}_{joint}" in text), "")
        return (f"turn {joint}" if joint else "leg"), legs
