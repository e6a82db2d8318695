# SPDX-License-Identifier: Apache-2.0
"""A YAML file as a tree of entries with key and line, for error messages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from hexapod_control.config.bounded_yaml import (
    MAX_NESTING,
    UnusableFileError,
    UnusableYamlError,
    parse,
    parser,
    read_text,
)
from hexapod_control.config.errors import FileError, RobotFileError
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.refusal import Statement


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """One key of the file and its value; the value of a section is a dict of its entries in file order."""

    path: Path
    key: str  # dotted, from the top of the file; "" is the file itself
    line: int  # from 1
    value: object
    fault: type[FileError] = RobotFileError  # type of the errors for files of this kind

    @property
    def children(self) -> dict[str, DocumentEntry]:
        """Entries of a section; empty for anything else."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def is_section(self) -> bool:
        """True for a mapping."""
        return isinstance(self.value, dict)

    @property
    def items(self) -> tuple[DocumentEntry, ...]:
        """Entries of a list, created on each call; empty for anything else."""
        node = self.value
        if not isinstance(node, CommentedSeq):
            return ()
        positions = node.lc.data or {}  # (line, column) by index, from 0
        entries = []
        for i, child in enumerate(node):
            line = positions[i][0] + 1 if i in positions else self.line
            entries.append(_entry(self, f"{self.key}[{i}]", line, child))
        return tuple(entries)

    def error(self, *parts: str | Statement, below: str = "") -> FileError:
        """An error to raise, at this entry or at a missing key `below` it."""
        return self.fault(self.path, self.line, join(self.key, below), *parts)


def join(key: str, below: str) -> str:
    """Dotted key of `below` within `key`."""
    return ".".join(part for part in (key, below) if part)


def read(path: Path, fault: type[FileError] = RobotFileError) -> DocumentEntry:
    """Reads a file as a section. Raises `fault` if it is unreadable, not YAML or not a mapping."""
    try:
        text = read_text(path)
    except UnusableFileError as error:
        raise fault(path, None, "", str(error)) from error
    return from_text(path, text, fault)


def from_text(path: Path, text: str, fault: type[FileError] = RobotFileError) -> DocumentEntry:
    """Parses the text of a file as a section; `path` is used in messages. Raises `fault` like `read`."""
    try:
        document = _parsed(text)
    except UnusableYamlError as error:
        raise fault(path, error.line, "", Sentence.of(error)) from error
    if document is None:
        raise fault(path, None, "", Sentence("file_empty"), fault.example)
    root = _entry(DocumentEntry(path, "", 1, None, fault), "", 1, document)
    if not root.is_section:
        raise root.error(Sentence("file_mapping"), fault.example)
    return root


@lru_cache(maxsize=32)  # parsing takes most of the time of loading a file, and some are read several times
def _parsed(text: str) -> Any:
    try:
        return parse(text, parser(comments=False))
    except UnusableYamlError:
        return parse(text, parser())  # some of its messages are clearer, since it looks further ahead


def _entry(above: DocumentEntry, key: str, line: int, node: object, depth: int = 0) -> DocumentEntry:
    if not isinstance(node, CommentedMap):
        return DocumentEntry(above.path, key, line, node, above.fault)
    if depth > MAX_NESTING:  # aliases can nest sections more deeply than the text does
        raise above.error(Sentence("file_nested", count=MAX_NESTING), Sentence("file_aliases"))
    children: dict[str, DocumentEntry] = {}
    entry = DocumentEntry(above.path, key, line, children, above.fault)
    for name, child in node.items():
        place = node.lc.data.get(name)  # a key from a merge (<<) has no line
        child_line = place[0] + 1 if place else line
        children[str(name)] = _entry(entry, join(key, str(name)), child_line, child, depth + 1)
    return entry


def merge(common: DocumentEntry, own: DocumentEntry) -> DocumentEntry:
    """`common` overridden by `own`, section by section; each entry keeps its position in the file."""
    if not (common.is_section and own.is_section):
        return own
    merged = dict(common.children)
    for name, child in own.children.items():
        merged[name] = merge(merged[name], child) if name in merged else child
    return DocumentEntry(common.path, common.key, common.line, merged, common.fault)


def plain(node: object) -> object:
    """A section as plain dicts, lists and scalars."""
    if isinstance(node, DocumentEntry):
        return plain(node.value)
    if isinstance(node, dict):
        return {str(key): plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [plain(value) for value in node]
    for kind in (bool, int, float, str):  # ruamel's scalars are subclasses that keep their notation
        if isinstance(node, kind):
            return kind(node)
    return node
