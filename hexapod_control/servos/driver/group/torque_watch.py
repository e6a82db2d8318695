"""Detects servos whose torque is on although it was switched off.

A goal switches the torque of many servo types on, even one from another program or from noise that looks like a frame.
"""

from __future__ import annotations

from hexapod_control.servos.driver.group.servo_group import ServoGroup


class TorqueWatch:
    """Reads the torque of one servo per cycle, in turn."""

    def __init__(self) -> None:
        self._turn = 0  # index of the next servo

    def check(self, group: ServoGroup) -> int | None:
        """Reads the next servo. Returns its index if its torque is on."""
        if not (group.reports_torque and group.reports_position):
            return None
        index, self._turn = self._turn, (self._turn + 1) % len(group.ids)
        if group.presence.quarantined(index):
            return None
        return index if group.torques([index]).get(index) else None
