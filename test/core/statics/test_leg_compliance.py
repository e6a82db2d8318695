# SPDX-License-Identifier: Apache-2.0
"""The speed that soft legs lose on a slope, and the twist that compensates it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.drives import ROBOTS, robot

from hexapod_control.core.kinematics.leg_kinematics import hip_to_base, leg_forward
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.statics.leg_compliance import (
    compensated_twist,
    compliance,
    foot_jacobian,
    holding_angles,
    mean_compliance,
    slip_compensation,
)
from hexapod_control.core.workspace.robot_gaits import gaits

SWING_TIME = 0.4  # [s]
ALONG = Twist(0.05, 0.01, 0.1)
JOINTS = (0.2, -0.5, 1.1)


def joints_of(machine):
    return joints_at_offset(machine, [leg.foothold for leg in machine.legs], 0.0)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("row", [0, 4])
def test_a_foot_under_a_force_moves_by_what_each_servo_gives_way_to_its_torque(name, row):
    leg, force = robot(name).legs[row], np.array([3.0, -2.0, 5.0])
    jacobian = foot_jacobian(leg, JOINTS)
    for k in range(3):
        turned = [angle + 1e-4 * (k == j) for j, angle in enumerate(JOINTS)]
        before, after = (np.array(hip_to_base(leg, leg_forward(leg, tuple(each))[1])) for each in (JOINTS, turned))
        assert jacobian[:, k] == pytest.approx((after - before) / 1e-4, abs=1e-4)
    turns = [column @ force / joint.stiffness for column, joint in zip(jacobian.T, leg.joints, strict=True)]
    assert compliance(leg, JOINTS) @ force == pytest.approx(jacobian @ turns)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("row", [0, 4])
def test_a_leg_that_holds_a_force_turns_every_servo_by_what_it_gives_way_and_by_its_slack(name, row):
    leg, force = robot(name).legs[row], np.array([3.0, -2.0, 5.0])
    torques = -foot_jacobian(leg, JOINTS).T @ force
    held = holding_angles(leg, JOINTS, tuple(force))
    rigid = [torque / joint.stiffness for torque, joint in zip(torques, leg.joints, strict=True)]
    slack = [0.5 * joint.traits.backlash + joint.traits.dead_band for joint in leg.joints]
    for angle, given, play in zip(held, rigid, slack, strict=True):
        assert abs(given) <= abs(angle) <= abs(given) + play and angle * given >= 0.0
    strong = holding_angles(leg, JOINTS, tuple(1e3 * force))
    assert strong == pytest.approx(
        [1e3 * given + math.copysign(play, given) for given, play in zip(rigid, slack, strict=True)], rel=1e-4
    )
    assert holding_angles(leg, JOINTS, (0.0, 0.0, 0.0)) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_mean_compliance_is_that_of_legs_that_share_a_horizontal_force(name):
    machine = robot(name)
    stiff = sum(
        np.linalg.inv(compliance(leg, row)[:2, :2]) for leg, row in zip(machine.legs, joints_of(machine), strict=True)
    )
    moved = np.linalg.solve(stiff, np.eye(2))  # the body under 1 N, with all feet on the ground
    assert len(machine.legs) / mean_compliance(machine) == pytest.approx(0.5 * np.trace(stiff))
    assert moved[0, 0] * len(machine.legs) == pytest.approx(mean_compliance(machine), rel=0.5)


@pytest.mark.parametrize("gait", ["tripod", "wave"])
@pytest.mark.parametrize("name", ROBOTS)
def test_on_a_slope_every_leg_gives_way_downhill_once_a_cycle_and_the_body_follows_by_its_share_of_the_load(name, gait):
    machine = robot(name)
    gait, (roll, pitch) = gaits(machine)[gait], (0.1, -0.2)
    standing = len(machine.legs) * gait.duty_factor
    bends = machine.mass * 9.81 / standing * mean_compliance(machine)  # [m] of a leg, over the sine of the slope
    per_cycle = len(machine.legs) * bends / standing
    speed = per_cycle / (gait.cycle * SWING_TIME)
    # Nose up, the weight pulls backwards; with the left side up, to the right.
    uphill = Twist(-speed * math.sin(pitch), speed * math.sin(roll), 0.0)
    assert uphill.vx > 0.0 and uphill.vy > 0.0
    assert slip_compensation(machine, gait, SWING_TIME, (roll, pitch)) == pytest.approx(uphill)
    found = compensated_twist(machine, gait, SWING_TIME, ALONG, (roll, pitch))
    assert found == pytest.approx((ALONG.vx + uphill.vx, ALONG.vy + uphill.vy, ALONG.wz))


def test_a_drift_per_cycle_is_taken_back_within_a_cycle_and_a_robot_at_rest_needs_nothing():
    machine, drift = robot("phantomx"), Twist(0.002, -0.003, 0.01)
    gait = gaits(machine)["ripple"]
    found = compensated_twist(machine, gait, SWING_TIME, ALONG, (0.0, 0.0), drift)
    cycle = gait.cycle * SWING_TIME
    assert found == pytest.approx([v - d / cycle for v, d in zip(ALONG, drift, strict=True)])
    both = compensated_twist(machine, gait, SWING_TIME, ALONG, (0.1, 0.0), drift)
    assert both.vy > found.vy and (both.vx, both.wz) == pytest.approx((found.vx, found.wz))
    assert compensated_twist(machine, gait, SWING_TIME, ZERO, (0.1, 0.1), drift) == ZERO
    assert compensated_twist(machine, gait, SWING_TIME, ALONG, (0.0, 0.0)) == ALONG


def test_legs_twice_as_stiff_lose_half_as_much():
    machine = robot("article")
    names = ("coxa_joint", "femur_joint", "tibia_joint")
    stiff = [
        replace(leg, **{n: replace(getattr(leg, n), stiffness=2.0 * getattr(leg, n).stiffness) for n in names})
        for leg in machine.legs
    ]
    assert mean_compliance(replace(machine, legs=tuple(stiff))) == pytest.approx(0.5 * mean_compliance(machine))
