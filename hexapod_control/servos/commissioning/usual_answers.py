"""The usual answers to a question, for front ends with buttons. Every question also accepts typed text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hexapod_control.servos.commissioning.commissioning_session import BEGIN


@dataclass(frozen=True, slots=True)
class UsualAnswer:
    """A button."""

    answer: str  # as it would be typed; empty is Enter
    label: str


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The answers that a question accepts."""

    usual: tuple[UsualAnswer, ...]  # the most usual one first
    joint: bool = False  # also a leg and a joint
    sign: bool = False  # with a direction
    typed: bool = False  # often another text, which is typed


def _usual(*pairs: tuple[str, str]) -> tuple[UsualAnswer, ...]:
    return tuple(UsualAnswer(answer, label) for answer, label in pairs)


YES, NO, REPEAT, SKIP = ("y", "Yes"), ("n", "No"), ("r", "Again"), ("s", "Skip")
JOGS = (("", "It is there"), ("-", "−"), ("+", "+"), ("--", "− −"), ("++", "+ +"))
FORMS = (
    (rf"^{BEGIN.strip()}$", AnswerForm(_usual(("", "Begin"), ("skip", "Skip this stage")))),
    (r"\[Y/n, r or what turned", AnswerForm(_usual(YES, NO, REPEAT), joint=True, sign=True)),
    (r"\[Y/n\]", AnswerForm(_usual(YES, NO))),
    (r"\[y/N\]", AnswerForm(_usual(NO, YES))),
    (r"^servo \d+: which joint", AnswerForm(_usual(REPEAT, SKIP), joint=True, sign=True)),
    (r"look like the picture\?", AnswerForm(_usual(("", "All do")), joint=True)),
    (r"it gets id \d+\.|by about 20 deg, then Enter", AnswerForm(_usual(("", "Done"), SKIP))),
    (r"\(-?\d+ \w+\): ?$", AnswerForm(_usual(*JOGS), typed=True)),
    (r"then Enter saves again", AnswerForm(_usual(("", "Save again")))),
    (r"\bEnter\b", AnswerForm(_usual(("", "Done")))),
)
FREE = AnswerForm((), typed=True)
PROPOSAL = r"(?:first|Which port: .*)\? \[(.+)\] ?$"
PORTS = r"^Which port: (.+)\?"


def answer_form(question: str) -> AnswerForm:
    """The first row of FORMS that matches a question, preceded by the answer that the question proposes."""
    ports = re.search(PORTS, question)
    if ports:
        return AnswerForm(_usual(*((port, port) for port in ports[1].split(", "))))
    form = next((form for pattern, form in FORMS if re.search(pattern, question)), FREE)
    proposal = re.search(PROPOSAL, question)
    if proposal and not proposal[1].startswith("Y/n"):
        return AnswerForm((*_usual((proposal[1], proposal[1])), *form.usual), form.joint, form.sign)
    return form
