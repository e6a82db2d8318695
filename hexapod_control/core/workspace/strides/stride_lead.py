"""How far the stride centre of a leg may be ahead of those of its neighbours while the centres move.

Legs keep apart when all stride about their neutral footholds, and when all stride about their moved centres. Where hips
are close together, a leg that already strides about its moved centre may touch a neighbour that still strides about its
neutral foothold. There the centres move in smaller steps: by the largest lead at which neighbours that are one step
apart keep apart, at every step between neutral and moved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_clearance import LegNeighbours
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Robot
from hexapod_control.core.workspace.strides.foot_paths import Points
from hexapod_control.core.workspace.strides.steady_cycle import SteadyCycle
from hexapod_control.core.workspace.strides.stride_regions import HEADINGS, LegStrides, moved_points
from hexapod_control.core.workspace.swing_limits import STRIDE_SHARE

ENOUGH = 0.005  # [m] between neighbouring legs: at less than 3 mm the walk stops
LEAD_SHARES = (1.0, 0.4, 0.3)  # of the displacement of the centres, tried in turn; the last one if all fail


def max_lead(robot: Robot, gait: Gait, strides: Sequence[LegStrides]) -> float:
    """The lead [m] by which the stride centre of a leg may be ahead of its neighbours'; infinite if legs never meet."""
    share = next((each for each in LEAD_SHARES if _keeps_apart(robot, gait, strides, each)), LEAD_SHARES[-1])
    hips = [leg.hip[:2] for leg in robot.legs]
    displacements = (
        math.hypot(*offset.displacement(hip, leg.foothold))
        for leg, hip, each in zip(robot.legs, hips, strides, strict=True)
        for offset in each.offsets
    )
    return share * max(displacements, default=0.0) if share < 1.0 else math.inf


def _keeps_apart(robot: Robot, gait: Gait, strides: Sequence[LegStrides], share: float) -> bool:
    """True if neighbours keep apart along all headings when one is ahead by a share (0 to 1) of the displacement."""
    if not strides:
        return True
    hips = np.array([complex(*leg.hip[:2]) for leg in robot.legs])
    arms = np.array([complex(*leg.foothold) for leg in robot.legs]) - hips
    ahead = np.arange(share, 1.0 + 1e-9, share)[:, None]
    every_second = np.zeros(len(hips), dtype=bool)
    every_second[[first for first, _ in LegNeighbours.of(robot).pairs][::2]] = True
    for heading in range(HEADINGS):
        offsets = np.array([each.offsets[heading] for each in strides])
        radius = min(each.radii[heading] for each in strides)

        def centres(shares: Array, offsets: Array = offsets) -> Points:
            return hips + moved_points(arms, shares * offsets[:, 0], shares * offsets[:, 1])

        first, second = centres(ahead), centres(ahead - share)
        mixed = np.concatenate((np.where(every_second, first, second), np.where(every_second, second, first)))
        angle = math.pi * heading / HEADINGS
        axis = Twist(math.cos(angle), math.sin(angle), 0.0)
        for cycle in (SteadyCycle(robot, gait, axis), SteadyCycle(robot, gait, axis.scaled(-1.0))):
            travel = 2.0 * STRIDE_SHARE * radius / gait.stance
            crossing = mixed[cycle.horizontal_gaps(travel, mixed) < 0.0]
            if any(cycle.limits(travel, each, ENOUGH).gap < ENOUGH for each in crossing):
                return False
    return True
