"""The maximum lead of the stride center of a leg over those of its neighbours while the centers move.

If all legs stride about the centers of one direction, they do not collide. But where hips are close together, a leg
about its moved center could touch a neighbour about its neutral foothold. There the centers move in smaller steps. The
lead is the largest step, as a share of the displacement, at which neighbours one step apart keep a gap, at every step
between neutral and moved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_batch import joints_at_contacts
from hexapod_control.core.kinematics.leg_clearance import LegNeighbours
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Robot
from hexapod_control.core.workspace.stance_regions import nominal_stance
from hexapod_control.core.workspace.strides.foot_paths import Points
from hexapod_control.core.workspace.strides.steady_cycle import SteadyCycle
from hexapod_control.core.workspace.strides.stride_regions import HEADINGS, LegStrides, moved_points
from hexapod_control.core.workspace.swing_limits import STRIDE_SHARE

MIN_GAP = 0.005  # [m] between neighbouring legs: at less than 3 mm the tick limiter stops the walk
MAX_KNEE_OVERHANG = 0.02  # [m] by which a knee may be horizontally farther from the hip than its foot
LEAD_SHARES = (1.0, 0.4, 0.3, 0.2)  # leads that are tried, as shares of the displacement; the last one if all fail


def max_lead(robot: Robot, gait: Gait, strides: Sequence[LegStrides]) -> float:
    """Maximum lead of a leg over its neighbours, as a share of its displacement; infinite if legs never collide.

    It is also infinite if knees overhang the feet: then a leg seen from above is not a line from hip to foot, which the
    gaps are computed for.
    """
    if not strides or _knee_overhang(robot) > MAX_KNEE_OVERHANG:
        return math.inf
    lead = next((share for share in LEAD_SHARES if _keeps_apart(robot, gait, strides, share)), LEAD_SHARES[-1])
    return lead if lead < 1.0 else math.inf


def _knee_overhang(robot: Robot) -> float:
    """By how much a knee is farther from the hip than its foot in the neutral stance [m], maximum of all legs."""
    overhang = -math.inf
    for leg in robot.legs:
        contact = np.array(leg.foothold[0]), np.array(leg.foothold[1]), np.array(0.0)
        femur = joints_at_contacts(leg, robot.foot_radius, robot.walk.height, contact).joints[1].item()
        knee = leg.coxa.length + leg.femur.length * math.cos(femur)
        overhang = max(overhang, knee - math.dist(leg.foothold, leg.hip[:2]))
    return overhang


def _keeps_apart(robot: Robot, gait: Gait, strides: Sequence[LegStrides], lead: float) -> bool:
    """True if neighbours keep MIN_GAP along all headings if one leads by a share (0 to 1) of the displacement."""
    hips = np.array([complex(*leg.hip[:2]) for leg in robot.legs])
    arms = np.array([complex(*leg.foothold) for leg in robot.legs]) - hips
    neutral = np.array(nominal_stance(robot).radii)
    ahead = np.arange(lead, 1.0 + 1e-9, lead)[:, None]
    every_second: NDArray[np.bool_] = np.zeros(len(hips), dtype=bool)
    every_second[[first for first, _ in LegNeighbours.of(robot).pairs][::2]] = True
    for heading in range(HEADINGS):
        outward, angle = np.array([leg.offsets[heading] for leg in strides]).T
        radii = np.array([leg.radii[heading] for leg in strides])

        def centers(shares: Array, outward: Array = outward, angle: Array = angle) -> Points:
            return hips + moved_points(arms, shares * outward, shares * angle)

        first, second = centers(ahead), centers(ahead - lead)
        mixed = np.concatenate((np.where(every_second, first, second), np.where(every_second, second, first)))
        # Between neutral and moved regions radii are interpolated, and the smallest region limits the stride.
        radius = (neutral + ahead * (radii - neutral)).min(axis=1, keepdims=True)
        travels = np.tile(2.0 * STRIDE_SHARE * radius / gait.stance, (2, 1))
        direction = math.pi * heading / HEADINGS
        axis = Twist(math.cos(direction), math.sin(direction), 0.0)
        if not all(_apart(SteadyCycle(robot, gait, twist), travels, mixed) for twist in (axis, axis.scaled(-1.0))):
            return False
    return True


def _apart(cycle: SteadyCycle, travels: Array, centers: Points) -> bool:
    """True if neighbours keep MIN_GAP for centers (N, legs) [m] and travels per swing time (N, 1) [m]."""
    crossing = np.flatnonzero(cycle.horizontal_gaps(travels, centers) < 0.0)
    return all(cycle.limits(float(travels[k, 0]), centers[k], MIN_GAP).gap >= MIN_GAP for k in crossing)
