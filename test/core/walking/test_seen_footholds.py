# SPDX-License-Identifier: Apache-2.0
"""Footholds on ground that is seen, planned without physics: the map is given, the feet are where they are planned."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.drives import DT, standing_planner, walk_of

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.fits import fit_rigid
from hexapod_control.core.kinematics.leg_kinematics import forward, inverse
from hexapod_control.core.kinematics.se2 import ZERO, Pose, Twist
from hexapod_control.core.kinematics.support_detection import detect_support
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.sensing.mishap_watch import MishapKind
from hexapod_control.core.sensing.sensor_inputs import Adaptation
from hexapod_control.core.terrain.foothold_choice import Foothold, FootholdChooser, Step
from hexapod_control.core.terrain.ground_view import GroundView, plane_around
from hexapod_control.core.terrain.height_map import TerrainGrid
from hexapod_control.core.walking.foothold_plan import Sight
from hexapod_control.core.workspace.strides.stride_table import Disc

CELL, HALF = 0.01, 1.5  # [m]
START = Pose(0.0, 0.0, 0.0)
FORWARD = Twist(0.06, 0.0, 0.0)
COURSES = (FORWARD, Twist(-0.06, 0.0, 0.0), Twist(0.0, 0.06, 0.0), Twist(0.04, -0.04, 0.0), Twist(0.0, 0.0, 0.3))


def ground(height):
    """A map of the heights that a function of x and y [m] gives."""
    axis = np.arange(-HALF, HALF, CELL)
    heights = np.broadcast_to(height(*np.meshgrid(axis, axis)), (len(axis), len(axis))).astype(float)
    unseen = np.full_like(heights, math.nan)
    return TerrainGrid((-HALF, -HALF), CELL, heights, np.full_like(heights, 0.002), unseen, 0.0)


def walked(twist, grid, seconds, planner=None, here=START):
    """The plans of a walk on this ground, of which new maps come, its planner, and where it is by its planted feet."""
    planner = planner or standing_planner("phantomx")
    plans = []
    for _ in range(round(seconds / DT)):
        plan, here = tick(planner, twist, grid and replace(grid, time=DT * len(plans)), here)
        plans.append(plan)
    return plans, planner, here


def tick(planner, twist, grid, here):
    """The plan of a tick on this ground, and where the robot is after it."""
    planner.command(twist)
    c, s = math.cos(here.yaw), math.sin(here.yaw)
    rotation = np.array(((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)))
    position = np.array((here.x, here.y, walk_of(planner).body.height))
    planner.see(grid, None if grid is None else (rotation, position))
    before = [foot.at[:2] for foot in walk_of(planner).motion.feet]
    plan = planner.step(DT)
    standing = [leg for leg, foot in enumerate(walk_of(planner).motion.feet) if foot.planted]
    contacts = plan.contacts.tolist()
    return plan, here @ fit_rigid([contacts[leg] for leg in standing], [before[leg] for leg in standing])


@pytest.mark.parametrize("twist", COURSES)
def test_on_a_flat_map_the_robot_walks_exactly_as_without_one(twist):
    seen, _, _ = walked(twist, ground(lambda x, y: 0.0 * x), 4.0)
    blind, _, _ = walked(twist, None, 4.0)
    for with_map, without in zip(seen, blind, strict=True):
        assert np.array_equal(with_map.joint_angles, without.joint_angles)


@pytest.mark.parametrize("twist", COURSES[:4])
def test_a_robot_stops_with_all_feet_on_the_table_whose_edge_it_sees(twist):
    side = 0.45  # [m] half of it
    grid = ground(lambda x, y: np.where(np.maximum(abs(x), abs(y)) < side, 0.0, -0.25))
    plans, planner, here = walked(twist, grid, 12.0)
    assert plans[-1].twist.is_zero and all(plans[-1].planted)
    assert all(max(map(abs, here.apply(x, y))) < side for x, y in plans[-1].contacts.tolist())
    mishap = planner.view.mishap
    assert mishap.kind is MishapKind.NO_FOOTHOLD
    assert mishap.text.startswith("no foothold ahead of ") and "drop of 250 mm" in mishap.text


UP = ground(lambda x, y: np.where(x < 0.25, 0.0, 0.04))
DOWN = ground(lambda x, y: np.where(x < 0.4, 0.0, -0.25))


@pytest.mark.parametrize("grid", [UP, DOWN])
def test_on_a_step_and_near_an_edge_a_robot_comes_to_rest_on_places_it_has_seen_and_sits_down_from_there(grid):
    _, planner, here = walked(FORWARD, grid, 4.0)
    _, planner, here = walked(ZERO, grid, 4.0, planner, here)
    assert planner.state is RobotState.STANDING
    for foot in walk_of(planner).motion.feet:
        x, y = here.apply(*foot.at[:2])
        assert np.ptp(grid.heights(x + np.array((-0.01, 0.01)), y)) < 0.01
    resting, _, _ = walked(ZERO, grid, 3.0, planner, here)
    assert all(all(plan.planted) for plan in resting)
    assert planner.sit() is None
    for _ in range(round(8.0 / DT)):
        planner.step(DT)
    assert planner.state is RobotState.SITTING


@pytest.mark.parametrize("mapped", [True, False])
def test_the_trunk_rises_before_a_high_step_and_sinks_for_the_way_back_or_without_a_map(mapped):
    planner = standing_planner("phantomx")
    step = ground(lambda x, y: np.where(x < 0.45, 0.0, 0.1))  # [m] the underside is at 75 mm
    _, _, here = walked(FORWARD, step, 5.2, planner)
    assert here.x + 0.125 < 0.45  # the trunk is still before it
    assert walk_of(planner).body.height > 0.108  # and the plane of the feet has risen, too, for those on the step
    walked(FORWARD.scaled(-1.0), step if mapped else None, 4.5, planner, here)
    assert walk_of(planner).body.height == pytest.approx(0.1)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_commanded_no_foot_is_put_down_where_the_map_does_not_permit_it(seed):
    """Courses at random, with zeros between and changes in flight, on a table with a random edge all around."""
    rng = np.random.default_rng(seed)
    side, turn = rng.uniform(0.28, 0.45), rng.uniform(0.0, math.tau)

    def room(x, y):
        """Distance [m] from the edge, - beyond it."""
        u, v = x * math.cos(turn) + y * math.sin(turn), y * math.cos(turn) - x * math.sin(turn)
        return side - np.maximum(abs(u), abs(v))

    grid = ground(lambda x, y: np.where(room(x, y) > 0.0, 0.0, -0.25))
    planner = standing_planner("phantomx")
    here, twist, until, refused = START, ZERO, 0, 0
    for k in range(round(24.0 / DT)):
        if k >= until:
            until = k + rng.integers(1, 80)
            if twist.is_zero or rng.random() < 0.3:
                twist = Twist(*(rng.uniform(-1.0, 1.0, 3) * (0.1, 0.1, 0.3)))
            elif rng.random() < 0.6:
                twist = ZERO
        planted = [foot.planted for foot in walk_of(planner).motion.feet]
        _, here = tick(planner, twist, replace(grid, time=DT * k), here)
        refused += planner.view.mishap is not None
        for foot, stood in zip(walk_of(planner).motion.feet, planted, strict=True):
            assert stood or not foot.planted or room(*here.apply(*foot.at[:2])) > planner.robot.foot_radius
    assert refused


@pytest.mark.parametrize("twist", COURSES[:4])
def test_a_course_that_is_refused_stays_so_after_zeros_until_another_one_is_commanded_or_the_map_changes(twist):
    grid = ground(lambda x, y: np.where(np.maximum(abs(x), abs(y)) < 0.45, 0.0, -0.25))
    plans, planner, here = walked(twist, grid, 12.0)
    assert planner.view.mishap and plans[-1].at_rest
    for course in (ZERO, twist, ZERO, twist):
        plans, _, here = walked(course, grid, 1.0, planner, here)
        assert planner.view.mishap and all(plan.at_rest and all(plan.planted) for plan in plans)
    walked(twist, ground(lambda x, y: 0.0 * x), 3.0, planner, here)
    assert planner.view.mishap is None and not planner.view.walk.speed.twist.is_zero


def test_a_refusal_at_an_edge_is_not_ended_by_maps_that_show_ground_now_and_then_nor_by_drift_of_odom():
    _, planner, here = walked(FORWARD, EDGE, 12.0)
    flat = ground(lambda x, y: 0.0 * x)
    for k in range(400):
        shown = flat if k % 40 < 30 else EDGE  # ground for 0.6 s, and then the edge again
        plan, here = tick(planner, FORWARD, replace(shown, time=100.0 + DT * k), here)
        assert planner.view.mishap and plan.at_rest
    for k in range(400):
        drift = 0.012 * DT * k
        shown = replace(EDGE, origin=(EDGE.origin[0] + drift, EDGE.origin[1]), time=200.0 + DT * k)
        planner.command(FORWARD)
        height = walk_of(planner).body.height
        planner.see(shown, (np.eye(3), np.array((here.x + drift, here.y, height))))
        assert planner.step(DT).at_rest and planner.view.mishap


def test_after_a_stop_before_an_edge_the_robot_walks_away_from_it():
    grid = ground(lambda x, y: np.where(x < 0.4, 0.0, -0.25))
    _, planner, edge = walked(FORWARD, grid, 12.0)
    _, planner, here = walked(Twist(-0.06, 0.0, 0.0), grid, 3.0, planner, edge)
    assert planner.view.mishap is None
    assert here.x < edge.x - 0.1


EDGE = ground(lambda x, y: np.where(x < 0.4, 0.0, -0.25))


def at_the_edge():
    """A robot that has stopped before an edge ahead of it: planner and place."""
    _, planner, here = walked(FORWARD, EDGE, 12.0)
    assert planner.view.mishap and any(planner.view.walk.forbidden)
    return planner, here


def rested(planner, here, grid, seconds, done=lambda: False, shown=None):
    """Lets a robot that does not walk go on for some seconds; no foot stands beyond an edge of the ground meanwhile.

    `shown` is the map at a time [s], if it is not that of the ground.
    """
    for k in range(round(seconds / DT)):
        joints = planner.view.joint_angles.tolist()
        support = detect_support(planner.robot, joints, planner.view.body_pose)
        for (x, y), down in zip(support.contacts, support.planted, strict=True):
            assert not down or grid.height(*here.apply(x, y)) > -0.04
        c, s = math.cos(here.yaw), math.sin(here.yaw)
        height = support.pose.z + planner.robot.walk.height
        base = np.array(((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))), np.array((here.x, here.y, height))
        planner.see(replace(shown(DT * k) if shown else grid, time=1000.0 + DT * k), base)
        planner.step(DT)
        if done():
            return True
    return False


def test_at_an_edge_a_robot_sits_down_and_stands_up_with_its_feet_on_the_table_and_says_so():
    planner, here = at_the_edge()
    before = [here.apply(*foot.at[:2]) for foot in walk_of(planner).motion.feet]
    assert planner.sit() is None
    planner.step(DT)
    assert "sits down with these feet where they stand" in planner.view.mishap.text
    assert rested(planner, here, EDGE, 10.0, lambda: planner.state is RobotState.SITTING)
    assert planner.stand() is None
    assert rested(planner, here, EDGE, 10.0, lambda: planner.state is RobotState.STANDING)
    rested(planner, here, EDGE, 4.0)
    forbidden = planner.view.walk.forbidden
    for leg, (foot, place) in enumerate(zip(walk_of(planner).motion.feet, before, strict=True)):
        assert leg not in forbidden or math.dist(here.apply(*foot.at[:2]), place) < 0.03
        assert EDGE.height(*here.apply(*foot.at[:2])) == 0.0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("period", [0.5, 2.0])
def test_a_robot_whose_map_jumps_to_and_fro_takes_at_most_a_few_steps_and_sits_down(seed, period):
    grid = ground(rough_ground(seed))
    _, planner, here = walked(FORWARD, grid, 5.0)
    assert planner.sit() is None
    jumped = replace(grid, origin=(grid.origin[0] - 0.04, grid.origin[1]))

    def shown(time):
        return jumped if time % period < 0.5 * period else grid

    assert rested(planner, here, grid, 10.0, lambda: planner.state is RobotState.SITTING, shown)


def test_a_robot_that_lies_where_no_foot_can_stand_does_not_stand_up_and_says_why():
    planner, here = at_the_edge()
    planner.sit()
    assert rested(planner, here, EDGE, 10.0, lambda: planner.state is RobotState.SITTING)
    # The robot has been carried to a place where feet are beyond the edge.
    planner.see(replace(EDGE, time=2000.0), (np.eye(3), np.array((here.x + 0.15, here.y, 0.03))))
    planner.step(DT)
    refusal = planner.stand()
    assert refusal.kind == "no_place_to_stand" and "drop of" in str(refusal)
    planner.see(None, None)
    assert planner.stand() is None


def test_a_foot_that_is_lifted_at_an_edge_returns_to_where_it_stood():
    planner, here = at_the_edge()
    leg = next(iter(planner.view.walk.forbidden))
    place = walk_of(planner).motion.feet[leg].at
    planner.command(ZERO)
    rested(planner, here, EDGE, 1.0)
    assert planner.guide_foot_over_ground(planner.robot.leg_names[leg], (*place[:2], 0.04)) is None
    assert rested(planner, here, EDGE, 6.0, lambda: walk_of(planner).motion.feet[leg].z > 0.035)
    planner.return_to_neutral()
    rested(planner, here, EDGE, 6.0)
    assert walk_of(planner).motion.all_in_stance
    assert math.dist(walk_of(planner).motion.feet[leg].at, place) < 0.03


def test_requests_that_would_put_a_foot_beyond_an_edge_are_refused_and_those_that_would_not_are_accepted():
    planner, here = at_the_edge()
    planner.command(ZERO)
    rested(planner, here, EDGE, 1.0)
    leg = next(iter(planner.view.walk.forbidden))
    name = planner.robot.leg_names[leg]
    x, y = walk_of(planner).regions.footholds[leg]
    refusals = [
        planner.guide_foot_over_ground(name, (x, y, 0.0)),
        planner.change_leg(name, lost=True),
    ]
    centers = np.array(forward(planner.robot, planner.view.joint_angles))
    centers[[planner.robot.leg_names.index(each) for each in ("left_front", "right_front")], 0] += 0.04
    joints = inverse(planner.robot, centers, planner.view.joint_angles).joints
    refusals += [planner.move_feet(centers), planner.move_joints(joints)]
    for refusal in refusals:
        assert refusal.kind == "no_place_on_map" and "drop of 250 mm" in str(refusal)
    assert planner.request_pose(BodyPose(z=0.01)) is None
    rested(planner, here, EDGE, 4.0)
    now = planner.view.joint_angles
    assert planner.move_joints(np.array(now) + np.array((0.0, 0.02, -0.02))) is None


def test_ground_that_no_camera_sees_counts_as_that_of_the_feet_about_the_start_and_is_not_walked_on_elsewhere():
    """A camera in front: the robot sees what is ahead of it, and neither what is under it nor what is behind."""
    grid = ground(lambda x, y: np.where(x > 0.3, 0.0, math.nan))
    _, planner, here = walked(FORWARD, grid, 8.0)
    assert planner.view.mishap is None and here.x > 0.3
    _, planner, here = walked(Twist(-0.06, 0.0, 0.0), grid, 12.0)
    assert "the ground there is unknown" in planner.view.mishap.text
    assert here.x > -0.3


def explored(ends, seconds, gait="wave"):
    """A walk on ground of which only 0.3 m are seen, and that ends at x [m]: the last plan, planner and place."""
    grid = ground(lambda x, y: np.where(x < 0.3, 0.0, math.nan))
    planner = standing_planner("phantomx", gait)
    planner.sensors.adaptation = Adaptation(touch_down=True, explores=True)
    here = START
    for k in range(round(seconds / DT)):
        feet = walk_of(planner).motion.feet
        stands = [foot.z < 0.001 and here.apply(*foot.at[:2])[0] < ends for foot in feet]
        planner.sensors.contacts.take([(5.0 + 1e-3 * k) * each for each in stands])  # no sensor repeats a number
        stood = [foot.planted for foot in feet]
        plan, here = tick(planner, Twist(0.04, 0.0, 0.0), replace(grid, time=DT * k), here)
        lifts = [before and not foot.planted for before, foot in zip(stood, feet, strict=True)]
        hangs = [before and not each for before, each in zip(stood, stands, strict=True)]
        assert not (any(hangs) and any(lifts))
    return plan, planner, here


def test_ground_that_is_unknown_may_be_explored_by_feet_which_stop_the_walk_where_they_find_none():
    _, planner, here = explored(9.0, 16.0)
    assert planner.view.mishap is None and here.x > 0.4  # it walks on where ground is felt
    plan, planner, here = explored(0.5, 18.0)
    mishap = planner.view.mishap
    assert mishap.kind is MishapKind.NO_FOOTHOLD and "finds no ground within 30 mm below the other feet" in mishap.text
    assert plan.twist.is_zero and all(plan.planted)
    assert all(here.apply(*foot.at[:2])[0] < 0.5 for foot in walk_of(planner).motion.feet)  # it has gone back


def test_ground_that_is_unknown_is_not_explored_in_a_gait_in_which_the_robot_would_lean_on_the_foot():
    _, _, here = explored(9.0, 10.0, gait="tripod")
    assert here.x < 0.3


def rough_ground(seed):
    """A function of x and y [m] with blocks of random height."""
    heights = np.random.default_rng(seed).uniform(-0.03, 0.03, (60, 60))
    return lambda x, y: heights[np.floor((x + HALF) / 0.1).astype(int), np.floor(abs(y) / 0.1).astype(int)]


def choice(grid, row, disc, plane=None):
    """The foothold of a leg (row) of a robot that stands at the origin; `plane` is that of the ground about it."""
    planner = standing_planner("phantomx")
    robot = planner.robot
    placement = walk_of(planner).body.placement
    view = GroundView(grid, ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), (0.0, 0.0, 0.0), plane=plane)
    x, y = disc.center
    step = Step(row, (x - 0.02, y, 0.0), disc.center, disc, 0.5, 0.0, None, None)
    return FootholdChooser(robot).choose(view, step, ZERO, placement, (0.0, 0.0, 0.0))


@pytest.mark.parametrize("seed", range(3))
def test_a_chosen_foothold_is_flat_away_from_edges_and_in_the_disc_of_the_leg(seed):
    function = rough_ground(seed)
    robot = standing_planner("phantomx").robot
    for row, center in enumerate(robot.footholds):
        found = choice(ground(function), row, Disc(center, 0.05))
        if isinstance(found, Foothold):
            x, y, z = found.at
            assert math.dist((x, y), center) <= 0.05 + 1e-9
            around = robot.foot_radius * np.exp(1j * np.linspace(0.0, math.tau, 24))
            assert np.abs(ground(function).heights(x + around.real, y + around.imag) - z).max() < 0.01


@pytest.mark.parametrize("seed", range(3))
def test_the_same_ground_gives_the_same_foothold_again(seed):
    grid = ground(rough_ground(seed))
    center = standing_planner("phantomx").robot.footholds[0]
    assert choice(grid, 0, Disc(center, 0.05)) == choice(grid, 0, Disc(center, 0.05))


def test_a_foot_is_not_put_on_ground_of_which_only_a_bound_is_known():
    """A ray that passes over a gap bounds its depth: what stands in the map there may be as flat as a floor."""
    center = standing_planner("phantomx").robot.footholds[0]
    flat = ground(lambda x, y: np.where(x < center[0], -0.03, 0.0))
    low = flat.ground < -0.01
    grid = replace(flat, deviation=np.where(low, 0.2, 0.002))
    assert choice(grid, 0, Disc(center, 0.05)).at[0] > center[0]
    assert choice(replace(flat, deviation=np.full_like(flat.ground, 0.2)), 0, Disc(center, 0.05)).why.value == "uneven"
    slope = ground(lambda x, y: 0.1 * x)
    plane = plane_around(slope, (0.0, 0.0), 0.35)
    assert choice(slope, 0, Disc(center, 0.05), plane).even
    bound = replace(slope, deviation=np.full_like(slope.ground, 0.2))
    assert choice(bound, 0, Disc(center, 0.05), plane).why.value == "uneven"


def test_where_there_is_room_a_foot_keeps_away_from_a_wall_that_its_shank_would_touch():
    center = standing_planner("phantomx").robot.footholds[0]
    radius = standing_planner("phantomx").robot.foot_radius
    wall = ground(lambda x, y: np.where(abs(y - center[1]) < 0.03, 0.0, 0.04))
    one_side = ground(lambda x, y: np.where(y - center[1] > -0.02, 0.0, 0.04))
    assert choice(one_side, 0, Disc(center, 0.05)).at[1] - center[1] >= radius
    assert abs(choice(wall, 0, Disc(center, 0.05)).at[1] - center[1]) <= 0.015


@pytest.mark.parametrize("height", [0.03, -0.03, 0.04, -0.04])
def test_a_foot_is_put_on_a_slope_but_not_on_a_step_that_the_map_has_blurred_to_one(height):
    center = standing_planner("phantomx").robot.footholds[1]
    ramp = ground(lambda x, y: math.tan(math.radians(30.0)) * (x - center[0]))
    assert math.dist(choice(ramp, 1, Disc(center, 0.05)).at[:2], center) < CELL
    blur = 0.045  # [m] three cells of the map of a camera
    step = ground(lambda x, y: height * np.clip((x - center[0]) / blur, -0.5, 0.5))
    assert abs(choice(step, 1, Disc(center, 0.05)).at[0] - center[0]) > 0.5 * blur


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_where_there_is_room_a_foot_keeps_away_from_an_edge_by_more_than_where_there_is_none(side):
    """The place on the map and that in the world differ by the drift of odom: twice the margin is better."""
    center = standing_planner("phantomx").robot.footholds[0]
    radius = standing_planner("phantomx").robot.foot_radius
    wide = ground(lambda x, y: np.where(side * (x - center[0]) < 0.02, 0.0, -0.25))
    assert side * (center[0] - choice(wide, 0, Disc(center, 0.05)).at[0]) >= radius
    narrow = ground(lambda x, y: np.where(abs(x - center[0]) < 0.03, 0.0, -0.25))
    assert abs(choice(narrow, 0, Disc(center, 0.05)).at[0] - center[0]) <= 0.015


def drive(planner, grid, seconds, *, newer=True):
    """Walks forward for some seconds with maps of this ground, each newer than the last one or not."""
    for k in range(round(seconds / DT)):
        planner.command(FORWARD)
        walk = walk_of(planner)
        planner.sensors.contacts.take([5.0 if foot.z < 0.001 else 0.0 for foot in walk.motion.feet])
        seen = replace(grid, time=grid.time + DT * k) if newer else grid
        planner.see(seen, (np.eye(3), np.array((0.0, 0.0, walk.body.height))))
        planner.step(DT)


def test_a_map_that_gets_old_is_not_used_and_the_robot_says_so_and_walks_slowly_until_a_newer_one_comes():
    planner = standing_planner("phantomx")
    grid = ground(lambda x, y: 0.0 * x)
    drive(planner, grid, 2.0)
    speed = planner.view.walk.speed.twist.vx
    drive(planner, replace(grid, time=10.0), 5.0, newer=False)
    mishap = planner.view.mishap
    assert mishap.kind is MishapKind.SLOWED and "nothing new on terrain_map for 3 s" in mishap.text
    assert planner.view.walk.speed.twist.vx < 0.6 * speed
    drive(planner, replace(grid, time=20.0), 2.0)
    assert planner.view.mishap is None
    assert planner.view.walk.speed.twist.vx == pytest.approx(speed)


def test_a_map_that_does_not_fit_the_feet_is_not_used_and_the_robot_says_so_until_one_fits_again():
    planner = standing_planner("phantomx")
    planner.sensors.adaptation = Adaptation(touch_down=True)
    # Half of the feet stand on ground that the map shows 60 mm higher.
    drive(planner, ground(lambda x, y: np.where(y > 0.0, 0.06, 0.0)), 8.0)
    mishap = planner.view.mishap
    assert mishap.kind is MishapKind.SLOWED and "does not fit the feet" in mishap.text
    drive(planner, replace(ground(lambda x, y: 0.0 * x), time=100.0), 8.0)
    assert planner.view.mishap is None


@pytest.mark.parametrize("shift", [0.0, 0.04])
def test_a_map_that_lies_beside_uneven_ground_is_not_used_and_the_robot_says_so(shift):
    """The feet feel blocks of 30 mm up and down, of which the map is shifted or not."""
    planner = standing_planner("phantomx")
    planner.sensors.adaptation = Adaptation(touch_down=True)
    heights = np.random.default_rng(3).uniform(-0.03, 0.03, (60, 60))

    def blocks(x, y):
        columns = np.floor((x + 4.5) / 0.15).astype(int)
        return heights[columns, np.floor((y + 4.5) / 0.15).astype(int)]

    shifted = ground(lambda x, y: blocks(x - shift, y))
    here = START
    for k in range(round(20.0 / DT)):
        feet = walk_of(planner).motion.feet
        under = [float(blocks(*map(np.asarray, here.apply(*foot.at[:2])))) for foot in feet]
        touches = [foot.z < z + 0.001 for foot, z in zip(feet, under, strict=True)]
        planner.sensors.contacts.take([(5.0 + 1e-3 * k) * each for each in touches])
        _, here = tick(planner, FORWARD, replace(shifted, time=DT * k), here)
        if planner.view.sight is Sight.SHIFTED:
            break
    assert (planner.view.sight is Sight.SHIFTED) == (shift > 0.0)
    mishap = planner.view.mishap
    assert not shift or (mishap.kind is MishapKind.SLOWED and "lies beside the ground" in mishap.text)
