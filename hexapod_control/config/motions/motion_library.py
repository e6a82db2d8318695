"""Motions by name, by path or as text, read from YAML and scaled to a robot."""

from __future__ import annotations

from pathlib import Path

from hexapod_control.config.bounded_yaml import UnusableFileError, read_text
from hexapod_control.config.document import from_text, read
from hexapod_control.config.errors import MotionFileError
from hexapod_control.config.motions import motion_file
from hexapod_control.config.shipped_files import file_path, shipped_names
from hexapod_control.core.motions.motion_request import MAX_TEXT_LENGTH, MotionRequest
from hexapod_control.core.motions.motion_steps import Choreography
from hexapod_control.core.robot import Robot

__all__ = ["MotionFileError", "known_motions", "load_motion", "load_motion_text", "request"]


def known_motions() -> tuple[str, ...]:
    """Names of the motions that come with the package."""
    return shipped_names("motions")


def load_motion(name_or_path: str, robot: Robot) -> Choreography:
    """A shipped motion by name, or the motion of a file, scaled to the robot. Raises MotionFileError.

    core.motions.motion_rehearsal checks whether the robot can perform it.
    """
    return motion_file.motion(read(file_path("motions", name_or_path, MotionFileError), MotionFileError), robot)


def load_motion_text(file: str, text: str, robot: Robot) -> Choreography:
    """Like `load_motion`, for the text of a file; `file` is only used in messages."""
    return motion_file.motion(from_text(Path(file), text, MotionFileError), robot)


def request(name_or_path: str) -> tuple[MotionRequest, tuple[str, ...]]:
    """The request for a motion, and its names: the one in the file, and the file's stem.

    Raises MotionFileError if the file is missing, not YAML or too long.
    """
    path = file_path("motions", name_or_path, MotionFileError)
    try:
        text = read_text(path)
    except UnusableFileError as error:
        raise MotionFileError(path, None, "", str(error)) from None
    entry = from_text(path, text, MotionFileError).children.get("name")
    if name_or_path in known_motions():
        motion_request = MotionRequest(name=name_or_path)
    elif len(text) > MAX_TEXT_LENGTH:
        raise MotionFileError(path, None, "", f"has {len(text)} characters", f"must have at most {MAX_TEXT_LENGTH}")
    else:
        motion_request = MotionRequest(file=str(path), text=text)
    names = (str(entry.value) if entry is not None else "", "_".join(path.stem.split()))
    return motion_request, tuple(name for name in dict.fromkeys(names) if name)
