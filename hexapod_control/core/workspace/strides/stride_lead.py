"""How far the stride centre of a leg may be ahead of those of its neighbours while the centres move.

Legs keep apart when all stride about the centres of one direction. Where hips are close together, a leg that already
strides about its moved centre may touch a neighbour that still strides about its neutral foothold. There the centres
move in smaller steps: by the largest lead at which neighbours that are one step apart keep apart, at every step between
neutral and moved.
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

ENOUGH = 0.005  # [m] between neighbouring legs: at less than 3 mm the walk stops
MAX_KNEE_OVERHANG = 0.02  # [m] horizontally, of a knee over its foot
LEAD_SHARES = (1.0, 0.4, 0.3, 0.2)  # of the displacement of the centres, tried in turn; the last one if all fail


def max_lead(robot: Robot, gait: Gait, strides: Sequence[LegStrides]) -> float:
    """The share of its displacement by which a leg may be ahead of its neighbours; infinite if legs never meet.

    Also infinite for legs whose knees are far outside of their feet: seen from above, these are no lines to their feet.
    """
    if not strides or _knee_overhang(robot) > MAX_KNEE_OVERHANG:
        return math.inf
    share = next((each for each in LEAD_SHARES if _keeps_apart(robot, gait, strides, each)), LEAD_SHARES[-1])
    return share if share < 1.0 else math.inf


def _knee_overhang(robot: Robot) -> float:
    """How much farther than its foot a knee is from the hip in the neutral stance [m], for the most bent leg."""
    most = -math.inf
    for leg in robot.legs:
        contact = np.array(leg.foothold[0]), np.array(leg.foothold[1]), np.array(0.0)
        femur = joints_at_contacts(leg, robot.foot_radius, robot.walk.height, contact).joints[1].item()
        knee = leg.coxa.length + leg.femur.length * math.cos(femur)
        most = max(most, knee - math.dist(leg.foothold, leg.hip[:2]))
    return most


def _keeps_apart(robot: Robot, gait: Gait, strides: Sequence[LegStrides], lead: float) -> bool:
    """True if neighbours keep apart along all headings when one is ahead by a share (0 to 1) of the displacement."""
    hips = np.array([complex(*leg.hip[:2]) for leg in robot.legs])
    arms = np.array([complex(*leg.foothold) for leg in robot.legs]) - hips
    neutral = np.array(nominal_stance(robot).radii)
    ahead = np.arange(lead, 1.0 + 1e-9, lead)[:, None]
    every_second: NDArray[np.bool_] = np.zeros(len(hips), dtype=bool)
    every_second[[first for first, _ in LegNeighbours.of(robot).pairs][::2]] = True
    for heading in range(HEADINGS):
        outward, angle = np.array([each.offsets[heading] for each in strides]).T
        radii = np.array([each.radii[heading] for each in strides])

        def centres(shares: Array, outward: Array = outward, angle: Array = angle) -> Points:
            return hips + moved_points(arms, shares * outward, shares * angle)

        first, second = centres(ahead), centres(ahead - lead)
        mixed = np.concatenate((np.where(every_second, first, second), np.where(every_second, second, first)))
        # Between neutral and moved regions radii are interpolated, and the smallest region limits the stride.
        radius = (neutral + ahead * (radii - neutral)).min(axis=1, keepdims=True)
        travels = np.tile(2.0 * STRIDE_SHARE * radius / gait.stance, (2, 1))
        direction = math.pi * heading / HEADINGS
        axis = Twist(math.cos(direction), math.sin(direction), 0.0)
        if not all(_apart(SteadyCycle(robot, gait, way), travels, mixed) for way in (axis, axis.scaled(-1.0))):
            return False
    return True


def _apart(cycle: SteadyCycle, travels: Array, centres: Points) -> bool:
    """True if neighbours keep ENOUGH for centres (N, legs) [m] and strides of these travels (N, 1) [m]."""
    crossing = np.flatnonzero(cycle.horizontal_gaps(travels, centres) < 0.0)
    return all(cycle.limits(float(travels[k, 0]), centres[k], ENOUGH).gap >= ENOUGH for k in crossing)
