# SPDX-License-Identifier: Apache-2.0
"""The map of the ground reaches the planner with the pose of the body, while it is wanted and its frame is known."""

import math

import numpy as np
import pytest
from support.drives import DT, standing_planner
from support.kits.plain_node import PlainNode

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.sensing.mishap_watch import MishapKind
from hexapod_control.core.terrain.height_map import TerrainGrid
from hexapod_control.core.walking.foothold_plan import Sight
from hexapod_control.nodes.gait_planner.terrain_input import TerrainInput
from hexapod_control.ros import messages
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.row_messages import MessageError
from hexapod_control.ros.terrain_messages import GRID_MAP, grid_map_message, terrain_map_message

STAMP = messages.time(1)
EDGE = 0.4  # [m] ahead of the robot, where the ground ends


with_grid_map = pytest.mark.skipif(GRID_MAP is None, reason="the optional package grid_map_msgs is not installed")


@pytest.fixture
def scene(request):
    node, planner = PlainNode(), standing_planner("phantomx")
    terrain = TerrainInput(node, planner, "base_link", getattr(request, "param", ""))
    terrain.use(True)
    return node, planner, terrain


def table(time, yaw=0.0, convert=terrain_map_message):
    """A map of a table that ends EDGE ahead of a robot at the origin with this yaw [rad]."""
    axis = np.arange(-1.0, 1.0, 0.02)
    x, y = np.meshgrid(axis, axis)
    heights = np.where(x * math.cos(yaw) + y * math.sin(yaw) < EDGE, 0.0, -0.25)
    unseen = np.full_like(heights, math.nan)
    return convert(TerrainGrid((-1.0, -1.0), 0.02, heights, np.full_like(heights, 0.002), unseen, time), "odom")


def frames(height, yaw=0.0, z=0.0):
    """The transforms from odom to base_link, which is at a height [m] over base_footprint."""
    base = messages.transform_message("base_footprint", "base_link", BodyPose(0.0, 0.0, height, 0.0, 0.0, 0.0), STAMP)
    foot = messages.transform_message("odom", "base_footprint", BodyPose(0.0, 0.0, z, 0.0, 0.0, yaw), STAMP)
    return TFMessage(transforms=[foot, base])


@pytest.mark.parametrize(
    ("scene", "topic", "yaw"),
    [
        ("", "terrain_map", 0.0),
        ("", "terrain_map", 2.0),
        pytest.param("elevation", "elevation", 2.0, marks=with_grid_map),
    ],
    indirect=["scene"],
)
def test_a_robot_stops_before_the_edge_that_the_map_shows_in_the_frame_of_its_odometry(scene, topic, yaw):
    node, planner, terrain = scene
    convert = grid_map_message if topic == "elevation" else terrain_map_message
    node.callbacks[topic](table(0.0, yaw, convert))
    node.callbacks["/tf"](frames(planner.view.walk.body.height, yaw))
    way = 0.0
    for k in range(1, round(10.0 / DT)):
        if k % 5 == 0:
            node.callbacks[topic](table(DT * k, yaw, convert))
        # The robot walks on: in odom it is where its feet have carried it, at a height that has drifted.
        foot = BodyPose(way * math.cos(yaw), way * math.sin(yaw), 0.03, 0.0, 0.0, yaw)
        node.callbacks["/tf"](TFMessage(transforms=[messages.transform_message("odom", "base_footprint", foot, STAMP)]))
        planner.command(Twist(0.06, 0.0, 0.0))
        terrain.show()
        way += planner.step(DT).twist.vx * DT
    assert planner.view.mishap.kind is MishapKind.NO_FOOTHOLD
    assert "drop of 250 mm" in planner.view.mishap.text
    assert 0.0 < way < EDGE


def test_a_map_whose_frame_is_unknown_is_reported_and_not_used_and_one_that_is_switched_off_is_forgotten(scene):
    node, planner, terrain = scene
    node.callbacks["terrain_map"](table(1.0))
    terrain.show()
    terrain.watch()
    assert planner.view.sight is Sight.NONE
    assert "no transform leads from base_link to odom" in node.report_of("terrain frame")[1]
    node.callbacks["/tf"](frames(0.1))
    terrain.show()
    assert planner.view.sight is Sight.USED and terrain.status()["terrain_map"] == "used"
    assert terrain.speed_share < 1.0  # as the edge is near
    terrain.use(False)
    assert terrain.speed_share == 1.0
    assert planner.view.sight is Sight.NONE and terrain.status()["terrain_map"] == "off"
    assert not node.callbacks


def test_a_map_that_is_no_grid_and_a_transform_that_is_not_finite_are_refused(scene):
    node, _, _ = scene
    node.callbacks["terrain_map"](table(1.0))
    broken = table(2.0)
    broken.width = 1
    with pytest.raises(MessageError, match="send a grid of"):
        node.callbacks["terrain_map"](broken)
    with pytest.raises(MessageError, match="is not finite; send finite numbers"):
        node.callbacks["/tf"](frames(math.nan))
