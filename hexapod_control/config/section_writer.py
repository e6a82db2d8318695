# SPDX-License-Identifier: Apache-2.0
"""Writes one section of a robot file; all other lines, and the comments in the section, are preserved."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from hexapod_control.config.bounded_yaml import parser, read_text
from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.config.robots.robot_keys import OPTIONAL_SECTIONS

WRITABLE = (*OPTIONAL_SECTIONS, "gaits")


def own_copy(name: str, folder: Path) -> Path:
    """A robot file of the user for a robot of the package: copied into a folder if it is not there yet."""
    copy = folder / f"my_{name}.yaml"
    if not copy.exists():
        shutil.copyfile(resolve(name), copy)
    return copy


def own_file(name_or_path: str | Path) -> Path:
    """The path of the user's own robot file. Raises RobotFileError for a shipped robot or a missing file."""
    text, path = str(name_or_path), resolve(name_or_path)
    if "/" not in text and not text.endswith((".yaml", ".yml")):
        copy = f"cp {path} ./my_{text}.yaml"
        raise RobotFileError(
            Path(text), None, "", "comes with the package", "is not written to", f"copy it first: {copy}"
        )
    load(path)
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        raise RobotFileError(path, None, "", "cannot be written to", "it or its folder is read-only", "copy it first")
    return path


def save_section(path: Path, name: str, data: Mapping[str, Any]) -> Path:
    """Writes the section `name` (such as servos or gaits) of a robot file. Returns the dated backup.

    The file is replaced atomically. Raises RobotFileError, and OSError if the disk
    is full: the old file is then still there.
    """
    if name not in WRITABLE:
        raise ValueError(f"{name} is not a section that can be written; those are {', '.join(WRITABLE)}")
    return save_text(path, with_section(read_text(path, newline=""), name, data), name)


def save_text(path: Path, new: str, key: str) -> Path:
    """Replaces a robot file as `save_section` does; `key` is where a refusal is reported."""
    path = path.expanduser().resolve()  # resolves links
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=f".{path.name}.", delete=False, encoding="utf-8", newline=""
    ) as file:
        try:
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
            load(file.name)
            shutil.copymode(path, file.name)
            backup = _backup(path)
            os.replace(file.name, path)
        except RobotFileError as error:
            os.unlink(file.name)
            raise RobotFileError(path, None, key, f"was not written: {error}") from None
        except BaseException:
            os.unlink(file.name)
            raise
    return backup


def _backup(path: Path) -> Path:
    """Writes a backup next to the file, named by the time."""
    stem = f"{path.name}.{time.strftime('%Y-%m-%d_%H-%M-%S')}"
    copy = next(c for c in (path.with_name(f"{stem}{n}.bak") for n in ("", *range(2, 1000))) if not c.exists())
    shutil.copy2(path, copy)
    return copy


def with_values(text: str, changes: Mapping[tuple[str, ...], Any]) -> str:
    """The text of a YAML file with values replaced or added, by the keys that lead to them."""
    document = _plain(parser().load(text))
    for keys, value in changes.items():
        section = document
        for key in keys[:-1]:
            section = section.setdefault(key, {})
        section[keys[-1]] = value
    for name in dict.fromkeys(keys[0] for keys in changes):
        text = with_section(text, name, document[name])
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def with_section(text: str, name: str, data: Mapping[str, Any]) -> str:
    """The text of a YAML file with a section replaced, or appended."""
    end = "\r\n" if "\r\n" in text else "\n"
    yaml = parser()
    yaml.width = 4096
    document = yaml.load(text)
    lines = text.splitlines(keepends=True)
    if name in document:
        first = document.lc.data[name][0]
        after = min((place[0] for place in document.lc.data.values() if place[0] > first), default=len(lines))
        last = first + len(_trimmed(lines[first:after]))
    else:
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += end
        lines.append(end)
        first = last = len(lines)
    old = document.get(name)
    section = _updated(old, data) if isinstance(old, CommentedMap) else _nested(data, 0)
    fresh = CommentedMap({name: section})
    if isinstance(old, CommentedMap):
        fresh.ca.items.update({name: document.ca.items[name]} if name in document.ca.items else {})
    written = io.StringIO()
    yaml.dump(fresh, written)
    own = _trimmed(written.getvalue().splitlines(keepends=True))
    begin = next(k for k, line in enumerate(own) if line.startswith((name, f"'{name}", f'"{name}')))
    own = [line.rstrip("\r\n") + end for line in own[begin:]]
    return "".join([*lines[:first], *own, *lines[last:]])


def _trimmed(lines: list[str]) -> list[str]:
    """Lines without the trailing empty lines and comments, which belong to the next section."""
    count = len(lines)
    while count and (not lines[count - 1].strip() or lines[count - 1].startswith("#")):
        count -= 1
    return lines[:count]


def _updated(old: CommentedMap, data: Mapping[str, Any]) -> CommentedMap:
    """The old section with new values; unchanged values keep their notation and comments."""
    for key in [key for key in old if str(key) not in data]:
        del old[key]
    for key, value in data.items():
        if isinstance(value, Mapping) and isinstance(old.get(key), CommentedMap):
            _updated(old[key], value)
        elif key not in old or old[key] != value:
            old[key] = _nested(value, 1)
    return old


def _nested(value: Any, depth: int) -> Any:
    """Plain data as ruamel types; the innermost mappings and lists are written in one line."""
    if isinstance(value, Mapping):
        found = CommentedMap({key: _nested(item, depth + 1) for key, item in value.items()})
        if depth and not any(isinstance(item, Mapping | list | tuple) for item in value.values()):
            found.fa.set_flow_style()
        return found
    if isinstance(value, list | tuple):
        items = CommentedSeq(_nested(item, depth + 1) for item in value)
        if not any(isinstance(item, Mapping) for item in value):
            items.fa.set_flow_style()
        return items
    return value
