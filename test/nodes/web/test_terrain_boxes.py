# SPDX-License-Identifier: Apache-2.0
"""The terrain of the simulated world on the page: every solid marker is a box."""

import math

import pytest
from geometry_msgs.msg import Point
from visualization_msgs.msg import Marker, MarkerArray

from hexapod_control.nodes.web.robot_feed import MAX_BOXES, boxes


def marker(kind, size=(1.0, 2.0, 3.0), at=(0.1, 0.2, 0.3), yaw=0.0, action=Marker.ADD, points=()):
    made = Marker(type=kind, action=action)
    made.scale.x, made.scale.y, made.scale.z = size
    made.pose.position.x, made.pose.position.y, made.pose.position.z = at
    made.pose.orientation.w, made.pose.orientation.z = math.cos(yaw / 2.0), math.sin(yaw / 2.0)
    made.points = [Point(x=x, y=y, z=z) for x, y, z in points]
    return made


@pytest.mark.parametrize("kind", [Marker.CUBE, Marker.CYLINDER])
def test_a_solid_is_a_box_with_half_its_sizes_turned_with_it(kind):
    assert boxes(MarkerArray(markers=[marker(kind, yaw=0.5)])) == [[0.1, 0.2, 0.3, 0.5, 0.0, 0.5, 1.0, 1.5]]


def test_a_slope_has_its_pitch():
    slope = marker(Marker.CUBE)
    slope.pose.orientation.w, slope.pose.orientation.y = math.cos(0.1), math.sin(0.1)
    assert boxes(MarkerArray(markers=[slope]))[0][3:5] == [0.0, 0.2]


def test_a_list_of_cubes_is_a_box_at_every_point():
    points = [(1.0, 2.0, 3.0), (-0.123456, 0.0, 0.5)]
    found = boxes(MarkerArray(markers=[marker(Marker.CUBE_LIST, points=points)]))
    assert found == [[1.0, 2.0, 3.0, 0.0, 0.0, 0.5, 1.0, 1.5], [-0.1235, 0.0, 0.5, 0.0, 0.0, 0.5, 1.0, 1.5]]


def test_lines_texts_and_removed_markers_are_no_boxes():
    others = [marker(Marker.LINE_STRIP), marker(Marker.SPHERE), marker(Marker.CUBE, action=Marker.DELETE)]
    assert boxes(MarkerArray(markers=[*others, marker(Marker.CUBE)])) == boxes(
        MarkerArray(markers=[marker(Marker.CUBE)])
    )


def test_a_page_gets_a_bounded_number_of_boxes():
    many = marker(Marker.CUBE_LIST, points=[(0.0, 0.0, 0.0)] * (MAX_BOXES + 1))
    assert len(boxes(MarkerArray(markers=[many, many]))) == MAX_BOXES
