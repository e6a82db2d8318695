"""Event log of the page: reports of nodes and causes of stops. It survives a reload of the page."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hexapod_control.nodes.web.diagnostics_summary import STALE, NodeStatus

MAX_EVENTS = 200
MAX_TEXT = 240  # characters


@dataclass(slots=True)
class LogEvent:
    """One line of the log, or several equal ones in a row."""

    id: int
    at: float  # [s] of the system clock
    node: str
    level: int  # of a diagnostic status
    text: str  # as reported, or a key of the table of texts
    values: dict[str, Any] | None = None  # of a key; None for a reported text
    count: int = 1


class EventLog:
    """The newest events, oldest first; not thread-safe."""

    def __init__(self) -> None:
        self._events: deque[LogEvent] = deque(maxlen=MAX_EVENTS)
        self._number = 0
        self._last: dict[str, tuple[int, str]] = {}  # level and text of each node

    @property
    def events(self) -> list[dict[str, Any]]:
        """All events as JSON fields."""
        return [asdict(event) for event in self._events]

    def add(self, at: float, node: str, level: int, text: str, values: Mapping[str, Any] | None = None) -> LogEvent:
        """Appends an event, or counts it if it repeats the last one. Returns it."""
        text = text[:MAX_TEXT]
        fields = None if values is None else dict(values)
        last = self._events[-1] if self._events else None
        if last is not None and (last.node, last.level, last.text, last.values) == (node, level, text, fields):
            last.at = at
            last.count = last.count + 1
            return last
        self._number += 1
        self._events.append(LogEvent(self._number, at, node, level, text, fields))
        return self._events[-1]

    def take(self, at: float, statuses: Mapping[str, tuple[NodeStatus, int]]) -> list[LogEvent]:
        """Appends changed warnings and errors, and nodes that fall silent or report again. Returns the new events.

        `statuses` are the status of each node and the level that is shown, by its short name.
        """
        events = []
        for node, (status, level) in statuses.items():
            if level == STALE:
                new = (level, "log_stale")
                values = {"node": node}
            else:
                new = (level, status.shown_text)
                values = None
            last = self._last.get(node, (0, ""))
            self._last[node] = new
            if level and new != last:
                events.append(self.add(at, node, level, new[1], values))
            elif not level and last[0] == STALE:
                events.append(self.add(at, node, 0, "log_back", {"node": node}))
        return events
