# SPDX-License-Identifier: Apache-2.0
"""Feet on printed dots: where the dots of a robot are, and the zeros of its joints that follow from feet put on them.

The body is propped above the sheet; each foot stands first on its dot A, then on its dot B. The kinematics say where
the feet are for the joint angles that the servos report or were sent. The zeros bring them onto the dots in weighted
least squares, together with the pose of the body, which is known only as well as it was put there. Two dots a leg make
the pose of the body visible, and tell a wrong zero from a foot that was beside its dot.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.leg_kinematics import BENT_LEG, forward, hip_to_base, solve_leg_unlimited
from hexapod_control.core.robot import Robot

FOOT_ERROR = (1e-3, 1e-3, 0.5e-3)  # [m] of a foot put on its dot by hand, one sigma in x, y and z
BODY_ERROR = (1e-3, 1e-3, 0.7e-3, *np.radians((0.2, 0.2, 0.4)).tolist())  # [m], [rad] of x, y, z, roll, pitch, yaw
LARGEST_FOOT_ERROR = 2.0  # of FOOT_ERROR, of a careful hand
MAX_MISFIT = 16.0  # variance of the misses of a leg by that of the others; F(3, 15) exceeds it once in 16 000 legs
NEGLIGIBLE = 1e-2  # weight
ANY_ZERO = 30.0  # [rad] one sigma of a zero before it is measured: it only keeps a stretched leg from being singular

SCALES = (0.8, 0.9, 1.0, 1.1)  # distances of a dot from the hip, as shares of that of the neutral foothold
TURNS = tuple(math.radians(degrees) for degrees in (-30.0, -20.0, -10.0, 0.0, 10.0, 20.0, 30.0))  # [rad] about the hip
LIMIT_MARGIN = math.radians(5.0)  # [rad] of all joints from their limits on the dots
MIN_GAP = 0.012  # [m] between two dots, so that their numbers are readable
STEP = 1e-6  # [rad] of the finite difference
ITERATIONS = 8  # at most
CONVERGED = 1e-5  # [rad], [m]


class NoDotsError(ValueError):
    """The joint limits leave no two places for the feet."""


@dataclass(frozen=True, slots=True)
class ZeroFit:
    """The joint zeros that follow from feet on dots."""

    zeros: Array  # (n, 3) [rad] true angle minus the given one
    deviations: Array  # (n, 3) [rad] of the zeros, one sigma
    misses: Array  # (n,) [m] by which the dots of each leg disagree; 0 with one dot a leg


def dots(robot: Robot) -> Array:
    """Ball centers (2, n, 3) [m] in base_link of the feet on their dots A and B, with the body at its neutral height.

    They are the two places, in reach of all legs, from which the zeros follow best. Raises NoDotsError.
    """
    places = [_turned(robot, scale, turn) for scale, turn in product(SCALES, TURNS)]
    inside = [(feet, pose) for feet in places if (pose := _within_limits(robot, feet)) is not None]
    weights = np.ones(len(robot.legs))
    rows = [(feet, _rows(robot, feet, pose, weights)) for feet, pose in inside]
    normals = [(feet, each.T @ each) for feet, each in rows]
    known = _known(len(robot.legs))
    best: tuple[float, Array] | None = None
    for k, (outer, first) in enumerate(normals):
        for inner, second in normals[:k]:
            gaps = np.linalg.norm(np.vstack((outer, inner))[:, None, :2] - inner[None, :, :2], axis=2)
            if gaps[gaps > 0.0].min(initial=math.inf) < MIN_GAP:
                continue
            deviation = float(np.trace(np.linalg.inv(first + second + known)[:-6, :-6]))
            if best is None or deviation < best[0] - 1e-12:
                best = deviation, read_only((outer, inner))
    if best is None:
        raise NoDotsError("the joint limits leave no two places for the feet: widen them, or choose other footholds")
    return best[1]


def dot_name(place: int, leg: int) -> str:
    """What is printed beside a dot, such as B3: the place, and the number of the leg in row order."""
    return f"{'AB'[place]}{leg + 1}"


def femur_axis_height(robot: Robot) -> float:
    """Height [m] of the femur axis of the first leg above the sheet, with the coxa straight out."""
    leg = robot.legs[0]
    return robot.walk.height + hip_to_base(leg, (leg.coxa.length, leg.femur_lateral, leg.femur_vertical))[2]


def joints_on(robot: Robot, feet: Array) -> Array:
    """Joints (n, 3) [rad] of feet at ball centers (n, 3) [m] in base_link, regardless of the joint limits."""
    solved = [solve_leg_unlimited(leg, (x, y, z), BENT_LEG)[0] for leg, (x, y, z) in zip(robot.legs, feet, strict=True)]
    return np.array(solved)


def fit_zeros(robot: Robot, feet: Array, angles: Array) -> ZeroFit:
    """The zeros of all joints from feet on dots.

    `feet` (n, 3), or (p, n, 3) for p dots a leg, are the ball centers [m] in base_link of a body that is where it
    should be; `angles` of the same shape [rad] are those that the servos report, or were sent to them.
    """
    zeros, misses, covariance = _fit(robot, feet, angles)
    deviations = np.sqrt(np.diag(covariance)[:-6]).reshape(-1, 3)
    return ZeroFit(read_only(zeros), read_only(deviations), read_only(np.linalg.norm(np.ptp(misses, axis=0), axis=1)))


def misplaced_leg(robot: Robot, feet: Array, angles: Array) -> tuple[int, float] | None:
    """The leg whose foot cannot have been on all of its dots, and by how much they disagree [m]; None if there is none.

    Arguments as of `fit_zeros`. Each leg is judged with the body where the other legs put it, and with a hand as good
    as the median of the other legs shows, between FOOT_ERROR and LARGEST_FOOT_ERROR.
    """
    count = len(robot.legs)
    free = 3 * (np.size(feet) // (3 * count) - 1)  # misses of a leg that its zeros cannot remove
    found: tuple[int, float] | None = None
    limit = MAX_MISFIT * free
    for leg in range(count) if free else ():
        _, misses, _ = _fit(robot, feet, angles, leg)
        squares = np.square(misses / FOOT_ERROR).sum(axis=(0, 2))
        usual = float(np.delete(squares, leg).mean()) / free
        misfit = float(squares[leg]) / min(max(usual, 1.0), LARGEST_FOOT_ERROR**2)
        if misfit > limit:
            limit = misfit
            found = leg, float(np.linalg.norm(np.ptp(misses[:, leg], axis=0)))
    return found


# --- least squares -----------------------------------------------------------------------------------


def _fit(robot: Robot, feet: Array, angles: Array, without: int = -1) -> tuple[Array, Array, Array]:
    """Zeros (n, 3) [rad], misses (p, n, 3) [m] of the feet, and the covariance of zeros and pose of the body.

    The leg `without` has no influence on the pose of the body.
    """
    count = len(robot.legs)
    places, given = (np.asarray(values, dtype=float).reshape(-1, count, 3) for values in (feet, angles))
    weights = np.ones(count)
    weights[without % count] = 1.0 if without < 0 else NEGLIGIBLE
    known = _known(count)
    unknowns = np.concatenate(((joints_on(robot, places[0]) - given[0]).ravel(), np.zeros(6)))
    for _ in range(ITERATIONS):
        joints = given + unknowns[:-6].reshape(-1, 3)
        rows = np.vstack([_rows(robot, feet, each, weights) for feet, each in zip(places, joints, strict=True)])
        reached = np.array([forward(robot, each) for each in joints])
        misses: Array = reached - places - unknowns[-6:-3] - np.cross(unknowns[-3:], places)
        normal = rows.T @ rows + known
        pull = rows.T @ (misses / FOOT_ERROR * weights[:, None]).ravel() + known @ unknowns
        change = np.linalg.solve(normal, -pull)
        unknowns += change
        if np.abs(change).max() < CONVERGED:
            break
    zeros: Array = unknowns[:-6].reshape(-1, 3)
    covariance: Array = np.linalg.inv(normal).astype(float)
    return zeros, misses, covariance


def _known(legs: int) -> Array:
    """Information (3 n + 6, 3 n + 6) about zeros [rad] and pose of the body [m], [rad] before the feet are measured."""
    return np.diag(np.array((*([ANY_ZERO] * 3 * legs), *BODY_ERROR)) ** -2.0)


def _rows(robot: Robot, feet: Array, angles: Array, weights: Array) -> Array:
    """Derivatives (3 n, 3 n + 6) of the weighted misses of all feet by the zeros, and by the pose of the body."""
    count = len(robot.legs)
    rows = np.zeros((count, 3, 3 * count + 6))
    for column in range(3):
        step = np.zeros(3)
        step[column] = STEP
        slopes = (forward(robot, angles + step) - forward(robot, angles - step)) / (2.0 * STEP)
        rows[np.arange(count), :, 3 * np.arange(count) + column] = slopes
    for row, (x, y, z) in zip(rows, feet, strict=True):
        row[:, -6:] = [[-1.0, 0.0, 0.0, 0.0, -z, y], [0.0, -1.0, 0.0, z, 0.0, -x], [0.0, 0.0, -1.0, -y, x, 0.0]]
    scaled: Array = rows / np.array(FOOT_ERROR)[:, None] * weights[:, None, None]
    return scaled.reshape(3 * count, -1)


def _turned(robot: Robot, scale: float, turn: float) -> Array:
    """The neutral ball centers (n, 3) [m] in base_link at another distance from the hips, turned [rad] about them."""
    c, s = scale * math.cos(turn), scale * math.sin(turn)
    hips = np.array([leg.hip[:2] for leg in robot.legs])
    across = np.array(robot.footholds) - hips
    feet = np.full((len(robot.legs), 3), robot.foot_radius - robot.walk.height)
    feet[:, :2] = hips + across @ np.array(((c, s), (-s, c)))
    return feet


def _within_limits(robot: Robot, feet: Array) -> Array | None:
    """Joints (n, 3) [rad] of ball centers (n, 3) [m]; None if one is out of reach or too close to a limit."""
    joints = joints_on(robot, feet)
    limits = np.array([[(joint.lower, joint.upper) for joint in leg.joints] for leg in robot.legs])
    inside = (joints > limits[..., 0] + LIMIT_MARGIN) & (joints < limits[..., 1] - LIMIT_MARGIN)
    return joints if inside.all() and np.allclose(forward(robot, joints), feet, atol=1e-6) else None
