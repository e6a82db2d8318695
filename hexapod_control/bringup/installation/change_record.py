"""Edits of files, which are recorded before they are made. Undoing them preserves later changes by others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any

from hexapod_control.bringup.installation.system_root import FileContent, SystemRoot

RECORD = "/var/lib/hexapod/setup.json"
PRIVATE = 0o600  # it may hold lines of /etc/gshadow


@dataclass(frozen=True, slots=True)
class FileEdit:
    """Content of a path before and after; None: does not exist."""

    path: str
    before: FileContent | None
    after: FileContent | None

    def lines(self) -> Iterator[str]:
        """Removed (`-`) and added (`+`) lines, to show to the user."""
        for removed, added in _differences(self.before, self.after):
            yield from (f"- {line.rstrip()}" for line in removed)
            yield from (f"+ {line.rstrip()}" for line in added)


def text_edit(root: SystemRoot, path: str, after: str) -> tuple[FileEdit, ...]:
    """The edit that sets the text of a file; empty if the file has it already."""
    path = root.real(path)
    before = root.content(path)
    return () if before == FileContent(after) else (FileEdit(path, before, FileContent(after)),)


def link_edit(root: SystemRoot, path: str, target: str) -> tuple[FileEdit, ...]:
    """The edit that creates a link; empty if the path is a link already."""
    before = root.content(path)
    return () if before and before.is_link else (FileEdit(path, before, FileContent(target, is_link=True)),)


def apply(root: SystemRoot, edits: Sequence[FileEdit]) -> None:
    """Makes the edits. Each is recorded first, so that it can be undone after an interruption."""
    for edit in edits:
        _save(root, [*recorded(root), edit])
        root.put(edit.path, edit.after)


def recorded(root: SystemRoot) -> list[FileEdit]:
    """All edits that can be undone, oldest first."""
    found = root.content(RECORD)
    if found is None:
        return []
    return [FileEdit(row["path"], _content(row["before"]), _content(row["after"])) for row in json.loads(found.text)]


def _content(fields: dict[str, Any] | None) -> FileContent | None:
    return FileContent(**fields) if fields else None


def undo(root: SystemRoot) -> Iterator[tuple[FileEdit, bool]]:
    """Undoes all edits, the last one first. Yields each with False if it stays because its lines have changed."""
    remaining: list[FileEdit] = []
    edits = recorded(root)
    while edits:
        edit = edits.pop()
        now = root.content(edit.path)
        wanted = edit.before if now == edit.after else _without(edit, now)
        done = now == edit.before or wanted != now
        if now != edit.before and done:
            root.put(edit.path, wanted)
        remaining = remaining if done else [edit, *remaining]
        _save(root, [*edits, *remaining])
        yield edit, done


def _save(root: SystemRoot, edits: Sequence[FileEdit]) -> None:
    text = json.dumps([asdict(edit) for edit in edits], indent=1)
    root.put(RECORD, FileContent(text) if edits else None, PRIVATE)


def _without(edit: FileEdit, now: FileContent | None) -> FileContent | None:
    """The present content without the edit's lines; unchanged if it does not contain them."""
    if now is None or now.is_link or (edit.after and edit.after.is_link):
        return now
    lines = now.text.splitlines(keepends=True)
    for removed, added in _differences(edit.before, edit.after):
        matches = [k for k in range(len(lines)) if added and lines[k : k + len(added)] == added]
        if not matches:
            return now
        lines[matches[-1] : matches[-1] + len(added)] = removed
    return FileContent("".join(lines))


def _differences(before: FileContent | None, after: FileContent | None) -> Iterator[tuple[list[str], list[str]]]:
    """Pairs of removed lines and the lines that replace them."""
    old, new = (_lines(content) for content in (before, after))
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield old[i:j], new[k:m]


def _lines(content: FileContent | None) -> list[str]:
    if content is None:
        return []
    return [f"link to {content.text}"] if content.is_link else content.text.splitlines(keepends=True)
