# SPDX-License-Identifier: Apache-2.0
"""The folder with the recordings of the page: their names, sizes and lengths, and the disk space they may take."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

MAX_LISTED = 100  # the newest ones
DURATION = re.compile(r"duration:\s+nanoseconds: (\d+)")


@dataclass(frozen=True, slots=True)
class Recording:
    """One bag in the folder."""

    name: str
    size: int  # [B]
    seconds: float | None  # None if it is not complete


class RecordingFolder:
    """Lists and deletes recordings. Only names that the folder lists are found: no text from a page becomes a path."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self.path = path
        self._max_bytes = max_bytes

    def recordings(self) -> list[Recording]:
        """All recordings, the newest first."""
        return [_recording(path) for path in reversed(self._paths()[-MAX_LISTED:])]

    def find(self, name: str) -> Path | None:
        """The bag with this name as its file; None if there is none."""
        return next((file for path in self._paths() if path.name == name for file in path.glob("*.mcap")), None)

    def delete(self, name: str) -> str:
        """Deletes a recording. Returns why it could not be deleted, as a sentence; empty if it is gone."""
        file = self.find(name)
        if file is None:
            return f"{name!r} is not a recording"
        try:
            shutil.rmtree(file.parent)
        except OSError as error:
            return f"{file.parent}: cannot be deleted: {error.strerror or error}"
        return ""

    @property
    def free_bytes(self) -> int:
        """Disk space for new recordings [B]."""
        return self._max_bytes - sum(_size(path) for path in self._paths())

    @property
    def full(self) -> str:
        """Why nothing more can be recorded, as a sentence; empty if there is room."""
        most = f"{self._max_bytes / 1e6:.0f} MB"
        return "" if self.free_bytes > 0 else f"{self.path}: the recordings take {most}, their limit: delete some"

    def _paths(self) -> list[Path]:
        try:
            return sorted(path for path in self.path.iterdir() if next(path.glob("*.mcap"), None))
        except OSError:
            return []  # there is no recording yet


def _size(path: Path) -> int:
    try:
        return sum(file.stat().st_size for file in path.iterdir())
    except OSError:
        return 0  # it was deleted meanwhile


def _recording(path: Path) -> Recording:
    try:
        match = DURATION.search((path / "metadata.yaml").read_text())
    except OSError:
        match = None
    return Recording(path.name, _size(path), round(1e-9 * int(match[1]), 1) if match else None)
