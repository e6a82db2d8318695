# SPDX-License-Identifier: Apache-2.0
"""The trunk rises before a step that is higher than its underside, and no more than that."""

import math

import numpy as np
import pytest
from support.drives import robot as robot_named

from hexapod_control.config.robots.robot_file import known_robots
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.terrain.ground_view import GroundView
from hexapod_control.core.terrain.height_map import TerrainGrid
from hexapod_control.core.terrain.trunk_clearance import CLEARANCE, MOST_CLEARED, RAISE_STEP, raise_over

LEVEL = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
CELL, HALF = 0.015, 1.2  # [m]
CYCLE = 2.0  # [s]


def view(height):
    """The ground with a height [m] that is a function of x and y [m]."""
    axis = np.arange(-HALF, HALF, CELL)
    heights = np.broadcast_to(height(*np.meshgrid(axis, axis)), (len(axis), len(axis))).astype(float)
    return GroundView(TerrainGrid((-HALF, -HALF), CELL, heights, heights, heights, 0.0), LEVEL, (0.0, 0.0, 0.0))


def front(robot):
    """How far [m] the trunk, a hip or a foothold reaches ahead."""
    ahead = [x for x, *_ in (*(leg.hip for leg in robot.legs), *robot.footholds)]
    return max(robot.body.center[0] + 0.5 * robot.body.size[0], *ahead)


def most_cleared(robot):
    """The greatest height [m] to which its underside rises."""
    return MOST_CLEARED * max(leg.reach for leg in robot.legs)


def underside(robot):
    """Its height [m] in the neutral stance."""
    return robot.walk.height + robot.body.center[2] - 0.5 * robot.body.size[2]


@pytest.mark.parametrize("name", known_robots())
def test_ground_that_the_trunk_clears_does_not_raise_it(name):
    robot = robot_named(name)
    low = view(lambda x, y: np.full_like(x, underside(robot) - 1.01 * CLEARANCE))
    assert raise_over(low, robot, robot.walk.height, Twist(0.1, 0.0, 0.0), CYCLE) == 0.0


@pytest.mark.parametrize("name", known_robots())
@pytest.mark.parametrize("more", [0.2, 0.9])
def test_a_step_ahead_raises_it_until_it_clears_the_step(name, more):
    robot = robot_named(name)
    speed = 0.05
    edge = front(robot) + 0.5 * speed * CYCLE
    step = underside(robot) - CLEARANCE + more * (most_cleared(robot) - underside(robot))
    ahead = view(lambda x, y: np.where(x < edge, 0.0, step))
    raised = raise_over(ahead, robot, robot.walk.height, Twist(speed, 0.0, 0.0), CYCLE)
    wanted = step + CLEARANCE - underside(robot)
    assert wanted - RAISE_STEP <= raised < wanted + RAISE_STEP
    wall = view(lambda x, y: np.where(x < edge, 0.0, 2.0 * most_cleared(robot)))
    most = raise_over(wall, robot, robot.walk.height, Twist(speed, 0.0, 0.0), CYCLE)
    assert -1e-9 <= underside(robot) + most - most_cleared(robot) <= RAISE_STEP + 1e-9
    # The robot that walks away from it needs none, nor one that has not seen it.
    assert raise_over(ahead, robot, robot.walk.height, Twist(-speed, 0.0, 0.0), CYCLE) == 0.0
    unseen = view(lambda x, y: np.full_like(x, math.nan))
    assert raise_over(unseen, robot, robot.walk.height, Twist(speed, 0.0, 0.0), CYCLE) == 0.0
