# SPDX-License-Identifier: Apache-2.0
"""Checks whether measured joint angles are plausible for the robot.

A sample is accepted if every angle is finite, within its limits plus a margin, and not farther from the last accepted
one than the joint can turn in the time between them. So a sample of another publisher is rejected, and the robot's next
sample is still accepted. After a real jump (a gap, a reset of the simulation) samples are accepted again once they have
agreed with each other for SETTLING_TIME_S in which no other sample was accepted.
"""

from __future__ import annotations

from typing import NamedTuple

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import joint_names
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.robot import Robot

LIMIT_MARGIN = 0.5  # [rad] beyond a joint limit: a limp leg against its stop, an uncalibrated horn
SPEED_FACTOR = 1.5  # of the no-load speed: a load or a person may turn a joint faster
JITTER = 0.1  # [rad] independent of time: noise and late stamps
MAX_GAP_S = 0.1  # between two samples; a longer one allows no larger change
BURST_PERIOD_S = 0.03  # between the stamps of samples that arrive in a burst, queued while the receiver was busy
SETTLING_TIME_S = 0.3  # for which samples after a jump have to agree ...
SETTLING_SAMPLES = 5  # ... and their minimum number


class JointSample(NamedTuple):
    """Measured angles [rad] of all joints, with the times [s] of their stamp and of their arrival."""

    joints: list[float]
    stamp: float
    arrival: float


class JointVerdict(NamedTuple):
    """Whether a sample is accepted."""

    reason: Refusal | None = None  # why it is rejected
    jumped: bool = False  # accepted, but discontinuous with the samples before


class JointPlausibility:
    """Checks the samples of one robot in the order of their arrival."""

    def __init__(self, robot: Robot) -> None:
        """Starts without a sample; the first one must only be within the limits."""
        joints = [joint for leg in robot.legs for joint in leg.joints]
        self._limits = [(joint.lower, joint.upper) for joint in joints]  # [rad]
        self._bounds = [(lower - LIMIT_MARGIN, upper + LIMIT_MARGIN) for lower, upper in self._limits]
        self._speeds = [SPEED_FACTOR * joint.no_load_speed for joint in joints]  # [rad/s]
        self._names = joint_names(robot.leg_names)
        self._last: JointSample | None = None  # accepted
        self._newest: JointSample | None = None  # rejected one that agrees with those before it ...
        # ... their number, and arrival [s] of the first
        self._agreeing = 0
        self._since = 0.0

    def check(self, joints: Array, stamp: float, arrival: float) -> JointVerdict:
        """Returns the verdict on angles (n, 3) [rad]; `stamp` [s] by the publisher's clock, `arrival` by the node's."""
        angles: list[float] = joints.ravel().tolist()
        reason = self._outside(angles)
        if reason:
            return JointVerdict(reason)
        now = JointSample(angles, stamp, arrival)
        reason = self._too_fast(self._last, now) if self._last else None
        jumped = reason is not None and self._settled(now)
        if reason is None or jumped:
            self._last = now
            self._newest = None
            reason = None
        return JointVerdict(reason, jumped)

    def restart(self) -> None:
        """Forgets all samples: the next one must only be within the limits."""
        self._last = self._newest = None

    def _outside(self, angles: list[float]) -> Refusal | None:
        """Returns which angle is outside of its bounds."""
        for row, (angle, (lower_bound, upper_bound)) in enumerate(zip(angles, self._bounds, strict=True)):
            if not lower_bound <= angle <= upper_bound:  # NaN, too
                lower, upper = self._limits[row]
                text = "{joint} is {angle:.4g} rad, far outside its limits {lower:.3g} to {upper:.3g} rad"
                return Refusal("outside", text, joint=self._names[row], angle=angle, lower=lower, upper=upper)
        return None

    def _too_fast(self, last: JointSample, now: JointSample) -> Refusal | None:
        """Returns why a sample cannot follow another one.

        For samples that arrive in a burst, the stamps give the time between them; a wrong stamp must not permit a jump.
        """
        arrived = max(now.arrival - last.arrival, BURST_PERIOD_S)
        elapsed = max(min(now.stamp - last.stamp, arrived, MAX_GAP_S), 0.0)
        rows = zip(now.joints, last.joints, self._speeds, strict=True)
        excess = [abs(angle - before) - JITTER - speed * elapsed for angle, before, speed in rows]
        largest = max(excess)
        if largest <= 0.0:
            return None
        row = excess.index(largest)
        jump = abs(now.joints[row] - last.joints[row])
        text = "{joint} jumps by {jump:.2f} rad in {time:.0f} ms"
        return Refusal("jump", text, joint=self._names[row], jump=jump, time=1000 * elapsed)

    def _settled(self, now: JointSample) -> bool:
        """True if the samples after a jump have agreed for long enough."""
        if self._newest is None or self._too_fast(self._newest, now):
            self._agreeing = 0
            self._since = now.arrival
        self._newest = now
        self._agreeing += 1
        return self._agreeing >= SETTLING_SAMPLES and now.arrival - self._since >= SETTLING_TIME_S
