# SPDX-License-Identifier: Apache-2.0
"""What is read again while the driver runs, because it may change without an order: torque and registers.

After a short loss of power, a goal would switch the torque of many servo types on, at any position; so may a goal of
another program, or noise that looks like a frame, and both may change a register that the preflight found right.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from itertools import product

from hexapod_control.servos.driver.servo_group import ServoGroup
from hexapod_control.servos.driver.servo_readings import BROWN_OUT_SHARE
from hexapod_control.servos.preflight import RegisterEffect, RegisterProblem


class TorqueWatch:
    """Reads the torque of one servo per cycle, in turn."""

    def __init__(self) -> None:
        self._turn = 0  # index of the next servo

    def check(self, group: ServoGroup) -> int | None:
        """Reads the next servo. Returns its index if its torque is on."""
        if not (group.reports_torque and group.reports_position):
            return None
        index = self._turn
        self._turn = (self._turn + 1) % len(group.ids)
        if group.presence.quarantined(index):
            return None
        return index if group.torques([index]).get(index) else None


class RestartWatch:
    """Finds servos that may have restarted, by index.

    Life cycle: `update` every cycle, `check` while goals are withheld, `forget` afterwards.
    """

    def __init__(self) -> None:
        self._doubtful: set[int] = set()
        self._without_torque: set[int] = set()

    def update(self, group: ServoGroup, *, many_silent: bool = False) -> bool:
        """Updates the set of servos that may have restarted. Returns whether there are any: goals are then withheld.

        With `many_silent`, those that do not answer have fallen silent together.
        """
        if group.reveals_restarts and group.quiet:
            self.suspect(group)
        elif group.reveals_restarts and many_silent:
            self._doubtful |= {i for i in range(len(group.ids)) if group.presence.quarantined(i)}
        return bool(self._doubtful)

    def suspect(self, group: ServoGroup) -> None:
        """Any servo may have restarted: all are asked."""
        self._doubtful = set(range(len(group.ids)))
        self._without_torque.clear()

    def may_have_restarted(self, index: int) -> bool:
        """Whether a servo may have restarted."""
        return index in self._doubtful

    def check(self, group: ServoGroup) -> list[int]:
        """Reads the torque of servos that may have restarted and respond again.

        Returns those found without torque since the last `forget`. Servos that are still silent are waited for only if
        counting them as well would make a brown-out; otherwise they resume at their position when they answer.
        """
        if group.quiet:
            return sorted(self._without_torque)
        present = [i for i in sorted(self._doubtful) if not group.presence.quarantined(i)]
        states = group.torques(present)
        self._doubtful -= states.keys()
        self._without_torque |= {index for index, on in states.items() if not on}
        may_lack_torque = len(self._doubtful | self._without_torque)
        if not set(present) - states.keys() and may_lack_torque < BROWN_OUT_SHARE * len(group.ids):
            self._doubtful.clear()
        return sorted(self._without_torque)

    def forget(self) -> None:
        """Forgets all servos: their torque is off, or on again."""
        self._doubtful.clear()
        self._without_torque.clear()


ROTATION_S = 1.5  # for all servos and blocks
MAX_PER_CYCLE = 2  # blocks, to catch up


class RegisterWatch:
    """Life cycle: `accept` when the torque is on, then `check` every cycle; `forget` when it is off."""

    def __init__(self) -> None:
        self.found: dict[tuple[int, int], tuple[RegisterProblem, ...]] = {}  # present problems by servo index and block
        self._accepted: set[tuple[int, str, int]] = set()  # servo id, register and value
        self._turn = 0  # the next servo and block
        self._due = -math.inf  # [s] steady time

    def accept(self, problems: Collection[RegisterProblem]) -> None:
        """Accepts the values that the preflight has warned of: they are no change."""
        self._accepted = {(each.joint.id, each.check.register.name, each.value) for each in problems}

    def forget(self) -> None:
        """Forgets what was found: the preflight finds it again."""
        self.found.clear()

    def check(self, group: ServoGroup, excluded: Collection[int], now: float) -> int | None:
        """Reads what is due at a steady time [s]. Returns a servo whose torque is off, of those not `excluded`."""
        if now < self._due:
            return None
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
