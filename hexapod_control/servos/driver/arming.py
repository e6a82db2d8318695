"""Torque on without a jump: each servo holds its present position; leg by leg, to limit the inrush current.

Servos that report their position hold it. Those that do not are assumed to be in a given pose: each leg moves there
when its torque is switched on.
"""

from __future__ import annotations

import math

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import enumerated
from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.driver.group.servo_group import ServoGroup
from hexapod_control.servos.settings.joint_calibration import SERVOS_PER_LEG

HOLDING_LEG_PAUSE_S = 0.05  # between legs whose servos hold their position
MOVING_LEG_PAUSE_S = 0.2  # between legs whose servos move to the assumed pose


class Arming:
    """One arming sequence. Life cycle: `step` every cycle until `done`; with a `refusal` no torque is switched on."""

    def __init__(self, group: ServoGroup, assumed: Array) -> None:
        """`assumed` (n, 3) [rad] is the pose of servos that do not report their position."""
        self._group = group
        self._first = 0  # index of the next leg's first servo
        self._due = -math.inf  # [s] steady time
        self.joints: Array = assumed  # (n, 3) [rad] present joint angles
        self.held_before: set[int] = set()  # indices of servos that report torque already
        self.refusal = group.preflight()
        if self.refusal:
            return
        self.held_before = {i for i, on in group.torques(range(len(group.ids))).items() if on}
        if group.reports_position:
            self._read_pose()
        else:
            self._goals = group.goals(assumed)

    @property
    def done(self) -> bool:
        """Whether all legs have torque."""
        return self._first >= len(self._group.ids)

    def release(self) -> None:
        """Switches the torque of the servos off that this arming has switched on."""
        self._group.torque_off([i for i in range(self._first) if i not in self.held_before])

    def _read_pose(self) -> None:
        missing = self._group.read_all()
        measured = self._group.readings.joint_angles()
        if missing or measured is None:
            self.refusal = f"no answer from {self._group.describe(missing)}: check its cable and power, then arm again"
            return
        self.joints = measured
        self._goals = self._group.readings.goals_in_place(range(len(self._group.ids)))

    def step(self, now: float) -> None:
        """Switches the torque of the next leg on when it is due, at a steady time [s].

        Raises BusError if a board is lost meanwhile.
        """
        if self._group.board_loss.lost:
            names = enumerated(self._group.board_loss.lost)
            raise BusError(f"the {names} does not answer: check its power and its cable, then arm again")
        if self.done or self.refusal or now < self._due:
            return
        group, indices = self._group, range(self._first, self._first + SERVOS_PER_LEG)
        if group.reports_position:
            group.stage({group.ids[i]: self._goals[group.ids[i]] for i in indices})
        elif self._first == 0:
            group.stage(self._goals)
        group.torque_on(indices)
        self._first += SERVOS_PER_LEG
        self._due = now + (HOLDING_LEG_PAUSE_S if group.reports_position else MOVING_LEG_PAUSE_S)
