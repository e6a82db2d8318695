# SPDX-License-Identifier: Apache-2.0
"""Converts radians to raw units of a servo and back: `raw = center + direction * units * (q - q_center - trim)`.

A mirrored leg differs only in `direction`. The units per radian may differ on the two sides of the center.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import JOINTS, short_joint_name

SERVOS_PER_LEG = len(JOINTS)  # neighbours in row order
ROUNDING = 1e-6  # [rad] beyond a limit, or [raw], that does not count as a clamp


@dataclass(frozen=True, slots=True)
class JointCalibration:
    """Calibration of one joint and its servo."""

    joint: str  # name, e.g. left_front_coxa_joint
    id: int
    center: float  # [raw] at q_center + trim
    direction: int  # +1 or -1: raw units grow or fall with the angle
    units_per_rad: float  # [raw/rad] above the center
    units_per_rad_neg: float  # [raw/rad] below the center
    q_center: float  # [rad]
    trim: float  # [rad]
    low: int  # [raw] minimum goal
    high: int  # [raw] maximum goal
    lower: float  # [rad] minimum angle of the joint
    upper: float  # [rad] maximum angle of the joint
    offset: int | None = None  # [raw] offset register of the servo at the calibration; None: unknown

    @property
    def short_name(self) -> str:
        """Name of the joint in messages, e.g. `left_front_coxa`."""
        return short_joint_name(self.joint)

    def raw(self, angle: float) -> float:
        """Raw position, not clamped, of an angle [rad]."""
        offset = angle - self.q_center - self.trim
        units = self.units_per_rad if offset >= 0.0 else self.units_per_rad_neg
        return self.center + self.direction * units * offset

    def goal(self, angle: float) -> int:
        """Raw goal for an angle [rad], clamped to `low` and `high`."""
        return self.clamped(self.raw(angle))

    def clamped(self, raw: float) -> int:
        """The raw goal next to a raw position, from `low` to `high`."""
        return min(max(round(raw), self.low), self.high)

    def angle(self, raw: float) -> float:
        """Angle [rad] of a raw position."""
        offset = self.direction * (raw - self.center)
        return self.q_center + self.trim + offset / (self.units_per_rad if offset >= 0.0 else self.units_per_rad_neg)

    def rate(self, raw: float, speed: float) -> float:
        """Angular speed [rad/s] of a raw speed at a raw position."""
        offset = self.direction * (raw - self.center)
        return self.direction * speed / (self.units_per_rad if offset >= 0.0 else self.units_per_rad_neg)


class UnitConverter:
    """Converts angles of all servos to raw goals, clamped to joint and raw limits; counts clamps per joint."""

    def __init__(self, joints: Sequence[JointCalibration]) -> None:
        """All servos, in the order of ServoSettings.servos."""
        self.joints = tuple(joints)
        self.clamps = [0] * len(self.joints)

    def goals(self, angles: Array, slack: Array | None = None) -> dict[int, int]:
        """Raw goals by servo id of angles (k,) [rad]; a joint whose angle is not finite has none.

        `slack` (k,) [rad] is the permitted excess over the limits, for joints that started outside them.
        """
        goals: dict[int, int] = {}
        slacks = [0.0] * len(self.joints) if slack is None else np.ravel(slack).tolist()
        for index, (joint, angle) in enumerate(zip(self.joints, np.ravel(angles).tolist(), strict=True)):
            if not math.isfinite(angle):
                self.clamps[index] += 1
                continue
            inside = min(max(angle, joint.lower - slacks[index]), joint.upper + slacks[index])
            raw = joint.raw(inside)
            goal = joint.clamped(raw)
            self.clamps[index] += abs(inside - angle) > ROUNDING or abs(goal - raw) > 0.5 + ROUNDING
            goals[joint.id] = goal
        return goals
