"""What each step of a motion does in each of its ticks, and for how long."""

import math
import re

import pytest
from support.drives import DT, robot, standing_planner

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.motions.motion_player import MotionPlayer, RehearsedMotion
from hexapod_control.core.motions.motion_rehearsal import MotionRehearsal
from hexapod_control.core.motions.motion_steps import (
    ArcStep,
    Choreography,
    GaitStep,
    HeightStep,
    MotionError,
    PoseStep,
    RepeatStep,
    RotateStep,
    SitStep,
    SwayStep,
    TogetherStep,
    WaitStep,
    WalkStep,
)
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState

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
