# SPDX-License-Identifier: Apache-2.0
"""Requests and replies over a port, for all protocols: deadlines, partial replies, late replies, counters."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field

from hexapod_control.servos.bus.bus_interface import BusCounters, NoAnswerError, transmission_time
from hexapod_control.servos.bus.ff_frames import BROADCAST, FFPacket, PacketDecoder
from hexapod_control.servos.bus.serial_port import Port

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
        answers = self.answers
        self.answers = {}
        return answers


class LateReplies:
    """Estimates how late replies are at present, and how long to wait for a missing one. Times are steady [s].

    A servo that is absent and a reply that is late look the same at the deadline. Waiting for every missing reply would
    stop the robot for each unplugged servo; never waiting would read the late reply as the answer to the next request.
    So replies are waited for while some are known to be late, and as a probe if known servos fall silent at once.
    """

    def __init__(self) -> None:
        self.lateness = 0.0  # [s] maximum of the replies that are late at present; 0 if none is
        self._gap = 0.0  # [s] maximum time without a byte before a late reply
        # [s] of the last late reply, and of the last reply
        self._last_late = float("-inf")
        self._last_reply = self._last_late
        self._unanswered = 0  # consecutive requests
        self._known: set[int] = set()  # ids that have responded

    def record_reply(self, servo: int, now: float) -> None:
        """Records an answer of a servo."""
        self._forget(now)
        self._last_reply = now
        self._unanswered = 0
        self._known.add(servo)

    def record_late(self, lateness: float, gap: float, now: float) -> None:
        """Records a reply that was late by `lateness` [s], after `gap` [s] without a reply."""
        self.lateness = max(self.lateness, lateness)
        self._gap = max(self._gap, gap)
        self._last_late = now

    def record_missing(self, request: OpenRequest) -> None:
        """Records a request that has ended with missing replies."""
        if request.missing == request.ids and request.ids <= self._known:
            self._unanswered += 1

    def wait_time(self, request: OpenRequest, now: float) -> float:
        """Time [s] after the last reply in which the next reply to a request is still expected."""
        self._forget(now)
        if self._gap:  # twice the longest pause that was seen: delays of an adapter or computer vary
            return min(max(2.0 * self._gap, LATE_PROBE_WAIT_S), MAX_LATE_WAIT_S)
        # One silent servo is a bad cable; all servos of a request, or several requests in a row, may be a stalled line.
        sudden = request.missing == request.ids <= self._known and now - self._last_reply < LATE_PROBE_WINDOW_S
        several = len(request.ids) > 1 or self._unanswered >= MIN_UNANSWERED - 1
        return LATE_PROBE_WAIT_S if sudden and several else 0.0

    def _forget(self, now: float) -> None:
        if now - self._last_late > LATE_MEMORY_S:
            self.lateness = self._gap = 0.0


FLUSH_BYTES = 4096
MAX_WAIT_S = 0.1  # for late replies, in one call
URGENT_CHECK_S = 0.005  # between checks for urgent requests while waiting for late replies
URGENT_READ_S = 0.02  # the same for replies that are not late yet: most arrive in one piece before it
MAX_ABANDONED = 20  # stored requests whose late replies are recognised
MAX_AGE_S = 0.5  # of a late reply that is still used


@dataclass(frozen=True, slots=True)
class ReplyTiming:
    """Time that a reply may take in addition to its transmission."""

    return_delay: float = 0.0  # [s] of a servo between request and reply, as configured
    turnaround: float = 0.001  # [s] of the adapter between the last byte in and the first byte out
    margin: float = 0.008  # [s] for the scheduler of this computer


class Transaction:
    """Sends requests over a port and collects their replies.

    Replies may be late because this computer or the adapter is too slow. A late reply is matched to its request; from
    then on late replies are waited for, because further requests would add to the delay.
    """

    def __init__(self, port: Port, wait: ReplyTiming | None = None) -> None:
        """`wait` is the time that replies may take in addition to their transmission."""
        self.port = port
        self.wait = wait or ReplyTiming()
        self.counters = BusCounters()
        self.urgent = threading.Event()  # see Bus
        self.awaited: frozenset[int] = frozenset()  # see Bus
        self.received_bytes = 0  # since the start, good or not
        self._late = LateReplies()
        self._open: OpenRequest | None = None  # whose late replies are waited for
        self._abandoned: deque[OpenRequest] = deque(maxlen=MAX_ABANDONED)  # with missing replies
        self._finished: dict[bytes, OpenRequest] = {}  # by frame; their late answers arrived during other requests
        self._busy_until = 0.0  # when the last byte sent has been transmitted (time.monotonic() [s])

    def send(self, frame: bytes, count: int = 1) -> None:
        """Sends `count` frames in ONE write, which returns long before they are transmitted."""
        self._busy_until = max(self._busy_until, time.monotonic()) + self.seconds(len(frame))
        self.port.write(frame)
        self.counters.sent += count

    def ask(self, frame: bytes, ids: Collection[int], size: int, decoder: PacketDecoder) -> dict[int, FFPacket]:
        """Sends a request that these servos answer with `size` bytes each. Missing answers are not in the result.

        `awaited` are the servos whose answers may still arrive; the next call with this frame returns them.
        """
        if self.urgent.is_set():
            self.awaited = frozenset(ids)
            return {}
        self.awaited = frozenset()
        request = self._open
        self._open = None
        if request is not None:  # first the replies that are on their way: a second request would collide with them
            self._collect(request)
            if request.frame != frame:
                self._finish(request)
                request = None
        if request is None and (answers := self._finished_before(frame)):
            return answers
        if self._open is not None:  # the line may still be busy with the replies to another request
            self.awaited = frozenset(ids)
            return {}
        if request is None:
            request = self._begin(frame, ids, size, decoder)
            self._collect(request)
        if not self._end(request):
            self._open = request
            self.awaited = frozenset(request.missing)
        return request.take()

    def ask_blocking(
        self, frame: bytes, ids: Collection[int], size: int, decoder: PacketDecoder
    ) -> dict[int, FFPacket]:
        """As `ask`, but waits for late answers too, unless something is urgent."""
        answers = self.ask(frame, ids, size, decoder)
        while self.awaited and not self.urgent.is_set():
            answers |= self.ask(frame, ids, size, decoder)
        return answers

    def ask_once(self, frame: bytes, size: int, decoder: PacketDecoder) -> FFPacket | None:
        """Sends a request that one packet of `size` bytes with the broadcast id answers; None if it is missing."""
        return self.ask(frame, [BROADCAST], size, decoder).get(BROADCAST)

    def reply_timeout(self, size: int, count: int) -> float:
        """Time [s] after the request that `count` replies of `size` bytes may take."""
        return self.seconds(size * count) + self.wait.turnaround + count * self.wait.return_delay + self.wait.margin

    def seconds(self, size: int) -> float:
        """Time of `size` bytes on the wire [s]."""
        return transmission_time(size, self.port.baud)

    def no_answer(self) -> NoAnswerError:
        """The error to raise when no servo has answered."""
        if self.counters.echoes:
            return NoAnswerError(
                f"only the echo of what is sent comes back at {self.port.baud} baud; no servo answers: check the "
                "servos' power supply, that TX and RX are not merely joined, the baud and the ids"
            )
        if self.received_bytes:
            return NoAnswerError(
                f"bytes arrive at {self.port.baud} baud, but no valid frame: wrong baud or protocol, "
                "or two servos with one id; check both against the robot file"
            )
        return NoAnswerError(
            f"no servo answers at {self.port.baud} baud: check the servos' power supply, the data line and its "
            "direction, the baud and the ids"
        )

    # --- one request --------------------------------------------------------------------------------

    def _finish(self, request: OpenRequest) -> None:
        """Stores the answers to a request that has ended, for its next caller; one that has not stays open."""
        if not self._end(request):
            self._open = request
            return
        recent = (each for each in self._finished.values() if _is_recent(each))
        self._finished = {each.frame: each for each in (*recent, request)}

    def _finished_before(self, frame: bytes) -> dict[int, FFPacket]:
        """Recent late answers to an earlier request with the same frame."""
        request = self._finished.pop(frame, None)
        return request.take() if request is not None and _is_recent(request) else {}

    def _begin(self, frame: bytes, ids: Collection[int], size: int, decoder: PacketDecoder) -> OpenRequest:
        self._clear()
        self.send(frame)
        due = self._busy_until + self.reply_timeout(size, len(ids))  # from the end of what is still being transmitted
        return OpenRequest(frame, frozenset(ids), size, decoder, due, due, due, set(ids))

    def _clear(self) -> None:
        """Discards unread bytes, unless they may be replies to earlier requests."""
        while self._abandoned and time.monotonic() - self._abandoned[0].due > LATE_MEMORY_S:
            self._abandoned.popleft()
        if self._abandoned:
            self._recognise(self._read(FLUSH_BYTES, time.monotonic()), frozenset())
        else:
            self.port.clear()

    def _recognise(self, data: bytes, asked: frozenset[int]) -> None:
        """Matches late replies to abandoned requests, except for servos that have been `asked` again."""
        for request in [each for each in self._abandoned if data and not each.missing & asked]:
            missing = len(request.missing)
            matched = self._take(request, data, request.checked)
            self.counters.timeouts -= missing - len(request.missing)
            if not request.missing:
                self._abandoned.remove(request)
            if matched:
                return

    def _collect(self, request: OpenRequest) -> None:
        """Reads replies until all have arrived, no more are expected, or MAX_WAIT_S after their deadline.

        While something is urgent, none are waited for; they stay `awaited`.
        """
        # In time: blocks until all bytes are there, or the deadline; a full read means that more may be waiting.
        more = time.monotonic() < request.due
        while request.missing and more and not self.urgent.is_set():
            size = request.size * len(request.missing)
            data = self._read(size, min(request.due, time.monotonic() + URGENT_READ_S))
            self._take(request, data)
            self._recognise(data, request.ids)
            more = len(data) == size or time.monotonic() < request.due
        # Late: byte by byte, as its time is unknown; at most MAX_WAIT_S, so that the cycle can send goals in between.
        latest = max(time.monotonic(), request.due) + MAX_WAIT_S
        more = True
        while request.missing and more and not self.urgent.is_set():
            begin = time.monotonic()
            limit = request.last_late_reply + self._late.wait_time(request, begin)
            data = self._read(1, min(limit, latest, begin + URGENT_CHECK_S))
            arrival = request.checked + time.monotonic() - begin  # excluding the time without checks
            data += self._read(request.size * len(request.missing), time.monotonic()) if data else b""
            waiting = begin < limit if data else time.monotonic() < min(limit, latest)
            more = self._take(request, data, arrival) or waiting
            self._recognise(data, request.ids)
            request.over = not more and limit <= latest  # else MAX_WAIT_S has ended this call, not the request

    def _read(self, size: int, deadline: float) -> bytes:
        begin = time.monotonic()
        data = self.port.read(size, deadline)
        self.counters.waited += max(0.0, min(time.monotonic(), deadline) - begin)
        self.received_bytes += len(data)
        return data

    def _take(self, request: OpenRequest, data: bytes, arrival: float | None = None) -> bool:
        """Decodes bytes for a request; `arrival` (steady time [s]) of late ones. Returns whether they had answers."""
        request.received += data
        counters = self.counters
        missing = len(request.missing)
        for packet in request.decoder.feed(data):
            if packet.id not in request.missing:
                continue
            request.missing.remove(packet.id)
            request.answers[packet.id] = packet
            counters.received += 1
            counters.misses[packet.id] = 0
            self._late.record_reply(packet.id, time.monotonic())
            if arrival is not None:
                counters.late += 1
                lateness = arrival - request.due + self.wait.margin
                self._late.record_late(lateness, time.monotonic() - request.last_late_reply, time.monotonic())
                request.last_late_reply = max(request.last_late_reply, arrival)
        request.checked = max(request.checked, time.monotonic())
        counters.lateness = self._late.lateness
        return len(request.missing) < missing

    def _end(self, request: OpenRequest) -> bool:
        """Ends a request if no more replies are expected, and counts the missing ones. Returns whether it has ended."""
        if request.missing and not request.over:
            return False
        echoed = request.frame in request.received
        nothing = request.missing == request.ids
        garbled = nothing and len(request.received) > echoed * len(request.frame)  # without any frame header
        self._late.record_missing(request)
        self.counters.echoes += echoed
        self.counters.bad += max(request.decoder.bad, garbled)
        self.counters.timeouts += len(request.missing)
        for servo in request.missing:
            self.counters.misses[servo] = self.counters.misses.get(servo, 0) + 1
        if request.missing:
            self._abandoned.append(request)
        return True


def _is_recent(request: OpenRequest) -> bool:
    """Whether the answers to a request are new enough to be used."""
    return time.monotonic() - request.checked < MAX_AGE_S
