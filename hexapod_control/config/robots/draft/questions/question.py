"""A question, and the answers to all before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hexapod_control.config.robots.draft.questions.units import AnswerError, Part, numbers
from hexapod_control.config.robots.servo_table import nearest_models
from hexapod_control.core.names import quoted

OTHER_SERVO = "other"
YES, NO = "yes", "no"


@dataclass(frozen=True, slots=True)
class Answered:
    """Answers as values in the units of a robot file, by key of the question."""

    words: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, tuple[float, ...]] = field(default_factory=dict)

    def add(self, question: Question, text: str) -> None:
        """Reads an answer. Raises AnswerError."""
        if question.parts:
            self.numbers[question.key] = numbers(text, question.parts)
        else:
            self.words[question.key] = (question.word or one_of)(text, question.choices)


@dataclass(frozen=True, slots=True)
class Question:
    """A row: what is asked, with which drawing, and what is proposed."""

    key: str
    prompt: str
    drawing: str  # one of DRAWINGS in drawings.py
    default: Callable[[Answered], str]
    parts: tuple[Part, ...] = ()  # numbers of the answer; without any it is a word
    choices: tuple[str, ...] = ()  # the words to choose from
    word: Callable[[str, Sequence[str]], str] | None = None  # reads one of them, if not as `one_of` does
    rule: Callable[[Answered], None] = lambda _: None  # raises AnswerError for an answer within its bounds
    findings: tuple[str, ...] = ()  # keys of a robot file by which rules name this answer
    legs: tuple[str, ...] = ()  # that the answer places; empty for an answer about all

    @property
    def unit(self) -> str:
        """What the answer consists of."""
        return ", ".join(part.label for part in self.parts)


def one_of(text: str, choices: Sequence[str]) -> str:
    """Reads one of some words, or its beginning. Raises AnswerError."""
    typed = " ".join(text.lower().split())
    found = [word for word in choices if word.startswith(typed)] if typed else []
    if not found:
        raise AnswerError(f"the answer: is {quoted(text)}, must be one of: {', '.join(choices)}")
    return found[0]


def servo_model(text: str, choices: Sequence[str]) -> str:
    """Reads a model of the servo table, or the word for all others. Raises AnswerError."""
    known = {model.lower(): model for model in choices}
    typed = text.strip()
    if typed.lower() not in known:
        near = ", ".join(nearest_models(typed)) or "none is similar"
        raise AnswerError(
            f"servo: is {quoted(typed)}, which is not in the table, nearest: {near}; hexapod servos models lists all, "
            f"and {OTHER_SERVO} asks for speed and torque of any servo"
        )
    return known[typed.lower()]
