"""Speed limit of the commands: no joint is commanded faster than it can turn, and none jumps to its setpoint.

A joint away from its setpoint (armed outside its limits, or back after a dropout) is commanded from its position. The
offset fades to zero with the quintic profile of a swing, in REJOIN_TIME_S or more. Joint angles are (n, 3) [rad].
"""

from __future__ import annotations

import numpy as np

from hexapod_control.core.gait.swing_trajectory import PEAK_TRAVEL_SPEED, smooth_travel
from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.robot import Robot

SPEED_MARGIN = 1.05  # of the no-load speed: tolerance for the jitter of measured time
MAX_STEP_S = 0.1  # of one step; a longer pause is not made up for
REJOIN_TIME_S = 1.0  # minimum time to return a joint to its setpoint
REJOIN_SPEED_SHARE = 0.3  # of the no-load speed, while a joint returns to its setpoint


class CommandLimiter:
    """Holds the last command. Life cycle: `start` where the joints are, then `step` once per cycle."""

    def __init__(self, robot: Robot, joints: Array, catch_up_s: float = 0.0) -> None:
        """Starts at `joints` (n, 3) [rad].

        A standstill of at most `catch_up_s` may be made up for in one step, for callers that step more often than
        targets arrive.
        """
        self._speed = np.array([[joint.no_load_speed for joint in leg.joints] for leg in robot.legs])  # [rad/s]
        self._catch_up_s = catch_up_s
        self.start(joints, joints)

    def start(self, measured: Array, setpoint: Array) -> None:
        """Commands the measured joint angles and fades to the setpoint."""
        self.command: Array = read_only(measured)
        self._offset = np.array(measured) - setpoint  # [rad] command minus setpoint when the fading began
        self._faded_s = np.zeros_like(self._offset)  # since the fading began
        self._fade_time_s = np.maximum(REJOIN_TIME_S, self._shortest_fade(self._offset, self._speed))
        self._allowance_s = self._catch_up_s  # motion time available to the next step

    def rejoin(self, index: int, angle: float, setpoint: Array) -> None:
        """Commands one joint (index in row order) from its position [rad] and fades to the setpoint."""
        joint = divmod(index, 3)  # row and column
        command = np.array(self.command)
        command[joint] = angle
        self.command = read_only(command)
        self._offset[joint] = angle - setpoint[joint]
        self._faded_s[joint] = 0.0
        self._fade_time_s[joint] = max(REJOIN_TIME_S, self._shortest_fade(self._offset[joint], self._speed[joint]))

    @staticmethod
    def _shortest_fade(offset: Array, speed: Array) -> Array:
        """Time [s] in which an offset [rad] fades with REJOIN_SPEED_SHARE of the speed [rad/s] as its peak."""
        time: Array = PEAK_TRAVEL_SPEED * np.abs(offset) / (REJOIN_SPEED_SHARE * speed)
        return time

    @property
    def slack(self) -> Array:
        """Permitted excess (n, 3) [rad] over the joint limits, for joints that started outside them."""
        slack: Array = np.abs(self._remaining_offset())
        return slack

    @property
    def reached(self) -> Array:
        """The setpoint (n, 3) [rad] that the command has reached: the command without the fading offset."""
        reached: Array = self.command - self._remaining_offset()
        return reached

    def _remaining_offset(self) -> Array:
        if not self._offset.any():
            return self._offset
        remaining = [1.0 - smooth_travel(u) for u in np.ravel(self._faded_s / self._fade_time_s).tolist()]
        offset: Array = self._offset * np.reshape(remaining, self._offset.shape)
        return offset

    def step(self, setpoint: Array, dt: float, speed_share: float = 1.0) -> Array:
        """The command (n, 3) [rad] `dt` [s] after the last one, at `speed_share` of the maximum speed."""
        dt = min(dt, MAX_STEP_S)
        if self._offset.any():
            self._faded_s = self._faded_s + dt
            self._offset = np.where(self._faded_s < self._fade_time_s, self._offset, 0.0)
            setpoint = setpoint + self._remaining_offset()
        self._allowance_s = min(self._allowance_s + dt, max(self._catch_up_s, dt))
        change = setpoint - self.command
        if change.any():
            most = SPEED_MARGIN * speed_share * self._speed * self._allowance_s
            self.command = read_only(self.command + np.clip(change, -most, most))
            self._allowance_s = 0.0
        return self.command
