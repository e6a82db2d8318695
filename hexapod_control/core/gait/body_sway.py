# SPDX-License-Identifier: Apache-2.0
"""The sway of the body in a gait: a periodic shift that keeps the center of mass over the standing feet.

The shift is a Fourier series over the phase of the gait. Its coefficients are linear in the strides, as the positions
of the feet are, so a robot that strides forward sways otherwise than one that turns.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass

import numpy as np

from hexapod_control.core.kinematics.arrays import Array, ComplexArray
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.robot import Point

HARMONICS = (-2, -1, 0, 1, 2)  # of the cycle; a constant shift, for a center of mass that is off center
CORNERS = 8  # of the polygon of all shifts
MODES = 4  # of the coefficients: of feet at their neutral footholds, and per stride forward, to the left, and turning


@dataclass(frozen=True, slots=True)
class Sway:
    """A periodic shift of the body."""

    coefficients: tuple[tuple[complex, ...], ...]  # (MODES, HARMONICS) [m], [m/m], [m/m], [m/rad]
    start_phase: float  # in [0, 1): that of a standing robot at its first lift-off
    region_share: float  # (0 to 1) of the stance regions, for which it is made

    def at(self, phase: float, half_stride: Twist = ZERO) -> tuple[Point, Point]:
        """The shift (x, y) [m] at a phase, and its change (x, y) [m] per cycle.

        `half_stride` is the motion of the body in half of a stance [m, m, rad].
        """
        vx, vy, wz = half_stride
        wave = cmath.rect(1.0, math.tau * phase)
        shift = change = 0j
        for k, still, forward, left, turn in zip(HARMONICS, *self.coefficients, strict=True):
            term = (still + vx * forward + vy * left + wz * turn) * wave**k
            shift += term
            change += k * term
        return (shift.real, shift.imag), (-math.tau * change.imag, math.tau * change.real)

    def shifts(self, phases: Array, half_strides: ComplexArray, turns: Array) -> ComplexArray:
        """The shifts (..., P) [m] at phases (P,), for half strides (..., 1) [m] and their turns (..., 1) [rad]."""
        still, forward, left, turn = np.array(self.coefficients)
        waves = np.exp(1j * math.tau * np.array(HARMONICS) * phases[:, None])
        moved = half_strides.real * (waves @ forward) + half_strides.imag * (waves @ left)
        shifts: ComplexArray = waves @ still + moved + turns * (waves @ turn)
        return shifts

    @property
    def corners(self) -> tuple[Point, ...]:
        """Corners (x, y) [m] of a polygon of the shifts of feet at their neutral footholds."""
        return tuple(self.at(k / CORNERS)[0] for k in range(CORNERS))
