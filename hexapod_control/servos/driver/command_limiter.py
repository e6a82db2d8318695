"""The last gate before the servos: no joint is told to be faster than it can be, and none leaps to its place.

A joint that is found elsewhere than it should be (after arming outside its limits, after a servo came back) is
commanded from where it is, and brought to where it should be in a second or more. Rows are joints (n, 3) [rad].
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hexapod_control.core.gait.swing_trajectory import PEAK_SHARE_SPEED, share
from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.robot import Robot

NO_LOAD_MARGIN = 1.05  # of the no-load speed: what passes as measurement of time
MAX_STEP_S = 0.1  # [s] a step may count: no catching up after a pause
REJOIN_TIME = 1.0  # [s] at least, to bring a joint to its place
REJOIN_SPEED = 0.3  # of the no-load speed, at most


class Setpoints(Protocol):
    """Turns rows of targets into setpoints; owned by the driver's thread."""

    setpoint: Array  # (n, 3) [rad] the last one
    armed: bool
    latched: bool
    pressed: bool
    holding: bool

    def take(self, target: Array, velocity: Array | None, now: float) -> str:
        """A row of targets [rad], speeds [rad/s]. Returns what is wrong with it, or nothing."""

    def watch(self, now: float) -> str:
        """One sentence when targets have stopped coming."""

    def step(self, dt: float) -> Array:
        """Setpoints (n, 3) [rad] after `dt` [s]."""

    def arm(self, measured: Array) -> str:
        """Begins at the measured row with a ramp. Returns why not, or nothing."""

    def disarm(self) -> None:
        """The torque is off."""

    def hold(self) -> None:
        """Stays until the next targets."""

    def press_estop(self) -> None:
        """Latches."""

    def release_estop(self) -> None:
        """The button is released."""

    def reset_fault(self) -> str:
        """Clears the latch. Returns why not, or nothing."""


class CommandLimiter:
    """What was commanded last, and what comes next."""

    def __init__(self, robot: Robot) -> None:
        speeds = [[joint.no_load_speed for joint in leg.joints] for leg in robot.legs]
        self._speed = np.array(speeds)
        self.command: Array = read_only(np.zeros_like(self._speed))
        self._gap = np.zeros_like(self._speed)  # [rad] commanded more than wanted, at the begin of the way
        self._spent = np.zeros_like(self._speed)  # [s] on the way
        self._time = np.full_like(self._speed, REJOIN_TIME)  # [s] for the way

    def start(self, measured: Array, setpoint: Array) -> None:
        """Begins where the joints are."""
        self.command = read_only(measured)
        self._gap = np.array(measured) - setpoint
        self._spent = np.zeros_like(self._gap)
        self._time = np.maximum(REJOIN_TIME, PEAK_SHARE_SPEED * np.abs(self._gap) / (REJOIN_SPEED * self._speed))

    def rejoin(self, index: int, angle: float, setpoint: Array) -> None:
        """One joint (row index) begins again where it is [rad]."""
        place = divmod(index, 3)
        command = np.array(self.command)
        command[place] = angle
        self.command = read_only(command)
        self._gap[place] = angle - setpoint[place]
        self._spent[place] = 0.0
        self._time[place] = max(
            REJOIN_TIME, PEAK_SHARE_SPEED * abs(self._gap[place]) / (REJOIN_SPEED * self._speed[place])
        )

    @property
    def slack(self) -> Array:
        """What joints may still be beyond their limits (n, 3) [rad], because they were found there."""
        found: Array = np.abs(self._remaining())
        return found

    def _remaining(self) -> Array:
        if not self._gap.any():
            return self._gap
        left = [1.0 - share(u) for u in np.ravel(self._spent / self._time).tolist()]
        gap: Array = self._gap * np.reshape(left, self._gap.shape)
        return gap

    def step(self, setpoint: Array, dt: float) -> Array:
        """The row to send `dt` [s] after the last one."""
        dt = min(dt, MAX_STEP_S)
        self._spent = self._spent + dt
        self._gap = np.where(self._spent < self._time, self._gap, 0.0)
        most = NO_LOAD_MARGIN * self._speed * dt
        change = np.clip(setpoint + self._remaining() - self.command, -most, most)
        self.command = read_only(self.command + change)
        return self.command
