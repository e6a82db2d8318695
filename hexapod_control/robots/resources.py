"""Where the files that come with the package are: config/, urdf/, launch/ of a checkout or of an installation."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PACKAGE = "hexapod_control"
_MARK = Path("urdf", "hexapod.urdf.xacro")  # a folder that has this file is a share folder


def _folders() -> list[Path]:
    """Folders that may hold the package's files, best first: a checkout, the ament prefixes, Python's prefix."""
    checkout = Path(__file__).resolve().parents[2]
    prefixes = [Path(p) for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    return [checkout, *(prefix / "share" / PACKAGE for prefix in [*prefixes, Path(sys.prefix)])]


def share(*parts: str) -> Path:
    """Path of a file or folder of the package, e.g. `share("config", "robots")`.

    Raises FileNotFoundError that lists the places looked at.
    """
    folders = _folders()
    for folder in folders:
        if (folder / _MARK).is_file() and (folder.joinpath(*parts)).exists():
            return folder.joinpath(*parts)
    looked_at = ", ".join(dict.fromkeys(str(folder.joinpath(*parts)) for folder in folders))
    raise FileNotFoundError(
        f"{PACKAGE} has no {'/'.join(parts)}, looked at: {looked_at}; "
        "install the package (pip install ., or colcon build and source its setup file)"
    )
