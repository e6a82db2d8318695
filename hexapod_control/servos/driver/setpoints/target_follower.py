"""Servo commands from joint targets, the same for real and simulated servos.

target -> joint limits -> interpolation and arming ramp -> speed limit -> command. Joint angles are (n, 3) [rad].
"""

from __future__ import annotations

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Robot
from hexapod_control.servos.driver.setpoints.command_limiter import CommandLimiter
from hexapod_control.servos.driver.setpoints.setpoint_generator import Interpolation, SetpointGenerator
from hexapod_control.servos.driver.setpoints.target_watchdog import TargetWatchdog

MIN_MOVING_SPEED = 0.05  # [rad/s] of a target, above which the robot moves
MIN_MOVING_STEP = 0.02  # [rad] between targets, above which the robot moves
LIMIT_TOLERANCE = 1e-6  # [rad] outside the joint limits that is not reported
OTHER_SENDER = "does another program publish joint_targets?"


class TargetFollower:
    """Follows joint targets. Life cycle: `start` when torque comes on; then `take` targets and `step` every cycle."""

    def __init__(
        self,
        robot: Robot,
        joints: Array,
        interpolation: Interpolation = Interpolation.HOLD,
        catch_up_s: float = 0.0,
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

    def take(self, target: Array, velocity: Array | None, now: float) -> str:
        """Accepts targets (n, 3) [rad] and their speeds [rad/s] at a steady time [s]. Returns a warning, or ""."""
        if not np.isfinite(target).all():
            return f"joint_targets contains NaN or infinity: the message is ignored; {OTHER_SENDER}"
        clamped = self._generator.clamp(target)
        fast = velocity is not None and bool(np.abs(velocity).max() > MIN_MOVING_SPEED)
        moving = fast or bool(np.abs(clamped - self._generator.target).max() > MIN_MOVING_STEP)
        self._generator.aim(clamped, now - self._watchdog.last_arrival)
        self._watchdog.arrived(now, moving=moving)
        excess = float(np.abs(clamped - target).max())
        if excess > LIMIT_TOLERANCE:
            return f"joint_targets is {excess:.4g} rad outside the joint limits: clamped; {OTHER_SENDER}"
        return ""

    def watch(self, now: float) -> str:
        """A warning when targets have just stopped arriving while the robot moved; else an empty text."""
        return self._watchdog.check(now)

    def extend_watchdog(self, seconds: float) -> None:
        """Extends the timeout by a pause [s] of the simulation."""
        self._watchdog.extend(seconds)

    def step(self, dt: float, speed_share: float = 1.0) -> Array:
        """The command (n, 3) [rad] `dt` [s] after the last one; `speed_share` slows targets, ramp and speed limit."""
        return self._limiter.step(self._generator.step(dt * speed_share), dt, speed_share)
