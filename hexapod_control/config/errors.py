"""The errors of the files a person writes."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar


class FileError(ValueError):
    """A file that cannot be used: `path:line: key.path: what, bound, hint` in one line."""

    kind: ClassVar[str]  # of file, in words
    example: ClassVar[str]  # one that comes with the package

    def __init__(self, path: Path, line: int | None, key: str, *sentence: str) -> None:
        """Place (line counts from 1, None if there is none; key dotted, "" for the whole file) and what is wrong."""
        self.path = path
        self.line = line
        self.key = key
        place = f"{path}:{line}" if line else f"{path}"
        text = ", ".join(part for part in sentence if part)
        super().__init__(": ".join(part for part in (place, key, text) if part).replace("\n", " "))


class RobotFileError(FileError):
    """A robot file that cannot be used."""

    kind = "robot"
    example = "config/robots/phantomx.yaml"


class MotionFileError(FileError):
    """A motion file that cannot be used: `path:line: key: what, bound, hint` in one line."""

    kind = "motion"
    example = "config/motions/wave.yaml"
