# SPDX-License-Identifier: Apache-2.0
"""The gait clock: lift-off time of each leg, and planned changes to another gait.

Times are in units of the swing time, so that the swing time may vary without changing the schedule. Each leg has a
countdown to its next lift-off, to which one cycle is added at each lift-off. A change of gait is planned in advance:
after `time_to_change` the old gait ends, and the new one begins at a phase. So the stance that follows a touch-down is
known while the foot is still in the air, and the foot can aim at the start of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.gait_table import Gait

SHORTEST_STANCE = 0.1  # [swing times]: a leg due to lift off sooner after its touch-down skips this lift-off


@dataclass(frozen=True, slots=True)
class GaitChange:
    """A planned change of gait."""

    gait: Gait  # the new one
    phase: float  # in [0, 1), at which it begins
    time_to_change: float  # [swing times] from now


class GaitClock(Copyable):
    """Lift-off times of all legs."""

    change: GaitChange | None
    gait: Gait
    phase: float
    until: list[float]  # per leg: time to its next lift-off in this gait [swing times]

    def __init__(self, gait: Gait) -> None:
        """Starts at phase 0 of the gait."""
        self.enter(gait, 0.0)

    def enter(self, gait: Gait, phase: float) -> None:
        """Switches to a gait at once, at a phase in [0, 1)."""
        self.gait = gait
        self.phase = phase
        self.change = None
        self.until = [gait.until_lift_off(leg, phase) for leg in range(len(gait.lift_off))]

    def advance(self, step: float, flight: list[float]) -> list[tuple[int, float]]:
        """Advances by `step`. Returns (leg, time since its lift-off) of the legs that lifted off, in leg order.

        `flight` is the time of each leg to its touch-down at the start of the step, 0 if planted. All times are in
        swing times. A leg that is due to lift off in flight, or shortly after touch-down, skips this lift-off.
        """
        if self.change is not None and self.change.time_to_change <= step:
            change = self.change
            lifted = self._run(change.time_to_change, flight)
            flight = [max(0.0, time - change.time_to_change) for time in flight]
            for leg, since in lifted:
                flight[leg] = 1.0 - since
            self.enter(change.gait, change.phase)
            rest = step - change.time_to_change
            return [(leg, since + rest) for leg, since in lifted] + self._run(rest, flight)
        lifted = self._run(step, flight)
        if self.change is not None:
            self.change = GaitChange(self.change.gait, self.change.phase, self.change.time_to_change - step)
        return lifted

    def _run(self, step: float, flight: list[float]) -> list[tuple[int, float]]:
        """As `advance`, within one gait."""
        lifted = []
        cycle = self.gait.cycle
        until = self.until
        for leg in range(len(until)):
            remaining = until[leg] - step
            if remaining <= 0.0:
                if flight[leg] == 0.0 or flight[leg] + SHORTEST_STANCE <= until[leg]:
                    lifted.append((leg, -remaining))
                remaining += cycle
            until[leg] = remaining
        self.phase = (self.phase + step / cycle) % 1.0
        return lifted

    def stance_time(self, leg: int, flight: float) -> float:
        """Planned stance time of a leg after a touch-down in the time `flight`, 0 if it is planted [swing times]."""
        cycle = self.gait.cycle
        change = self.change
        earliest = flight + SHORTEST_STANCE if flight > 0.0 else 0.0
        lift_off = self.until[leg]
        if lift_off < earliest:
            lift_off += cycle
        if change is not None and lift_off >= change.time_to_change:
            lift_off = change.time_to_change + change.gait.until_lift_off(leg, change.phase)
            if lift_off < earliest:
                lift_off += change.gait.cycle
        return lift_off - flight
