# SPDX-License-Identifier: Apache-2.0
"""Replaces files atomically."""

from __future__ import annotations

import os
from pathlib import Path


def replace_file(path: Path, content: str | bytes) -> None:
    """Replaces a file atomically and syncs it to disk: even a power cut leaves the old or the new file.

    Raises OSError; the old file is then unchanged.
    """
    new = path.with_name(f".{path.name}.{os.getpid()}.new")  # two programs may replace it at once
    try:
        with new.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
