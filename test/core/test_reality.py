# SPDX-License-Identifier: Apache-2.0
"""The errors of a real robot: drawn reproducibly, set by hand, and what they do to targets and reported angles."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from hexapod_control.config.robots.robot_file import from_text, load
from hexapod_control.core.reality import REALITIES, CommandPath, Reality, ServoPower, reality, reported
from hexapod_control.evaluation.robot_check.checks import power
from hexapod_control.evaluation.robot_check.subject import Subject

ROBOT = load("phantomx").robot
PERIOD_S = 0.002
IDEAL = reality(ROBOT, "ideal")


def values(errors):
    return {each.name: np.array(getattr(errors, each.name)) for each in dataclasses.fields(errors)}


def path(**errors):
    made = CommandPath(Reality(6, **errors), PERIOD_S)
    made.restart(np.zeros((6, 3)))
    return made


def test_the_same_seed_gives_the_same_robot_and_another_seed_another():
    one, again, other = (values(reality(ROBOT, "worn", seed)) for seed in (3, 3, 4))
    assert all(np.array_equal(one[name], again[name]) for name in one)
    assert not np.array_equal(one["zero_offset"], other["zero_offset"])


def test_only_the_ideal_robot_has_no_errors_and_the_worn_one_has_the_largest():
    assert [level for level in REALITIES if reality(ROBOT, level).is_ideal] == ["ideal"]
    for name in ("zero_offset", "backlash", "latency", "length", "hip"):
        typical, worn = (
            np.mean([np.abs(getattr(reality(ROBOT, level, seed), name)) for seed in range(5)])
            for level in ("typical", "worn")
        )
        assert 0.0 < typical < worn


def test_errors_are_set_by_hand_for_one_joint_or_for_all():
    play = np.zeros((6, 3))
    play[2, 1] = math.radians(1.8)
    loose = dataclasses.replace(IDEAL, backlash=play, latency=0.03)
    assert loose.backlash[2, 1] == play[2, 1] and np.count_nonzero(loose.backlash) == 1
    assert (loose.latency == 0.03).all() and not loose.is_ideal
    with pytest.raises(ValueError):
        loose.backlash[0, 0] = 1.0


def test_an_unknown_level_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="reality must be one of ideal, typical, worn, measured, is 'new'"):
        reality(ROBOT, "new")


def test_a_motor_gets_its_target_after_its_latency_offset_and_in_its_steps():
    latency = np.full((6, 3), 0.02)
    latency[0, 0] = 0.05
    late = path(latency=latency, zero_offset=0.1, resolution=0.01)
    motors = np.concatenate([late.advance(np.full((1, 18), 0.123), 7) for _ in range(5)])
    assert np.flatnonzero(np.diff(motors[:, 0])).tolist() == [24]
    assert np.flatnonzero(np.diff(motors[:, 1])).tolist() == [9]
    assert sorted(set(motors.ravel())) == pytest.approx([0.1, 0.22])


def test_a_servo_reports_the_angle_of_its_own_zero_in_its_steps():
    errors = dataclasses.replace(IDEAL, zero_offset=0.1, resolution=0.01)
    assert reported(errors, np.full((6, 3), 0.223)) == pytest.approx(0.12)
    assert reported(IDEAL, np.full((6, 3), 0.223)) == pytest.approx(0.223, abs=0.0)


def test_errors_follow_the_kind_of_servo():
    metal, plastic, hobby = (reality(load(name).robot, "typical", 1) for name in ("heavy", "phantomx", "chica"))
    for name in ("backlash", "latency"):
        medians = [np.median(getattr(errors, name)) for errors in (metal, plastic, hobby)]
        assert medians == sorted(medians)
    assert (metal.voltage, hobby.voltage) == (12.0, 6.0)
    assert hobby.hottest.min() > metal.hottest.max()


def test_a_supply_sags_with_the_current_and_a_warm_servo_gives_less_until_it_gives_none():
    power = ServoPower(
        Reality(6, voltage=12.0, supply_resistance=0.1, stall_current=1.0, heating=1.0, cooling=0.002, hottest=75.0)
    )
    still = power.advance(np.zeros((6, 3)), 0.05)
    assert still == pytest.approx(1.0) and power.voltage == 12.0
    loads = np.full((6, 3), 0.5)
    first = power.advance(loads, 0.05)
    assert power.voltage == pytest.approx(12.0 - 0.1 * 18 * 0.5)
    assert first == pytest.approx(power.voltage / 12.0, rel=1e-3)
    shares = [float(power.advance(loads, 1.0)[0, 0]) for _ in range(300)]
    assert all(later <= earlier for earlier, later in itertools.pairwise(shares))
    assert shares[-1] == 0.0 and power.temperature_rise.max() > 50.0
    for _ in range(3000):
        cooled = power.advance(np.zeros((6, 3)), 1.0)
    assert cooled == pytest.approx(1.0, abs=0.01)


def test_a_measured_robot_has_what_its_file_says_of_a_joint_and_else_what_its_servos_usually_have():
    femur = "{latency: [0.05, 0.001], backlash_deg: [1.8, 0.1], no_load_speed: [4.0, 0.1]}"
    section = f"measured: {{date: '2026-11-29', left_front: {{femur: {femur}}}}}"
    path = load("phantomx").path
    file = from_text(path, f"{section}\n{path.read_text()}")
    found, usual = reality(file.robot, "measured"), reality(ROBOT, "measured")
    row = ROBOT.leg_names.index("left_front")
    assert found.latency[row, 1] == 0.05 and found.backlash[row, 1] == pytest.approx(math.radians(1.8))
    assert found.dead_band[row, 1] == 0.0
    assert found.no_load_speed[row, 1] * ROBOT.legs[row].femur_joint.no_load_speed == pytest.approx(4.0)
    assert np.count_nonzero(found.latency != usual.latency) == 1
    assert not found.zero_offset.any() and (found.stiffness == 1.0).all()
    (remark,) = power(Subject(file, payload=0.0))
    assert remark.figures["measured_servos"] == 1 and "hexapod identify has measured 1 of the servos" in remark.text
