# SPDX-License-Identifier: Apache-2.0
"""The robots that can be started: those of the package, and the robot files of one folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hexapod_control.config.errors import FileError
from hexapod_control.config.file_replacement import replace_file
from hexapod_control.config.robots.draft.questions.drawings import svg_drawing
from hexapod_control.config.robots.robot_file import RobotFile, from_text, known_robots, load, resolve
from hexapod_control.config.section_writer import own_copy

MAX_OWN = 24  # files of a folder that are listed


@dataclass(frozen=True, slots=True)
class GalleryEntry:
    """One robot, as a page shows it."""

    name: str  # of the robot of the package, or of the file
    own: bool  # a file of the folder
    legs: int
    mass: float  # [kg]
    servo: str
    ready: bool  # the file has servos, so that the robot can be driven
    picture: str  # SVG, from above


class RobotGallery:
    """Robots by the names that a page may send; a name is looked up here and never used as a path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def entries(self) -> Mapping[str, GalleryEntry]:
        """All robots by name, those of the folder first; files that are not valid robot files are left out."""
        own = {path.name: _entry(path, path.stat().st_mtime_ns, own=True) for path in self._files()}
        shipped = {name: _entry(resolve(name), 0, own=False, name=name) for name in known_robots()}
        return {name: entry for name, entry in {**own, **shipped}.items() if entry is not None}

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("*.yaml"))[:MAX_OWN]

    def path(self, name: str) -> str:
        """Name or path for a command. Raises ValueError for a name that is not in the gallery."""
        entry = self.entries.get(name)
        if entry is None:
            raise ValueError("the robot: there is none of this name")
        return str(self.folder / name) if entry.own else name

    def own(self, name: str) -> Path:
        """A robot file that may be changed; a robot of the package is copied into the folder if it is not there yet."""
        path = self.path(name)
        return Path(path) if self.entries[name].own else own_copy(name, self.folder)

    def add(self, text: str) -> str:
        """Saves the text of a robot file. Returns the name of the new file. Raises FileError for an invalid text."""
        path = self.unused()
        from_text(path, text)
        replace_file(path, text)
        return path.name

    def unused(self) -> Path:
        """A path for a new robot file, which does not exist yet."""
        numbers = ("", *(f"_{number}" for number in range(2, 1000)))
        return next(path for path in (self.folder / f"my_robot{n}.yaml" for n in numbers) if not path.exists())


@cache
def _entry(path: Path, changed: int, *, own: bool, name: str = "") -> GalleryEntry | None:
    """The entry of a robot file; None for an invalid one. `changed` [ns] is its time, part of the cache key."""
    try:
        file: RobotFile = load(path)
    except FileError:
        return None
    robot = file.robot
    title = name or path.name
    picture = svg_drawing("top", robot, (), f"{title} from above")
    return GalleryEntry(
        title, own, len(robot.legs), round(robot.mass, 1), file.servo_model, file.servos is not None, picture
    )
