# SPDX-License-Identifier: Apache-2.0
"""What an assistant is told of the ground: heights above that under the robot, by direction, and what is not seen."""

import math

import numpy as np
import pytest

from hexapod_control.clients.assistant import ground_view
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.terrain.height_map import TerrainGrid

AXIS = np.arange(-1.5, 1.51, 0.02)


def grid(height):
    """The map of a height (x, y) [m] in odom."""
    heights = height(*np.meshgrid(AXIS, AXIS))
    return TerrainGrid((AXIS[0], AXIS[0]), 0.02, heights, np.zeros_like(heights), np.full_like(heights, np.nan), 1.0)


@pytest.mark.parametrize("yaw", [0.0, 2.0])
def test_a_step_is_told_with_its_height_and_distance_in_the_direction_where_it_is(yaw):
    ahead = lambda x, y: x * math.cos(yaw) + y * math.sin(yaw)  # noqa: E731
    view = ground_view(grid(lambda x, y: np.where(ahead(x, y) > 0.5, 0.37, 0.30)), Pose(0.0, 0.0, yaw))
    assert view["ahead"]["highest_m"] == pytest.approx(0.07, abs=1e-3)
    assert view["ahead"]["highest_step_m"] == pytest.approx(0.07, abs=1e-3)
    assert view["ahead"]["step_in_m"] == pytest.approx(0.5, abs=0.05)
    assert view["ahead_left"]["step_in_m"] == pytest.approx(0.5 / math.cos(math.radians(30)), abs=0.06)
    assert view["left"]["highest_step_m"] in (0.0, pytest.approx(0.07, abs=1e-3))
    assert view["ahead"]["seen_share"] == 1.0


def test_what_is_not_seen_has_no_heights():
    view = ground_view(grid(lambda x, y: np.where(x > 0.1, np.nan, 0.0 * y)), Pose(0.0, 0.0, 0.0))
    assert view["ahead"] == {
        "seen_share": 0.0,
        "highest_m": None,
        "lowest_m": None,
        "highest_step_m": None,
        "step_in_m": None,
    }
