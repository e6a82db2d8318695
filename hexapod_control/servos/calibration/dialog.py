"""Dialog of the guided calibration with the operator: questions, answers, jog commands, names of positions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Protocol

from hexapod_control.core.names import quoted

BACK, QUIT, HELP = "b", "q", "?"  # answers to any question
COMMANDS = {"b": BACK, "back": BACK, "q": QUIT, "quit": QUIT, "exit": QUIT, "?": HELP, "help": HELP}
GENERAL_HELP = "To any question: back (b) returns to the question before, quit (q) keeps the answers for another time."
JOG_UNITS = (10, 50)  # [us or ticks] for + and -, for ++ and --
JOG_NUMBER = re.compile(r"([+-]?)\s*([0-9]{1,9})")  # ASCII: int() also takes 1_000 and digits of other scripts
JOG_HELP = (
    f"Jog with + and - ({JOG_UNITS[0]} units), ++ and -- ({JOG_UNITS[1]}), or a number like +7 or -7 (by 7 units) "
    "or 1520 (to 1520); Enter accepts."
)
NAMED_ANGLES = {(0, 0): "straight out", (1, 0): "level", (2, -90): "straight down"}  # column, degrees


class Abandoned(Exception):  # noqa: N818 - no error: a request of the operator
    """The operator has quit the dialog."""


class TorqueStop(Abandoned):
    """The operator wants the torque off at once: the current action ends, its answers are saved."""


class Back(Exception):  # noqa: N818 - no error: a request of the operator
    """The operator goes back to the previous question."""


class Dialog(Protocol):
    """A front end: terminal, services, or a test."""

    def say(self, text: str) -> None:
        """Shows a text."""

    def ask(self, question: str, meanwhile: Callable[[], None] | None = None) -> str:
        """The answer to a question, stripped; `meanwhile` is called repeatedly while waiting.

        Raises Abandoned if the operator quits.
        """


def ask(dialog: Dialog, text: str, help_text: str = "", meanwhile: Callable[[], None] | None = None) -> str:
    """The answer to a question; `help_text` is shown on request. Raises Back or Abandoned as the operator wants."""
    while True:
        answer = dialog.ask(text, meanwhile)
        requested = command(answer)
        if requested == BACK:
            raise Back
        if requested == QUIT:
            raise Abandoned
        if requested != HELP:
            return answer
        dialog.say(f"{help_text}\n{GENERAL_HELP}".strip())


def jog(answer: str, position: float = 0.0) -> float | None:
    """The position [raw] to which an answer jogs a servo from `position`; None if it is not a jog.

    A number with a sign is a distance, one without a sign the new position.
    """
    typed = answer.replace("\u2212", "-")  # the minus of the page and of some keyboards
    if typed in ("+", "-", "++", "--"):
        return position + JOG_UNITS[len(typed) - 1] * (1 if typed[0] == "+" else -1)
    number = JOG_NUMBER.fullmatch(typed)
    if number is None:
        return None
    return position + int(number[1] + number[2]) if number[1] else float(number[2])


def no_jog(answer: str, unit: str) -> str:
    """Why an answer moves nothing; `unit` is that of the servo."""
    return f"{quoted(answer)} is not a whole number of {unit}, without its unit: nothing moves. {JOG_HELP}"


def command(answer: str) -> str:
    """BACK, QUIT or HELP for an answer with that meaning, else an empty text."""
    return COMMANDS.get(answer.lower(), "")


def yes(answer: str, default: bool) -> bool:
    """Whether an answer agrees; an empty one is the default."""
    return default if not answer else answer.lower().startswith("y")


def question(text: str, default: bool) -> str:
    """A yes-or-no question that shows the default."""
    return f"{text} [{'Y/n' if default else 'y/N'}] "


def describe_angle(column: int, angle: float) -> str:
    """Description of a target angle [rad] of a joint (column 0 coxa, 1 femur, 2 tibia)."""
    degrees = round(math.degrees(angle), 1)
    plain = f"at {degrees:+g} deg"
    return NAMED_ANGLES.get((column, int(degrees)), plain) if degrees == int(degrees) else plain
