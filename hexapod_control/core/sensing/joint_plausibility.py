"""Checks whether measured joint angles are plausible for the robot.

A sample is accepted if every angle is finite, within its limits plus a margin, and not farther from the last accepted
one than the joint can turn in the time between them. So a foreign sample is rejected, and the robot's next sample is
still accepted. After a real jump (a gap, a reset of the simulation) samples are accepted again once they have agreed
with each other for a while in which no other sample was accepted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import joint_names
from hexapod_control.core.robot import Robot

LIMIT_MARGIN = 0.5  # [rad] beyond a joint limit: a limp leg against its stop, an uncalibrated horn
SPEED_FACTOR = 1.5  # of the no-load speed: a load or a person may turn a joint faster
JITTER = 0.1  # [rad] independent of time: noise and late stamps
MAX_GAP_S = 0.1  # between two samples; a longer one allows no larger change
BURST_PERIOD_S = 0.03  # between stamps of samples that may arrive in a burst, queued while the receiver was busy
SETTLING_TIME_S = 0.3  # for which samples after a jump have to agree ...
SETTLING_SAMPLES = 5  # ... and how many


class JointSample(NamedTuple):
    """Measured angles (n, 3) [rad], with the times [s] of their stamp and of their arrival."""

    joints: Array
    stamp: float
    arrival: float


class JointVerdict(NamedTuple):
    """Whether a sample is accepted."""

    reason: str = ""  # why it is rejected; empty: it is accepted
    jumped: bool = False  # accepted, but discontinuous with the samples before


class JointPlausibility:
    """Checks the samples of one robot in the order of their arrival."""

    def __init__(self, robot: Robot) -> None:
        """Starts without a sample; the first one must only be within the limits."""
        table = np.array([[(j.lower, j.upper, j.no_load_speed) for j in leg.joints] for leg in robot.legs])
        self._lower, self._upper, speed = np.moveaxis(table, -1, 0)
        self._speed = SPEED_FACTOR * speed
        self._names = joint_names(robot.leg_names)
        self._last: JointSample | None = None  # accepted
        self._newest: JointSample | None = None  # rejected one that agrees with those before it ...
        self._agreeing, self._since = 0, 0.0  # ... their number, and arrival [s] of the first

    def check(self, joints: Array, stamp: float, arrival: float) -> JointVerdict:
        """Returns the verdict on angles (n, 3) [rad]; `stamp` [s] is of the publisher's clock, `arrival` [s] steady."""
        reason = self._outside(joints)
        if reason:
            return JointVerdict(reason)
        now = JointSample(joints, stamp, arrival)
        reason = self._too_fast(self._last, now) if self._last else ""
        jumped = bool(reason) and self._settled(now)
        if not reason or jumped:
            self._last, self._newest, reason = now, None, ""
        return JointVerdict(reason, jumped)

    def _outside(self, joints: Array) -> str:
        inside = np.abs(joints - 0.5 * (self._lower + self._upper)) <= 0.5 * (self._upper - self._lower) + LIMIT_MARGIN
        if inside.all():  # not if a value is NaN
            return ""
        row = int(inside.argmin())
        angle, lower, upper = (float(values.flat[row]) for values in (joints, self._lower, self._upper))
        return f"{self._names[row]} is {angle:.4g} rad, far outside its limits {lower:.3g} to {upper:.3g} rad"

    def _too_fast(self, last: JointSample, now: JointSample) -> str:
        """Returns why a sample cannot follow another one; empty if it can.

        Stamps give the time between samples that arrive in a burst, but a wrong stamp must not excuse a jump.
        """
        arrived = max(now.arrival - last.arrival, BURST_PERIOD_S)
        elapsed = max(min(now.stamp - last.stamp, arrived, MAX_GAP_S), 0.0)
        change = np.abs(now.joints - last.joints)
        excess = change - (JITTER + self._speed * elapsed)
        row = int(excess.argmax())
        if excess.flat[row] <= 0.0:
            return ""
        return f"{self._names[row]} jumps by {change.flat[row]:.2f} rad in {1000 * elapsed:.0f} ms"

    def _settled(self, now: JointSample) -> bool:
        """True if the samples after a jump have agreed for long enough."""
        if self._newest is None or self._too_fast(self._newest, now):
            self._agreeing, self._since = 0, now.arrival
        self._newest = now
        self._agreeing += 1
        return self._agreeing >= SETTLING_SAMPLES and now.arrival - self._since >= SETTLING_TIME_S
