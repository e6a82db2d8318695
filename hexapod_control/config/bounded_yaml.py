# SPDX-License-Identifier: Apache-2.0
"""Reads untrusted YAML from files and messages: regular files of at most 1 MB, with bounded nesting."""

from __future__ import annotations

import io
import math
import os
import stat
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.scanner import RoundTripScanner, Scanner

from hexapod_control.config.sentence import Sentence

MAX_FILE_BYTES = 1_000_000
MAX_NESTING = 100  # levels of sections and lists
MAX_VALUES = 50_000  # in one file, with its aliases expanded
PARSER_ERRORS = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, AssertionError, RecursionError)
"""Exceptions of ruamel for invalid tags, numbers and escapes, besides YAMLError."""


class UnusableFileError(ValueError):
    """A file that cannot be read; the text is the reason, without the path."""


class UnusableYamlError(ValueError):
    """A text that is not valid YAML, or is too deeply nested."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        """`reason` without the place; `line` counts from 1, None if unknown."""
        super().__init__(Sentence("file_yaml", reason=reason))
        self.line = line


class _BoundedComposer(Composer):
    """Composes a document node by node and stops at the first node that is nested too deeply."""

    nesting = 0

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader)
        self.warn_double_anchors = False  # valid YAML; a warning of the parser does not name the file

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise _too_deep(self.parser.peek_event().start_mark)
        node = super().compose_node(parent, index)
        self.nesting -= 1
        return node


class _BoundedScanner(Scanner):
    """Scans without comments and stops at the first bracket or brace that is nested too deeply, far ahead of nodes."""

    def fetch_flow_collection_start(self, *token: Any, **options: Any) -> None:
        if self.flow_level >= MAX_NESTING:
            raise _too_deep(self.reader.get_mark())
        super().fetch_flow_collection_start(*token, **options)


class _CommentScanner(_BoundedScanner, RoundTripScanner):
    """Scans with comments."""


def _too_deep(mark: Any) -> MarkedYAMLError:
    return MarkedYAMLError(problem=f"more than {MAX_NESTING} sections and lists within each other", problem_mark=mark)


def read_text(path: Path, newline: str | None = None, max_bytes: int = MAX_FILE_BYTES) -> str:
    """The text of a regular file of at most `max_bytes` bytes, in UTF-8. Raises UnusableFileError.

    Pipes and devices are refused without waiting for them. `newline` as in `open`.
    """
    try:
        descriptor = os.open(path.expanduser(), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except FileNotFoundError:
        raise UnusableFileError("there is no such file") from None
    except OSError as error:
        raise UnusableFileError(f"cannot be read: {error.strerror}") from error
    except (ValueError, RuntimeError) as error:  # an invalid path, or ~user of an unknown user
        raise UnusableFileError(f"cannot be read: {error}") from error
    try:
        kind = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(kind):
            what = "a folder" if stat.S_ISDIR(kind) else "a pipe or a device"
            raise UnusableFileError(f"cannot be read: it is {what}, give the path of a text file")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise UnusableFileError(f"cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)
    if len(data) > max_bytes:
        raise UnusableFileError(f"is larger than {max_bytes / 1e6:g} MB: is it the right file?")
    try:
        return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline=newline).read()
    except UnicodeDecodeError as error:
        raise UnusableFileError("is not text in UTF-8: is it the right file?") from error


def parser(kind: str = "rt", comments: bool = True) -> YAML:
    """A parser with bounded nesting: `rt` keeps notation and comments, unless they are left out; `safe` neither.

    Without comments parsing takes four fifths of the time.
    """
    yaml = YAML(typ=kind, pure=True)
    yaml.Scanner = _CommentScanner if kind == "rt" and comments else _BoundedScanner
    yaml.Composer = _BoundedComposer
    yaml.preserve_quotes = True
    return yaml


def parse(text: str, yaml: YAML) -> Any:
    """Parses a text of bounded size into the document of ruamel. Raises UnusableYamlError."""
    try:
        document = yaml.load(text)
        size = _count_values(document, {})
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise UnusableYamlError(str(error.problem or error.context), mark.line + 1 if mark else None) from error
    except YAMLError as error:
        raise UnusableYamlError(str(error).splitlines()[0]) from error
    except PARSER_ERRORS as error:
        raise UnusableYamlError(str(error)) from error
    if not size <= MAX_VALUES:
        raise UnusableYamlError(f"more than {MAX_VALUES} values: does an alias name itself?")
    return document


def _count_values(node: object, counts: dict[int, float]) -> float:
    """Number of values in a tree, with aliases expanded; infinite if a node contains itself. `counts` is by node id."""
    if not isinstance(node, (dict, list)):
        return 1.0
    if id(node) not in counts:
        counts[id(node)] = math.inf
        children = node.values() if isinstance(node, dict) else node
        counts[id(node)] = 1.0 + sum(_count_values(child, counts) for child in children)
    return counts[id(node)]
