"""Replaces files so that an interruption leaves the old or the new one."""

from __future__ import annotations

import os
from pathlib import Path


def replace_file(path: Path, text: str) -> None:
    """Replaces a file; it is on the disk when this returns, so that even a power cut leaves the old or the new one.

    Raises OSError, and leaves the old one.
    """
    new = path.with_name(f".{path.name}.new")
    try:
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
