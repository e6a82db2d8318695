# SPDX-License-Identifier: Apache-2.0
"""Lends the bus to a calibration while the torque is off. The driver's thread performs all transactions.

The lease ends when the driver switches the torque off (estop, disarm) or loses the port.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from hexapod_control.core.refusal import Refusal
from hexapod_control.servos.bus.bus_interface import (
    Bus,
    BusError,
    BusFeatures,
    BusTiming,
    PortGoneError,
    ServoQuantity,
    ServoReading,
)
from hexapod_control.servos.driver.bus_thread import BusRequest

LeaseResult = TypeVar("LeaseResult")
GIVEN_BACK = Refusal("given_back", "the bus was given back")


class BusLease(Bus):
    """A lent Bus. Once the lease is over, the torque is off and every method except `relax` raises BusError."""

    def __init__(self, bus: Bus, ask: Callable[[BusRequest], Refusal | None]) -> None:
        """`ask` makes the bus thread serve a request, and returns its refusal."""
        self.ids = bus.ids
        self.scale = bus.scale
        self.can_read = bus.can_read
        self.counters = bus.counters
        self.urgent = bus.urgent
        self.features = BusFeatures(registers=bus.features.registers)  # ids and torque belong to the driver
        self._bus = bus
        self._ask = ask
        self.over: Refusal | None = None  # the reason, once it is over
        self.begun = 0.0  # [s] steady time at which its newest transaction began, after those of the driver

    def end(self, reason: Refusal) -> None:
        """Ends the lease: every later transaction is refused."""
        self.over = self.over or reason

    def _do(self, act: Callable[[Bus], LeaseResult]) -> LeaseResult:
        results: list[LeaseResult] = []
        failed: list[Exception] = []

        def serve(request: BusRequest) -> Refusal | None:
            if self.over:
                return self.over
            try:
                self.begun = time.monotonic()
                results.append(act(self._bus))
            except PortGoneError as error:
                failed.append(error)
                raise
            except BusError as error:  # an error of the borrower, not of the driver
                failed.append(error)
            return None

        refusal = self._ask(BusRequest(serve))
        if failed:
            raise failed[0]
        if not results:
            raise BusError(refusal)
        return results[0]

    @property
    def awaited(self) -> frozenset[int]:
        """See `Bus.awaited`."""
        return self._bus.awaited

    def identify(self) -> Mapping[int, str]:
        """See `Bus.identify`."""
        return self._do(lambda bus: bus.identify())

    def registers(self, servo: int, address: int, length: int) -> bytes | None:
        """See `Bus.registers`."""
        return self._do(lambda bus: bus.registers(servo, address, length))

    def write_goals(self, goals: Mapping[int, int], duration: float) -> None:
        """See `Bus.write_goals`."""
        self._do(lambda bus: bus.write_goals(goals, duration))

    def torque(self, ids: Sequence[int], on: bool) -> None:
        """See `Bus.torque`."""
        self._do(lambda bus: bus.torque(ids, on))

    def relax(self) -> None:
        """As `Bus.relax`; does nothing once the lease is over, as the torque is off then."""
        if not self.over:
            self._do(lambda bus: bus.relax())

    def read(self, ids: Sequence[int], quantities: ServoQuantity) -> dict[int, ServoReading]:
        """See `Bus.read`."""
        return self._do(lambda bus: bus.read(ids, quantities))

    def supply(self) -> tuple[float | None, float | None]:
        """See `Bus.supply`."""
        return self._do(lambda bus: bus.supply())

    def timing(self, count: int, quantities: ServoQuantity = ServoQuantity.POSITION) -> BusTiming:
        """See `Bus.timing`."""
        return self._bus.timing(count, quantities)

    def close(self) -> None:
        """Does nothing: the port belongs to the driver and stays open."""
