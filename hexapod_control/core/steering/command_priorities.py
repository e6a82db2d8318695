# SPDX-License-Identifier: Apache-2.0
"""The sources of velocity commands with their priorities and timeouts.

config/twist_mux.yaml contains the same for twist_mux. Without a mux all sources publish `cmd_vel` themselves: each one
publishes only while it is in use, and announces that on the topic `driving` with its name in this table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

ANNOUNCEMENT_TIMEOUT_S = 1.0  # for which an announcement on `driving` is valid
ANNOUNCEMENT_PERIOD_S = 0.25  # between two announcements


@dataclass(frozen=True, slots=True)
class CommandSource:
    """A source of velocity commands."""

    name: str
    topic: str  # its input of twist_mux
    priority: int  # in [0, 255], the highest wins
    timeout: float  # [s] of silence; then a lower priority may drive

    def __post_init__(self) -> None:
        if not 0 <= self.priority <= 255:
            raise ValueError(f"source {self.name}: priority must be in [0, 255], is {self.priority}")
        if not 0.0 < self.timeout <= 10.0:
            raise ValueError(f"source {self.name}: timeout must be in (0, 10] s, is {self.timeout}")


SOURCES = {
    source.name: source
    for source in (
        CommandSource("assistant", "mcp_vel", 5, 0.5),
        CommandSource("navigation", "nav_vel", 10, 0.5),
        CommandSource("keyboard", "key_vel", 90, 0.5),
        CommandSource("joystick", "joy_vel", 100, 0.5),
        CommandSource("tablet", "tab_vel", 100, 0.5),
    )
}


def highest_priority(names: Iterable[str]) -> str:
    """Returns the name with the highest priority, of equal ones the first in the table; empty without names."""
    order = list(SOURCES)

    def rank(name: str) -> tuple[int, int, str]:
        known = SOURCES.get(name)
        return (-known.priority, order.index(name), "") if known else (0, len(order), name)

    return min(names, key=rank, default="")
