"""Which source may send velocity commands: the one table of priorities and timeouts.

config/twist_mux.yaml has the same for twist_mux. Without a mux all sources publish `cmd_vel` themselves; then each
sends only while it is in use, and announces that on the topic `driving` with its name in this table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

ANNOUNCEMENT_TIMEOUT_S = 1.0  # [s] for which an announcement on `driving` counts
ANNOUNCEMENT_PERIOD_S = 0.25  # [s] between two announcements


@dataclass(frozen=True, slots=True)
class CommandSource:
    """A source of velocity commands."""

    name: str
    topic: str  # its input of the mux
    priority: int  # the higher wins, in [0, 255]
    timeout: float  # [s] of silence after which the next one has its turn

    def __post_init__(self) -> None:
        if not 0 <= self.priority <= 255:
            raise ValueError(f"source {self.name}: priority must be in [0, 255], is {self.priority}")
        if not 0.0 < self.timeout <= 10.0:
            raise ValueError(f"source {self.name}: timeout must be in (0, 10] s, is {self.timeout}")


SOURCES = {
    source.name: source
    for source in (
        CommandSource("navigation", "nav_vel", 10, 0.5),
        CommandSource("keyboard", "key_vel", 90, 0.5),
        CommandSource("joystick", "joy_vel", 100, 0.5),
        CommandSource("tablet", "tab_vel", 100, 0.5),
    )
}


def foremost(names: Iterable[str]) -> str:
    """The name with the highest priority, the first in the table of several; empty if there is none."""
    order = list(SOURCES)

    def rank(name: str) -> tuple[int, int, str]:
        known = SOURCES.get(name)
        return (-known.priority, order.index(name), "") if known else (0, len(order), name)

    return min(names, key=rank, default="")
