# SPDX-License-Identifier: Apache-2.0
"""A robot in physics weighs what it carries: the friction of its servos hides a load, unless its body moves."""

import itertools

import numpy as np
import pytest

from hexapod_control.config.motion_file import load_motion
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.motions.motion_player import MotionPlayer
from hexapod_control.core.motions.motion_rehearsal import MotionRehearsal
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.reality import reality
from hexapod_control.core.sensing.payload import Weighing, weigh
from hexapod_control.evaluation.lockstep import Lockstep
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.world_settings import WorldSettings


def weighed(payload, name="phantomx"):
    file = load(name)
    simulation = Simulation(file.robot, urdf(file), WorldSettings(payload=payload))
    targets = np.array(standing_joints(file.robot))
    simulation.reset(targets)
    simulation.step(targets, 2.0)
    reading = simulation.reading()
    return weigh(file.robot, reading.joints, reading.joint_torque)


def test_a_load_is_felt_and_none_where_there_is_none():
    assert not weighed(0.0).is_significant
    for mass in (0.2, 1.5):
        found = weighed(mass)
        assert found.is_significant == (mass == 1.5)
        assert abs(found.mass - mass) < 0.01
        assert np.hypot(*found.place) < 0.01


def test_the_lever_of_the_ball_under_the_foot_counts():
    for mass in (0.2, 1.5):
        found = weighed(mass, "freenove")
        assert abs(found.mass - mass) < 0.01
        assert np.hypot(*found.place) < 0.01


@pytest.mark.parametrize("seed", [0, 1])
def test_a_typical_robot_weighs_over_a_motion_what_friction_hides_at_rest(seed):
    file = load("phantomx")
    robot = file.robot
    simulation = Simulation(robot, urdf(file), WorldSettings(payload=0.5), reality(robot, "typical", seed))
    simulation.reset(sitting_pose(robot))
    player = MotionPlayer(Planner(robot))
    lockstep = Lockstep(simulation, player.planner)
    lockstep.stand()
    lockstep.planner = player

    def weighing(ticks):
        found = Weighing(robot)
        for tick in ticks:
            lockstep.tick()
            if tick % 3 == 0:
                reading = simulation.reading()
                found.take(reading.joints, reading.joint_torque)
        return found.payload()

    still = weighing(range(100))
    player.execute(MotionRehearsal(robot, load_motion("weigh", robot)).finish())
    moving = weighing(itertools.takewhile(lambda _: player.name, itertools.count()))
    assert abs(still.mass - 0.5) > 0.3 and not still.mass > 0.5 + 2.0 * still.mass_deviation
    assert abs(moving.mass - 0.5) < min(0.1, 2.0 * moving.mass_deviation)
    assert moving.is_significant and moving.mass_deviation < 0.3 * still.mass_deviation
    assert np.hypot(*moving.place) < 2.0 * moving.place_deviation
