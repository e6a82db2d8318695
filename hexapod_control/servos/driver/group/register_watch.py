"""Reads the checked registers of the servos again while they hold, and their torque: one servo and block at a time.

Another program, noise that looks like a frame, or a defect may change a register that the preflight found right.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from itertools import product

from hexapod_control.servos.driver.group.servo_group import ServoGroup
from hexapod_control.servos.preflight.register_checks import RegisterEffect, RegisterProblem

ROTATION_S = 1.5  # for all servos and blocks
MAX_PER_CYCLE = 2  # blocks, to catch up


class RegisterWatch:
    """Life cycle: `accept` when the torque is on, then `check` every cycle; `forget` when it is off."""

    def __init__(self) -> None:
        self.found: dict[tuple[int, int], tuple[RegisterProblem, ...]] = {}  # present problems by servo index and block
        self._accepted: set[tuple[int, str, int]] = set()  # servo id, register and value
        self._turn, self._due = 0, -math.inf  # the next servo and block; [s] steady time

    def accept(self, problems: Collection[RegisterProblem]) -> None:
        """Accepts the values that the preflight has warned of: they are no change."""
        self._accepted = {(each.joint.id, each.check.register.name, each.value) for each in problems}

    def forget(self) -> None:
        """Forgets what was found: the preflight finds it again."""
        self.found.clear()

    def check(self, group: ServoGroup, excluded: Collection[int], now: float) -> int | None:
        """Reads what is due at a steady time [s]. Returns a servo whose torque is off, of those not `excluded`."""
        turns = list(product(range(len(group.ids)), range(len(group.registers))))
        if not (group.reports_position and turns):
            return None
        for _ in range(MAX_PER_CYCLE):
            if now < self._due:
                break
            index, block = turns[self._turn % len(turns)]
            self._turn += 1
            self._due = max(self._due, now - ROTATION_S / len(turns)) + ROTATION_S / len(turns)
            if index in excluded or group.presence.quarantined(index):
                self.found.pop((index, block), None)
                continue
            if self._lacks_torque(group, index, block):
                return index
        return None

    def _lacks_torque(self, group: ServoGroup, index: int, block: int) -> bool:
        """Checks a block of a servo. Returns whether it shows that the torque is off."""
        problems = self._changed(group, index, block)
        if problems:
            problems = self._changed(group, index, block)  # a corrupt reply is rarely the same twice
        if problems is None:
            return False
        self.found[index, block] = tuple(p for p in problems if p.check.effect is not RegisterEffect.TORQUE)
        if not self.found[index, block]:
            del self.found[index, block]
        return any(problem.check.effect is RegisterEffect.TORQUE for problem in problems)

    def _changed(self, group: ServoGroup, index: int, block: int) -> tuple[RegisterProblem, ...] | None:
        """New problems in a block; None if the servo does not answer."""
        problems = group.registers.inspect(index, block)
        if problems is None:
            return None
        return tuple(p for p in problems if (p.joint.id, p.check.register.name, p.value) not in self._accepted)
