# SPDX-License-Identifier: Apache-2.0
r"""Joint zeros, lengths and hips of a robot that stands on planted feet, from measured joint angles of many body poses.

While the body moves, every two planted feet close a chain over the body: the feet stay where they are, and all stand on
one plane. Wrong zeros and lengths violate that, differently in every pose. Unknown are, besides the corrections, in
each pose the place p and rotation R of the body, and where each foot stands. For leg i in pose k, with the measured
angles q, the corrections d and the way s that the ball of the foot has rolled since the first pose, the residual is

    e = R (hip + d_hip + foot(q + d_zero, length + d_length)) + p - s - place_ik

and for the IMU, mounted with a rotation M, on a floor with the vertical u, that of the measured vertical v: M^T R^T u -
v. A ball that turns with the angular velocity w rolls by the integral of radius w x z along the way from pose to pose;
so its derivatives are those of the point of the ball that touches the floor. From pose to pose a foot slips a little
and keeps its height, so its place is a random walk. A foot slips the farther, the less it bears: the deviation of a
step is inversely proportional to the load, and few steps go far (Student's t): a foot that is shoved, or gets onto or
off something, is one such step, after which it stands elsewhere. How far feet slip is estimated, so that the residuals
are as large as they should be; heights are as free at first, and get stiffer round by round, since a step that is
spread over many poses would be taken for wrong zeros. The weight of a foot falls with its residual (Geman-McClure): one
that hangs in the air does not count. Corrections and heights have priors. Gauss-Newton eliminates body and feet pose by
pose, from the first to the last; what remains is the inverse of the covariance of the corrections.
References: J. Hollerbach, W. Khalil, M. Gautier, "Model Identification", Springer Handbook of Robotics, 2016;
Z. Zhang, "Parameter estimation techniques", Image and Vision Computing 15, 1997 (weights).

The derivatives are taken at the joint angles with which every foot is always in the same place, not at the measured
ones: there they would contain noise and slip, and a smaller robot would seem to fit better, as it slips less.

Arrays: n legs, m poses; columns coxa, femur, tibia.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.calibration.chain_estimate import (
    USUAL_NOISE,
    USUAL_PRIOR,
    ChainEstimate,
    ChainNoise,
    ChainPrior,
    Corrections,
    Mask,
    StandingPose,
)
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import rotation_angles
from hexapod_control.core.robot import Point, Robot

MIN_POSES = 3
MIN_FEET = 3  # planted in a pose
STEP = 1e-6  # [rad, m] of the central differences
PARTS = 4  # of the way from pose to pose, along which the balls roll
DAMPING = 0.002  # [m/rad] of a step of the joint angles, for stretched legs
PIN = 1e-6  # [m, rad] place and heading of the first pose, which are a matter of definition
ROUNDS = 40  # of Gauss-Newton and new weights, at most; as many with the slip that was found
CONVERGED = 1e-5  # [rad, m] greatest change of a correction in a round
STILL = 0.03  # of its deviation: greatest change of a correction in the last round of an estimate that has converged
TAIL = 6.0  # standard deviations of the residual of a foot at which its weight is a quarter
MIN_WEIGHT = 1e-3
START_SLIP = 0.001  # [m] before it is found: with a greater one, the wrong feet may seem to hang
MIN_SLIP = 0.0001  # [m]
MAX_SLIP = 0.01  # [m]
PUSHED = 8.0  # factor on the slip that is found: feet slip where wrong zeros push them, which tells nothing
SAME_SLIP = 0.05  # relative change of the slip in a round, up to which it is found
FLAT = 0.00001  # [m] deviation of the height of a foot from pose to pose
STIFFER = 0.6  # factor on the deviation of the heights from round to round
LANDED = 0.0002  # [m] the same from stance to stance, and of a foot that was in the air
AWAY = 0.1  # weight of a step, as a share of the usual one, below which the foot is then in another place
LOADS = (0.2, 2.0)  # even shares of the weight, within which the slip depends on the load
FREEDOM = 2.0  # of Student's t distribution of the steps
LOOSE = 1.0  # [1/m^2] information about the place of a foot in the air


@dataclass(frozen=True, slots=True)
class _Measured:
    """What was measured in all poses."""

    joints: Array  # (m, n, 3) [rad]
    loads: Array  # (m, n) in even shares of the weight
    verticals: Array  # (m, 3) in the frame of the IMU
    seen: Mask  # (m,) whether there was a vertical
    stances: NDArray[np.int_]  # (m,)

    @property
    def starts(self) -> Mask:
        """Whether a pose (m,) is the first one of its stance."""
        return np.concatenate([[True], np.diff(self.stances) != 0])

    @property
    def planted(self) -> Mask:
        """Which feet (m, n) stand."""
        return self.loads > 0.0

    @property
    def grip(self) -> Array:
        """Weights (m - 1, n) of the steps by the loads of the feet: 0 where a foot does not stand."""
        low = np.minimum(self.loads[1:], self.loads[:-1])
        stand = (low > 0.0) & ~self.starts[1:, None]
        grip: Array = stand * np.clip(low, *LOADS) ** 2
        return grip


@dataclass(frozen=True, slots=True)
class _Unknowns:
    common: Array  # (g,) zeros, lengths, hips, mounting, floor
    poses: Array  # (m, 6) place and roll, pitch, yaw of the body
    places: Array  # (m, n, 3) [m] of the feet: x, y, and height of the floor
    rolled: Array  # (m, n, 2) [m] way of the balls since the first pose of the stance


@dataclass(frozen=True, slots=True)
class _Feet:
    """The feet of all poses in base_link, without corrections of the hips."""

    centers: Array  # (m, n, 3) [m] of the balls
    axes: Array  # (m, n, 3, 3) from the frame of the tibia to base_link


@dataclass(frozen=True, slots=True)
class _Weights:
    """Weights of the residuals and of the steps of the feet."""

    feet: Array  # (m, n)
    steps: Array  # (m - 1, n) of the steps along the floor
    heights: Array  # (m - 1, n) of the steps up and down
    level: Array  # (n,) of the heights in the first pose
    slip: float  # [m] standard deviation of a step along each axis of the floor
    rise: float  # [m] that of a step up or down

    @property
    def information(self) -> Array:
        """Information (m - 1, n, 3) [1/m^2] about the step of each foot."""
        along = self.steps / self.slip**2
        return np.stack([along, along, self.heights / self.rise**2], -1)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Weighted residuals of all poses, their derivatives by the common unknowns, and by those of the pose."""

    residuals: Array  # (m, r)
    common: Array  # (m, r, g)
    pose: Array  # (m, r, 6 + 3 n)


class ClosedChains:
    """The least-squares problem of one robot."""

    def __init__(self, robot: Robot, noise: ChainNoise = USUAL_NOISE, prior: ChainPrior = USUAL_PRIOR) -> None:
        legs = robot.legs
        self._robot = robot
        self._noise = noise
        self._count = len(legs)
        self._lengths = np.array([(leg.coxa.length, leg.femur.length, leg.tibia.length) for leg in legs])
        self._offsets = np.array([(leg.femur_lateral, leg.femur_vertical) for leg in legs])
        self._hips = np.array([leg.hip for leg in legs])
        self._axes = np.array([_rotation(np.array((*leg.tilt, leg.hip_yaw))) for leg in legs])  # hip frame to base_link
        n = self._count
        deviations = (
            np.full(3 * n, prior.zero),
            np.maximum(prior.length_share * self._lengths, prior.length).ravel(),
            np.full(3 * n, prior.hip),
            np.full(3, prior.mounting),
            np.full(2, prior.floor),
        )
        self._bump = prior.bump
        self._ends = np.cumsum([len(part) for part in deviations])[:-1]
        self._deviations = np.concatenate(deviations)
        self._information = self._deviations**-2.0

    # --- the estimate ------------------------------------------------------------------------------------------

    def estimate(self, poses: Sequence[StandingPose]) -> ChainEstimate:
        """The corrections. Raises ValueError with fewer than MIN_POSES poses, or MIN_FEET planted feet in one."""
        measured = self._measured(poses)
        x = self._start(measured)
        grip = measured.grip
        even = np.ones_like(grip)
        weights = _Weights(measured.planted.astype(float), grip, even, np.ones(self._count), START_SLIP, START_SLIP)
        covariance = np.zeros((0, 0))
        misfit = 1.0
        for _ in range(ROUNDS):
            before = x.common
            x, covariance = self._improved(x, measured, weights)
            slip = weights.slip
            weights, misfit = self._weights(x, measured, weights, covariance)
            same = abs(weights.slip / slip - 1.0) < SAME_SLIP and weights.rise == FLAT
            if same and np.abs(x.common - before).max() < CONVERGED:
                break
        final = replace(weights, slip=PUSHED * weights.slip)
        for _ in range(ROUNDS):
            before = x.common
            x, covariance = self._improved(x, measured, final)
            converged = bool((np.abs(x.common - before) <= STILL * np.sqrt(np.diag(covariance))).all())
            if converged:
                break
        covariance = max(1.0, misfit) * covariance
        return ChainEstimate(
            self._corrections(x.common),
            self._corrections(np.sqrt(np.diag(covariance))),
            self._corrections(self._deviations),
            self._residuals(x, measured.joints),
            x.places,
            weights.feet,
            weights.slip,
            math.sqrt(misfit),
            converged,
        )

    def information(self, joints: Array) -> Array:
        """What each pose with joint angles (m, n, 3) [rad] tells: (m, g, g), if the feet stand where they should."""
        measured = self._measured([StandingPose(angles, (0.0, 0.0)) for angles in joints])
        x = self._start(measured)
        x = replace(x, rolled=x.rolled + self._residuals(x, joints)[..., :2])
        none = np.zeros((len(joints) - 1, self._count))
        level = np.ones(self._count)
        rows = self._rows(x, measured, _Weights(measured.planted.astype(float), none, none, level, MIN_SLIP, FLAT))
        pose = rows.pose[..., :6]
        cross = np.swapaxes(pose, 1, 2) @ rows.common
        between = np.swapaxes(cross, 1, 2) @ np.linalg.solve(np.swapaxes(pose, 1, 2) @ pose, cross)
        told: Array = np.swapaxes(rows.common, 1, 2) @ rows.common - between
        return told

    @property
    def prior_information(self) -> Array:
        """The information (g, g) before the first pose."""
        return np.diag(self._information)

    def _measured(self, poses: Sequence[StandingPose]) -> _Measured:
        loads = np.array([pose.loads or (1.0,) * self._count for pose in poses])
        if len(poses) < MIN_POSES or ((loads > 0.0).sum(1) < MIN_FEET).any():
            raise ValueError(f"at least {MIN_POSES} poses on at least {MIN_FEET} feet are needed")
        tilts = [pose.tilt for pose in poses]
        return _Measured(
            np.array([pose.joints for pose in poses], dtype=float),
            loads,
            np.array([vertical(tilt) if tilt else (0.0, 0.0, 1.0) for tilt in tilts]),
            np.array([tilt is not None for tilt in tilts]),
            np.array([pose.stance for pose in poses]),
        )

    def _parts(self, common: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Zeros, lengths, hips (n, 3), mounting (3,) and floor (2,) of common unknowns."""
        zeros, lengths, hips, mounting, floor = np.split(common, self._ends)
        n = self._count
        return zeros.reshape(n, 3), lengths.reshape(n, 3), hips.reshape(n, 3), mounting, floor

    def _corrections(self, common: Array) -> Corrections:
        return Corrections(*self._parts(common))

    def _start(self, measured: _Measured) -> _Unknowns:
        """In each stance the feet of its first pose on a level floor, and the rigid motion from there (W. Kabsch)."""
        n = self._count
        none = np.zeros((n, 3))
        feet = self._feet(measured.joints, none)
        poses = np.zeros((len(measured.joints), 6))
        places = np.zeros((len(poses), n, 3))
        for first in np.flatnonzero(measured.starts):
            rows = np.flatnonzero(measured.stances == measured.stances[first])
            planted = measured.planted[first]
            level = feet.centers[first] @ _levelled(feet.centers[first][planted]).T
            level[:, 2] += self._robot.foot_radius - level[planted, 2].mean()
            for row in rows:
                both = planted & measured.planted[row]
                both = both if both.sum() >= MIN_FEET else np.ones_like(both)
                rotation, poses[row, :3] = _rigid(feet.centers[row][both], level[both])
                poses[row, 3:] = rotation_angles(rotation)
            places[rows, :, :2] = level[:, :2]
        common = np.zeros(len(self._deviations))
        return _Unknowns(common, poses, places, self._rolled(common, poses, measured))

    # --- the model ---------------------------------------------------------------------------------------------

    def _feet(self, joints: Array, lengths: Array) -> _Feet:
        coxa = joints[..., 0]
        femur = joints[..., 1]
        lower = femur + joints[..., 2]
        a, b, c = np.moveaxis(self._lengths + lengths, -1, 0)
        d, upward = self._offsets.T
        cos = np.cos(coxa)
        sin = np.sin(coxa)
        r = a + b * np.cos(femur) + c * np.cos(lower)
        z = upward + b * np.sin(femur) + c * np.sin(lower)
        center = np.stack([r * cos - d * sin, r * sin + d * cos, z], -1)
        tibia = _rotation(np.stack([np.zeros_like(coxa), -lower, coxa], -1))
        return _Feet(self._hips + np.einsum("nij,mnj->mni", self._axes, center), self._axes @ tibia)

    def _lowest(self, feet: _Feet, poses: Array) -> Array:
        """The lowest points (m, n, 3) of the balls [m], from their centers in the frame of the tibia."""
        down = -self._robot.foot_radius * _rotation(poses[:, 3:])[:, None, 2]
        lowest: Array = (np.swapaxes(feet.axes, -1, -2) @ down[..., None])[..., 0]
        return lowest

    def _contacts(self, feet: _Feet, lowest: Array, hips: Array, poses: Array) -> Array:
        """Where points of the balls (m, n, 3) [m], given in the frame of the tibia, are over the floor."""
        points = feet.centers + hips + (feet.axes @ lowest[..., None])[..., 0]
        over: Array = np.einsum("mij,mnj->mni", _rotation(poses[:, 3:]), points) + poses[:, None, :3]
        return over

    def _rolled(self, common: Array, poses: Array, measured: _Measured) -> Array:
        """Ways (m, n, 2) [m] of the balls since the first pose of their stance, straight from pose to pose."""
        zeros, lengths, *_ = self._parts(common)
        m, n = measured.planted.shape
        at = np.linspace(0.0, m - 1.0, PARTS * (m - 1) + 1)
        before = np.minimum(at.astype(int), m - 2)
        share = (at - before)[:, None]
        joints = measured.joints[before] + share[..., None] * (measured.joints[before + 1] - measured.joints[before])
        bodies = _rotation(poses[:, 3:])
        axes = _between(bodies[before], bodies[before + 1], share)[:, None] @ self._feet(joints + zeros, lengths).axes
        turn = axes[1:] @ np.swapaxes(axes[:-1], -1, -2)
        across = np.stack([turn[..., 0, 2] - turn[..., 2, 0], turn[..., 1, 2] - turn[..., 2, 1]], -1)
        steps = 0.5 * self._robot.foot_radius * across.reshape(m - 1, PARTS, n, 2).sum(1)
        ways = np.concatenate([np.zeros((1, n, 2)), np.cumsum(steps, axis=0)])
        rolled: Array = ways - ways[np.maximum.accumulate(np.where(measured.starts, np.arange(m), 0))]
        return rolled

    def _residuals(self, x: _Unknowns, joints: Array) -> Array:
        """Residuals (m, n, 3) [m] of the feet."""
        zeros, lengths, hips, _, _ = self._parts(x.common)
        feet = self._feet(joints + zeros, lengths)
        points = self._contacts(feet, self._lowest(feet, x.poses), hips, x.poses) - x.places
        points[..., :2] -= x.rolled
        return points

    def _by_leg(self, x: _Unknowns, joints: Array) -> Array:
        """Derivatives (m, n, 3, 9) of the residuals by zeros, lengths and hip of their leg."""
        zeros, lengths, hips, _, _ = self._parts(x.common)
        lowest = self._lowest(self._feet(joints + zeros, lengths), x.poses)
        columns = []
        for kind in range(6):
            step = np.zeros(3)
            step[kind % 3] = STEP
            ends = []
            for sign in (1.0, -1.0):
                turned, longer = (sign * step, 0.0 * step) if kind < 3 else (0.0 * step, sign * step)
                feet = self._feet(joints + zeros + turned, lengths + longer)
                ends.append(self._contacts(feet, lowest, hips, x.poses))
            columns.append((ends[0] - ends[1]) / (2.0 * STEP))
        rotation = _rotation(x.poses[:, 3:])
        columns += [np.broadcast_to(rotation[:, None, :, axis], joints.shape) for axis in range(3)]
        return np.stack(columns, -1)

    def _by_pose(self, x: _Unknowns, joints: Array) -> Array:
        """Derivatives (m, n, 3, 6) of the residuals by the pose of the body."""
        zeros, lengths, hips, _, _ = self._parts(x.common)
        feet = self._feet(joints + zeros, lengths)
        lowest = self._lowest(feet, x.poses)
        columns = []
        for step in STEP * np.eye(6):
            ends = [self._contacts(feet, lowest, hips, x.poses + sign * step) for sign in (1.0, -1.0)]
            columns.append((ends[0] - ends[1]) / (2.0 * STEP))
        return np.stack(columns, -1)

    def _in_place(self, x: _Unknowns, measured: _Measured, residuals: Array, stays: NDArray[np.int_]) -> Array:
        """Measured angles (m, n, 3) [rad] with which each foot is in the mean place of its stay, by a Newton step."""
        by_angle = self._by_leg(x, measured.joints)[..., :3]
        square = by_angle @ np.swapaxes(by_angle, -1, -2) + DAMPING**2 * np.eye(3)
        legs = np.broadcast_to(np.arange(self._count), stays.shape)
        sums = np.zeros((stays.max() + 1, self._count, 4))
        np.add.at(sums, (stays, legs), np.concatenate([x.places, np.ones((*stays.shape, 1))], -1))
        means = sums[..., :3] / np.maximum(sums[..., 3:], 1.0)
        apart = residuals + x.places - means[stays, legs]
        step = np.swapaxes(by_angle, -1, -2) @ np.linalg.solve(square, apart[..., None])
        moved: Array = measured.joints - step[..., 0]
        return moved

    # --- Gauss-Newton ------------------------------------------------------------------------------------------

    def _weights(
        self, x: _Unknowns, measured: _Measured, weights: _Weights, covariance: Array
    ) -> tuple[_Weights, float]:
        """New weights and slip, with which the residuals are as large as they should be; and their mean square."""
        residuals = self._residuals(x, measured.joints)
        whitening = self._whitening(self._by_leg(x, measured.joints)[..., :3])
        squares = ((whitening @ residuals[..., None])[..., 0] ** 2).sum(-1)
        grip = measured.grip
        squared = np.diff(x.places, axis=0) ** 2
        far = squared[..., :2].sum(-1) / weights.slip**2
        still = np.where(grip > 0.0, 1.0, (weights.rise / LANDED) ** 2)
        share = (FREEDOM + 3.0) / (FREEDOM + grip * far + still * squared[..., 2] / weights.rise**2)
        steps = grip * share
        heights = np.minimum(still, 1.0) * share
        bodies = 6.0 * len(x.poses) - 3.0 * float(measured.starts.sum())
        tilts = self._tilt_rows(x, measured).residuals
        total = float((weights.feet * squares).sum() + (steps * far).sum() + (tilts**2).sum())
        rows = 3.0 * weights.feet.sum() + 2.0 * float((grip > 0.0).sum()) + 2.0 * measured.seen.sum()
        found = float(np.sum(1.0 - np.diag(covariance) * self._information)) + bodies
        found += 2.0 * float((measured.planted * weights.feet).sum())
        misfit = total / max(1.0, float(rows) - found)
        slip = min(max(weights.slip * misfit**0.5, MIN_SLIP), MAX_SLIP)
        rise = max(STIFFER * weights.rise, FLAT)
        level = (FREEDOM + 1.0) / (FREEDOM + (x.places[0, :, 2] / self._bump) ** 2)
        return _Weights(measured.planted * _weight(squares), steps, heights, level, slip, rise), misfit

    def _rows(self, x: _Unknowns, measured: _Measured, weights: _Weights) -> _Rows:
        """Weighted residuals and derivatives of the feet and of the IMU."""
        n = self._count
        m = len(x.poses)
        residuals = self._residuals(x, measured.joints)
        joints = self._in_place(x, measured, residuals, _stays(measured, weights))
        by_leg = self._by_leg(x, joints)
        whitening = self._whitening(by_leg[..., :3]) * np.sqrt(weights.feet)[..., None, None]
        by_leg = whitening @ by_leg
        common = np.zeros((m, n, 3, len(x.common)))
        pose = np.zeros((m, n, 3, 6 + 3 * n))
        pose[..., :6] = whitening @ self._by_pose(x, joints)
        starts = (0, *self._ends)
        for leg in range(n):
            for kind in range(3):
                first = starts[kind] + 3 * leg
                common[:, leg, :, first : first + 3] = by_leg[:, leg, :, 3 * kind : 3 * kind + 3]
            pose[:, leg, :, 6 + 3 * leg : 9 + 3 * leg] = -whitening[:, leg]
        tilt = self._tilt_rows(x, measured)
        return _Rows(
            np.concatenate([(whitening @ residuals[..., None]).reshape(m, 3 * n), tilt.residuals], 1),
            np.concatenate([common.reshape(m, 3 * n, -1), tilt.common], 1),
            np.concatenate([pose.reshape(m, 3 * n, -1), tilt.pose], 1),
        )

    def _whitening(self, by_angle: Array) -> Array:
        """Matrices (m, n, 3, 3) that give the residuals of the feet unit covariance."""
        noise = self._noise
        covariance = noise.angle**2 * by_angle @ np.swapaxes(by_angle, -1, -2)
        covariance += np.diag([noise.jitter**2, noise.jitter**2, noise.height**2])
        inverse: Array = np.linalg.inv(np.linalg.cholesky(covariance))
        return inverse

    def _tilt_rows(self, x: _Unknowns, measured: _Measured) -> _Rows:
        """Weighted residuals of the measured vertical, and their derivatives."""
        *_, mounting, floor = self._parts(x.common)
        weight = (measured.seen / self._noise.tilt)[:, None]
        angles = x.poses[:, 3:]
        common = np.zeros((len(angles), 3, len(x.common)))
        pose = np.zeros((len(angles), 3, 6 + 3 * self._count))
        for axis, step in enumerate(STEP * np.eye(8)):
            ends = [
                _seen_vertical(mounting + s * step[:3], floor + s * step[3:5], angles + s * step[5:])
                for s in (1.0, -1.0)
            ]
            slope = weight * (ends[0] - ends[1]) / (2.0 * STEP)
            if axis < 5:
                common[:, :, self._ends[2] + axis] = slope
            else:
                pose[:, :, axis - 2] = slope
        return _Rows(weight * (_seen_vertical(mounting, floor, angles) - measured.verticals), common, pose)

    def _improved(self, x: _Unknowns, measured: _Measured, weights: _Weights) -> tuple[_Unknowns, Array]:
        """One step of Gauss-Newton, and the covariance (g, g) of the common unknowns."""
        rows = self._rows(x, measured, weights)
        m, n = measured.planted.shape
        turned = np.swapaxes(rows.pose, 1, 2)
        blocks = turned @ rows.pose
        slopes = (turned @ rows.residuals[..., None])[..., 0]
        pin = np.zeros(6 + 3 * n)
        pin[[0, 1, 5]] = PIN**-2.0
        for first in np.flatnonzero(measured.starts):
            blocks[first] += np.diag(pin)
            slopes[first] += pin * np.concatenate([x.poses[first], np.zeros(3 * n)])
        level = np.concatenate([np.zeros(6), np.outer(weights.level, (0.0, 0.0, self._bump**-2.0)).ravel()])
        blocks[0] += np.diag(level)
        slopes[0] += level * np.concatenate([np.zeros(6), x.places[0].ravel()])
        blocks += np.diag(np.concatenate([np.zeros(6), np.full(3 * n, LOOSE)]))
        steps = np.zeros((m - 1, 6 + 3 * n))  # information of the step of each foot
        steps[:, 6:] = weights.information.reshape(m - 1, 3 * n)
        pull = np.zeros_like(steps)
        pull[:, 6:] = steps[:, 6:] * np.diff(x.places, axis=0).reshape(m - 1, 3 * n)
        for k in range(m - 1):
            blocks[k] += np.diag(steps[k])
            blocks[k + 1] += np.diag(steps[k])
            slopes[k] -= pull[k]
            slopes[k + 1] += pull[k]
        flat = rows.common.reshape(-1, len(x.common))
        change, of_poses, covariance = _eliminated(
            blocks,
            steps,
            turned @ rows.common,
            slopes,
            np.diag(self._information) + flat.T @ flat,
            self._information * x.common + flat.T @ rows.residuals.ravel(),
        )
        common = x.common + change
        poses = x.poses + of_poses[:, :6]
        places = x.places + of_poses[:, 6:].reshape(m, n, 3)
        return _Unknowns(common, poses, places, self._rolled(common, poses, measured)), covariance


def _eliminated(
    blocks: Array, steps: Array, cross: Array, slopes: Array, common: Array, slope: Array
) -> tuple[Array, Array, Array]:
    """Solves the normal equations of a chain of poses: changes of the common unknowns and of the poses, covariance.

    `blocks` (m, d, d) of the poses, `steps` (m - 1, d) between one and the next, `cross` (m, d, g), `slopes` (m, d);
    `common` (g, g) and `slope` (g,). Each pose is eliminated when those before it are.
    """
    m, _, g = cross.shape
    right = np.concatenate([cross, slopes[..., None]], 2)
    system: Array = np.column_stack([common, slope])
    solved = np.empty_like(right)
    inverses = np.empty_like(blocks)
    for k in range(m):
        inverses[k] = np.linalg.inv(blocks[k])
        solved[k] = inverses[k] @ right[k]
        system -= right[k][:, :g].T @ solved[k]
        if k + 1 < m:  # the next pose is bound to this one by -steps on the diagonal
            blocks[k + 1] = blocks[k + 1] - steps[k][:, None] * inverses[k] * steps[k]
            right[k + 1] = right[k + 1] + steps[k][:, None] * solved[k]
    covariance: Array = np.array(np.linalg.inv(system[:, :g]), dtype=np.float64)
    change: Array = -covariance @ system[:, g]
    ends = np.concatenate([change, [1.0]])
    of_poses = np.empty((m, blocks.shape[1]))
    following = np.zeros(blocks.shape[1])
    for k in reversed(range(m)):
        bound = steps[k] * following if k + 1 < m else following
        of_poses[k] = inverses[k] @ bound - solved[k] @ ends
        following = of_poses[k]
    return change, of_poses, covariance


def _stays(measured: _Measured, weights: _Weights) -> NDArray[np.int_]:
    """Numbers (m, n) of the stays of each foot in one place, from 0; another one begins with a step that goes far."""
    far = measured.starts[1:, None] | (weights.steps < AWAY * np.where(measured.grip > 0.0, measured.grip, 1.0))
    stays: NDArray[np.int_] = np.concatenate([np.zeros((1, far.shape[1]), dtype=int), np.cumsum(far, axis=0)])
    return stays


def _weight(square: Array) -> Array:
    """Weight of a residual, from 1 to almost 0, by its square over its variance."""
    weight: Array = np.maximum((1.0 + square / TAIL**2) ** -2.0, MIN_WEIGHT)
    return weight


def vertical(tilt: Point) -> tuple[float, float, float]:
    """The vertical in the frame of a body or IMU with a roll and pitch [rad]."""
    roll, pitch = tilt
    return -math.sin(pitch), math.cos(pitch) * math.sin(roll), math.cos(pitch) * math.cos(roll)


def _seen_vertical(mounting: Array, floor: Array, angles: Array) -> Array:
    """The vertical (m, 3) in the frame of an IMU, on a floor with a roll and pitch [rad] against the horizontal."""
    up = np.array(vertical((floor[0], floor[1])))
    seen: Array = np.einsum("mji,j->mi", _rotation(angles), up) @ _rotation(mounting)
    return seen


def _rotation(angles: Array) -> Array:
    """Matrices (..., 3, 3) Rz(yaw) Ry(pitch) Rx(roll) of angles (..., 3) [rad]."""
    cr, cp, cy = np.moveaxis(np.cos(angles), -1, 0)
    sr, sp, sy = np.moveaxis(np.sin(angles), -1, 0)
    rows = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def _between(start: Array, end: Array, share: Array) -> Array:
    """The rotations (m, 3, 3) on the way from one to the other about one axis; shares (m, 1) (O. Rodrigues)."""
    turn = np.swapaxes(start, -1, -2) @ end
    axis = 0.5 * np.stack([turn[:, k - 1, k - 2] - turn[:, k - 2, k - 1] for k in range(3)], -1)
    sine = np.linalg.norm(axis, axis=-1)
    whole = np.arctan2(sine, 0.5 * (np.trace(turn, axis1=-2, axis2=-1) - 1.0))[:, None]
    x, y, z = (share * axis / np.sinc(whole / math.pi)).T
    none = np.zeros_like(x)
    cross = np.moveaxis(np.array([[none, -z, y], [z, none, -x], [-y, x, none]]), -1, 0)
    angle = (share * whole)[..., None]
    part: Array = np.eye(3) + np.sinc(angle / math.pi) * cross
    part += 0.5 * np.sinc(angle / math.tau) ** 2 * cross @ cross
    return start @ part


def _rigid(points: Array, targets: Array) -> tuple[Array, Array]:
    """Rotation and translation that map points (n, 3) [m] to their targets in least squares (W. Kabsch)."""
    middle = points.mean(0)
    aim = targets.mean(0)
    u, _, v = np.linalg.svd((points - middle).T @ (targets - aim))
    mirrored = np.sign(np.linalg.det(v.T @ u.T))
    rotation = v.T @ np.diag([1.0, 1.0, mirrored]) @ u.T
    return rotation, aim - rotation @ middle


def _levelled(points: Array) -> Array:
    """The rotation, without yaw, that makes the plane through points (n, 3) [m] horizontal."""
    plane = np.column_stack([points[:, :2], np.ones(len(points))])
    a, b, _ = np.linalg.lstsq(plane, points[:, 2], rcond=None)[0]
    length = math.sqrt(a * a + b * b + 1.0)
    return _rotation(np.array([math.atan2(-b, 1.0), math.asin(a / length), 0.0]))
