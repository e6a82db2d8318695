"""The one error of motion files."""

from __future__ import annotations

from hexapod_control.robots.error import FileError


class MotionFileError(FileError):
    """A motion file that cannot be used: `path:line: key: what, bound, hint` in one line."""

    kind = "motion"
    example = "config/motions/wave.yaml"
