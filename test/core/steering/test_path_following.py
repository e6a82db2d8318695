# SPDX-License-Identifier: Apache-2.0
"""Waypoint following and obstacle avoidance with ideal kinematics."""

import dataclasses
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.suite.soak import SOAK

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import ZERO, Pose, Twist, exp, wrap
from hexapod_control.core.steering.obstacle_avoidance import (
    DIRECTIONS,
    Scan,
    detour,
    free_distance,
    free_distances,
    levelled,
    nearest_free,
    points,
    transform_points,
)
from hexapod_control.core.steering.path_following import (
    Pursuit,
    PursuitCommand,
    PursuitHeading,
    PursuitPhase,
    PursuitSettings,
    Waypoint,
)

DT = 0.05  # [s]
LIMITS = Twist(0.13, 0.1, 0.7)
ACCELERATION = Twist(0.3, 0.24, 1.6)
RADIUS = 0.35
NOTHING = np.zeros((0, 2))
ORIGIN = Pose(0.0, 0.0, 0.0)

places = st.floats(-4.0, 4.0)
yaws = st.floats(-math.pi, math.pi)
headings = st.sampled_from(PursuitHeading)
poses = st.builds(Pose, places, places, yaws)
waypoints = st.builds(Waypoint, places, places, st.none() | yaws, headings)


def walk(pursuit, pose, obstacles=NOTHING, seconds=400.0, limits=LIMITS):
    """Poses and commands of a robot with ideal kinematics and limited acceleration until the route ends."""
    twist, way = ZERO, []
    for _ in range(round(seconds / DT)):
        order = pursuit.step(pose, limits, obstacles, DT)
        way.append((pose, order))
        if order.phase in (PursuitPhase.DONE, PursuitPhase.STUCK):
            break
        changes = zip(twist, order.twist, ACCELERATION, strict=True)
        twist = Twist(*(now + max(-a * DT, min(a * DT, goal - now)) for now, goal, a in changes))
        pose = pose @ exp(twist, DT)
    return way


def within(order, limits=LIMITS):
    return all(abs(value) <= bound + 1e-9 for value, bound in zip(order.twist, limits, strict=True))


def at(pose, goal, tolerances):
    near = math.dist(pose[:2], (goal.x, goal.y)) <= tolerances.tolerance
    return near and (goal.yaw is None or abs(wrap(pose.yaw - goal.yaw)) <= tolerances.heading_tolerance)


@given(poses, waypoints)
@settings(max_examples=60 if SOAK else 30)
@example(ORIGIN, Waypoint(0.0, 0.0, math.pi))
@example(ORIGIN, Waypoint(-2.0, 0.0, 0.0, PursuitHeading.FREE))
def test_from_any_pose_every_waypoint_is_reached_within_the_tolerances_and_the_limits(pose, goal):
    pursuit = Pursuit([goal])
    way = walk(pursuit, pose)
    assert way[-1][1].phase is PursuitPhase.DONE
    assert at(way[-1][0], goal, pursuit.settings)
    assert all(within(order) for _, order in way)


@given(poses, waypoints, st.floats(0.01, 1.0), st.floats(0.01, 1.0), st.floats(0.05, 3.0))
@settings(max_examples=100)
def test_no_command_is_beyond_the_limits_of_the_moment(pose, goal, vx, vy, wz):
    limits = Twist(vx, vy, wz)
    order = Pursuit([goal]).step(pose, limits, NOTHING, DT)
    assert within(order, limits)
    assert math.hypot(order.twist.vx / vx, order.twist.vy / vy) + abs(order.twist.wz) / wz <= 0.9 + 1e-9


def test_waypoints_are_reached_in_order_and_reported_once():
    goals = [Waypoint(0.5, 0.0), Waypoint(0.5, 0.5, math.pi / 2), Waypoint(0.0, 0.0, 0.0, PursuitHeading.FREE)]
    way = walk(Pursuit(goals), ORIGIN)
    counts = [order.reached for _, order in way]
    assert counts == sorted(counts)
    for number, goal in enumerate(goals, start=1):
        pose = next(pose for pose, order in way if order.reached >= number)
        assert at(pose, goal, PursuitSettings())


def test_an_aligned_heading_follows_the_path_and_a_free_one_stays():
    goal = Waypoint(0.0, 3.0, None, PursuitHeading.ALIGNED)
    middle = [pose for pose, order in walk(Pursuit([goal]), ORIGIN) if 1.0 < order.distance < 1.5]
    assert [pose.yaw for pose in middle] == pytest.approx([math.pi / 2] * len(middle), abs=0.1)
    free = walk(Pursuit([Waypoint(0.0, 3.0, None, PursuitHeading.FREE)]), ORIGIN)
    assert {pose.yaw for pose, _ in free} == {0.0}


def test_a_robot_turns_on_the_spot_exactly_where_it_stands():
    pose = Pose(0.3, -0.2, 0.5)
    pursuit = Pursuit([Waypoint(pose.x, pose.y, 0.6, PursuitHeading.FREE)])
    command = pursuit.step(pose, LIMITS, NOTHING, 0.1)
    assert (command.phase, command.twist.vx, command.twist.vy) == (PursuitPhase.WALKING, 0.0, 0.0)
    assert command.twist.wz > 0.0


@pytest.mark.parametrize("start", [ORIGIN, Pose(1.0, 2.0, 2.0)])
def test_a_robot_that_is_pushed_off_its_line_returns_to_it(start):
    pursuit = Pursuit([Waypoint(*start.apply(4.0, 0.0), None, PursuitHeading.FREE)])
    pursuit.step(start, LIMITS, NOTHING, DT)
    order = pursuit.step(start @ Pose(1.0, 0.2, 0.0), LIMITS, NOTHING, DT)
    assert math.atan2(order.twist.vy, order.twist.vx) == pytest.approx(math.atan2(-0.2, 0.4))


def test_each_line_starts_where_the_robot_has_reached_the_waypoint_before():
    pursuit = Pursuit([Waypoint(2.0, 0.0), Waypoint(2.0, 2.0, None, PursuitHeading.FREE)])
    pursuit.step(ORIGIN, LIMITS, NOTHING, DT)
    order = pursuit.step(Pose(2.0, 0.0, 0.0), LIMITS, NOTHING, DT)
    assert order.reached == 1 and order.twist.vx == pytest.approx(0.0, abs=1e-9) and order.twist.vy > 0.0


def test_a_robot_slows_down_before_a_waypoint():
    way = walk(Pursuit([Waypoint(1.0, 0.0)]), ORIGIN)
    assert all(order.twist.vx <= max(order.distance, 0.15 * 0.9 * LIMITS.vx) + 1e-9 for _, order in way)


def test_a_robot_that_cannot_walk_gets_no_command_and_keeps_its_waypoint():
    pursuit = Pursuit([Waypoint(1.0, 0.0)], PursuitSettings(progress_timeout=1.0))
    for _ in range(100):
        order = pursuit.step(ORIGIN, ZERO, NOTHING, DT)
        assert order.phase is PursuitPhase.HELD and order.twist == ZERO
    assert pursuit.step(ORIGIN, LIMITS, NOTHING, DT).phase is PursuitPhase.WALKING


def test_at_the_last_waypoint_the_twist_is_zero():
    done = Pursuit([Waypoint(0.01, 0.0)]).step(ORIGIN, LIMITS, NOTHING, DT)
    assert done == PursuitCommand(ZERO, PursuitPhase.DONE, 1, 0.0)


def test_a_robot_that_turns_at_its_limit_keeps_half_of_its_speed_along_the_path():
    goal = Waypoint(3.0, 0.0, math.pi, PursuitHeading.FREE)
    twist = Pursuit([goal], PursuitSettings(share=0.8)).step(ORIGIN, LIMITS, NOTHING, DT).twist
    assert twist == pytest.approx((0.4 * LIMITS.vx, 0.0, 0.4 * LIMITS.wz))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_pose_that_is_not_finite_gives_a_zero_twist(bad):
    order = Pursuit([Waypoint(1.0, 0.0)]).step(Pose(bad, 0.0, 0.0), LIMITS, NOTHING, DT)
    assert order.phase is PursuitPhase.HELD and order.twist == ZERO


# --- obstacles --------------------------------------------------------------------------------------------------


def ring(x, y, radius, count=72):
    angles = np.linspace(0.0, math.tau, count, endpoint=False)
    return np.column_stack((x + radius * np.cos(angles), y + radius * np.sin(angles)))


def nearest(way, obstacles):
    return min(np.hypot(*(obstacles - pose[:2]).T).min() for pose, _ in way)


@given(st.floats(-math.pi, math.pi), st.floats(0.0, 0.03), st.lists(st.tuples(places, places), max_size=20))
@settings(max_examples=100)
def test_a_robot_never_walks_towards_an_obstacle_inside_its_circle(bearing, inside, more):
    """Not nearer than the clearance: the distance to the point grows, or stays as on a tangent."""
    distance = RADIUS + 0.04 - inside
    near = distance * np.array([math.cos(bearing), math.sin(bearing)])
    obstacles = np.array([near, *more]) if more else near[None, :]
    goal = Waypoint(*(3.0 * near).tolist())
    twist = Pursuit([goal], PursuitSettings(radius=RADIUS)).step(ORIGIN, LIMITS, obstacles, DT).twist
    towards = (twist.vx * near[0] + twist.vy * near[1]) / distance
    assert towards <= 0.2 * math.hypot(twist.vx, twist.vy) + 1e-9


def test_a_robot_stops_before_an_obstacle_that_appears_on_its_path():
    """Obstacles all round leave no detour: the robot never uses up its free distance."""
    wall = ring(0.0, 0.0, 1.2, 360)
    way = walk(Pursuit([Waypoint(3.0, 0.0)], PursuitSettings(radius=RADIUS, progress_timeout=10.0)), ORIGIN, wall)
    assert way[-1][1].phase is PursuitPhase.STUCK
    assert nearest(way, wall) >= RADIUS
    assert not way[-1][1].twist.vx


@pytest.mark.parametrize("offset", [-0.3, 0.0, 0.001, 0.3])
@pytest.mark.parametrize("radius", [0.05, 0.3])
def test_a_robot_walks_round_a_pillar_without_touching_it(offset, radius):
    pillar = ring(1.5, offset, radius)
    way = walk(Pursuit([Waypoint(3.0, 0.0)], PursuitSettings(radius=RADIUS)), ORIGIN, pillar)
    assert way[-1][1].phase is PursuitPhase.DONE
    assert any(order.phase is PursuitPhase.DETOUR for _, order in way)
    assert nearest(way, pillar) >= RADIUS
    length = sum(math.dist(a[:2], b[:2]) for (a, _), (b, _) in pairwise(way))
    assert length < 4.2


@pytest.mark.parametrize("yaw", [0.0, 2.0, -2.0])
def test_a_detour_continues_on_its_side_in_whatever_direction_the_robot_walks(yaw):
    frame = Pose(0.4, -0.2, yaw)

    def side(pursuit, offset):
        order = pursuit.step(frame, LIMITS, transform_points(ring(0.9, offset, 0.2), frame), DT)
        assert order.phase is PursuitPhase.DETOUR
        return math.copysign(1.0, order.twist.vy)

    first, fresh = (Pursuit([Waypoint(*frame.apply(3.0, 0.0))], PursuitSettings(radius=RADIUS)) for _ in range(2))
    assert side(first, 0.02) == side(first, -0.02) == -side(fresh, -0.02)


def test_a_robot_walks_through_a_gap_that_is_wide_enough():
    half = RADIUS + 0.04 + 0.05
    wall = np.array([(1.5, side * y) for y in np.arange(half, 4.0, 0.03) for side in (-1, 1)])
    way = walk(Pursuit([Waypoint(3.0, 0.3)], PursuitSettings(radius=RADIUS)), Pose(0.0, 0.5, 0.0), wall)
    assert way[-1][1].phase is PursuitPhase.DONE
    assert nearest(way, wall) >= RADIUS


def test_a_free_path_ends_where_the_disc_touches_the_point():
    points_ = np.array([(1.0, 0.0)])
    assert free_distance(points_, 0.0, 0.3) == pytest.approx(0.7)
    assert free_distance(points_, math.pi, 0.3) == math.inf
    assert free_distance(points_, math.asin(0.299), 0.3) < math.inf
    assert free_distance(points_, math.asin(0.301), 0.3) == math.inf
    assert free_distances(NOTHING, DIRECTIONS, 0.3).min() == math.inf


@given(st.lists(st.tuples(places, places), min_size=1, max_size=30), yaws)
@settings(max_examples=100)
def test_no_point_is_in_the_disc_anywhere_on_a_free_path(places_, direction):
    obstacles = np.array(places_)
    obstacles = obstacles[np.hypot(*obstacles.T) > 0.3]
    way = min(free_distance(obstacles, direction, 0.3), 10.0)
    for part in np.linspace(0.0, way, 20):
        here = part * np.array([math.cos(direction), math.sin(direction)])
        assert not len(obstacles) or np.hypot(*(obstacles - here).T).min() >= 0.3 - 0.006


def test_a_point_inside_the_disc_blocks_only_directions_towards_it():
    near = np.array([(0.2, 0.0)])
    # The point counts as 5 mm outside of the disc, so that the robot can walk along it.
    assert free_distance(near, 0.0, 0.3) == pytest.approx(0.005)
    assert free_distance(near, math.radians(60.0), 0.3) == pytest.approx(0.1 - math.sqrt(0.195**2 - 0.03))
    assert [free_distance(near, angle, 0.3) for angle in (1.6, -1.6, math.pi)] == [math.inf] * 3
    assert free_distance(np.array([(0.001, 0.0)]), 0.0, 0.3) == math.inf  # at the very center: no direction


def cost(goal, obstacles, angle, last):
    """Cost of a detour: its length via the end of the free part, three times the blocked length, and its turn."""
    reach = min(1.2, math.hypot(*goal))
    part = min(free_distance(obstacles, angle, RADIUS), reach)
    rest = math.hypot(goal[0] - part * math.cos(angle), goal[1] - part * math.sin(angle))
    return part + rest + 3.0 * (reach - part) + (0.15 * abs(wrap(angle - last)) if last is not None else 0.0)


@pytest.mark.parametrize("last", [None, 0.5, -3.0])
def test_a_detour_is_the_cheapest_of_120_directions(last):
    rng = np.random.default_rng(2)
    directions = [-math.pi + k * math.tau / 120 for k in range(120)]
    for _ in range(20):
        obstacles = rng.uniform(-2.0, 2.0, (12, 2))
        obstacles = obstacles[np.hypot(*obstacles.T) > RADIUS]
        goal = tuple(rng.uniform(-2.0, 2.0, 2).tolist())
        angle, free = detour(goal, obstacles, RADIUS, last)
        costs = [cost(goal, obstacles, each, last) for each in directions]
        assert angle == pytest.approx(directions[int(np.argmin(costs))])
        assert free == pytest.approx(free_distance(obstacles, angle, RADIUS))


def test_a_pursuit_without_settings_has_these_defaults():
    assert dataclasses.asdict(Pursuit([]).settings) == {
        "tolerance": 0.02,
        "heading_tolerance": math.radians(3.0),
        "radius": 0.0,
        "clearance": 0.04,
        "stop": 0.03,
        "lookahead": 0.4,
        "share": 0.9,
        "gain": 1.0,
        "slowest": 0.15,
        "turn_gain": 1.5,
        "progress_timeout": 60.0,
    }


@pytest.mark.parametrize(
    ("distance", "yaw", "heading", "wz"),
    [
        (0.31, None, PursuitHeading.ALIGNED, 0.15),  # towards the waypoint, which is 0.1 rad to the left
        (0.31, -0.2, PursuitHeading.ALIGNED, 0.15),
        (0.29, None, PursuitHeading.ALIGNED, 0.0),
        (0.29, -0.2, PursuitHeading.ALIGNED, -0.3),
        (0.31, -0.2, PursuitHeading.FREE, -0.3),
        (0.31, None, PursuitHeading.FREE, 0.0),
    ],
)
def test_a_robot_turns_by_one_and_a_half_times_its_error_per_second_to_its_path_and_then_to_its_goal(
    distance, yaw, heading, wz
):
    goal = Waypoint(distance * math.cos(0.1), distance * math.sin(0.1), yaw, heading)
    twist = Pursuit([goal], PursuitSettings(share=1.0)).step(ORIGIN, Twist(10.0, 10.0, 10.0), NOTHING, DT).twist
    assert twist.wz == pytest.approx(wz)
    # It could stop within the distance: one metre per second and metre, at least 0.15 of the maximum.
    assert math.hypot(twist.vx, twist.vy) == pytest.approx(1.5)
    slow = Pursuit([goal], PursuitSettings(share=1.0)).step(ORIGIN, Twist(1.0, 1.0, 10.0), NOTHING, DT).twist
    assert (slow.vx, slow.vy) == pytest.approx((distance * math.cos(0.1), distance * math.sin(0.1)))


@pytest.mark.parametrize(("off", "speed"), [(0.0099, 0.0), (0.0101, 0.0101)])
def test_within_half_of_the_tolerance_of_a_waypoint_only_the_heading_is_left(off, speed):
    goal = Waypoint(off, 0.0, 0.2, PursuitHeading.FREE)
    twist = Pursuit([goal], PursuitSettings(slowest=1e-6)).step(ORIGIN, Twist(1.0, 1.0, 1.0), NOTHING, DT).twist
    assert twist == pytest.approx((speed, 0.0, 0.3))


def test_a_waypoint_is_reached_within_its_tolerances():
    for x, yaw, reached in ((0.019, 0.05, 1), (0.021, 0.05, 0), (0.019, 0.054, 0), (0.019, -0.05, 1), (0.019, None, 1)):
        assert Pursuit([Waypoint(x, 0.0, yaw)]).step(ORIGIN, LIMITS, NOTHING, DT).reached == reached


def stuck_after(pose_at, goal):
    """The time [s] until a robot moved as scripted counts as stuck (inf: never), with a progress timeout of 0.98 s."""
    pursuit = Pursuit([goal], PursuitSettings(progress_timeout=0.98))
    for tick in range(200):
        if pursuit.step(pose_at(tick * DT), LIMITS, NOTHING, DT).phase is PursuitPhase.STUCK:
            return tick * DT
    return math.inf


def test_progress_is_a_fifth_of_the_tolerance_nearer_or_near_the_waypoint_a_better_heading():
    far, near = Waypoint(2.0, 0.0, 1.0), Waypoint(0.25, 0.0, 1.0)
    assert stuck_after(lambda time: ORIGIN, far) == pytest.approx(1.0)
    assert stuck_after(lambda time: Pose(0.0045 * math.floor(time / 0.9 + 1e-9), 0.0, 0.0), far) == math.inf
    assert stuck_after(lambda time: Pose(0.0035 * math.floor(time / 0.9 + 1e-9), 0.0, 0.0), far) == pytest.approx(1.0)
    assert stuck_after(lambda time: Pose(0.0, 0.0, 0.25 * time), far) == pytest.approx(1.0)
    assert stuck_after(lambda time: Pose(0.0, 0.0, 0.25 * time), near) > 3.0


def test_a_robot_stops_where_its_path_is_free_for_less_than_30_mm():
    for room, phase in ((0.02, PursuitPhase.BLOCKED), (0.05, PursuitPhase.DETOUR)):
        cage = ring(0.0, 0.0, RADIUS + 0.04 + room, 360)
        order = Pursuit([Waypoint(2.0, 0.0)], PursuitSettings(radius=RADIUS)).step(ORIGIN, LIMITS, cage, DT)
        assert order.phase is phase and (order.twist == ZERO) == (phase is PursuitPhase.BLOCKED)


def test_invalid_ranges_are_no_obstacles():
    ranges = np.array([math.nan, math.inf, -math.inf, 0.0, 0.05, 7.0, 2.0, -1.0])
    found = points(Scan(ranges, 0.0, 0.1, 0.1, 6.0), ORIGIN)
    assert found == pytest.approx(np.array([[2.0 * math.cos(0.6), 2.0 * math.sin(0.6)]]))
    assert points(Scan(np.full(9, math.nan), 0.0, 0.1, 0.1, 6.0), ORIGIN).shape == (0, 2)


ABOVE, HIGH, WALL = 0.1, 0.12, 1.5  # [m] of the lidar over base_link, of that over the ground, and to a wall ahead


@given(roll=st.floats(-0.7, 0.7), pitch=st.floats(-0.7, 0.7))
@settings(max_examples=100, deadline=None)
def test_rays_of_a_tilted_lidar_that_meet_the_ground_are_left_out_and_what_they_see_is_where_it_is(roll, pitch):
    rotation = np.array(BodyPose(roll=roll, pitch=pitch).rotation())
    angles = np.linspace(-math.pi, math.pi, 180, endpoint=False)
    rays = np.column_stack((np.cos(angles), np.sin(angles), np.zeros(180)))
    start, ways = rotation @ (0.0, 0.0, ABOVE), rays @ rotation.T
    with np.errstate(all="ignore"):
        to_wall = np.where(ways[:, 0] > 0.0, (WALL - start[0]) / ways[:, 0], np.inf)
        to_ground = np.where(ways[:, 2] < 0.0, (start[2] + HIGH) / -ways[:, 2], np.inf)
    ranges = np.minimum(to_wall, to_ground)
    met = np.isfinite(ranges)
    seen = levelled(rays[met, :2] * ranges[met, None], (roll, pitch), ABOVE, HIGH)
    tilt = math.acos(min(1.0, rotation[2, 2]))
    if tilt > math.pi / 4.0:
        assert not len(seen)
        return
    assert np.abs(seen[:, 0] - WALL).max(initial=0.0) < 1e-6, "only the wall"
    sees_wall = np.isfinite(to_wall) & (to_wall < to_ground)
    clear = sees_wall & (np.where(sees_wall, -to_wall, 0.0) * ways[:, 2] < 0.7 * (start[2] + HIGH))
    assert len(seen) >= clear.sum()


@given(poses, st.lists(st.tuples(places, places), min_size=1, max_size=5))
def test_points_are_transformed_by_the_pose(pose, places_):
    assert transform_points(np.array(places_), pose) == pytest.approx(np.array([pose.apply(x, y) for x, y in places_]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tolerance": 0.0}, "tolerance must be finite and > 0, is 0"),
        ({"clearance": -0.1}, "clearance must be finite and >= 0, is -0.1"),
        ({"progress_timeout": math.nan}, "progress_timeout must be finite and > 0, is nan"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        PursuitSettings(**change)


@pytest.mark.parametrize("bad", [(math.nan, 0.0, None), (0.0, math.inf, None), (0.0, 0.0, math.nan)])
def test_a_waypoint_that_is_not_finite_is_refused(bad):
    with pytest.raises(ValueError, match="a waypoint must be finite"):
        Waypoint(*bad)


def test_each_waypoint_has_the_same_time_without_progress_before_it_is_given_up():
    """The first half of the time is spent before the first waypoint."""
    tolerances = PursuitSettings()
    pursuit = Pursuit([Waypoint(1.0, 0.0), Waypoint(3.0, 0.0)], tolerances)
    for pose in (ORIGIN, Pose(1.0, 0.0, 0.0)):
        ticks, phase = 0, PursuitPhase.WALKING
        while phase is not PursuitPhase.STUCK and ticks * DT < 0.5 * tolerances.progress_timeout + pose.x * 1e3:
            phase = pursuit.step(pose, LIMITS, NOTHING, DT).phase
            ticks += 1
    assert phase is PursuitPhase.STUCK
    assert ticks * DT == pytest.approx(tolerances.progress_timeout, abs=3.0 * DT)


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_free_place_has_room_and_a_straight_way_and_is_no_farther_than_needed(seed):
    rng = np.random.default_rng(seed)
    goal = tuple(rng.uniform(0.6, 1.2, 2).tolist())
    seen = np.array(goal) + rng.uniform(-0.1, 0.1, (5, 2))
    x, y = nearest_free(goal, seen, 0.4, 0.6)
    assert np.hypot(*(seen - (x, y)).T).min() > 0.4 - 1e-9
    assert free_distance(seen, math.atan2(y, x), 0.4 - 0.005) >= math.hypot(x, y)
    assert math.dist((x, y), goal) < 0.6


def test_a_goal_with_room_stays_and_one_without_any_free_place_near_it_too():
    assert nearest_free((1.0, 0.0), NOTHING, 0.4, 0.6) == (1.0, 0.0)
    assert nearest_free((1.0, 0.0), np.array([[1.0, 0.5]]), 0.4, 0.6) == (1.0, 0.0)
    everywhere = np.random.default_rng(0).uniform(-1.0, 2.0, (2000, 2))
    assert nearest_free((1.0, 0.0), everywhere, 0.4, 0.6) == (1.0, 0.0)
