# SPDX-License-Identifier: Apache-2.0
"""Which points of a scan lie on the robot itself, or are seen too close past one of its legs.

A depth sensor that sees a leg and the ground behind it in one pixel measures something between them. Such points are as
high as a leg, and stand in the map where the leg has been; so a point counts as the robot if its line of sight passes
a leg within MARGIN, wherever on that line it was measured.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_clearance import radii
from hexapod_control.core.kinematics.leg_kinematics import femur_axis, hip_to_base, leg_forward
from hexapod_control.core.robot import Leg, Robot

MARGIN = 0.015  # [m] around the legs: noise of the range, servo horns and brackets, a pixel beside the leg


def on_robot(robot: Robot, joints: Array, points: Array, lens: ArrayLike) -> NDArray[np.bool_]:
    """Which points (n, 3) [m] lie on the trunk, or on or behind a leg with joints (legs, 3) [rad].

    They are seen from `lens` (3,) [m]; all in base_link.
    """
    low, high = (np.array(robot.body.center) + side * 0.5 * np.array(robot.body.size) for side in (-1.0, 1.0))
    on_trunk = ((points > low - MARGIN) & (points < high + MARGIN)).all(axis=1)
    chains = np.array([_chain(leg, angles) for leg, angles in zip(robot.legs, joints.tolist(), strict=True)])
    bars = [(leg.coxa.radius, *radii(leg, robot)) for leg in robot.legs]
    eye = np.asarray(lens, dtype=float)
    seen = chains - eye
    starts = seen[:, :-1].reshape(-1, 3)
    ends = seen[:, 1:].reshape(-1, 3)
    passed = _passed(points - eye, starts, ends, np.array(bars).ravel() + MARGIN)
    found: NDArray[np.bool_] = on_trunk | passed
    return found


def _chain(leg: Leg, joints: list[float]) -> list[tuple[float, float, float]]:
    """Hip, femur axis, knee and foot [m] of a leg in base_link."""
    coxa, femur, tibia = joints
    axis = femur_axis(leg, math.cos(coxa), math.sin(coxa))
    return [leg.hip, *(hip_to_base(leg, point) for point in (axis, *leg_forward(leg, (coxa, femur, tibia))))]


def _passed(sights: Array, starts: Array, ends: Array, distances: Array) -> NDArray[np.bool_]:
    """Which lines from the origin to points (n, 3) come nearer to one of k segments than its distance.

    One whose nearest point is the origin leads away from the segment, and does not count: a lens may be near a leg.
    Source: C. Ericson, Real-Time Collision Detection, section 5.1.9, as `segment_distance` of leg_clearance.
    """
    along = ends - starts
    middles = 0.5 * (starts + ends)
    lengths = np.sqrt((sights * sights).sum(axis=1))
    away = np.linalg.norm(middles, axis=1)
    # Only lines that meet the ball about a segment and its distance: those near enough to the line to its middle.
    balls = np.minimum((0.5 * np.linalg.norm(along, axis=1) + distances) / np.maximum(away, 1e-9), 1.0)
    least = np.where(balls < 1.0, away * np.sqrt(1.0 - balls * balls), -np.inf)
    rows, columns = np.nonzero(sights @ middles.T >= np.outer(lengths, least) - 1e-12)
    uu = np.maximum(lengths * lengths, 1e-12)[rows]
    vv = np.maximum((along * along).sum(axis=1), 1e-12)[columns]
    ww = (starts * starts).sum(axis=1)[columns]
    vw = -(along * starts).sum(axis=1)[columns]
    uv = (sights @ along.T)[rows, columns]
    uw = -(sights @ starts.T)[rows, columns]
    determinant = np.maximum(uu * vv - uv * uv, 1e-15 * uu * vv)
    s = np.clip((uv * vw - uw * vv) / determinant, 0.0, 1.0)
    t = np.clip((uv * s + vw) / vv, 0.0, 1.0)
    s = np.clip((uv * t - uw) / uu, 0.0, 1.0)
    squares = ww + s * (s * uu + 2.0 * uw - 2.0 * t * uv) + t * (t * vv - 2.0 * vw)
    near = np.zeros(len(sights), dtype=bool)
    near[rows[(squares < distances[columns] ** 2) & (s > 0.0)]] = True
    return near
