# SPDX-License-Identifier: Apache-2.0
"""The mounting of a depth camera from the floor that it sees, in physics, with a mounting that the file does not know.

Laws: with a robot without errors the mounting is found; with wrong joint zeros the floor of the camera is that of the
feet; what is no floor changes little, and where there is too little floor the camera stays as it was.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from sensing_lockstep import SensingLockstep

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.calibration.camera_mounting import BODY_POSES, FloorView, MountingError, find_mounting
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.sensing.cameras import USUAL_CAMERAS, optical_rotation
from hexapod_control.core.sensing.sensor_inputs import Adaptation
from hexapod_control.core.terrain.depth_image import depth_points
from hexapod_control.sim.depth_sensors import DepthCamera
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.world_settings import WorldSettings

pytestmark = pytest.mark.physics

SETTLED_TICKS = 150
IMAGES = 5
SHIFT = 0.006  # [m] by which a position is measured wrong by hand ...
TURN = np.radians((5.0, 5.0, 2.0))  # [rad] ... and angles


def views_of(name, place, seed, **world):
    """The robot, its camera as measured by hand and as it is, and what it sees in all body poses."""
    file = load(name)
    robot = file.robot
    random = np.random.default_rng(seed)
    hand = USUAL_CAMERAS[place](robot)
    true = replace(
        hand,
        position=tuple(hand.position + random.uniform(-SHIFT, SHIFT, 3)),
        rpy=tuple(hand.rpy + random.uniform(-1.0, 1.0, 3) * TURN),
    )
    settings = WorldSettings(reality_seed=seed, seed=seed, **world).fitted(robot)
    simulation = Simulation(robot, urdf(file), settings)
    simulation.reset(sitting_pose(robot))
    run = SensingLockstep(simulation, Planner(robot), Adaptation(), seed)
    run.stand()
    sensor = DepthCamera(true, seed=seed)
    views = []
    for pose in BODY_POSES:
        run.planner.request_pose(pose)
        for _ in range(SETTLED_TICKS):
            run.tick()
        images = [sensor.frame(simulation).depth for _ in range(IMAGES)]
        points = np.concatenate([depth_points(image, true.focal, true.center) for image in images])
        views.append(FloorView(simulation.reading().joints.copy(), points))
    return robot, hand, true, views


def angle_between(one, other):
    """Degrees."""
    cosine = 0.5 * (np.trace(optical_rotation(one).T @ optical_rotation(other)) - 1.0)
    return math.degrees(math.acos(min(cosine, 1.0)))


def floor_error(camera, true, height):
    """By how much [m] the floor ahead comes out too high or low at most, for a base_link at a height [m] over it."""
    floor = np.array([(0.5, 0.0, -height), (0.4, 0.2, -height), (0.4, -0.2, -height)])
    seen = (floor - true.position) @ optical_rotation(true) @ optical_rotation(camera).T + camera.position
    return np.abs(seen[:, 2] + height).max()


@pytest.mark.parametrize("place", USUAL_CAMERAS)
@pytest.mark.parametrize("name", ["phantomx", "octopod"])
def test_the_mounting_is_found_although_it_was_measured_wrong(name, place):
    robot, hand, true, views = views_of(name, place, seed=4, world="flat")
    found = find_mounting(robot, hand, views)
    assert angle_between(hand, true) > 2.0
    assert angle_between(found.camera, true) < 0.1 * angle_between(hand, true)
    height = robot.walk.height
    assert floor_error(found.camera, true, height) < 0.1 * floor_error(hand, true, height)
    assert abs(found.camera.position[2] - true.position[2]) < 0.001


def test_things_on_the_floor_change_little():
    robot, hand, true, views = views_of("phantomx", "mast", seed=1, world="stairs")
    found = find_mounting(robot, hand, views).camera
    assert angle_between(found, true) < 0.25 * angle_between(hand, true)


def test_with_wrong_joint_zeros_the_floor_of_the_camera_is_that_of_the_feet():
    """The joints tell a plane of the feet that is tilted; the map needs both to agree."""
    robot, hand, _, views = views_of("phantomx", "mast", seed=3, world="flat", reality="typical")
    found = find_mounting(robot, hand, views)
    assert found.floor_deviation < 0.004
    again = find_mounting(robot, found.camera, views)
    assert angle_between(again.camera, found.camera) < 0.5
    assert max(found.angle_deviation) < math.radians(1.0)


def test_uneven_ground_under_the_feet_or_before_the_camera_is_refused():
    robot, hand, _, views = views_of("phantomx", "mast", seed=5, world="blocks", block_height=0.03)
    with pytest.raises(MountingError, match=r"uneven|plane"):
        find_mounting(robot, hand, views)


def test_a_wall_is_no_floor():
    robot, hand, _, views = views_of("phantomx", "mast", seed=2, world="flat")
    wall = np.random.default_rng(1).uniform((-0.3, -0.3, 0.4), (0.3, 0.3, 0.4), (3000, 3))
    with pytest.raises(MountingError, match=r"away|only"):
        find_mounting(robot, hand, [replace(view, points=wall) for view in views])


def test_a_camera_that_sees_nothing_is_refused():
    robot, hand, _, views = views_of("phantomx", "mast", seed=2, world="flat")
    with pytest.raises(MountingError, match="hardly anything"):
        find_mounting(robot, hand, [replace(view, points=np.empty((0, 3))) for view in views])
