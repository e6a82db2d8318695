"""What is said between the guided calibration and the person at the robot: questions, answers, names of poses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

BACK = "b"  # the answer that goes back
JOG_UNITS = (10, 50)  # [us or ticks] of one sign, of two
JOG_HELP = (
    f"Jog with + and - ({JOG_UNITS[0]} units), ++ and -- ({JOG_UNITS[1]}), or a number like +7; Enter takes the place."
)
USUAL_PLACES = {(0, 0): "straight out", (1, 0): "level", (2, -90): "straight down"}  # column, degrees


class Abandoned(Exception):  # noqa: N818 - the person wants to end
    """No answers come any more."""


class Back(Exception):  # noqa: N818 - the person wants to go back
    """The question before, please."""


class Dialog(Protocol):
    """The person."""

    def say(self, text: str) -> None:
        """Tells something."""

    def ask(self, question: str, meanwhile: Callable[[], None] | None = None) -> str:
        """The answer to a question, without blanks around it; `meanwhile` is called again and again.

        Raises Abandoned if there will be none.
        """


def jog(answer: str) -> int | None:
    """How far [units] an answer wants a servo to go; None if it does not say."""
    if answer in ("+", "-", "++", "--"):
        return JOG_UNITS[len(answer) - 1] * (1 if answer[0] == "+" else -1)
    try:
        return int(answer)
    except ValueError:
        return None


def yes(answer: str, usual: bool) -> bool:
    """Whether an answer agrees; nothing is what is usual."""
    return usual if not answer else answer.lower().startswith("y")


def question(text: str, usual: bool) -> str:
    """A question for yes or no that says what Enter means."""
    return f"{text} [{'Y/n' if usual else 'y/N'}] "


def initials(name: str) -> str:
    """left_front -> lf."""
    return "".join(part[0] for part in name.split("_"))


def place(column: int, angle: float) -> str:
    """Where a joint of a column (0 coxa, 1 femur, 2 tibia) shall be, in words; angle [rad]."""
    degrees = round(math.degrees(angle), 1)
    plain = f"at {degrees:+g} deg"
    return USUAL_PLACES.get((column, int(degrees)), plain) if degrees == int(degrees) else plain
