# SPDX-License-Identifier: Apache-2.0
"""A robot that is taken over low rises before it walks, from any joints between lying and standing."""

import math
import random
from functools import cache

import numpy as np
import pytest
from support.drives import fitting, robot
from support.robots.urdf_robots import LIMIT, UrdfPeculiarity, urdf_text

from hexapod_control.config.robots.draft.robot_text import robot_text
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf_import.importer import ImportRequest, import_urdf
from hexapod_control.config.robots.urdf_import.writing.joint_names import import_notes
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.kinematics.whole_body import joints_in_pose
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.posture.stand_up import lying_joints
from hexapod_control.core.robot import interpolated
from hexapod_control.sim.start_poses import sitting_pose

DT = 0.04  # [s]
POSES = 3  # of each robot
MAX_TIME_S = 20.0
LOW_SHARE = 0.12  # of the walk height
SPREAD_RAD = 0.1
LITTLE_FOLDED = UrdfPeculiarity(  # legs that do not fold enough for the belly to reach the ground
    coxa_sign=-1,
    zero=(0.6, -1.9),
    lateral=(0.01, -0.004, 0.012),
    tilt=(0.05, 0.0),
    body=(0.0, 0.0, 0.0, math.pi / 2),
    limit=LIMIT.replace('velocity="6"', 'velocity="2.5"'),
)


@pytest.fixture(scope="module")
def little_folded(tmp_path_factory):
    path = tmp_path_factory.mktemp("urdf") / "robot.urdf"
    path.write_text(urdf_text(LITTLE_FOLDED))
    robot_file = path.with_suffix(".yaml")
    draft = import_urdf(ImportRequest(path))
    robot_file.write_text(robot_text(draft, import_notes(draft)))
    return load(robot_file).robot


@cache
def fresh(machine):
    return Planner(machine)


def between_lying_and_standing(machine, rng):
    """Joints (n, 3) [rad], each leg on its own part of the way, or feet apart under a low, tilted body."""
    table = fresh(machine).capabilities.stances
    if rng.random() < 0.5:
        standing = joints_in_pose(machine, table.at(machine.walk.height).footholds, NEUTRAL)
        share = rng.random()
        parts = [min(max(share + rng.uniform(-SPREAD_RAD, SPREAD_RAD), 0.0), 1.0) for _ in standing]
        return [interpolated(*ends) for ends in zip(lying_joints(machine), standing, parts, strict=True)]
    height, out = rng.uniform(table.lowest, machine.walk.height), rng.uniform(0.85, 1.3)
    feet = [(out * x + rng.gauss(0.0, 0.1 * height), out * y) for x, y in table.at(height).footholds]
    roll, pitch = rng.uniform(-SPREAD_RAD, SPREAD_RAD), rng.uniform(-SPREAD_RAD, SPREAD_RAD)
    return joints_in_pose(machine, feet, BodyPose(z=height - machine.walk.height, roll=roll, pitch=pitch))


def found(machine, joints):
    """A planner that has found its robot with these joints, and has set its feet down."""
    planner = fresh(machine).copy()
    planner.set_measured_joints(np.array(joints))
    while planner.state is RobotState.RISING and not planner.view.on_feet:
        planner.step(DT)
    return planner


def advance(planner, done, command=None):
    """Advances until `done`; commands a twist in every tick. A rising robot does not walk, a standing one is up."""
    lowest = -LOW_SHARE * planner.robot.walk.height
    for _ in range(round(MAX_TIME_S / DT)):
        if command is not None:
            planner.command(command)
        plan = planner.step(DT)
        assert planner.state is not RobotState.RISING or plan.twist.is_zero
        assert planner.state not in (RobotState.STANDING, RobotState.WALKING) or planner.view.body_pose.z >= lowest
        if done(plan):
            return
    raise AssertionError(f"the robot is {planner.state.value} in {planner.view.body_pose}")


@pytest.mark.parametrize("name", ["article", "quadruped", "heavy", "legs that fold little"])
def test_from_any_joints_between_lying_and_standing_a_robot_rises_to_its_neutral_pose_and_then_walks(
    name, little_folded
):
    machine, rng = little_folded if name == "legs that fold little" else robot(name), random.Random(5)
    taken_over = 0
    while taken_over < POSES:
        joints = between_lying_and_standing(machine, rng)
        if joints is None or (planner := found(machine, joints)).state is RobotState.SITTING:
            continue
        taken_over += 1
        forward = fitting(planner, Twist(1.0, 0.0, 0.0), 0.5, planner.view.active_gait)
        if taken_over % 2:
            assert planner.stand() is None
            advance(planner, lambda _, p=planner: p.state is RobotState.STANDING)
            assert planner.view.body_pose == NEUTRAL
        advance(planner, lambda plan, v=forward.vx: plan.twist.vx > 0.9 * v, forward)


def test_a_robot_in_its_lying_posture_lies_even_if_its_belly_stays_above_the_ground(little_folded):
    for machine in (little_folded, robot("article"), robot("heavy")):
        for joints in (lying_joints(machine), sitting_pose(machine)):
            assert found(machine, joints).state is RobotState.SITTING


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_a_robot_that_was_taken_over_low_is_rising_and_takes_no_pose_until_it_is_up(share):
    machine = robot("phantomx")
    height = share * machine.walk.height
    feet = fresh(machine).capabilities.stances.at(height).footholds
    planner = found(machine, joints_in_pose(machine, feet, BodyPose(z=height - machine.walk.height)))
    for _ in range(5):
        planner.track_pose(NEUTRAL)
        planner.step(DT)
    assert "ignored while rising" in str(planner.request_pose(NEUTRAL))
    assert planner.state is RobotState.RISING
    assert planner.view.body_pose.z == pytest.approx(height - machine.walk.height)
    planner.stand()
    planner.step(1.0)
    planner.halt()
    advance(planner, lambda _: planner.view.at_rest)
    assert planner.state is RobotState.RISING
    advance(planner, lambda plan: plan.twist.vx > 0.0, Twist(0.05, 0.0, 0.0))
    assert planner.view.body_pose.z == pytest.approx(0.0, abs=0.01)
