# SPDX-License-Identifier: Apache-2.0
"""Taught routes: a scan finds its place on a map, a way keeps its bends, known obstacles give way on the way only."""

import math

import numpy as np
import pytest

from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.steering.obstacle_avoidance import transform_points
from hexapod_control.core.steering.scan_matching import CELL_M, MapTracker, ScanMap
from hexapod_control.core.steering.taught_route import BEND_M, MAX_POINTS, RouteLesson, TaughtRoute, along, simplified

WAY = ((0.0, 0.0), (2.0, 0.0), (2.0, 1.0))


def room(seed):
    """Points of walls and boxes [m]."""
    rng = np.random.default_rng(seed)
    corners = [np.array([(-2, -1.5), (4, -1.5), (4, 3), (-2, 3), (-2, -1.5)], dtype=float)]
    for x, y in rng.uniform((-1.5, -1.2), (3.5, 2.5), (4, 2)):
        corners.append(np.array([(x, y), (x + 0.3, y), (x + 0.3, y + 0.2), (x, y + 0.2), (x, y)]))
    return np.concatenate([along(each, 0.04) for each in corners])


def scanned(points, pose, rng):
    """A third of the points, with noise, as seen from a pose."""
    seen = transform_points(points[rng.random(len(points)) < 0.33], pose.inverse())
    return seen + rng.normal(0.0, 0.01, seen.shape)


@pytest.mark.parametrize("seed", range(5))
def test_a_scan_is_laid_on_the_map_within_half_a_cell_though_a_third_of_it_is_new(seed):
    rng, points = np.random.default_rng(seed), room(seed)
    pose = Pose(*rng.uniform((0, -0.5, -3), (2, 1.5, 3)))
    new = rng.uniform(-2, 2, (60, 2))
    guess = pose @ Pose(*rng.uniform(-1, 1, 3) * (0.15, 0.15, 0.1))
    found = ScanMap(points).match(np.concatenate((scanned(points, pose, rng), new)), guess)
    assert math.dist(found.pose[:2], pose[:2]) < CELL_M / 2 and abs(found.pose.yaw - pose.yaw) < 0.01
    assert found.is_fit(0.5)


@pytest.mark.parametrize("seed", range(3))
def test_a_robot_is_found_anywhere_along_the_way_and_not_in_another_room(seed):
    rng, points = np.random.default_rng(seed), room(seed)
    route = TaughtRoute(WAY, points)
    pose = Pose(*(along(WAY, 0.05)[rng.integers(40)] + rng.uniform(-0.2, 0.2, 2)), rng.uniform(-3, 3))
    tracker = route.find(scanned(points, pose, rng), Pose(5.0, 5.0, 1.0))
    assert math.dist(tracker.pose(Pose(5.0, 5.0, 1.0))[:2], pose[:2]) < 0.03
    assert route.find(rng.uniform(-1.5, 1.5, (200, 2)), pose) is None


def test_without_anything_to_see_odometry_leads_on():
    tracker = MapTracker(ScanMap(room(0)))
    tracker.take_scan(np.zeros((0, 2)), Pose(1.0, 0.0, 0.0))
    assert not tracker.fits and tracker.pose(Pose(1.0, 0.5, 0.2)) == Pose(1.0, 0.5, 0.2)


@pytest.mark.parametrize("error", [-0.03, 0.03])
def test_a_lesson_is_as_true_as_the_walls_however_odometry_drifts(error):
    rng, points, lesson = np.random.default_rng(3), room(3), RouteLesson()
    truth, odometry, step = Pose(0.0, 0.0, 0.0), Pose(0.0, 0.0, 0.0), Pose(0.02, 0.0, 0.02)
    worst, counts = 0.0, []
    for _ in range(400):  # 8 m, more than once around a circle
        truth = truth @ step
        odometry = odometry @ Pose((1 + error) * step.x, 0.0, (1 + error) * step.yaw)
        lesson.take_odometry(odometry)
        lesson.take_scan(scanned(points, truth, rng), odometry)
        worst = max(worst, math.dist((lesson.odom_on_map @ odometry)[:2], truth[:2]))
        counts.append(len(lesson.seen))
    assert worst < CELL_M and lesson.length == pytest.approx(8.0, rel=0.02)
    assert math.dist(lesson.route()[-1], truth[:2]) < CELL_M
    assert counts[-1] < 1.1 * counts[314]  # it does not grow with the time
    lesson.take_odometry(Pose(9.0, 9.0, 0.0))
    assert lesson.length == 0.0


def test_a_lesson_whose_lidar_saw_hardly_anything_has_no_map():
    lesson = RouteLesson()
    for tick in range(20):
        lesson.take_odometry(Pose(0.05 * tick, 0.0, 0.0))
        lesson.take_scan(np.array([[1.0 - 0.05 * tick, 0.8]]), Pose(0.05 * tick, 0.0, 0.0))
    assert len(lesson.seen) == 0 and len(lesson.route()) == 2


def test_the_map_grows_in_all_directions_and_points_farther_than_its_largest_side_are_left_out():
    grown = ScanMap(np.array([[0.0, 0.0]]))
    for point in ([-9.0, 3.0], [9.0, -3.0], [0.0, 30.0]):
        grown.add(np.array([point]))
        assert grown.distances(np.array([point, [0.0, 0.0]])).max() < 0.02
    grown.add(np.array([[1e4, 0.0]]))
    assert len(grown.points) == 4


@pytest.mark.parametrize("seed", range(3))
def test_a_simplified_way_is_within_its_bend_and_has_both_ends(seed):
    way = np.cumsum(np.random.default_rng(seed).normal(0.0, 0.02, (900, 2)), axis=0)
    points = [tuple(point) for point in way.tolist()]
    few = points[:MAX_POINTS]
    for each in (points, few):
        kept = simplified(each)
        assert len(kept) <= MAX_POINTS and (kept[0], kept[-1]) == (each[0], each[-1])
    line = along(kept, 0.002)
    assert max(np.hypot(*(line - point).T).min() for point in few) < BEND_M + 0.002


def test_on_the_way_known_obstacles_may_be_as_near_as_they_were_new_ones_and_elsewhere_not():
    wall = along(((0.0, 0.35), (2.0, 0.35)), 0.04)
    route = TaughtRoute(((0.0, 0.0), (2.0, 0.0)), wall)
    nearest = lambda seen, y=0.0: float(np.hypot(*(route.obstacles(seen, (1.0, y), 0.4) - (1.0, y)).T).min())  # noqa: E731
    assert nearest(wall) > 0.4
    new = np.array([[1.0, -0.35]])
    assert nearest(new) == pytest.approx(0.35)
    assert nearest(wall, -0.3) == pytest.approx(0.65)
    assert len(route.obstacles(np.zeros((0, 2)), (1.0, 0.0), 0.4)) == 0
