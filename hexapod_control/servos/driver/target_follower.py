# SPDX-License-Identifier: Apache-2.0
"""Servo commands from joint targets, the same for real and simulated servos.

target -> joint limits -> interpolation and arming ramp -> speed limit -> command. Joint angles are (n, 3) [rad].

A joint away from its setpoint (armed outside its limits, or back after a dropout) is commanded from its position; the
offset fades to zero with the quintic profile of a swing.
"""

from __future__ import annotations

import math
from enum import Enum

import numpy as np

from hexapod_control.core.gait.swing_trajectory import PEAK_TRAVEL_SPEED, smooth_travel
from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.refusal import Statement
from hexapod_control.core.robot import Robot

TARGET_TIMEOUT_S = 0.2  # without targets, while moving, after which the driver holds
SILENCE_QUESTION = "do gait_planner and inverse_kinematics run?"


class TargetFlow(Enum):
    """Whether targets arrive."""

    RESTING = "resting"  # the robot does not move: targets may stop
    MOVING = "moving"
    HOLDING = "holding"  # targets stopped while the robot moved


class TargetWatchdog:
    """Call `arrived` for each set of targets and `check` once per cycle. Times are steady [s]."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Returns to the state before the first targets."""
        self._flow = TargetFlow.RESTING
        self._arrival = math.nan
        self._holding_since = math.nan

    @property
    def holding(self) -> bool:
        """Whether targets stopped arriving while the robot moved."""
        return self._flow is TargetFlow.HOLDING

    @property
    def last_arrival(self) -> float:
        """Time of the last targets; NaN before the first."""
        return self._arrival

    def arrived(self, now: float, *, moving: bool) -> None:
        """Registers targets of a moving or resting robot."""
        self._arrival = now
        self._flow = TargetFlow.MOVING if moving else TargetFlow.RESTING

    def rest(self) -> None:
        """Records that the robot holds on purpose: missing targets are not a fault."""
        if self._flow is TargetFlow.MOVING:
            self._flow = TargetFlow.RESTING

    def check(self, now: float) -> Statement | None:
        """A warning when targets have just timed out."""
        if self._flow is not TargetFlow.MOVING or not now - self._arrival > TARGET_TIMEOUT_S:
            return None
        self._flow = TargetFlow.HOLDING
        self._holding_since = now
        text = "no joint_targets for {seconds:g} s while moving: holding the last joint angles"
        return Statement("targets_silent", text, seconds=TARGET_TIMEOUT_S)

    def held_for(self, now: float) -> float:
        """Time [s] for which the driver has been holding; 0 while targets arrive."""
        return now - self._holding_since if self.holding else 0.0

    def extend(self, seconds: float) -> None:
        """Extends the timeout by a pause [s] of the simulation."""
        self._arrival += seconds


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
            self._ramp_from = joints
            self._ramp_s = 0.0

    def clamp(self, target: Array) -> Array:
        """Joint angles clamped to the joint limits."""
        return np.clip(target, self._lower, self._upper)

    def aim(self, target: Array, since_last: float) -> None:
        """Accepts targets inside the joint limits, `since_last` [s] after the last ones (NaN: the first)."""
        if self._linear and not math.isnan(since_last):
            self._period = min(max(since_last, PERIOD_BOUNDS_S[0]), PERIOD_BOUNDS_S[1])
        self._from = self.setpoint
        self.target = target
        self._since = 0.0

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


MIN_MOVING_SPEED = 0.05  # [rad/s] of a target, above which the robot moves
MIN_MOVING_STEP = 0.02  # [rad] between targets, above which the robot moves
LIMIT_TOLERANCE = 1e-6  # [rad] outside the joint limits that is not reported
OTHER_SENDER = "does another program publish joint_targets?"


class TargetFollower:
    """Follows joint targets. Life cycle: `start` when torque comes on; then `take` targets and `step` every cycle."""

    def __init__(
        self, robot: Robot, joints: Array, interpolation: Interpolation = Interpolation.HOLD, catch_up_s: float = 0.0
    ) -> None:
        """Starts at `joints` (n, 3) [rad] without a ramp; `catch_up_s` as in CommandLimiter."""
        self._generator = SetpointGenerator(robot, joints, interpolation)
        self._limiter = CommandLimiter(robot, self._generator.setpoint, catch_up_s)
        self._watchdog = TargetWatchdog()

    @property
    def command(self) -> Array:
        """The last command (n, 3) [rad]."""
        return self._limiter.command

    @property
    def target(self) -> Array:
        """The last targets (n, 3) [rad], inside the joint limits."""
        return self._generator.target

    @property
    def slack(self) -> Array:
        """Permitted excess (n, 3) [rad] over the joint limits, for joints that started outside them."""
        return self._limiter.slack

    @property
    def holding(self) -> bool:
        """Whether targets stopped arriving while the robot moved."""
        return self._watchdog.holding

    def held_for(self, now: float) -> float:
        """Time [s] of holding because targets are missing; 0 while they arrive."""
        return self._watchdog.held_for(now)

    def start(self, measured: Array) -> None:
        """Commands the measured joint angles (n, 3) [rad] and ramps to the following targets."""
        self._generator.start_ramp(measured)
        self._limiter.start(measured, self._generator.setpoint)
        self._watchdog.reset()

    def rejoin(self, index: int, angle: float) -> None:
        """Commands one joint (index in row order) from its position [rad] and returns it to its setpoint."""
        self._limiter.rejoin(index, angle, self._generator.setpoint)

    def hold(self) -> None:
        """Holds the present joint angles until the next targets."""
        self._generator.hold_at(self._limiter.reached)
        self._watchdog.rest()

    def take(self, target: Array, velocity: Array | None, now: float) -> str | None:
        """Accepts targets (n, 3) [rad] and their speeds [rad/s] at a steady time [s]. Returns a warning."""
        if not np.isfinite(target).all():
            return f"joint_targets contains NaN or infinity: the message is ignored; {OTHER_SENDER}"
        clamped = self._generator.clamp(target)
        fast = velocity is not None and bool(np.abs(velocity).max() > MIN_MOVING_SPEED)
        # First targets at rest are off the angles at which the robot was found, without moving it.
        found = velocity is not None and math.isnan(self._watchdog.last_arrival)
        moving = fast or (not found and bool(np.abs(clamped - self._generator.target).max() > MIN_MOVING_STEP))
        self._generator.aim(clamped, now - self._watchdog.last_arrival)
        self._watchdog.arrived(now, moving=moving)
        excess = float(np.abs(clamped - target).max())
        if excess > LIMIT_TOLERANCE:
            return f"joint_targets is {excess:.4g} rad outside the joint limits: clamped; {OTHER_SENDER}"
        return None

    def watch(self, now: float) -> Statement | None:
        """A warning when targets have just stopped arriving while the robot moved."""
        return self._watchdog.check(now)

    def extend_watchdog(self, seconds: float) -> None:
        """Extends the timeout by a pause [s] of the simulation."""
        self._watchdog.extend(seconds)

    def step(self, dt: float, speed_share: float = 1.0) -> Array:
        """The command (n, 3) [rad] `dt` [s] after the last one; `speed_share` slows targets, ramp and speed limit."""
        return self._limiter.step(self._generator.step(dt * speed_share), dt, speed_share)
