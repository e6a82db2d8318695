"""What a pulse board sends while a servo is on its way."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ramp:
    """The pulse [us] that goes from one width to another; 0 is no pulse."""

    begin: float = 0.0
    end: float = 0.0
    start: float = 0.0  # [s]
    duration: float = 0.0

    def at(self, now: float) -> float:
        """The pulse at a time [s]."""
        if not self.moving(now):
            return self.end
        return self.begin + (self.end - self.begin) * max(now - self.start, 0.0) / self.duration

    def moving(self, now: float) -> bool:
        """Whether it is still on its way at a time [s]."""
        return now < self.start + self.duration
