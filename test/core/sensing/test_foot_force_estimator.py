# SPDX-License-Identifier: Apache-2.0
"""Foot forces estimated from servo torques: on synthetic legs, then against the physics."""

import math
from dataclasses import replace

import numpy as np
import pytest
from rough_ground import LOW_LIFT_M, with_swing
from sensing_lockstep import ServoSensingLockstep
from support.drives import robot
from support.suite.soak import cases

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.leg_kinematics import forward, leg_forward
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.sensing.foot_force_estimator import FootForceEstimator, ServoTorqueModel
from hexapod_control.core.sensing.sensor_inputs import Adaptation
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.sim.servo_models import with_servo
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.world_settings import WorldSettings

NAMES = ("phantomx", "article")
DT = 0.02
DIFFERENCE_RAD = 1e-5
TURN_RAD, LIFT_RAD = 0.25, 0.35  # amplitudes of coxa and femur in the synthetic steps
STEP_TIME_S = 0.7


def poses(name, time):
    """Joints (n, 3) of two tripods that lift their feet in turn."""
    count = len(robot(name).legs)
    phases = [time / STEP_TIME_S + 0.5 * (k % 2) for k in range(count)]
    up = [max(0.0, math.sin(math.tau * phase)) ** 4 for phase in phases]
    sway = [0.05 * math.sin(math.tau * phase) for phase in phases]
    return np.array(
        [(s * TURN_RAD, 0.5 + LIFT_RAD * u + s, -1.9 - 0.2 * u + s) for u, s in zip(up, sway, strict=True)]
    ), up


def energy(name, joints):
    """Potential energy [J] of each leg, by the masses halfway along the links."""
    found = []
    for leg, (_, femur, tibia) in zip(robot(name).legs, joints, strict=True):
        knee = leg.femur.length * math.sin(femur)
        foot = knee + leg.tibia.length * math.sin(femur + tibia)
        found.append(GRAVITY * (leg.femur.mass * knee / 2 + leg.tibia.mass * (knee + foot) / 2))
    return np.array(found)


def slope(of, joints):
    """Derivative (n, 3) of a value per leg by its joints."""
    rows = np.zeros((len(joints), 3))
    for column in range(3):
        ahead, behind = joints.copy(), joints.copy()
        ahead[:, column] += DIFFERENCE_RAD
        behind[:, column] -= DIFFERENCE_RAD
        rows[:, column] = (of(ahead) - of(behind)) / (2.0 * DIFFERENCE_RAD)
    return rows


class Legs:
    """Legs with unknown servo gains, whose standing feet carry given forces."""

    def __init__(self, name, damping, inertia, rough=0.0, seed=0):
        self.name, self.rough = name, rough
        self.needs = damping, inertia, 0.01 * robot(name).legs[0].femur_joint.stall_torque
        self.load = robot(name).mass * GRAVITY / 3
        self.loads, self.rng = FootForceEstimator(robot(name)), np.random.default_rng(seed)

    def readings(self, time):
        """Joints, speeds, torques, and the force on each foot, by virtual work."""
        (joints, up), h = poses(self.name, time), 1e-4
        before, after = poses(self.name, time - h)[0], poses(self.name, time + h)[0]
        speeds, changes = (after - before) / (2 * h), (after - 2 * joints + before) / h**2
        carried = np.array([self.load if u == 0.0 else 0.0 for u in up])
        height = slope(lambda row: forward(robot(self.name), row)[:, 2], joints)
        damping, inertia, friction = self.needs
        torques = damping * speeds + inertia * changes + friction * np.tanh(speeds / 0.1)
        torques += slope(lambda row: energy(self.name, row), joints) - carried[:, None] * height
        return joints, speeds, torques + self.rough * self.rng.standard_normal(torques.shape), carried

    def run(self, seconds, start=0.0):
        """Pairs of the forces found, or None, and the true ones."""
        for k in range(round(seconds / DT)):
            time = start + k * DT
            joints, speeds, torques, carried = self.readings(time)
            yield self.loads.update(joints, speeds, torques, np.full_like(joints, time)), carried


def guess(name):
    joint = robot(name).legs[0].femur_joint
    return joint.stall_torque / joint.no_load_speed, 0.02 * joint.stall_torque / joint.no_load_speed


@pytest.mark.parametrize(("name", "factors"), cases(NAMES, [(1.0, 1.0), (0.0, 1.0), (1.6, 0.5), (0.7, 3.0)]))
def test_the_foot_forces_are_estimated_for_any_torque_coefficients(name, factors):
    damping, inertia = guess(name)
    legs = Legs(name, factors[0] * damping, factors[1] * inertia)
    found = [(forces, carried) for forces, carried in legs.run(10.0) if forces is not None][-200:]
    assert legs.loads.valid and len(found) == 200
    even = robot(name).mass * GRAVITY / 6
    wrong = [abs(forces - carried).max() for forces, carried in found]
    assert np.quantile(wrong, 0.9) < 0.2 * even  # the rest: a foot is taken as touching a moment later
    assert legs.loads.torque_model.coefficients[:, 0] == pytest.approx(factors[0] * damping, abs=0.05 * damping)


@pytest.mark.parametrize("name", NAMES)
def test_there_is_no_estimate_before_the_first_fit(name):
    legs = Legs(name, *guess(name))
    estimated = [forces is not None for forces, _ in legs.run(4.0)]
    assert not any(estimated[:20]) and estimated[-1]
    assert estimated == sorted(estimated)


@pytest.mark.parametrize("name", NAMES)
def test_loads_that_the_motion_does_not_explain_are_not_used(name):
    legs = Legs(name, *guess(name), rough=0.3 * robot(name).legs[0].femur_joint.stall_torque)
    assert all(forces is None for forces, _ in legs.run(6.0))
    assert not legs.loads.learning and legs.loads.error > 0.25


def test_nothing_is_learned_from_a_robot_that_only_stands():
    legs = Legs("phantomx", *guess("phantomx"))
    joints, _, torques, _ = legs.readings(0.0)
    for k in range(300):
        legs.loads.update(joints, np.zeros_like(joints), torques, np.full_like(joints, k * DT))
    assert legs.loads.learning


def test_nothing_is_learned_from_a_body_that_rises_on_all_feet():
    """All feet go down under it at once: they are not in the air."""
    legs = Legs("phantomx", *guess("phantomx"))
    joints, speeds, torques, _ = legs.readings(0.1)
    together = np.tile(speeds[np.abs(speeds[:, 1]).argmax()], (6, 1))
    for k in range(300):
        legs.loads.update(joints, together, torques, np.full_like(joints, k * DT))
    assert legs.loads.learning


def test_a_leg_without_new_readings_keeps_its_load():
    legs = Legs("phantomx", *guess("phantomx"))
    forces, _ = list(legs.run(5.0))[-1]
    joints, speeds, torques, _ = legs.readings(5.0)
    times = np.full_like(joints, 5.0)
    times[0] = 5.0 - DT  # was not read in this cycle
    after = legs.loads.update(joints, speeds, -torques, times)
    assert after[0] == forces[0]
    assert (after != forces).any()


def test_a_straight_leg_has_finite_forces():
    legs = Legs("phantomx", *guess("phantomx"))
    last, _ = list(legs.run(5.0))[-1]
    assert last is not None
    joints = np.zeros((6, 3))
    found = legs.loads.update(joints, joints, np.full_like(joints, 0.5), np.full_like(joints, 5.0))
    assert np.isfinite(found).all()


# --- the torques of the motion itself ---------------------------------------------------------------------

SERVOS = (robot("phantomx").legs[0].femur_joint, replace(robot("phantomx").legs[0].tibia_joint, stall_torque=1.1))
STALL = np.array([joint.stall_torque for joint in SERVOS])
DAMPING = STALL / [joint.no_load_speed for joint in SERVOS]
GUESS = np.stack((DAMPING, 0.02 * DAMPING, 0.02 * STALL), axis=1)  # (2, 3) by speed, acceleration and friction


def test_the_torques_of_a_motion_are_guessed_from_stall_torque_and_no_load_speed():
    model, motion = ServoTorqueModel(SERVOS), np.random.default_rng(1).standard_normal((4, 2, 3))
    assert model.coefficients == pytest.approx(GUESS)
    assert model.torques(motion) == pytest.approx((motion * GUESS).sum(axis=2))


def test_the_torque_model_is_the_least_squares_fit_to_the_guess_and_to_samples_that_are_forgotten_slowly():
    """The guess is as uncertain as it is large; torques scatter by 6 % of the stall torque."""
    model, rng, taken = ServoTorqueModel(SERVOS), np.random.default_rng(2), []
    for _ in range(40):
        motion, torques = rng.standard_normal((2, 2, 3)), rng.standard_normal((2, 2))
        model.learn(motion, torques)
        taken.append((motion, torques))
    for servo in range(2):
        rows, values = [np.diag(1.0 / GUESS[servo])], [np.ones(3)]
        for age, (motion, torques) in enumerate(reversed(taken)):
            weight = 0.9995 ** (age / 2) / (0.06 * STALL[servo])
            rows.append(weight * motion[:, servo])
            values.append(weight * torques[:, servo])
        fitted = np.linalg.lstsq(np.concatenate(rows), np.concatenate(values), rcond=None)[0]
        assert model.coefficients[servo] == pytest.approx(fitted)


# --- thresholds -------------------------------------------------------------------------------------------

BENT = np.tile((0.0, 0.5, -1.9), (6, 1))  # [rad]
EVEN = robot("phantomx").mass * GRAVITY / 6


def jacobian(leg, joints):
    """Rows femur and tibia; columns outwards and upwards [m/rad]."""
    found = []
    for column in (1, 2):
        ahead, behind = ([*joints] for _ in range(2))
        ahead[column] += DIFFERENCE_RAD
        behind[column] -= DIFFERENCE_RAD
        (x1, _, z1), (x0, _, z0) = (leg_forward(leg, tuple(row))[1] for row in (ahead, behind))
        found.append(((x1 - x0) / (2.0 * DIFFERENCE_RAD), (z1 - z0) / (2.0 * DIFFERENCE_RAD)))
    return np.array(found)


def raising(rates, count, dt=DT):
    """The estimator after samples of feet that rise at constant rates [m/s] under the body, and the last time."""
    loads = FootForceEstimator(robot("phantomx"))
    speeds = np.zeros((6, 3))
    speeds[:, 1] = [
        rate / jacobian(leg, BENT[0])[0, 1] for rate, leg in zip(rates, robot("phantomx").legs, strict=True)
    ]
    own = np.stack((speeds, 0.0 * speeds, np.tanh(speeds / 0.1)), axis=2)[:, 1:]
    torques = slope(lambda row: energy("phantomx", row), BENT)
    torques[:, 1:] += loads.torque_model.torques(own)
    for k in range(count):
        loads.update(BENT, speeds, torques, np.full_like(BENT, k * dt))
    return loads


@pytest.mark.parametrize(
    ("rates", "flies"),
    [
        ((0.121, 0.0, 0.0, 0.0, 0.0, 0.0), True),
        ((0.119, 0.0, 0.0, 0.0, 0.0, 0.0), False),
        ((-0.121, 0.0, 0.0, 0.0, 0.0, 0.0), False),  # it may be about to touch
        ((0.121, 0.049, -0.049, 0.051, -0.051, 0.0), True),
        ((0.121, 0.051, -0.049, 0.051, -0.051, 0.0), False),
    ],
)
def test_a_foot_that_rises_by_more_than_12_cm_per_second_is_in_the_air_if_three_others_are_slower_than_5(rates, flies):
    assert raising(rates, 61).learning
    loads = raising(rates, 62)  # 61 pairs of samples: sixty, with forgetting
    assert loads.learning != flies and loads.valid == flies and loads.error == 0.0


@pytest.mark.parametrize(("dt", "follows"), [(0.049, True), (0.051, False), (0.0, False)])
def test_samples_that_are_more_than_50_ms_apart_do_not_belong_together(dt, follows):
    assert raising((0.2, 0.0, 0.0, 0.0, 0.0, 0.0), 70, dt).learning != follows


def test_a_foot_touches_with_half_of_an_even_load_until_it_has_less_than_two_fifths():
    loads = raising((0.2, 0.0, 0.0, 0.0, 0.0, 0.0), 70)
    height = slope(lambda row: forward(robot("phantomx"), row)[:, 2], BENT)
    weight = slope(lambda row: energy("phantomx", row), BENT)
    for k, share in enumerate((0.0, 0.0, 0.0, 0.499, 0.501, 0.401, 0.399, 0.499)):
        carried = share * EVEN * np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
        torques = weight - carried[:, None] * height
        found = loads.update(BENT, np.zeros_like(BENT), torques, np.full_like(BENT, 2.0 + k * DT))
        expected = carried if share in (0.501, 0.401) else np.zeros(6)
        assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_a_tenth_of_the_force_that_a_motion_needs_adds_to_the_load_at_which_a_foot_touches(factor):
    loads, leg = raising((0.2, 0.0, 0.0, 0.0, 0.0, 0.0), 70), robot("phantomx").legs[1]
    height = slope(lambda row: forward(robot("phantomx"), row)[:, 2], BENT)
    weight = slope(lambda row: energy("phantomx", row), BENT)
    speeds = np.zeros((6, 3))
    speeds[1, 1:] = 0.8, -0.5
    own = loads.torque_model.torques(np.stack((speeds, 0.0 * speeds, np.tanh(speeds / 0.1)), axis=2)[:, 1:])
    levers = np.linalg.inv(jacobian(leg, BENT[1]))[1]  # vertical force per torque
    force = factor * (0.5 * EVEN + 0.1 * np.abs(levers * own[1]).sum())
    torques = weight.copy()
    torques[1] -= force * height[1]
    torques[:, 1:] += own
    for k in range(3):
        found = loads.update(BENT, speeds, torques, np.full_like(BENT, 2.0 + k * DT))
    assert found[1] == pytest.approx(force if factor > 1.0 else 0.0, rel=1e-5)


def test_the_force_on_a_straight_leg_is_that_of_one_whose_tibia_is_bent_by_a_tenth():
    loads, leg = raising((0.2, 0.0, 0.0, 0.0, 0.0, 0.0), 70), robot("phantomx").legs[1]
    joints = BENT.copy()
    joints[1] = 0.0, 0.5, 0.0
    torques = slope(lambda row: energy("phantomx", row), joints)
    torques[1, 1:] += -0.1, 0.2
    (out0, _), (out1, _) = jacobian(leg, joints[1])
    expected = -(out1 * 0.1 + out0 * 0.2) / (0.1 * leg.femur.length * leg.tibia.length)
    for k in range(3):
        found = loads.update(joints, np.zeros_like(joints), torques, np.full_like(joints, 2.0 + k * DT))
    assert found[1] == pytest.approx(expected, rel=1e-4) and expected > EVEN


def walking(servo, seconds, guessed=1.0):
    """Contacts as found and as they are, on a flat walk with these servos, whose speed the estimator guesses wrong."""
    file = load("phantomx")
    usual = with_swing(file.robot, LOW_LIFT_M)
    model = with_servo(usual, servo)
    simulation = Simulation(model, urdf(file), WorldSettings(between_targets="linear", servo_model=servo))
    simulation.reset(sitting_pose(model))
    run = ServoSensingLockstep(simulation, Planner(usual), Adaptation())
    run.loads = FootForceEstimator(fitted_speed(model, guessed))
    run.stand()
    pairs = []
    for _ in range(round(seconds / DT)):
        run.planner.command(Twist(0.03, 0.0, 0.0))
        run.tick()
        forces = run.foot_forces(simulation.reading()) if run.loads.valid else None
        if forces is not None:
            pairs.append((forces > 0.0, simulation.foot_forces > 0.0))
    return run, np.array(pairs)


def fitted_speed(model, factor):
    def changed(joint):
        return replace(joint, no_load_speed=joint.no_load_speed * factor)

    legs = [
        replace(leg, femur_joint=changed(leg.femur_joint), tibia_joint=changed(leg.tibia_joint)) for leg in model.legs
    ]
    return replace(model, legs=tuple(legs))


@pytest.mark.physics
@pytest.mark.parametrize(("servo", "guessed"), [("ax12", 0.6), ("xl430", 2.0), ("sts3215", 1.0), ("xm430", 1.0)])
def test_on_flat_ground_servo_loads_show_which_feet_touch(servo, guessed):
    run, pairs = walking(servo, 5.6, guessed)
    assert len(pairs) > 200
    found, true = pairs[:, 0], pairs[:, 1]
    assert (found == true).mean() >= 0.95
    assert run.loads.error < 0.125
