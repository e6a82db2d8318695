"""Robust plane through the feet, the distance of each foot from it, and the femur trims that remove the distances.

Iteratively reweighted least squares minimise the sum of absolute distances, so that a single bad leg is visible and
does not tilt the plane. Points are (n, 3) [m].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.fits import fit_plane
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.robot import Robot
from hexapod_control.servos.settings.joint_calibration import JointCalibration

ITERATIONS = 60
MIN_DISTANCE = 1e-7  # [m] bounds the weights
MIN_SPREAD = 1e-12  # [m^2] below it, the feet with large weights are collinear, and the others determine the plane
ANGLE_STEP = 1e-5  # [rad] of the finite difference
MAX_TRIM = 0.35  # [rad]
FEMUR = 1  # column


def plane(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients (a, b, c) of the plane z = a x + b y + c with the least sum of distances."""
    weights: list[float] | None = None
    coefficients: NDArray[np.float64] = np.zeros(3)
    for _ in range(ITERATIONS):
        fitted = fit_plane(points.tolist(), weights, MIN_SPREAD)
        if fitted is None:
            break
        coefficients = np.array(fitted)
        distances = np.abs(points[:, 2] - points[:, :2] @ coefficients[:2] - coefficients[2])
        weights = (1.0 / np.maximum(distances, MIN_DISTANCE)).tolist()
    return coefficients


def residuals(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Height (n,) [m] of each foot above the plane through all feet."""
    a, b, c = plane(points)
    distance: NDArray[np.float64] = (points[:, 2] - points[:, :2] @ np.array((a, b)) - c) / np.sqrt(1.0 + a * a + b * b)
    return distance


def trims(robot: Robot, joints: Array) -> NDArray[np.float64]:
    """Angles (n,) [rad] to add to the measured femur angles, so that all feet lie in one plane (Newton's method)."""
    reference = plane(forward(robot, joints))
    added = np.zeros(len(robot.legs))
    for _ in range(8):
        error = _above(robot, joints, added, reference)
        slope = (_above(robot, joints, added + ANGLE_STEP, reference) - error) / ANGLE_STEP
        correction = np.where(np.abs(slope) > 1e-3, error / np.where(slope == 0.0, 1.0, slope), 0.0)
        added = np.clip(added - correction, -MAX_TRIM, MAX_TRIM)
    return added


def _above(
    robot: Robot, joints: Array, added: NDArray[np.float64], reference: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Height (n,) [m] of each foot above a plane (a, b, c), with angles (n,) [rad] added to the femurs."""
    trimmed_joints = np.array(joints)
    trimmed_joints[:, FEMUR] += added
    feet = forward(robot, trimmed_joints)
    above: NDArray[np.float64] = feet[:, 2] - feet[:, :2] @ reference[:2] - reference[2]
    return above


def trimmed(joints: Sequence[JointCalibration], added: NDArray[np.float64]) -> list[JointCalibration]:
    """Calibrations in row order, with angles (n,) [rad] added to the trims of the femurs."""
    return [
        replace(joint, trim=joint.trim + float(added[row // 3])) if row % 3 == FEMUR else joint
        for row, joint in enumerate(joints)
    ]
