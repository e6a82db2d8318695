# SPDX-License-Identifier: Apache-2.0
"""The interview: order of the questions, the robot that results from the answers, and refusal of answers."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.draft.questions.answered_robot import NOTES, best_height, draft
from hexapod_control.config.robots.draft.questions.layouts import layout
from hexapod_control.config.robots.draft.questions.question import Answers, Question
from hexapod_control.config.robots.draft.questions.question_table import HEIGHT, questions
from hexapod_control.config.robots.draft.questions.units import AnswerError, DoubtfulAnswerError
from hexapod_control.config.robots.draft.robot_draft import RobotDraft
from hexapod_control.config.robots.draft.robot_text import robot_text
from hexapod_control.config.robots.draft.stance_search import draft_robot
from hexapod_control.config.robots.plausibility.check_values import findings, located_errors
from hexapod_control.config.robots.plausibility.finding import CheckedRobot, Finding
from hexapod_control.config.robots.robot_file import RobotFile, from_text
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.robot import Robot

CONFIRMED = "!"  # behind an implausible answer: keeps it; a reason may follow
KEPT = "kept in hexapod new although it is unusual"
DOUBT = "{key}: {value}, {bound} (in m, kg, N m, rad/s), {remedy}"
CHOSEN = "chosen by hexapod new"


def plain(text: str) -> str:
    """An answer without the sign that confirms it, and without the reason behind that."""
    return text.partition(CONFIRMED)[0].strip()


class Interview:
    """Questions and answers in order; answers are stored as typed."""

    def __init__(self, name: str, answers: Mapping[str, str]) -> None:
        """Starts at the first question without a valid answer; at the first question if all are answered."""
        self.name = name
        self.answers = dict(answers)
        self._history: list[tuple[int, dict[str, str]]] = []  # position and answers before each answer
        self.go(sys.maxsize)
        if self.question is None:
            self._position = 0

    @property
    def question(self) -> Question | None:
        """The current question; None after the last one."""
        return next((row for i, row in enumerate(self._all_questions()) if i == self._position), None)

    @property
    def number(self) -> tuple[int, int]:
        """Number of the current question, from 1, and the number of questions."""
        return self._position + 1, sum(1 for _ in self._all_questions())

    def default(self) -> str:
        """The answer for an empty text: the stored one, or a usual value. Raises AnswerError if none fits."""
        question = self._current()
        given = self.answers.get(question.key)
        if given is not None and self._usable(given):
            return given
        return question.default(self._answered(self._position))

    def robot(self, current: str | None = None) -> Robot:
        """The robot of the answers so far, completed by usual values; `current` answers the current question."""
        complete = self._complete(None if current is None else plain(current))
        complete.numbers.pop(HEIGHT.key, None)  # drawings need no stance
        return draft_robot(draft(self.name, complete))

    def answer(self, text: str) -> None:
        """Accepts an answer and moves on to the next question. Raises AnswerError for an impossible one."""
        text = text.strip() or self.default()
        self.check(text)
        self._history.append((self._position, dict(self.answers)))
        self.answers[self._current().key] = text
        self._position += 1

    def check(self, text: str) -> None:
        """Raises AnswerError for an answer to the current question that is out of bounds, or DoubtfulAnswerError."""
        question = self._current()
        answered = self._answered(self._position)
        answered.add(question, plain(text))
        question.rule(answered)
        complete = self._complete(plain(text))
        if question.key == "limits":
            best_height(complete)
        drafted = draft(self.name, complete)
        _refuse_inconsistent(question, drafted)
        if CONFIRMED not in text:
            self._refuse_implausible(question, drafted, layout(complete).mirrored)

    def back(self) -> None:
        """Returns to the previous question."""
        self._position = max(0, self._position - 1)

    @property
    def can_undo(self) -> bool:
        """True if an answer was given since the start."""
        return bool(self._history)

    def undo(self) -> None:
        """Withdraws the last answer, if there is one."""
        if self._history:
            self._position, self.answers = self._history.pop()

    def go(self, number: int) -> None:
        """Goes to a question by its number, at most to the first one without a valid answer."""
        self._position = 0
        while self._position + 1 < number and self.question is not None and self._answered_already(self.question):
            self._position += 1

    @property
    def overview(self) -> list[tuple[Question, str]]:
        """All questions with their answers; empty if not answered."""
        return [(question, self.answers.get(question.key, "")) for question in self._all_questions()]

    def result(self) -> RobotDraft:
        """The complete robot."""
        return draft(self.name, self._answered(self.number[1]))

    def text(self) -> str:
        """The robot file of the complete robot; implausible values that were kept are confirmed in it."""
        drafted = self.result()
        return robot_text(drafted, replace(NOTES, confirmed=dict(self._confirmed(drafted))))

    def _confirmed(self, drafted: RobotDraft) -> Iterator[tuple[str, str]]:
        """Keys of implausible values with the reasons why they are right; of those that no question asks for, too."""
        file = _file(robot_text(drafted, NOTES))
        if isinstance(file, RobotFileError):
            raise file
        asked = tuple(self._all_questions())
        for finding in findings(CheckedRobot(file.robot, file.models)):
            reason = self._reason(asked, finding)
            if reason or not any(question.concerns(finding) for question in asked):
                yield from ((error.key, reason or CHOSEN) for error in located_errors(file.document, [finding]))

    def _reason(self, questions: Iterable[Question], finding: Finding) -> str:
        """Why an implausible value is right, by the answers to these questions; empty if none of them was kept."""
        answers = (self.answers.get(question.key, "") for question in questions if question.concerns(finding))
        kept = next((text for text in answers if CONFIRMED in text), None)
        return "" if kept is None else kept.partition(CONFIRMED)[2].strip() or KEPT

    def _refuse_implausible(self, question: Question, drafted: RobotDraft, mirrored: bool) -> None:
        robot = draft_robot(drafted)
        models = (drafted.servo.model,) * len(robot.legs)
        before = [each for i, each in enumerate(self._all_questions()) if i < self._position]
        for finding in findings(CheckedRobot(robot, models), mirrored):
            if question.concerns(finding) and not self._reason(before, finding):
                values = {part: getattr(finding, part) for part in ("key", "value", "bound", "remedy")}
                said = Sentence(f"doubt_{finding.rule}", DOUBT, **values)
                raise DoubtfulAnswerError(said)

    def _current(self) -> Question:
        question = self.question
        assert question is not None
        return question

    def _answered_already(self, question: Question) -> bool:
        text = self.answers.get(question.key)
        return text is not None and self._usable(text)

    def _usable(self, text: str) -> bool:
        try:
            self.check(text)
        except AnswerError:
            return False
        return True

    def _all_questions(self) -> Iterator[Question]:
        """All questions; where answers are missing, later questions are determined by usual values."""
        return self._questions_with_answers(Answers(), None)

    def _questions_with_answers(self, answered: Answers, current: str | None) -> Iterator[Question]:
        """Yields the questions and reads their answers into `answered`; `current` answers the current question."""
        for i, question in enumerate(questions(answered)):
            yield question
            text = self.answers.get(question.key) if current is None or i != self._position else current
            if question is not HEIGHT or text is not None:
                _read(answered, question, text)

    def _answered(self, count: int) -> Answers:
        """The first `count` answers."""
        answered = Answers()
        for i, _ in enumerate(self._questions_with_answers(answered, None)):
            if i == count:
                break
        return answered

    def _complete(self, current: str | None) -> Answers:
        """All answers, completed by usual values; the height only when its question is reached."""
        answered = Answers()
        for _ in self._questions_with_answers(answered, current):
            pass
        if self.question is not HEIGHT:
            answered.numbers.pop(HEIGHT.key, None)  # asked again when values that it depends on have changed
        return answered


def _read(answered: Answers, question: Question, text: str | None) -> None:
    """Reads an answer; the usual value if the answer is missing or invalid."""
    try:
        answered.add(question, question.default(answered) if text is None else plain(text))
        question.rule(answered)
    except AnswerError:
        if text is None:
            raise
        answered.add(question, question.default(answered))


def _refuse_inconsistent(question: Question, drafted: RobotDraft) -> None:
    fault = _file(robot_text(drafted, NOTES))
    if isinstance(fault, RobotFile):
        return
    text = f"{fault.key}: {fault.text}"
    leg_keys = [f"legs.{leg}.{name}" for leg in question.legs for name in question.findings]
    if any(key in text for key in leg_keys) if leg_keys else fault.key.endswith(question.findings):
        raise AnswerError(Sentence.of(text))


@lru_cache(maxsize=16)  # a proposed answer is checked again when it is given, and answers often repeat usual values
def _file(text: str) -> RobotFile | RobotFileError:
    """The robot file with this text, or why it is refused."""
    try:
        return from_text(Path("answers"), text)
    except RobotFileError as error:
        return error
