# SPDX-License-Identifier: Apache-2.0
"""The files with which a graph was started: its nodes read them as they were then, also a node that is restarted later.

Nodes with different dimensions of one robot would move its feet to the wrong places. So the first node of a graph that
reads a file copies it into the state folder of the graph, and the others read the copy. Messages name the file itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from hexapod_control.config import document
from hexapod_control.config.bounded_yaml import UnusableFileError, read_text
from hexapod_control.config.errors import FileError, RobotFileError
from hexapod_control.config.robots.robot_file import RobotFile, from_text, resolve
from hexapod_control.config.robots.urdf_import.joint_mapping import JointMapping, JointMappingError, mapping_of
from hexapod_control.config.section_writer import with_section
from hexapod_control.core.robot import Robot
from hexapod_control.ros.monitoring.graph_identity import started_graph, state_folder


def started_robot(name_or_path: str) -> RobotFile:
    """The robot with which the graph of this process was started. Raises RobotFileError."""
    path = resolve(name_or_path)
    return from_text(path, _started_text(path, RobotFileError))


def started_mapping(path: str, robot: Robot) -> JointMapping | None:
    """The joint mapping with which the graph of this process was started; None for an empty path.

    Raises JointMappingError.
    """
    if not path:
        return None
    file = Path(path).expanduser().absolute()
    text = _started_text(file, JointMappingError)
    return mapping_of(document.from_text(file, text, JointMappingError), robot)


def keep_section(robot: str, name: str) -> None:
    """Keeps one section of a robot file as it is now, because it is in use from now on. Raises RobotFileError."""
    if not started_graph():
        return
    path = resolve(robot)
    copy = _copy(path)
    section = document.plain(document.read(path).children.get(name))
    if copy is None or not isinstance(section, dict):
        return
    with contextlib.suppress(OSError, UnusableFileError):
        draft = _draft(copy, with_section(read_text(copy, newline=""), name, section))
        os.replace(draft, copy)


class StartedFile:
    """A file that may be edited while the robot runs, which has no effect on that; call `edit` now and then."""

    def __init__(self, path: Path) -> None:
        """`path` is absolute."""
        self.path = path
        self._copy = _copy(path)
        self._own = _text(path)  # of a process without a graph
        self._seen: tuple[int, ...] | None = None  # status of the file at the last call
        self._compared: tuple[int, ...] | None = None  # that with which the texts were compared

    def edit(self) -> str:
        """A sentence about an edit that has ended, once for all processes of the graph; else an empty text."""
        status = self._status()
        ended = status == self._seen
        self._seen = status
        if status is None or not ended or status == self._compared:
            return ""
        self._compared = status
        present = _text(self.path)
        started = self._own if self._copy is None else _text(self._copy)
        if present is None or present == started or self._is_reported(present):
            return ""
        return (
            f"{self.path} was changed: this robot keeps the one with which it was started; to use the new one, "
            "restart the robot"
        )

    def _status(self) -> tuple[int, ...] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _is_reported(self, text: str) -> bool:
        """Whether a text was given to this function before."""
        if self._copy is None:
            return False
        note = self._copy.with_suffix(".reported")
        known = hashlib.sha256(text.encode()).hexdigest()
        if _text(note) == known:
            return True
        with contextlib.suppress(OSError):
            os.replace(_draft(note, known), note)
        return False


def _copy(path: Path) -> Path | None:
    """The copy of a file that the graph keeps; None if this process was started alone."""
    graph = started_graph()
    name = hashlib.sha256(str(path).encode()).hexdigest()[:16]
    return Path(state_folder(graph), f"{name}.txt") if graph else None


def _draft(path: Path, text: str) -> Path:
    """A new file beside a path, with all of a text, to be put in its place. Raises OSError."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_text(text, encoding="utf-8", newline="")
    return draft


def _text(path: Path) -> str | None:
    try:
        return read_text(path, newline="")
    except UnusableFileError:
        return None


def _started_text(path: Path, fault: type[FileError]) -> str:
    """The text with which the graph was started. Raises `fault`."""
    copy = _copy(path)
    if copy is not None and (kept := _text(copy)) is not None:
        return kept
    try:
        text = read_text(path, newline="")
    except UnusableFileError as error:
        raise fault(path, None, "", str(error)) from error
    if copy is None:
        return text
    try:
        draft = _draft(copy, text)
    except OSError:  # no folder for it: as without a graph
        return text
    with contextlib.suppress(OSError):
        os.link(draft, copy)  # unless another node was faster
    draft.unlink(missing_ok=True)
    return _text(copy) or text
