# SPDX-License-Identifier: Apache-2.0
"""Markers of a plan: feet coloured by their state, the support polygon, and the neutral footholds."""

import numpy as np
import pytest
from support.drives import DT, drive, standing_planner
from visualization_msgs.msg import Marker

from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.nodes.gait_planner import planner_output as foot_markers_module
from hexapod_control.nodes.gait_planner.planner_output import foot_markers
from hexapod_control.ros import messages
from hexapod_control.ros.row_messages import xyz

STAMP = messages.time(7_500_000_000)


def shown(planner, plan):
    stances = planner.capabilities.stances
    return foot_markers(planner.robot, stances, plan, "one/base_link", STAMP).markers


def points(marker):
    return np.array([xyz(point) for point in marker.points])


def color(value):
    return value.r, value.g, value.b, value.a


def test_a_walk_is_shown_with_its_feet_in_two_colours_over_the_polygon_of_those_that_stand():
    planner = standing_planner("phantomx", "tripod")
    plan = next(plan for plan in drive(planner, Twist(0.08, 0.0, 0.0), 2.0) if sum(plan.planted) == 3)
    feet, polygon, neutral = shown(planner, plan)
    assert points(feet) == pytest.approx(np.array(plan.feet))
    colors = [color(each) for each in feet.colors]
    for down in (True, False):
        assert len({each for each, planted in zip(colors, plan.planted, strict=True) if planted == down}) == 1
    assert len({*colors, color(polygon.color), color(neutral.color)}) == 4
    (green, orange), blue, grey = sorted(set(colors)), color(polygon.color), color(neutral.color)
    assert max(green[:3]) == green[1] and orange[0] > orange[1] > orange[2] and max(blue[:3]) == blue[2]
    assert grey[0] == grey[1] == grey[2] and all(
        0.0 <= value <= 1.0 for each in (*colors, blue, grey) for value in each
    )
    assert all(0.5 < each[3] <= 1.0 for each in (*colors, blue, grey, color(feet.color)))
    corners = points(polygon)
    assert len(corners) == 4 and (corners[0] == corners[-1]).all()
    assert corners[:, 2] == pytest.approx(-planner.robot.walk.height, abs=1e-6)
    expected = {tuple(np.round(xy, 6)) for xy, down in zip(plan.contacts.tolist(), plan.planted, strict=True) if down}
    assert {tuple(np.round(corner[:2], 6)) for corner in corners} == expected
    assert points(neutral)[:, :2] == pytest.approx(np.array([leg.foothold for leg in planner.robot.legs]), abs=0.02)
    assert (feet.scale.x, neutral.scale.x) == (2.0 * planner.robot.foot_radius, planner.robot.foot_radius)
    for marker, name, kind in zip(
        (feet, polygon, neutral),
        ("feet", "support", "footholds"),
        (Marker.SPHERE_LIST, Marker.LINE_STRIP, Marker.SPHERE_LIST),
        strict=True,
    ):
        assert (marker.ns, marker.type, marker.action) == (name, kind, Marker.ADD)
        assert (marker.header.frame_id, marker.header.stamp) == ("one/base_link", STAMP)
        assert marker.scale.x == marker.scale.y == marker.scale.z > 0.0
        assert marker.pose.orientation.w == 1.0
        assert 0 < marker.lifetime.nanosec <= 500_000_000 and marker.lifetime.sec == 0


def test_a_foot_is_green_on_the_ground_and_orange_in_the_air_the_polygon_blue_and_footholds_grey():
    assert color(foot_markers_module.PLANTED) == (0.15, 0.65, 0.25, 1.0)
    assert color(foot_markers_module.SWINGING) == (0.95, 0.6, 0.1, 1.0)
    assert color(foot_markers_module.POLYGON) == (0.2, 0.45, 0.9, 0.9)
    assert color(foot_markers_module.FOOTHOLD) == (0.6, 0.6, 0.6, 0.7)
    planner = standing_planner("phantomx")
    feet, polygon, neutral = shown(planner, planner.step(DT))
    assert {color(each) for each in feet.colors} == {color(feet.color)} == {color(foot_markers_module.PLANTED)}
    assert color(polygon.color) == color(foot_markers_module.POLYGON) and polygon.scale.x == 0.004
    assert color(neutral.color) == color(foot_markers_module.FOOTHOLD)
    assert {marker.lifetime.nanosec for marker in (feet, polygon, neutral)} == {500_000_000}


def test_while_the_joints_move_no_feet_are_shown():
    planner = Planner(standing_planner("phantomx").robot)
    planner.set_measured_joints(planner.view.lying_joints + 0.2)
    planner.stand()
    assert shown(planner, planner.step(DT)) == []
