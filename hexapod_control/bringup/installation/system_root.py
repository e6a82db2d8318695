"""The files of a system below a root folder: `/`, or the root of an image. Links are followed within the root."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

MAX_LINKS = 40  # in one path, as in the kernel


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
