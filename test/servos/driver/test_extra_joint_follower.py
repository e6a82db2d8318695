# SPDX-License-Identifier: Apache-2.0
"""Commands of extra joints: smooth, within limits, and the driver treats their servos as it must."""

import math

import numpy as np
import pytest
from support.robots.head import head
from support.scripted_bus import ScriptedDriver

from hexapod_control.servos.driver.extra_joint_follower import (
    ACCELERATION_TIME_S,
    TOP_SPEED_SHARE,
    ExtraJointFollower,
)
from hexapod_control.servos.driver.telemetry import PlannerRequest
from hexapod_control.servos.settings.servo_section import OnLost

ROBOT = head().robot
PAN, TILT = ROBOT.extra_joints
FASTEST = np.array([PAN.joint.no_load_speed, TILT.joint.no_load_speed])
LOWER, UPPER = np.array([PAN.joint.lower, TILT.joint.lower]), np.array([PAN.joint.upper, TILT.joint.upper])
SAME, FULL_SPEED = np.full(2, math.nan), np.full(2, math.nan)
FIRST = 18  # index of the first extra servo


def steps(follower, seconds, dt=0.02):
    rows = [follower.command]
    for _ in range(round(seconds / dt)):
        rows.append(follower.step(dt))
    return np.array(rows)


@pytest.mark.parametrize("seed", range(5))
def test_any_sequence_of_targets_keeps_limits_speed_and_acceleration_and_ends_at_the_last_one(seed):
    rng = np.random.default_rng(seed)
    follower, dt, rows = ExtraJointFollower(ROBOT.extra_joints), 0.02, []
    for _ in range(20):
        target = rng.uniform(LOWER - 0.5, UPPER + 0.5)
        follower.take(target, FULL_SPEED)
        rows.extend(steps(follower, rng.uniform(0.02, 0.5), dt)[1:])
    rows = np.array([*rows, *steps(follower, 2.0, dt)[1:]])
    speeds = np.diff(rows, axis=0) / dt
    assert (rows >= LOWER - 1e-9).all() and (rows <= UPPER + 1e-9).all()
    assert (np.abs(speeds) <= TOP_SPEED_SHARE * FASTEST + 1e-9).all()
    assert (np.abs(np.diff(speeds, axis=0)) <= FASTEST / ACCELERATION_TIME_S * dt + 1e-9).all()
    assert rows[-1] == pytest.approx(np.clip(target, LOWER, UPPER), abs=1e-9)


def test_a_joint_reaches_its_target_without_passing_it_and_no_faster_than_it_was_told():
    follower = ExtraJointFollower(ROBOT.extra_joints)
    follower.take(np.array([1.0, math.nan]), np.array([0.5, math.nan]))
    rows = steps(follower, 4.0)
    assert rows[:, 0].max() == pytest.approx(1.0, abs=1e-9) and (np.diff(rows[:, 0]) >= -1e-12).all()
    assert np.diff(rows[:, 0]).max() / 0.02 == pytest.approx(0.5)
    assert (rows[:, 1] == TILT.rest).all()  # its target was not given


def test_a_hold_stops_within_the_braking_distance():
    follower = ExtraJointFollower(ROBOT.extra_joints)
    follower.take(np.array([1.5, math.nan]), FULL_SPEED)
    before = steps(follower, 0.2)[-1, 0]
    follower.hold()
    rows = steps(follower, 1.0)[:, 0]
    top = TOP_SPEED_SHARE * FASTEST[0]
    assert before < rows[-1] <= before + top**2 / (2.0 * FASTEST[0] / ACCELERATION_TIME_S) + 1e-9
    assert rows[-1] == rows[-2]


@pytest.fixture
def rig():
    return ScriptedDriver(machine=ROBOT).armed()


def test_arming_holds_them_where_they_are_and_targets_reach_their_servos_beside_those_of_the_legs(rig):
    pan, tilt = rig.settings.extra
    legs = {joint.id: rig.bus.goals[joint.id] for joint in rig.settings.joints}
    assert rig.bus.goals[pan.id] == pan.goal(0.0) and rig.bus.goals[tilt.id] == tilt.goal(TILT.rest)
    rig.driver.take_extra(np.array([0.6, math.nan]), FULL_SPEED)
    rig.driver.take_extra(np.array([math.nan, 0.4]), FULL_SPEED)  # in the same cycle
    rig.run(1.5)
    assert rig.driver.snapshot.extra.angles == pytest.approx((0.6, 0.4), abs=0.003)
    assert {servo: rig.bus.goals[servo] for servo in legs} == legs


def test_an_emergency_stop_frees_them_and_targets_meanwhile_move_nothing_when_torque_is_back(rig):
    rig.clock.tick = 1e-3
    rig.driver.press_estop()
    assert rig.bus.sent[-1][0] == "relax" and set(rig.settings.ids) <= set(rig.bus.sent[-1][1])
    rig.driver.take_extra(np.array([1.0, 0.9]), FULL_SPEED)
    rig.run(0.2)
    rig.driver.release_estop()
    assert rig.driver.reset_fault() is None and rig.driver.arm() is None
    rig.clock.tick = 1e-5
    rig.run(1.0)
    assert rig.driver.snapshot.extra.angles == pytest.approx((0.0, TILT.rest), abs=0.003)


@pytest.mark.parametrize("policy", OnLost)
def test_a_lost_servo_of_theirs_is_named_and_stops_nothing(policy):
    rig = ScriptedDriver(machine=ROBOT, on_lost=policy).armed()
    pan = rig.settings.extra[0]
    rig.bus.silent.add(pan.id)
    rig.run(6.0)
    snapshot = rig.driver.snapshot
    assert rig.driver.armed and snapshot.planner_request is PlannerRequest.NOTHING
    assert snapshot.joints is not None
    (said,) = [each for each in snapshot.diagnoses if "pan_joint" in each.text]
    assert not said.serious and "the robot walks on without it: check its cable and id" in said.text
    rig.bus.sent.clear()
    rig.run(0.1)
    assert all(pan.id not in ids for what, ids in rig.bus.sent if what == "goals")
    rig.bus.silent.clear()
    rig.run(2.0)
    assert "pan_joint" not in " ".join(rig.texts()[-1:]) and pan.id in rig.bus.sent[-1][1]


def test_a_hot_one_lets_the_robot_sit_and_is_named(rig):
    read = rig.bus.read
    pan = rig.settings.extra[0].id

    def one_is_hot(ids, quantities):
        return {
            i: r._replace(temperature=90.0 if i == pan else r.temperature) for i, r in read(ids, quantities).items()
        }

    rig.bus.read = one_is_hot
    rig.run(4.0)
    assert rig.driver.snapshot.planner_request is PlannerRequest.SIT
    assert any("pan_joint (id 19) is at 90 degC" in text for text in rig.texts())


def test_beside_a_lost_leg_they_are_no_part_of_the_decision():
    rig = ScriptedDriver(machine=ROBOT, on_lost=OnLost.LEG).armed()
    rig.bus.silent |= {rig.settings.extra[1].id, rig.settings.joints[4].id}
    rig.run(8.0)
    assert rig.driver.snapshot.planner_request is PlannerRequest.LOSE_LEG
    assert rig.driver.snapshot.lost_leg == 1
