# SPDX-License-Identifier: Apache-2.0
"""The files of a system below a root folder: `/`, or the root of an image. Links are followed within the root.

Edits are recorded before they are made. Undoing them preserves later changes by others.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

MAX_LINKS = 40  # in one path, as in the kernel
RECORD = "/var/lib/hexapod/setup.json"
PRIVATE = 0o600  # it may hold lines of /etc/gshadow


@dataclass(frozen=True, slots=True)
class FileContent:
    """Content of a path: a text, or a link to another path."""

    text: str
    is_link: bool = False


class SystemRoot:
    """Reads and replaces files by their absolute paths as seen from within the root."""

    def __init__(self, folder: Path) -> None:
        """`folder` is the root."""
        self._folder = folder.resolve()

    @property
    def is_running(self) -> bool:
        """Whether this is the running system, on which commands have an effect."""
        return self._folder == Path("/")

    def real(self, path: str) -> str:
        """The path with all links resolved; it need not exist. Raises OSError for circular links."""
        todo = [part for part in path.split("/") if part][::-1]
        done = ""
        links = 0
        while todo:
            part = todo.pop()
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            local = self._folder / done.lstrip("/") / part
            if not local.is_symlink():
                done += f"/{part}" if part != "." else ""
                continue
            links += 1
            if links > MAX_LINKS:
                raise OSError(f"{path}: too many links")
            target = os.readlink(local)
            done = "" if target.startswith("/") else done
            todo += [each for each in target.split("/") if each][::-1]
        return done or "/"

    def local_path(self, path: str) -> Path:
        """The path as seen from this computer; its last part may be a link."""
        folder, _, name = path.rpartition("/")
        return self._folder / self.real(folder).lstrip("/") / name

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""
        return self.local_path(self.real(path)).exists()

    def names(self, folder: str) -> list[str]:
        """Names in a folder, sorted; empty if it does not exist."""
        with contextlib.suppress(OSError):
            return sorted(entry.name for entry in self.local_path(self.real(folder)).iterdir())
        return []

    def content(self, path: str) -> FileContent | None:
        """Content of a path; None if it does not exist. Raises OSError if it cannot be read."""
        target = self.local_path(path)
        if target.is_symlink():
            return FileContent(os.readlink(target), is_link=True)
        try:
            with target.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
                return FileContent(file.read())
        except FileNotFoundError:
            return None

    def text(self, path: str) -> str:
        """Text of a file; empty if it does not exist or may not be read."""
        with contextlib.suppress(OSError):
            found = self.content(self.real(path))
            return found.text if found else ""
        return ""

    def put(self, path: str, content: FileContent | None, mode: int = 0o644) -> None:
        """Replaces a path atomically; None removes it. An existing file keeps owner and mode, a new one gets `mode`."""
        target = self.local_path(path)
        if content is None:
            target.unlink(missing_ok=True)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(f".{target.name}.hexapod")
        new.unlink(missing_ok=True)
        if content.is_link:
            new.symlink_to(content.text)
        else:
            self._write(new, content.text, mode)
            if target.is_file():
                with contextlib.suppress(PermissionError):  # FAT has neither
                    shutil.copymode(target, new)
                    os.chown(new, target.stat().st_uid, target.stat().st_gid)
        new.replace(target)

    def _write(self, target: Path, text: str, mode: int) -> None:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(PermissionError):
            target.chmod(mode)


@dataclass(frozen=True, slots=True)
class FileEdit:
    """Content of a path before and after; None: does not exist."""

    path: str
    before: FileContent | None
    after: FileContent | None
    mode: int = 0o644  # of a new file

    def lines(self) -> Iterator[str]:
        """Removed (`-`) and added (`+`) lines, to show to the user."""
        for removed, added in _differences(self.before, self.after):
            yield from (f"- {line.rstrip()}" for line in removed)
            yield from (f"+ {line.rstrip()}" for line in added)


def text_edit(root: SystemRoot, path: str, after: str, mode: int = 0o644) -> tuple[FileEdit, ...]:
    """The edit that sets the text of a file; empty if the file has it already. A new file gets `mode`."""
    path = root.real(path)
    before = root.content(path)
    return () if before == FileContent(after) else (FileEdit(path, before, FileContent(after), mode),)


def link_edit(root: SystemRoot, path: str, target: str) -> tuple[FileEdit, ...]:
    """The edit that creates a link; empty if the path is a link already."""
    before = root.content(path)
    return () if before and before.is_link else (FileEdit(path, before, FileContent(target, is_link=True)),)


def apply(root: SystemRoot, edits: Sequence[FileEdit]) -> None:
    """Makes the edits. Each is recorded first, so that it can be undone after an interruption."""
    for edit in edits:
        _save(root, [*recorded(root), edit])
        root.put(edit.path, edit.after, edit.mode)


def recorded(root: SystemRoot) -> list[FileEdit]:
    """All edits that can be undone, oldest first."""
    found = root.content(RECORD)
    if found is None:
        return []
    return [
        FileEdit(row["path"], _recorded_content(row["before"]), _recorded_content(row["after"]), row.get("mode", 0o644))
        for row in json.loads(found.text)
    ]


def _recorded_content(fields: dict[str, Any] | None) -> FileContent | None:
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
