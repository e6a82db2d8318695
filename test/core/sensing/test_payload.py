# SPDX-License-Identifier: Apache-2.0
"""A standing robot weighs what it carries with the loads of its servos, and says how far off it may be."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.whole_body import joints_in_pose
from hexapod_control.core.sensing.payload import Payload, Scale, Weighing, weigh
from hexapod_control.servos.emulated_robot.weight import RobotOnGround

ROBOTS = ("phantomx", "article_offset", "quadruped", "octopod", "big_hex", "chica", "freenove", "heavy")


def emulated(robot, payload=None, zeros=0.0, pose=NEUTRAL):
    """Joints and torques (n, 3) that the servos of a loaded robot report, with true angles off by `zeros`."""
    ground = RobotOnGround(payload.on(robot) if payload else robot)
    commanded = np.array(joints_in_pose(robot, robot.footholds, pose))
    powered = np.ones(commanded.shape, dtype=bool)
    stiffness = np.array([[joint.stiffness for joint in leg.joints] for leg in robot.legs])
    torques = np.zeros(commanded.shape)
    for _ in range(4):
        unloaded, loaded = (
            [(c, f, t) for c, f, t in (commanded + off).tolist()] for off in (zeros, zeros - torques / stiffness)
        )
        torques = ground.standing(unloaded, powered, loaded).torques
    return commanded - torques / stiffness, torques


def registers(robot, joints, torques):
    """As servos report them that have 4096 steps to a turn, and a thousand to their stall torque."""
    stall = np.array([[joint.stall_torque for joint in leg.joints] for leg in robot.legs])
    angle = math.tau / 4096
    return np.rint(joints / angle) * angle, np.rint(1000.0 * torques / stall) * stall / 1000.0


@pytest.mark.parametrize("name", ROBOTS)
def test_mass_and_place_of_a_payload_follow_from_the_loads(name):
    robot = load(name).robot
    draw = np.random.default_rng(0)
    for mass in (0.2, 0.5, 1.0, 1.5):
        x, y = draw.uniform(-0.03, 0.03, 2).tolist()
        found = weigh(robot, *emulated(robot, Payload(mass, (x, y))))
        assert found.mass == pytest.approx(mass, rel=0.01)
        assert math.dist(found.place, (x, y)) < 0.002


def circles(robot, *, friction):
    """What a robot weighs that circles over its feet, with loads in registers, and dry friction in its servos."""
    size = 0.016 * robot.walk.height / 0.1
    stall, share = (
        np.array([[value(joint) for joint in leg.joints] for leg in robot.legs])
        for value in (lambda joint: joint.stall_torque, lambda joint: joint.traits.friction)
    )
    for payload in (Payload(0.2, (0.03, -0.02)), Payload(1.5, (-0.02, 0.03))):
        weighing = Weighing(robot)
        before = direction = np.zeros((len(robot.legs), 3))
        for k in range(96):
            around = math.tau * k / 24.0
            turn = 1.0 if k < 48 else -1.0
            pose = BodyPose(
                size * math.cos(around), turn * size * math.sin(around), 0.5 * size * math.sin(3.0 * around)
            )
            joints, torques = emulated(robot, payload, pose=pose)
            direction = np.where(np.abs(joints - before) > 1e-4, np.sign(joints - before), direction)
            before = joints
            if k:
                weighing.take(*registers(robot, joints, torques + friction * share * stall * direction))
        yield payload, weighing.payload()


@pytest.mark.parametrize("name", ROBOTS)
def test_over_a_motion_of_the_body_steps_of_the_reported_loads_average_out(name):
    for payload, found in circles(load(name).robot, friction=0.0):
        assert found.mass == pytest.approx(payload.mass, rel=0.05)
        assert math.dist(found.place, payload.place) < 0.01


@pytest.mark.parametrize("name", ["phantomx", "heavy"])
def test_over_a_motion_of_the_body_friction_hides_little(name):
    robot = load(name).robot
    for payload, found in circles(robot, friction=1.0):
        still = weigh(robot, *emulated(robot, payload))
        assert found.mass_deviation < 0.4 * still.mass_deviation
        assert abs(found.mass - payload.mass) < 2.0 * found.mass_deviation


@pytest.mark.parametrize("name", ROBOTS)
def test_wrong_zeros_make_no_payload_of_nothing_and_the_deviations_cover_them(name):
    robot = load(name).robot
    for seed in range(4):
        zeros = np.random.default_rng(seed).normal(0.0, math.radians(2.0), (len(robot.legs), 3))
        assert not weigh(robot, *emulated(robot, None, zeros)).is_significant
        found = weigh(robot, *emulated(robot, Payload(1.0, (0.02, 0.0)), zeros))
        assert abs(found.mass - 1.0) < 2.0 * found.mass_deviation
        assert math.dist(found.place, (0.02, 0.0)) < 3.0 * found.place_deviation


def test_the_loaded_robot_has_the_weight_and_the_center_of_both():
    robot = load("phantomx").robot
    payload = Payload(robot.body.mass, (0.06, -0.02))
    loaded = payload.on(robot)
    assert loaded.mass == pytest.approx(robot.mass + payload.mass)
    x, y, _ = robot.body.center_of_mass
    assert loaded.body.center_of_mass[:2] == pytest.approx(((x + 0.06) / 2.0, (y - 0.02) / 2.0))
    assert replace(loaded, body=robot.body) == robot


def test_a_load_counts_once_it_has_stayed_and_not_while_it_is_put_on():
    robot = load("phantomx").robot
    scale = Scale(robot)
    seconds, period = 0.0, 0.05
    for mass, lasts, expected in ((0.5, 2.0, None), (0.8, 2.1, None), (1.0, 6.0, 1.0)):
        sample = emulated(robot, Payload(mass, (0.0, 0.0)))
        for _ in range(round(lasts / period)):
            seconds += period
            scale.take(*sample, seconds)
        assert (scale.payload and round(scale.payload.mass, 2)) == expected
    scale.interrupt()
    for _ in range(50):
        seconds += period
        scale.take(sample[0], 0.0 * sample[1], seconds)
    assert scale.payload.mass == pytest.approx(1.0, rel=0.05)
