"""Torque on without a jump: every servo's goal is where it is, then leg by leg, so that the supply is not torn down.

Servos that tell where they are hold just there. Servos that do not are taken to be in an assumed pose: they go there
when their leg is switched on, one leg after the other.
"""

from __future__ import annotations

import math

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.servos.driver.servo_group import ServoGroup

SERVOS_PER_LEG = 3  # servos
LEG_PAUSES = (0.05, 0.2)  # [s] between two legs: servos that hold where they are, servos that move to the assumed pose


class Arming:
    """One switching on, in steps; ends with `row`, or with a refusal before any torque."""

    def __init__(self, group: ServoGroup, assumed: Array) -> None:
        """`assumed` (n, 3) [rad] is the pose of servos that cannot tell."""
        self._group = group
        self._next = 0  # row index of the next leg's first servo
        self._due = -math.inf
        self.row: Array = assumed  # where the joints are
        self.refusal = ""
        self.done = False
        if group.reads:
            self._begin_measured()
        else:
            self._goals = group.converter.goals(assumed)

    def _begin_measured(self) -> None:
        group = self._group
        missing = group.read_all()
        joints = group.converter.joints
        if missing:
            names = ", ".join(f"{joints[i].joint} (id {joints[i].id})" for i in missing)
            self.refusal = f"no answer from {names}: check its cable and power, then arm again"
            return
        pose = group.joints()
        assert pose is not None  # everybody has just answered
        self.row = pose
        self._goals = group.goals_in_place(range(len(joints)))

    def step(self, now: float) -> None:
        """Switches the next leg on when it is due."""
        if self.done or self.refusal or now < self._due:
            return
        group, rows = self._group, range(self._next, self._next + SERVOS_PER_LEG)
        ids = [group.ids[i] for i in rows]
        if self._next == 0 and not group.reads:
            group.stage(self._goals)
        elif group.reads:
            group.stage({i: self._goals[i] for i in ids})
        group.bus.torque(ids, True)
        self._next += SERVOS_PER_LEG
        self._due = now + LEG_PAUSES[not group.reads]
        self.done = self._next >= len(group.ids)
