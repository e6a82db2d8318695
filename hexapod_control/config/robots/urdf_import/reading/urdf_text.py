# SPDX-License-Identifier: Apache-2.0
"""The text of a URDF or xacro file, within bounds: a regular file without entities; xacro is expanded first."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar
from xml.parsers.expat import ExpatError

from hexapod_control.config.bounded_yaml import UnusableFileError, read_text
from hexapod_control.config.errors import FileError
from hexapod_control.config.missing_modules import missing_module

MAX_URDF_BYTES = 8_000_000
MAX_FOLDERS_UP = 8  # above a file, searched for its packages
MAX_SEARCHED_FILES = 400  # around a file, for the names of its packages
INDEX = Path("share", "ament_index", "resource_index", "packages")
XACRO_MODULES = ("xacro", "ament_index_python")
# Exceptions of xacro for invalid expressions, names, numbers, files and endless macros, besides its own ones.
XACRO_ERRORS = (
    *(ValueError, TypeError, LookupError, NameError, AttributeError, SyntaxError, ArithmeticError),
    *(OSError, RecursionError, ExpatError),
)


class UrdfError(FileError):
    """A URDF that cannot be imported."""

    kind = "URDF"
    example: ClassVar[str] = "give the file that robot_state_publisher publishes"


def read_urdf(path: Path, arguments: Mapping[str, str]) -> str:
    """The text of a URDF file; xacro is expanded with these arguments. Raises UrdfError."""
    try:
        text = read_text(path, max_bytes=MAX_URDF_BYTES)
    except UnusableFileError as error:
        raise UrdfError(path, None, "", str(error)) from error
    _refuse_entities(path, text)
    if path.suffix.lower() != ".xacro" and "xmlns:xacro" not in text and "<xacro:" not in text:
        return text
    expanded = _expand(path, arguments)
    if len(expanded) > MAX_URDF_BYTES:
        raise UrdfError(path, None, "", f"expands to more than {MAX_URDF_BYTES / 1e6:g} MB")
    _refuse_entities(path, expanded)
    return expanded


def _refuse_entities(path: Path, text: str) -> None:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise UrdfError(path, None, "", "declares a document type or entities", "remove the <!DOCTYPE ...>")


def _expand(path: Path, arguments: Mapping[str, str]) -> str:
    try:
        import xacro
    except ModuleNotFoundError as error:
        remedy = "or expand it elsewhere: xacro FILE > robot.urdf"
        raise UrdfError(path, None, "", f"is a xacro file, and {missing_module(error)}", remedy) from None
    try:
        with _packages_around(path):
            return str(xacro.process_file(str(path), mappings=dict(arguments)).toxml())
    except Exception as error:
        known = type(error).__module__.split(".")[0] in XACRO_MODULES or isinstance(error, XACRO_ERRORS)
        if not known:
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UrdfError(path, None, "", f"xacro cannot expand it: {reason}", _remedy(reason)) from error


def _remedy(reason: str) -> str:
    if "package" in reason:
        return "source the workspace of that package, or keep its folder beside this file"
    if "argument" in reason:
        return "give arguments of the file as --xacro-arg NAME:=VALUE"
    return ""


@contextmanager
def _packages_around(path: Path) -> Iterator[None]:
    """Makes `$(find NAME)` of xacro find packages whose sources are around a file, without installing them."""
    before = os.environ.get("AMENT_PREFIX_PATH")
    with tempfile.TemporaryDirectory(prefix="hexapod_import_") as prefix:
        Path(prefix, INDEX).mkdir(parents=True)
        for name in _wanted_packages(path):
            folder = package_folder(path, name)
            if folder is not None:
                Path(prefix, INDEX, name).touch()
                Path(prefix, "share", name).symlink_to(folder)
        os.environ["AMENT_PREFIX_PATH"] = os.pathsep.join(filter(None, (before, prefix)))
        try:
            yield
        finally:
            if before is None:
                del os.environ["AMENT_PREFIX_PATH"]
            else:
                os.environ["AMENT_PREFIX_PATH"] = before


def _wanted_packages(path: Path) -> set[str]:
    """Names of the packages that the xacro files around a file look up."""
    names: set[str] = set()
    folder = path.absolute().parent
    for near in sorted((*folder.glob("*"), *folder.parent.glob("*/*")))[:MAX_SEARCHED_FILES]:
        if near.suffix.lower() in (".xacro", ".urdf", ".xml") and near.is_file():
            try:
                names.update(re.findall(r"\$\(find\s+([\w-]+)\s*\)", read_text(near, max_bytes=MAX_URDF_BYTES)))
            except UnusableFileError:
                continue
    return {name for name in names if not name.startswith(".")}


def package_folder(near: Path, name: str) -> Path | None:
    """The folder of a ROS package at or above a file, or next to one of its folders; None if not found."""
    for above in list(near.absolute().parents)[:MAX_FOLDERS_UP]:
        if above == Path("/") or above == Path(tempfile.gettempdir()):
            return None
        if above.name == name or _is_package(above, name):
            return above
        neighbour = above / name
        if neighbour.is_dir():
            return neighbour
    return None


def _is_package(folder: Path, name: str) -> bool:
    manifest = folder / "package.xml"
    try:
        return (
            manifest.is_file() and re.search(rf"<name>\s*{re.escape(name)}\s*</name>", read_text(manifest)) is not None
        )
    except UnusableFileError:
        return False
