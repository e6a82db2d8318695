# SPDX-License-Identifier: Apache-2.0
"""Joint zeros and lengths from poses on planted feet: laws of the estimate."""

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from support.kits.hidden_robot import HiddenRobot

from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.calibration.chain_estimate import ChainNoise, StandingPose
from hexapod_control.core.calibration.closed_chains import ClosedChains
from hexapod_control.core.calibration.pose_choice import CalibrationPoses
from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.walking.body.pose_feasibility import PoseFeasibility
from hexapod_control.core.workspace.capabilities import Capabilities

NOISE = {"angle": math.radians(0.1), "slip": 0.0003, "tilt": math.radians(0.2)}


@lru_cache
def posed(name, seed=0):
    robot = load(name).robot
    return robot, tuple(CalibrationPoses(PoseFeasibility(Capabilities.of(robot))).chosen(16, seed))


def rms(values):
    return math.sqrt(np.mean(np.square(values)))


@pytest.mark.parametrize("name", ["quadruped", "octopod"])
def test_without_noise_zeros_and_lengths_are_recovered(name):
    robot, poses = posed(name)
    hidden = HiddenRobot(robot, 1)
    exact = ChainNoise(angle=1e-5, height=1e-5, jitter=1e-5, tilt=1e-5)
    found = ClosedChains(robot, exact).estimate(hidden.measured(poses)).corrections
    off = hidden.degrees_off(found.zeros)
    off[:, 0] -= off[:, 0].mean()  # where the front of the body is, they do not tell either
    assert np.abs(off).max() < 0.03
    plan = np.array([(leg.coxa.length, leg.femur.length, leg.tibia.length) for leg in robot.legs])
    scale = np.mean((plan + found.lengths) / (plan + hidden.lengths))  # which angles do not tell
    assert scale == pytest.approx(1.0, abs=0.01)
    assert (plan + found.lengths) / scale == pytest.approx(plan + hidden.lengths, abs=2e-4)


def test_the_deviations_are_those_of_the_errors_over_many_robots():
    """Article D7: angles are corrected so that all feet stand on one plane."""
    robot, poses = posed("phantomx")
    shares, errors = [], []
    for seed in range(4):
        hidden = HiddenRobot(robot, seed, hip=0.001, **NOISE)
        estimate = ClosedChains(robot).estimate(hidden.measured(poses))
        found, deviations = estimate.corrections, estimate.deviations
        shares.append((found.zeros - hidden.zeros) / deviations.zeros)
        shares.append((found.lengths - hidden.lengths) / deviations.lengths)
        errors.append(hidden.degrees_off(found.zeros))
    assert 0.5 < rms(shares) < 1.2  # slip counts for more than its size, as wrong zeros may cause it
    assert rms(errors) < 0.4 and np.abs(errors).max() < 1.0


def test_the_estimate_depends_neither_on_the_order_of_the_legs_nor_on_the_frame_of_the_body():
    robot, poses = posed("phantomx")
    hidden = HiddenRobot(robot, 3, **NOISE)
    measured = hidden.measured(poses)
    first = ClosedChains(robot).estimate(measured).corrections
    order = [3, 0, 5, 1, 4, 2]
    shuffled = replace(robot, legs=tuple(robot.legs[row] for row in order))
    again = ClosedChains(shuffled).estimate([replace(pose, joints=pose.joints[order]) for pose in measured])
    assert again.corrections.zeros == pytest.approx(first.zeros[order], abs=1e-4)
    assert again.corrections.lengths == pytest.approx(first.lengths[order], abs=1e-5)
    turned = replace(
        robot,
        legs=tuple(
            replace(leg, hip=(0.1 - leg.hip[1], leg.hip[0], leg.hip[2] + 0.02), hip_yaw=leg.hip_yaw + math.pi / 2)
            for leg in robot.legs
        ),
    )
    quarter = [StandingPose(pose.joints, _turned(pose.tilt)) for pose in measured]
    again = ClosedChains(turned).estimate(quarter)
    assert again.corrections.zeros == pytest.approx(first.zeros, abs=1e-4)
    assert again.corrections.lengths == pytest.approx(first.lengths, abs=1e-5)


def _turned(tilt):
    """Roll and pitch of a body whose x is the former y to the right."""
    roll, pitch = tilt
    up = np.array([-math.sin(pitch), math.cos(pitch) * math.sin(roll), math.cos(pitch) * math.cos(roll)])
    x, y, z = -up[1], up[0], up[2]
    return math.atan2(y, z), math.asin(-x)


@pytest.mark.parametrize(("name", "seed"), [("phantomx", 0), ("phantomx", 1), ("phoenix", 2), ("octopod", 3)])
def test_a_foot_that_slips_far_and_one_that_stands_higher_from_any_pose_on_spoil_nothing_and_are_found(name, seed):
    robot, poses = posed(name, seed)
    rng = np.random.default_rng(seed)
    hidden = HiddenRobot(robot, seed, **NOISE)
    since = int(rng.integers(5, len(poses) - 4))
    slipping, rising = rng.choice(len(robot.legs), 2, replace=False)
    measured = hidden.measured(poses[:since])
    hidden.places[slipping] += (0.02, -0.01)
    hidden.floor[rising] = 0.02
    measured += hidden.measured(poses[since:])
    found = ClosedChains(robot).estimate(measured)
    assert found.converged and np.abs((found.corrections.zeros - hidden.zeros) / found.deviations.zeros).max() < 3.0
    way = found.places[since] - found.places[since - 1]
    assert way[rising, 2] == pytest.approx(0.02, abs=0.0015)
    way = found.places[since + 1] - found.places[since - 1]  # a step of two poses is as likely
    assert np.linalg.norm(way[slipping, :2]) == pytest.approx(math.hypot(0.02, 0.01), abs=0.004)
    assert np.median(found.weights, axis=0).min() > 0.8


def test_a_foot_that_hangs_in_the_air_in_some_poses_does_not_count_there():
    robot, poses = posed("phantomx")
    hidden = HiddenRobot(robot, 4, **NOISE)
    measured = []
    for row, pose in enumerate(poses):
        hidden.floor[4] = 0.01 + 0.02 * hidden.rng.uniform() if row % 4 == 2 else 0.0
        measured += hidden.measured([pose])
    found = ClosedChains(robot).estimate(measured)
    assert np.abs((found.corrections.zeros - hidden.zeros) / found.deviations.zeros).max() < 3.0
    assert ((found.weights[2::4, 4] < 0.3) | (found.places[2::4, 4, 2] > 0.005)).all()
    assert np.median(found.weights[:, 2]) > 0.8


def test_feet_that_bear_little_and_slip_far_cost_little_if_their_loads_are_known():
    robot, poses = posed("phantomx")
    errors = {True: [], False: []}
    for seed in (42, 43):
        hidden = HiddenRobot(robot, seed, angle=math.radians(0.1), tilt=math.radians(0.2))
        measured = []
        for pose in poses:
            loads = hidden.rng.uniform(0.1, 2.0, 6)
            hidden.places = hidden.places + 0.0005 / loads[:, None] * hidden.rng.standard_t(2, (6, 2))
            measured.append(replace(hidden.measured([pose])[0], loads=tuple(loads.tolist())))
        for known in (True, False):
            found = ClosedChains(robot).estimate(measured if known else [replace(pose, loads=()) for pose in measured])
            assert found.converged
            assert rms((found.corrections.zeros - hidden.zeros) / found.deviations.zeros) < 1.2
            errors[known].append(hidden.degrees_off(found.corrections.zeros))
    assert rms(errors[True]) < min(0.6, rms(errors[False]))


def test_two_stances_know_more_than_one_and_the_feet_may_stand_elsewhere():
    robot, poses = posed("phantomx")
    errors = []
    for seed in (5, 6):
        hidden = HiddenRobot(robot, seed, **NOISE)
        first = hidden.measured(poses)
        hidden.places += 0.01 * hidden.rng.standard_normal((6, 2))
        both = first + [replace(pose, stance=1) for pose in hidden.measured(poses)]
        alone = ClosedChains(robot).estimate(first)
        found = ClosedChains(robot).estimate(both)
        assert rms(found.deviations.zeros) < 0.85 * rms(alone.deviations.zeros)
        errors.append(hidden.degrees_off(found.corrections.zeros))
    assert rms(errors) < 0.4


def test_what_the_poses_do_not_tell_stays_as_it_is():
    robot, _ = posed("phantomx")
    hidden = HiddenRobot(robot, 6, **NOISE)
    noise = ChainNoise(tilt=math.radians(0.2))
    level = [NEUTRAL._replace(x=0.001 * k) for k in range(4)]
    found = ClosedChains(robot, noise).estimate(hidden.measured(level))
    assert rms(found.corrections.zeros) < rms(hidden.zeros)
    assert (found.deviations.zeros > 0.5 * found.priors.zeros).mean() > 0.3
    without = [replace(pose, tilt=None) for pose in hidden.measured(level)]
    mounting = ClosedChains(robot).estimate(without)
    assert mounting.corrections.mounting == pytest.approx((0.0, 0.0, 0.0))
    assert mounting.deviations.mounting == pytest.approx(mounting.priors.mounting)


def test_fewer_than_three_poses_or_feet_are_refused():
    robot, poses = posed("phantomx")
    measured = HiddenRobot(robot, 7).measured(poses[:3])
    for wrong in (measured[:2], [*measured[:2], replace(measured[2], loads=(1.0, 1.0, *(0.0,) * 4))]):
        with pytest.raises(ValueError, match="at least 3 poses on at least 3 feet"):
            ClosedChains(robot).estimate(wrong)
