# SPDX-License-Identifier: Apache-2.0
"""Usage and health of one robot by weeks: hours, distance, cycles of the joints, highest temperatures, and faults.

The record is a JSON file of at most MAX_WEEKS weeks with at most MAX_FAULTS kinds of faults each.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from hexapod_control.config.file_replacement import replace_file
from hexapod_control.core.names import file_stem
from hexapod_control.nodes.odometry.stored_values import usage_folder
from hexapod_control.nodes.web.diagnostics_summary import Health, first_number
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel

MAX_WEEKS = 53
MAX_FAULTS = 12  # kinds in a week; further ones are counted together
MAX_FAULT_TEXT = 80  # characters
OTHERS = "…"
WRITE_PERIOD_S = 60.0  # between two writes, as flash memory wears out
LOOK_PERIOD_S = 5.0  # between two looks at the diagnostics
TOTALS = {"hours on": "on", "hours walking": "walking", "distance [m]": "distance"}  # keys of odometry, and ours


class WeeklyRecord:
    """Adds up what diagnostics report, by weeks (ISO 8601, UTC)."""

    def __init__(self, text: str = "") -> None:
        """`text` is that of an earlier record; one that cannot be used counts as empty."""
        self._weeks: dict[str, dict[str, Any]] = {}
        self._totals: dict[str, float] | None = None  # counts that were reported last; None: never yet
        self._present: set[str] = set()  # faults
        try:
            self._read(json.loads(text))
        except (ValueError, LookupError, TypeError, AttributeError):
            self._weeks = {}
            self._totals = None

    def _read(self, stored: Any) -> None:
        self._totals = {str(key): _count(value) for key, value in stored["totals"].items()}
        for week in stored["weeks"][:MAX_WEEKS]:
            self._weeks[str(week["week"])] = {
                **{key: _count(week[key]) for key in TOTALS.values()},
                **{key: {str(k): _count(v) for k, v in week[key].items()} for key in ("cycles", "hottest", "faults")},
            }

    @property
    def weeks(self) -> list[dict[str, Any]]:
        """The weeks, newest first, with `week` as "2026-W48", hours, distance [m], and values by joint and fault."""
        return [{"week": name, **self._weeks[name]} for name in sorted(self._weeks, reverse=True)]

    @property
    def text(self) -> str:
        """The content of the file."""
        return json.dumps({"totals": self._totals or {}, "weeks": self.weeks})

    def take(self, now: float, health: Health) -> None:
        """Takes what is reported at a time [s]."""
        usage, joints, temperatures, faults = health
        if not usage:
            return
        year, number, _ = datetime.fromtimestamp(now, UTC).isocalendar()
        week = self._weeks.setdefault(f"{year}-W{number:02d}", _empty())
        counts = {key: first_number(usage.get(key, "")) or 0.0 for key in TOTALS}
        cycles = [first_number(word) or 0.0 for word in usage.get("cycles", "").split()]
        counts |= dict(zip(joints, cycles, strict=True)) if len(cycles) == len(joints) else {}
        for key, more in self._increases(counts).items():
            if key in TOTALS:
                week[TOTALS[key]] += more
            elif more:
                week["cycles"][key] = week["cycles"].get(key, 0.0) + more
        for joint, degrees in temperatures.items():
            if joint in joints and math.isfinite(degrees):
                week["hottest"][joint] = max(degrees, week["hottest"].get(joint, 0.0))
        self._count_faults(week["faults"], {_kind(node, text) for node, text in faults.items()})
        for old in sorted(self._weeks)[:-MAX_WEEKS]:
            del self._weeks[old]

    def _increases(self, counts: Mapping[str, float]) -> dict[str, float]:
        """By how much counts have grown; one that is smaller than before began again at zero."""
        before = dict(counts) if self._totals is None else self._totals
        self._totals = dict(counts)
        return {
            key: count - before.get(key, 0.0) if count >= before.get(key, 0.0) else count
            for key, count in counts.items()
        }

    def _count_faults(self, counted: dict[str, float], present: set[str]) -> None:
        for kind in sorted(present - self._present):
            known = kind in counted or len(counted) < MAX_FAULTS
            counted[kind if known else OTHERS] = counted.get(kind if known else OTHERS, 0.0) + 1.0
        self._present = present


def _empty() -> dict[str, Any]:
    return {**dict.fromkeys(TOTALS.values(), 0.0), "cycles": {}, "hottest": {}, "faults": {}}


def _count(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number) or number < 0.0:
        raise ValueError("must be a count")
    return number


def _kind(node: str, text: str) -> str:
    """A fault without the numbers in its text, so that one with other numbers is the same."""
    return re.sub(r"\d+(\.\d+)?", OTHERS, f"{node}: {text}")[:MAX_FAULT_TEXT]


class KeptWeeks:
    """The record of a real robot in its file; call `watch` every second and `close` at the end."""

    def __init__(self, node: GuardedNode, name: str, send: Callable[[int, str, Mapping[str, Any]], None]) -> None:
        """`name` identifies the robot on this computer; `send(client, kind, fields)` sends a message to a page."""
        self._node = node
        self._path = usage_folder() / f"weeks_{file_stem(name.strip('/').replace('/', '-'), 'robot')}.json"
        self._send = send
        self._record = WeeklyRecord()
        self._ready = False  # the file was read
        self._looked = -math.inf  # [s] steady time
        self._written = -math.inf
        node.threads.run_outside(self._read, self._take_text)

    def _read(self) -> str:
        try:
            return self._path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return ""

    def _take_text(self, text: str) -> None:
        self._record = WeeklyRecord(text)
        self._ready = True

    def is_due(self, now: float) -> bool:
        """True if diagnostics shall be looked at, at a steady time [s]."""
        return self._ready and now - self._looked >= LOOK_PERIOD_S

    def take(self, now: float, at: float, health: Health | None) -> None:
        """Takes what is reported at a steady time [s] and a time of the system clock [s]; None of a simulated robot."""
        self._looked = now
        if health is None:
            return
        self._record.take(at, health)
        if self._written == -math.inf:
            self._written = now
        elif now - self._written >= WRITE_PERIOD_S:
            self._written = now
            text = self._record.text
            self._node.threads.run_outside(lambda: self._write(text), self._report)

    def send_list(self, page: int) -> None:
        """Sends a page all weeks."""
        self._send(page, "weeks", {"list": self._record.weeks})

    def close(self) -> None:
        """Writes the record a last time."""
        if self._ready and self._written > -math.inf:
            self._write(self._record.text)

    def _write(self, text: str) -> str:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self._path, text)
        except OSError as error:
            return f"{self._path}: usage by weeks is not kept: {error.strerror or error}; make it writable"
        return ""

    def _report(self, failure: str) -> None:
        if failure:
            self._node.report("weeks", ReportLevel.WARNING, failure)
