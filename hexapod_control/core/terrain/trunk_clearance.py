# SPDX-License-Identifier: Apache-2.0
"""How much higher the trunk has to be to pass over the ground ahead.

The plane of the feet follows the ground when feet stand on it. Before a high step the trunk is still at its height
above the ground in front of it, with its underside below the edge, and front legs have to fold to step up. So it rises
before its feet do: over all points of trunk, hips and footholds, now and on their way in the next gait cycle,

    raise = max(min(ground + CLEARANCE, MOST_CLEARED of femur and tibia) - underside of the trunk), at least 0

The legs do not climb what is higher. How far they let the trunk rise is decided by the body control.
"""

from __future__ import annotations

import math

import numpy as np

from hexapod_control.core.kinematics.se2 import Twist, exp
from hexapod_control.core.robot import Robot
from hexapod_control.core.terrain.foothold_choice import moved
from hexapod_control.core.terrain.ground_view import GroundView

CLEARANCE = 0.01  # [m] between the trunk and the ground
MOST_CLEARED = 0.5  # of femur and tibia: greatest height of the underside above the plane of the feet
RAISE_STEP = 0.01  # [m] a new pose is searched for reach: not for each millimetre
SIDES = (-0.5, 0.0, 0.5)  # of the sizes of the trunk: points of its outline
WAY_SHARES = (0.0, 0.5, 1.0)  # of the way in the next cycle, at which the ground under the trunk counts


def raise_over(view: GroundView, robot: Robot, height: float, twist: Twist, cycle: float) -> float:
    """Returns by how much [m] the trunk has to be raised to pass over the ground that is seen.

    `height` [m] is that of base_link above the plane of the feet, as requested; `twist` is that of the walk, `cycle`
    [s] is the duration of a gait cycle.
    """
    body = robot.body
    underside = height + body.center[2] - 0.5 * body.size[2]
    corners = [(body.center[0] + a * body.size[0], body.center[1] + b * body.size[1]) for a in SIDES for b in SIDES]
    points = np.array([*corners, *(leg.hip[:2] for leg in robot.legs), *robot.footholds]) @ (1.0, 1.0j)
    way = np.concatenate([moved(exp(twist, share * cycle), points) for share in WAY_SHARES])
    x, y, _ = view.to_odom(way.real, way.imag, np.zeros(len(way)))
    highest = float(np.fmax.reduce(view.to_footprint(x, y, view.grid.heights(x, y))[2], initial=-math.inf))
    cleared = min(highest + CLEARANCE, MOST_CLEARED * max(leg.reach for leg in robot.legs))
    return math.ceil(max(cleared - underside, 0.0) / RAISE_STEP) * RAISE_STEP
