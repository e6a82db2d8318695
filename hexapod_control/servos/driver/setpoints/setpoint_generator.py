"""Setpoints from joint targets: inside the joint limits, interpolated between targets, ramped after arming.

Joint angles are (n, 3) [rad].
"""

from __future__ import annotations

import math
from enum import Enum

import numpy as np

from hexapod_control.core.gait.swing_trajectory import smooth_travel
from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.robot import Robot

ARMING_RAMP_S = 1.0  # from the measured joint angles to the targets, after arming
PERIOD_BOUNDS_S = (0.002, 0.05)  # bounds of the targets' measured period, for the interpolation between them


class Interpolation(Enum):
    """Interpolation of setpoints between targets."""

    HOLD = "hold"  # jumps: the servos interpolate themselves
    LINEAR = "linear"  # linear over the measured period of the targets


class SetpointGenerator:
    """Generates the setpoints of one robot's joints; starts at rest, holding `joints`."""

    def __init__(self, robot: Robot, joints: Array, interpolation: Interpolation = Interpolation.HOLD) -> None:
        limits = [[(joint.lower, joint.upper) for joint in leg.joints] for leg in robot.legs]
        self._lower, self._upper = np.moveaxis(np.array(limits), -1, 0)
        self._linear = interpolation is Interpolation.LINEAR
        self._start_at(joints)
        self._ramp_s = math.inf

    def _start_at(self, joints: Array) -> None:
        self.setpoint: Array = np.clip(joints, self._lower, self._upper)  # (n, 3) [rad]
        self.target: Array = self.setpoint
        self._from: Array = self.setpoint
        self._ramp_from: Array = self.setpoint
        self._period = self._since = 0.0  # [s]

    def start_ramp(self, measured: Array) -> None:
        """Starts at measured joint angles and ramps to the following targets in ARMING_RAMP_S."""
        self._start_at(measured)
        self._ramp_s = 0.0

    def hold_at(self, joints: Array) -> None:
        """Holds these joint angles until the next targets."""
        self.target = self._from = self.setpoint = joints
        if self._ramp_s < ARMING_RAMP_S:  # restarts the ramp; otherwise the setpoint would move back along it
            self._ramp_from, self._ramp_s = joints, 0.0

    def clamp(self, target: Array) -> Array:
        """Joint angles clamped to the joint limits."""
        return np.clip(target, self._lower, self._upper)

    def aim(self, target: Array, since_last: float) -> None:
        """Accepts targets inside the joint limits, `since_last` [s] after the last ones (NaN: the first)."""
        if self._linear and not math.isnan(since_last):
            self._period = min(max(since_last, PERIOD_BOUNDS_S[0]), PERIOD_BOUNDS_S[1])
        self._from, self.target, self._since = self.setpoint, target, 0.0

    def step(self, dt: float) -> Array:
        """The setpoint (n, 3) [rad] after `dt` [s]."""
        setpoint = self.target
        self._since += dt
        if self._linear and self._since < self._period:
            setpoint = self._from + (setpoint - self._from) * (self._since / self._period)
        if self._ramp_s < ARMING_RAMP_S:
            self._ramp_s += dt
            part = smooth_travel(min(1.0, self._ramp_s / ARMING_RAMP_S))
            setpoint = self._ramp_from + (setpoint - self._ramp_from) * part
        self.setpoint = read_only(setpoint)
        return self.setpoint
