# SPDX-License-Identifier: Apache-2.0
"""Stairs, gaps, stones and edges have the size that was asked for, by default one that fits the robot."""

import itertools
import math

import numpy as np
import pytest
from support.drives import robot_and_urdf

from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.terrain import WAY_START_M
from hexapod_control.sim.world_settings import WorldSettings

STEP_M = 0.002  # between two places of a profile


@pytest.fixture(scope="module", params=["phantomx", "article", "heavy"])
def described(request):
    return robot_and_urdf(request.param)


def profile(described, length=9.0, **settings):
    """Heights along x from the origin, through the middle of a way that is straight ahead."""
    simulation = Simulation(*described, WorldSettings(way_yaw_deg=0.0, **settings))
    return np.array([simulation.ground_height(x, 0.013) for x in np.arange(0.0, length, STEP_M)])


def levels(heights):
    """The heights of the profile one after the other, each with its length [m]."""
    runs = itertools.groupby(heights.round(6))
    return [(float(height), STEP_M * len(list(run))) for height, run in runs]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_stairs_begin_ahead_of_the_robot_and_fit_its_legs(described, sign):
    reach = max(leg.reach for leg in described[0].legs)
    rise = sign * 0.25 * reach
    steps = levels(profile(described, world="stairs", stair_rise=0.0 if sign > 0.0 else rise))
    up_and_down = [k * rise for k in (0, 1, 2, 3, 4, 5, 4, 3, 2, 1, 0)]
    assert [height for height, _ in steps[: len(up_and_down)]] == pytest.approx(up_and_down, abs=1e-6)
    assert steps[0][1] == pytest.approx(WAY_START_M, abs=2 * STEP_M)
    for _, tread in steps[1:5] + steps[6:10]:
        assert tread == pytest.approx(1.5 * reach, abs=2 * STEP_M)


def test_stairs_of_a_house_are_built_as_asked(described):
    steps = levels(profile(described, world="stairs", stair_rise=0.18, stair_tread=0.28, stair_count=3))
    assert [height for height, _ in steps[:4]] == pytest.approx([0.0, 0.18, 0.36, 0.54])
    assert steps[1][1] == pytest.approx(0.28, abs=2 * STEP_M)


def test_gaps_fit_the_legs_and_lie_where_the_seed_says(described):
    reach = max(leg.reach for leg in described[0].legs)
    ground = [levels(profile(described, length=5.0, world="gaps", seed=seed)) for seed in (1, 1, 2)]
    assert ground[0] == ground[1] != ground[2]
    gaps = [(height, width) for height, width in ground[0] if height][:5]
    for height, width in gaps:
        assert height == pytest.approx(-1.25 * reach, abs=1e-6)
        assert width == pytest.approx(0.3 * reach, abs=2 * STEP_M)


def test_stones_stand_apart_above_a_low_floor(described):
    reach = max(leg.reach for leg in described[0].legs)
    simulation = Simulation(*described, WorldSettings(world="stones", way_yaw_deg=0.0))
    along = WAY_START_M + 0.6 * reach * np.linspace(1.0, 10.0, 60)
    across = 0.6 * reach * np.linspace(-2.0, 2.0, 60)
    heights = np.array([simulation.ground_height(x, y) for x in along for y in across])
    stone = np.isclose(heights, 0.0, atol=1e-6)
    assert heights[~stone] == pytest.approx(-1.25 * reach, abs=1e-6)
    assert stone.mean() == pytest.approx((0.4 / 0.6) ** 2, abs=0.05)


def test_a_table_ends_in_every_direction(described):
    simulation = Simulation(*described, WorldSettings(world="table", seed=5, drop=0.25))
    for heading in np.linspace(0.0, math.tau, 12, endpoint=False):
        ray = [simulation.ground_height(r * math.cos(heading), r * math.sin(heading)) for r in (0.4, 2.0)]
        assert ray == pytest.approx([0.0, -0.25], abs=1e-6)


def test_a_course_has_rubble_then_stairs_then_a_ledge(described):
    heights = profile(described, length=12.0, world="course", block_height=0.03)
    top = 5 * 0.25 * max(leg.reach for leg in described[0].legs)
    rubble = heights[int(WAY_START_M / STEP_M) + 1 : int((WAY_START_M + 1.5) / STEP_M) - 1]
    assert 0.02 < np.abs(rubble).max() <= 0.03 + 1e-6
    assert heights.max() == pytest.approx(top)
    assert heights[-1] == pytest.approx(heights.min()) and heights[-1] < -0.1


def test_posts_are_obstacles_and_rays_from_above_pass_the_ceiling(described):
    robot, _ = described
    simulation = Simulation(*described, WorldSettings(world="posts", way_yaw_deg=0.0, obstacle_count=2))
    model = simulation.model
    posts = [name for index in range(model.ngeom) if (name := model.geom(index).name).startswith("obstacle_post")]
    assert len(posts) == 2
    ceiling = model.geom("obstacle_ceiling")
    assert ceiling.pos[2] - ceiling.size[2] == pytest.approx(robot.walk.height + robot.body.top + 0.02)
    assert simulation.ground_height(*ceiling.pos[:2]) == pytest.approx(0.0, abs=1e-6)
