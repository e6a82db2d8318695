# SPDX-License-Identifier: Apache-2.0
"""The terrain of a world as markers: what is drawn stands where the simulation has it."""

import mujoco
import numpy as np
import pytest
from visualization_msgs.msg import Marker

from hexapod_control.nodes.mujoco_sim.simulation_output import COLUMN_HEIGHT_M, COLUMN_M, WORLD_FRAME, terrain_markers
from hexapod_control.sim.terrain import GROUND_GROUP

WORLD = """
<mujoco>
  <asset><hfield name="hills" nrow="3" ncol="5" size="0.2 0.1 0.5 0.1" elevation="{elevation}"/></asset>
  <worldbody>
    <geom type="plane" size="5 5 0.1" group="{group}"/>
    <geom type="box" size="0.1 0.2 0.3" pos="1 2 0.3" group="{group}"/>
    <geom type="box" size="0.1 0.2 0.3" pos="-1 2 0.3" group="{group}"/>
    <geom type="box" size="0.5 0.5 0.01" pos="3 0 0.1" euler="0 -20 0" group="{group}"/>
    <geom type="cylinder" size="0.2 0.4" pos="0 -2 0.4" group="{group}"/>
    <geom type="hfield" hfield="hills" pos="4 5 0.05" group="{group}"/>
    <geom type="box" size="0.1 0.1 0.1" pos="9 9 9" group="{other}"/>
  </worldbody>
</mujoco>
"""
ELEVATION = np.linspace(0.0, 1.0, 15)


@pytest.fixture
def markers():
    names = {"group": GROUND_GROUP, "other": GROUND_GROUP + 1, "elevation": " ".join(map(str, ELEVATION))}
    return terrain_markers(mujoco.MjModel.from_xml_string(WORLD.format(**names))).markers


def place(point):
    return point.x, point.y, point.z


def size(marker):
    return marker.scale.x, marker.scale.y, marker.scale.z


def test_markers_have_ids_of_their_own_and_the_frame_of_the_world(markers):
    assert [marker.id for marker in markers] == list(range(len(markers)))
    frames = {(marker.ns, marker.action, marker.header.frame_id) for marker in markers}
    assert frames == {("terrain", Marker.ADD, WORLD_FRAME)}
    assert (COLUMN_M, COLUMN_HEIGHT_M) == (0.1, 0.3)
    for marker in markers:
        shade = (marker.color.r, marker.color.g, marker.color.b, marker.color.a)
        assert shade == pytest.approx((0.62, 0.66, 0.70, 1.0))


def test_equal_upright_boxes_are_one_list(markers):
    (boxes,) = [each for each in markers if each.type == Marker.CUBE_LIST and len(each.points) == 2]
    assert size(boxes) == pytest.approx((0.2, 0.4, 0.6))
    assert np.array([place(point) for point in boxes.points]) == pytest.approx(
        np.array([(1.0, 2.0, 0.3), (-1.0, 2.0, 0.3)])
    )
    assert boxes.pose.orientation.w == 1.0


def test_a_slope_and_a_pillar_keep_their_size_place_and_rotation(markers):
    (slope,) = [each for each in markers if each.type == Marker.CUBE]
    assert size(slope) == pytest.approx((1.0, 1.0, 0.02)) and place(slope.pose.position) == pytest.approx(
        (3.0, 0.0, 0.1)
    )
    turn = slope.pose.orientation
    assert (turn.w, turn.x, turn.y, turn.z) == pytest.approx(
        (np.cos(np.radians(10.0)), 0.0, -np.sin(np.radians(10.0)), 0.0)
    )
    (pillar,) = [each for each in markers if each.type == Marker.CYLINDER]
    assert size(pillar) == pytest.approx((0.4, 0.4, 0.8))
    assert place(pillar.pose.position) == pytest.approx((0.0, -2.0, 0.4))


def test_a_height_field_is_columns_whose_tops_are_its_heights(markers):
    (columns,) = [each for each in markers if each.type == Marker.CUBE_LIST and len(each.points) != 2]
    assert size(columns) == pytest.approx((COLUMN_M, COLUMN_M, COLUMN_HEIGHT_M))
    tops = {(round(p.x, 6), round(p.y, 6)): p.z + COLUMN_HEIGHT_M / 2 for p in columns.points}
    assert (3.8, 4.9) in tops and len(tops) == len(columns.points)
    heights = 0.05 + 0.5 * ELEVATION.reshape(3, 5)[::-1]  # MuJoCo's files begin with the greatest y
    for (x, y), top in tops.items():
        column, row = round((x - 3.8) / 0.1), round((y - 4.9) / 0.1)
        assert (x, y) == pytest.approx((3.8 + 0.1 * column, 4.9 + 0.1 * row), abs=1e-5)
        assert top == pytest.approx(heights[row, column], abs=1e-6)
    assert {round(x, 3) for x, _ in tops} == {3.8, 3.9, 4.0, 4.1, 4.2}
    assert {round(y, 3) for _, y in tops} == {4.9, 5.0, 5.1}
