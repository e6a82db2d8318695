# SPDX-License-Identifier: Apache-2.0
"""Limits of a swing: joint speeds, stride length and swing time."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_batch import Coordinates
from hexapod_control.core.robot import Leg

SPEED_SHARE = 0.7  # of the no-load speed: a servo under load can still follow
TABLE_SHARE = 0.99  # of SPEED_SHARE, used in the tables: a reserve for interpolation
STRIDE_SHARE = 0.95  # of the radius of a region, used by steady strides: a reserve for the region guard
MIN_LIFT_SHARE = 0.75  # of the lift height, at the highest speeds: a lower swing takes less time
SWING_TIME_SCALES = (0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0)  # factors on the nominal swing time
SWING_SAMPLES = 21  # of a swing, ends included
PROGRESS = np.linspace(0.0, 1.0, SWING_SAMPLES)  # progress of the swing at each sample


@lru_cache(maxsize=64)
def nearest_swing_times(tempo: float) -> tuple[int, ...]:
    """Indices of SWING_TIME_SCALES, sorted by their distance from a tempo (a factor on the swing time)."""
    return tuple(sorted(range(len(SWING_TIME_SCALES)), key=lambda k: abs(SWING_TIME_SCALES[k] - tempo)))


def max_travels(travels: Array, times: Array, swings: Array) -> Array:
    """Longest travels (T, ...) [m] of swings that last `swings` (T,) [s]; 0 if even the shortest one takes longer.

    `travels` (..., V) [m] increase from 0; `times` (..., V) [s] are their shortest swings, linear between them.
    """
    times = np.maximum.accumulate(times, axis=-1)
    columns = times.shape[-1]
    rows = columns * np.arange(times.size // columns).reshape(times.shape[:-1])
    longest = np.empty((len(swings), *rows.shape))
    for travels_in_swing, swing in zip(longest, swings.tolist(), strict=True):
        low = np.maximum((times <= swing).sum(axis=-1) - 1, 0)
        ends = rows + low, rows + np.minimum(low + 1, columns - 1)
        (below, above), (start, end) = ([values.take(k) for k in ends] for values in (times, travels))
        part = np.clip((swing - below) / np.maximum(above - below, 1e-12), 0.0, 1.0)
        travels_in_swing[...] = np.where(below <= swing, start + part * (end - start), 0.0)
    return longest


def shortest_swing(leg: Leg, joints: Coordinates) -> Array:
    """Shortest swing times (...) [s] within the joint speed limits, for joints (..., samples) [rad] over a swing."""
    shortest = np.zeros(joints[0].shape[:-1])
    for angle, joint in zip(joints, leg.joints, strict=True):
        max_speed = SPEED_SHARE * TABLE_SHARE * joint.no_load_speed
        np.maximum(shortest, np.abs(np.diff(angle)).max(axis=-1) * (angle.shape[-1] - 1) / max_speed, out=shortest)
    return shortest
