# SPDX-License-Identifier: Apache-2.0
"""File next to the robot file that stores the answers of an interview."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from hexapod_control.config.bounded_yaml import UnusableFileError, read_text
from hexapod_control.config.file_replacement import replace_file
from hexapod_control.config.robots.draft.questions.units import AnswerError
from hexapod_control.config.sentence import Sentence

SUFFIX = ".answers.json"


def answers_path(robot_file: Path) -> Path:
    """The file with the answers for a robot file."""
    return robot_file.with_suffix(SUFFIX)


def read_answers(path: Path) -> dict[str, str]:
    """The stored answers, as typed; empty without a file. Raises AnswerError for a file with other content."""
    if not path.exists():
        return {}
    try:
        answers = json.loads(read_text(path))
    except (UnusableFileError, ValueError, RecursionError) as error:
        raise AnswerError(Sentence("answers_unreadable", path=str(path), error=str(error))) from None
    if not isinstance(answers, dict) or not all(isinstance(text, str) for text in answers.values()):
        raise AnswerError(Sentence("no_answers", path=str(path)))
    return answers


def write_answers(path: Path, answers: Mapping[str, str]) -> None:
    """Replaces the file atomically. Raises OSError."""
    replace_file(path, json.dumps(dict(answers), indent=1, ensure_ascii=False) + "\n")
