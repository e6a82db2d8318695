"""Follows the progress of a requested motion by its `motion_state`, and shows it as a progress bar."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from types import TracebackType
from typing import Self, TextIO

from hexapod_control.core.motions.motion_state import DONE, REHEARSE, MotionState

BAR_WIDTH = 30  # characters


class MotionProgress:
    """State of one requested motion, until it has ended."""

    def __init__(self, names: Iterable[str], timeout: float) -> None:
        """`names` are those that the robot may report for the motion; `timeout` [s] is the limit for it to begin."""
        self._names = tuple(names)
        self._left = timeout
        self.name = self._names[0]
        self.phase = "requested"
        self.percent = 0
        self.over = False
        self.failure = ""
        self.begun = False
        self._other = ""  # motion that plays before

    def update(self, state: MotionState) -> None:
        """Handles one `motion_state`."""
        if self.over:
            return
        if state.name not in self._names:
            self._other = state.name if state.has_motion else ""
            if self.begun and state.phase != REHEARSE:
                self.over, self.failure = True, f"{self.name} was ended"
            return
        self.begun = True
        self._other = ""
        self.name = state.name
        self.phase = state.phase
        self.percent = state.percent
        if state.ended:
            self.over = True
            message = f"{state.name} was {state.phase}" + (f": {state.reason}" if state.reason else "")
            self.failure = "" if state.phase == DONE else message

    def pass_time(self, seconds: float) -> None:
        """Counts the timeout down by `seconds` [s] while an idle robot does not begin the motion."""
        if self.begun or self._other:
            return
        self._left -= seconds
        if self._left <= 0.0:
            self.over, self.failure = True, f"the robot did not begin {self.name}"

    def give_up(self, confirmed: bool) -> None:
        """Marks the motion as cancelled by the user, and whether the robot has confirmed it."""
        unknown = f"{self.name} was cancelled, but the robot does not confirm it: call stop, or use the E-STOP"
        self.over, self.failure = True, f"{self.name} was cancelled" if confirmed else unknown

    @property
    def line(self) -> str:
        """The progress bar as text."""
        if self._other:
            return f"{self.name}  waits for the end of {self._other}"
        full = round(BAR_WIDTH * self.percent / 100)
        return f"{self.name}  [{'#' * full}{'.' * (BAR_WIDTH - full)}] {self.percent:3d} %  {self.phase}"


class ProgressBar:
    """Context manager: a progress bar in the last line of a terminal; without a terminal, one line per phase."""

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
        """Shows the progress."""
        line = progress.line if self._rewrites else f"{progress.name}: {progress.phase}"
        if line == self._last:
            return
        self._last = line
        width = shutil.get_terminal_size().columns - 1
        self._screen.write(f"\r\x1b[K{line[:width]}" if self._rewrites else f"{line}\n")
        self._screen.flush()
