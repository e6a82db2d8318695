# SPDX-License-Identifier: Apache-2.0
"""Errors of YAML files, of command-line options and of the robot, exit codes, and the signals that end a program."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import ClassVar

from hexapod_control.config.sentence import Sentence
from hexapod_control.core.names import printable, shortened
from hexapod_control.core.refusal import Statement

# exit codes; after invalid input nothing was started
DONE = 0
FAILED = 1
INVALID_INPUT = 2
END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # Ctrl-C, kill, a lost terminal
BACKGROUND_SIGNALS = (signal.SIGTTIN, signal.SIGTTOU)  # of a terminal, to a program in the background that uses it
# characters of a message
MAX_KEY_LENGTH = 120
MAX_PART_LENGTH = 600
MAX_ANSWER = 1000  # of the robot


def signal_exit_code(number: int) -> int:
    """Exit code of a program that a signal has ended, as shells report it."""
    return 128 + number


INTERRUPTED = signal_exit_code(signal.SIGINT)  # exit code after Ctrl-C


class RobotError(RuntimeError):
    """The robot did not do what was requested; the message is for the user."""

    def __init__(self, text: str) -> None:
        super().__init__(shortened(text, MAX_ANSWER))


class ArgumentError(ValueError):
    """An option or parameter that cannot be used: `name: value, bound, remedy` in one line."""

    def __init__(self, name: str, *parts: str) -> None:
        text = ", ".join(shortened(part, MAX_PART_LENGTH) for part in parts if part)
        super().__init__(f"{shortened(name, MAX_KEY_LENGTH)}: {text}")


class FileError(ValueError):
    """A file that cannot be used: `path:line: key.path: value, bound, remedy` in one line."""

    kind: ClassVar[str]  # kind of file, for messages
    example: ClassVar[str]  # remedy for an empty file: an example to start from

    def __init__(self, path: Path, line: int | None, key: str, *parts: str | Statement) -> None:
        """Place (line from 1, or None; dotted key, "" for the whole file), then value, bound and remedy."""
        self.path = path
        self.line = line
        self.key = key
        self.parts = [part for part in parts if str(part)]
        self.text = ", ".join(shortened(str(part), MAX_PART_LENGTH) for part in self.parts)
        after = (shortened(key, MAX_KEY_LENGTH), self.text)
        self.after_path = (f":{line}" if line else "") + "".join(f": {part}" for part in after if part)
        super().__init__(printable(f"{path}") + self.after_path)

    @property
    def said(self) -> Sentence:
        """Place and parts, for a program that says them in another language; without the path."""
        place = "_".join(name for name in ("line", "key") if getattr(self, name)) or "file"
        said = (Sentence.listed(part) if isinstance(part, str) else part for part in self.parts)
        parts = {f"part{number}": part for number, part in enumerate(said)}
        return Sentence(f"file_at_{place}_{len(parts)}", line=self.line, key=self.key, **parts)


class RobotFileError(FileError):
    """A robot file that cannot be used."""

    kind = "robot"
    example = "copy config/robots/phantomx.yaml and edit it"


class MotionFileError(FileError):
    """A motion file that cannot be used."""

    kind = "motion"
    example = "copy config/motions/wave.yaml and edit it"


class WaypointFileError(FileError):
    """A file of waypoints that cannot be used."""

    kind = "route"
    example = "e.g. waypoints: [{x: 1.0, y: 0.5, yaw_deg: 90}]"


class ChannelFileError(FileError):
    """A file of RC channels that cannot be used."""

    kind = "channel"
    example = "copy config/rc/aetr.yaml and edit it"


class PolicyFileError(FileError):
    """A policy that cannot be used."""

    kind = "policy"
    example = "train one as in docs/learning.md"
