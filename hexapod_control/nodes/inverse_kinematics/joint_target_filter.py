"""What may go out as joint targets: inside the limits, and no joint faster than it can turn; no ROS in it.

Rows are joints (n, 3) [rad]. A row that jumps is not followed at once: the joints go there at the servos' no-load
speed, so that a restarted planner or a lost message ends in a short lag and never in a leap or a standstill.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import inverse, joint_velocities
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Robot

SHORTEST, LONGEST = 0.005, 0.1  # [s] between two rows; outside of it the nearest counts
NOMINAL = 0.02  # [s] between two rows whose stamps say nothing
TOLERANCE = 1e-9  # [rad] beyond a joint limit that is rounding


class FilteredRow(NamedTuple):
    """A row to send, and what is wrong with the one that was asked for (empty: nothing)."""

    joints: Array  # (n, 3) [rad]
    velocities: Array  # (n, 3) [rad/s]
    complaint: str


class JointTargetFilter:
    """Turns rows that are asked for into rows that may be sent."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        table = np.array([[(j.lower, j.upper, j.no_load_speed) for j in leg.joints] for leg in robot.legs])
        self._lower, self._upper, self._speed = np.moveaxis(table, -1, 0)
        self._last: Array | None = None
        self._stamp = math.nan  # [s] of the last row

    @property
    def seeded(self) -> bool:
        """True once it is known where the joints are."""
        return self._last is not None

    def seed(self, joints: Array) -> None:
        """Where the joints (n, 3) [rad] are before the first row."""
        self._last = np.clip(joints, self._lower, self._upper)
        self._stamp = math.nan

    def feet(self, feet: Array, velocities: Array, stamp: float) -> FilteredRow:
        """The row for ball centres (n, 3) [m] in base_link with speeds [m/s], at a stamp [s]; needs a seed."""
        assert self._last is not None
        solution = inverse(self._robot, feet, self._last)
        if not solution.reached:
            return self._hold(self._unreached(solution.reasons, solution.excess), stamp)
        return self._limited(solution.joints, joint_velocities(self._robot, solution.joints, velocities), stamp, "")

    def joints(self, joints: Array, velocities: Array, stamp: float) -> FilteredRow:
        """The row for joints (n, 3) [rad] with speeds [rad/s], at a stamp [s]; needs a seed."""
        inside = np.clip(joints, self._lower, self._upper)
        beyond = np.abs(joints - inside)
        complaint = ""
        if beyond.max() > TOLERANCE:
            leg, joint = np.unravel_index(int(beyond.argmax()), beyond.shape)
            name = f"{self._robot.legs[leg].name}_{JOINTS[joint]}_joint"
            asked, bound = joints[leg, joint], inside[leg, joint]
            complaint = f"{name} is asked to go to {asked:.3f} rad, its limit is {bound:.3f} rad: it stays at the limit"
        return self._limited(inside, velocities, stamp, complaint)

    def _unreached(self, reasons: tuple[object, ...], excess: tuple[float, ...]) -> str:
        leg = max((i for i, reason in enumerate(reasons) if reason), key=lambda i: excess[i])
        reason = getattr(reasons[leg], "value", reasons[leg])
        unit = "mrad" if reason == "outside the joint limits" else "mm"
        name = self._robot.legs[leg].name
        return f"foot of {name}: the target is {reason}, by {1000 * excess[leg]:.1f} {unit}: the last row is held"

    def _hold(self, complaint: str, stamp: float) -> FilteredRow:
        assert self._last is not None
        self._stamp = stamp
        return FilteredRow(self._last, np.zeros_like(self._last), complaint)

    def _limited(self, joints: Array, velocities: Array, stamp: float, complaint: str) -> FilteredRow:
        assert self._last is not None
        dt = stamp - self._stamp
        dt = min(max(dt, SHORTEST), LONGEST) if dt > 0.0 else NOMINAL
        most = self._speed * dt
        change = joints - self._last
        if (np.abs(change) > most).any():
            leg, joint = np.unravel_index(int((np.abs(change) / most).argmax()), change.shape)
            name = f"{self._robot.legs[leg].name}_{JOINTS[joint]}_joint"
            complaint = complaint or (
                f"{name} is asked to jump by {change[leg, joint]:.3f} rad in {1000 * dt:.0f} ms, it can "
                f"{most[leg, joint]:.3f} rad: all joints go there at their greatest speed"
            )
            change = np.clip(change, -most, most)
            joints, velocities = self._last + change, change / dt
        self._last, self._stamp = joints, stamp
        return FilteredRow(joints, velocities, complaint)
