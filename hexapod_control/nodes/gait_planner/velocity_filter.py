"""Accepts or refuses velocity commands, and limits their validity. Independent of ROS.

A command is valid for a timeout after it was sent (its stamp) and after it arrived (steady time). Refused messages
change nothing: if only such messages arrive, the command times out. Axes below MIN_COMMAND (twist_limits.py) are zero.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.robot import Vector
from hexapod_control.core.workspace.twist_limits import MIN_COMMAND, zero_small_axes

MAX_STAMP_LEAD_S = 0.2  # by which a stamp may be ahead of the clock
MAX_COMMAND = 100.0  # [m/s, rad/s] larger commands are scaled down to it, as squares of the largest floats overflow
FIELDS = ("linear.x", "linear.y", "angular.z", "linear.z", "angular.x", "angular.y")


class CommandVerdict(NamedTuple):
    """Whether a message is accepted, and the report about it."""

    accepted: bool
    kind: str = ""  # of the report; empty: none
    text: str = ""


ACCEPTED = CommandVerdict(True)


class VelocityFilter:
    """Holds the present velocity command. Life cycle: `offer` every message, `expire` regularly."""

    def __init__(self, timeout: float) -> None:
        """`timeout` [s] of a command."""
        self.timeout = timeout
        self.twist = ZERO  # the present command
        self._until = -math.inf  # [s] steady time
        self._last_usable = -math.inf  # [s] steady time of the last usable message
        self._newest: float | None = None  # [s] stamp
        self.blocked = False  # after a stop, until a zero or a silence
        self.paused = False  # while the machine pauses by itself

    def offer(self, twist: Twist, non_planar: Vector, stamp: float | None, now: float, steady: float) -> CommandVerdict:
        """Accepts or refuses a message.

        `non_planar` are linear.z, angular.x and angular.y, which a walking robot cannot follow. `stamp` [s] is None
        for a message type without one, 0 if it was left empty; `now` [s] is the time on the clock of the stamp,
        `steady` [s] the steady time of arrival.
        """
        for field, value in zip(FIELDS, (*twist, *non_planar), strict=True):
            if not math.isfinite(value):
                return CommandVerdict(False, "not finite", f"{field} is {value}: refused; send finite numbers")
        largest = max(map(abs, twist))
        twist = zero_small_axes(twist.scaled(MAX_COMMAND / largest) if largest > MAX_COMMAND else twist, MIN_COMMAND)
        age = 0.0
        verdict = ACCEPTED
        if stamp == 0.0:
            verdict = CommandVerdict(
                True, "no stamp", "the stamp is zero: accepted, but only its arrival time is checked; set the stamp"
            )
        elif stamp is not None:
            age = now - stamp
            verdict = self._timely(stamp, now)
            if not verdict.accepted:
                return verdict
            self._newest = stamp
        silent = steady - self._last_usable > self.timeout
        self._last_usable = steady
        if self.blocked and not twist.is_zero and not silent:
            text = f"ignored after a stop: send a zero command, or nothing for {self.timeout:g} s, to continue"
            return CommandVerdict(False, "stopped", text)
        self.blocked = False
        if self.paused:
            return CommandVerdict(False)
        self.twist = twist
        self._until = steady + self.timeout - max(age, 0.0)
        return verdict

    def _timely(self, stamp: float, now: float) -> CommandVerdict:
        age = now - stamp
        if age < -MAX_STAMP_LEAD_S:
            text = f"the stamp is {-age:.3g} s in the future: refused; synchronise the clocks (use_sim_time on both?)"
            return CommandVerdict(False, "future", text)
        if age > self.timeout:
            text = (
                f"the stamp is {age:.3g} s old, more than cmd_vel_timeout {self.timeout:g} s: refused; stamp at sending"
            )
            return CommandVerdict(False, "stale", text)
        if self._newest is not None and self._newest > now + MAX_STAMP_LEAD_S:
            self._newest = None  # the clock was set back
        if self._newest is not None and stamp < self._newest:
            text = f"the stamp is {self._newest - stamp:.3g} s older than the newest: dropped; send in order"
            return CommandVerdict(False, "out of order", text)
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
        self.blocked = True

    def pause(self) -> None:
        """Ignores commands until `paused` is cleared; then the next one is followed."""
        self.twist = ZERO
        self.paused = True
