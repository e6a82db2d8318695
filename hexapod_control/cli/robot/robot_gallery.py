"""The robots that can be started: those of the package, and the robot files of one folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hexapod_control.config.errors import FileError
from hexapod_control.config.file_replacement import replace_file
from hexapod_control.config.robots.draft.questions.drawings import svg_drawing
from hexapod_control.config.robots.robot_file import RobotFile, from_text, known_robots, load, resolve

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
    """What a page can name: a name is looked up here, and never becomes a path by itself."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def entries(self) -> Mapping[str, GalleryEntry]:
        """All robots by name, one's own first; files that are no robot files are left out."""
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
        """A file of one's own for a robot: of one of the package the copy in the folder, made if there is none."""
        path = self.path(name)
        if not self.entries[name].own:
            copy = self.folder / f"my_{name}.yaml"
            if not copy.exists():
                shutil.copyfile(resolve(name), copy)
            return copy
        return Path(path)

    def add(self, text: str) -> str:
        """Keeps the text of a robot file. Returns its new name; raises FileError for one that is not valid."""
        path = self.unused()
        from_text(path, text)
        replace_file(path, text)
        return path.name

    def unused(self) -> Path:
        """A path for a new robot file."""
        numbers = ("", *(f"_{number}" for number in range(2, 1000)))
        return next(path for path in (self.folder / f"my_robot{n}.yaml" for n in numbers) if not path.exists())


@cache
def _entry(path: Path, changed: int, *, own: bool, name: str = "") -> GalleryEntry | None:
    """The entry of a robot file that was `changed` then; None if it is no robot file."""
    try:
        file: RobotFile = load(path)
    except FileError:
        return None
    robot, title = file.robot, name or path.name
    picture = svg_drawing("top", robot, (), f"{title} from above")
    return GalleryEntry(
        title, own, len(robot.legs), round(robot.mass, 1), file.servo_model, file.servos is not None, picture
    )
