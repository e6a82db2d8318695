# SPDX-License-Identifier: Apache-2.0
"""`hexapod new`: asks for the dimensions of a robot and writes its robot file."""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path

from hexapod_control.cli.bounded_options import InputError, output_file
from hexapod_control.cli.robot_files import check
from hexapod_control.config.errors import FAILED, INTERRUPTED
from hexapod_control.config.robots.draft.questions.answers_file import answers_path, read_answers, write_answers
from hexapod_control.config.robots.draft.questions.canvas import WIDTH
from hexapod_control.config.robots.draft.questions.drawings import drawing
from hexapod_control.config.robots.draft.questions.interview import CONFIRMED, Interview
from hexapod_control.config.robots.draft.questions.units import AnswerError, DoubtfulAnswerError
from hexapod_control.config.robots.draft.robot_draft import robot_name
from hexapod_control.config.robots.draft.views import views_svg
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.sentence import Sentence

BACK = "back"
UNDO = "undo"
QUIT = "quit"
MAX_LISTED_CHOICES = 9  # more are not listed
SUFFIXES = (".yaml", ".yml")


class InterviewAbandonedError(Exception):
    """The user ends the interview and may resume it later."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument(
        "file",
        nargs="?",
        type=output_file("a robot file", SUFFIXES),
        default="my_hexapod.yaml",
        metavar="FILE",
        help="robot file to write (default: %(default)s); the answers are saved beside it, in FILE.answers.json",
    )
    parser.add_argument("--force", action="store_true", help="replace a robot file that exists, without asking")
    parser.add_argument(
        "--values", action="store_true", help="only look for implausible values at the end, which takes a second"
    )
    parser.add_argument(
        "--page", action="store_true", help="ask on a page in the browser, with a drawing that follows what is typed"
    )
    parser.add_argument("--lan", action="store_true", help="open that page to the network, with a QR code for phones")


def run(args: argparse.Namespace) -> int:
    """Asks, writes and checks. Returns the exit code of `hexapod check`, 1 if ended early, 130 after Ctrl-C.

    Raises InputError for a refused answer without a terminal to ask again.
    """
    answers_file = answers_path(args.file)
    try:
        interview = Interview(robot_name(args.file.stem), read_answers(answers_file))
        _confirm_replacing(args.file, args.force)
        if args.page:
            return _ask_on_page(interview, args)
        _introduce(interview, answers_file)
        while interview.question is not None:
            _ask(interview)
            write_answers(answers_file, interview.answers)
        return _finish(interview, args)
    except AnswerError as error:
        raise InputError(str(error)) from None
    except (InterviewAbandonedError, KeyboardInterrupt) as end:
        interrupted = isinstance(end, KeyboardInterrupt)
        answers = f"; the answers are in {answers_file}" if answers_file.exists() else ""
        print(f"\nnot finished{answers}: run the same command again to continue", flush=True)
        return INTERRUPTED if interrupted else FAILED


def _ask_on_page(interview: Interview, args: argparse.Namespace) -> int:
    from hexapod_control.cli.robot_files.new_page import InterviewPage

    page = InterviewPage(
        interview, args.file, lambda: _write(interview, args.file), _walk_command(args.file), args.values
    )
    try:
        page.serve(args.lan)
    except KeyboardInterrupt:
        if page.verdict is None:
            raise
    return page.verdict or 0


def _introduce(interview: Interview, answers_file: Path) -> None:
    number, count = interview.number
    start = f"It goes on at question {number}: the answers before are in {answers_file}." if number > 1 else ""
    _say(
        f"{count} questions lead to a robot file. Enter takes the value in brackets; a unit may follow a number, e.g. "
        f"8.5 cm; {BACK} returns to the question before, {UNDO} takes the last answer back, {QUIT} keeps the answers "
        f"for another time. {start}"
    )


def _confirm_replacing(path: Path, force: bool) -> None:
    if not path.exists() or force:
        return
    if _line(f"{path} exists: replace it at the end? yes or no [no]: ").lower() not in ("y", "yes"):
        raise AnswerError(Sentence("file_exists", path=str(path)))


def _ask(interview: Interview) -> None:
    """Asks the current question until an answer fits."""
    question = interview.question
    assert question is not None
    number, count = interview.number
    print()
    _say(f"{number}/{count}  {question.prompt}.")
    print("", *drawing(question.drawing, interview.robot(), question.legs), "", sep="\n")
    if question.parts:
        _say(f"{question.unit}")
    elif len(question.choices) <= MAX_LISTED_CHOICES:
        _say(f"one of: {', '.join(question.choices)}")
    while True:
        try:
            text = _line(f"[{_proposal(interview)}]: ")
            if text.lower() == BACK:
                return interview.back()
            if text.lower() == UNDO:
                return interview.undo()
            return interview.answer(text)
        except AnswerError as error:
            if not sys.stdin.isatty():
                said = Sentence("refused_at", number=number, key=question.key, reason=Sentence.of(error))
                raise AnswerError(said) from None
            kept = isinstance(error, DoubtfulAnswerError)
            keep = f"; {CONFIRMED} behind the answer keeps it, and a reason may follow" if kept else ""
            _say(f"Not possible: {error}{keep}.")


def _proposal(interview: Interview) -> str:
    """The proposed answer for Enter; empty if no answer fits the earlier ones."""
    try:
        return interview.default()
    except AnswerError:
        return ""


def _line(prompt: str) -> str:
    """Reads a line. Raises InterviewAbandonedError for the quit word and at the end of the input."""
    try:
        text = input(prompt).strip()
    except EOFError:
        raise InterviewAbandonedError from None
    except UnicodeDecodeError:
        raise AnswerError(Sentence("no_text")) from None
    if text.lower() == QUIT:
        raise InterviewAbandonedError
    return text


def _say(text: str) -> None:
    print(textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False), flush=True)


def _finish(interview: Interview, args: argparse.Namespace) -> int:
    """Writes robot file and picture, prints the result of the check and the next command."""
    _write(interview, args.file)
    parser = argparse.ArgumentParser()
    check.add_arguments(parser)
    verdict = check.run(parser.parse_args([str(args.file.absolute()), *(["--values"] if args.values else [])]))
    print(f"\nNext, to see it walk in physics:\n  {_walk_command(args.file)}")
    return verdict


def _write(interview: Interview, path: Path) -> Path:
    """Writes robot file and picture. Returns the picture."""
    picture = path.with_suffix(".svg")
    path.write_text(interview.text(), encoding="utf-8")
    picture.write_text(views_svg(load(path.absolute()).robot), encoding="utf-8")
    print(f"\nrobot file: {path}\npicture:    {picture}\n", flush=True)
    return picture


def _walk_command(path: Path) -> str:
    return f"hexapod sim --robot {path.absolute()} --demo"
