# SPDX-License-Identifier: Apache-2.0
"""Course control: the body walks the twist that is commanded, although joint zeros, play and lengths are not exact.

What the standing feet lose of the intended motion by their measured joints, as play, soft servos and friction take it,
is known in every tick. It is averaged over the last gait cycles from the first step on, and made by the feet in
addition. The rest of the turn, by wrong zeros and lengths, is known from the heading of an IMU once per gait cycle:
within a cycle the body yaws with every change of the supporting legs, over a whole one that cancels. The heading error
is the sum of what was missed, and is taken back in the next cycle.

Errors of joints and lengths turn the body by a fixed amount per metre, so corrections are shares of the foot speed:
they vanish smoothly with it, and are still known when the robot walks on. A cycle counts only if it is plausible.
See docs/architecture/walking-mathematics.md, "Course control".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.se2 import ZERO, Twist, wrap
from hexapod_control.core.robot import Robot
from hexapod_control.core.workspace.twist_limits import change_towards

HEADING_GAIN = 0.6  # share of the heading error that the next cycle takes back
REST_GAIN = 0.15  # share of a cycle in the mean of the turn that joints do not see; of the first ones it is greater
CYCLE_PARTS = 8  # after each of which the loss over a cycle is known anew
FIRST_CYCLES = 0.5  # to which the loss of the first steps is related, at least
MAX_HEADING_ERROR = math.radians(10.0)  # that is taken back; beyond, the robot was turned
MAX_CYCLE_SHARE = 0.4  # of the way of the feet in a cycle: a greater difference is no error of joints
MIN_KNOWN_SHARE = 0.7  # of a cycle, from which measured joints tell whether it is plausible
RAMP_SHARE = 0.25  # of a cycle, in which the correction changes from zero to the largest one
MAX_VAIN_CYCLES = 4  # at the largest heading error, after which the correction has no effect
MIN_CYCLE_WAY_M = 0.004  # of the feet: with shorter steps a difference says nothing
SAME_COURSE = math.cos(math.radians(45.0))  # between two directions of travel that have the same errors


class CourseState(Enum):
    """What course control does."""

    OFF = "off"
    BLIND = "no sensor"  # neither a heading nor measured joints
    STANDING = "standing"
    KEEPING = "keeping"
    LIMITED = "at its limit"
    DISTRUSTED = "without effect"  # the heading got worse with the correction, which is off until the robot stands
    WAITING = "waiting"  # the last cycle was not plausible: turned by hand, slipping, or a step of the heading


@dataclass(frozen=True, slots=True)
class CourseSample:
    """What one tick adds: the executed motion, and what is measured of it."""

    executed: Twist
    intended: Twist  # [m, m, rad] of base_link in this tick: executed, and the planned motion of the body over it
    heading: float | None  # [rad] by an IMU; None: unknown
    moved: Twist | None  # [m, m, rad] in this tick, by measured joints; None: unknown
    phase: float  # of the gait, in [0, 1)
    gait: str
    walking: bool
    trusted: bool  # False while a leg lags, feet slip, or the walk is held


@dataclass(frozen=True, slots=True)
class _Part:
    """Sums over a part of a gait cycle."""

    lost: Twist = ZERO  # [m, m, rad] of the intended motion by the uncorrected feet
    way: float = 0.0  # [m] executed, of the feet
    path: float = 0.0  # [m] intended, of the feet: with that of a body that sways to and fro


class _Loss(Copyable):
    """What the feet lose of their way over the last gait cycle, of the first one since it began."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []  # oldest first
        self._now = _Part()
        self._done = 0.0  # parts so far, with the present one

    def add(self, part: _Part, done: float) -> None:
        """Adds a tick, which is the share `done` of a cycle."""
        self._now = _joined((self._now, part))
        before, self._done = self._done, self._done + done * CYCLE_PARTS
        if int(self._done) > int(before):
            self._parts = [*self._parts[1 - CYCLE_PARTS :], self._now]
            self._now = _Part()

    def shares(self, cycle_way: float) -> Twist:
        """The loss as shares of the way [1, 1, rad/m]; `cycle_way` [m] is that of a cycle."""
        known = _joined(self._parts)
        whole = len(self._parts) >= CYCLE_PARTS and known.way >= MIN_KNOWN_SHARE * cycle_way
        return known.lost.scaled(1.0 / (known.way if whole else max(known.path, FIRST_CYCLES * cycle_way)))

    def keep(self, shares: Twist, way: float) -> None:
        """Assumes a loss on another course of which nothing is known yet; `way` [m] is that of a cycle."""
        self._parts = [_Part(shares.scaled(FIRST_CYCLES * way), FIRST_CYCLES * way, FIRST_CYCLES * way)]
        self._now = _Part()
        self._done = 0.0


def _joined(parts: Sequence[_Part]) -> _Part:
    lost = (sum([part.lost[axis] for part in parts]) for axis in range(3))
    return _Part(Twist(*lost), sum([part.way for part in parts]), sum([part.path for part in parts]))


class _Cycle(Copyable):
    """Sums over the present gait cycle."""

    def __init__(self, sample: CourseSample) -> None:
        self.gait = sample.gait
        self.done = 0.0  # share of the cycle
        self.heading = sample.heading
        self.way = 0.0  # [m] of the feet
        self.intended = ZERO  # [m, m, rad]
        self.added = 0.0  # [rad] turn of the feet by the correction
        self.known = 0.0  # [m] of the way, on which measured joints tell the motion ...
        self._missed = ZERO  # [m, m, rad] ... and what they have not made of the intended one
        self.trusted = True

    def add(self, sample: CourseSample, missed: Twist | None, way: float, added: float, done: float) -> None:
        self.done += done
        self.way += way
        self.intended = _sum(self.intended, sample.intended)
        self.added += added
        if missed is not None:
            self.known += way
            self._missed = _sum(self._missed, missed)
        self.trusted &= sample.trusted
        if sample.heading is None:
            self.heading = None

    @property
    def missed(self) -> Twist | None:
        """Intended motion [m, m, rad] that the measured joints have not made; None if unknown."""
        return self._missed.scaled(self.way / self.known) if self.known >= MIN_KNOWN_SHARE * self.way else None


class CourseControl(Copyable):
    """The correction of the feet's twist; `step` updates it after every tick."""

    def __init__(self, robot: Robot) -> None:
        """Starts without corrections."""
        self._radius = robot.foothold_radius  # [m]
        self.state = CourseState.STANDING
        self.heading_error = 0.0  # [rad] by which the robot has turned too little, counter-clockwise
        self.shares = ZERO  # correction as shares of the foot speed [1, 1, rad/m]
        self._loss = _Loss()  # by measured joints, up to this tick ...
        self._plausible = _Loss()  # ... and up to the last plausible cycle
        self._open = _Part()  # since the last sample of the joints
        self._rest = 0.0  # [rad/m] of turn by the heading that measured joints do not see
        self._back = 0.0  # [rad/m] of turn that takes back the heading error
        self._taught = 0  # cycles that have taught the rest on the present course
        self._vain = 0  # cycles at the largest heading error
        self._cycle_way = 0.0  # [m] of the feet in a cycle
        self._course = (0.0, 0.0, 0.0)  # direction of travel for which they were learned, a unit vector
        self._phase = 0.0  # in the last tick
        self._cycle: _Cycle | None = None

    def step(self, dt: float, sample: CourseSample, most: float) -> None:
        """Processes a tick of `dt` [s]; `most` is the largest correction as a share of the foot speed, 0: none."""
        done = (sample.phase - self._phase) % 1.0
        self._phase = sample.phase
        if most <= 0.0 or not sample.walking or sample.executed.is_zero:
            self._pause(sample, most)
            return
        course = self._direction(sample.executed)
        if sum(a * b for a, b in zip(course, self._course, strict=True)) < SAME_COURSE:
            self._set_out(course)
        cycle = self._cycle
        if cycle is None or cycle.gait != sample.gait:
            self._cycle = _Cycle(sample)
            self._open = _Part()
            return
        way = sample.executed.foot_speed(self._radius) * dt
        if done > 0.0:
            self._cycle_way = way / done
        missed = self._missed(sample, way, done)
        cycle.add(sample, missed, way, self.shares.wz * way, done)
        if cycle.done >= 1.0:
            self._finish(cycle, sample, most)
            self._cycle = _Cycle(sample)
        self._follow(done / RAMP_SHARE, most)

    def _missed(self, sample: CourseSample, way: float, done: float) -> Twist | None:
        """What the measured joints have not made [m, m, rad] up to this tick; None if unknown."""
        if sample.moved is None:
            self._open = _Part()
            self._loss.add(_Part(), done)
            return None
        missed = _sum(sample.intended, sample.moved.scaled(-1.0))
        path = sample.intended.foot_speed(self._radius)
        self._open = _joined((self._open, _Part(_sum(missed, self.shares.scaled(way)), way, path)))
        closed = _Part()
        if sample.moved != ZERO:  # else there is no new sample of the joints
            if sample.trusted and self._cycle_way >= MIN_CYCLE_WAY_M:
                closed = self._open
            self._open = _Part()
        self._loss.add(closed, done)
        return missed

    def _pause(self, sample: CourseSample, most: float) -> None:
        self._cycle = None
        self._loss = self._plausible.copy()
        if most <= 0.0:
            self.shares = ZERO
            self._forget()
            self.state = CourseState.OFF
        elif not sample.walking:
            self.state = CourseState.STANDING
            self.heading_error = self._back = 0.0
            self._vain = 0

    def _forget(self) -> None:
        self._loss = _Loss()
        self._plausible = _Loss()
        self._rest = self._back = 0.0
        self._taught = 0

    def _follow(self, share: float, most: float) -> None:
        """Moves the correction towards its goal, by at most a share of the largest one."""
        goal = ZERO
        if self.state is not CourseState.DISTRUSTED and self._cycle_way >= MIN_CYCLE_WAY_M:
            loss = self._plausible if self.state is CourseState.WAITING else self._loss
            vx, vy, wz = loss.shares(self._cycle_way)
            goal = Twist(vx, vy, wz + self._rest + self._back)
        limit = Twist(most, most, most / self._radius)
        within = Twist(*(_clamped(value, bound) for value, bound in zip(goal, limit, strict=True)))
        if self.state in (CourseState.KEEPING, CourseState.LIMITED):
            self.state = CourseState.KEEPING if within == goal else CourseState.LIMITED
        changes = zip(self.shares, within, limit.scaled(share), strict=True)
        self.shares = Twist(*(change_towards(now, value, change) for now, value, change in changes))

    def _finish(self, cycle: _Cycle, sample: CourseSample, most: float) -> None:
        """Processes a complete gait cycle."""
        if cycle.way < MIN_CYCLE_WAY_M:
            return
        missed = cycle.missed
        turn = None
        if cycle.heading is not None and sample.heading is not None:
            turn = wrap(cycle.intended.wz - wrap(sample.heading - cycle.heading))
        if turn is None and missed is None:
            self.state = CourseState.BLIND
            self._forget()
            return
        self._course = self._direction(sample.executed)
        x, y, by_feet = missed or ZERO
        error = by_feet if turn is None else turn
        if not cycle.trusted or max(math.hypot(x, y), self._radius * abs(error)) > MAX_CYCLE_SHARE * cycle.way:
            if self.state is not CourseState.DISTRUSTED:
                self.state = CourseState.WAITING
            self.heading_error = self._back = 0.0
            self._loss = self._plausible.copy()
            return
        self.heading_error = _clamped(self.heading_error + error, MAX_HEADING_ERROR)
        self._back = HEADING_GAIN * self.heading_error / cycle.way
        self._vain = self._vain + 1 if abs(self.heading_error) >= MAX_HEADING_ERROR else 0
        if self._vain >= MAX_VAIN_CYCLES or self.state is CourseState.DISTRUSTED:
            self.state = CourseState.DISTRUSTED
            self._forget()
            return
        self.state = CourseState.KEEPING
        if cycle.known == cycle.way:
            self._plausible = self._loss.copy()
        self._taught += 1
        if turn is None:
            self._rest = 0.0
            return
        rest = (turn - by_feet + (0.0 if missed else cycle.added)) / cycle.way
        gain = max(1.0 / (self._taught + 1), REST_GAIN)
        self._rest = _clamped(self._rest + gain * (rest - self._rest), most / self._radius)

    def _direction(self, motion: Twist) -> tuple[float, float, float]:
        """The motion of the footholds as a unit vector."""
        speed = motion.foot_speed(self._radius)
        return motion.vx / speed, motion.vy / speed, self._radius * motion.wz / speed

    def _set_out(self, course: tuple[float, float, float]) -> None:
        """Begins another course, and keeps of what was learned only what play loses along any course."""
        if self._cycle_way > 0.0:
            lost = self._loss.shares(self._cycle_way)
            along = lost.vx * self._course[0] + lost.vy * self._course[1]
            self._loss.keep(Twist(along * course[0], along * course[1], 0.0), self._cycle_way)
        self._plausible = self._loss.copy()
        self._rest = self._back = 0.0
        self._course = course
        self._taught = 0
        self._cycle = None


def _sum(a: Twist, b: Twist) -> Twist:
    return Twist(a.vx + b.vx, a.vy + b.vy, a.wz + b.wz)


def _clamped(value: float, most: float) -> float:
    return min(max(value, -most), most)
