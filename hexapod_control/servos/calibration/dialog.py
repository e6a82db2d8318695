# SPDX-License-Identifier: Apache-2.0
"""Dialogs with an operator: prompts with their choices, and what every front end does with an answer."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from hexapod_control.config.sentence import Sentence
from hexapod_control.core.names import quoted
from hexapod_control.servos.bus.bus_interface import Bus

JOG_UNITS = (10, 50)  # [us or ticks] for + and -, for ++ and --
JOG_NUMBER = re.compile(r"([+-]?)\s*([0-9]{1,9})")  # ASCII: int() also takes 1_000 and digits of other scripts
JOG_HELP = Sentence("jog_help", small=JOG_UNITS[0], large=JOG_UNITS[1])
GENERAL_HELP = Sentence("general_help")
NAMED_ANGLES = {  # by column and degrees
    (0, 0): Sentence("straight_out"),
    (1, 0): Sentence("level"),
    (2, -90): Sentence("straight_down"),
}


DIRECTIONS = (  # by column: towards larger and smaller angles
    ("counter_clockwise", "clockwise"),
    ("foot_up", "foot_down"),
    ("foot_up_and_out", "foot_down_and_in"),
)


class Abandoned(Exception):  # noqa: N818 - no error: a request of the operator
    """The operator has quit the dialog."""


class TorqueStop(Abandoned):
    """The operator wants the torque off at once: the current action ends, its answers are saved."""


class Back(Exception):  # noqa: N818 - no error: a request of the operator
    """The operator goes back to the previous question."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An answer to choose."""

    words: tuple[str, ...]  # that mean it when typed; a button types the first one
    label: Sentence

    @property
    def word(self) -> str:
        """What its button types."""
        return self.words[0]


YES = Choice(("y", "yes"), Sentence("yes"))
NO = Choice(("n", "no"), Sentence("no"))
DONE = Choice(("",), Sentence("done"))
AGAIN = Choice(("r", "repeat"), Sentence("again"))
SKIP = Choice(("s", "skip"), Sentence("skip"))
THERE = Choice(("",), Sentence("it_is_there"))
JOGS = tuple(
    Choice((word,), Sentence.of(label)) for word, label in (("-", "−"), ("+", "+"), ("--", "− −"), ("++", "+ +"))
)
BACK = Choice(("b", "back"), Sentence("back"))
QUIT = Choice(("q", "quit", "exit"), Sentence("quit"))
HELP = Choice(("?", "help"), Sentence("help"))


class Typed(Enum):
    """What may be typed besides the choices."""

    NOTHING = "nothing"
    TEXT = "text"
    JOINT = "joint"  # leg and joint, such as lf femur
    SIGNED_JOINT = "signed joint"  # with a direction, such as lf femur +


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question to the operator. Front ends show it; nothing reads its text."""

    text: Sentence
    choices: tuple[Choice, ...] = ()  # Enter alone is the first one
    typed: Typed = Typed.NOTHING
    joint: tuple[str, ...] = ()  # leg, or leg and joint, that it is about
    hint: str = ""  # in brackets in a line of text: what Enter and other answers mean

    @property
    def kind(self) -> str:
        """Which question it is."""
        return self.text.kind

    @property
    def line(self) -> str:
        """The question as text, to be followed by the answer."""
        return f"{self.text} [{self.hint}] " if self.hint else f"{self.text} "

    @property
    def picture(self) -> str:
        """The drawing of its joint or leg, one of DRAWINGS; empty if it is about none."""
        if not self.joint:
            return ""
        return "leg" if len(self.joint) == 1 else f"turn {self.joint[1]}"

    def read(self, typed: str) -> Choice | str:
        """The choice that an answer makes, which may also be BACK, QUIT or HELP; else the answer itself."""
        if not typed and self.choices:
            return self.choices[0]
        word = typed.lower()
        return next((each for each in (*self.choices, BACK, QUIT, HELP) if word in each.words), typed)

    def as_json(self) -> dict[str, Any]:
        """The prompt for a front end in another program."""
        return {
            "kind": self.kind,
            "text": self.text.as_json(),
            "choices": [{"answer": each.word, "label": each.label.as_json()} for each in self.choices],
            "typed": self.typed.value,
            "joint": list(self.joint),
            "picture": self.picture,
        }


def yes_or_no(question: Sentence, default: bool, joint: tuple[str, ...] = ()) -> Prompt:
    """A question whose answer is YES or NO; Enter is the default."""
    return Prompt(question, (YES, NO) if default else (NO, YES), joint=joint, hint="Y/n" if default else "y/N")


def agreed(answer: Choice | str) -> bool:
    """Whether an answer to a yes-or-no question agrees; one that cannot be understood does not."""
    return answer is YES or (isinstance(answer, str) and answer.lower().startswith("y"))


class Dialog(ABC):
    """A dialog with the operator. Front ends show its sentences and prompts, and return what is typed or pressed."""

    @abstractmethod
    def say(self, text: Sentence) -> None:
        """Shows a text."""

    @abstractmethod
    def answer_to(self, prompt: Prompt, meanwhile: Callable[[], None] | None = None) -> str:
        """Shows a prompt and returns what is answered, stripped; calls `meanwhile` repeatedly while waiting.

        Raises Abandoned if the operator is gone.
        """

    def introduce(self, text: Sentence, picture: str) -> None:
        """Begins a stage with a text; its drawing, one of DRAWINGS, is that of prompts without one of their own."""
        self.say(text)

    def relaxed(self) -> None:  # noqa: B027 - most front ends have nothing to do
        """Called after TorqueStop, when torque-off was sent or has failed."""

    def ask(
        self, prompt: Prompt, help_text: Sentence | None = None, meanwhile: Callable[[], None] | None = None
    ) -> Choice | str:
        """The answer to a prompt; `help_text` is shown on request. Raises Back or Abandoned as the operator wants."""
        while True:
            answer = prompt.read(self.answer_to(prompt, meanwhile))
            if answer is BACK:
                raise Back
            if answer is QUIT:
                raise Abandoned
            if answer is not HELP:
                return answer
            if help_text is None:
                self.say(GENERAL_HELP)
            else:
                self.say(Sentence("any_help", help=help_text, general=GENERAL_HELP))

    def ask_again(self, prompt: Prompt) -> Choice | str:
        """The answer to a prompt before which there is none. Raises Abandoned if the operator quits."""
        while True:
            try:
                return self.ask(prompt)
            except Back:
                pass


def name(word: str) -> Sentence:
    """The name of a leg or joint in a sentence; translators know the usual ones."""
    return Sentence(word)


def servo_name(bus: Bus, servo: int) -> Sentence:
    """What a servo is called, by what is printed on it or on its board."""
    if bus.features.servo_ids:
        return Sentence("servo_of_id", id=servo)
    board, channel = bus.place(servo)
    if not board:
        return Sentence("servo_of_channel", channel=channel)
    return Sentence("servo_of_board", board=board, channel=channel)


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


def no_jog(answer: str, unit: str) -> Sentence:
    """Why an answer moves nothing; `unit` is that of the servo."""
    return Sentence("no_jog", answer=quoted(answer), unit=unit, help=JOG_HELP)


def aside(said: object) -> Sentence:
    """A sentence or an error, indented below a question."""
    return Sentence("aside", said=said if isinstance(said, Sentence) else Sentence.of(said))


def describe_angle(column: int, angle: float) -> Sentence:
    """Description of a target angle [rad] of a joint (column 0 coxa, 1 femur, 2 tibia)."""
    degrees = round(math.degrees(angle), 1)
    plain = Sentence("at_angle", degrees=degrees)
    return NAMED_ANGLES.get((column, int(degrees)), plain) if degrees == int(degrees) else plain
