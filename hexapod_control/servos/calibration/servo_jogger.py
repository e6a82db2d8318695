# SPDX-License-Identifier: Apache-2.0
"""Slow motion of servos during a calibration: reads, jogs and releases them. Positions are raw."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from hexapod_control.config.sentence import Sentence
from hexapod_control.servos.bus.bus_interface import Bus, BusError, ServoQuantity
from hexapod_control.servos.settings.joint_calibration import SERVOS_PER_LEG, JointCalibration

MIDDLE = Sentence("to_the_middle")
JOG_SPEED = 0.6  # [rad/s]
GOAL_PERIOD_S = 0.02
READ_TRIES = 4
SETTLE_TIME_S = 0.3  # for lagging servos to reach their goals


class ServoJogger:
    """Moves servos over an open bus; switches their torque on before a move.

    Servos without position feedback start at their assumed positions.
    """

    def __init__(
        self,
        bus: Bus,
        assumed: Mapping[int, float],
        pace: float = 1.0,
        sleep: Callable[[float], None] = time.sleep,
        place: Sentence = MIDDLE,
    ) -> None:
        """`assumed` has the raw positions by servo id, `place` describes them; `pace` is a factor on the speed."""
        self.bus = bus
        self._assumed = assumed
        self._pace = pace
        self._sleep = sleep
        self.place = place
        self.reports_position = ServoQuantity.POSITION in bus.can_read
        self._goals: dict[int, float] = {}  # last goals of servos with torque

    @property
    def holds(self) -> bool:
        """Whether servos have torque."""
        return bool(self._goals)

    def positions(self, ids: Sequence[int]) -> dict[int, float]:
        """Positions by servo id; the last goals where servos report none. Raises BusError that names silent servos."""
        if not self.reports_position:
            return {i: self._goals.get(i, self._assumed[i]) for i in ids}
        found: dict[int, float] = {}
        for _ in range(READ_TRIES):
            missing = [i for i in ids if i not in found]
            if not missing:
                return found
            readings = self.bus.read(missing, ServoQuantity.POSITION)
            found |= {i: float(r.position) for i, r in readings.items() if r.position is not None}
        missing = [i for i in ids if i not in found]
        if missing:
            for servo in missing:
                self._goals.pop(servo, None)  # it may come back without torque
            raise BusError(f"servo {', '.join(map(str, missing))} does not answer: check its cable")
        return found

    def hold(self, ids: Sequence[int]) -> None:
        """Torque on at the present positions, leg by leg; servos without position feedback all at once."""
        fresh = [i for i in (ids if self.reports_position else self.bus.ids) if i not in self._goals]
        if not fresh:
            return
        scale = self.bus.scale
        goals = {i: min(max(round(raw), scale.low), scale.high) for i, raw in self.positions(fresh).items()}
        self.bus.write_goals(goals, 0.0)
        for at in range(0, len(fresh), SERVOS_PER_LEG):
            self.bus.torque(fresh[at : at + SERVOS_PER_LEG], True)
            self._sleep(GOAL_PERIOD_S / self._pace)
        self._goals |= {i: float(goal) for i, goal in goals.items()}

    def go(self, goals: Mapping[int, float]) -> None:
        """Moves servos together, the one with the longest way at JOG_SPEED; switches their torque on first."""
        self.hold(list(goals))
        scale = self.bus.scale
        ends = {i: min(max(goal, float(scale.low)), float(scale.high)) for i, goal in goals.items()}
        begins = {i: self._goals[i] for i in ends}
        farthest = max((abs(ends[i] - begins[i]) for i in ends), default=0.0)
        count = max(1, round(farthest / (JOG_SPEED * self._pace * scale.per_rad) / GOAL_PERIOD_S))
        for step in range(1, count + 1):
            setpoints = {i: begins[i] + (ends[i] - begins[i]) * step / count for i in ends}
            self.bus.write_goals({i: round(raw) for i, raw in setpoints.items()}, GOAL_PERIOD_S)
            self._sleep(GOAL_PERIOD_S)
            self._goals |= setpoints

    def settle(self) -> None:
        """Waits until lagging servos have reached their goals."""
        self._sleep(SETTLE_TIME_S)

    def release(self, ids: Iterable[int]) -> None:
        """Torque off."""
        held = [i for i in ids if i in self._goals]
        if held:
            self.bus.torque(held, False)
        for i in held:
            del self._goals[i]

    def relax(self) -> None:
        """Torque off for all servos."""
        self.bus.relax()
        self._goals.clear()

    def wiggle(self, servo: int, angle: float) -> None:
        """Turns a servo by `angle` [rad] (nominal scale) towards larger raw positions, then smaller ones, and back."""
        self.hold([servo])
        start = self._goals[servo]
        offset = angle * self.bus.scale.per_rad
        for goal in (start + offset, start - offset, start):
            self.go({servo: goal})


def reach(joint: JointCalibration) -> tuple[float, float]:
    """Minimum and maximum angle [rad] that the raw limits of a joint allow."""
    low, high = sorted((joint.angle(joint.low), joint.angle(joint.high)))
    return low, high
