"""A bus in other hands while the servos are let go: the driver's thread does every transaction, between its own.

The loan is over when the driver takes the torque (estop, disarm) or loses the port, whoever has it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from hexapod_control.servos.bus.bus_interface import (
    Bus,
    BusError,
    BusTiming,
    PortGone,
    ServoQuantity,
    ServoReading,
)

LeaseResult = TypeVar("LeaseResult")


class BusLease:
    """A Bus; every method raises BusError once the loan is over, but `relax`: the torque is off then."""

    def __init__(self, bus: Bus, ask: Callable[[BusRequest], str]) -> None:
        """`ask` lets the thread of the bus serve a request and returns its answer."""
        self.ids, self.scale, self.can_read, self.counters = bus.ids, bus.scale, bus.can_read, bus.counters
        self._bus, self._ask = bus, ask
        self.over = ""  # why, once it is

    def end(self, reason: str) -> None:
        """No transaction is done from now on."""
        self.over = self.over or reason

    def _do(self, act: Callable[[Bus], LeaseResult]) -> LeaseResult:
        found: list[LeaseResult] = []
        failed: list[Exception] = []

        def serve(request: BusRequest) -> None:
            if self.over:
                request.finish(self.over)
                return
            try:
                found.append(act(self._bus))
            except PortGone as error:
                failed.append(error)
                raise
            except BusError as error:  # of the borrower, not of the driver
                failed.append(error)
            request.finish()

        answer = self._ask(BusRequest(serve))
        if failed:
            raise failed[0]
        if not found:
            raise BusError(answer)
        return found[0]

    def identify(self) -> Mapping[int, str]:
        """As the bus's."""
        return self._do(lambda bus: bus.identify())

    def write_goals(self, goals: Mapping[int, int], duration: float) -> None:
        """As the bus's."""
        self._do(lambda bus: bus.write_goals(goals, duration))

    def torque(self, ids: Sequence[int], on: bool) -> None:
        """As the bus's."""
        self._do(lambda bus: bus.torque(ids, on))

    def relax(self) -> None:
        """As the bus's, unless the torque was taken with the loan."""
        if not self.over:
            self._do(lambda bus: bus.relax())

    def read(self, ids: Sequence[int], what: ServoQuantity) -> dict[int, ServoReading]:
        """As the bus's."""
        return self._do(lambda bus: bus.read(ids, what))

    def supply(self) -> tuple[float | None, float | None]:
        """As the bus's."""
        return self._do(lambda bus: bus.supply())

    def timing(self, count: int, what: ServoQuantity = ServoQuantity.POSITION) -> BusTiming:
        """As the bus's."""
        return self._bus.timing(count, what)

    def close(self) -> None:
        """The port stays open: it is the driver's."""


class LeaseRegistry:
    """Whether a bus is in other hands."""

    def __init__(self) -> None:
        self.loan: BusLease | None = None

    def lend(self, bus: Bus, ask: Callable[[BusRequest], str]) -> BusLease:
        """Begins a loan."""
        self.loan = BusLease(bus, ask)
        return self.loan

    def take_back(self, reason: str) -> None:
        """Ends the loan, if there is one."""
        if self.loan is not None:
            self.loan.end(reason or "the torque was switched off")
            self.loan = None

    def give_back(self, loan: BusLease) -> None:
        """The end of a loan by who has it; it may be over already."""
        loan.end("the bus was given back")
        self.loan = None if self.loan is loan else self.loan


class BusRequest:
    """Done once, by the thread; waited for by who asks."""

    def __init__(self, act: Callable[[BusRequest], None]) -> None:
        self.act = act
        self.answer = ""
        self.done = threading.Event()

    def serve(self) -> None:
        """Does it; an exception is an answer, too."""
        try:
            self.act(self)
        except Exception as error:
            self.finish(str(error))
            raise

    def finish(self, answer: str = "") -> None:
        """Answers; empty is success."""
        self.answer = answer
        self.done.set()
