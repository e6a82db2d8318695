# SPDX-License-Identifier: Apache-2.0
"""The thread that owns the bus, and the requests of other threads to it."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable
from enum import Enum

from hexapod_control.core.refusal import Refusal

ANSWER_TIMEOUT_S = 5.0  # of the thread to a caller
OVERRUN_SHARE = 0.5  # of a cycle period; a cycle that starts later than this counts as an overrun


class Answer(Enum):
    """When the caller of a request is answered, if not at once."""

    LATER = "later"  # `finish` is called


class BusRequest:
    """A request to the bus thread, which serves it once; the caller waits for `done` and reads `refusal`."""

    def __init__(self, act: Callable[[BusRequest], Refusal | Answer | None], *, urgent: bool = False) -> None:
        """The bus thread calls `act`. An `urgent` request does not wait for late replies."""
        self.act = act
        self.urgent = urgent
        self.refusal: Refusal | None = None
        self.done = threading.Event()

    def serve(self) -> None:
        """Runs the request. An exception becomes its refusal and is raised again for the driver."""
        try:
            answer = self.act(self)
        except Exception as error:
            self.finish(Refusal.of(error))
            raise
        if answer is not Answer.LATER:
            self.finish(answer)

    def finish(self, refusal: Refusal | None = None) -> None:
        """Answers the caller."""
        self.refusal = refusal
        self.done.set()


class BusThread:
    """Runs cycles at their period and serves requests of other threads. Life cycle: `start`, `stop`.

    Before `start`, requests are served by cycles on the caller's thread.
    """

    def __init__(
        self,
        cycle: Callable[[], None],
        period: Callable[[], float],
        clock: Callable[[], float],
        note: Callable[[str, str], None],
        end_waits: Callable[[], None],
    ) -> None:
        """`cycle` serves `requests`; `period` returns that of a cycle [s], which may change.

        `note` reports an event by kind and text; `end_waits` ends the waits of a cycle.
        """
        self.requests: deque[BusRequest] = deque()
        self.overruns = 0  # cycles that started too late
        self.after_cycle: Callable[[], None] = _ignore
        self._cycle = cycle
        self._period = period
        self._clock = clock
        self._note = note
        self._end_waits = end_waits
        self._condition = threading.Condition()
        self._ending = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts the thread."""
        self._thread = threading.Thread(target=self._run, name="servos", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stops the thread and waits until it has ended."""
        self._ending = True
        if self._thread is not None:
            with self._condition:
                self._condition.notify()
            self._thread.join(ANSWER_TIMEOUT_S)

    def post(self, act: Callable[[], None]) -> None:
        """Queues an action for the next cycle, without waiting for it."""
        self.requests.append(BusRequest(lambda request: act()))

    def ask(self, request: BusRequest, timeout_s: float, *, first: bool = False) -> bool:
        """Makes the thread serve a request, before all others if `first`. Returns whether it answered in time."""
        (self.requests.appendleft if first else self.requests.append)(request)
        while self._thread is None and not request.done.is_set():
            self._cycle()
        if request.urgent:
            self._end_waits()
        with self._condition:
            self._condition.notify()
        return request.done.wait(timeout_s)

    def withdraw(self, request: BusRequest) -> None:
        """Withdraws a request, unless it is being served."""
        with contextlib.suppress(ValueError):
            self.requests.remove(request)

    def _run(self) -> None:
        due = self._clock()
        while not self._ending:
            self._cycle()
            self._notify()
            due += self._period()
            now = self._clock()
            due = min(due, now + self._period())  # cycles that serve requests run between the periodic ones
            if now > due + OVERRUN_SHARE * self._period():
                self.overruns += 1
                due = now
            self._rest(due)

    def _notify(self) -> None:
        """Announces the end of a cycle. A callback that raises is removed, so that the bus thread continues."""
        try:
            self.after_cycle()
        except Exception as error:
            self.after_cycle = _ignore
            text = f"joint_states are published by a timer from now on: {type(error).__name__}: {error}; report it"
            self._note("wake", text)

    def _rest(self, due: float) -> None:
        """Sleeps until a steady time [s] or a request."""
        with self._condition:
            while not (self._ending or self.requests):
                wait = due - self._clock()
                if wait <= 0.0:
                    return
                self._condition.wait(wait)


def _ignore() -> None:
    """The callback when none is set."""
