# SPDX-License-Identifier: Apache-2.0
"""A ring buffer of the newest messages of all topics, bounded in time and in size."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

MAX_BYTES = 256 * 1024 * 1024
OVERHEAD_BYTES = 200  # memory per message besides its data


class RecordedMessage(NamedTuple):
    """One serialized message."""

    at: int  # [ns] of the steady clock
    topic: str
    data: bytes  # CDR


class RingBuffer:
    """Messages of the last seconds; older ones are dropped, except the last one of each latched topic."""

    def __init__(self, seconds: float, max_bytes: int = MAX_BYTES) -> None:
        """Keeps messages of at most `seconds` [s] and `max_bytes` in total."""
        self._window_ns = round(seconds * 1e9)
        self._max_bytes = max_bytes
        self._messages: deque[RecordedMessage] = deque()
        self._evicted_latched: dict[str, RecordedMessage] = {}  # last dropped message of each latched topic
        self._latched: set[str] = set()
        self.size = 0  # [B]

    def latch(self, topic: str) -> None:
        """Marks a topic as latched: its last message is never dropped."""
        self._latched.add(topic)

    def add(self, message: RecordedMessage) -> None:
        """Appends the newest message."""
        self._messages.append(message)
        self.size += len(message.data) + OVERHEAD_BYTES
        self.expire(message.at)

    def expire(self, now: int) -> None:
        """Drops messages that are too old at time `now` [ns], and the oldest if the buffer is too large."""
        while self._messages and (now - self._messages[0].at > self._window_ns or self.size > self._max_bytes):
            old = self._messages.popleft()
            self.size -= len(old.data) + OVERHEAD_BYTES
            if old.topic in self._latched:
                self._evicted_latched[old.topic] = old

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def seconds(self) -> float:
        """Time [s] from the oldest to the newest message."""
        return 1e-9 * (self._messages[-1].at - self._messages[0].at) if self._messages else 0.0

    def snapshot(self) -> Sequence[RecordedMessage]:
        """All messages, oldest first; dropped latched messages come first, with the time of the oldest message."""
        if not self._messages:
            return [*self._evicted_latched.values()]
        begin = self._messages[0].at
        return [*(message._replace(at=begin) for message in self._evicted_latched.values()), *self._messages]

    def latched(self, now: int) -> list[RecordedMessage]:
        """The last message of each latched topic, as if it had arrived at time `now` [ns]."""
        newest = {**self._evicted_latched, **{m.topic: m for m in self._messages if m.topic in self._latched}}
        return [message._replace(at=now) for message in newest.values()]
