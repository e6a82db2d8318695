# SPDX-License-Identifier: Apache-2.0
"""Cache of the capabilities of robots on disk: computed once for a robot file, not at every start."""

from __future__ import annotations

import copyreg
import hashlib
import io
import os
import pickle
import sys
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

import numpy as np

from hexapod_control import core
from hexapod_control.config.file_replacement import replace_file
from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.robot import Robot
from hexapod_control.core.workspace.capabilities import Capabilities

MAX_FILES = 128  # about 35 MB; the least recently used are deleted
COMPRESSION_LEVEL = 1  # of zlib: a quarter of the size, in a hundredth of the time of computing them
WRITABLE_BY_OTHERS = 0o022


def enable() -> None:
    """Makes this process cache capabilities in the user's cache folder ($XDG_CACHE_HOME, else ~/.cache)."""
    cache_home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    Capabilities.use_store(SavedCapabilities(Path(cache_home) / "hexapod_control"))


class SavedCapabilities:
    """A folder of files, one for each robot and version of the code.

    A file that cannot be read or written is ignored. The files are pickled, so only those that no other user can write
    are read.
    """

    def __init__(self, folder: Path) -> None:
        """Creates nothing before the first file is written."""
        self._folder = folder

    def read(self, robot: Robot) -> Capabilities | None:
        """The saved capabilities of this robot and this version of the code; None if there are none."""
        path = self._path(robot)
        try:
            if not (_is_private(self._folder) and _is_private(path)):
                return None
            capabilities = pickle.loads(zlib.decompress(path.read_bytes()))
            os.utime(path)
        except Exception:
            return None
        return capabilities if isinstance(capabilities, Capabilities) and capabilities.robot == robot else None

    def write(self, capabilities: Capabilities) -> None:
        """Saves the capabilities of one robot, and deletes the least recently used files."""
        path = self._path(capabilities.robot)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(path, _pickled(capabilities))
            files = sorted(self._folder.glob("*.pickle"), key=lambda file: file.stat().st_mtime)
            for old in files[:-MAX_FILES]:
                old.unlink(missing_ok=True)
        except OSError:
            return

    def _path(self, robot: Robot) -> Path:
        key = hashlib.sha256(f"{_version()}{robot!r}".encode()).hexdigest()
        return self._folder / f"{key[:32]}.pickle"


def _pickled(capabilities: Capabilities) -> bytes:
    """Pickled and compressed, including read-only mappings, which the standard library does not pickle."""
    target = io.BytesIO()
    pickler = pickle.Pickler(target)
    pickler.dispatch_table = copyreg.dispatch_table | {MappingProxyType: lambda each: (_read_only, (dict(each),))}
    pickler.dump(capabilities)
    return zlib.compress(target.getvalue(), COMPRESSION_LEVEL)


def _read_only(entries: dict[str, Gait]) -> Mapping[str, Gait]:
    return MappingProxyType(entries)


def _is_private(path: Path) -> bool:
    """True if a file or folder belongs to this user and no other user can write to it."""
    status = path.stat()
    return status.st_uid == os.getuid() and not status.st_mode & WRITABLE_BY_OTHERS


@cache
def _version() -> str:
    """A hash of everything besides the robot on which capabilities depend: core, Python and NumPy."""
    digest = hashlib.sha256(f"{sys.version} {np.__version__}".encode())
    for folder in core.__path__:
        for file in sorted(Path(folder).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()
