# SPDX-License-Identifier: Apache-2.0
"""An emulated robot bears its weight on its feet: loads of its servos, foot switches and IMU, by statics."""

import math

import numpy as np
import pytest
from support.kits.standing_robot import StandingRobot

from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.whole_body import joints_in_pose, standing_joints
from hexapod_control.core.posture.stand_up import lying_joints
from hexapod_control.core.statics.static_stability import GRAVITY, center_of_mass
from hexapod_control.evaluation.robot_check.joint_torques import standing_torques
from hexapod_control.servos.emulated_robot.weight import FRICTION, RobotOnGround

ROBOTS = ["phantomx", "heavy", "quadruped", "octopod", "big_hex"]


def on(robot):
    return np.ones((len(robot.legs), 3), dtype=bool)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_standing_robot_has_the_torques_that_the_check_of_its_file_expects(name):
    made = StandingRobot(name)
    expected = standing_torques(made.robot, standing_joints(made.robot), [True] * len(made.robot.legs))
    # the check takes the center of a foot's ball for the place of the force
    assert made.torques == pytest.approx(expected, abs=0.06 * abs(expected).max())
    assert all(made.world.pressed)
    angles = [joint.angle(made.world.position(k)) for k, joint in enumerate(made.joints)]
    stiffness = [joint.stiffness for leg in made.robot.legs for joint in leg.joints]
    sag = np.ravel(standing_joints(made.robot)) - angles
    assert sag == pytest.approx(np.ravel(expected) / stiffness, abs=6e-3)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_forces_balance_the_weight_in_any_pose_and_no_foot_pulls(name):
    robot = load(name).robot
    ground = RobotOnGround(robot)
    draw = np.random.default_rng(0)
    stood = 0
    for _ in range(40):
        pose = BodyPose(*draw.uniform(-0.01, 0.01, 3), *draw.uniform(-0.08, 0.08, 2))
        joints = joints_in_pose(robot, robot.footholds, pose)
        if joints is None:
            continue
        lifted = draw.random(len(robot.legs)) < 0.2
        angles = [(c, f + 0.4 * up, t) for (c, f, t), up in zip(joints, lifted, strict=True)]
        support = ground.standing(angles, on(robot))
        weight = robot.mass * GRAVITY
        assert (support.forces >= 0.0).all() and support.forces.sum() <= weight * 1.001
        if support.forces.sum() < 0.999 * weight:
            continue  # the belly bears the rest
        stood += 1
        center = support.forces @ np.array(support.feet) / weight
        assert center == pytest.approx(center_of_mass(robot, angles)[:2], abs=1e-3)
        if not lifted.any():
            assert (support.roll, support.pitch) == pytest.approx((pose.roll, pose.pitch), abs=0.01)
    assert stood > 10


def test_a_robot_that_lies_or_is_held_up_has_no_load_on_its_feet():
    made = StandingRobot("phantomx", lying_joints)
    assert not made.world.support.forces.any() and not any(made.world.pressed)
    made.move(standing_joints(made.robot))
    assert all(made.world.pressed)
    bears = abs(made.torques).max()
    made.world.is_held = True
    made.wait()
    assert not made.world.support.forces.any() and 0.0 < abs(made.torques).max() < bears
    made.world.is_held = False
    made.wait()
    assert abs(made.torques).max() == pytest.approx(bears)


def test_a_leg_in_the_air_or_without_torque_leaves_its_share_to_the_others():
    made = StandingRobot("phantomx")
    before = made.world.support.forces
    joints = [list(row) for row in standing_joints(made.robot)]
    joints[1][1] += 0.5
    made.move(joints)
    assert made.world.support.forces[1] == 0.0 and not made.world.pressed[1]
    assert made.world.support.forces[[0, 2]].sum() > 1.3 * before[[0, 2]].sum()
    made.move(standing_joints(made.robot))
    place = made.world.position(7)
    made.world.torque(7, False)
    made.wait()
    assert made.world.support.forces[2] == 0.0 and made.world.load(7) == 0.0
    assert made.world.position(7) == pytest.approx(place)  # no jump


def test_a_foot_presses_outwards_as_far_as_friction_permits():
    robot = load("heavy").robot
    wide = [(coxa, 0.0, -0.3) for coxa, _, _ in standing_joints(robot)]  # the belly is above the ground
    support = RobotOnGround(robot).standing(wide, on(robot))
    leg = robot.legs[0]
    lever = robot.foot_radius + leg.tibia.length * math.sin(0.3), leg.tibia.length * math.cos(0.3)
    own = GRAVITY * leg.moments[-1] * math.cos(0.3)
    outward = (own - support.torques[0, 2] - support.forces[0] * lever[1]) / lever[0]
    assert abs(outward) == pytest.approx(FRICTION * support.forces[0], rel=0.01)


def test_the_supply_sinks_under_the_load():
    made = StandingRobot("heavy", lying_joints)
    idle = made.world.voltage(0)
    made.move(standing_joints(made.robot))
    assert 0.01 < idle - made.world.voltage(0) < 1.0
