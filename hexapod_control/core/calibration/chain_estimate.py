# SPDX-License-Identifier: Apache-2.0
"""What closed chains are estimated from, and what comes out: poses, deviations of the measurement, corrections.

Arrays: n legs, m poses; columns coxa, femur, tibia.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Point

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class StandingPose:
    """What was measured in one pose, at rest."""

    joints: Array  # (n, 3) [rad]
    tilt: Point | None = None  # [rad] roll and pitch by the IMU
    loads: tuple[float, ...] = ()  # of the feet in even shares of the weight, 0 in the air; empty: all bear the same
    stance: int = 0  # number of the stance: in another one, all feet have new places


@dataclass(frozen=True, slots=True)
class ChainNoise:
    """Standard deviations of what is measured. The slip from pose to pose is estimated."""

    angle: float = math.radians(0.1)  # [rad] of a joint angle
    height: float = 0.00015  # [m] of a foot
    jitter: float = 0.0001  # [m] of a foot about its place
    tilt: float = math.radians(0.2)  # [rad] of the IMU, in one pose


@dataclass(frozen=True, slots=True)
class ChainPrior:
    """Standard deviations of the corrections before anything is measured."""

    zero: float = math.radians(3.0)  # [rad] of a joint
    length_share: float = 0.02  # of a length
    length: float = 0.0015  # [m] of a length, at least
    hip: float = 0.001  # [m] of a hip along each axis
    mounting: float = math.radians(4.0)  # [rad] of the IMU about each axis
    floor: float = math.radians(1.0)  # [rad] of the floor against the horizontal
    bump: float = 0.001  # [m] of the floor under a foot; some are far from it (Student's t)


USUAL_NOISE = ChainNoise()
USUAL_PRIOR = ChainPrior()


@dataclass(frozen=True, slots=True)
class Corrections:
    """What is to be added to the robot file; or the standard deviations of that."""

    zeros: Array  # (n, 3) [rad] to add to the measured angles
    lengths: Array  # (n, 3) [m]
    hips: Array  # (n, 3) [m] in base_link
    mounting: Array  # (3,) [rad] of the IMU: roll, pitch and yaw of its axes in base_link
    floor: Array  # (2,) [rad] roll and pitch of the floor against the horizontal


@dataclass(frozen=True, slots=True)
class ChainEstimate:
    """The corrections with their deviations, and how well they explain the poses."""

    corrections: Corrections
    deviations: Corrections
    priors: Corrections
    residuals: Array  # (m, n, 3) [m] of the feet from their places, along x, y, z of the floor
    places: Array  # (m, n, 3) [m] of the feet: x, y, and the height of the floor
    weights: Array  # (m, n) of the feet, from 0 to 1
    slip: float  # [m] standard deviation of the steps of the feet along each axis
    scale: float  # of the residuals, in standard deviations
    converged: bool

    @property
    def misfit(self) -> Array:
        """Typical distance (n,) [m] of each foot from where it stands: median over the poses."""
        fixed = self.places - np.median(self.places, axis=0)
        median: Array = np.median(np.linalg.norm(self.residuals + fixed, axis=-1), axis=0)
        return median
