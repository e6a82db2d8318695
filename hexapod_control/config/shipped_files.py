# SPDX-License-Identifier: Apache-2.0
"""Finds the files shipped with the package: config/, urdf/, launch/ of a checkout or of an installation."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hexapod_control.config.errors import FileError
from hexapod_control.config.schema import did_you_mean

PACKAGE = "hexapod_control"
_MARK = Path("urdf", "hexapod.urdf.xacro")  # a folder that has this file is a share folder


def use_venv_prefix() -> None:
    """Lets ROS find this package in a venv, where nothing sets AMENT_PREFIX_PATH."""
    os.environ.setdefault("AMENT_PREFIX_PATH", sys.prefix)


def _folders() -> list[Path]:
    """Folders that may hold the shipped files, in order: a checkout, the ament prefixes, the prefix of Python."""
    checkout = Path(__file__).resolve().parents[2]
    prefixes = [Path(p) for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    return [checkout, *(prefix / "share" / PACKAGE for prefix in [*prefixes, Path(sys.prefix)])]


def share(*parts: str) -> Path:
    """Path of a file or folder of the package, e.g. `share("config", "robots")`.

    Raises FileNotFoundError that lists the folders searched.
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


def shipped_names(folder: str) -> tuple[str, ...]:
    """Names of the files in a folder of config/."""
    return tuple(sorted(path.stem for path in share("config", folder).glob("*.yaml")))


def file_path(folder: str, name_or_path: str | Path, fault: type[FileError]) -> Path:
    """Absolute path of a file. Anything with a slash or ending in .yaml is a path, all else a name.

    Raises `fault` for a name that is not known.
    """
    text = str(name_or_path)
    if "/" in text or text.endswith((".yaml", ".yml")):
        try:
            return Path(text).expanduser().absolute()
        except RuntimeError as error:  # ~user without such a user
            raise fault(Path(text), None, "", f"cannot be found: {error}") from None
    names = shipped_names(folder)
    if text not in names:
        hint = did_you_mean(text, names) or "give your own file as a path, ./NAME.yaml"
        raise fault(Path(text), None, "", f"is not a known {fault.kind}", f"known: {', '.join(names)}", hint)
    return share("config", folder, f"{text}.yaml")
