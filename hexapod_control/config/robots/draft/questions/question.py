# SPDX-License-Identifier: Apache-2.0
"""A question of the interview, and the answers to the earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hexapod_control.config.robots.draft.questions.units import AnswerError, Part, numbers
from hexapod_control.config.robots.plausibility.finding import Finding
from hexapod_control.config.robots.servo_table import nearest_models
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.names import quoted

OTHER_SERVO = "other"
YES = "yes"
NO = "no"
Words = tuple[tuple[str, str], ...]
Numbers = tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers as values in the units of a robot file, by key of the question."""

    words: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, tuple[float, ...]] = field(default_factory=dict)

    def items(self) -> tuple[Words, Numbers]:
        """All answers as they are now."""
        return tuple(self.words.items()), tuple(self.numbers.items())

    def add(self, question: Question, text: str) -> None:
        """Reads an answer. Raises AnswerError."""
        if question.parts:
            self.numbers[question.key] = numbers(text, question.parts)
        else:
            self.words[question.key] = (question.word or one_of)(text, question.choices)


@dataclass(frozen=True, slots=True)
class Question:
    """One row of the table: prompt, drawing, parts of the answer, and the proposed answer."""

    key: str
    prompt: Sentence
    drawing: str  # one of DRAWINGS in drawings.py
    default: Callable[[Answers], str]
    parts: tuple[Part, ...] = ()  # numbers of the answer; empty: the answer is a word
    choices: tuple[str, ...] = ()  # words to choose from
    word: Callable[[str, Sequence[str]], str] | None = None  # reads the word; None: `one_of`
    rule: Callable[[Answers], None] = lambda _: None  # raises AnswerError for contradictions
    findings: tuple[str, ...] = ()  # keys of the robot file with which plausibility rules refer to this answer
    legs: tuple[str, ...] = ()  # positioned by the answer; empty: it applies to all

    def concerns(self, finding: Finding) -> bool:
        """Whether an implausible value is one of this answer."""
        return finding.key in self.findings and (not self.legs or finding.leg in ("", *self.legs))

    @property
    def label(self) -> Sentence:
        """Its name in a list of all questions."""
        return (
            Sentence("hip_of", leg=Sentence(self.legs[0]))
            if self.legs
            else Sentence(f"label_{self.key.replace(' ', '_')}")
        )

    @property
    def unit(self) -> str:
        """Parts of the answer with their units."""
        return ", ".join(part.label for part in self.parts)


def one_of(text: str, choices: Sequence[str]) -> str:
    """Reads one of the choices, or a prefix of it. Raises AnswerError."""
    typed = " ".join(text.lower().split())
    found = [word for word in choices if word.startswith(typed)] if typed else []
    if not found:
        raise AnswerError(Sentence("no_such_choice", answer=quoted(text), choices=", ".join(choices)))
    return found[0]


def servo_model(text: str, choices: Sequence[str]) -> str:
    """Reads a model of the servo table, or the word for all others. Raises AnswerError."""
    known = {model.lower(): model for model in choices}
    typed = text.strip()
    if typed.lower() not in known:
        near = ", ".join(nearest_models(typed)) or Sentence("none_similar")
        raise AnswerError(Sentence("unlisted_servo", answer=quoted(typed), near=near, other=OTHER_SERVO))
    return known[typed.lower()]
