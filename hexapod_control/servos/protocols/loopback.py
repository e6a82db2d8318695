# SPDX-License-Identifier: Apache-2.0
"""A bus without hardware: servos that follow their goals exactly, for demonstrations and tests."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hexapod_control.servos.bus.bus_interface import Bus, BusCounters, BusTiming, RawScale, ServoQuantity, ServoReading
from hexapod_control.servos.bus.serial_port import Port

SCALE = RawScale(unit="tick", low=0, high=4095, center=2048, per_rad=4096 / math.tau)


class LoopbackBus(Bus):
    """Servos without lag, load or faults that report their positions. Without torque they do not move."""

    scale = SCALE
    can_read = ServoQuantity.POSITION | ServoQuantity.SPEED

    def __init__(
        self,
        ids: Sequence[int],
        *,
        positions: Mapping[int, float] | None = None,
        speed: float = 6.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Starts at `positions` [raw] (default: the middle of the range), without torque; `speed` [rad/s] at most.

        Raises ValueError for duplicate ids or a speed that is not above 0.
        """
        if len(set(ids)) != len(ids):
            raise ValueError(f"servo ids must differ, are {list(ids)}")
        if not speed > 0.0:
            raise ValueError(f"speed must be above 0 rad/s, is {speed}")
        self.ids = tuple(ids)
        self.counters = BusCounters()
        self.urgent = threading.Event()
        self._fastest = speed * self.scale.per_rad
        self._clock = clock
        self._last = clock()
        self._positions = {i: float((positions or {}).get(i, self.scale.center)) for i in self.ids}
        self._goals = dict(self._positions)
        self._limits = dict.fromkeys(self.ids, self._fastest)  # [raw/s]
        self._speeds = dict.fromkeys(self.ids, 0.0)
        self._on: set[int] = set()

    def identify(self) -> Mapping[int, str]:
        """All ids."""
        return dict.fromkeys(self.ids, "loopback")

    def write_goals(self, goals: Mapping[int, int], duration: float) -> None:
        """Sets goals, clamped. Raises ValueError for an unknown id."""
        unknown = sorted(set(goals) - set(self.ids))
        if unknown:
            raise ValueError(f"servo ids {unknown} are not on this bus, which has {list(self.ids)}")
        self._step()
        self.counters.sent += 1
        for i, goal in goals.items():
            self._goals[i] = float(min(max(goal, self.scale.low), self.scale.high))
            distance = abs(self._goals[i] - self._positions[i])
            self._limits[i] = min(self._fastest, distance / duration) if duration > 0.0 else self._fastest

    def torque(self, ids: Sequence[int], on: bool) -> None:
        """Switches torque of servos."""
        self._step()
        (self._on.update if on else self._on.difference_update)(ids)

    def relax(self) -> None:
        """Switches the torque of all servos off."""
        self.torque(self.ids, False)

    def read(self, ids: Sequence[int], quantities: ServoQuantity) -> dict[int, ServoReading]:
        """Positions [raw] and speeds [raw/s], as requested."""
        self._step()
        self.counters.received += sum(i in self._positions for i in ids)
        return {
            i: ServoReading(
                position=round(self._positions[i]) if ServoQuantity.POSITION in quantities else None,
                speed=self._speeds[i] if ServoQuantity.SPEED in quantities else None,
            )
            for i in ids
            if i in self._positions
        }

    def timing(self, count: int, quantities: ServoQuantity = ServoQuantity.POSITION) -> BusTiming:
        """Always 0: there is no wire."""
        return BusTiming(0.0, 0.0, 0)

    def close(self) -> None:
        """Does nothing."""

    def _step(self) -> None:
        now = self._clock()
        dt = now - self._last
        self._last = now
        for i in self.ids if dt > 0.0 else ():
            error = self._goals[i] - self._positions[i] if i in self._on else 0.0
            most = self._limits[i] * dt
            self._speeds[i] = min(max(error, -most), most) / dt
            self._positions[i] += self._speeds[i] * dt


def open_bus(_port: Port | None, ids: Sequence[int], **options: Any) -> LoopbackBus:
    """Opens the bus; there is no port."""
    return LoopbackBus(ids, **options)
