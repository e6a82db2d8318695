# SPDX-License-Identifier: Apache-2.0
"""Laws of planes through feet, of feet that roll, and of body poses."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from support.drives import ROBOTS, robot

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose, Placement
from hexapod_control.core.kinematics.fits import attitude_over_feet, fit_plane
from hexapod_control.core.kinematics.leg_kinematics import hip_to_base, leg_forward
from hexapod_control.core.kinematics.support_detection import belly_height, detect_support
from hexapod_control.core.kinematics.whole_body import (
    ball_center_and_joints,
    joints_at_contact,
    rolling_displacement,
    rolling_shift,
)

MACHINE = robot("phantomx")
TILTED = [replace(leg, tilt=(0.3, -0.6)) for leg in MACHINE.legs]


def random_pose(rng: random.Random) -> BodyPose:
    return BodyPose(*(rng.uniform(-1.0, 1.0) * a for a in (0.02, 0.02, 0.01, 0.15, 0.15, 0.2)))


def matrix(pose: BodyPose) -> np.ndarray:
    """Rz(yaw) Ry(pitch) Rx(roll)."""
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a), math.sin(a)) for a in pose[3:])
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


def test_a_pose_rotates_about_x_then_y_then_z_and_its_inverse_undoes_it():
    rng = random.Random(1)
    for _ in range(50):
        pose = BodyPose(*(rng.uniform(-1.0, 1.0) for _ in range(6)))
        placement, point = Placement(pose, 0.1), tuple(rng.uniform(-1.0, 1.0) for _ in range(3))
        turned = matrix(pose) @ point
        assert placement.rotate(*point) == pytest.approx(tuple(turned), abs=1e-12)
        expected = turned + np.array((pose.x, pose.y, 0.1 + pose.z))
        assert placement.to_footprint(*point) == pytest.approx(tuple(expected), abs=1e-12)
        assert placement.to_base(*placement.to_footprint(*point)) == pytest.approx(point, abs=1e-12)
        x, y, z, w = pose.quaternion()
        cross = np.cross((x, y, z), point)
        by_quaternion = np.array(point) + 2.0 * (w * cross + np.cross((x, y, z), cross))
        assert by_quaternion == pytest.approx(turned, abs=1e-12)


def test_interpolated_poses_are_linear_in_each_coordinate():
    a, b = BodyPose(0.01, 0.02, 0.03, 0.1, 0.2, 0.3), BodyPose(-0.01, 0.0, 0.05, 0.0, -0.2, 0.1)
    assert a.towards(b, 0.0) == a and a.towards(b, 1.0) == pytest.approx(b)
    assert a.towards(b, 0.25) == pytest.approx([p + 0.25 * (q - p) for p, q in zip(a, b, strict=True)])


@pytest.mark.parametrize("name", ROBOTS)
def test_inverse_kinematics_at_a_contact_rests_the_foot_there(name):
    rng, machine = random.Random(3), robot(name)
    for _ in range(50):
        leg, placement = rng.choice(machine.legs), Placement(random_pose(rng), machine.walk.height)
        contact = tuple(v + rng.uniform(-0.03, 0.03) for v in leg.foothold)
        found = joints_at_contact(leg, contact, 0.01, placement, machine.foot_radius)
        resting = found[0]
        for _ in range(20):
            _, (resting, reason, _) = ball_center_and_joints(
                leg, contact, 0.01, placement, machine.foot_radius, resting
            )
        assert found[1] is reason and found[0] == pytest.approx(resting, abs=1e-6)


def test_the_fitted_plane_matches_a_general_least_squares_solver():
    rng = np.random.default_rng(2)
    for count in (3, 4, 6):
        for weighted in (False, True):
            points = rng.uniform(-0.2, 0.2, (count, 3))
            weights = rng.uniform(0.5, 20.0, count) if weighted else np.ones(count)
            root = np.sqrt(weights)[:, None]
            design = np.column_stack((points[:, :2], np.ones(count)))
            expected = np.linalg.lstsq(root * design, root[:, 0] * points[:, 2], rcond=None)[0]
            found = fit_plane([tuple(p) for p in points.tolist()], weights.tolist() if weighted else None)
            assert found == pytest.approx(tuple(expected), abs=1e-9)


def test_collinear_or_too_few_points_have_no_plane():
    line = [(0.0, 0.0, 0.0), (1.0, 2.0, 0.5), (2.0, 4.0, 0.3)]
    assert fit_plane(line) is None and fit_plane(line[:2]) is None
    assert fit_plane([(x, 0.0, z) for x, _, z in line]) is None
    near = [(0.0, 0.0, 0.0), (1.0, 1.01, 0.0), (2.0, 2.0, 0.0)]
    assert fit_plane(near) is None and fit_plane(near, min_spread=1e-6) == pytest.approx((0.0, 0.0, 0.0))


@pytest.mark.parametrize(("roll", "pitch"), [(0.0, 0.0), (0.1, 0.0), (0.0, -0.15), (0.12, 0.2)])
def test_height_and_tilt_follow_from_the_feet_that_stand(roll, pitch):
    place, radius = Placement(BodyPose(roll=roll, pitch=pitch), 0.1), MACHINE.foot_radius
    feet = [place.to_base(*leg.foothold, radius) for leg in MACHINE.legs]
    for standing in (feet, feet[:3], feet[1::2]):
        assert attitude_over_feet(standing, radius) == pytest.approx((0.0, 0.0, 0.1, roll, pitch, 0.0))
    assert attitude_over_feet(feet[:2], radius) is None


def random_joints(rng: random.Random) -> tuple[float, float, float]:
    return rng.uniform(-0.4, 0.4), rng.uniform(0.1, 0.6), rng.uniform(-1.8, -1.2)


def test_the_ball_moves_by_radius_times_angle_towards_the_upper_end_of_a_leaning_tibia():
    rng = random.Random(3)
    for _ in range(60):
        placement = Placement(random_pose(rng), MACHINE.walk.height)
        for leg in (*MACHINE.legs, *TILTED):
            joints = random_joints(rng)
            knee, foot = (placement.to_footprint(*hip_to_base(leg, p)) for p in leg_forward(leg, joints))
            lean = [a - b for a, b in zip(knee, foot, strict=True)]
            across = math.hypot(*lean[:2])
            angle = math.atan2(across, lean[2])
            expected = (0.02 * angle * lean[0] / across, 0.02 * angle * lean[1] / across)
            assert rolling_shift(leg, joints, placement, 0.02) == pytest.approx(expected, abs=1e-9)
            assert rolling_shift(leg, joints, placement, 0.0) == (0.0, 0.0)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_small_roll_is_the_change_of_the_shift_while_the_tibia_stays_in_one_plane(name):
    machine, rng, h = robot(name), random.Random(4), 1e-5
    placement = Placement(NEUTRAL, machine.walk.height)
    for leg in machine.legs:
        a = random_joints(rng)
        b = (a[0], a[1] + 2.0 * h, a[2] - 0.7 * h)
        shifts = [rolling_shift(leg, each, placement, 0.02) for each in (a, b)]
        expected = (shifts[1][0] - shifts[0][0], shifts[1][1] - shifts[0][1])
        found = rolling_displacement(leg, a, b, placement, (0.0, 0.0), 0.02)
        assert found == pytest.approx(expected, abs=1e-10) and math.hypot(*found) > 1e-7
        tilted = rolling_displacement(leg, a, a, placement, (0.01, -0.02), 0.02)
        assert tilted == pytest.approx((0.02 * -0.02, -0.02 * 0.01))
        spun = rolling_displacement(leg, a, (a[0] + h, *a[1:]), placement, (0.0, 0.0), 0.02)
        assert spun == pytest.approx((0.0, 0.0), abs=1e-12)


def test_a_ball_rolls_with_the_turn_of_its_tibia_about_horizontal_axes_also_under_a_tilted_body():
    rng, h = random.Random(7), 1e-5
    for leg in (*MACHINE.legs, *TILTED):
        placement, a = Placement(random_pose(rng), MACHINE.walk.height), random_joints(rng)
        b = tuple(angle + h * rng.uniform(-1.0, 1.0) for angle in a)
        axes = []
        for joints in (a, b):  # along the tibia and along the axis of its joint
            knee, foot = (np.array(placement.rotate(*hip_to_base(leg, p))) for p in leg_forward(leg, joints))
            across = np.array(placement.rotate(*hip_to_base(leg, (-math.sin(joints[0]), math.cos(joints[0]), 0.0))))
            axes.append(((knee - foot) / leg.tibia.length, across - np.array(placement.rotate(*leg.hip))))
        (along, across), (along_after, across_after) = axes
        third, third_after = np.cross(along, across), np.cross(along_after, across_after)
        parts = zip((along, across, third), (along_after, across_after, third_after), strict=True)
        x, y, _ = 0.5 * sum(np.cross(before, after) for before, after in parts)
        found = rolling_displacement(leg, a, b, placement, (0.0, 0.0), 0.02)
        assert found == pytest.approx((0.02 * y, -0.02 * x), abs=1e-11) and math.hypot(*found) > 1e-9


def test_the_ball_stands_on_its_contact_point_and_support_detection_finds_the_point_again():
    rng, radius = random.Random(5), MACHINE.foot_radius
    for _ in range(20):
        pose = random_pose(rng)
        placement = Placement(pose, MACHINE.walk.height)
        rows = []
        for leg in MACHINE.legs:
            previous = ball_center_and_joints(leg, leg.foothold, 0.0, placement, radius, (0.0, 0.4, -1.4))[1][0]
            center, (joints, reason, _) = ball_center_and_joints(leg, leg.foothold, 0.0, placement, radius, previous)
            assert reason is None
            assert hip_to_base(leg, leg_forward(leg, joints)[1]) == pytest.approx(center, abs=1e-9)
            assert placement.to_footprint(*center)[2] == pytest.approx(radius, abs=1e-9)
            rows.append(joints)
        found = detect_support(MACHINE, rows, pose._replace(z=0.0))
        assert found.pose == pytest.approx(pose, abs=1e-6) and all(found.planted)
        for leg, contact, lift in zip(MACHINE.legs, found.contacts, found.heights, strict=True):
            assert contact == pytest.approx(leg.foothold, abs=1e-5) and lift == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(("lift", "planted"), [(0.0059, True), (0.0061, False)])
@pytest.mark.parametrize("leg", [0, 5])
def test_a_foot_within_6_mm_of_the_lowest_is_on_the_ground(leg, lift, planted):
    placement = Placement(NEUTRAL, MACHINE.walk.height)
    rows = [
        joints_at_contact(each, each.foothold, lift * (row == leg), placement, MACHINE.foot_radius)[0]
        for row, each in enumerate(MACHINE.legs)
    ]
    found = detect_support(MACHINE, rows, NEUTRAL)
    assert found.heights == pytest.approx([lift * (row == leg) for row in range(6)], abs=1e-6)
    assert found.planted == [row != leg or planted for row in range(6)]
    assert found.pose == pytest.approx(NEUTRAL, abs=1e-6)


@pytest.mark.parametrize(("room", "stands"), [(0.0059, False), (0.0061, True)])
def test_feet_support_a_robot_if_its_belly_is_more_than_6_mm_above_the_ground(room, stands):
    z = belly_height(MACHINE) + room - MACHINE.walk.height
    placement = Placement(BodyPose(z=z), MACHINE.walk.height)
    rows = [joints_at_contact(leg, leg.foothold, 0.0, placement, MACHINE.foot_radius)[0] for leg in MACHINE.legs]
    found = detect_support(MACHINE, rows, NEUTRAL)
    assert found.planted == [stands] * 6 and found.pose.z == pytest.approx(z, abs=1e-6)


def test_a_robot_with_its_legs_in_the_air_lies_on_the_lowest_corner_of_its_body():
    rng = random.Random(6)
    up = [(0.0, 1.2, -0.2)] * len(MACHINE.legs)
    (cx, cy, cz), (sx, sy, sz) = MACHINE.body.center, MACHINE.body.size
    corners = [(cx + i * sx / 2, cy + j * sy / 2, cz + k * sz / 2) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]
    for _ in range(20):
        pose = random_pose(rng)
        found = detect_support(MACHINE, up, pose)
        assert not any(found.planted)
        assert min(found.placement.to_footprint(*corner)[2] for corner in corners) == pytest.approx(0.0, abs=1e-9)
    level = detect_support(MACHINE, up, NEUTRAL)
    assert level.placement.to_footprint(0.0, 0.0, 0.0)[2] == pytest.approx(belly_height(MACHINE))
