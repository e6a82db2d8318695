"""View of an interview for the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hexapod_control.config.robots.draft.questions.drawings import svg_drawing
from hexapod_control.config.robots.draft.questions.interview import CONFIRMED, Interview
from hexapod_control.config.robots.draft.questions.question import Question
from hexapod_control.config.robots.draft.questions.units import AnswerError, DoubtfulAnswerError, Part, split


def question_view(interview: Interview) -> dict[str, Any]:
    """The current question with its drawing and its proposal, and all answers so far; no question after the last."""
    question, (number, count) = interview.question, interview.number
    shown: dict[str, Any] = {"number": number, "count": count, "overview": interview.overview}
    if question is None:
        return shown
    proposal, refusal = "", ""
    try:
        proposal = interview.default()
    except AnswerError as error:
        refusal = str(error)
    return {
        **shown,
        "key": question.key,
        "prompt": question.prompt,
        "choices": question.choices,
        "proposal": proposal.removesuffix(CONFIRMED).strip(),
        "fields": _fields(question.parts, proposal.removesuffix(CONFIRMED)),
        "refusal": refusal,
        "undo": interview.can_undo,
        "drawing": _drawing(interview, question, proposal or None),
    }


def typed_view(interview: Interview, text: str) -> dict[str, Any]:
    """The drawing for an answer being typed, and why it is refused; no drawing for an invalid one."""
    assert interview.question is not None
    view: dict[str, Any] = {"refusal": "", "doubtful": False, "drawing": ""}
    try:
        interview.check(text)
    except DoubtfulAnswerError as error:
        view.update(refusal=str(error), doubtful=True)
    except AnswerError as error:
        return {**view, "refusal": str(error)}
    return {**view, "drawing": _drawing(interview, interview.question, text)}


def _fields(parts: Sequence[Part], text: str) -> list[dict[str, Any]]:
    """The numbers of an answer with their units; empty ones for an answer that has none."""
    found = split(text, parts) if parts and text else [("", "")] * len(parts)
    return [
        {
            "name": part.name,
            "value": number,
            "unit": part.dimension.unit(unit) or part.dimension.usual,
            "units": part.dimension.units,
            "signed": part.row.quantity.lower < 0.0,
        }
        for part, (number, unit) in zip(parts, found, strict=True)
    ]


def _drawing(interview: Interview, question: Question, text: str | None) -> str:
    return svg_drawing(question.drawing, interview.robot(text), question.legs, question.prompt)
