# SPDX-License-Identifier: Apache-2.0
"""`hexapod new --page`: the interview on a page in the browser."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hexapod_control.cli.robot.start_page import StartedProgram
from hexapod_control.config.errors import FileError
from hexapod_control.config.robots.draft.questions.answers_file import answers_path, write_answers
from hexapod_control.config.robots.draft.questions.drawings import svg_drawing
from hexapod_control.config.robots.draft.questions.interview import Interview, plain
from hexapod_control.config.robots.draft.questions.question import Question
from hexapod_control.config.robots.draft.questions.units import AnswerError, DoubtfulAnswerError, Part, split
from hexapod_control.config.sentence import TEXTS, Sentence
from hexapod_control.web.dialog_pages.request_server import PORT, Reply, RequestServer

HINT = "Ctrl-C ends it; answers are saved after each question."
NEXT = {"sim": ("sim", "--stay", "--robot"), "first": ("first", "--page")}  # commands, which the robot file follows
POLL_S = 0.1
NO_VERDICT = 2  # exit code of `hexapod check` for an unusable file


class InterviewPage:
    """Replies to the requests of the page; it only writes the files given on the command line."""

    def __init__(self, interview: Interview, path: Path, write: Callable[[], Path], command: str, values: bool) -> None:
        """`write` writes the robot file and returns the picture; `command` is the next command for the user.

        With `values`, only the values are checked.
        """
        self._interview = interview
        self._path = path
        self._write = write
        self._command = command
        self._check = ["check", str(path.absolute()), "--json", *(["--values"] if values else [])]
        self._picture = ""
        self._lan = False
        self._programs: dict[str, StartedProgram] = {}  # that go on with the robot, by their name
        self.verdict: int | None = None  # exit code of `hexapod check`

    def serve(self, lan: bool) -> None:
        """Runs until Ctrl-C. Raises KeyboardInterrupt, or OSError if no port can be opened."""
        self._lan = lan
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        try:
            await RequestServer(self.reply, "new", said=TEXTS, lan=self._lan).serve(PORT, HINT)
        finally:
            for program in self._programs.values():
                await program.end()

    async def reply(self, request: Mapping[str, object]) -> Reply:
        """Replies to a request. Raises ValueError for one that no page sends."""
        act = request.get("act")
        text = request.get("text", "")
        if act not in ("show", "type", "answer", "back", "undo", "go", "check", *NEXT) or not isinstance(text, str):
            raise ValueError("the request: its act is not known, or its text is none")
        if act in NEXT:
            return await self._gone_on(str(act))
        if act == "check":
            return await self._checked()
        if act in ("type", "answer") and (self._interview.question is None or request.get("key") != self._key):
            return self._view()  # another window has moved on
        if act == "type":
            return typed_view(self._interview, text)
        return self._moved(act, text, request.get("number"))

    @property
    def _key(self) -> str:
        return self._interview.question.key if self._interview.question else ""

    def _moved(self, act: object, text: str, number: object) -> Reply:
        """Moves to another question, and stores changed answers."""
        if act == "answer":
            try:
                self._interview.answer(text)
            except AnswerError:
                return typed_view(self._interview, text)
        elif act == "back":
            self._interview.back()
        elif act == "undo":
            self._interview.undo()
        elif act == "go" and isinstance(number, int):
            self._interview.go(number)
        if act in ("answer", "undo"):
            write_answers(answers_path(self._path), self._interview.answers)
        if act != "show" and self._interview.question is None:
            try:
                self._picture = self._write().read_text(encoding="utf-8")
            except FileError as error:
                return {"refusal": error.said.as_json()}
        return self._view()

    def _view(self) -> Reply:
        view = question_view(self._interview)
        if self._interview.question is None:
            view.update(file=str(self._path), picture=self._picture, command=self._command)
        return {**view, "robot": self._interview.name}

    async def _gone_on(self, name: str) -> Reply:
        """Starts a program with the robot, which ends with this one. Returns the address of its page."""
        if self._interview.question is not None:
            raise ValueError("the request: there is no robot file yet")
        program = self._programs.get(name)
        if program is None or program.code is not None:
            for other in self._programs.values():
                await other.end()  # the robot and its ports are for one program
            lan = ["--lan"] if self._lan else []
            program = StartedProgram([*NEXT[name], str(self._path.absolute()), *lan], lambda: None)
            self._programs = {name: program}
            await program.start()
        while not program.url and program.code is None:
            await asyncio.sleep(POLL_S)
        return {"url": program.url, "error": "" if program.url else " ".join(program.lines)}

    async def _checked(self) -> Reply:
        """The result of `hexapod check`, in its own process, as it takes up to 20 s."""
        command = (sys.executable, "-m", "hexapod_control.cli.main", *self._check)
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
        try:
            output, errors = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
        self.verdict = process.returncode
        if process.returncode == NO_VERDICT or not output:
            return {"remarks": [], "error": errors.decode(errors="replace").strip()}
        return {"remarks": json.loads(output)["remarks"], "error": ""}


def question_view(interview: Interview) -> dict[str, Any]:
    """The current question with its drawing and its proposal, and all answers so far; no question after the last."""
    question, (number, count) = interview.question, interview.number
    overview = [{"label": each.label.as_json(), "answer": text} for each, text in interview.overview]
    shown: dict[str, Any] = {"number": number, "count": count, "overview": overview}
    if question is None:
        return shown
    proposal = ""
    refusal = None
    try:
        proposal = interview.default()
    except AnswerError as error:
        refusal = Sentence.of(error).as_json()
    return {
        **shown,
        "key": question.key,
        "label": question.label.as_json(),
        "prompt": question.prompt.as_json(),
        "choices": question.choices,
        "proposal": plain(proposal),
        "fields": _fields(question.parts, plain(proposal)),
        "refusal": refusal,
        "undo": interview.can_undo,
        "drawing": _drawing(interview, question, proposal or None),
    }


def typed_view(interview: Interview, text: str) -> dict[str, Any]:
    """The drawing for an answer being typed, and why it is refused; no drawing for an invalid one."""
    assert interview.question is not None
    view: dict[str, Any] = {"refusal": None, "doubtful": False, "drawing": ""}
    try:
        interview.check(text)
    except DoubtfulAnswerError as error:
        view.update(refusal=Sentence.of(error).as_json(), doubtful=True)
    except AnswerError as error:
        return {**view, "refusal": Sentence.of(error).as_json()}
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
    return svg_drawing(question.drawing, interview.robot(text), question.legs, str(question.prompt))
