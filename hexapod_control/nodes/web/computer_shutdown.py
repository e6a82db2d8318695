# SPDX-License-Identifier: Apache-2.0
"""Switches the computer off at the request of a page: the robot sits first.

Only a command that the owner has configured is run. Another command that moves the robot ends the request.
"""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Callable, Mapping
from typing import Any

from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.nodes.web.robot_feed import RobotFeed
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.web.protocol import (
    DanceMessage,
    DriveMessage,
    MessageBody,
    PlayMessage,
    RequestMessage,
    RouteMessage,
)

MAX_SIT_S = 30.0
MAX_COMMAND_S = 20.0  # after which a command that goes on is left alone
DOWN = ("", *(state.value for state in (RobotState.SITTING, RobotState.UNKNOWN, RobotState.FALLEN, RobotState.FAULT)))
ENDING = (DanceMessage, DriveMessage, PlayMessage, RequestMessage, RouteMessage)


class ComputerShutdown:
    """At most one request; `watch` is called every second, `overrule` with every other command."""

    def __init__(
        self,
        node: GuardedNode,
        command: str,
        feed: RobotFeed,
        sit: Callable[[], None],
        log: Callable[[ReportLevel, str, Mapping[str, Any]], None],
    ) -> None:
        """`command` switches the computer off, empty if pages may not; `sit` makes the robot sit.

        `log(level, key, values)` adds an event. Raises ValueError for a command with an open quotation.
        """
        self._node = node
        self._words = shlex.split(command)
        self._feed = feed
        self._sit = sit
        self._log = log
        self._since: float | None = None  # [s] steady time of the request; None: there is none

    @property
    def allowed(self) -> bool:
        """Whether pages may switch the computer off."""
        return bool(self._words)

    def request(self, by: str) -> bool:
        """Makes the robot sit, and then switches the computer off. Returns False if that is not allowed."""
        if self.allowed and self._since is None:
            self._since = time.monotonic()
            self._log(ReportLevel.WARNING, "log_shutdown", {"by": by})
            if self._feed.posture not in DOWN:
                self._sit()
        return self.allowed

    def overrule(self, body: MessageBody, by: str) -> None:
        """Ends the request because of another command of a person, if that moves or stops the robot."""
        if self._since is not None and isinstance(body, ENDING):
            self._since = None
            self._log(ReportLevel.OK, "log_shutdown_ended", {"by": by})

    def watch(self) -> None:
        """Runs the command as soon as the robot sits."""
        if self._since is None:
            return
        if self._feed.posture in DOWN:
            self._since = None
            self._node.threads.run_outside(self._run, self._report)
        elif time.monotonic() - self._since > MAX_SIT_S:
            self._since = None
            self._log(ReportLevel.WARNING, "log_shutdown_standing", {})

    def _run(self) -> str:
        """Returns why the command failed; empty if it did not."""
        try:
            done = subprocess.run(self._words, capture_output=True, text=True, timeout=MAX_COMMAND_S, check=False)
        except subprocess.TimeoutExpired:
            return ""
        except OSError as error:
            return str(error)
        return done.stderr.strip() or f"exit code {done.returncode}" if done.returncode else ""

    def _report(self, failure: str) -> None:
        if failure:
            self._log(ReportLevel.ERROR, "log_shutdown_failed", {"text": failure[:200]})
