"""Requests with outstanding replies, and how long to wait for a late one."""

from __future__ import annotations

from dataclasses import dataclass, field

from hexapod_control.servos.bus.ff_frames import FFPacket, PacketDecoder

LATE_MEMORY_S = 1.0  # for which further late replies are expected after a late one
MAX_LATE_WAIT_S = 0.25  # for the next late reply
LATE_PROBE_WAIT_S = 0.04  # for late replies when servos suddenly stop responding
LATE_PROBE_WINDOW_S = 1.0  # after the last reply, in which missing replies may be late
MIN_UNANSWERED = 3  # consecutive requests without a reply, including the present one, that may mean late replies


@dataclass(slots=True)
class OpenRequest:
    """A request with outstanding replies."""

    frame: bytes
    ids: frozenset[int]
    size: int  # bytes of each reply
    decoder: PacketDecoder
    due: float  # [s] steady time until which replies are in time
    last_late_reply: float  # [s] steady time, at least `due`
    checked: float  # [s] steady time of the last check for replies, at least `due`
    missing: set[int]
    received: bytes = b""
    answers: dict[int, FFPacket] = field(default_factory=dict)  # not returned to the caller yet
    over: bool = False  # no more replies are expected

    def take(self) -> dict[int, FFPacket]:
        """The answers since the last call."""
        answers, self.answers = self.answers, {}
        return answers


class LateReplies:
    """Estimates how late replies are at present, and how long to wait for a missing one. Times are steady [s]."""

    def __init__(self) -> None:
        self.lateness = 0.0  # [s] maximum of the replies that are late at present; 0 if none is
        self._gap = 0.0  # [s] maximum time without a byte before a late reply
        self._last_late = self._last_reply = float("-inf")  # [s] of the last late reply, and of the last reply
        self._unanswered = 0  # consecutive requests
        self._known: set[int] = set()  # ids that have responded

    def record_reply(self, servo: int, now: float) -> None:
        """Records an answer of a servo."""
        self._forget(now)
        self._last_reply, self._unanswered = now, 0
        self._known.add(servo)

    def record_late(self, lateness: float, gap: float, now: float) -> None:
        """Records a reply that was late by `lateness` [s], after `gap` [s] without a reply."""
        self.lateness, self._gap, self._last_late = max(self.lateness, lateness), max(self._gap, gap), now

    def record_missing(self, request: OpenRequest) -> None:
        """Records a request that has ended with missing replies."""
        if request.missing == request.ids and request.ids <= self._known:
            self._unanswered += 1

    def wait_time(self, request: OpenRequest, now: float) -> float:
        """Time [s] after the last reply in which the next reply to a request is still expected."""
        self._forget(now)
        if self._gap:
            return min(max(2.0 * self._gap, LATE_PROBE_WAIT_S), MAX_LATE_WAIT_S)
        sudden = request.missing == request.ids <= self._known and now - self._last_reply < LATE_PROBE_WINDOW_S
        several = len(request.ids) > 1 or self._unanswered >= MIN_UNANSWERED - 1
        return LATE_PROBE_WAIT_S if sudden and several else 0.0

    def _forget(self, now: float) -> None:
        if now - self._last_late > LATE_MEMORY_S:
            self.lateness = self._gap = 0.0
