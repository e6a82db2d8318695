# SPDX-License-Identifier: Apache-2.0
"""Course control: the body walks the twist that is commanded, although joint zeros, play and lengths are not exact.

Once per gait cycle the turn by the heading of an IMU is compared with the executed one: within a cycle the body yaws
with every change of the supporting legs, over a whole one that cancels. The heading error is the sum of these
differences; a proportional and an integrating part of it turn the feet by a little more or less. With an IMU missing,
and for the velocity forward and sideways, the motion of the standing feet by their measured joints takes its place.

Errors of joints and lengths turn the body by a fixed amount per metre, so corrections are shares of the foot speed:
they vanish smoothly with it, and are still known when the robot walks on. A cycle counts only if it is plausible.
See docs/architecture/walking-mathematics.md, "Course control".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.se2 import ZERO, Twist, wrap
from hexapod_control.core.robot import Robot
from hexapod_control.core.workspace.twist_limits import change_towards

HEADING_GAIN = 0.9  # share of the heading error that the next cycle takes back
INTEGRAL_GAIN = 0.05  # share of the heading error that is added to every following cycle
FIRST_GAIN = 0.8  # share of what the first cycle on a course has missed that is added to every following one ...
GAIN_DECAY = 0.7  # ... and its change from cycle to cycle
WAY_GAIN = 0.4  # share of a difference of velocity that is added to every following cycle
MAX_HEADING_ERROR = math.radians(10.0)  # that is taken back; beyond, the robot was turned
MAX_CYCLE_SHARE = 0.4  # of the way of the feet in a cycle: a greater difference is no error of joints
MIN_KNOWN_SHARE = 0.7  # of a cycle, from which measured joints tell whether it is plausible
RAMP_SHARE = 0.25  # of a cycle, in which a correction changes
MAX_VAIN_CYCLES = 4  # at the largest heading error, after which the correction has no effect
DEAD_ZONE = 0.005  # of the way, and ...
TURN_DEAD_ZONE = 0.001  # ... of the way on the circle of the footholds: measured joints are not more accurate
MAX_SPEED_CHANGE = 0.1  # of the speed, in a cycle in which measured joints count
MAX_WAIT = 1.0  # cycles for which the first one on a course waits for a steady speed
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
    heading: float | None  # [rad] by an IMU; None: unknown
    moved: Twist | None  # [m, m, rad] in this tick, by measured joints; None: unknown
    phase: float  # of the gait, in [0, 1)
    gait: str
    walking: bool
    trusted: bool  # False while a leg lags, feet slip, or the walk is held


class _Cycle(Copyable):
    """Sums over the present gait cycle."""

    def __init__(self, sample: CourseSample, waited: float = 0.0) -> None:
        self.waited = waited  # cycles since the robot set out on this course
        self.gait = sample.gait
        self.phase = sample.phase
        self.done = 0.0  # share of the cycle
        self.heading = sample.heading
        self.time = 0.0  # [s]
        self.begins_with = sample.executed
        self.executed = ZERO  # [m, m, rad]
        self.known_time = 0.0  # [s] in which measured joints tell the motion ...
        self._missed = ZERO  # [m, m, rad] ... and what they have not made of the executed one
        self.measured = True  # in every tick
        self.trusted = True

    def add(self, dt: float, sample: CourseSample) -> None:
        self.time += dt
        executed = sample.executed.scaled(dt)
        self.executed = _sum(self.executed, executed)
        if sample.moved is None:
            self.measured = False
        else:
            self.known_time += dt
            self._missed = _sum(self._missed, _sum(executed, sample.moved.scaled(-1.0)))
        self.trusted &= sample.trusted and sample.gait == self.gait
        if sample.heading is None:
            self.heading = None
        self.done += (sample.phase - self.phase) % 1.0
        self.phase = sample.phase

    def steady(self, sample: CourseSample, radius: float) -> bool:
        """Whether the speed is still about that of the first tick; `radius` [m] of the footholds."""
        change = _sum(sample.executed, self.begins_with.scaled(-1.0)).foot_speed(radius)
        return change < MAX_SPEED_CHANGE * sample.executed.foot_speed(radius)

    @property
    def missed(self) -> Twist | None:
        """Executed motion [m, m, rad] that the measured joints have not made; None if unknown."""
        known = self.known_time >= MIN_KNOWN_SHARE * self.time
        return self._missed.scaled(self.time / self.known_time) if known else None


class CourseControl(Copyable):
    """The correction of the feet's twist; `step` updates it after every tick."""

    def __init__(self, robot: Robot) -> None:
        """Starts without corrections."""
        self._radius = robot.foothold_radius  # [m]
        self.state = CourseState.STANDING
        self.heading_error = 0.0  # [rad] by which the robot has turned too little, counter-clockwise
        self.shares = ZERO  # correction as shares of the foot speed [1, 1, rad/m]
        self._goal = ZERO  # of the shares
        self._learned = ZERO  # the integrating part of the goal
        self._taught = 0  # cycles that have taught on the present course
        self._vain = 0  # cycles at the largest heading error
        self._cycle_time = 1.0  # [s] of the last gait cycle
        self._rate = 0.0  # [1/s] at which the shares follow the goal
        self._course = (0.0, 0.0, 0.0)  # direction of travel for which they were learned, a unit vector
        self._cycle: _Cycle | None = None

    def step(self, dt: float, sample: CourseSample, most: float) -> None:
        """Processes a tick of `dt` [s]; `most` is the largest correction as a share of the foot speed, 0: none."""
        if most <= 0.0 or not sample.walking or sample.executed.is_zero:
            self._rest(sample, most)
            return
        self._follow_goal(dt)
        course = self._direction(sample.executed)
        if sum(a * b for a, b in zip(course, self._course, strict=True)) < SAME_COURSE:
            self._set_out(course)
        cycle = self._cycle
        if cycle is None:
            self._cycle = _Cycle(sample)
            return
        cycle.add(dt, sample)
        if cycle.done >= 1.0:
            self._finish(cycle, sample, most)
            self._cycle = _Cycle(sample)
        elif not self._taught and cycle.waited + cycle.done < MAX_WAIT and not cycle.steady(sample, self._radius):
            self._cycle = _Cycle(sample, cycle.waited + cycle.done)

    def _rest(self, sample: CourseSample, most: float) -> None:
        self._cycle = None
        if most <= 0.0:
            self.shares = self._goal = self._learned = ZERO
            self.state = CourseState.OFF
        elif not sample.walking:
            self.state = CourseState.STANDING
            self.heading_error = 0.0
            self._goal = self._learned
            self._vain = 0

    def _follow_goal(self, dt: float) -> None:
        change = self._rate * dt
        self.shares = Twist(
            *(change_towards(now, goal, change) for now, goal in zip(self.shares, self._goal, strict=True))
        )

    def _finish(self, cycle: _Cycle, sample: CourseSample, most: float) -> None:
        """Processes a complete gait cycle."""
        way = cycle.executed.foot_speed(self._radius)
        steady = cycle.steady(sample, self._radius)
        seen = cycle.missed if steady else None
        missed = seen if cycle.measured else None  # a part of a cycle tells whether it is plausible, but not how much
        turn = self._missed_turn(cycle, sample, missed)
        if way < MIN_CYCLE_WAY_M:
            return
        if turn is None and not steady:
            return
        if turn is None:
            self.state = CourseState.BLIND
            self._aim(ZERO)
            return
        self._course = self._direction(cycle.executed)
        self._cycle_time = cycle.time
        x, y = (_beyond(value, DEAD_ZONE * way) for value in (missed.vx, missed.vy)) if missed else (0.0, 0.0)
        lost = math.hypot(seen.vx, seen.vy) if seen else 0.0
        if not cycle.trusted or max(lost, self._radius * abs(turn)) > MAX_CYCLE_SHARE * way:
            if self.state is not CourseState.DISTRUSTED:
                self.state = CourseState.WAITING
            self.heading_error = 0.0
            self._aim(self._learned)
            return
        self.heading_error = _clamped(self.heading_error + turn, MAX_HEADING_ERROR)
        self._vain = self._vain + 1 if abs(self.heading_error) >= MAX_HEADING_ERROR else 0
        if self._vain >= MAX_VAIN_CYCLES or self.state is CourseState.DISTRUSTED:
            self.state = CourseState.DISTRUSTED
            self._learned = ZERO
            self._aim(ZERO)
            return
        vx, vy, wz = self._learned
        first = FIRST_GAIN * GAIN_DECAY**self._taught
        gain = max(WAY_GAIN, first)
        limit = Twist(most, most, most / self._radius)
        rate = self.heading_error / way
        goal = Twist(vx + gain * x / way, vy + gain * y / way, wz + (HEADING_GAIN + INTEGRAL_GAIN) * rate)
        within = Twist(*(_clamped(value, bound) for value, bound in zip(goal, limit, strict=True)))
        self.state = CourseState.KEEPING if within == goal else CourseState.LIMITED
        # At the limit of the turn its integral rests: it would wind up.
        turned = wz + INTEGRAL_GAIN * rate + first * turn / way if within.wz == goal.wz else wz
        self._taught += 1
        self._learned = Twist(within.vx, within.vy, turned)
        self._aim(within)

    def _missed_turn(self, cycle: _Cycle, sample: CourseSample, missed: Twist | None) -> float | None:
        """By how much [rad] the robot turned too little in a cycle; None if unknown."""
        if cycle.heading is not None and sample.heading is not None:
            return wrap(cycle.executed.wz - wrap(sample.heading - cycle.heading))
        if missed is None:
            return None
        return _beyond(missed.wz, TURN_DEAD_ZONE * cycle.executed.foot_speed(self._radius) / self._radius)

    def _direction(self, motion: Twist) -> tuple[float, float, float]:
        """The motion of the footholds as a unit vector."""
        speed = motion.foot_speed(self._radius)
        return motion.vx / speed, motion.vy / speed, self._radius * motion.wz / speed

    def _set_out(self, course: tuple[float, float, float]) -> None:
        """Begins another course, and keeps of what was learned only what play loses along any course."""
        along = self._learned.vx * self._course[0] + self._learned.vy * self._course[1]
        self._learned = Twist(along * course[0], along * course[1], 0.0)
        self._aim(self._learned)
        self._course = course
        self._taught = 0
        self._cycle = None

    def _aim(self, goal: Twist) -> None:
        self._goal = goal
        most = max(map(abs, _sum(goal, self.shares.scaled(-1.0))))
        self._rate = most / (RAMP_SHARE * self._cycle_time)


def _sum(a: Twist, b: Twist) -> Twist:
    return Twist(a.vx + b.vx, a.vy + b.vy, a.wz + b.wz)


def _beyond(value: float, zone: float) -> float:
    return math.copysign(max(abs(value) - zone, 0.0), value)


def _clamped(value: float, most: float) -> float:
    return min(max(value, -most), most)
