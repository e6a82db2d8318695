"""The files that come with the package, by name: config/robots/NAME.yaml, config/motions/NAME.yaml."""

from __future__ import annotations

from pathlib import Path

from hexapod_control.robots.error import FileError
from hexapod_control.robots.resources import share
from hexapod_control.robots.schema import did_you_mean


def known(folder: str) -> tuple[str, ...]:
    """Names of the files in a folder of config/."""
    return tuple(sorted(path.stem for path in share("config", folder).glob("*.yaml")))


def named(folder: str, name_or_path: str | Path, fault: type[FileError]) -> Path:
    """Absolute path of a file: anything with a slash or ending in .yaml is a path, the rest a name.

    Raises `fault` for a name that is not known.
    """
    text = str(name_or_path)
    if "/" in text or text.endswith((".yaml", ".yml")):
        try:
            return Path(text).expanduser().absolute()
        except RuntimeError as error:  # ~ of somebody unknown
            raise fault(Path(text), None, "", f"cannot be found: {error}") from None
    names = known(folder)
    if text not in names:
        hint = did_you_mean(text, names) or "a file of your own is given as a path, ./NAME.yaml"
        raise fault(Path(text), None, "", f"is no known {fault.kind}", f"known: {', '.join(names)}", hint)
    return share("config", folder, f"{text}.yaml")
