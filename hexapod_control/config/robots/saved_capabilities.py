"""The capabilities of robots on disk: computed once for a robot file, and not at every start of a slow computer."""

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

MAX_FILES = 128  # those not used for longest are deleted: about 35 MB
COMPRESSION = 1  # to a quarter of the size, in a hundredth of the time that it takes to compute them
WRITABLE_BY_OTHERS = 0o022


def enable() -> None:
    """Lets this process keep capabilities in the user's cache folder ($XDG_CACHE_HOME, else ~/.cache)."""
    cache_home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    Capabilities.use_store(SavedCapabilities(Path(cache_home) / "hexapod_control"))


class SavedCapabilities:
    """A folder of files, one for each robot and version of the code.

    They are a shortcut: a file that cannot be read or written is as good as none. They are pickled, so only files that
    nobody else can write are read.
    """

    def __init__(self, folder: Path) -> None:
        """Creates nothing before the first file is written."""
        self._folder = folder

    def read(self, robot: Robot) -> Capabilities | None:
        """Returns what was computed for this robot by this version of the code, None if nothing was."""
        path = self._path(robot)
        try:
            if not (_is_private(self._folder) and _is_private(path)):
                return None
            found = pickle.loads(zlib.decompress(path.read_bytes()))
            os.utime(path)
        except Exception:
            return None
        return found if isinstance(found, Capabilities) and found.robot == robot else None

    def write(self, capabilities: Capabilities) -> None:
        """Saves them, and deletes the files that were not used for longest."""
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
    """Compressed; read-only mappings, which the standard library does not pickle, included."""
    target = io.BytesIO()
    pickler = pickle.Pickler(target)
    pickler.dispatch_table = copyreg.dispatch_table | {MappingProxyType: lambda each: (_read_only, (dict(each),))}
    pickler.dump(capabilities)
    return zlib.compress(target.getvalue(), COMPRESSION)


def _read_only(entries: dict[str, Gait]) -> Mapping[str, Gait]:
    return MappingProxyType(entries)


def _is_private(path: Path) -> bool:
    """True if a file or folder belongs to this user and nobody else can write to it."""
    status = path.stat()
    return status.st_uid == os.getuid() and not status.st_mode & WRITABLE_BY_OTHERS


@cache
def _version() -> str:
    """Changes with everything on which the tables depend, besides the robot."""
    digest = hashlib.sha256(f"{sys.version} {np.__version__}".encode())
    for folder in core.__path__:
        for file in sorted(Path(folder).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()
