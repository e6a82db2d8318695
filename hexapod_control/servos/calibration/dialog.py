"""Dialog of the guided calibration with the operator: questions, answers, jog commands, names of positions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

BACK, QUIT, HELP = "b", "q", "?"  # answers to any question
COMMANDS = {"b": BACK, "back": BACK, "q": QUIT, "quit": QUIT, "exit": QUIT, "?": HELP, "help": HELP}
GENERAL_HELP = "To any question: back (b) returns to the question before, quit (q) keeps the answers for another time."
JOG_UNITS = (10, 50)  # [us or ticks] for + and -, for ++ and --
JOG_HELP = f"Jog with + and - ({JOG_UNITS[0]} units), ++ and -- ({JOG_UNITS[1]}), or a number like +7; Enter accepts."
NAMED_ANGLES = {(0, 0): "straight out", (1, 0): "level", (2, -90): "straight down"}  # column, degrees


class Abandoned(Exception):  # noqa: N818 - no error: a request of the operator
    """The operator has ended the dialog."""


class TorqueStop(Abandoned):
    """The operator wants the torque off at once; what is under way ends, and its answers are saved."""


class Back(Exception):  # noqa: N818 - no error: a request of the operator
    """The operator goes back to the previous question."""


class Dialog(Protocol):
    """A front end: terminal, services, or a test."""

    def say(self, text: str) -> None:
        """Shows a text."""

    def ask(self, question: str, meanwhile: Callable[[], None] | None = None) -> str:
        """The answer to a question, stripped; `meanwhile` is called repeatedly while waiting.

        Raises Abandoned if the operator ends the dialog.
        """


def ask(dialog: Dialog, text: str, help_text: str = "", meanwhile: Callable[[], None] | None = None) -> str:
    """The answer to a question; `help_text` is shown on request. Raises Back or Abandoned if the operator says so."""
    while True:
        answer = dialog.ask(text, meanwhile)
        meant = command(answer)
        if meant == BACK:
            raise Back
        if meant == QUIT:
            raise Abandoned
        if meant != HELP:
            return answer
        dialog.say(f"{help_text}\n{GENERAL_HELP}".strip())


def jog(answer: str) -> int | None:
    """The jog [units] in an answer; None if it is not a jog."""
    if answer in ("+", "-", "++", "--"):
        return JOG_UNITS[len(answer) - 1] * (1 if answer[0] == "+" else -1)
    try:
        return int(answer)
    except ValueError:
        return None


def command(answer: str) -> str:
    """BACK, QUIT or HELP if an answer means that, else an empty text."""
    return COMMANDS.get(answer.lower(), "")


def yes(answer: str, usual: bool) -> bool:
    """Whether an answer agrees; an empty one takes the default `usual`."""
    return usual if not answer else answer.lower().startswith("y")


def question(text: str, usual: bool) -> str:
    """A yes-or-no question that shows the default."""
    return f"{text} [{'Y/n' if usual else 'y/N'}] "


def place(column: int, angle: float) -> str:
    """Description of a target angle [rad] of a joint (column 0 coxa, 1 femur, 2 tibia)."""
    degrees = round(math.degrees(angle), 1)
    plain = f"at {degrees:+g} deg"
    return NAMED_ANGLES.get((column, int(degrees)), plain) if degrees == int(degrees) else plain
