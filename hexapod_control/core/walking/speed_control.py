# SPDX-License-Identifier: Apache-2.0
"""From the commanded twist to the executed one: limited, ramped, and slowed down where the feet require it.

The words for "how fast": the command is what the operator wants; the limit (`SpeedLimit`) is the possible twist nearest
to it, with the swing time and the strides for it; the executed twist ramps towards the limit with bounded acceleration.
`limit` scales a command as a whole, which keeps the curvature of the path: first to the maxima per axis of the settings
(`TwistLimits`), then to what legs and servos allow (`SpeedEnvelope`). Region guard, waiting lift-offs and the tick
limiter slow the executed twist further where the feet require it. Twists are in base_footprint.
See docs/architecture/walking-mathematics.md, "Speed envelope".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.walking.walk_settings import WalkSettings
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.speed_envelope import SpeedLimit
from hexapod_control.core.workspace.strides.stride_table import Strides
from hexapod_control.core.workspace.swing_limits import STRIDE_SHARE
from hexapod_control.core.workspace.twist_limits import (
    MIN_TWIST,
    TwistLimits,
    change_towards,
    clamp_to_limits,
    derate_limits,
    ramp_towards,
    zero_small_axes,
)

SWAYING_TIME = 2.5  # factor on the time of acceleration, in a gait with sway
SWING_TIME_RATE = 0.5  # [s/s] by which the swing time may change
LIFT_RATE = 1.0  # [1/s] by which the share of the lift height may rise, as the robot slows down
ROUGH_ACCELERATION = 3.0  # factor on the acceleration on rough ground, where the walk is slowed down repeatedly
CATCH_UP_SHARE = 0.1  # of the command: maximum increase of the speed to make up for lost time
MAX_LOST_S = 1.0  # lost time for which the robot makes up
ROUGH_STRIDE_SHARE = 0.85  # maximum length of strides on rough ground, relative to steady strides: they vary


class SpeedConditions(NamedTuple):
    """The conditions on which the speed limits of a walk depend."""

    gait: Gait
    height: float  # [m] of base_link above the ground
    region_share: float  # that the body pose leaves for walking, see REGION_SHARES


class SpeedControl(Copyable):
    """Command, executed twist, swing time and lift of a walk; `ramp` and `change_swing` advance them by one tick.

    Limit and maxima are computed again only when something that they depend on has changed.
    """

    _limits: TwistLimits
    _lost: float  # [s] lost time: by which the walk is behind its command, on rough ground
    _speed_share: float
    _swing_time_scale: float
    command: Twist
    halted: bool  # whether the feet stay where they are until the next command
    lift_share: float  # (0 to 1) of the lift height of the settings
    swing_time: float  # [s]
    twist: Twist  # executed

    def __init__(self, capabilities: Capabilities) -> None:
        """Starts at rest, without a command."""
        self._envelope = capabilities.envelope
        self._last_limit: tuple[tuple[Any, ...], SpeedLimit] | None = None  # arguments and result
        self._last_maxima: tuple[SpeedConditions, Twist] | None = None
        self._limits = TwistLimits()
        self._swing_time_scale = 1.0
        self._speed_share = 1.0
        self._lost = 0.0
        self.command = ZERO
        self.twist = ZERO
        self.halted = False
        self.swing_time = capabilities.robot.walk.swing_time
        self.lift_share = 1.0

    def change_settings(self, settings: WalkSettings) -> None:
        """Applies limits, tempo and speed share."""
        self._limits, self._swing_time_scale = settings.limits, settings.tempo
        self._speed_share = settings.speed_share

    def drive(self, command: Twist) -> None:
        """Sets the command; axes below MIN_TWIST count as zero."""
        self.command = zero_small_axes(command, MIN_TWIST)
        self.halted = False

    def halt(self) -> None:
        """Sets a zero command, and leaves the feet where they are until the next command."""
        self.command = ZERO
        self.hold_feet()

    def hold_feet(self) -> None:
        """Leaves the feet where they are until the next command."""
        self.halted = True

    def limit(
        self, conditions: SpeedConditions, at_best: SpeedConditions, next_gaits: Sequence[Gait], share: float
    ) -> SpeedLimit:
        """Returns the possible twist and its strides for a share of the command, in the present and the next gaits.

        A speed share of the settings refers to the maximum speed of the robot under the conditions `at_best`.
        """
        command = self.command.scaled(share * (1.0 + min(self._lost, CATCH_UP_SHARE)))
        key = (command, conditions, tuple(next_gaits), self._derated_limits(at_best), self._swing_time_scale)
        if self._last_limit is None or self._last_limit[0] != key:
            within = clamp_to_limits(command, key[3])
            self._last_limit = key, self._envelope.limit(*conditions, within, self._swing_time_scale, next_gaits)
        return self._last_limit[1]

    def goal(self, at_best: SpeedConditions, share: float) -> Twist:
        """Returns a share of the command within the limits of the settings, regardless of those of the legs."""
        return clamp_to_limits(self.command.scaled(share), self._derated_limits(at_best))

    def maxima(self, conditions: SpeedConditions) -> Twist:
        """Returns the maximum speed along each axis alone."""
        bounds = (axis.max_velocity for axis in self._derated_limits(conditions).axes)
        pairs = zip(self._robot_maxima(conditions), bounds, strict=True)
        return Twist(*(v if math.isnan(bound) else min(v, bound) for v, bound in pairs))

    def _robot_maxima(self, conditions: SpeedConditions) -> Twist:
        """Highest speed along each axis alone that legs and servos allow."""
        if self._last_maxima is None or self._last_maxima[0] != conditions:
            self._last_maxima = conditions, self._envelope.maxima(*conditions)
        return self._last_maxima[1]

    def _derated_limits(self, conditions: SpeedConditions) -> TwistLimits:
        """The limits of the settings, including the speed share."""
        if self._speed_share >= 1.0:
            return self._limits
        return derate_limits(self._limits, self._robot_maxima(conditions), self._speed_share)

    def braking_time(self, conditions: SpeedConditions) -> float:
        """Returns the time [s] in which the executed twist can ramp down to zero."""
        down = self.accelerations(conditions, 1.0)[1]
        return max(abs(v) / a if a > 0.0 else 0.0 for v, a in zip(self.twist, down, strict=True))

    def accelerations(self, conditions: SpeedConditions, scale: float) -> tuple[Twist, Twist]:
        """(acceleration, deceleration) per axis [m/s^2, m/s^2, rad/s^2]: from the settings, else from the robot.

        Deceleration: from full speed v to rest in one swing time T, a = v / T. Acceleration: such that, started from
        rest, the leg that lifts off last, after the time t, is then no farther from its neutral foothold than after
        half a stance S at full speed: a t^2 / 2 <= v S / 2, and at most v / S. `scale` is a factor on it, for feet that
        are already placed for full strides.
        """
        gait = conditions.gait
        if self._envelope.adapts_strides:  # up to the top speed strides outgrow the share that keeps a margin
            scale *= self._envelope.stride_shares.get(gait.name, 1.0)
        last = 0.0
        for leg in range(len(gait.lift_off)):
            last = max(last, gait.until_lift_off(leg, gait.start_phase))
        time = max(gait.stance_time, last * last / gait.stance_time) * self.swing_time / scale
        braking = self.swing_time
        if gait.sway is not None:  # the body sways over the feet, whose strides change with every step only
            braking, time = time, SWAYING_TIME * time
        up = []
        down = []
        for v, axis in zip(self._robot_maxima(conditions), self._limits.axes, strict=True):
            up.append(v / time if math.isnan(axis.max_acceleration) else axis.max_acceleration)
            down.append(v / braking if math.isnan(axis.max_deceleration) else axis.max_deceleration)
        return Twist(*up), Twist(*down)

    def ramp(self, dt: float, goal: Twist, conditions: SpeedConditions, roughness: float) -> None:
        """Ramps the executed twist towards a goal for `dt` [s], faster on rough ground (roughness 0 to 1)."""
        scale = 1.0 + roughness * (ROUGH_ACCELERATION - 1.0)
        self.twist = ramp_towards(self.twist, goal, *self.accelerations(conditions, scale), dt)

    def change_swing(self, dt: float, swing_time: float, lift_share: float) -> None:
        """Ramps the swing time [s] and the share of the lift height towards goals for `dt` [s].

        The lift is lowered at once, as the robot speeds up, and raised slowly, as it slows down.
        """
        self.swing_time = change_towards(self.swing_time, swing_time, SWING_TIME_RATE * dt)
        self.lift_share = min(lift_share, self.lift_share + LIFT_RATE * dt)

    def slow_down(self, share: float) -> None:
        """Scales the executed twist by a share (0 to 1) at once."""
        if share < 1.0:
            self.twist = self.twist.scaled(share)

    def note_lost_time(self, dt: float, roughness: float) -> None:
        """Updates the lost time after a tick of `dt` [s] on rough ground (roughness 0 to 1)."""
        size = math.hypot(*self.command)
        if size == 0.0 or roughness == 0.0:
            self._lost = 0.0
            return
        along = sum(a * b for a, b in zip(self.twist, self.command, strict=True)) / (size * size)
        self._lost = min(max(self._lost + roughness * (1.0 - along) * dt, 0.0), MAX_LOST_S)

    def note_slowed(self, time: float, roughness: float) -> None:
        """Adds a time [s] by which the limits of the joints have slowed a tick on rough ground (roughness 0 to 1)."""
        if not self.command.is_zero:
            self._lost = min(self._lost + roughness * time, MAX_LOST_S)

    def stop_at_once(self) -> None:
        """Sets the executed twist to zero at once, for a robot that holds its joints."""
        self.twist = ZERO


def stretched_swing_time(swing_time: float, stretch: float, twist: Twist, gait: Gait, strides: Strides) -> float:
    """Returns the swing time [s] multiplied by `stretch`, or by less if the strides would leave the stance regions."""
    share = 2.0 * ROUGH_STRIDE_SHARE * STRIDE_SHARE * strides.share / gait.stance_time
    longest = stretch * swing_time
    stance = strides.stance_regions
    for (x, y), radius in zip(stance.footholds, stance.radii, strict=True):
        speed = twist.speed_at(x, y)
        if longest * speed > share * radius:
            longest = share * radius / speed
    return max(swing_time, longest)
