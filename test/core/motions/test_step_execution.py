# SPDX-License-Identifier: Apache-2.0
"""What each step of a motion does in each of its ticks, and for how long."""

import math
import re

import numpy as np
import pytest
from support.drives import DT, robot, standing_planner

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.motions.motion_player import MotionPlayer, RehearsedMotion
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
    RepeatStep,
    RotateStep,
    SitStep,
    StandStep,
    SwayStep,
    TogetherStep,
    UnpackStep,
    WaitStep,
    WalkStep,
)
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.sensing.sensor_inputs import Adaptation

NAME = "phantomx"


def played(*steps, planner=None, seconds=60.0, **more):
    """Kind of the step and plan of every tick of a motion, and its player."""
    player, ticks = MotionPlayer(planner or standing_planner(NAME)), []
    player.execute(RehearsedMotion(Choreography("test", "", steps, **more), 1.0))
    for _ in range(round(seconds / DT)):
        plan = player.step(DT)
        if not player.name:
            return ticks, player
        ticks.append((player.phase, plan))
    raise AssertionError(f"still in {player.phase!r} after {seconds} s")


def count(ticks, kind):
    return sum(phase == kind for phase, _ in ticks)


@pytest.mark.parametrize(
    ("step", "kind", "seconds"),
    [
        (WaitStep(0.5), "wait", 0.5),
        (WaitStep(0.0), "wait", 0.0),
        (WalkStep(x=0.05, duration=1.0), "walk", 1.0),
        (ArcStep(0.02, 0.5, 1.0), "arc", 1.0),
        (RepeatStep(3, (WaitStep(0.19), WaitStep(0.09))), "wait", 0.9),
        (TogetherStep((WaitStep(0.2), WaitStep(0.5), WaitStep(0.1))), "wait", 0.5),
        (RotateStep("x", 0.04, 0.2, 2), "rotate", 1.6),
        (RotateStep("y", -0.04, 0.2, 1), "rotate", 0.8),
        (SwayStep(x=0.01, period=1.0, rounds=1.5), "sway", 1.5),
    ],
)
def test_a_step_takes_its_time_to_the_tick(step, kind, seconds):
    ticks, _ = played(step)
    assert count(ticks, kind) * DT == pytest.approx(seconds, abs=1.01 * DT)


@pytest.mark.parametrize("duration", [0.5, 2.0])
def test_a_pose_is_reached_in_the_given_time_and_a_height_leaves_the_rest_of_the_pose(duration):
    ticks, _ = played(PoseStep(x=0.01, roll=0.05, duration=duration), WaitStep(0.1), HeightStep(0.01, duration))
    assert 0.9 * duration <= count(ticks, "pose") * DT <= duration + 0.1
    assert 0.9 * duration <= count(ticks, "height") * DT <= duration + 0.1
    (pose,) = {plan.pose for phase, plan in ticks[-1:]}
    assert [plan.pose for phase, plan in ticks if phase == "wait"][-1] == pytest.approx(
        BodyPose(x=0.01, roll=0.05), abs=5e-4
    )
    assert pose == pytest.approx(BodyPose(x=0.01, z=0.01, roll=0.05), abs=2e-4)


@pytest.mark.parametrize(
    ("step", "cosine", "sine", "period", "rounds"),
    [
        (
            SwayStep(0.01, 0.008, 0.006, 0.05, 0.04, 0.03, 2.0, 2.5),
            (0.01, 0, 0.006, 0, 0.04, 0),
            (0, 0.008, 0, 0.05, 0, 0.03),
            2.0,
            2.5,
        ),
        (RotateStep("x", 0.1, 0.2, 2), (0,) * 6, (0, 0, 0, 0.1, 0, 0), 2.0, 2),
        (RotateStep("y", -0.1, 0.2, 2), (0,) * 6, (0, 0, 0, 0, -0.1, 0), 2.0, 2),
    ],
    ids=["sway", "roll", "pitch"],
)
def test_a_sway_is_an_ellipse_about_the_present_pose_that_grows_and_shrinks_within_half_a_revolution(
    step, cosine, sine, period, rounds
):
    middle = BodyPose(x=0.005, z=0.004)
    ticks, _ = played(PoseStep(*middle, duration=0.5), step)
    found = [plan.pose for phase, plan in ticks if phase in ("sway", "rotate")]
    assert len(found) * DT > rounds * period - DT
    for k, pose in enumerate(found):
        time, total = k * DT, rounds * period
        fade = max(0.0, min(1.0, 2.0 * time / period, 2.0 * (total - time) / period))
        c, s = (fade**2 * (3.0 - 2.0 * fade) * of(math.tau * time / period) for of in (math.cos, math.sin))
        expected = [m + c * a + s * b for m, a, b in zip(middle, cosine, sine, strict=True)]
        assert pose[:3] == pytest.approx(expected[:3], abs=1e-3)
        assert pose[3:] == pytest.approx(expected[3:], abs=0.01)


def test_after_a_sway_the_body_is_in_the_pose_from_before():
    middle = BodyPose(x=0.005, z=0.004)
    ticks, _ = played(PoseStep(*middle, duration=0.5), SwayStep(y=0.01, period=1.0), WaitStep(0.2))
    assert ticks[-1][1].pose == pytest.approx(middle)


def test_a_gait_is_active_before_the_next_step_and_needs_no_waiting_where_the_robot_lies_or_chooses_itself():
    player = MotionPlayer(standing_planner(NAME))
    steps = WalkStep(x=0.03, duration=1.0), GaitStep("wave"), WaitStep(0.1)
    player.execute(RehearsedMotion(Choreography("test", "", steps), 1.0))
    active = []
    while player.phase != "wait":
        player.step(DT)
        active.append((player.phase, player.planner.view.active_gait))
        assert len(active) < 200
    assert active[-1] == ("wait", "wave") and {gait for phase, gait in active if phase == "walk"} == {"tripod"}
    planner = standing_planner(NAME)
    planner.change_gait("wave")
    ticks, _ = played(GaitStep("auto"), SitStep(), GaitStep("ripple"), WaitStep(0.1), planner=planner)
    assert count(ticks, "gait") == 0 and count(ticks, "wait") > 0


def test_a_message_begins_with_file_and_line_of_its_step_and_its_kind():
    player = MotionPlayer(standing_planner(NAME))
    assert player.place == ""
    for place, text in (("", "wait: "), ("f.yaml:3", "f.yaml:3: wait: ")):
        player.execute(RehearsedMotion(Choreography("test", "", (WaitStep(0.1, place=place),)), 1.0))
        for _ in range(4):
            player.step(DT)
        assert (player.place, player.phase) == (text, "wait")
        player.cancel()


def test_a_rehearsal_goes_on_by_some_ticks_and_ends_with_the_duration_of_a_pass():
    motion = Choreography("test", "", (WaitStep(1.0),), loops=5)
    rehearsal = MotionRehearsal(robot(NAME), motion)
    assert rehearsal.name == "test" and rehearsal.advance(20) is None and rehearsal.result is None
    found = rehearsal.advance(500)
    assert found is rehearsal.result is rehearsal.advance(1) and found.motion is motion
    assert found.duration == pytest.approx(1.0, abs=2 * DT)


def test_a_violation_is_found_at_its_time_after_the_start():
    motion = Choreography("test", "", (WaitStep(1.0), GaitStep("gallop", place="f.yaml:4")))
    with pytest.raises(MotionError, match=re.escape("f.yaml:4: gait: unknown gait 'gallop'")) as found:
        MotionRehearsal(robot(NAME), motion).finish()
    seconds = float(re.search(r"\((\S+) s after the start\)", str(found.value)).group(1))
    assert seconds == pytest.approx(1.0, abs=2 * DT)


def test_a_motion_that_starts_sitting_is_rehearsed_from_there():
    motion = Choreography("test", "", (WaitStep(0.2),), start="sitting")
    assert MotionRehearsal(robot(NAME), motion).finish().duration == pytest.approx(0.2, abs=2 * DT)
    planner = Planner(robot(NAME))
    planner.set_measured_joints(planner.view.lying_joints)
    ticks, player = played(WaitStep(0.2), planner=planner, start="sitting")
    assert player.planner.state is RobotState.SITTING and len(ticks) * DT < 0.3
    assert ticks[-1][1].pose == NEUTRAL


def lying():
    planner = Planner(robot(NAME))
    planner.set_measured_joints(planner.view.lying_joints)
    return planner


@pytest.mark.parametrize(("leg", "side"), [("left_front", 1.0), ("right_middle", -1.0)])
def test_a_leg_step_moves_a_foot_forward_and_outwards_over_the_ground_and_down_again(leg, side):
    row = robot(NAME).leg_names.index(leg)
    x, y = robot(NAME).legs[row].foothold
    up, down = LegStep(leg, 0.02, 0.015, 0.03), LegStep(leg, 0.01, 0.005)
    ticks, _ = played(up, WaitStep(0.1), PoseStep(), down, WaitStep(0.3))
    lifted = [plan for phase, plan in ticks if phase == "pose" or phase == "wait"][4]
    floor = robot(NAME).foot_radius - robot(NAME).walk.height
    assert lifted.contacts[row] == pytest.approx((x + 0.02, y + side * 0.015), abs=2e-3)
    assert lifted.feet[row, 2] == pytest.approx(floor + 0.03, abs=2e-3) and not lifted.planted[row]
    last = [plan for phase, plan in ticks if phase == "leg"][-1]
    assert last.contacts[row] == pytest.approx((x + 0.01, y + side * 0.005), abs=2e-3)


def test_a_feet_step_moves_the_named_feet_or_all_others_from_their_neutral_positions():
    neutral = standing_planner(NAME).step(DT).feet
    for offsets in (
        {"left_front": (0.01, -0.01, 0.0)},
        {"all": (0.0, 0.0, -0.01), "right_rear": (0.005, 0.0, -0.01)},
        {},
    ):
        ticks, _ = played(FeetStep({"all": (0.0, 0.0, 0.01)}, 1.0), FeetStep(offsets, 1.0))
        assert count(ticks, "feet") * DT == pytest.approx(2.0, abs=2.1 * DT)
        expected = [
            neutral[k] + offsets.get(leg, offsets.get("all", (0.0,) * 3)) for k, leg in enumerate(robot(NAME).leg_names)
        ]
        assert ticks[-1][1].feet == pytest.approx(np.array(expected), abs=1e-6)


def test_a_joints_step_moves_the_named_legs_or_all_others_and_legs_that_are_not_named_stay():
    start, named, every = lying().view.lying_joints, (0.1, 0.9, -2.0), (0.0, 1.0, -1.9)
    for angles in ({"left_front": named}, {"all": every}, {"all": every, "right_rear": named}):
        ticks, _ = played(JointsStep(angles, 1.5), planner=lying(), start="sitting")
        assert count(ticks, "joints") * DT == pytest.approx(1.5, abs=2.1 * DT)
        expected = [angles.get(leg, angles.get("all", start[k])) for k, leg in enumerate(robot(NAME).leg_names)]
        assert ticks[-1][1].joint_angles == pytest.approx(np.array(expected))


def test_a_robot_whose_feet_follow_the_ground_by_their_contacts_ends_standing_too():
    planner = standing_planner(NAME)
    planner.sensors.adaptation = Adaptation(touch_down=True)
    player = MotionPlayer(planner)
    player.execute(RehearsedMotion(Choreography("test", "", (StandStep(),)), 1.0))
    for _ in range(round(5.0 / DT)):
        planner.sensors.contacts.take([10.0] * len(planner.robot.legs))
        player.step(DT)
    assert planner.view.walk.motion.terrain is not None
    assert not player.name


def test_a_robot_that_stands_sits_down_before_it_is_packed_and_unpacking_ends_where_it_lies():
    ticks, player = played(PackStep(), WaitStep(0.1))
    packed = player.planner.view.joint_angles
    states = [plan.state for phase, plan in ticks if phase == "pack"]
    assert RobotState.SINKING in states and count(ticks, "sit") == 0
    again, _ = played(PackStep(), planner=player.planner, start="sitting")
    assert RobotState.SINKING not in [plan.state for _, plan in again]
    assert player.planner.view.joint_angles == pytest.approx(packed)
    played(UnpackStep(), planner=player.planner, start="sitting")
    assert player.planner.view.joint_angles == pytest.approx(player.planner.view.lying_joints)


def test_a_walk_follows_its_twist_and_steps_on_the_spot_without_one():
    ticks, _ = played(WalkStep(x=0.03, y=0.01, yaw=0.1, duration=2.0))
    assert ticks[80][1].twist == pytest.approx((0.03, 0.01, 0.1))
    ticks, _ = played(WalkStep(duration=2.0))
    walked = [plan for phase, plan in ticks if phase == "walk"]
    assert all(max(map(abs, plan.twist)) < 1e-5 for plan in walked)
    assert all(any(not plan.planted[leg] for plan in walked) for leg in range(6))


@pytest.mark.parametrize("step", [RotateStep("z", -0.6, 0.3), WalkStep(yaw=-0.3, angle=0.6)])
def test_a_turn_goes_on_at_its_rate_up_to_its_angle(step):
    ticks, _ = played(step)
    rates = [plan.twist.wz for phase, plan in ticks if phase in ("rotate", "walk")]
    assert min(rates) == pytest.approx(-0.3) and sum(plan.twist.wz for _, plan in ticks) * DT < -0.5
    assert len(rates) * DT == pytest.approx(0.6 / 0.3, abs=0.2)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (PoseStep(x=0.29), "pose: out of reach of the legs: a body at (x 0.29)"),
        (PoseStep(y=-0.29, roll=0.5), "pose: out of reach of the legs: a body at (y -0.29, roll 0.5)"),
        (SwayStep(y=0.29), "sway: the body cannot sway as far as ("),
        (LegStep("tail", z=0.03), "leg: unknown leg 'tail'"),
        (FeetStep({"left_front": (0.3, 0.0, 0.0)}), "feet: the foot of left_front would be too far away, by "),
    ],
)
def test_a_step_that_is_refused_ends_the_motion_with_its_reason(step, message):
    ticks, player = played(WaitStep(0.1), step, WaitStep(5.0))
    assert str(player.refusal).startswith(message) and len(ticks) * DT < 1.0
    (outcome,) = player.take_outcomes()
    assert outcome.reason == player.refusal


@pytest.mark.parametrize("coordinate", ["x", "y", "z", "yaw"])
def test_a_sway_is_refused_if_it_leaves_the_reach_of_the_legs_anywhere_from_the_present_pose(coordinate):
    view, most = standing_planner(NAME).view, 0.0
    while view.pose_reachable(BodyPose(**{coordinate: most})):
        most += 0.001
    for share, refused in ((0.52, True), (0.47, False)):
        part = {coordinate: share * most}
        _, player = played(PoseStep(**part), SwayStep(**part, period=4.0, rounds=0.25), seconds=20.0)
        assert str(player.refusal).startswith("sway: the body cannot sway as far as (") == refused
