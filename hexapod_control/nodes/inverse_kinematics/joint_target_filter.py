# SPDX-License-Identifier: Apache-2.0
"""Keeps joint targets within the joint limits and the no-load speeds of the servos. Independent of ROS.

Joint angles are (n, 3) [rad]. Targets that jump are approached at no-load speed: a restarted planner or a lost message
causes a short lag, and never a jump or a standstill.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import LIMIT_TOLERANCE, UnreachableReason, inverse, joint_velocities
from hexapod_control.core.names import JOINTS, joint_name
from hexapod_control.core.refusal import Statement
from hexapod_control.core.robot import Robot

# to which the time between two targets is clamped
MIN_PERIOD_S = 0.005
MAX_PERIOD_S = 0.1
NOMINAL_PERIOD_S = 0.02  # assumed between two targets whose stamps do not increase
MAX_COORDINATE = 100.0  # [m, m/s] of a foot; larger ones, which no leg reaches, could overflow


class FilteredTargets(NamedTuple):
    """Joint targets to send, and their deviation from the requested ones."""

    joints: Array  # (n, 3) [rad]
    velocities: Array  # (n, 3) [rad/s]
    deviation: Statement | None  # clause for a report


class JointTargetFilter:
    """Limits requested joint targets; call `seed` before the first ones."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        table = np.array([[(j.lower, j.upper, j.no_load_speed) for j in leg.joints] for leg in robot.legs])
        self._lower, self._upper, self._speed = np.moveaxis(table, -1, 0)
        self._last: Array | None = None
        self._stamp = math.nan  # [s] of the last targets

    @property
    def seeded(self) -> bool:
        """Whether the joint angles at the start of the motion are known."""
        return self._last is not None

    def seed(self, joints: Array) -> None:
        """Sets the joint angles (n, 3) [rad] from which the next targets start."""
        self._last = np.clip(joints, self._lower, self._upper)
        self._stamp = math.nan

    def feet(self, feet: Array, velocities: Array, stamp: float) -> FilteredTargets:
        """Targets for feet (n, 3) [m] in base_link with velocities (n, 3) [m/s], at a stamp [s]; needs a seed."""
        assert self._last is not None
        feet = np.clip(feet, -MAX_COORDINATE, MAX_COORDINATE)
        velocities = np.clip(velocities, -MAX_COORDINATE, MAX_COORDINATE)
        solution = inverse(self._robot, feet, self._last)
        if not solution.reached:
            return self._hold(self._unreachable(solution.reasons, solution.excess), stamp)
        return self._limited(solution.joints, joint_velocities(self._robot, solution.joints, velocities), stamp, None)

    def joints(self, joints: Array, velocities: Array, stamp: float) -> FilteredTargets:
        """Targets for joint angles (n, 3) [rad] with velocities [rad/s], at a stamp [s]; needs a seed."""
        inside = np.clip(joints, self._lower, self._upper)
        beyond = np.abs(joints - inside)
        deviation = None
        if beyond.max() > LIMIT_TOLERANCE:
            leg, joint = np.unravel_index(int(beyond.argmax()), beyond.shape)
            name = joint_name(self._robot.legs[leg].name, JOINTS[joint])
            target, bound = joints[leg, joint], inside[leg, joint]
            text = "target of {joint} is {target:.4g} rad, its limit {bound:.3f} rad: it stays at the limit"
            deviation = Statement("target_limited", text, joint=name, target=float(target), bound=float(bound))
        return self._limited(inside, velocities, stamp, deviation)

    def _unreachable(self, reasons: Sequence[UnreachableReason | None], excess: Sequence[float]) -> Statement:
        unreached = [(leg, reason) for leg, reason in enumerate(reasons) if reason is not None]
        leg, reason = max(unreached, key=lambda row: excess[row[0]])
        name = self._robot.legs[leg].name
        text = "foot of {leg}: the target is {where}: the last targets are held"
        return Statement("target_held", text, leg=name, where=reason.describe(excess[leg]))

    def _hold(self, deviation: Statement, stamp: float) -> FilteredTargets:
        assert self._last is not None
        self._stamp = stamp
        return FilteredTargets(self._last, np.zeros_like(self._last), deviation)

    def _limited(self, joints: Array, velocities: Array, stamp: float, deviation: Statement | None) -> FilteredTargets:
        assert self._last is not None
        velocities = np.clip(velocities, -self._speed, self._speed)
        dt = stamp - self._stamp
        dt = min(max(dt, MIN_PERIOD_S), MAX_PERIOD_S) if dt > 0.0 else NOMINAL_PERIOD_S
        most = self._speed * dt
        change = joints - self._last
        if (np.abs(change) > most).any():
            leg, joint = np.unravel_index(int((np.abs(change) / most).argmax()), change.shape)
            name = joint_name(self._robot.legs[leg].name, JOINTS[joint])
            text = "target of {joint} jumps by {change:.3f} rad in {time:.0f} ms, it can move by {most:.3f} rad: all "
            text += "joints go there at no-load speed"
            jump = {"change": float(change[leg, joint]), "time": 1000 * dt, "most": float(most[leg, joint])}
            deviation = deviation or Statement("target_jumps", text, joint=name, **jump)
            change = np.clip(change, -most, most)
            joints = self._last + change
            velocities = change / dt
        self._last = joints
        self._stamp = stamp
        return FilteredTargets(joints, velocities, deviation)
