"""Motions by name or path, read from YAML and scaled to a robot."""

from __future__ import annotations

from pathlib import Path

from hexapod_control.config.document import read
from hexapod_control.config.errors import MotionFileError
from hexapod_control.config.motions import motion_file
from hexapod_control.config.shipped_files import known, named
from hexapod_control.core.motions.motion_steps import Choreography
from hexapod_control.core.robot import Robot

__all__ = ["MotionFileError", "known_motions", "load_motion", "title"]


def known_motions() -> tuple[str, ...]:
    """Names of the motions that come with the package."""
    return known("motions")


def load_motion(name_or_path: str, robot: Robot) -> Choreography:
    """A shipped motion by name, or the motion of a file, scaled to the robot. Raises MotionFileError.

    Whether the robot can do it is checked by core.motions.motion_rehearsal.
    """
    return motion_file.motion(read(named("motions", name_or_path, MotionFileError), MotionFileError), robot)


def title(name_or_path: str) -> tuple[Path, tuple[str, ...]]:
    """Absolute path of a motion and its names: the one in the file, and the file's stem.

    Raises MotionFileError if the file is missing or not YAML.
    """
    path = named("motions", name_or_path, MotionFileError)
    entry = read(path, MotionFileError).children.get("name")
    names = (str(entry.value) if entry is not None else "", "_".join(path.stem.split()))
    return path, tuple(name for name in dict.fromkeys(names) if name)
