"""Withholds goals after servos were silent at the same time, until they have reported whether their torque is on.

After a short loss of power, a goal would switch the torque of many servo types on, at any position.
"""

from __future__ import annotations

from hexapod_control.servos.driver.group.read_schedule import BROWN_OUT_SHARE
from hexapod_control.servos.driver.group.servo_group import ServoGroup


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
        if group.reports_torque and group.quiet:
            self.suspect(group)
        elif group.reports_torque and many_silent:
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
