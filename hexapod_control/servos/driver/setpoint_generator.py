"""What stands between joint targets and servos: torque, emergency stop, speed limit and watchdog; no ROS in it.

Torque is on (armed) or off. An emergency stop switches it off and latches: releasing the button, resetting the
fault and arming are three separate acts. After arming the servos go from where the joints are to their targets in
ARMING_RAMP seconds. Rows are joints (n, 3) [rad].
"""

from __future__ import annotations

import math

import numpy as np

from hexapod_control.core.gait.swing_trajectory import share
from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.robot import Robot

ARMING_RAMP = 1.0  # [s] from measured joints to targets after arming
SPEED_MARGIN = 1.05  # of the no-load speed: what passes as measurement of time
CATCH_UP_TIME = 0.02  # [s] of motion that one step may make up for: targets come at 50 Hz, steps are shorter
TARGET_TIMEOUT = 0.2  # [s] without targets, while moving, after which the driver holds
MOTION_THRESHOLDS = (0.05, 0.02)  # [rad/s, rad per row] more than this is a motion, less the end of one
PERIOD_BOUNDS = (0.002, 0.05)  # [s] bounds of the targets' measured period, for the linear way between them


class SetpointGenerator:
    """Setpoints for the servos of one robot; starts armed, holding `joints`."""

    def __init__(self, robot: Robot, joints: Array, between_targets: str = "hold") -> None:
        """`between_targets` is `hold` or `linear`: how a setpoint gets to a new target."""
        limits = [[(j.lower, j.upper, j.no_load_speed) for j in leg.joints] for leg in robot.legs]
        self._lower, self._upper, self._speed = np.moveaxis(np.array(limits), -1, 0)
        self._linear = between_targets == "linear"
        self.armed = True
        self.latched = False  # an emergency stop that was not reset
        self.pressed = False  # the emergency stop is still held
        self.holding = False  # targets stopped coming while the robot moved
        self._ramp = math.inf
        self._start_at(joints)

    def _start_at(self, joints: Array) -> None:
        self.setpoint: Array = np.clip(joints, self._lower, self._upper)  # (n, 3) [rad]
        self.target: Array = self.setpoint
        self._from: Array = self.setpoint
        self._ramp_from: Array = self.setpoint
        self._period = self._since = 0.0
        self._saved = CATCH_UP_TIME
        self._arrival = math.nan
        self._moving = self.holding = False

    # --- torque -------------------------------------------------------------------------------------

    def press_estop(self) -> None:
        """Cuts the torque and latches."""
        self.pressed = self.latched = True
        self.armed = False

    def release_estop(self) -> None:
        """Lets go of the button: nothing moves, `reset_fault` may follow."""
        self.pressed = False

    def reset_fault(self) -> str:
        """Clears the latch. Returns why not, or nothing."""
        if self.pressed:
            return "estop is still true: call estop with false first"
        self.latched = False
        return ""

    def arm(self, measured: Array) -> str:
        """Switches the torque on where the joints are (n, 3) [rad]. Returns why not, or nothing."""
        if self.latched:
            return "the emergency stop is latched: call estop with false, then reset_fault, then arm"
        if not self.armed:
            self.armed = True
            self.restart(measured)
        return ""

    def disarm(self) -> None:
        """Switches the torque off."""
        self.armed = False

    def restart(self, measured: Array) -> None:
        """Holds the joints (n, 3) [rad] and takes ARMING_RAMP seconds to get to the targets that come from now on."""
        self._start_at(measured)
        self._ramp = 0.0

    def hold(self) -> None:
        """Stays where the setpoints are until the next targets come."""
        self.target = self._from = self.setpoint
        self._moving = False

    # --- targets ------------------------------------------------------------------------------------

    def take(self, target: Array, velocity: Array | None, now: float) -> str:
        """A row of targets [rad] with their speeds [rad/s], at a steady time [s]. Returns why not, or nothing."""
        if not np.isfinite(target).all():
            return "joint_targets contains NaN or infinity: the row is ignored"
        if self._linear and not math.isnan(self._arrival):
            self._period = min(max(now - self._arrival, PERIOD_BOUNDS[0]), PERIOD_BOUNDS[1])
        clipped = np.clip(target, self._lower, self._upper)
        moving = velocity is not None and bool(np.abs(velocity).max() > MOTION_THRESHOLDS[0])
        self._moving = moving or bool(np.abs(clipped - self.target).max() > MOTION_THRESHOLDS[1])
        self._from, self.target, self._since = self.setpoint, clipped, 0.0
        self._arrival = now
        self.holding = False
        excess = float(np.abs(clipped - target).max())
        return f"joint_targets is {excess:.3f} rad outside the joint limits: clamped" if excess > 1e-6 else ""

    def watch(self, now: float) -> str:
        """One sentence when targets have stopped coming while the robot moved; nothing else, or again."""
        if self.holding or not self._moving or not now - self._arrival > TARGET_TIMEOUT:
            return ""
        self.holding = True
        late = f"no joint_targets for {TARGET_TIMEOUT:g} s while moving"
        return f"{late}: holding the last row; is inverse_kinematics alive?"

    def extend_watchdog(self, seconds: float) -> None:
        """Takes a pause of the world [s] out of the watchdog's count."""
        self._arrival += seconds

    def step(self, dt: float) -> Array:
        """Setpoints (n, 3) [rad] after `dt` [s]: towards the targets, no joint faster than it can be."""
        goal = self.target
        self._since += dt
        if self._linear and self._since < self._period:
            goal = self._from + (goal - self._from) * (self._since / self._period)
        if self._ramp < ARMING_RAMP:
            self._ramp += dt
            goal = self._ramp_from + (goal - self._ramp_from) * share(min(1.0, self._ramp / ARMING_RAMP))
        self._saved = min(self._saved + dt, max(CATCH_UP_TIME, dt))
        change = goal - self.setpoint
        if change.any():
            most = SPEED_MARGIN * self._speed * self._saved
            self.setpoint = self.setpoint + np.clip(change, -most, most)
            self._saved = 0.0
        return read_only(self.setpoint)
