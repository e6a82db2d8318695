"""Forces under the feet from switches: each pressed switch counts as an even share of the weight."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.debounce import Debounce
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.servos.i2c.foot_switches import FootSwitches, FootSwitchSection

ALTERNATION = 1e-3  # relative change of every second reading: subscribers take constant ones for a frozen sensor
MAX_STEP_S = 1.0  # between two readings


class SwitchedFeet:
    """The switches of one robot, debounced. Owned by one thread."""

    def __init__(self, robot: Robot, section: FootSwitchSection, bus: str) -> None:
        self._switches = FootSwitches(section, bus)
        self._debounce = Debounce(section.bounce)
        self._even = robot.mass * GRAVITY / len(robot.legs)  # [N]
        self._read_at = -math.inf  # [s]
        self._odd = False  # [s]

    @property
    def error(self) -> str:
        """Why the switches are not known; empty if they are."""
        return self._switches.error

    def forces(self, now: float, board: Sequence[bool] | None) -> Array | None:
        """Forces (n,) [N] at a steady time [s]; None if the switches are not known.

        `board` is whether each input of the servos' board is high, None if unknown.
        """
        read = self._switches.read(board)
        if read is None:
            return None
        pressed = self._debounce.update(read, min(now - self._read_at, MAX_STEP_S))
        self._read_at = now
        self._odd = not self._odd
        return self._even * (np.array(pressed, dtype=float) + ALTERNATION * self._odd)
