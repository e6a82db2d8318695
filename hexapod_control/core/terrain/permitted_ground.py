# SPDX-License-Identifier: Apache-2.0
"""Whether a foot may be put down at one given place: for motions that do not choose their footholds.

A walk looks for the best place near a nominal one, see `foothold_choice`. A foot that returns to its neutral foothold,
is guided by hand or moves with a whole-body move goes to one place, on the plane of the feet. That place is forbidden
if the map shows ground under the foot or within EDGE_MARGIN around it that is more than EDGE_DROP above or below this
plane, or of which only a bound is known. Smaller differences are no edge: feet stand on them without a map, too.
"""

from __future__ import annotations

import math

import numpy as np

from hexapod_control.core.robot import Robot, Vector
from hexapod_control.core.terrain.cell_cover import EDGE_DROP
from hexapod_control.core.terrain.foothold_choice import EDGE_MARGIN, UNSURE, Missing, NoFoothold
from hexapod_control.core.terrain.ground_view import GroundView


def forbidden(view: GroundView, robot: Robot, at: Vector, *, unknown: bool) -> Missing | None:
    """Why a foot may not be put down at (x, y, z) [m] in base_footprint; None: it may.

    `unknown` is whether ground about which nothing is known is forbidden, too.
    """
    x, y, z = view.to_odom(*at)
    reach = robot.foot_radius + EDGE_MARGIN
    heights, deviations, first_x, first_y, cell = view.window((x, y), reach)
    steps = cell * np.arange(len(heights))
    away = np.add.outer((first_y + steps - y) ** 2, (first_x + steps - x) ** 2)
    ground = heights[away <= max(reach, cell) ** 2] - z
    known = np.isfinite(ground)
    farthest = float(ground[known][np.abs(ground[known]).argmax()]) if known.any() else math.nan
    if abs(farthest) > EDGE_DROP:  # False with NaN
        return Missing(NoFoothold.UNEVEN, -farthest)
    middle = len(heights) // 2
    if deviations[middle, middle] > UNSURE or (unknown and not known.all()):
        return Missing(NoFoothold.UNKNOWN, math.nan)
    return None
