# SPDX-License-Identifier: Apache-2.0
"""Commands of pages on their way to the executor: a stop overtakes all others, and what would move is void."""

from __future__ import annotations

from collections import deque
from threading import Lock

from hexapod_control.web.protocol import (
    ALWAYS_ALLOWED,
    DriveMessage,
    LaboratoryMessage,
    MessageBody,
    QueryMessage,
    RecordingMessage,
    RequestMessage,
)
from hexapod_control.web.sessions.client_sessions import Forward

MAX_WAITING = 1000  # commands, while the executor hangs; more are dropped, but not the newest stop


class CommandQueue:
    """A queue between threads."""

    def __init__(self) -> None:
        self._waiting: deque[Forward] = deque()
        self._lock = Lock()

    def put(self, command: Forward) -> None:
        """Adds a command."""
        body = command.body
        with self._lock:
            if _stops(body):
                outliving = [each for each in self._waiting if _outlives_a_stop(each.body)]
                self._waiting = deque([command, *outliving[: MAX_WAITING - 1]])
            elif len(self._waiting) < MAX_WAITING:
                self._waiting.append(command)

    def take(self) -> Forward | None:
        """Removes and returns the next command; None if there is none."""
        with self._lock:
            return self._waiting.popleft() if self._waiting else None


def _stops(body: MessageBody) -> bool:
    return isinstance(body, RequestMessage) and body.what in ALWAYS_ALLOWED


def _outlives_a_stop(body: MessageBody) -> bool:
    """True for what moves no joint: another stop, a zero velocity, a question, a recording, the laboratory."""
    if isinstance(body, DriveMessage):
        return not body.moves
    return _stops(body) or isinstance(body, (QueryMessage, RecordingMessage, LaboratoryMessage))
