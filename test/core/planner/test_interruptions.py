# SPDX-License-Identifier: Apache-2.0
"""Any command or motion at any time: joint limits, support, clearances, and the last command is reached."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.drives import DT, GAITS, ROBOTS, robot, standing_planner
from support.suite.soak import SOAK, some

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.motions.motion_player import MotionPlayer
from hexapod_control.core.motions.motion_rehearsal import MotionRehearsal
from hexapod_control.core.motions.motion_steps import (
    ArcStep,
    Choreography,
    FeetStep,
    GaitStep,
    HeightStep,
    LegStep,
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
from hexapod_control.core.planner.tick_limiter import MIN_LEG_GAP_M, SPIN_UP_TIME_S
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.workspace.swing_limits import SPEED_SHARE

EXAMPLES = 1000 if SOAK else 5  # per robot, of ten interruptions each
ON_FEET = (RobotState.STANDING, RobotState.WALKING, RobotState.MOVING)
ROUNDED = 1.0001  # factor on a limit, for rounding errors
MAX_SETTLING_TIME_S = 60.0  # until the last command is fulfilled

MOTIONS = (
    Choreography(
        "greet",
        "",
        (PoseStep(x=-0.01), LegStep(name="left_front", z=0.05), WaitStep(0.3), LegStep(name="left_front"), PoseStep()),
    ),
    Choreography(
        "round", "", (TogetherStep(steps=(WalkStep(duration=2.0), SwayStep(x=0.01, y=0.01, period=1.0, rounds=2.0))),)
    ),
    Choreography(
        "drive",
        "",
        (WalkStep(x=0.05, distance=0.1), ArcStep(0.03, 1.0, 1.0), RotateStep("z", math.radians(20.0))),
        loops=2,
    ),
    Choreography(
        "change",
        "",
        (GaitStep("wave"), WalkStep(y=0.02, duration=1.5), HeightStep(0.005), RotateStep("x", 0.05)),
        loops=0,
    ),
    Choreography(
        "feet", "", (FeetStep({"all": (0.0, 0.0, 0.005)}), RepeatStep(times=2, steps=(FeetStep(), WaitStep(0.2))))
    ),
    Choreography("fold", "", (PackStep(), UnpackStep(), StandStep()), start="sitting"),
    Choreography("down", "", (SitStep(), WaitStep(0.2)), start="sitting"),
)
ENDS = {"fold": RobotState.STANDING, "down": RobotState.SITTING}  # the others end as they began, standing

PLAIN = ("zero", "halt", "stand", "sit", "release", "finish", "cancel", "torque off and on")
small = st.floats(-1.0, 1.0)
twists = st.builds(Twist, small.map(lambda v: 0.2 * v), small.map(lambda v: 0.2 * v), small)
poses = st.builds(BodyPose, *[small.map(lambda v: 0.03 * v)] * 3, *[small.map(lambda v: 0.15 * v)] * 3)
actions = st.one_of(
    st.tuples(st.just("drive"), twists),
    st.tuples(st.just("pose"), poses),
    st.tuples(st.just("gait"), st.sampled_from(GAITS)),
    st.tuples(st.just("lift"), st.floats(0.3, 1.0)),
    st.tuples(st.just("tempo"), st.floats(0.8, 2.0)),
    st.tuples(st.just("leg"), st.tuples(st.integers(0, 5), small, small, st.floats(0.0, 1.0))),
    st.tuples(st.just("play"), st.sampled_from(range(len(MOTIONS)))),
    st.tuples(st.sampled_from(PLAIN), st.none()),
)
scripts = st.lists(st.tuples(actions, st.integers(1, 70)), min_size=10, max_size=10)


class Stage:
    """A motion player whose every tick is checked against the limits."""

    def __init__(self, name: str) -> None:
        self.machine = robot(name)
        size = self.machine.walk.height / 0.1
        self.player = MotionPlayer(standing_planner(name))
        self.pieces = [MotionRehearsal(self.machine, motion.scaled(size)).finish() for motion in MOTIONS]
        legs = self.machine.legs
        self.no_load = np.array([[joint.no_load_speed for joint in leg.joints] for leg in legs])
        self.lower = np.array([[joint.lower for joint in leg.joints] for leg in legs])
        self.upper = np.array([[joint.upper for joint in leg.joints] for leg in legs])
        self.last: TickPlan = self.player.step(DT)
        self.size = size

    def act(self, kind: str, value) -> None:
        """A random action of an operator, a motion file or a fault."""
        player, planner = self.player, self.player.planner
        if kind in ("drive", "zero"):
            player.command(value or ZERO)
        elif kind == "play":
            player.execute(self.pieces[value])
        elif kind == "finish":
            player.finish_cycle()
        elif kind == "torque off and on":
            player.cancel()
            planner.forget_pose()
            planner.set_measured_joints(self.last.joint_angles)
            self.last = self.last._replace(joint_velocity=np.zeros_like(self.last.joint_velocity))
        else:
            player.cancel()
            if kind == "pose":
                planner.request_pose(value)
            elif kind == "gait":
                planner.change_gait(value)
            elif kind == "release":
                planner.release_feet()
            elif kind in ("lift", "tempo"):
                planner.change_settings(**{kind: value})
            elif kind == "leg":
                leg, x, y, z = value
                foot = self.last.feet[leg] if self.last.feet is not None else np.zeros(3)
                reach = 0.05 * self.size
                planner.guide_foot(self.machine.leg_names[leg], tuple(foot + reach * np.array([x, y, z])))
            elif kind != "cancel":
                getattr(planner, kind)()

    def tick(self) -> None:
        """One tick with all checks."""
        before = self.last
        plan = self.last = self.player.step(DT)
        if plan.joint_angles is None:
            return
        assert np.isfinite(plan.joint_angles).all() and plan.unreached is None and plan.blocked is None
        assert (np.abs(plan.joint_velocity) <= SPEED_SHARE * self.no_load * ROUNDED).all()
        change = np.abs(plan.joint_velocity - before.joint_velocity)
        assert (change <= self.no_load / SPIN_UP_TIME_S * DT * ROUNDED).all()
        if before.joint_angles is not None:
            assert np.allclose(plan.joint_angles - before.joint_angles, plan.joint_velocity * DT, atol=1e-9)
        assert (plan.joint_angles >= self.lower - 1e-9).all() and (plan.joint_angles <= self.upper + 1e-9).all()
        assert math.isnan(plan.gap) or plan.gap >= MIN_LEG_GAP_M - 1e-6
        if plan.state in ON_FEET and any(plan.planted):
            assert sum(plan.planted) >= 3 and plan.margin > 0.0

    def until(self, reached) -> bool:
        for _ in range(round(MAX_SETTLING_TIME_S / DT)):
            self.tick()
            if reached():
                return True
        return False


@pytest.mark.parametrize("name", some(ROBOTS, "phantomx"))
def test_soak_of_random_interruptions_keeps_all_limits_and_ends_where_it_was_commanded(name):
    """Article D10: feet move in statically stable groups, and no motion is abrupt."""
    stage_of = Stage(name)

    @settings(max_examples=EXAMPLES, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(scripts, st.sampled_from(["drive", "stand", "sit", *range(len(MOTIONS))]), twists)
    def interrupted(script, end, twist):
        stage = Stage.__new__(Stage)
        stage.__dict__.update(stage_of.__dict__)
        stage.player = MotionPlayer(stage_of.player.planner.copy())
        for (kind, value), ticks in script:
            stage.act(kind, value)
            for _ in range(ticks):
                stage.tick()
        ends_as_commanded(stage, end, twist)

    interrupted()


def ends_as_commanded(stage: Stage, end, twist: Twist) -> None:
    """Checks that the robot ends as commanded last."""
    player, planner = stage.player, stage.player.planner
    stage.act("halt", None)
    if end == "sit":
        planner.sit()
        assert stage.until(lambda: planner.state is RobotState.SITTING and not player.name)
        return
    planner.stand()
    assert stage.until(lambda: planner.state is RobotState.STANDING)
    if isinstance(end, int):
        player.execute(stage.pieces[end])
        wanted = ENDS.get(MOTIONS[end].name, RobotState.STANDING)
        for _ in range(300):
            stage.tick()
        player.finish_cycle()
        assert stage.until(lambda: not player.name and planner.state is wanted)
        return
    player.command(twist if end == "drive" else ZERO)
    planner.request_pose(NEUTRAL)
    assert planner.view.on_feet
    if end == "stand" or twist.is_zero:
        assert stage.until(lambda: planner.view.in_neutral_stance)
        return
    assert stage.until(lambda: math.dist(stage.last.twist, planner.view.speed_limit()) < 1e-9)
    assert stage.until(lambda: planner.view.active_gait == planner.view.settings.selection.name)
