"""Withholds goals from servos that were silent together, until they report that their torque is still on.

A goal switches the torque of many servos on again, wherever they are after a short loss of power.
"""

from __future__ import annotations

from hexapod_control.servos.driver.group.servo_group import ServoGroup


class RestartWatch:
    """Servos in doubt, by index. Life cycle: `look` every cycle, and `check` while goals are withheld."""

    def __init__(self) -> None:
        self._doubtful: set[int] = set()

    def look(self, group: ServoGroup) -> bool:
        """Whether goals are withheld: no servo answers, or some may have restarted."""
        if group.quiet and group.reports_torque:
            self._doubtful = set(range(len(group.ids)))
        return bool(self._doubtful)

    def doubts(self, index: int) -> bool:
        """Whether a servo may have restarted."""
        return index in self._doubtful

    def check(self, group: ServoGroup) -> list[int]:
        """Reads the torque of servos in doubt that answer again. Returns those that have lost it."""
        if group.quiet:
            return []
        present = [i for i in sorted(self._doubtful) if not group.presence.quarantined(i)]
        states = group.torques(present)
        self._doubtful -= states.keys()
        if not set(present) - states.keys():
            self._doubtful.clear()  # the others are missing: they start at their position when they are back
        return [index for index, on in states.items() if not on]

    def forget(self) -> None:
        """The torque is off: nothing is in doubt."""
        self._doubtful.clear()
