# SPDX-License-Identifier: Apache-2.0
"""Servo commands of the extra joints from their targets, the same for real and simulated servos.

Targets come when they come and joints hold between them, so there is no watchdog. Speed and acceleration are bounded:
a single target, far away, is a smooth motion. Arrays are (m,) in the order of the robot file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.robot import ExtraJoint

TOP_SPEED_SHARE = 0.7  # of the no-load speed, as for the joints of a walk
ACCELERATION_TIME_S = 0.2  # from rest to the no-load speed
MAX_TARGETS = 64  # not used yet; older ones are dropped


class ExtraJointFollower:
    """Follows targets of extra joints. Life cycle: `start` when torque comes on; then `step` every cycle."""

    def __init__(self, joints: Sequence[ExtraJoint]) -> None:
        """Starts with all joints at rest."""
        self.count = len(joints)
        self._lower = np.array([extra.joint.lower for extra in joints])
        self._upper = np.array([extra.joint.upper for extra in joints])
        fastest = np.array([extra.joint.no_load_speed for extra in joints])
        self._top_speed = TOP_SPEED_SHARE * fastest
        self._acceleration = fastest / ACCELERATION_TIME_S
        self._waiting: deque[tuple[Array, Array]] = deque(maxlen=MAX_TARGETS)
        self.start(np.array([extra.rest for extra in joints]))

    def start(self, measured: Array) -> None:
        """Commands the measured angles (m,) [rad], or the limit next to them, until the next targets."""
        self._waiting.clear()
        self.command: Array = read_only(measured)
        self._target = np.clip(measured, self._lower, self._upper)
        self._limit = self._top_speed.copy()  # [rad/s] of the present motion
        self._speed = np.zeros_like(self._target)  # [rad/s]

    def rejoin(self, index: int, angle: float) -> None:
        """Commands one joint from its position [rad]; from there it moves to its target."""
        command = np.array(self.command)
        command[index] = angle
        self.command = read_only(command)
        self._speed[index] = 0.0

    def hold(self) -> None:
        """Stops where the joints can stop."""
        self._waiting.clear()
        way = self._speed * np.abs(self._speed) / (2.0 * self._acceleration)
        self._target = np.clip(self.command + way, self._lower, self._upper)

    def take(self, targets: Array, speeds: Array) -> None:
        """Sets targets (m,) [rad] and the most speed on the way [rad/s], from any thread.

        A target that is NaN stays as it is; a speed that is NaN or zero is that of the servo.
        """
        self._waiting.append((targets, speeds))

    @property
    def slack(self) -> Array:
        """Permitted excess (m,) [rad] over the joint limits, for joints that started outside them."""
        slack: Array = np.maximum(np.maximum(self._lower - self.command, self.command - self._upper), 0.0)
        return slack

    def step(self, dt: float, speed_share: float = 1.0) -> Array:
        """The command (m,) [rad] `dt` [s] after the last one, at `speed_share` of the speeds.

        The speed is such that the joint can stop at its target: with steps dt and a change c of the speed per step, k
        steps from c k to rest take the distance c dt k (k + 1) / 2, so that a distance of q c dt permits the speed
        c (q / (k + 1) + k / 2), with the greatest k that fits into it.
        """
        while self._waiting:
            targets, speeds = self._waiting.popleft()
            given = ~np.isnan(targets)
            self._target[given] = np.clip(targets, self._lower, self._upper)[given]
            slower = np.where(speeds > 0.0, np.minimum(np.abs(speeds), self._top_speed), self._top_speed)
            self._limit[given] = slower[given]
        way = self._target - self.command
        if dt <= 0.0 or not (way.any() or self._speed.any()):
            return self.command
        change = self._acceleration * dt
        distance = np.abs(way) / (change * dt)
        count = np.floor((np.sqrt(1.0 + 8.0 * distance) - 1.0) / 2.0)
        stoppable = change * (distance / (count + 1.0) + count / 2.0)
        wanted = np.sign(way) * np.minimum(speed_share * self._limit, stoppable)
        self._speed += np.clip(wanted - self._speed, -change, change)
        farthest = np.minimum(self._lower, self.command), np.maximum(self._upper, self.command)  # cycles jitter
        self.command = read_only(np.clip(self.command + self._speed * dt, *farthest))
        return self.command
