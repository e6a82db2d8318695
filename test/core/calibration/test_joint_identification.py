# SPDX-License-Identifier: Apache-2.0
"""The laws of the identification of a joint: what its model makes is found again, and deviations are honest."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.phantomx import robot

from hexapod_control.core.calibration.joint_identification import identify
from hexapod_control.core.calibration.joint_recording import JointRecording
from hexapod_control.core.calibration.servo_fit import ServoFit

JOINT = robot().legs[0].joints[1]
USUAL_LAG = JOINT.stall_torque / JOINT.no_load_speed / JOINT.stiffness
STEPS_DEG = (0, 1, 3, 5, 3.5, 1.2, -1, -3.2, -5, -2.5, 1.6, 4.4, 0)
TORQUES = (0.089, 0.05, -0.04)
STEP_S = 0.4
PERIOD_S = 0.01


def recorded(values, rng, resolution):
    """What a joint with values of a `ServoFit` reports on steps under different loads."""
    recording = JointRecording()
    stiffness, slack = JOINT.stiffness * math.exp(values[0]), values[1]
    for number, torque in enumerate(TORQUES):
        begin = 10.0 * number
        rest = -torque / stiffness - math.copysign(slack, torque)
        recording.breaks.add(len(recording.goals))
        for k, degrees in enumerate(STEPS_DEG):
            late = rng.uniform(0.0, PERIOD_S) if k else 0.0
            recording.goals.append((begin + STEP_S * k + late, math.radians(degrees), torque))
        count = round(STEP_S * len(STEPS_DEG) / PERIOD_S)
        recording.readings += [(begin + PERIOD_S * k, rest) for k in range(count)]
    (course,) = ServoFit([recording], [JOINT]).courses(values[None])
    begins = [recording.goals[at + 1][0] for at in sorted(recording.breaks)]
    moving = [k for k, (time, _) in enumerate(recording.readings) if time >= begins[int(time // 10.0)]]
    assert len(moving) == len(course)
    for k, angle in zip(moving, course[:, 0].tolist(), strict=True):
        recording.readings[k] = (recording.readings[k][0], angle)
    if resolution:
        recording.readings = [(time, round(angle / resolution) * resolution) for time, angle in recording.readings]
    return recording


def drawn(rng):
    stiffness = rng.uniform(0.5, 1.5)
    lag = USUAL_LAG / stiffness
    return np.array(
        [
            math.log(stiffness),
            math.radians(rng.uniform(0.15, 1.0)),
            rng.uniform(0.3, 1.5),
            rng.uniform(0.005, 0.06),
            math.log(lag),
            math.log(JOINT.traits.motor_time_constant / lag),
        ]
    )


def off(found, values):
    """Errors of latency, play and stiffness, and their deviations."""
    stiffness = JOINT.stiffness * math.exp(values[0])
    truth = values[3], 2.0 * values[1], stiffness
    measured = found.latency, found.backlash, found.stiffness
    return [(each.value - true, each.deviation) for each, true in zip(measured, truth, strict=True)], truth


def test_without_noise_a_servo_of_the_simulators_model_is_found_again():
    rng = np.random.default_rng(1)
    values = [drawn(rng) for _ in range(4)]
    found = identify([recorded(each, rng, 0.0) for each in values], [JOINT] * 4)
    for estimate, each in zip(found, values, strict=True):
        ((latency, _), (play, _), (stiffness, _)), truth = off(estimate, each)
        assert abs(latency) < max(0.1 * truth[0], 1e-3)
        assert abs(math.degrees(play)) < 0.1
        assert abs(stiffness) < 0.1 * truth[2]
        assert math.degrees(estimate.residual) < 0.1


def test_deviations_are_those_of_the_errors_with_a_coarse_encoder():
    rng = np.random.default_rng(2)
    values = [drawn(rng) for _ in range(6)]
    found = identify([recorded(each, rng, math.radians(0.088)) for each in values], [JOINT] * 6)
    shares = [
        error / deviation
        for estimate, each in zip(found, values, strict=True)
        for error, deviation in off(estimate, each)[0]
    ]
    assert math.sqrt(np.mean(np.square(shares))) < 3.0
    assert all(estimate.resolution == pytest.approx(math.radians(0.088)) for estimate in found)


def test_a_joint_without_load_does_not_tell_its_stiffness_and_friction():
    rng = np.random.default_rng(3)
    recording = recorded(drawn(rng), rng, 0.0)
    recording.goals = [(time, goal, 0.0) for time, goal, _ in recording.goals]
    (found,) = identify([recording], [replace(JOINT)])
    assert found.stiffness is None and found.friction is None


def test_a_joint_that_does_not_follow_is_still():
    rng = np.random.default_rng(4)
    recording = recorded(drawn(rng), rng, 0.0)
    assert not recording.is_still
    recording.readings = [(time, 0.0) for time, _ in recording.readings]
    assert recording.is_still
