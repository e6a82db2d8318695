# SPDX-License-Identifier: Apache-2.0
"""The obstacle world and the lidar in it: ranges are those of the geometry; and a patrol there, in lock step."""

import math

import mujoco
import numpy as np
import pytest
from patrols import patrol, prepare_patrol
from support.drives import ROBOTS
from support.suite.soak import SOAK

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.sim.free_places import distance_to_obstacles
from hexapod_control.sim.lidar import Lidar, lidar_position
from hexapod_control.sim.simulation import CollisionCounter, Simulation
from hexapod_control.sim.terrain import OBSTACLE_HEIGHT_M, layout
from hexapod_control.sim.world_settings import LidarSettings, WorldSettings

pytestmark = pytest.mark.physics

WORLD = WorldSettings(world="obstacles", seed=3)
SEED_WITH_OBSTACLE_ON_THE_WAY = 5  # the straight line to the first goal meets an obstacle
EXACT = LidarSettings(scan_noise=0.0)


def placed(described, x, y, yaw, world=WORLD):
    simulation = Simulation(*described, world)
    simulation.data.qpos[:2] = x, y
    simulation.data.qpos[3:7] = math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)
    mujoco.mj_forward(simulation.model, simulation.data)
    return simulation


def to_box(x, y, angle, item):
    """Range from (x, y) [m] in a direction [rad] to an obstacle or the inside of a room; inf if it is not met."""
    c, s = math.cos(item.yaw), math.sin(item.yaw)
    ox, oy = c * (x - item.x) + s * (y - item.y), -s * (x - item.x) + c * (y - item.y)
    dx, dy = math.cos(angle - item.yaw), math.sin(angle - item.yaw)
    if len(item.size) == 1:
        along, rest = ox * dx + oy * dy, ox * ox + oy * oy - item.size[0] ** 2
        return -along - math.sqrt(along * along - rest) if along < 0.0 and along * along > rest else math.inf
    near, far = [], []
    for o, d, half in ((ox, dx, item.size[0]), (oy, dy, item.size[1])):
        a, b = (-half - o) / d, (half - o) / d
        near.append(min(a, b))
        far.append(max(a, b))
    return max(near) if 0.0 < max(near) < min(far) else math.inf


def to_wall(x, y, angle, half):
    ways = [(math.copysign(half, d) - o) / d for o, d in ((x, math.cos(angle)), (y, math.sin(angle))) if abs(d) > 1e-12]
    return min(ways)


@pytest.mark.parametrize("place", [(0.0, 0.0, 0.0), (0.3, -0.2, 1.0), (-0.5, 0.1, -2.5)])
def test_ranges_are_those_of_the_geometry(phantomx, place):
    lidar, (x, y, yaw) = Lidar(phantomx[0], EXACT), place
    found = lidar.ranges(placed(phantomx, x, y, yaw))
    items, half = layout(WORLD), WORLD.room_size / 2
    expected = [
        min(to_wall(x, y, angle + yaw, half), *(to_box(x, y, angle + yaw, item) for item in items))
        for angle in (lidar.angles + 1e-9).tolist()
    ]
    assert len(items) >= 4
    wrong = np.abs(found - np.array(expected)) > 1e-4
    assert wrong.sum() <= 4  # rays along an edge may take either side
    assert found.min() > 0.3


def test_noise_is_that_of_the_settings_and_the_same_for_a_seed(phantomx):
    simulation = placed(phantomx, 0.0, 0.0, 0.0)
    exact = Lidar(phantomx[0], EXACT).ranges(simulation)
    noisy = Lidar(phantomx[0], seed=1).ranges(simulation)
    assert np.std(noisy - exact) == pytest.approx(0.01, rel=0.15)
    assert abs(np.mean(noisy - exact)) < 0.002
    assert np.array_equal(noisy, Lidar(phantomx[0], seed=1).ranges(simulation))


def test_ranges_beyond_the_maximum_are_inf_and_below_the_minimum_minus_inf(phantomx):
    simulation = placed(phantomx, 0.0, 0.0, 0.0)
    exact = Lidar(phantomx[0], EXACT).ranges(simulation)
    short = Lidar(phantomx[0], LidarSettings(scan_noise=0.0, scan_range_max=2.6)).ranges(simulation)
    assert np.array_equal(np.isposinf(short), exact > 2.6)
    blind = Lidar(phantomx[0], LidarSettings(scan_noise=0.0, scan_range_min=1.0)).ranges(simulation)
    assert np.array_equal(np.isneginf(blind), exact < 1.0)
    flat = placed(phantomx, 0.0, 0.0, 0.0, WorldSettings())
    assert np.isposinf(Lidar(phantomx[0]).ranges(flat)).all()


@pytest.mark.parametrize("name", ROBOTS)
def test_the_lidar_measures_over_the_legs_of_a_standing_robot_and_below_the_tops_of_the_walls(name):
    robot_file = load(name)
    simulation = Simulation(robot_file.robot, urdf(robot_file), WorldSettings())
    assert np.isposinf(Lidar(robot_file.robot).ranges(simulation)).all()
    assert lidar_position(robot_file.robot)[2] + robot_file.robot.walk.height < OBSTACLE_HEIGHT_M


def test_the_same_seed_is_the_same_room_and_there_is_space_to_pass_and_to_start():
    for seed in range(40 if SOAK else 10):
        settings = WorldSettings(world="obstacles", seed=seed)
        items = layout(settings)
        assert items == layout(settings)
        assert len(items) >= 3
        for number, item in enumerate(items):
            assert math.hypot(item.x, item.y) - item.radius >= settings.obstacle_gap
            for other in items[:number]:
                gap = math.dist((item.x, item.y), (other.x, other.y)) - item.radius - other.radius
                assert gap >= settings.obstacle_gap
    assert layout(WorldSettings(seed=1)) != layout(WorldSettings(seed=2))


def test_collisions_with_obstacles_are_counted_once_each_and_feet_on_the_ground_are_none(phantomx):
    simulation, collisions = placed(phantomx, 0.0, 0.0, 0.0), CollisionCounter()
    collisions.update(simulation)
    assert collisions.count == 0
    item = layout(WORLD)[0]
    simulation.data.qpos[:2] = item.x, item.y
    mujoco.mj_forward(simulation.model, simulation.data)
    for _ in range(3):
        collisions.update(simulation)
    assert collisions.count >= 1
    met = collisions.count
    simulation.data.qpos[:2] = 0.0
    mujoco.mj_forward(simulation.model, simulation.data)
    collisions.update(simulation)
    assert collisions.count == met


def test_a_robot_in_the_air_touches_nothing(phantomx):
    simulation, collisions = placed(phantomx, 0.0, 0.0, 0.0), CollisionCounter()
    simulation.data.qpos[2] = 5.0
    mujoco.mj_forward(simulation.model, simulation.data)
    assert not len(simulation.data.contact.geom)
    collisions.update(simulation)
    assert collisions.count == 0


def test_goals_of_a_patrol_have_room_for_the_robot(phantomx):
    lockstep, pursuit = prepare_patrol(*phantomx, count=5, seed=3)
    for goal in pursuit.waypoints:
        assert distance_to_obstacles(lockstep.simulation, goal.x, goal.y) >= pursuit.settings.radius


def test_a_goal_behind_an_obstacle_is_reached_without_a_collision(phantomx):
    """A slice of `python bench/patrols.py`."""
    lockstep, pursuit = prepare_patrol(*phantomx, count=1, seed=SEED_WITH_OBSTACLE_ON_THE_WAY)
    done = patrol(lockstep, pursuit, seed=SEED_WITH_OBSTACLE_ON_THE_WAY)
    (arrival,) = done.arrivals
    assert arrival.position <= 0.1
    assert math.degrees(arrival.heading) <= 10.0
    assert done.collisions == 0
