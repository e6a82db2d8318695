"""Remarks about a robot, and their seriousness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum


class Seriousness(IntEnum):
    """Seriousness of a remark; higher is worse."""

    FIGURE = 0  # information
    NOTE = 1  # could be better
    PROBLEM = 2  # will not work well
    WRONG = 3  # an implausible value of the file


@dataclass(frozen=True, slots=True)
class Remark:
    """One remark: text, remedy, and the figures behind it."""

    seriousness: Seriousness
    topic: str
    text: str
    change: str = ""
    figures: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        change = f" Change: {self.change}." if self.change else ""
        return f"{self.seriousness.name.lower():8s} {self.text}.{change}"
