# SPDX-License-Identifier: Apache-2.0
"""Which points of a scan lie on the robot itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import hip_to_base, leg_forward
from hexapod_control.core.robot import Robot

MARGIN = 0.015  # [m] around the legs: noise of the range, servo horns and brackets


def on_robot(robot: Robot, joints: Array, points: Array) -> NDArray[np.bool_]:
    """Which points (n, 3) [m] of base_link lie on the trunk or on a leg with joints (legs, 3) [rad]."""
    low, high = (np.array(robot.body.center) + side * 0.5 * np.array(robot.body.size) for side in (-1.0, 1.0))
    found = [((points > low - MARGIN) & (points < high + MARGIN)).all(axis=1)]
    for leg, angles in zip(robot.legs, joints.tolist(), strict=True):
        knee, foot = (np.array(hip_to_base(leg, point)) for point in leg_forward(leg, tuple(angles)))
        hip = np.array(leg.hip)
        for start, end, radius in ((hip, knee, leg.femur.radius), (knee, foot, leg.tibia.radius)):
            found.append(_near(points, start, end, max(radius, robot.foot_radius) + MARGIN))
    return np.logical_or.reduce(found)


def _near(points: Array, start: Array, end: Array, distance: float) -> NDArray[np.bool_]:
    """Which points lie within a distance of a segment."""
    along = end - start
    away = points - start
    share = np.clip(away @ along / max(float(along @ along), 1e-12), 0.0, 1.0)
    away = away - share[:, np.newaxis] * along
    near: NDArray[np.bool_] = (away * away).sum(axis=1) < distance**2
    return near
