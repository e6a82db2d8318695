# SPDX-License-Identifier: Apache-2.0
"""An emulated robot with the errors of a real one: what its servos report, and what its feet feel."""

import dataclasses
import math

import numpy as np
import pytest

from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.reality import Reality, built, reality
from hexapod_control.servos.emulated_robot.weight import RobotWorld
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import standard

ROBOT = load("phantomx").robot
SCALE = PROTOCOLS["feetech_st"].scale
JOINTS = standard(ROBOT, "feetech_st", "/dev/hexapod").joints
STANDING = np.ravel(standing_joints(ROBOT))
TICK_S = 0.02


class Emulated:
    """A standing robot with torque; angles (18,) [rad] as its servos report them."""

    def __init__(self, **errors):
        raw = [joint.raw(angle) for joint, angle in zip(JOINTS, STANDING.tolist(), strict=True)]
        self.world = RobotWorld(ROBOT, JOINTS, SCALE, raw, Reality(6, **errors))
        self.now = 0.0
        for index in range(18):
            self.world.torque(index, True)
        self.wait(0.5)

    def wait(self, seconds):
        for _ in range(round(seconds / TICK_S)):
            self.now += TICK_S
            self.world.step(self.now)

    @property
    def angles(self):
        return np.array([joint.angle(self.world.position(index)) for index, joint in enumerate(JOINTS)])


def test_a_robot_without_errors_is_the_ideal_one():
    assert built(ROBOT, reality(ROBOT, "ideal")) == ROBOT
    assert Emulated().angles == pytest.approx(Emulated(supply_resistance=0.1).angles)


def test_wrong_zeros_and_lengths_are_not_reported_but_move_the_weight_from_foot_to_foot():
    even = Emulated().world.support.forces
    drawn = reality(ROBOT, "typical", 2)
    for errors in ({"zero_offset": drawn.zero_offset}, {"length": drawn.length}, {"hip": drawn.hip}):
        real = Emulated(**errors)
        forces = real.world.support.forces
        assert np.abs(real.angles - STANDING).max() < math.radians(6.0)  # sag of the overloaded legs
        assert forces.sum() == pytest.approx(even.sum(), rel=0.01)
        assert np.ptp(forces) > 2.0 * np.ptp(even)


def test_a_loaded_joint_lies_at_the_end_of_its_play_where_the_load_pushes_it():
    play = math.radians(2.0)
    moved = Emulated(backlash=play).angles - Emulated().angles
    femurs = moved[1::3]
    assert np.abs(femurs) == pytest.approx(play / 2.0, abs=2e-3)
    assert (np.sign(femurs) > 0.0).all()  # the weight lifts the feet against the body


def test_a_goal_reaches_the_motor_after_the_latency():
    def start_of_motion(latency):
        robot = Emulated(latency=latency)
        begin = robot.angles[0]
        robot.world.goal(0, JOINTS[0].raw(STANDING[0] + 0.3), 0.0)
        for tick in range(20):
            robot.wait(TICK_S)
            if abs(robot.angles[0] - begin) > 0.01:
                return tick * TICK_S
        return math.inf

    assert start_of_motion(0.1) - start_of_motion(0.0) == pytest.approx(0.1, abs=TICK_S)


def test_a_robot_is_built_with_its_errors_of_length():
    errors = dataclasses.replace(reality(ROBOT, "ideal"), length=0.002, hip=(0.0, 0.001, 0.0))
    made = built(ROBOT, errors)
    assert made.legs[3].femur.length == pytest.approx(ROBOT.legs[3].femur.length + 0.002)
    assert made.legs[3].hip[1] == pytest.approx(ROBOT.legs[3].hip[1] + 0.001)
