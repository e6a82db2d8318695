# SPDX-License-Identifier: Apache-2.0
"""The motion player and its steps, without ROS.

The rules C1 to C7 are those of "We revive the hexapod, part 2", D10 of "Assembling and running a budget hexapod";
docs/sources.md lists them.
"""

import itertools
import math

import numpy as np
import pytest
from support.drives import DT, ROBOTS, robot, standing_planner
from support.suite.soak import some

from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.kinematics.leg_clearance import LegNeighbours
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.kinematics.se2 import ZERO, Twist, exp
from hexapod_control.core.kinematics.se2 import Pose as Place
from hexapod_control.core.motions.motion_player import (
    MotionEnd,
    MotionOutcome,
    MotionPlayer,
    PlayerState,
    RehearsedMotion,
)
from hexapod_control.core.motions.motion_rehearsal import MotionRehearsal
from hexapod_control.core.motions.motion_steps import (
    ArcStep,
    Choreography,
    FeetStep,
    GaitStep,
    HeightStep,
    JointsStep,
    LegStep,
    MotionError,
    PackStep,
    PoseStep,
    RotateStep,
    SitStep,
    StandStep,
    SwayStep,
    TogetherStep,
    UnpackStep,
    WaitStep,
    WalkStep,
)
from hexapod_control.core.motions.step_execution import MAX_STEPS_PER_TICK
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.walking.walk_settings import WalkSettings

MAX_DURATION_S = 120.0
NO_ROOM = Refusal("no_room", "no room")


def fitted(name: str, motion: Choreography) -> Choreography:
    return motion.scaled(robot(name).walk.height / 0.1)


def rehearsed(on: str, *steps, **more):
    return MotionRehearsal(robot(on), fitted(on, Choreography(more.pop("name", "test"), "", steps, **more))).finish()


def plans_of(name: str, *steps, **more) -> tuple[list[TickPlan], MotionPlayer]:
    """All plans of a motion, from standing until the motion has ended."""
    player = MotionPlayer(standing_planner(name))
    player.execute(rehearsed(name, *steps, **more))
    return until(player, lambda: not player.name), player


def until(player: MotionPlayer, reached) -> list[TickPlan]:
    plans = []
    for _ in range(round(MAX_DURATION_S / DT)):
        plans.append(player.step(DT))
        if reached():
            return plans
    raise AssertionError(f"still playing {player.name!r} ({player.phase}) after {MAX_DURATION_S} s")


def displacement(plans: list[TickPlan]) -> Place:
    """The displacement of the body: the integral of the executed twists."""
    place = Place(0.0, 0.0, 0.0)
    for plan in plans:
        place = place @ exp(plan.twist, DT)
    return place


def test_a_new_motion_waits_for_the_end_of_the_cycle_and_a_newer_one_takes_its_place():
    """Article C1: one motion at a time, one next; executing another lets the running one finish its cycle."""
    player = MotionPlayer(standing_planner("phantomx"))
    first, second, third = (rehearsed("phantomx", WaitStep(0.5), name=n, loops=0) for n in ("first", "second", "third"))
    player.execute(first)
    assert (player.state, player.name) == (PlayerState.RUNNING, "first")
    player.step(DT)
    player.execute(second)
    player.execute(third)
    assert (player.state, player.name, player.waiting) == (PlayerState.STOPPING, "first", "third")
    names = []
    for _ in range(100):
        player.step(DT)
        names.append(player.name)
    assert names.count("first") == pytest.approx(0.5 / DT, abs=2) and "second" not in names
    assert (player.state, player.name, player.waiting) == (PlayerState.RUNNING, "third", "")
    player.finish_cycle()
    until(player, lambda: player.state is PlayerState.NONE)
    assert player.name == "" and player.waiting == ""


@pytest.mark.parametrize("ends", ["stop", "total time", "loops"])
def test_a_cyclic_motion_ends_at_the_end_of_a_cycle(ends):
    """Article C2: stopped, or after a total time, it still finishes its cycle."""
    player = MotionPlayer(standing_planner("phantomx"))
    more = {"total time": {"loops": 0, "total_time": 1.2}, "loops": {"loops": 3}, "stop": {"loops": 0}}[ends]
    player.execute(rehearsed("phantomx", WaitStep(0.5), **more))
    if ends == "stop":
        for _ in range(round(1.2 / DT)):
            player.step(DT)
        player.finish_cycle()
    time = len(until(player, lambda: not player.name)) * DT + (1.2 if ends == "stop" else 0.0)
    assert time == pytest.approx(1.5, abs=0.1)


def test_a_player_reports_step_progress_and_outcome_of_motions_and_applies_settings_after_them():
    player = MotionPlayer(standing_planner("phantomx"))
    assert (player.state, player.name, player.phase, player.refusal) == (PlayerState.NONE, "", "", None)
    assert (player.waiting, player.progress, player.take_outcomes()) == ("", 0.0, [])
    player.change_settings(lift=0.8)
    assert player.planner.view.settings.lift == 0.8
    poses = PoseStep(z=0.01, duration=0.3), PoseStep(duration=0.3)
    motion = rehearsed("phantomx", WaitStep(0.4), *poses, loops=2)
    player.execute(motion)
    player.change_settings(lift=0.5)
    phases, shares = [], []
    while player.name:
        player.step(DT)
        if player.name:
            phases.append(player.phase)
            shares.append(player.progress)
            assert player.planner.view.settings.lift == 0.8
    assert player.planner.view.settings.lift == 0.5
    assert [phase for phase, _ in itertools.groupby(phases)] == ["wait", "pose", "wait", "pose"]
    begins = [k for k, (a, b) in enumerate(itertools.pairwise(shares)) if b < a]
    assert len(begins) == 1 and min(shares[begins[0]], shares[-1]) > 0.9 and max(shares) <= 1.0
    assert shares[0] == shares[begins[0] + 1] == pytest.approx(DT / motion.duration, abs=1.5 * DT / motion.duration)
    assert player.take_outcomes() == [MotionOutcome("test", MotionEnd.DONE, 1.0)] and player.take_outcomes() == []
    for reason, end in ((NO_ROOM, MotionEnd.REFUSED), (None, MotionEnd.CANCELLED)):
        player.execute(motion)
        assert player.refusal is None
        for _ in range(10):
            player.step(DT)
        player.cancel(reason)
        assert player.refusal == reason and player.name == ""
        (outcome,) = player.take_outcomes()
        assert outcome._replace(progress=0.0) == MotionOutcome("test", end, 0.0, reason)
        assert 0.0 < outcome.progress <= 10 * DT / motion.duration
    player.cancel(NO_ROOM)
    assert player.take_outcomes() == [] and player.refusal is None


def test_steps_without_a_duration_are_spread_over_ticks():
    player = MotionPlayer(standing_planner("phantomx"))
    steps = (TogetherStep((WaitStep(0.0),) * 100), *(WaitStep(0.0),) * 300)
    player.execute(RehearsedMotion(Choreography("instant", "", steps), 1.0))
    assert len(until(player, lambda: not player.name)) >= 400 / MAX_STEPS_PER_TICK


@pytest.mark.parametrize("name", ROBOTS)
def test_feet_go_straight_from_points_to_points_in_the_given_time(name):
    """Article C3: every foot linear from one set of Cartesian points to another."""
    planner = standing_planner(name)
    start = planner.step(DT).feet
    size = robot(name).walk.height / 0.1
    goal = start + size * np.array([0.004, -0.006, 0.008])
    assert planner.move_feet(goal, 1.0) is None
    plans = [planner.step(DT) for _ in range(round(1.0 / DT))]
    for plan in plans:
        share = ((plan.feet - start) * (goal - start)).sum(axis=1) / ((goal - start) ** 2).sum(axis=1)
        assert np.allclose(plan.feet, start + share[:, None] * (goal - start), atol=1e-9)
        assert np.ptp(share) < 1e-9  # all together
        assert plan.state is RobotState.MOVING and plan.margin > 0.0
    assert np.allclose(plans[-1].feet, goal, atol=1e-9)
    assert planner.step(DT).state is RobotState.STANDING


@pytest.mark.parametrize("name", ROBOTS)
def test_joints_go_straight_from_angles_to_angles_in_the_given_time(name):
    """Article C4: every joint linear from one set of angles to another."""
    planner = Planner(robot(name))
    start = planner.view.lying_joints
    planner.set_measured_joints(start)
    goal = np.tile((0.0, 0.3, -0.3), (6, 1))
    assert planner.move_joints(goal, 3.0) is None
    plans = [planner.step(DT) for _ in range(round(3.0 / DT))]
    way = (goal - start).ravel()
    for plan in plans:
        share = (plan.joint_angles - start).ravel()[way != 0.0] / way[way != 0.0]
        assert np.ptp(share) < 1e-9 and plan.feet is None  # commanded in joint space
    assert np.allclose(plans[-1].joint_angles, goal, atol=1e-9) and planner.step(DT).state is RobotState.SITTING


@pytest.mark.parametrize("name", ROBOTS)
def test_a_walk_step_covers_its_distance_and_restores_gait_step_height_and_tempo(name):
    """Article C5: velocity, lift and step time of its own, for a way or a time."""
    size = robot(name).walk.height / 0.1
    step = WalkStep(x=0.05, y=0.02, lift=0.6, tempo=1.3, distance=0.4)
    plans, player = plans_of(name, GaitStep("ripple"), step)
    place = displacement(plans)
    assert math.hypot(place.x, place.y) == pytest.approx(0.4 * size, abs=0.01)
    assert math.atan2(place.y, place.x) == pytest.approx(math.atan2(0.02, 0.05), abs=0.01)
    walk = robot(name).walk
    lifts = [plan.feet[:, 2].max() - plan.feet[:, 2].min() for plan in plans if plan.feet is not None]
    assert max(lifts) == pytest.approx(0.6 * walk.lift_height, rel=0.05)
    planner = player.planner
    assert planner.view.settings == WalkSettings(planner.capabilities.selection("tripod"))


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("angle_deg", [90.0, -45.0])
def test_rotating_about_z_turns_the_robot_on_the_spot(name, angle_deg):
    """Article C6: rotation about an axis through the body center; z turns the robot."""
    plans, _ = plans_of(name, RotateStep("z", math.radians(angle_deg)))
    place = displacement(plans)
    assert math.degrees(place.yaw) == pytest.approx(angle_deg, abs=3.0) and math.hypot(place.x, place.y) < 1e-6


@pytest.mark.parametrize(("axis", "coordinate"), [("x", "roll"), ("y", "pitch")])
def test_rotating_about_x_and_y_rocks_the_body_to_both_sides(axis, coordinate):
    """Article C6: x and y roll and pitch the body."""
    plans, _ = plans_of("phantomx", RotateStep(axis, 0.1, times=2))
    angles = [getattr(plan.pose, coordinate) for plan in plans]
    assert max(angles) == pytest.approx(0.1, rel=0.12) and min(angles) == pytest.approx(-0.1, rel=0.12)
    assert plans[-1].pose == pytest.approx(NEUTRAL) and all(all(plan.planted) for plan in plans)


def test_a_walk_on_the_spot_steps_while_the_body_sways():
    plans, _ = plans_of(
        "phantomx", TogetherStep(steps=(WalkStep(duration=3.0), SwayStep(x=0.012, y=0.012, period=1.5, rounds=2.0)))
    )
    assert any(not all(plan.planted) for plan in plans)
    place = displacement(plans)
    assert math.hypot(place.x, place.y) < 1e-4
    assert max(plan.pose.x for plan in plans) > 0.008 and min(plan.pose.y for plan in plans) < -0.008


@pytest.mark.parametrize("name", ROBOTS)
def test_a_guided_leg_reaches_its_goal_exactly_while_the_others_support_the_robot(name):
    planner = standing_planner(name)
    size = robot(name).walk.height / 0.1
    leg = robot(name).leg_names.index("right_front")
    before = planner.step(DT)
    goal = tuple(before.feet[leg] + size * np.array([0.02, -0.01, 0.06]))
    assert planner.guide_foot("right_front", goal) is None
    plans = [planner.step(DT) for _ in range(round(4.0 / DT))]
    assert np.allclose(plans[-1].feet[leg], goal, atol=1e-3) and plans[-1].state is RobotState.MOVING
    for plan in plans:
        others = [down for k, down in enumerate(plan.planted) if k != leg]
        assert all(others) and plan.margin > 0.01
    planner.release_feet()
    plans = [planner.step(DT) for _ in range(round(4.0 / DT))]
    assert plans[-1].state is RobotState.STANDING and np.allclose(
        plans[-1].contacts[leg], before.contacts[leg], atol=1e-3
    )


def test_a_leg_is_refused_with_a_reason_if_the_robot_would_tip_or_walks_or_cannot_reach():
    planner = standing_planner("phantomx")
    feet = planner.step(DT).feet
    up = np.array([0.0, 0.0, 0.04])
    for leg in ("left_front", "left_middle"):
        assert planner.guide_foot(leg, tuple(feet[robot("phantomx").leg_names.index(leg)] + up)) is None
        for _ in range(150):
            plan = planner.step(DT)
    assert "would not support the robot" in str(planner.guide_foot("left_rear", tuple(feet[2] + up)))
    assert plan.margin > 0.01 and sum(plan.planted) == 4
    assert "out of reach" in str(planner.guide_foot("left_front", (0.6, 0.3, 0.0))) or "too far" in str(
        planner.guide_foot("left_front", (0.6, 0.3, 0.0))
    )
    assert "unknown leg" in str(planner.guide_foot("tail", (0.0, 0.0, 0.0)))
    planner.command(Twist(0.05, 0.0, 0.0))
    for _ in range(200):
        planner.step(DT)
    assert planner.state is RobotState.WALKING and "stop first" in str(
        planner.guide_foot("left_front", tuple(feet[0] + up))
    )


@pytest.mark.parametrize("name", ROBOTS)
def test_folded_for_transport_the_robot_is_smaller_and_unfolds_again(name):
    plans, player = plans_of(name, PackStep())
    states = [plan.state for plan in plans]
    assert states.index(RobotState.SINKING) < states.index(RobotState.MOVING, states.index(RobotState.SINKING))
    assert player.planner.state is RobotState.SITTING
    lying = forward(robot(name), player.planner.view.lying_joints)
    packed = forward(robot(name), plans[-1].joint_angles)
    assert np.abs(packed[:, :2]).max() < np.abs(lying[:, :2]).max()
    assert (packed[:, 2] > robot(name).body.center[2] - robot(name).body.size[2] / 2).all()  # above the ground
    assert LegNeighbours.of(robot(name)).gap(plans[-1].joint_angles.tolist()).distance > 0.003
    player.execute(rehearsed(name, UnpackStep(), StandStep(), start="sitting"))
    until(player, lambda: not player.name)
    assert player.planner.state is RobotState.STANDING


@pytest.mark.parametrize("name", some(ROBOTS, "article"))
def test_a_twist_ends_a_motion_and_is_followed_and_a_zero_leaves_it_alone(name):
    player = MotionPlayer(standing_planner(name))
    player.execute(rehearsed(name, LegStep("left_front", z=0.04), WaitStep(20.0)))
    for _ in range(100):
        player.command(ZERO)
        player.step(DT)
    assert player.name == "test" and player.planner.state is RobotState.MOVING
    player.command(Twist(0.02, 0.0, 0.0))
    assert player.name == ""
    plans = [player.step(DT) for _ in range(round(8.0 / DT))]
    assert plans[-1].twist.vx == pytest.approx(0.02) and all(plan.margin > 0.0 for plan in plans)


@pytest.mark.parametrize("name", some(ROBOTS, "phantomx"))
def test_the_height_is_changed_while_walking_and_every_foothold_stays_in_reach(name):
    """Article A6: the neutral foothold moves with the height so that the leg stays in reach."""
    size = robot(name).walk.height / 0.1
    steps = (WalkStep(x=0.03, duration=3.0), HeightStep(0.012, 2.0))
    plans, _ = plans_of(
        name, TogetherStep(steps=steps), TogetherStep(steps=(ArcStep(0.015, 0.5, 3.0), HeightStep(-0.012, 2.0)))
    )
    heights = [plan.pose.z for plan in plans]
    assert max(heights) == pytest.approx(0.012 * size, rel=0.01) and min(heights) < -0.011 * size
    assert all(plan.unreached is None for plan in plans)


@pytest.mark.parametrize(("travel", "curvature"), [(0.02, 1.0), (0.02, -1.0), (-0.02, 0.5)])
def test_an_arc_has_the_twist_of_its_travel_and_curvature(travel, curvature):
    plans, _ = plans_of("phantomx", ArcStep(travel, curvature, 3.0))
    fastest = max(plans, key=lambda plan: abs(plan.twist.vx))
    assert tuple(fastest.twist) == pytest.approx(tuple(standing_planner("phantomx").view.arc_twist(travel, curvature)))
    assert fastest.twist.vx * travel > 0.0 and fastest.twist.wz * curvature * travel < 0.0


BAD = {
    "reach": ((PoseStep(pitch=0.9),), r"f.yaml:3: pose: .*out of reach of the legs: a body at \(pitch 0.9\)"),
    "reach of a leg": ((LegStep("left_front", x=0.4, z=0.1),), r"f.yaml:3: leg: .*out of reach"),
    "stability": (
        (FeetStep({k: (0.0, 0.0, 0.03) for k in ("left_front", "left_middle", "left_rear")}),),
        r"feet: .*tip",
    ),
    "joint speed": ((SitStep(), JointsStep({"all": (0.0, 0.5, -1.5)}, 0.1)), r"f.yaml:3: joints: .*too fast"),
    "legs apart": (
        (SitStep(), JointsStep({"left_front": (1.3, 0.3, -0.1), "left_middle": (-1.3, 0.3, -0.1)})),
        r"would touch",
    ),
    "reach of feet": (
        (FeetStep({"left_front": (0.3, 0.0, 0.0)}),),
        r"feet: the foot of left_front would be too far away, by ",
    ),
    "sway": ((SwayStep(x=0.29),), r"f.yaml:3: sway: the body cannot sway as far as \(x 0.29\)"),
    "sway of a sitting robot": ((SitStep(), SwayStep(x=0.01)), "ignored while sitting: stand up first"),
    "leg": ((LegStep("tail", z=0.03),), r"f.yaml:3: leg: unknown leg 'tail'"),
    "gait": ((GaitStep("gallop"),), r"f.yaml:3: gait: unknown gait 'gallop'"),
}


@pytest.mark.parametrize("what", BAD)
def test_impossible_steps_are_found_before_the_robot_moves_with_place_and_time(what):
    steps, message = BAD[what]
    placed = tuple(type(step)(**{**_fields(step), "place": "f.yaml:3"}) for step in steps)
    with pytest.raises(MotionError, match=message) as found:
        MotionRehearsal(robot("phantomx"), Choreography("bad", "", placed)).finish()
    assert "s after the start" in str(found.value)


def _fields(step) -> dict:
    return {name: getattr(step, name) for name in step.__dataclass_fields__}


def test_values_out_of_bounds_are_refused_with_key_and_bounds():
    for make, message in (
        (lambda: WalkStep(x=3.0, duration=1.0), r"x must be in \[-2, 2\] m/s, is 3"),
        (lambda: PoseStep(pitch=2.0), r"pitch_deg must be in \[-60, 60\] deg, is 114.59"),
        (lambda: WalkStep(x=0.1), "exactly one of duration, distance, angle_deg"),
        (lambda: WalkStep(x=0.1, duration=1.0, distance=1.0), "exactly one of duration, distance, angle_deg"),
        (lambda: WalkStep(yaw=0.1, distance=1.0), "distance needs a speed"),
        (lambda: WalkStep(x=0.1, angle=1.0), "angle_deg needs a rate of turn"),
        (lambda: WaitStep(math.nan), "duration must be in"),
    ):
        with pytest.raises(MotionError, match=message):
            make()
