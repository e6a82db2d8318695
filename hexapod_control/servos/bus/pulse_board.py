# SPDX-License-Identifier: Apache-2.0
"""Parts shared by boards for hobby servos: staged goals, clamping, wire timing. Raw units are us; 0 is no pulse.

Hobby servos have no feedback: a board reports the pulse that it sends, not the position of the servo.

A Pololu Maestro is detected before servo frames are sent: it would read the bytes after an FF as a channel and target.
Servos ignore that request as noise. Source: Pololu Maestro User's Guide, "Get Errors" and "Mini SSC Protocol".
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence

from hexapod_control.servos.bus.bus_interface import BusCounters, BusError, NoAnswerError, RawScale, transmission_time
from hexapod_control.servos.bus.model_numbers import WrongModelError
from hexapod_control.servos.bus.serial_port import Port
from hexapod_control.servos.bus.transaction import LATE_MEMORY_S

GET_ERRORS = b"\xa1"  # reply: the error word, two bytes, which is then cleared
CLEARED = b"\x00\x00"
ANSWER_WAIT_S = 0.03


class BoardProbe:
    """Queries the port once, before the first frame."""

    def __init__(self, port: Port) -> None:
        self._port = port
        self._done = False

    def check(self) -> None:
        """Raises WrongModelError if a Maestro answers."""
        if not self._done and self._answer() and self._answer() == CLEARED:
            raise WrongModelError("the port answers like a Pololu Maestro: use protocol maestro")
        self._done = True

    def _answer(self) -> bytes:
        """The error word of a Maestro; empty without a complete reply."""
        self._port.clear()
        self._port.write(GET_ERRORS)
        reply = self._port.read(len(CLEARED), time.monotonic() + ANSWER_WAIT_S)
        return reply if len(reply) == len(CLEARED) else b""


SCALE = RawScale(unit="us", low=500, high=2500, center=1500, per_rad=2000.0 / math.pi)
REPLY_TIMEOUT_S = 0.03  # for a reply of the board, including the USB turnaround
TRY_TIMEOUT_S = 0.25  # for the reply of a slow board at start-up
LATE_WINDOW_S = 0.3  # after REPLY_TIMEOUT_S, in which a late reply is recognised
DRAIN_TIME_S = 0.1  # for which arriving bytes are discarded
FLUSH_BYTES = 4096


def clamp(pulse: float) -> int:
    """A pulse [us] clamped to the permitted range. Raises ValueError if it is not finite."""
    if not math.isfinite(pulse):
        raise ValueError(f"a pulse must be a finite number of microseconds, is {pulse}")
    return SCALE.clamp_goal(round(pulse))


def checked_channels(ids: Sequence[int], last: int, board: str) -> tuple[int, ...]:
    """The ids as a tuple. Raises ValueError if there are none, for duplicates and for channels outside 0 to `last`."""
    wrong = sorted({i for i in ids if not 0 <= i <= last or list(ids).count(i) > 1})
    if wrong or not ids:
        raise ValueError(f"servo ids {wrong or 'missing'}: a {board} takes different channels from 0 to {last}")
    return tuple(ids)


def runs(pulses: Mapping[int, int]) -> list[tuple[int, list[int]]]:
    """Runs of neighbouring channels as (first channel, pulses), for frames that hold first channel and count."""
    found: list[tuple[int, list[int]]] = []
    for channel in sorted(pulses):
        if found and channel == found[-1][0] + len(found[-1][1]):
            found[-1][1].append(pulses[channel])
        else:
            found.append((channel, [pulses[channel]]))
    return found


class PulseStaging:
    """The last goals [us] by servo id, and the servos with torque. Pulses start when the torque is switched on."""

    def __init__(self, ids: Sequence[int]) -> None:
        self.ids = tuple(ids)
        self.goals: dict[int, int] = {}
        self.on: set[int] = set()  # ids with torque

    def stage(self, goals: Mapping[int, int]) -> dict[int, int]:
        """Stores goals, clamped. Raises ValueError for an unknown id."""
        unknown = sorted(set(goals) - set(self.ids))
        if unknown:
            raise ValueError(f"servo ids {unknown} are not on this bus, which has {list(self.ids)}")
        clamped = {i: clamp(goals[i]) for i in goals}
        self.goals.update(clamped)
        return clamped

    def check(self, ids: Sequence[int]) -> None:
        """Raises BusError if one of these servos has no goal: the board would move it to an arbitrary position."""
        missing = sorted(set(ids) - set(self.goals))
        if missing:
            raise BusError(f"servos {missing} have no goal yet: write the goals of all servos, then switch torque on")

    def clear(self) -> None:
        """Clears torque and goals: goals must be staged again before the torque is switched on."""
        self.goals.clear()
        self.on.clear()


class WireTiming:
    """A port with counters, and with deadlines that include the time of the bytes on the wire.

    Replies do not identify their request, so the content of late ones is not used; they show that the board is alive.
    """

    def __init__(self, port: Port) -> None:
        self.port = port
        self.counters = BusCounters()
        self.urgent = threading.Event()  # see Bus
        self._busy_until = 0.0  # steady time [s]
        self._missing = 0  # bytes of the last reply that have not arrived
        # [s] steady time of their deadline, and of the last check for them
        self._due = 0.0
        self._checked = 0.0
        self._last_reply = 0.0  # [s] steady time of the last byte, at least `_due`
        self._last_late = -math.inf  # [s] steady time of the last late reply

    def seconds(self, count: int) -> float:
        """Time [s] of bytes on the wire."""
        return transmission_time(count, self.port.baud)

    def send(self, frame: bytes) -> None:
        """Sends a frame in one write."""
        self._busy_until = max(self._busy_until, time.monotonic()) + self.seconds(len(frame))
        self.counters.sent += 1
        self.port.write(frame)

    def ask(self, request: bytes, count: int, timeout_s: float = REPLY_TIMEOUT_S) -> bytes:
        """Sends a request and waits for `count` bytes; returns fewer after the timeout.

        Ask only when `settled`; otherwise a late reply is taken for the next one.
        """
        self.port.clear()
        self.send(request)
        self._due = self._checked = self._last_reply = self._busy_until + self.seconds(count) + timeout_s
        begin = time.monotonic()
        reply = self.port.read(count, self._due)
        self.counters.waited += max(0.0, min(time.monotonic(), self._due) - begin)
        self._missing = count - len(reply)
        if begin - self._last_late > LATE_MEMORY_S:
            self.counters.lateness = 0.0
        return reply

    def more(self, count: int) -> bytes:
        """Up to `count` bytes that may follow a reply."""
        return self.port.read(count, time.monotonic() + REPLY_TIMEOUT_S)

    def settled(self) -> bool:
        """Whether the line is free for a request: nothing urgent is pending, and no late reply is expected."""
        if self.urgent.is_set():
            return False
        if self._missing:
            self._look_for_late_reply(time.monotonic())
        return not self._missing

    def _look_for_late_reply(self, now: float) -> None:
        data = self.port.read(self._missing, now)
        self._missing -= len(data)
        self._last_reply = now if data else self._last_reply
        if not self._missing:
            lateness = self._checked - self._due + REPLY_TIMEOUT_S
            self.counters.received += 1
            self.counters.late += 1
            self.counters.lateness = max(self.counters.lateness, lateness)
            self._last_late = now
        elif now - self._last_reply >= LATE_WINDOW_S:
            self._missing = 0
            self.counters.timeouts += 1
        self._checked = now

    def refusal(self, request: bytes, echoes: Sequence[bytes], otherwise: str) -> BusError:
        """The error for a silent board: the line echoes if the reply is one of `echoes`, else the text `otherwise`."""
        self.drain()
        if self.ask(request, max(map(len, echoes))) not in echoes:
            return NoAnswerError(otherwise)
        self.counters.echoes += 1
        return BusError(
            f"the line echoes what is sent at {self.port.baud} baud, which no board does: separate TX from RX, or "
            "switch the local echo of the adapter off"
        )

    def drain(self) -> None:
        """Discards bytes that are still arriving."""
        self.port.read(FLUSH_BYTES, time.monotonic() + DRAIN_TIME_S)

    def listen(self, seconds: float) -> None:
        """Waits until the board sends a byte without a request, for at most `seconds`."""
        self.port.read(1, time.monotonic() + seconds)

    def count_reply(self, ids: Sequence[int], good: bool) -> None:
        """Counts a reply for each of these servos as good, or as missing."""
        for i in ids:
            self.counters.misses[i] = 0 if good else self.counters.misses.get(i, 0) + 1

    def accepts(self, ids: Sequence[int], pulses: Sequence[int]) -> bool:
        """Counts a reply with the pulses [us] of these servos. Returns False if it cannot be used.

        With a missing or implausible pulse the whole reply is discarded: a lost byte shifts all that follow.
        """
        complete = len(pulses) == len(ids)
        good = complete and all(pulse == 0 or SCALE.low <= pulse <= SCALE.high for pulse in pulses)
        self.count_reply(ids, good)
        self.counters.received += good
        self.counters.bad += complete and not good
        return good
