"""Servos that a person moves, one at a time and slowly, from where they are. Units are raw."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from hexapod_control.servos.bus.bus_interface import Bus, BusError, ServoQuantity
from hexapod_control.servos.settings.joint_calibration import JointCalibration

HAND_SPEED = 0.6  # [rad/s]
GOAL_PERIOD = 0.02  # [s] between two goals
READ_TRIES = 4  # of a read
SETTLE_TIME = 0.3  # [s]
SERVOS_PER_LEG = 3  # servos


class HandPositioning:
    """An open bus in somebody's hands. Servos that cannot tell where they are begin where they are assumed to be."""

    def __init__(
        self,
        bus: Bus,
        assumed: Mapping[int, float],
        pace: float = 1.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`assumed` is a place for every servo. Moves `pace` times as fast as usual."""
        self.bus, self._assumed, self._pace, self._sleep = bus, assumed, pace, sleep
        self.reads = ServoQuantity.POSITION in bus.can_read
        self._places: dict[int, float] = {}  # of servos that have torque

    def positions(self, ids: Sequence[int]) -> dict[int, float]:
        """Where servos are, or were told to be if they cannot tell. Raises BusError naming who does not answer."""
        if not self.reads:
            return {i: self._places.get(i, self._assumed[i]) for i in ids}
        found: dict[int, float] = {}
        for _ in range(READ_TRIES):
            missing = [i for i in ids if i not in found]
            if not missing:
                return found
            readings = self.bus.read(missing, ServoQuantity.POSITION)
            found |= {i: float(r.position) for i, r in readings.items() if r.position is not None}
        missing = [i for i in ids if i not in found]
        if missing:
            raise BusError(f"servo {', '.join(map(str, missing))} does not answer: check its cable")
        return found

    def hold(self, ids: Sequence[int]) -> None:
        """Torque on where they are, leg by leg. Servos that cannot tell all begin together: some boards ask for it."""
        fresh = [i for i in (ids if self.reads else self.bus.ids) if i not in self._places]
        if not fresh:
            return
        places = self.positions(fresh)
        scale = self.bus.scale
        goals = {i: min(max(round(place), scale.low), scale.high) for i, place in places.items()}
        self.bus.write_goals(goals, 0.0)
        for at in range(0, len(fresh), SERVOS_PER_LEG):
            self.bus.torque(fresh[at : at + SERVOS_PER_LEG], True)
            self._sleep(GOAL_PERIOD / self._pace)
        self._places |= {i: float(goal) for i, goal in goals.items()}

    def go(self, goals: Mapping[int, float]) -> None:
        """Moves servos together, the longest way with HAND_SPEED; holds them first."""
        self.hold(list(goals))
        scale = self.bus.scale
        ends = {i: min(max(goal, float(scale.low)), float(scale.high)) for i, goal in goals.items()}
        begins = {i: self._places[i] for i in ends}
        way = max((abs(ends[i] - begins[i]) for i in ends), default=0.0)
        count = max(1, round(way / (HAND_SPEED * self._pace * scale.per_rad) / GOAL_PERIOD))
        for step in range(1, count + 1):
            row = {i: begins[i] + (ends[i] - begins[i]) * step / count for i in ends}
            self.bus.write_goals({i: round(place) for i, place in row.items()}, GOAL_PERIOD)
            self._sleep(GOAL_PERIOD)
            self._places |= row

    def settle(self) -> None:
        """Waits for servos that come after their goals."""
        self._sleep(SETTLE_TIME)

    def release(self, ids: Iterable[int]) -> None:
        """Torque off."""
        there = [i for i in ids if i in self._places]
        if there:
            self.bus.torque(there, False)
        for i in there:
            del self._places[i]

    def relax(self) -> None:
        """Torque off for everybody."""
        self.bus.relax()
        self._places.clear()

    def wiggle(self, servo: int, angle: float) -> None:
        """To growing units first, then the other way, then back: `angle` [rad] by the maker's scale."""
        self.hold([servo])
        place, way = self._places[servo], angle * self.bus.scale.per_rad
        for goal in (place + way, place - way, place):
            self.go({servo: goal})


def reach(joint: JointCalibration) -> tuple[float, float]:
    """Least and greatest angle [rad] at which the goals of a joint end."""
    low, high = sorted((joint.angle(joint.low), joint.angle(joint.high)))
    return low, high
