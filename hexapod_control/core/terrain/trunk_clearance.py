# SPDX-License-Identifier: Apache-2.0
"""How much higher the trunk has to be to pass over the ground ahead.

The plane of the feet follows the ground when feet stand on it. Before a high step the trunk is still at its height
above the ground in front of it, with its underside below the edge, and front legs have to fold to step up. So it rises
before its feet do: over all points of trunk and hips, now and on their way in the next gait cycle,

    raise = max(ground + CLEARANCE - underside of the trunk), from 0 to MOST_RAISED of the walk height
"""

from __future__ import annotations

import math

import numpy as np

from hexapod_control.core.kinematics.se2 import Twist, exp
from hexapod_control.core.robot import Robot
from hexapod_control.core.terrain.foothold_choice import GroundView

CLEARANCE = 0.01  # [m] between the trunk and the ground
MOST_RAISED = 0.3  # of the walk height
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
    points = [*corners, *(leg.hip[:2] for leg in robot.legs)]
    way = [exp(twist, share * cycle) for share in WAY_SHARES]
    x, y, _ = np.array([view.to_odom(*pose.apply(*point), 0.0) for pose in way for point in points]).T
    heights = view.grid.heights(x, y)
    known = np.isfinite(heights)
    if not known.any():
        return 0.0
    highest = float(np.max(view.to_footprint(x[known], y[known], heights[known])[2]))
    wanted = math.ceil((highest + CLEARANCE - underside) / RAISE_STEP) * RAISE_STEP
    return min(max(wanted, 0.0), math.floor(MOST_RAISED * robot.walk.height / RAISE_STEP) * RAISE_STEP)
