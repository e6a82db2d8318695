# SPDX-License-Identifier: Apache-2.0
"""Laws of the closed-form kinematics, for every robot file and for legs with offsets."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from support.drives import ROBOTS, robot

from hexapod_control.core.kinematics import leg_kinematics
from hexapod_control.core.kinematics.leg_kinematics import (
    UnreachableReason,
    base_to_hip,
    hip_to_base,
    leg_forward,
    leg_inverse,
    leg_velocity,
)
from hexapod_control.core.robot import Leg

OFFSETS = [(0.0, 0.0), (0.012, -0.006), (-0.015, 0.008)]
TILT = (0.3, -0.6)  # [rad]


def legs(lateral: float, vertical: float) -> list[Leg]:
    """The legs of some robots with these offsets [m], and one on a tilted hip."""
    found = [leg for name in ROBOTS for leg in robot(name).legs]
    found.append(replace(robot("phantomx").legs[4], tilt=TILT))
    return [replace(leg, femur_lateral=lateral, femur_vertical=vertical) for leg in found]


def random_row(leg: Leg, rng: random.Random) -> tuple[float, float, float]:
    """Joints inside the limits, knee up, the foot in front of the coxa axis."""
    while True:
        row = tuple(rng.uniform(joint.lower, joint.upper) for joint in leg.joints)
        radial = leg.coxa.length + leg.femur.length * math.cos(row[1]) + leg.tibia.length * math.cos(row[1] + row[2])
        if row[2] < -0.01 and radial > abs(leg.femur_lateral) + 0.002:
            return row


@pytest.mark.parametrize(("lateral", "vertical"), OFFSETS)
def test_inverse_undoes_forward_for_all_joints_on_the_knee_up_branch(lateral, vertical):
    rng = random.Random(1)
    for leg in legs(lateral, vertical):
        for _ in range(300):
            row = random_row(leg, rng)
            solution = leg_inverse(leg, leg_forward(leg, row)[1], row)
            assert solution.reason is None
            assert solution.joints == pytest.approx(row, abs=1e-7)


@pytest.mark.parametrize(("lateral", "vertical"), OFFSETS)
def test_joint_speeds_agree_with_finite_differences_of_forward(lateral, vertical):
    rng = random.Random(2)
    for leg in legs(lateral, vertical):
        for _ in range(50):
            row = random_row(leg, rng)
            speed = [rng.uniform(-1.0, 1.0) for _ in range(3)]
            ahead, behind = (
                leg_forward(leg, tuple(q + h * s for q, s in zip(row, speed, strict=True)))[1] for h in (1e-6, -1e-6)
            )
            velocity = tuple((a - b) / 2e-6 for a, b in zip(ahead, behind, strict=True))
            if abs(math.sin(row[2])) > 0.05:
                assert leg_velocity(leg, row, velocity) == pytest.approx(speed, abs=1e-3)


@pytest.mark.parametrize("name", ROBOTS)
def test_arrays_of_all_legs_agree_with_single_legs_and_cannot_be_written(name):
    machine, rng = robot(name), random.Random(3)
    rows = np.array([random_row(leg, rng) for leg in machine.legs])
    feet = leg_kinematics.forward(machine, rows)
    solution = leg_kinematics.inverse(machine, feet, rows)
    assert solution.reached
    assert np.allclose(solution.joints, rows, atol=1e-7)
    assert not feet.flags.writeable and not solution.joints.flags.writeable
    for leg, row, foot in zip(machine.legs, rows, feet, strict=True):
        assert hip_to_base(leg, leg_forward(leg, tuple(row))[1]) == pytest.approx(tuple(foot))
        assert base_to_hip(leg, hip_to_base(leg, (0.1, 0.2, 0.3))) == pytest.approx((0.1, 0.2, 0.3))


def test_all_joints_at_zero_is_a_straight_horizontal_leg():
    """Article A1: with every angle at zero the leg is fully straight."""
    leg = robot("article").legs[0]
    knee, foot = leg_forward(leg, (0.0, 0.0, 0.0))
    assert knee == pytest.approx((0.100, 0.0, 0.0))
    assert foot == pytest.approx((0.170, 0.0, 0.0))


def test_targets_too_far_or_too_near_are_clamped_to_the_reach_limit_and_named():
    """Articles A2 and D4: no NaN; targets too far AND too near are reported with the missing distance."""
    leg = replace(
        robot("article").legs[0],
        femur_joint=replace(robot("article").legs[0].femur_joint, lower=-math.pi, upper=math.pi),
        tibia_joint=replace(robot("article").legs[0].tibia_joint, lower=-math.pi, upper=math.pi),
    )
    far = leg_inverse(leg, (0.30, 0.0, 0.0), (0.0, 0.0, 0.0))
    assert far.reason is UnreachableReason.TOO_FAR and far.excess == pytest.approx(0.130)
    assert leg_forward(leg, far.joints)[1] == pytest.approx((0.170, 0.0, 0.0))
    near = leg_inverse(leg, (0.055, 0.0, 0.0), (0.0, 0.0, 0.0))  # 5 mm from the femur axis, |femur - tibia| is 20 mm
    assert near.reason is UnreachableReason.TOO_NEAR and near.excess == pytest.approx(0.015)
    assert math.dist(leg_forward(leg, near.joints)[1], (0.05, 0.0, 0.0)) == pytest.approx(0.020)


def test_the_knee_is_always_up():
    """Article D2: of the two intersections of the circles the upper knee is taken."""
    rng = random.Random(4)
    for leg in legs(0.0, 0.0):
        for _ in range(100):
            row = random_row(leg, rng)
            knee, foot = leg_forward(leg, leg_inverse(leg, leg_forward(leg, row)[1], row).joints)
            axis_r, axis_z = leg.coxa.length, leg.femur_vertical
            foot_r, knee_r = math.hypot(foot[0], foot[1]), knee[0] * math.cos(row[0]) + knee[1] * math.sin(row[0])
            # The knee lies to the left of the line from the femur axis to the foot, seen with up on top.
            assert (foot_r - axis_r) * (knee[2] - axis_z) - (foot[2] - axis_z) * (knee_r - axis_r) >= -1e-9


def test_a_lateral_offset_turns_the_coxa_by_the_arc_sine_of_offset_over_distance():
    """Article D3: additional coxa angle = asin(offset / horizontal distance)."""
    leg = replace(robot("phantomx").legs[0], femur_lateral=0.02)
    straight = replace(leg, femur_lateral=0.0)
    target = (0.15, 0.03, -0.08)
    turn = leg_inverse(straight, target, (0, 0, 0)).joints[0] - leg_inverse(leg, target, (0, 0, 0)).joints[0]
    assert turn == pytest.approx(math.asin(0.02 / math.hypot(0.15, 0.03)))


def test_inside_the_blind_zone_the_coxa_stays_and_the_reason_is_given():
    """Article D4: nearer to the coxa axis than the offset is refused; exactly on the axis leaves the coxa alone."""
    leg = replace(robot("phantomx").legs[0], femur_lateral=0.02)
    blind = leg_inverse(leg, (0.01, 0.0, -0.08), (0.3, 0.0, -1.0))
    assert blind.reason is UnreachableReason.TOO_NEAR and blind.joints[0] == 0.3
    plain = replace(leg, femur_lateral=0.0)
    on_axis = leg_inverse(plain, (0.0, 0.0, -0.08), (0.3, 0.0, -1.0))
    assert on_axis.reason is UnreachableReason.ON_AXIS and on_axis.joints[0] == 0.3


@pytest.mark.parametrize("yaw_deg", [0.0, 90.0, 135.0, 179.0, 180.0, -135.0, -90.0])
def test_no_joint_jumps_for_a_leg_mounted_at_any_yaw(yaw_deg):
    """Article D5, the 'third quarter' bug: angles are relative to the leg's own mounting direction."""
    leg = replace(robot("phantomx").legs[0], hip_yaw=math.radians(yaw_deg))
    previous = None
    for k in range(-60, 61):
        sweep = math.radians(k)
        foot = hip_to_base(leg, (0.15 * math.cos(sweep), 0.15 * math.sin(sweep), -0.08))
        row = leg_inverse(leg, base_to_hip(leg, foot), (0.0, 0.0, 0.0)).joints
        assert row[0] == pytest.approx(sweep, abs=1e-9)
        assert previous is None or max(abs(a - b) for a, b in zip(row, previous, strict=True)) < 0.02
        previous = row


def test_no_servo_is_commanded_beyond_its_range():
    """Article D8: whatever the target, the joints stay inside the limits, and the reason is given."""
    rng = random.Random(5)
    for leg in legs(0.01, 0.0):
        for _ in range(300):
            target = tuple(rng.uniform(-0.4, 0.4) for _ in range(3))
            solution = leg_inverse(leg, target, (0.0, 0.5, -1.5))
            assert all(j.lower <= q <= j.upper for j, q in zip(leg.joints, solution.joints, strict=True))
            if solution.reason is None:
                assert leg_forward(leg, solution.joints)[1] == pytest.approx(target, abs=1e-9)
            else:
                assert solution.excess > 0.0


@pytest.mark.parametrize("joint", range(3))
def test_a_joint_beyond_its_limit_is_clamped_and_the_excess_is_how_far_it_is_beyond(joint):
    rng = random.Random(6)
    for leg in legs(0.01, 0.005):
        names = ("coxa_joint", "femur_joint", "tibia_joint")
        row = random_row(leg, rng)
        beyond = rng.uniform(0.01, 0.2)
        for limits in ((row[joint] + beyond, 3.0), (-3.0, row[joint] - beyond)):
            tight = replace(getattr(leg, names[joint]), lower=limits[0], upper=limits[1])
            found = leg_inverse(replace(leg, **{names[joint]: tight}), leg_forward(leg, row)[1], row)
            assert found.reason is UnreachableReason.JOINT_LIMIT and found.excess == pytest.approx(beyond, abs=1e-6)
            clamped = [min(max(q, limits[0]), limits[1]) if k == joint else q for k, q in enumerate(row)]
            assert found.joints == pytest.approx(clamped, abs=1e-7)


def rotation(axis: int, angle: float) -> np.ndarray:
    """Matrix of a rotation [rad] about an axis of the frame."""
    found, (a, b) = np.eye(3), ((axis + 1) % 3, (axis + 2) % 3)
    found[a, a] = found[b, b] = math.cos(angle)
    found[b, a], found[a, b] = math.sin(angle), -math.sin(angle)
    return found


@pytest.mark.parametrize("tilt", [(0.0, 0.0), TILT, (0.0, 0.2), (-0.2, 0.0)])
def test_a_hip_is_rolled_then_pitched_then_turned_by_its_yaw(tilt):
    for leg in (replace(leg, tilt=tilt) for leg in robot("phantomx").legs):
        matrix, point = rotation(2, leg.hip_yaw) @ rotation(1, tilt[1]) @ rotation(0, tilt[0]), (0.1, -0.2, 0.3)
        expected = np.array(leg.hip) + matrix @ point
        assert hip_to_base(leg, point) == pytest.approx(expected.tolist())
        assert base_to_hip(leg, tuple(expected.tolist())) == pytest.approx(point)


def test_joint_speeds_of_a_robot_move_its_feet_with_the_given_velocities():
    machine, rng = robot("article"), random.Random(7)
    tilted = (
        replace(leg, tilt=TILT if k % 2 else (0.0, 0.0), femur_lateral=0.01) for k, leg in enumerate(machine.legs)
    )
    machine = replace(machine, legs=tuple(tilted))
    rows = np.array([random_row(leg, rng) for leg in machine.legs])
    speeds = np.array([[rng.uniform(-1.0, 1.0) for _ in range(3)] for _ in machine.legs])
    ahead, behind = (leg_kinematics.forward(machine, rows + step * speeds) for step in (1e-6, -1e-6))
    found = leg_kinematics.joint_velocities(machine, rows, (ahead - behind) / 2e-6)
    assert found == pytest.approx(speeds, abs=1e-4) and not found.flags.writeable


def test_a_straight_leg_turns_about_the_coxa_only_and_a_foot_on_its_axis_not_at_all():
    leg = replace(robot("phantomx").legs[0], femur_lateral=0.0)
    length = leg.coxa.length + (leg.femur.length + leg.tibia.length) * math.cos(0.3)
    assert leg_velocity(leg, (0.0, 0.3, 0.0), (0.2, 0.1, 0.3)) == pytest.approx((0.1 / length, 0.0, 0.0))
    back = math.acos(-(leg.coxa.length + leg.femur.length) / leg.tibia.length)  # of the tibia, to the coxa axis
    coxa, _, _ = leg_velocity(leg, (0.0, 0.0, -back), (0.0, 0.1, 0.0))
    assert coxa == 0.0


def test_a_reason_is_described_with_the_excess_in_its_unit_if_there_is_one():
    assert str(UnreachableReason.TOO_FAR.describe(0.012)) == "too far away, by 12.0 mm"
    assert str(UnreachableReason.JOINT_LIMIT.describe(0.1)) == "outside the joint limits, by 100.0 mrad"
    for none in (0.0, -1e-10):
        assert str(UnreachableReason.ON_AXIS.describe(none)) == "on the coxa axis"
