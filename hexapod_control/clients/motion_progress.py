"""How far a motion is, from what `motion_state` says: `name phase percent`, and a reason after a refusal."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from types import TracebackType
from typing import Self, TextIO

ENDS = ("done", "cancelled", "refused")  # phases
IDLE = ("none", "walk", "move", "stand_up", "sit_down")  # what the robot does by itself
WIDTH = 30  # of the bar


class MotionProgress:
    """One motion, from asking for it to its end."""

    def __init__(self, names: Iterable[str], patience: float) -> None:
        """`names` the motion may have; `patience` [s] for an idle robot to take it up."""
        self._names = tuple(names)
        self._left = patience
        self.name = self._names[0]
        self.phase = "asked for"
        self.percent = 0
        self.over = False
        self.failure = ""
        self.begun = False
        self._other = ""  # that plays before

    def take(self, said: str) -> None:
        """Takes in one `motion_state`."""
        name, phase, percent, *reason = [*said.split(" ", 3), "", ""]
        if self.over:
            return
        if name not in self._names:
            self._other = "" if name in IDLE else name
            if self.begun and phase != "rehearse":
                self.over, self.failure = True, f"{self.name} was ended"
            return
        self.begun, self._other, self.name, self.phase = True, "", name, phase
        self.percent = int(percent) if percent.isdigit() else self.percent
        if phase in ENDS:
            self.over = True
            words = f"{name} was {phase}" + (f": {reason[0]}" if reason and reason[0] else "")
            self.failure = "" if phase == "done" else words

    def pass_time(self, seconds: float) -> None:
        """Lets time [s] pass: a robot that does not take the motion up must not be waited for."""
        if self.begun or self._other:
            return
        self._left -= seconds
        if self._left <= 0.0:
            self.over, self.failure = True, f"the robot did not take {self.name} up"

    def give_up(self) -> None:
        """It was cancelled from here."""
        self.over, self.failure = True, f"{self.name} was cancelled"

    @property
    def line(self) -> str:
        """The progress bar."""
        if self._other:
            return f"{self.name}  waits for the end of {self._other}"
        full = round(WIDTH * self.percent / 100)
        return f"{self.name}  [{'#' * full}{'.' * (WIDTH - full)}] {self.percent:3d} %  {self.phase}"


class ProgressBar:
    """Context manager: the last line of a terminal; elsewhere a line whenever the phase changes."""

    def __init__(self, screen: TextIO) -> None:
        self._screen = screen
        self._rewrites = screen.isatty()
        self._last = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._rewrites and self._last:
            self._screen.write("\n")

    def show(self, progress: MotionProgress) -> None:
        """Shows how far it is."""
        line = progress.line if self._rewrites else f"{progress.name}: {progress.phase}"
        if line == self._last:
            return
        self._last = line
        width = shutil.get_terminal_size().columns - 1
        self._screen.write(f"\r\x1b[K{line[:width]}" if self._rewrites else f"{line}\n")
        self._screen.flush()
