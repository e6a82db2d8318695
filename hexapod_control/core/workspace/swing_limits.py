"""What a swing may ask of joints and regions, and how long it may last."""

from __future__ import annotations

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_batch import Coordinates
from hexapod_control.core.robot import Leg

SPEED_SHARE = 0.7  # of the no-load speed: what a loaded servo still follows
TABLE_SHARE = 0.99  # of that: what tables leave to interpolation
STRIDE_SHARE = 0.95  # of the stance region that steady strides use; the guard of planted feet has the rest
SWING_TIME_SCALES = (0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0)  # of the nominal swing time
SWING_SAMPLES = 21  # of a swing
PROGRESS = np.linspace(0.0, 1.0, SWING_SAMPLES)  # at the samples


def max_travels(travels: Array, times: Array, swing: float) -> Array:
    """The longest of the travels (..., V) [m], from 0 up, that a swing of `swing` [s] can cover; 0 if none.

    `times` (..., V) [s] are what `shortest_swing` gives for them; between the travels it is linear.
    """
    times = np.maximum.accumulate(times, axis=-1)
    last = times.shape[-1] - 1
    low = np.maximum((times <= swing).sum(axis=-1) - 1, 0)[..., None]
    high = np.minimum(low + 1, last)
    below, above = (np.take_along_axis(times, k, axis=-1)[..., 0] for k in (low, high))
    start, end = (np.take_along_axis(np.broadcast_to(travels, times.shape), k, axis=-1)[..., 0] for k in (low, high))
    part = np.clip((swing - below) / np.maximum(above - below, 1e-12), 0.0, 1.0)
    found: Array = np.where(below <= swing, start + part * (end - start), 0.0)
    return found


def shortest_swing(leg: Leg, joints: Coordinates) -> Array:
    """The least time [s] of swings with joint angles (..., samples) [rad] over it in which no joint is too fast."""
    found = np.zeros(joints[0].shape[:-1])
    for angle, joint in zip(joints, leg.joints, strict=True):
        most = SPEED_SHARE * TABLE_SHARE * joint.no_load_speed
        np.maximum(found, np.abs(np.diff(angle)).max(axis=-1) * (angle.shape[-1] - 1) / most, out=found)
    return found
