# SPDX-License-Identifier: Apache-2.0
"""Leg odometry: a rigid fit of the standing feet between two joint samples.

base_footprint lies on the support plane below base_link, level, with its heading. Per sample:

1. The plane through the standing feet gives roll, pitch and height of the body.
2. In the level frame, feet that stand in two samples have moved by the inverse of the body's motion, and their balls
   have rolled. The least-squares rotation and translation of those points, weighted with the loads (planar Kabsch), is
   the step. A foot that moves relative to all others slips and is left out.
3. A heading change measured by an IMU replaces the fitted one.
4. If an IMU measures roll and pitch, the plane through the standing feet is the slope of the ground: the step is
   projected onto the horizontal, and base_link has risen by the mean of what the feet that stand in both samples
   have sunk under it. Otherwise the ground counts as level.
5. The covariance of the pose grows with the distance travelled and with the squared residual of the fit, to first order
   along the path: P <- F P F^T + Q with F the Jacobian of the composition of pose and step. So an error of the heading
   becomes an error of the position as the robot moves on.

Formulas: docs/architecture/walking-mathematics.md, "Odometry and its covariance".

The heading change between two joint samples is that of an IMU if it is valid, else that of the feet. The turn of the
feet is the heading change of the body by the fit of the standing feet. It is used for joint samples without a new IMU
sample, and then subtracted from the next change of the IMU, so that no turn counts twice. An IMU that repeats exactly
the same heading while the feet turn by more than MAX_FROZEN_TURN is frozen: it is ignored, and the missed turn is added
once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.kinematics.fits import attitude_over_feet, fit_plane, fit_rigid
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, hip_to_base, leg_forward
from hexapod_control.core.kinematics.se2 import ZERO, Pose, Twist, exp, log, wrap
from hexapod_control.core.kinematics.whole_body import rolling_displacement, rolling_shift
from hexapod_control.core.robot import Point, Robot, Vector

MAX_AGE_S = 0.2  # of a usable attitude of the IMU
MAX_LEAD_S = 0.01  # by which a heading may be newer than the joint sample
MAX_FROZEN_TURN = 0.1  # [rad] turn of the feet while the IMU repeats the same heading


class HeadingSample(NamedTuple):
    """An attitude of the IMU."""

    time: float  # [s]
    yaw: float  # [rad]
    tilt: Point  # [rad] roll and pitch


class HeadingFusion:
    """Fuses IMU and feet. For each joint sample call `change`, then `add_fitted_turn` with the turn of the feet."""

    def __init__(self) -> None:
        self.newest: HeadingSample | None = None
        self.frozen = False  # whether the last call of `change` ignored the IMU because it is frozen
        self.lost = False  # whether there was no recent heading in the last call of `change`
        self._used: HeadingSample | None = None  # the last sample that was used
        self._used_changed = False  # whether the last call of `change` used a new sample, or lost the IMU
        self._by_feet = 0.0  # [rad] turn of the feet since the last sample that was used
        self._fitted_turn = 0.0  # [rad] turn of the feet in the last joint sample
        self._unchanged = 0.0  # [rad] turn of the feet since the IMU's heading last changed

    def take(self, time: float, yaw: float, tilt: Point = (0.0, 0.0)) -> None:
        """Processes heading, roll and pitch [rad] of the IMU with their time [s]."""
        self.newest = HeadingSample(time, yaw, tilt)

    @property
    def tilt(self) -> Point | None:
        """Roll and pitch [rad] at the last call of `change`; None without a usable attitude."""
        return None if self.newest is None or self.lost or self.frozen else self.newest.tilt

    def change(self, now: float) -> float | None:
        """Returns the heading change [rad] by the IMU since the last joint sample; `now` [s] is the time of this one.

        None if the feet must be used.
        """
        before = self._used
        change = self._change(now)
        self._used_changed = self._used is not before
        return change

    def add_fitted_turn(self, turn: float) -> None:
        """Processes the turn [rad] of the feet in the joint sample of the last call of `change`."""
        self._fitted_turn = turn
        if not self._used_changed:
            self._by_feet += turn

    def _change(self, now: float) -> float | None:
        self.frozen = False
        newest, used = self.newest, self._used
        self.lost = newest is None or abs(now - newest.time) > MAX_AGE_S
        if newest is None or self.lost:
            self._used = None
            self._unchanged = 0.0
            return None
        if used is not None and (newest.time == used.time or newest.time > now + MAX_LEAD_S):
            return None
        by_feet = self._by_feet
        self._used = newest
        self._by_feet = 0.0
        if used is None:
            return None
        change = wrap(newest.yaw - used.yaw)
        valid = abs(self._unchanged) <= MAX_FROZEN_TURN
        self._unchanged = 0.0 if change else self._unchanged + self._fitted_turn
        if abs(self._unchanged) <= MAX_FROZEN_TURN:
            return change - by_feet if valid else None
        self.frozen = True
        return self._unchanged if valid else None  # the missed turn, once


ODOMETRY_MODES = ("commanded", "legs", "legs_imu", "legs_imu_3d")
WITH_IMU = ODOMETRY_MODES[2:]
WITH_SLOPE = "legs_imu_3d"  # roll and pitch of the IMU tell the slope of the ground; else it counts as level
MAX_STEP_INTERVAL_S = 0.03  # between samples, for `fit_change`: in a longer one feet move in the air
UNKNOWN_RESIDUAL = 0.002  # [m] assumed for a step without planted feet
BRIDGED_TIME_S = 0.1  # for which a constant velocity is assumed without planted feet
MIN_SLIP = 0.0005  # [m] residual of a foot between two samples from which it may slip; it is left out of the fit if ...
SLIP_RATIO = 2.5  # ... the residual without it is smaller by this factor
# Growth of the variance, from drives in physics: see bench/odometry_drift.py.
VARIANCE_PER_DISTANCE = 1e-6  # [m^2/m] of position
YAW_VARIANCE_PER_DISTANCE = (
    1e-5  # [rad^2/m] without an IMU; a turn on the spot counts with the distance the feet travel
)
IMU_YAW_VARIANCE_RATE = 6.4e-7  # [rad^2/s] of an IMU's heading
VARIANCE_PER_REJECTED = 4e-6, 1.2e-5  # [m^2, rad^2] per rejected sample: 20 mm and 2 degrees after a hundred
RESIDUAL_WEIGHT = 2.0  # of the squared residual of a step, per foot: slip persists, so errors add up

Pair = tuple[float, Point, Point]
"""Weight of a foot, and its positions [m] in base_footprint before and now."""


@dataclass(frozen=True, slots=True)
class FootSupport:
    """Attitude of the body over its support plane, and the feet, for one joint sample."""

    attitude: BodyPose  # base_link over base_footprint; z is its height [m], x = y = yaw = 0
    contacts: tuple[Point, ...]  # [m] of all feet in base_footprint
    loads: tuple[float, ...]  # [N] 0: the foot is in the air
    joints: tuple[LegJoints, ...] = ()  # [rad] by leg
    centers: tuple[Point, ...] = ()  # [m] of the balls in base_footprint
    rolled: tuple[Point, ...] = ()  # [m] displacement of the centers by rolling since the last sample, without slip
    feet: tuple[Vector, ...] = ()  # [m] the same centers in base_link


@dataclass(frozen=True, slots=True)
class OdometryStep:
    """Motion of base_footprint between two samples."""

    motion: Pose
    residual: float  # [m] root mean square residual of the rigid fit
    feet: int  # in stance in both samples


def observe(robot: Robot, joints: Array, loads: Sequence[float], last: FootSupport | None) -> FootSupport:
    """Returns attitude and feet for joints (n, 3) [rad] and loads (n,) [N]; `last` is the result of the last sample.

    With fewer than three standing feet the last attitude is kept.
    """
    rows: list[LegJoints] = [(a, b, c) for a, b, c in np.asarray(joints, dtype=float).tolist()]
    centers = [hip_to_base(leg, leg_forward(leg, angles)[1]) for leg, angles in zip(robot.legs, rows, strict=True)]
    standing = [center for center, load in zip(centers, loads, strict=True) if load > 0.0]
    attitude = attitude_over_feet(standing, robot.foot_radius)
    if attitude is None:
        attitude = last.attitude if last is not None else BodyPose(z=robot.walk.height)
    placement = Placement(attitude, 0.0)
    contacts = []
    balls = []
    for leg, angles, center in zip(robot.legs, rows, centers, strict=True):
        shift_x, shift_y = rolling_shift(leg, angles, placement, robot.foot_radius)
        x, y, _ = placement.to_footprint(*center)
        contacts.append((x - shift_x, y - shift_y))
        balls.append((x, y))
    now = FootSupport(attitude, tuple(contacts), tuple(loads), tuple(rows), tuple(balls), feet=tuple(centers))
    return replace(now, rolled=_rolled(robot, last, now, placement)) if last and last.joints else now


def _rolled(robot: Robot, last: FootSupport, now: FootSupport, placement: Placement) -> tuple[Point, ...]:
    """Displacements [m] of the ball centers by rolling since the last sample."""
    tilt = now.attitude.roll - last.attitude.roll, now.attitude.pitch - last.attitude.pitch
    return tuple(
        rolling_displacement(leg, before, after, placement, tilt, robot.foot_radius)
        for leg, before, after in zip(robot.legs, last.joints, now.joints, strict=True)
    )


def fit(before: FootSupport, after: FootSupport, turn: float | None = None) -> OdometryStep | None:
    """Returns the motion of base_footprint from the feet that stand in both samples; None for fewer than two.

    `turn` [rad] is the change of heading, if an IMU has measured it.
    """
    pairs = [(min(was, still), p, q) for was, still, p, q in _feet(before, after) if was > 0.0 and still > 0.0]
    return _fit_without_outliers(pairs, turn) if len(pairs) >= 2 else None


def fit_change(before: FootSupport, after: FootSupport, turn: float | None = None) -> OdometryStep | None:
    """As `fit`, if the standing feet have changed between the samples.

    Feet lift off and touch down at rest over the ground, so feet that stand in one of the two samples are used, too.
    That is valid for a short interval only. None if fewer than two stand in either.
    """
    if min(sum(load > 0.0 for load in support.loads) for support in (before, after)) < 2:
        return None
    pairs = [(max(was, still), p, q) for was, still, p, q in _feet(before, after) if was > 0.0 or still > 0.0]
    return _fit_without_outliers(pairs, turn)


def _feet(before: FootSupport, after: FootSupport) -> Iterator[tuple[float, float, Point, Point]]:
    """Returns loads [N] and positions [m] of every foot in both samples, the first position displaced by rolling."""
    starts = before.contacts
    ends = after.contacts
    if after.rolled:
        starts = tuple((x + dx, y + dy) for (x, y), (dx, dy) in zip(before.centers, after.rolled, strict=True))
        ends = after.centers
    return zip(before.loads, after.loads, starts, ends, strict=True)


def _fit_without_outliers(pairs: list[Pair], turn: float | None) -> OdometryStep:
    """Fits, then leaves out the foot without which the residual is smallest, as long as it falls by SLIP_RATIO."""
    step, worst = _fitted(pairs, turn)
    while worst > MIN_SLIP and len(pairs) > 2:
        fewer = [pairs[:k] + pairs[k + 1 :] for k in range(len(pairs))]
        fits = ((_fitted(some, turn), some) for some in fewer)
        best, remaining = min(fits, key=lambda candidate: candidate[0][0].residual)
        if best[0].residual * SLIP_RATIO > step.residual:
            break
        step, worst = best
        pairs = remaining
    return step


def _fitted(pairs: Sequence[Pair], turn: float | None) -> tuple[OdometryStep, float]:
    """Returns the rigid fit of all pairs and the maximum residual [m]."""
    weights, before, after = zip(*pairs, strict=True)
    motion = fit_rigid(after, before, weights, turn)
    residuals = [math.dist(motion.apply(*q), p) for _, p, q in pairs]
    rms = math.sqrt(sum(r * r for r in residuals) / len(residuals))
    return OdometryStep(motion, rms, len(pairs)), max(residuals)


def _horizontal(motion: Pose, slope: Point) -> Pose:
    """A motion along ground with a slope, seen from above."""
    return Pose(motion.x / math.hypot(1.0, slope[0]), motion.y / math.hypot(1.0, slope[1]), motion.yaw)


class MeasuredFoot(NamedTuple):
    """A foot by measured joints, under a body that counts as level."""

    x: float  # [m] center of the ball in base_link
    y: float
    z: float
    heading: float  # [rad] of the plane of the leg in base_link
    lean: float  # [rad] of the tibia, + if its knee is farther out


def measured_feet(robot: Robot, joints: Sequence[LegJoints]) -> tuple[MeasuredFoot, ...]:
    """Returns the feet for joints (n, 3) [rad]; unlike `observe` fast enough for every tick."""
    feet = []
    for leg, (coxa, femur, tibia) in zip(robot.legs, joints, strict=True):
        center = hip_to_base(leg, leg_forward(leg, (coxa, femur, tibia))[1])
        lean = math.atan2(-math.cos(femur + tibia), -math.sin(femur + tibia))
        feet.append(MeasuredFoot(*center, leg.hip_yaw + coxa, lean))
    return tuple(feet)


def motion_over_feet(
    before: Sequence[MeasuredFoot], after: Sequence[MeasuredFoot], loads: Sequence[float], radius: float
) -> tuple[Twist, tuple[Point, ...]] | None:
    """Returns the motion [m, m, rad] of the body between two samples of its feet, to first order, and their slip.

    `loads` [N] are the weights of the feet, 0 in the air, `radius` [m] is that of their balls. The slip [m] is the
    motion of each foot over the ground that is left, (0, 0) in the air. None for fewer than two feet.
    """
    rows = []
    for weight, a, b in zip(loads, before, after, strict=True):
        rolled = radius * (b.lean - a.lean)
        dx = b.x - a.x - rolled * math.cos(b.heading)
        dy = b.y - a.y - rolled * math.sin(b.heading)
        rows.append((weight, b.x, b.y, dx, dy))
    if sum([weight > 0.0 for weight in loads]) < 2:
        return None
    total = sum(loads)
    mx, my, mu, mv = [sum([row[0] * row[k] for row in rows]) / total for k in (1, 2, 3, 4)]
    spread = sum([w * ((x - mx) ** 2 + (y - my) ** 2) for w, x, y, _, _ in rows])
    turn = sum([w * ((x - mx) * (v - mv) - (y - my) * (u - mu)) for w, x, y, u, v in rows]) / spread
    slip = tuple(
        [(u - mu + turn * (y - my), v - mv - turn * (x - mx)) if w > 0.0 else (0.0, 0.0) for w, x, y, u, v in rows]
    )
    return Twist(-mu - turn * my, -mv + turn * mx, -turn), slip  # the feet move by the inverse of the body's motion


@dataclass(frozen=True, slots=True)
class LevelledSupport:
    """The standing feet and the plane through them under a body whose tilt an IMU measures."""

    tilt: Point  # [rad] roll and pitch of base_link
    heights: tuple[float, ...]  # [m] of the balls' centers under base_link, negative
    loads: tuple[float, ...]  # [N]
    slope: Point  # [1] of the ground, rising along x and y of base_footprint
    height: float  # [m] of base_link over the ground, vertically

    @property
    def lean(self) -> Point:
        """The way [m] of base_link from the foot of its perpendicular on the ground, horizontally."""
        a, b = self.slope
        share = -self.height / (1.0 + a * a + b * b)
        return share * a, share * b

    def rise(self, last: LevelledSupport) -> float:
        """By how much [m] base_link has risen since the last sample."""
        both = zip(last.loads, self.loads, last.heights, self.heights, strict=True)
        risen = [before - after for was, still, before, after in both if was > 0.0 and still > 0.0]
        return sum(risen) / len(risen) if risen else 0.0


def levelled(robot: Robot, now: FootSupport, tilt: Point, last: LevelledSupport | None) -> LevelledSupport:
    """The feet of a sample under a body with roll and pitch `tilt` [rad].

    With fewer than three standing feet the last ground is kept; at first the body lies on level ground.
    """
    placement = Placement(BodyPose(roll=tilt[0], pitch=tilt[1]), 0.0)
    feet = [placement.rotate(*foot) for foot in now.feet]
    plane = fit_plane([foot for foot, load in zip(feet, now.loads, strict=True) if load > 0.0])
    belly = 0.5 * robot.body.size[2] - robot.body.center[2]
    slope, height = (last.slope, last.height) if last is not None else ((0.0, 0.0), belly)
    if plane is not None:
        slope = plane[:2]
        height = robot.foot_radius * math.hypot(1.0, *slope) - plane[2]
    return LevelledSupport(tilt, tuple(z for _, _, z in feet), now.loads, slope, height)


class Odometry:
    """Dead reckoning of base_footprint in the odom frame."""

    def __init__(self, robot: Robot, scale: tuple[float, float] = (1.0, 1.0)) -> None:
        """Starts at the origin. `scale`: calibration factors on distances, and on heading changes by the feet."""
        self._robot = robot
        self._scale = scale
        self._foothold_radius = robot.foothold_radius
        self._last: FootSupport | None = None
        self._levelled: LevelledSupport | None = None
        self.reset()

    def reset(self) -> None:
        """Moves the origin of odom to the present pose."""
        self.pose = Pose(0.0, 0.0, 0.0)
        self.height = 0.0  # [m] of base_footprint in odom
        self.twist = ZERO
        self._bridged = 0.0  # [s] since the last step with a fit
        self.residual = 0.0  # [m] of the last fit
        self.fitted_turn = 0.0  # [rad] of the last step by the feet alone
        self.covariance: Array = np.zeros((3, 3))  # of (x, y, yaw) in odom [m^2, rad^2]
        self.twist_covariance: Array = np.zeros((3, 3))  # of the twist [(m/s)^2, (rad/s)^2]

    def resume(self, pose: Pose, covariance: Array) -> None:
        """Continues from a pose with a covariance (3, 3) of (x, y, yaw) [m^2, rad^2]."""
        self.pose = pose
        self.covariance = covariance

    def interrupt(self) -> None:
        """Ends the sequence of samples: no motion is computed between the last and the next one."""
        if self._last is not None:
            self._last = replace(self._last, loads=(0.0,) * len(self._last.loads), joints=())
        self._levelled = None
        self.twist = ZERO

    def inflate_covariance(self, rejected: int) -> None:
        """Increases the covariance for joint samples that were rejected as implausible."""
        if rejected:
            position, yaw = (rejected * variance for variance in VARIANCE_PER_REJECTED)
            self.covariance = self.covariance + np.diag([position, position, yaw])

    @property
    def attitude(self) -> BodyPose:
        """base_link over base_footprint: height z [m], roll and pitch [rad]; x = y = yaw = 0."""
        if self._levelled is not None:
            return BodyPose(0.0, 0.0, self._levelled.height, *self._levelled.tilt)
        return self._last.attitude if self._last else BodyPose(z=self._robot.walk.height)

    def update(
        self,
        joints: Array,
        loads: Sequence[float],
        dt: float,
        turn: float | None = None,
        tilt: Point | None = None,
    ) -> FootSupport:
        """Processes joints (n, 3) [rad] measured `dt` [s] after the last ones, and the loads (n,) [N] of the feet.

        `turn` [rad] is the change of heading that an IMU measured since then, `tilt` [rad] its roll and pitch.
        """
        now = observe(self._robot, joints, loads, self._last)
        last = self._last
        self._last = now
        step = self._fit(last, now, dt, turn)
        by_feet = step if turn is None else self._fit(last, now, dt, None)
        self.fitted_turn = by_feet.motion.yaw if by_feet else 0.0
        if step is None:
            # The samples are far apart, or too few feet stand: a constant velocity is assumed for BRIDGED_TIME_S.
            keeps_velocity = last is not None and self._bridged < BRIDGED_TIME_S
            x, y, yaw = exp(self.twist, dt) if keeps_velocity else Pose(0.0, 0.0, 0.0)
            step = OdometryStep(Pose(x, y, yaw if turn is None else turn), UNKNOWN_RESIDUAL, 1)
            self._bridged += dt
        else:
            self._bridged = 0.0
            step = self._scaled(step, turn)
        before = self._levelled
        self._levelled = None if tilt is None else levelled(self._robot, now, tilt, before)
        if self._levelled is None or before is None:
            self._add(step, dt, turn)
        else:
            self._add(replace(step, motion=_horizontal(step.motion, self._levelled.slope)), dt, turn)
            self._follow_ground(before, self._levelled)
        return now

    def _follow_ground(self, before: LevelledSupport, now: LevelledSupport) -> None:
        """Moves base_footprint to the ground vertically below base_link."""
        self.height += now.rise(before) + before.height - now.height
        self.pose = self.pose @ Pose(now.lean[0] - before.lean[0], now.lean[1] - before.lean[1], 0.0)

    @staticmethod
    def _fit(last: FootSupport | None, now: FootSupport, dt: float, turn: float | None) -> OdometryStep | None:
        if last is None:
            return None
        return fit(last, now, turn) or (fit_change(last, now, turn) if dt <= MAX_STEP_INTERVAL_S else None)

    def _scaled(self, step: OdometryStep, turn: float | None) -> OdometryStep:
        """Applies the calibration factors."""
        x, y, yaw = step.motion
        distance_scale, turn_scale = self._scale
        motion = Pose(distance_scale * x, distance_scale * y, yaw * turn_scale if turn is None else yaw)
        return OdometryStep(motion, step.residual, step.feet)

    def _add(self, step: OdometryStep, dt: float, turn: float | None) -> None:
        """Adds a step to pose, twist and covariances."""
        x, y, yaw = step.motion
        distance = math.hypot(x, y) + self._foothold_radius * abs(yaw)
        spread = RESIDUAL_WEIGHT * step.residual**2 / step.feet if distance > 0.0 else 0.0
        variance = VARIANCE_PER_DISTANCE * distance + spread
        yaw_variance = IMU_YAW_VARIANCE_RATE * dt
        if turn is None:
            yaw_variance = YAW_VARIANCE_PER_DISTANCE * distance + spread / self._foothold_radius**2
        self._propagate(step.motion, variance, yaw_variance)
        self.pose = self.pose @ step.motion
        self.residual = step.residual
        if dt > 0.0:
            self.twist = log(step.motion, dt)
            self.twist_covariance = np.diag([variance, variance, yaw_variance]) / dt**2

    def _propagate(self, motion: Pose, variance: float, yaw_variance: float) -> None:
        """Propagates the covariance of the pose to first order by one step with its noise."""
        c, s = math.cos(self.pose.yaw), math.sin(self.pose.yaw)
        dx = c * motion.x - s * motion.y
        dy = s * motion.x + c * motion.y
        moved = np.array([[1.0, 0.0, -dy], [0.0, 1.0, dx], [0.0, 0.0, 1.0]])
        self.covariance = moved @ self.covariance @ moved.T + np.diag([variance, variance, yaw_variance])
