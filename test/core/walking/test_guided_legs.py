# SPDX-License-Identifier: Apache-2.0
"""Guided feet and their paths, without ROS."""

import math
import random
import re
from itertools import pairwise

import numpy as np
import pytest
from support.drives import DT, ROBOTS, robot, standing_planner, walk_of
from support.suite.soak import some

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose, Placement
from hexapod_control.core.kinematics.leg_clearance import LegNeighbours
from hexapod_control.core.kinematics.whole_body import joints_at_contact, joints_at_offset
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.statics.static_stability import center_of_mass_in_footprint, static_margin
from hexapod_control.core.walking.foot import STANCE, Foot, Guided, GuidedPhase, Swing, stopping_point
from hexapod_control.core.walking.guided_legs import (
    GroundPoint,
    advance_along_path,
    advance_guided_feet,
    hold_feet_in_air,
    lift_off,
    path_between,
    points_along,
    return_to_footholds,
    shift_away,
    start_guiding,
    supporting_contacts,
)
from hexapod_control.core.workspace.stance_regions import nominal_stance

GUIDED_ACCELERATION, GUIDED_SPEED = 0.8, 0.15  # [m/s^2, m/s]
ARRIVAL_DISTANCE, CLEARANCE_HEIGHT = 2e-4, 0.02  # [m]
MASS_SHARE, MIN_MARGIN = 0.8, 0.02  # [-, m]
SHIFTS = tuple(0.005 * k for k in range(13))  # [m]

MAX_OVERSHOOT = 2e-3  # [m] where a path turns
PATH_STEP_M = 0.01  # between two checked points of a path
LIFT_OFF_MARGIN_M = 0.016  # static margin of the other feet
MIN_GAP_M = 0.006  # between neighbouring legs
ROUNDED = 1.0001  # factor on a limit, for rounding errors
GOALS = ((0.06, 0.0, 0.003), (0.03, -0.05, 0.0), (0.02, 0.03, 0.05), (-0.04, 0.0, 0.01))  # [m]


def guided_along(foot: Guided, reachable, seconds: float = 4.0) -> list[tuple[float, float, float]]:
    """Positions [m] of a foot that starts at the origin; checks the limits of its speed and acceleration."""
    places = [(0.0, 0.0, 0.0)]
    for _ in range(round(seconds / DT)):
        before = foot.velocity
        places.append(advance_along_path(foot, DT, places[-1], reachable))
        assert math.dist(places[-1], places[-2]) <= GUIDED_SPEED * DT * ROUNDED
        assert math.dist(before, foot.velocity) <= GUIDED_ACCELERATION * DT * ROUNDED
    return places


@pytest.mark.parametrize("goal", GOALS)
def test_a_guided_foot_does_not_overshoot_its_path(goal):
    start = (0.0, 0.0, 0.0)
    points = path_between(start, goal)
    places = np.array(guided_along(Guided(points, phase=GuidedPhase.MOVING), lambda at: True))
    corners = np.array([start, *points])
    assert (places >= corners.min(axis=0) - MAX_OVERSHOOT).all()
    assert (places <= corners.max(axis=0) + MAX_OVERSHOOT).all()
    assert math.dist(places[-1], goal) <= ARRIVAL_DISTANCE


def test_a_guided_foot_waits_before_a_point_out_of_reach_and_continues_once_it_is_in_reach():
    foot = Guided(path_between((0.0, 0.0, 0.0), GOALS[0]), phase=GuidedPhase.MOVING)
    wall = [0.03]  # [m] how far forward the foot can be in the present pose of the body
    waited = guided_along(foot, lambda at: at[0] <= wall[0])
    assert max(x for x, _, _ in waited) <= wall[0] and waited[-1] == waited[-2]
    assert waited[-1][0] > wall[0] - 1e-3 and foot.phase is GuidedPhase.HELD
    wall[0] = 1.0
    x, y, z = waited[-1]
    for _ in range(round(4.0 / DT)):
        x, y, z = advance_along_path(foot, DT, (x, y, z), lambda at: at[0] <= wall[0])
    assert foot.phase is GuidedPhase.ARRIVED and math.dist((x, y, z), GOALS[0]) <= ARRIVAL_DISTANCE


@pytest.mark.parametrize("name", some(ROBOTS, "article"))
def test_a_foot_that_returns_at_any_time_does_not_rise_above_its_height(name):
    planner = standing_planner(name)
    leg = robot(name).leg_names.index("left_rear")
    size = robot(name).walk.height / 0.1
    goal = planner.step(DT).feet[leg] + size * np.array([0.03, 0.0, 0.004])
    assert planner.guide_foot("left_rear", tuple(goal)) is None
    heights = []
    for wait in range(10, 60, 5):
        called = planner.copy()
        for tick in range(300):
            if tick == wait:
                called.halt()
            plan = called.step(DT)
            assert plan.unreached is None and plan.blocked is None
            before, z = heights[-1] if tick else 0.0, walk_of(called).motion.feet[leg].z
            assert abs(z - before) <= GUIDED_SPEED * DT * 1.001  # it stands only once it has come down
            heights.append(z)
        assert plan.state is RobotState.STANDING
    assert CLEARANCE_HEIGHT - 1e-3 < max(heights) <= CLEARANCE_HEIGHT + MAX_OVERSHOOT


def test_a_body_pose_in_which_the_robot_would_tip_with_a_foot_in_the_air_is_refused():
    planner = standing_planner("phantomx")
    x, y = planner.view.neutral_footholds()[0]
    assert planner.guide_foot_over_ground(robot("phantomx").leg_names[0], (x, y, 0.04)) is None
    for _ in range(150):
        planner.step(DT)
    for goal in (BodyPose(x=0.08, y=0.08), BodyPose(x=0.12)):
        assert str(planner.request_pose(goal)) == "refused: with a leg in the air the robot would tip"
    for goal in (BodyPose(x=0.04), BodyPose(x=-0.03, y=-0.03)):
        assert planner.request_pose(goal) is None


@pytest.mark.parametrize("name", ROBOTS)
def test_the_body_moves_to_a_pose_only_after_feet_that_could_not_lift_off_in_it_have_returned(name):
    planner, machine = standing_planner(name), robot(name)
    size = machine.walk.height / 0.1
    before = planner.step(DT)
    held, placed = machine.leg_names.index("left_middle"), machine.leg_names.index("right_front")
    assert planner.guide_foot("left_middle", tuple(before.feet[held] + np.array([0.0, 0.0, 0.03 * size]))) is None
    last_plan(planner, 100)
    inwards = 0.85 * planner.capabilities.stances.at(machine.walk.height).radii[placed]
    x, y = before.contacts[placed]
    assert planner.guide_foot_over_ground("right_front", (x, y + inwards, 0.0)) is None
    last_plan(planner, 200)
    planner.request_pose(BodyPose(0.0, -0.0102, -0.0275, -0.0055, 0.1384, 0.1481))
    planner.release_feet()
    plan = last_plan(planner, 500)
    assert plan.state is RobotState.STANDING and plan.pose == walk_of(planner).body.pose.standing_goal != NEUTRAL


def test_the_body_stops_turning_before_a_guided_foot_gets_out_of_reach():
    planner = standing_planner("phantomx")
    leg = planner.robot.leg_names.index("left_rear")
    for ticks in (30, 1):
        goal = planner.step(DT).feet[leg] + np.array([0.05, 0.0, 0.05])
        planner.guide_foot("left_rear", tuple(goal))
        last_plan(planner, ticks)
    planner.request_pose(BodyPose(yaw=-0.15))
    assert last_plan(planner, 100).pose.yaw > -0.15


def last_plan(planner: Planner, ticks: int) -> TickPlan:
    """The last of some ticks, in all of which every foot is in reach."""
    for _ in range(ticks):
        plan = planner.step(DT)
        assert plan.unreached is None
    return plan


def test_a_foot_that_cannot_return_in_the_body_pose_returns_with_a_level_body_and_the_pose_is_restored():
    planner, machine = standing_planner("phantomx"), robot("phantomx")
    leg, spread = machine.leg_names.index("right_middle"), (0.03, 0.03, 0.03, 0.15, 0.15, 0.15)
    x, y = planner.step(DT).contacts[leg]
    rng = random.Random(10)
    for _ in range(40):
        if rng.random() < 0.6:
            aside, ahead, up = (0.05 * rng.uniform(-1.0, 1.0) for _ in range(3))
            planner.guide_foot_over_ground("right_middle", (x + aside, y + ahead, max(0.005, up)))
        else:
            planner.request_pose(BodyPose(*(size * rng.uniform(-1.0, 1.0) for size in spread)))
        last_plan(planner, rng.choice((3, 8, 15, 30)))
    planner.release_feet()
    plan = last_plan(planner, 400)
    assert plan.state is RobotState.STANDING and plan.pose == walk_of(planner).body.pose.standing_goal != NEUTRAL


@pytest.mark.parametrize(
    ("goal", "far"),
    [((150.0, 0.0, 0.0), True), ((1.5, 0.0, 0.0), True), ((0.2, 0.1, 0.9), True), ((0.5, 0.2, 0.0), False)],
)
def test_a_goal_far_out_of_reach_is_refused_with_the_unit_to_send(goal, far):
    planner = standing_planner("phantomx")
    refusal = planner.guide_foot(planner.robot.leg_names[0], goal)
    assert refusal and ("far out of reach; send metres" in str(refusal)) == far


def test_a_foot_is_not_guided_to_where_it_would_touch_another_leg():
    planner = standing_planner("phantomx")
    contacts = planner.step(DT).contacts
    x, y = contacts[planner.robot.leg_names.index("left_front")]
    refusal = planner.guide_foot_over_ground("left_middle", (x, y, 0.03))
    assert re.fullmatch(r"left_middle: at \(.*\) m on its path it would touch left_front", str(refusal))


def test_the_body_shifts_towards_the_middle_of_the_other_feet_just_as_far_as_they_need_to_support_it():
    rng, feet, sizes = random.Random(4), [leg.foothold for leg in robot("phantomx").legs], set()
    for _ in range(60):
        others, mass = rng.sample(feet, rng.choice((3, 4, 5))), (rng.uniform(-0.06, 0.06), rng.uniform(-0.06, 0.06))
        away = np.mean(others, axis=0) - mass
        fitting = [
            size * away / np.linalg.norm(away)
            for size in SHIFTS
            if static_margin(others, mass + MASS_SHARE * size * away / np.linalg.norm(away)) >= MIN_MARGIN
        ]
        found = shift_away(others, mass)
        sizes.add(None if found is None else round(math.hypot(*found), 6))
        assert (found is None) == (not fitting)
        assert found is None or found == pytest.approx(tuple(fitting[0]))
    assert {None, 0.0} < sizes
    middle = tuple(np.mean(feet, axis=0).tolist())
    assert shift_away(feet, middle) == (0.0, 0.0) and shift_away(feet[:2], middle) is None


def test_feet_that_are_guided_or_in_the_air_do_not_support_the_robot():
    feet = [Foot(float(k), 0.5) for k in range(5)]
    feet[1].state, feet[2].state = Guided(((0.0, 0.0, 0.1),)), Swing(0.5, 1.0, 0.03)
    assert supporting_contacts(feet, 3) == [(0.0, 0.5), (4.0, 0.5)]
    assert supporting_contacts(feet, -1) == [(0.0, 0.5), (3.0, 0.5), (4.0, 0.5)]


@pytest.mark.parametrize(
    ("start", "goal", "between"),
    [
        ((0.0, 0.0, 0.0), (0.05, 0.01, 0.0), [(0.0, 0.0, 0.02), (0.05, 0.01, 0.02)]),
        ((0.0, 0.0, 0.0), (0.004, 0.004, 0.0), [(0.0, 0.0, 0.02)]),  # hardly to the side
        ((0.0, 0.0, 0.03), (0.05, 0.01, 0.0), [(0.05, 0.01, 0.02)]),
        ((0.0, 0.0, 0.01), (0.05, 0.01, 0.04), [(0.0, 0.0, 0.02)]),
        ((0.0, 0.0, 0.03), (0.05, 0.01, 0.04), []),
    ],
)
def test_a_path_leads_up_across_and_down_and_is_straight_where_the_foot_is_high_enough(start, goal, between):
    path = path_between(start, goal)
    assert path == (*between, goal)
    points = np.array(points_along(start, path))
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    assert tuple(points[0]) == start and tuple(points[-1]) == pytest.approx(goal)
    assert all(np.abs(points - corner).sum(axis=1).min() < 1e-12 for corner in path)
    assert steps.max() <= PATH_STEP_M + 1e-12 and steps.sum() == pytest.approx(
        sum(math.dist(a, b) for a, b in pairwise((start, *path)))
    )
    assert len(steps) < steps.sum() / PATH_STEP_M + len(path)


def test_a_guided_foot_speeds_up_to_its_speed_and_brakes_with_less_than_its_acceleration():
    places = guided_along(Guided(((0.1, 0.0, 0.05),), phase=GuidedPhase.MOVING), lambda at: True)
    speeds = np.linalg.norm(np.diff(places, axis=0), axis=1) / DT
    changes = np.diff(speeds) / DT
    assert speeds[0] == pytest.approx(GUIDED_ACCELERATION * DT) and speeds.max() == pytest.approx(GUIDED_SPEED)
    assert changes.max() == pytest.approx(GUIDED_ACCELERATION)
    braking = changes[np.flatnonzero(speeds == speeds.max())[-1] :]
    assert np.median(braking[braking < -0.1]) == pytest.approx(-0.8 * GUIDED_ACCELERATION)


# --- single feet, without a planner -------------------------------------------------------------------------

MACHINE = robot("phantomx")
JOINTS = joints_at_offset(MACHINE, [leg.foothold for leg in MACHINE.legs], 0.0)
LEVEL = Placement(NEUTRAL, MACHINE.walk.height)


def standing():
    return [Foot(*leg.foothold) for leg in MACHINE.legs]


def test_a_foot_on_the_ground_waits_to_lift_off_and_one_in_the_air_turns_to_its_new_goal_from_where_it_can_stop():
    feet, (x, y) = standing(), MACHINE.legs[1].foothold
    goal = GroundPoint(x + 0.02, y, 0.03)
    assert start_guiding(MACHINE, feet, NEUTRAL, 1, goal, JOINTS) is None
    waits = Guided(path_between((x, y, 0.0), goal), (0.0, 0.0, 0.0), origin=(x, y))
    assert feet[1].state == waits and feet[1].planted
    velocity = (0.05, 0.0, -0.02)
    feet[1].z, feet[1].state = 0.03, Guided((goal,), velocity, GuidedPhase.MOVING)
    back = GroundPoint(x, y, -0.01)  # below the ground: on it
    assert start_guiding(MACHINE, feet, NEUTRAL, 1, back, JOINTS) is None
    path = path_between(stopping_point((x, y, 0.03), velocity), (x, y, 0.0))
    assert feet[1].state == Guided(path, velocity, GuidedPhase.MOVING) and not feet[1].planted


def test_lifted_feet_are_held_and_return_to_their_footholds_while_a_waiting_one_just_stands():
    feet, stance = standing(), nominal_stance(MACHINE)
    hold_feet_in_air(feet, {2: 0.03})
    assert feet[2].z == 0.03 and feet[2].state == Guided((feet[2].at,), phase=GuidedPhase.MOVING)
    assert [foot.planted for foot in feet] == [leg != 2 for leg in range(6)]
    feet[0].state = Guided(((0.3, 0.2, 0.02),))
    feet[2].state.velocity = (0.02, 0.0, 0.04)
    return_to_footholds(feet, stance)
    start, returning = stopping_point(feet[2].at, (0.02, 0.0, 0.04)), feet[2].state
    assert returning == Guided(
        path_between(start, (*stance.footholds[2], 0.0)), (0.02, 0.0, 0.04), phase=GuidedPhase.MOVING
    )
    assert [foot.state is STANCE for foot in feet] == [leg != 2 for leg in range(6)]
    return_to_footholds(feet, stance)
    assert feet[2].state is returning
    for _ in range(200):
        advance_guided_feet(MACHINE, feet, (LEVEL,), DT)
    assert feet[2].state is STANCE and feet[2].at == pytest.approx((*stance.footholds[2], 0.0), abs=ARRIVAL_DISTANCE)


def test_a_foot_on_a_path_waits_where_it_could_not_stop_in_reach_of_every_placement_of_the_body():
    for placements, arrives in (((LEVEL,), True), ((LEVEL, Placement(BodyPose(x=-0.3), MACHINE.walk.height)), False)):
        feet, (x, y) = standing(), MACHINE.legs[1].foothold
        feet[1].state = Guided(((x, y, 0.03),), phase=GuidedPhase.MOVING)
        for _ in range(60):
            advance_guided_feet(MACHINE, feet, placements, DT)
        phase = GuidedPhase.ARRIVED if arrives else GuidedPhase.HELD
        assert feet[1].state.phase is phase and (feet[1].z > 0.0) == arrives


def test_one_waiting_foot_lifts_off_at_a_time_once_the_others_support_the_robot_with_16_millimetres_to_spare():
    lifted = []
    for k in range(40):
        feet, pose = standing(), BodyPose(y=-0.08 + 0.004 * k)
        feet[0].state, feet[1].state = Guided(((0.0, 0.0, 0.1),)), Guided(((0.0, 0.0, 0.1),))
        margin = static_margin(supporting_contacts(feet, 0), center_of_mass_in_footprint(MACHINE, JOINTS, pose))
        lift_off(MACHINE, feet, pose, JOINTS)
        lifted.append(not feet[0].state.planted)
        assert lifted[-1] == (margin >= LIFT_OFF_MARGIN_M) and feet[1].state.planted
    assert True in lifted and False in lifted
    feet[0].state.phase = GuidedPhase.WAITING
    for foot in feet[1:4]:
        foot.state = Swing(0.5, 1.0, 0.03)
    lift_off(MACHINE, feet, NEUTRAL, JOINTS)  # only two others stand
    assert feet[0].state.planted


@pytest.mark.parametrize("far", [1.9, 2.1])
def test_a_goal_farther_than_twice_the_length_of_the_leg_is_refused_as_one_in_other_units(far):
    leg = MACHINE.legs[0]
    length, (x, y, _) = far * (leg.coxa.length + leg.femur.length + leg.tibia.length), leg.hip
    for goal in (GroundPoint(x, y + length, 0.0), GroundPoint(*leg.foothold, length), GroundPoint(x, y, -length)):
        refusal = start_guiding(MACHINE, standing(), NEUTRAL, 0, goal, JOINTS)
        assert str(refusal).startswith(leg.name) and ("send metres" in str(refusal)) == (far > 2.0)


def test_a_foot_comes_no_nearer_than_six_millimetres_to_a_neighbour():
    neighbours, (x0, y0), (x1, y1) = LegNeighbours.of(MACHINE), MACHINE.legs[1].foothold, MACHINE.legs[0].foothold
    gaps = []
    for share in np.linspace(0.8, 1.0, 25).tolist():
        goal, row = GroundPoint(x0 + share * (x1 - x0), y0 + share * (y1 - y0), 0.03), list(JOINTS)
        nearest = math.inf
        for x, y, z in points_along((x0, y0, 0.0), path_between((x0, y0, 0.0), goal))[1:]:
            row[1], reason, _ = joints_at_contact(MACHINE.legs[1], (x, y), z, LEVEL, MACHINE.foot_radius)
            assert reason is None
            nearest = min(nearest, neighbours.gap(row).distance)
        refusal = start_guiding(MACHINE, standing(), NEUTRAL, 1, goal, JOINTS)
        assert ("it would touch left_front" in str(refusal)) == (nearest < MIN_GAP_M) == bool(refusal)
        gaps.append(nearest)
    assert min(gaps) < MIN_GAP_M and any(MIN_GAP_M < gap < MIN_GAP_M + 0.002 for gap in gaps)  # both cases, closely
