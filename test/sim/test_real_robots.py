# SPDX-License-Identifier: Apache-2.0
"""Physics of a robot with errors: each does what it does to a real one, and none changes the ideal robot."""

import math

import mujoco
import numpy as np
import pytest

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.reality import Reality, reality
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import standing_pose
from hexapod_control.sim.world_settings import WorldSettings

FILE = load("phantomx")
ROBOT, TEXT = FILE.robot, urdf(FILE)
STANDING = standing_pose(ROBOT)
KNEE = (0, 2)


def simulated(**errors):
    return Simulation(ROBOT, TEXT, WorldSettings(), Reality(6, **errors))


def hanging(**errors):
    """A robot in the air, without gravity, so that nothing but its servos turns its joints."""
    simulation = simulated(**errors)
    simulation.model.opt.gravity[:] = 0.0
    simulation.reset(STANDING, 20.0)
    return simulation


def true_angle(simulation, joint=KNEE):
    return float(simulation.data.qpos[simulation.world.position[joint]])


def test_the_settings_of_the_world_give_the_robot_its_errors():
    simulation = Simulation(ROBOT, TEXT, WorldSettings(reality="worn", reality_seed=5))
    drawn = reality(ROBOT, "worn", 5)
    assert np.array_equal(simulation.reality.zero_offset, drawn.zero_offset)
    assert Simulation(ROBOT, TEXT, WorldSettings()).reality.is_ideal


def test_the_same_robot_walks_the_same_way_twice():
    def state():
        simulation = Simulation(ROBOT, TEXT, WorldSettings(reality="typical", reality_seed=2))
        simulation.step(STANDING + 0.05, 0.4)
        return simulation.data.qpos.copy(), simulation.reading().foot_forces

    assert all(np.array_equal(one, other) for one, other in zip(state(), state(), strict=True))


def test_a_joint_with_a_wrong_zero_is_elsewhere_and_reports_where_it_was_told_to_be():
    simulation = hanging(zero_offset=math.radians(2.0))
    simulation.step(STANDING, 0.5)
    assert true_angle(simulation) == pytest.approx(STANDING[KNEE] + math.radians(2.0), abs=2e-3)
    assert simulation.joints[KNEE] == pytest.approx(STANDING[KNEE], abs=2e-3)


def test_a_joint_with_play_moves_freely_by_the_play_and_is_held_at_its_ends():
    play = math.radians(2.0)
    ends = []
    for torque in (0.1, -0.1):
        simulation = hanging(backlash=play, friction=0.0)
        simulation.data.qfrc_applied[simulation.world.velocity[KNEE]] = torque
        simulation.step(STANDING, 1.0)
        ends.append(true_angle(simulation))
    sag = 2.0 * 0.1 / ROBOT.legs[0].tibia_joint.stiffness
    assert ends[0] - ends[1] == pytest.approx(play + sag, abs=1e-3)


def test_a_target_reaches_the_joint_after_the_latency():
    def start_of_motion(latency):
        simulation = hanging(latency=latency)
        targets = STANDING.copy()
        targets[KNEE] += 0.1
        moved = []
        simulation.step(targets, 0.2, lambda now: moved.append(true_angle(now)))
        return 0.002 * int(np.argmax(np.abs(np.array(moved) - STANDING[KNEE]) > 1e-3))

    assert start_of_motion(0.05) - start_of_motion(0.0) == pytest.approx(0.05, abs=0.0021)


def test_legs_are_as_long_and_hips_where_the_errors_put_them():
    length, hip = np.zeros((6, 3)), np.zeros((6, 3))
    length[1] = (0.001, 0.002, -0.003)
    hip[1] = (0.004, 0.0, -0.001)
    joints = np.zeros((6, 3))

    def foot(simulation):
        simulation.reset(joints, 1.0)
        return simulation.data.xpos[simulation.world.feet].copy()

    moved = foot(simulated(length=length, hip=hip)) - foot(simulated())
    leg = ROBOT.legs[1]
    along = np.array([*leg.hip_direction, 0.0]) * length[1].sum()
    assert moved[1] == pytest.approx(along + hip[1], abs=1e-9)
    assert np.delete(moved, 1, axis=0) == pytest.approx(0.0, abs=1e-12)


def test_a_tilted_imu_reads_its_mounting_and_its_biases_and_the_truth_stays():
    mounting = np.radians((2.0, -1.0, 3.0))
    simulation = simulated(imu_mounting=mounting, gyro_bias=(0.01, 0.0, 0.0), accelerometer_bias=(0.0, 0.2, 0.0))
    simulation.step(STANDING, 1.0)
    simulation.inertial()
    simulation.step(STANDING, 0.5)
    read = simulation.inertial()
    chip = np.zeros(9)
    mujoco.mju_quat2Mat(chip, np.array(read.orientation)[[3, 0, 1, 2]])
    gravity = chip.reshape(3, 3).T @ [0.0, 0.0, 9.81]
    assert gravity[:2] == pytest.approx(
        [9.81 * math.sin(math.radians(1.0)), 9.81 * math.sin(math.radians(2.0))], abs=0.03
    )
    assert read.acceleration == pytest.approx(np.add(gravity, [0.0, 0.2, 0.0]), abs=0.03)
    assert read.angular_velocity == pytest.approx([0.01, 0.0, 0.0], abs=2e-3)
    assert simulation.reading().orientation == pytest.approx([0.0, 0.0, 0.0, 1.0], abs=2e-3)


def test_contacts_are_reported_late():
    simulation = simulated(contact_latency=0.1)
    simulation.reset(STANDING, 20.0)
    simulation.step(STANDING, 0.2)
    simulation.reset(STANDING)
    seen = []
    for _ in range(20):
        simulation.step(STANDING, 0.02)
        seen.append((simulation.foot_forces.max() > 0.0, simulation.reading().foot_forces.max() > 0.0))
    truth, reported = zip(*seen, strict=True)
    assert reported.index(True) - truth.index(True) == 5


def test_friction_grows_with_the_load():
    """A knee that bears a torque returns less when a fifth of the torque is taken away; MuJoCo's friction creeps."""

    def returned(load_friction):
        simulation = hanging(load_friction=load_friction, friction=1e-3)
        angles = []
        for torque in (0.5, 0.4):
            simulation.data.qfrc_applied[simulation.world.velocity[KNEE]] = torque
            for _ in range(20):
                simulation.step(STANDING, 0.02)
            angles.append(true_angle(simulation))
        return angles[0] - angles[1]

    assert returned(0.0) == pytest.approx(0.1 / ROBOT.legs[0].tibia_joint.stiffness, rel=0.05)
    assert returned(0.3) < 0.8 * returned(0.0)


def test_servos_under_load_warm_up_draw_the_supply_down_and_give_less_torque():
    tired = simulated(voltage=12.0, supply_resistance=0.3, stall_current=1.5, heating=50.0, cooling=0.001, hottest=60.0)
    heights = []
    for _ in range(10):
        for _ in range(50):
            tired.step(STANDING, 0.02)
        heights.append(float(tired.data.qpos[2]))
    assert tired.supply_share < 0.99 and tired.temperature_rise.max() > 1.0
    assert heights[-1] < heights[0]
    before = tired.reading().joint_torque
    tired.release()
    tired.step(STANDING, 0.1)
    assert before.any() and not tired.reading().joint_torque.any()
    tired.engage()
    tired.step(STANDING, 0.1)
    assert tired.reading().joint_torque.any()


def test_a_change_of_the_world_keeps_the_robot_with_what_is_on_its_way_to_the_servos():
    errors = reality(ROBOT, "typical", 1)
    steady, changed = (Simulation(ROBOT, TEXT, WorldSettings(), errors) for _ in range(2))
    for simulation in (steady, changed):
        simulation.step(STANDING + 0.02, 0.03)
    before, changed = changed, changed.changed(TEXT, WorldSettings(payload=1e-6))
    assert changed.ground == before.ground and changed.reality is errors
    changed.take_over(before)
    for simulation in (steady, changed):
        simulation.step(STANDING + 0.02, 0.06)
    assert changed.data.qpos == pytest.approx(steady.data.qpos, abs=1e-4)


def test_a_change_of_the_world_during_a_push_ends_neither_the_push_nor_the_mean_rate_of_the_imu():
    steady, changed = (Simulation(ROBOT, TEXT, WorldSettings()) for _ in range(2))
    for simulation in (steady, changed):
        simulation.step(STANDING, 0.1)
        simulation.inertial()
        simulation.push(np.array((0.0, 8.0, 0.0)), 0.2)
        simulation.step(STANDING, 0.05)
    before, changed = changed, changed.changed(TEXT, WorldSettings(payload=1e-6))
    changed.take_over(before)
    assert changed.inertial().angular_velocity == pytest.approx(steady.inertial().angular_velocity, abs=0.003)
    for simulation in (steady, changed):
        simulation.step(STANDING, 0.3)
    assert changed.data.qpos == pytest.approx(steady.data.qpos, abs=1e-4)
