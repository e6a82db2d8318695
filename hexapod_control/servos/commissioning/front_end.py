"""The interface of front ends for commissioning, and the front end that shows text."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from hexapod_control.config.robots.draft.questions.drawings import drawing
from hexapod_control.core.robot import Robot
from hexapod_control.servos.calibration.dialog import Dialog
from hexapod_control.servos.commissioning.stages import Stage


class FrontEnd(Dialog, Protocol):
    """A dialog that also shows stages and drawings."""

    def introduce(self, stage: Stage, number: int, count: int) -> None:
        """Shows the next stage, which is number `number` of `count`."""

    def draw(self, kind: str, robot: Robot, legs: Collection[str]) -> None:
        """Shows one of the DRAWINGS with these legs marked."""

    def relaxed(self) -> None:
        """Called after TorqueStop, when torque-off was sent or has failed."""


class TextFrontEnd:
    """Shows everything as text in a dialog."""

    def __init__(self, dialog: Dialog) -> None:
        self._dialog = dialog

    def say(self, text: str) -> None:
        """Shows a text."""
        self._dialog.say(text)

    def ask(self, question: str, meanwhile: Callable[[], None] | None = None) -> str:
        """See `Dialog.ask`."""
        return self._dialog.ask(question, meanwhile)

    def introduce(self, stage: Stage, number: int, count: int) -> None:
        """Shows title, duration and text of a stage."""
        self.say(f"\n== {number}/{count}  {stage.title}, about {stage.minutes} min ({stage.key})\n{stage.text}")

    def draw(self, kind: str, robot: Robot, legs: Collection[str]) -> None:
        """Shows a drawing made of characters."""
        self.say("\n".join(["", *drawing(kind, robot, legs), ""]))

    def relaxed(self) -> None:
        """Does nothing: in a terminal, Ctrl-C ends the program instead."""
