"""The reports of a node: throttled log lines that /diagnostics repeats while they are recent."""

from __future__ import annotations

import time
from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from hexapod_control.core.names import shortened
from hexapod_control.ros.transport.polling import PollingNode

THROTTLE_S = 5.0  # between two log lines of the same kind; a report counts as recent for this long
MAX_REPORT_LENGTH = 1500  # characters


class ReportLevel(IntEnum):
    """Severity of a report; the numbers are those of DiagnosticStatus."""

    OK = 0
    WARNING = 1
    ERROR = 2


class SentReport(NamedTuple):
    """The newest report of one kind."""

    level: ReportLevel
    text: str
    when: float  # [s] steady time of the last call of `report`
    logged: float  # [s] steady time at which it was last written to the log


class ReportingNode(PollingNode):
    """A node with throttled reports to its user."""

    def __init__(self, name: str, **options: Any) -> None:
        """`options` are those of rclpy's Node."""
        self._sent_reports: dict[str, SentReport] = {}
        super().__init__(name, **options)

    def report(self, kind: str, level: ReportLevel, text: str, every: float = THROTTLE_S) -> None:
        """Logs a text, each kind at most once per `every` [s]; /diagnostics shows it for THROTTLE_S."""
        now = time.monotonic()
        text = shortened(text, MAX_REPORT_LENGTH)
        last = self._sent_reports.get(kind)
        logged = last.logged if last is not None and now - last.logged < every else now
        if logged == now:
            # rclpy stores one level per calling line, so each level needs its own line.
            if level is ReportLevel.ERROR:
                self.get_logger().error(text)
            elif level is ReportLevel.WARNING:
                self.get_logger().warning(text)
            else:
                self.get_logger().info(text)
        self._sent_reports[kind] = SentReport(level, text, now, logged)

    def withdraw(self, kind: str) -> None:
        """Ends a report whose reason is gone: /diagnostics shows it no longer."""
        self._sent_reports.pop(kind, None)

    def recent_reports(self, level: ReportLevel = ReportLevel.WARNING, within: float = THROTTLE_S) -> list[str]:
        """Returns the texts of the reports of the last `within` [s] with at least this level, most serious first."""
        now = time.monotonic()
        recent = [s for s in self._sent_reports.values() if s.level >= level and now - s.when <= within]
        return [s.text for s in sorted(recent, key=lambda s: (-s.level, -s.when))]

    @property
    def sent_reports(self) -> Mapping[str, SentReport]:
        """The last report of each kind."""
        return MappingProxyType(self._sent_reports)

    def last_report(self, kind: str) -> str:
        """Returns the text of the last report of a kind; empty if there was none."""
        return self._sent_reports[kind].text if kind in self._sent_reports else ""
