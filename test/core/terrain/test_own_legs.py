# SPDX-License-Identifier: Apache-2.0
"""What a camera sees of the robot's own legs, and close past them, is not ground."""

import numpy as np
import pytest

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.sensing.cameras import USUAL_CAMERAS, optical_rotation
from hexapod_control.core.terrain.depth_image import depth_points
from hexapod_control.core.terrain.height_map import HeightMap
from hexapod_control.core.terrain.own_legs import MARGIN, on_robot
from hexapod_control.sim.depth_sensors import DepthCamera
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import standing_pose
from hexapod_control.sim.world_settings import WorldSettings

pytestmark = pytest.mark.physics

ROBOTS = ("phantomx", "article_offset")  # the other one has lateral and vertical offsets
RAISED = np.array((0.4, 0.5, 0.3))  # [rad] greatest change of the joints of a leg in the air


@pytest.fixture(scope="module", params=ROBOTS)
def simulation(request):
    file = load(request.param)
    return Simulation(file.robot, urdf(file), WorldSettings(world="flat"))


@pytest.mark.parametrize("place", USUAL_CAMERAS)
def test_legs_that_swing_in_view_of_a_camera_leave_nothing_in_the_map(place, simulation):
    robot = simulation.robot
    camera = USUAL_CAMERAS[place](robot)
    lens = np.array(camera.position)
    sensor = DepthCamera(camera, seed=1)
    random = np.random.default_rng(1)
    terrain = HeightMap()
    seen = kept = 0
    for k in range(10):
        swing = random.uniform((-1.0, 0.0, -1.0), 1.0, (len(robot.legs), 3)) * RAISED
        joints = standing_pose(robot) + swing * (np.arange(len(robot.legs)) % 2 == k % 2)[:, np.newaxis]
        simulation.reset(joints, robot.walk.height)
        frame = sensor.frame(simulation)
        points = depth_points(frame.depth, camera.focal, camera.center) @ optical_rotation(camera).T + lens
        own = on_robot(robot, simulation.joints, points, lens)
        seen, kept = seen + len(points), kept + np.count_nonzero(~own)
        base = np.array((0.05 * k, 0.0, robot.walk.height))  # it walks, so that what is wrong is not seen anew
        terrain.move(base[0], base[1])
        terrain.insert(points[~own] + base, lens + base, 0.1 * k)
    ground = terrain.grid().ground
    assert np.nanmax(np.abs(ground)) < 0.03
    assert kept > 0.6 * seen


def test_a_lens_beside_a_leg_sees_the_ground_away_from_it():
    robot = load("phantomx").robot
    joints = standing_pose(robot)
    x, y, z = robot.legs[0].hip
    lens = np.array((x + robot.legs[0].coxa.radius + 0.5 * MARGIN, y, z + 0.02))
    ground = np.array([(x + 0.25 + 0.05 * k, 0.0, -robot.walk.height) for k in range(8)])
    assert not on_robot(robot, joints, ground, lens).any()
