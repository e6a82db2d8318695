# SPDX-License-Identifier: Apache-2.0
"""The connection to the servos: opening, loss, and reopening with increasing pauses."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable

from hexapod_control.core.refusal import Refusal
from hexapod_control.servos.bus.bus_interface import Bus, BusError, PortGoneError
from hexapod_control.servos.bus.model_numbers import WrongModelError
from hexapod_control.servos.driver.presence import ServoClock
from hexapod_control.servos.driver.servo_group import ServoGroup
from hexapod_control.servos.i2c.supply_sensor import SupplySensor
from hexapod_control.servos.settings.servo_section import ServoSettings

MIN_BACK_OFF_S = 0.02  # between the first two attempts to open the port
MAX_BACK_OFF_S = 2.0  # between later ones


class BackOff:
    """Time of the next attempt, with a pause that doubles after every failure. Times are steady [s]."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Starts over after a success."""
        self._wait = MIN_BACK_OFF_S
        self._next = -math.inf

    def failed(self, now: float) -> float:
        """Doubles the pause after a failure. Returns the time at which the next attempt is due."""
        self._next = now + self._wait
        self._wait = min(2.0 * self._wait, MAX_BACK_OFF_S)
        return self._next

    @property
    def next(self) -> float:
        """Time at which the next attempt is due; -inf: at once."""
        return self._next


class BusConnection:
    """The bus and its servos. Owned by one thread. `bus` and `group` are None while it is closed."""

    def __init__(
        self,
        settings: ServoSettings,
        open_bus: Callable[[], Bus],
        clock: Callable[[], float],
        battery: SupplySensor | None = None,
    ) -> None:
        self._battery = battery
        self.bus: Bus | None = None
        self.group: ServoGroup | None = None
        self.lost_reason = Refusal("not_open", "the port is not open yet")
        self.reconnections = 0
        self.servo_clock = ServoClock(clock)
        self._settings = settings
        self._open_bus = open_bus
        self._clock = clock
        self._back_off = BackOff()

    @property
    def period(self) -> float:
        """Duration [s] of a cycle, as the bus allows."""
        return 1.0 / (self.group.budget.rate if self.group else self._settings.rate)

    @property
    def refusal(self) -> Refusal | None:
        """Why nothing can be sent; None while the bus is open."""
        if self.group is not None:
            return None
        return Refusal("not_connected", "the servos are not connected: {reason}", reason=self.lost_reason)

    def open(self, *, off: bool = False) -> None:
        """Opens the bus, checks that all servos answer and reads their positions.

        The torque is unchanged, unless it has to be `off`: that is sent even if servos do not answer. Raises
        PortGoneError or BusError.
        """
        bus = self._open_bus()
        try:
            group = ServoGroup(bus, self._settings, self._clock, self.servo_clock, self._battery)
            self.servo_clock.follow(bus.counters, 1.0 / group.budget.rate)
            group.handshake()
            if off:
                bus.relax()
        except BaseException as error:
            if off and isinstance(error, BusError) and not isinstance(error, WrongModelError):
                with contextlib.suppress(PortGoneError):
                    bus.relax()
            bus.close()
            raise
        self.bus = bus
        self.group = group
        self._back_off.reset()

    def reopen(self, *, off: bool) -> bool:
        """Opens the bus again when an attempt is due; `off` as in `open`. Returns whether it is open now."""
        if self._clock() < self._back_off.next:
            return False
        try:
            self.open(off=off)
        except (PortGoneError, BusError) as error:
            self.lost_reason = Refusal.of(error)
            self._back_off.failed(self._clock())
            return False
        self.reconnections += 1
        return True

    def relax(self) -> None:
        """Switches the torque of all servos off, if the bus is open. Raises PortGoneError."""
        if self.bus is not None:
            self.bus.relax()

    def end_waits(self) -> None:
        """Ends the waits of the bus for late replies, so that a request is served at once. Any thread may call."""
        bus = self.bus
        if bus is not None:
            bus.urgent.set()

    def allow_waits(self) -> None:
        """Lets the bus wait for late replies again."""
        if self.bus is not None:
            self.bus.urgent.clear()

    def lose(self, reason: Refusal) -> None:
        """Closes the bus after a failure; `reopen` tries again later."""
        self.lost_reason = reason
        self.close()
        self._back_off.failed(self._clock())

    def close(self) -> None:
        """Closes the port; torque stays as it is."""
        bus = self.bus
        self.bus = None
        self.group = None
        if bus is not None:
            bus.close()

    def recalibrate(self, settings: ServoSettings) -> None:
        """Uses new calibrations of the same servos."""
        self._settings = settings
        if self.group is not None:
            self.group = self.group.recalibrated(settings)
