# SPDX-License-Identifier: Apache-2.0
"""Rotations as arrays."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hexapod_control.core.kinematics.arrays import Array, read_only


def rotation_about(axis: Array, angle: float) -> Array:
    """Rotation (3, 3) by an angle [rad] about a unit axis."""
    x, y, z = axis
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + math.sin(angle) * skew + (1.0 - math.cos(angle)) * (skew @ skew))


@lru_cache(maxsize=256)  # the search for a stance repeats the same hips and angles
def rotation_from_angles(roll: float, pitch: float, yaw: float) -> Array:
    """Rotation (3, 3) of fixed-axis roll, pitch and yaw [rad], as in URDF; read-only."""
    x, y, z = np.eye(3)
    return read_only(rotation_about(z, yaw) @ rotation_about(y, pitch) @ rotation_about(x, roll))


def angles_of_rotation(rotation: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw [rad] of a rotation, as in URDF; rounding errors of an upright one are dropped."""
    roll = math.atan2(rotation[2, 1], rotation[2, 2])
    pitch = math.atan2(-rotation[2, 0], math.hypot(rotation[2, 1], rotation[2, 2]))
    yaw = math.atan2(rotation[1, 0], rotation[0, 0])
    return (roll if abs(roll) > 1e-9 else 0.0), (pitch if abs(pitch) > 1e-9 else 0.0), yaw
