# SPDX-License-Identifier: Apache-2.0
"""Accepts or refuses velocity commands, and limits their validity. Independent of ROS.

A command is valid for a timeout after it was sent (its stamp) and after it arrived (steady time). Refused messages
change nothing: if only such messages arrive, the command times out. Axes below MIN_COMMAND (twist_limits.py) are zero.
"""

from __future__ import annotations

import math
from enum import Flag, auto
from typing import NamedTuple

from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.refusal import Refusal, Statement
from hexapod_control.core.robot import Vector
from hexapod_control.core.workspace.twist_limits import MIN_COMMAND, zero_small_axes

MAX_STAMP_LEAD_S = 0.2  # by which a stamp may be ahead of the clock
MAX_COMMAND = 100.0  # [m/s, rad/s] larger commands are scaled down to it, as squares of the largest floats overflow
FIELDS = ("linear.x", "linear.y", "angular.z", "linear.z", "angular.x", "angular.y")


class CommandVerdict(NamedTuple):
    """Whether a message is accepted, and the report about it."""

    accepted: bool
    report: Statement | None = None


ACCEPTED = CommandVerdict(True)
NO_STAMP = Statement("no stamp", "the stamp is zero: accepted, but only its arrival time is checked; set the stamp")


class Ignored(Flag):
    """Why velocity commands are ignored; both reasons may hold at once, and each has its own end."""

    STOP = auto()  # an operator has stopped the robot: until a zero command or a silence
    PAUSE = auto()  # the machine pauses by itself: until `resume`


class VelocityFilter:
    """Holds the present velocity command. Life cycle: `offer` every message, `expire` regularly."""

    def __init__(self, timeout: float) -> None:
        """`timeout` [s] of a command."""
        self.timeout = timeout
        self.twist = ZERO  # the present command
        self._until = -math.inf  # [s] steady time
        self._last_usable = -math.inf  # [s] steady time of the last usable message
        self._newest: float | None = None  # [s] stamp
        self.ignored = Ignored(0)

    def offer(self, twist: Twist, non_planar: Vector, stamp: float | None, now: float, steady: float) -> CommandVerdict:
        """Accepts or refuses a message.

        `non_planar` are linear.z, angular.x and angular.y, which a walking robot cannot follow. `stamp` [s] is None
        for a message type without one, 0 if it was left empty; `now` [s] is the time on the clock of the stamp,
        `steady` [s] the steady time of arrival.
        """
        for field, value in zip(FIELDS, (*twist, *non_planar), strict=True):
            if not math.isfinite(value):
                return _refused(
                    "not finite", "{field} is {value}: refused; send finite numbers", field=field, value=value
                )
        largest = max(map(abs, twist))
        twist = zero_small_axes(twist.scaled(MAX_COMMAND / largest) if largest > MAX_COMMAND else twist, MIN_COMMAND)
        age = 0.0
        verdict = ACCEPTED
        if stamp == 0.0:
            verdict = CommandVerdict(True, NO_STAMP)
        elif stamp is not None:
            age = now - stamp
            verdict = self._timely(stamp, now)
            if not verdict.accepted:
                return verdict
            self._newest = stamp
        silent = steady - self._last_usable > self.timeout
        self._last_usable = steady
        if Ignored.STOP in self.ignored and not twist.is_zero and not silent:
            text = "ignored after a stop: send a zero command, or nothing for {timeout:g} s, to continue"
            return _refused("stopped", text, timeout=self.timeout)
        self.ignored &= ~Ignored.STOP  # also during a pause, after which the next command is followed
        if self.ignored:
            return CommandVerdict(False)
        self.twist = twist
        self._until = steady + self.timeout - max(age, 0.0)
        return verdict

    def _timely(self, stamp: float, now: float) -> CommandVerdict:
        age = now - stamp
        if age < -MAX_STAMP_LEAD_S:
            text = "the stamp is {lead:.3g} s in the future: refused; synchronise the clocks (use_sim_time on both?)"
            return _refused("future", text, lead=-age)
        if age > self.timeout:
            text = "the stamp is {age:.3g} s old, more than cmd_vel_timeout {timeout:g} s: refused; stamp at sending"
            return _refused("stale", text, age=age, timeout=self.timeout)
        if self._newest is not None and self._newest > now + MAX_STAMP_LEAD_S:
            self._newest = None  # the clock was set back
        if self._newest is not None and stamp < self._newest:
            text = "the stamp is {lag:.3g} s older than the newest: dropped; send in order"
            return _refused("out of order", text, lag=self._newest - stamp)
        return ACCEPTED

    def expire(self, steady: float) -> bool:
        """Zeroes a command that has timed out at a steady time [s]. Returns True if one has."""
        late = steady > self._until and not self.twist.is_zero
        if late:
            self.twist = ZERO
        return late

    def block(self) -> None:
        """Ignores commands after a stop of an operator, until a zero command or a silence."""
        self.twist = ZERO
        self.ignored |= Ignored.STOP

    def pause(self) -> None:
        """Ignores commands until `resume`."""
        self.twist = ZERO
        self.ignored |= Ignored.PAUSE

    def resume(self) -> None:
        """Ends a pause: the next command is followed, unless an operator has stopped the robot."""
        self.ignored &= ~Ignored.PAUSE


def _refused(kind: str, text: str, **values: object) -> CommandVerdict:
    return CommandVerdict(False, Refusal(kind, text, **values))
