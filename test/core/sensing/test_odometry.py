# SPDX-License-Identifier: Apache-2.0
"""Odometry from joints: exact where the joints are exact, robust where feet change within a sample."""

import math
from itertools import product

import numpy as np
import pytest
from support.drives import (
    DIRECTIONS,
    DT,
    GAITS,
    ROBOTS,
    drive,
    fitting,
    robot,
    standing_planner,
)
from support.robots.other_robots import on_point_feet
from support.suite.soak import SOAK, cases

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.leg_kinematics import forward, inverse
from hexapod_control.core.kinematics.se2 import (
    ZERO,
    Pose,
    Twist,
    exp,
    log,
    wrap,
)
from hexapod_control.core.sensing.odometry import FootSupport, MeasuredFoot, Odometry, fit, fit_change, motion_over_feet


def walk_with_odometry(machine, gait, direction):
    """Pose of the plan and of the odometry after three seconds, the distance [m], and how far balls spin [m].

    The plan turns the point of contact about the ball with the leaning tibia, where a ball only spins about the
    vertical: it neglects the radius times the lean times the turn of each planted foot, on average.
    """
    planner = standing_planner(machine, gait)
    odometry = Odometry(machine)
    first = planner.step(DT)
    odometry.update(first.joint_angles, first.support.tolist(), DT)
    truth, joints, spun = Pose(0.0, 0.0, 0.0), first.joint_angles, 0.0
    for plan in drive(planner, fitting(planner, DIRECTIONS[direction], 0.7, gait), 3.0):
        truth = truth @ exp(plan.twist, DT)
        before, joints = joints, inverse(machine, plan.feet, joints).joints
        lean = abs(math.pi / 2 + joints[:, 1] + joints[:, 2])
        spun += machine.foot_radius * np.average(lean * abs(joints[:, 0] - before[:, 0]), weights=plan.planted)
        odometry.update(joints, plan.support.tolist(), DT)
    assert odometry.attitude.z == pytest.approx(machine.walk.height + machine.walk.preload, abs=1e-5)
    return truth, odometry.pose, math.hypot(truth.x, truth.y) + 0.3 * abs(truth.yaw) + 0.05, spun


@pytest.mark.parametrize(("walk", "direction"), cases(list(product(ROBOTS if SOAK else ROBOTS[1:], GAITS)), DIRECTIONS))
def test_odometry_from_planned_joints_with_point_feet_is_the_commanded_pose(walk, direction):
    name, gait = walk
    truth, estimate, distance, _ = walk_with_odometry(on_point_feet(name), gait, direction)
    assert math.dist(estimate[:2], truth[:2]) < 0.002 * distance
    assert abs(wrap(estimate.yaw - truth.yaw)) < 0.0036  # after a third of a turn


@pytest.mark.parametrize(("name", "direction"), cases(ROBOTS, DIRECTIONS))
def test_on_ball_feet_the_error_is_at_most_the_rolling_that_the_plan_neglects(name, direction):
    truth, estimate, distance, spun = walk_with_odometry(robot(name), "tripod", direction)
    assert math.dist(estimate[:2], truth[:2]) < spun + 0.002 * distance
    assert abs(wrap(estimate.yaw - truth.yaw)) < 0.05 * distance


def tibiae(machine, joints, body):
    """Rotations (n, 3, 3) of the tibiae in the world, for that of the body."""
    return np.array(
        [
            body @ rotation_about(2, leg.hip_yaw + coxa) @ rotation_about(1, -femur - tibia)
            for leg, (coxa, femur, tibia) in zip(machine.legs, joints.tolist(), strict=True)
        ]
    )


def rotation_about(axis, angle):
    """Matrix of a rotation about an axis of the frame."""
    c, s, matrix = math.cos(angle), math.sin(angle), np.eye(3)
    a, b = (axis + 1) % 3, (axis + 2) % 3
    matrix[a, a], matrix[a, b], matrix[b, a], matrix[b, b] = c, -s, s, c
    return matrix


@pytest.mark.parametrize(("name", "direction", "lean"), cases(ROBOTS, DIRECTIONS, [0.0, 0.06]))
def test_odometry_on_rolling_ball_feet_is_accurate_to_a_thousandth(name, direction, lean):
    """The ball is at rest where it touches: its center moves with the tibia's angular velocity x (0, 0, radius)."""
    machine, odometry, steps = robot(name), Odometry(robot(name)), 200
    twist = fitting(standing_planner(name), DIRECTIONS[direction], 1.0, "tripod")
    up = np.array([0.0, 0.0, machine.walk.height])
    centers = np.array([[*leg.foothold, machine.foot_radius] for leg in machine.legs])
    joints, before, planted = np.zeros((len(machine.legs), 3)), None, centers
    for step in range(-steps // 2, steps // 2):  # 0.2 s before and behind the neutral stance
        pose = exp(twist, 0.002 * step)
        body = rotation_about(2, pose.yaw) @ rotation_about(1, lean)
        for _ in range(3):
            joints = inverse(machine, (centers - up - [*pose[:2], 0.0]) @ body, joints).joints
            now = tibiae(machine, joints, body)
            if before is not None:
                spin = now @ before.transpose(0, 2, 1)
                omega = 0.5 * np.stack((spin[:, 2, 1] - spin[:, 1, 2], spin[:, 0, 2] - spin[:, 2, 0]), axis=1)
                centers[:, :2] = planted + machine.foot_radius * np.stack((omega[:, 1], -omega[:, 0]), axis=1)
        before, planted = now, centers[:, :2].copy()
        odometry.update(joints, [1.0] * len(joints), 0.002)
    truth = exp(twist, -0.001 * steps).inverse() @ pose
    distance = math.hypot(truth.x, truth.y) + 0.3 * abs(truth.yaw)
    assert distance > 0.01
    assert math.dist(odometry.pose[:2], truth[:2]) < 0.001 * distance
    assert odometry.pose.yaw == pytest.approx(truth.yaw, abs=0.003 * distance)
    assert odometry.residual < 1e-7
    assert odometry.attitude.pitch == pytest.approx(lean, abs=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_height_roll_and_pitch_come_from_the_plane_of_the_planted_feet(name):
    planner = standing_planner(name)
    odometry = Odometry(robot(name))
    goal = BodyPose(z=0.004, roll=0.05, pitch=-0.04)
    planner.request_pose(goal)
    for plan in drive(planner, ZERO, 2.0):
        odometry.update(plan.joint_angles, plan.support.tolist(), DT)
    attitude = odometry.attitude
    assert (attitude.roll, attitude.pitch) == pytest.approx((0.05, -0.04), abs=1e-6)
    assert attitude.z == pytest.approx(robot(name).walk.height + 0.004, abs=1e-5)
    assert math.hypot(odometry.pose.x, odometry.pose.y) < 1e-4  # leaning is not walking


def test_the_rigid_fit_recovers_any_motion_and_its_residual_reveals_slip():
    rng = np.random.default_rng(3)
    feet = rng.uniform(-0.3, 0.3, (6, 2))
    motion = exp(Twist(0.1, -0.05, 0.4), 0.3)
    moved = [motion.inverse().apply(*p) for p in feet]
    before = FootSupport(BodyPose(), tuple(map(tuple, feet)), (1.0,) * 6)
    exact = fit(before, FootSupport(BodyPose(), tuple(moved), (1.0,) * 6))
    assert tuple(exact.motion) == pytest.approx(tuple(motion)) and exact.residual < 1e-12
    wobbly = [(x + rng.normal(0.0, 0.003), y) for x, y in moved]
    assert fit(before, FootSupport(BodyPose(), tuple(wobbly), (1.0,) * 6)).residual > 0.001
    moved[2] = (moved[2][0] + 0.01, moved[2][1])  # one foot slips: it is left out
    slipped = fit(before, FootSupport(BodyPose(), tuple(moved), (1.0,) * 6))
    assert tuple(slipped.motion) == pytest.approx(tuple(motion)) and slipped.feet == 5
    turned = fit(before, FootSupport(BodyPose(), tuple(moved), (1.0,) * 6), turn=0.5)
    assert turned.motion.yaw == 0.5
    assert fit(before, FootSupport(BodyPose(), tuple(moved), (1.0,) + (0.0,) * 5)) is None


@pytest.mark.parametrize(
    "loads", [((5.0,) * 5 + (20.0,), (5.0,) * 5 + (1e-9,)), ((5.0,) * 5 + (1e-9,), (5.0,) * 5 + (20.0,))]
)
def test_feet_are_weighted_by_the_smaller_load_and_at_a_tripod_change_by_the_larger(loads):
    feet = [(0.25, 0.15), (-0.02, -0.24), (-0.22, 0.17), (0.2, -0.2), (-0.24, -0.16), (0.03, 0.26)]
    motion = exp(Twist(0.1, -0.05, 0.4), 0.3)
    moved = [motion.inverse().apply(*p) for p in feet]
    moved[5] = (moved[5][0] + 2e-4, moved[5][1])  # too little to be taken for slip
    before, after = (
        FootSupport(BodyPose(), tuple(points), load) for points, load in zip((feet, moved), loads, strict=True)
    )
    assert tuple(fit(before, after).motion) == pytest.approx(tuple(motion), abs=1e-9)
    assert abs(fit_change(before, after).motion.x - motion.x) > 2e-5


@pytest.mark.parametrize(
    ("before", "after", "known"), [((0, 1), (4, 5), True), ((0,), (4, 5), False), ((0, 1), (4,), False)]
)
def test_if_all_standing_feet_change_two_before_and_two_after_show_the_motion(before, after, known):
    feet = [(0.25, 0.15), (-0.02, -0.24), (-0.22, 0.17), (0.2, -0.2), (-0.24, -0.16), (0.03, 0.26)]
    motion = exp(Twist(0.1, -0.05, 0.4), 0.3)
    found = fit_change(
        FootSupport(BodyPose(), tuple(feet), tuple(float(foot in before) for foot in range(6))),
        FootSupport(
            BodyPose(),
            tuple(motion.inverse().apply(*foot) for foot in feet),
            tuple(float(foot in after) for foot in range(6)),
        ),
    )
    assert (tuple(found.motion) == pytest.approx(tuple(motion))) if known else (found is None)


@pytest.mark.parametrize("turn", [None, 0.12])
@pytest.mark.parametrize("count", [3, 4, 6])
@pytest.mark.parametrize("slipping", [0, 1, 2])
def test_a_slipping_foot_is_found_with_any_number_of_standing_feet(slipping, count, turn):
    """With three feet: by the constant distance of the other two, or by the rotation measured by an IMU."""
    feet = [(0.25, 0.15), (-0.02, -0.24), (-0.22, 0.17), (0.2, -0.2), (-0.24, -0.16), (0.03, 0.26)][:count]
    motion = exp(Twist(0.1, -0.05, 0.4), 0.3)
    moved = [motion.inverse().apply(*p) for p in feet]
    moved[slipping] = (moved[slipping][0] + 0.006, moved[slipping][1] - 0.004)
    loads = (1.0,) * count
    found = fit(FootSupport(BodyPose(), tuple(feet), loads), FootSupport(BodyPose(), tuple(moved), loads), turn)
    assert found.feet == count - 1
    assert tuple(found.motion) == pytest.approx(tuple(motion), abs=1e-9)


def test_covariance_grows_with_distance_and_slip():
    planner = standing_planner("phantomx")
    clean, slipping = Odometry(robot("phantomx")), Odometry(robot("phantomx"))
    rng = np.random.default_rng(4)
    sizes = []
    for plan in drive(planner, Twist(0.05, 0.0, 0.0), 4.0):
        clean.update(plan.joint_angles, plan.support.tolist(), DT)
        slipping.update(plan.joint_angles + rng.normal(0.0, 0.01, plan.joint_angles.shape), plan.support.tolist(), DT)
        sizes.append(np.trace(clean.covariance))
    assert sizes[-1] > sizes[len(sizes) // 2] > 0.0
    assert np.trace(slipping.covariance) > 2.0 * np.trace(clean.covariance)
    assert np.linalg.eigvalsh(clean.covariance).min() >= 0.0
    clean.reset()
    assert clean.pose == Pose(0.0, 0.0, 0.0) and not clean.covariance.any()


@pytest.mark.parametrize("turn", [None, 0.01])
def test_the_same_step_in_twice_the_time_is_half_as_fast_and_its_twist_four_times_as_certain(turn):
    machine = robot("phantomx")
    plans = list(drive(standing_planner("phantomx"), Twist(0.05, 0.01, 0.1), 1.0))
    found = {}
    for dt in (DT, 2.0 * DT):
        odometry = Odometry(machine)
        for plan in plans:
            odometry.update(plan.joint_angles, plan.support.tolist(), dt, turn)
        found[dt] = odometry
    one, two = found.values()
    assert tuple(one.twist) == pytest.approx(tuple(two.twist.scaled(2.0)), rel=1e-3)
    variances = np.diag(one.twist_covariance) / np.diag(two.twist_covariance)
    # A measured heading drifts with time, a fitted one with the distance.
    assert variances == pytest.approx([4.0, 4.0, 4.0 if turn is None else 2.0], rel=1e-3)


def test_without_common_feet_the_last_twist_is_extrapolated_and_then_zero():
    planner = standing_planner("phantomx")
    odometry = Odometry(robot("phantomx"))
    for plan in drive(planner, Twist(0.05, 0.0, 0.0), 4.0):
        odometry.update(plan.joint_angles, plan.support.tolist(), DT)
    start = odometry.pose.x
    odometry.update(plan.joint_angles, (0.0,) * 6, DT)
    assert odometry.pose.x - start == pytest.approx(0.05 * DT, rel=0.1)
    for _ in range(50):
        odometry.update(plan.joint_angles, (0.0,) * 6, DT)
    assert odometry.pose.x - start < 0.05 * 0.2 and odometry.twist == ZERO


def test_the_logarithm_undoes_the_exponential():
    for twist in (Twist(0.1, 0.2, 0.3), Twist(-0.1, 0.0, 1e-6), Twist(0.0, 0.0, 0.0), Twist(0.3, -0.1, -2.0)):
        assert tuple(log(exp(twist, 0.7), 0.7)) == pytest.approx(tuple(twist), abs=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_odometry_computes_the_planned_feet_from_the_planned_joint_angles(name):
    planner = standing_planner(name)
    odometry = Odometry(robot(name))
    for plan in drive(planner, Twist(0.03, 0.01, 0.1), 2.0):
        seen = odometry.update(plan.joint_angles, plan.support.tolist(), DT)
        assert np.allclose(forward(robot(name), plan.joint_angles), plan.feet, atol=1e-9)
        for contact, point, down in zip(seen.contacts, plan.contacts, plan.planted, strict=True):
            assert not down or math.dist(contact, point) < 2e-5


def test_a_fit_backwards_in_time_is_the_inverse_of_the_fit_and_unloaded_feet_do_not_count():
    rng = np.random.default_rng(5)
    for _ in range(50):
        places = rng.uniform(-0.2, 0.2, (6, 2))
        moved = [Pose(0.01, -0.005, 0.02).inverse().apply(*place) for place in places.tolist()]
        noisy = np.array(moved) + rng.normal(0.0, 1e-4, (6, 2))  # too little to be taken for slip
        first, second = rng.uniform(1.0, 10.0, 6), rng.uniform(1.0, 10.0, 6)
        before = FootSupport(BodyPose(), tuple(map(tuple, places.tolist())), tuple(first.tolist()))
        after = FootSupport(BodyPose(), tuple(map(tuple, noisy.tolist())), tuple(second.tolist()))
        there, back = fit(before, after), fit(after, before)
        assert tuple(there.motion.inverse()) == pytest.approx(tuple(back.motion), abs=1e-12)
        for lifted in (0, 3):
            far = noisy.copy()
            far[lifted] += 1.0  # in the air in the second sample
            loads = [0.0 if leg == lifted else load for leg, load in enumerate(second.tolist())]
            step = fit(before, FootSupport(BodyPose(), tuple(map(tuple, far.tolist())), tuple(loads)))
            assert step.feet == 5 and step.residual < 1e-3
    alone = FootSupport(BodyPose(), ((0.1, 0.0), (0.0, 0.1)), (5.0, 0.0))
    assert fit(alone, alone) is None


def test_feet_that_stay_under_the_body_while_as_many_slip_leave_half_of_the_way_and_slip_by_the_other_half():
    feet = [MeasuredFoot(x, y, -0.1, 0.0, 0.0) for x, y in ((0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1))]
    after = [foot._replace(x=foot.x - way) for foot, way in zip(feet, (0.0, 0.01, 0.01, 0.0), strict=True)]
    moved, slip = motion_over_feet(feet, after, (5.0,) * 4, 0.0)
    assert moved == pytest.approx((0.005, 0.0, 0.0))
    assert np.allclose(slip, [(0.005, 0.0), (-0.005, 0.0), (-0.005, 0.0), (0.005, 0.0)])
    gripping = [foot._replace(x=foot.x - 0.01) for foot in feet]
    assert np.allclose(motion_over_feet(feet, gripping, (5.0,) * 4, 0.0)[1], 0.0)
    assert motion_over_feet(feet, after, (5.0, 5.0, 5.0, 0.0), 0.0)[1][3] == (0.0, 0.0)


def test_an_uncertain_heading_makes_the_position_uncertain_across_the_path():
    planner = standing_planner("phantomx")
    odometry = Odometry(robot("phantomx"))
    plans = list(drive(planner, Twist(0.05, 0.02, 0.1), 3.0))
    for plan in plans[:50]:
        odometry.update(plan.joint_angles, plan.support.tolist(), DT)
    start, variance = Pose(1.0, -2.0, 2.2), 0.04
    odometry.resume(start, np.diag([0.0, 0.0, variance]))
    for plan in plans[50:]:
        odometry.update(plan.joint_angles, plan.support.tolist(), DT, 0.002)  # with an IMU, whose heading is good
    x, y = odometry.pose.x - start.x, odometry.pose.y - start.y
    assert math.hypot(x, y) > 0.03
    assert odometry.covariance[0, 2] == pytest.approx(-variance * y, rel=0.02)
    assert odometry.covariance[1, 2] == pytest.approx(variance * x, rel=0.02)
    assert odometry.covariance[0, 1] == pytest.approx(-variance * x * y, rel=0.05)


@pytest.mark.parametrize(("name", "gait"), cases(ROBOTS, GAITS))
def test_the_twist_integrates_to_the_pose_over_lost_samples_and_a_reset(name, gait):
    """Also in a gap without feet, in which the velocity is kept for a moment and then is zero."""
    machine, rng = robot(name), np.random.default_rng(8)
    planner, odometry = standing_planner(machine, gait), Odometry(machine)
    pose, dt = Pose(0.0, 0.0, 0.0), 0.0
    for tick, plan in enumerate(drive(planner, fitting(planner, Twist(0.03, 0.01, 0.1), 0.7, gait), 3.0)):
        dt += DT
        if rng.random() < 0.2:
            continue  # a lost sample
        loads = plan.support.tolist() if tick % 40 > 8 else [0.0] * len(machine.legs)
        joints = plan.joint_angles + 1e-4 * rng.standard_normal(plan.joint_angles.shape)
        odometry.update(joints, loads, dt)
        pose, dt = pose @ exp(odometry.twist, dt), 0.0
        if tick == 70:
            odometry.reset()
            pose = Pose(0.0, 0.0, 0.0)
    assert math.hypot(pose.x, pose.y) > 0.005
    assert tuple(odometry.pose) == pytest.approx(tuple(pose), abs=1e-9)


def test_the_first_joints_after_an_interruption_count_as_no_motion():
    planner = standing_planner("phantomx")
    odometry = Odometry(robot("phantomx"))
    for plan in drive(planner, Twist(0.05, 0.0, 0.0), 2.0):
        odometry.update(plan.joint_angles, plan.support.tolist(), DT)
    later = next(reversed(list(drive(planner, Twist(0.05, 0.0, 0.0), 0.1))))
    pose = odometry.pose
    odometry.interrupt()
    odometry.update(later.joint_angles, later.support.tolist(), DT)
    assert (odometry.pose, odometry.twist) == (pose, ZERO)
    odometry.update(planner.step(DT).joint_angles, later.support.tolist(), DT)
    assert odometry.pose.x > pose.x


def test_with_an_imu_the_heading_is_its_own_and_the_turn_of_the_feet_is_known_beside_it():
    planner = standing_planner("phantomx")
    odometry, turn = Odometry(robot("phantomx")), 0.004
    plans = list(drive(planner, Twist(0.04, 0.0, 0.1), 3.0))
    for plan in plans:
        odometry.update(plan.joint_angles, plan.support.tolist(), DT, turn)
    assert odometry.pose.yaw == pytest.approx(turn * (len(plans) - 1) + turn)
    assert odometry.fitted_turn == pytest.approx(0.1 * DT, rel=0.02)
    odometry.update(plan.joint_angles, (0.0,) * 6, DT, -turn)  # without standing feet the heading still follows the IMU
    assert odometry.pose.yaw == pytest.approx(turn * (len(plans) - 1)) and odometry.fitted_turn == 0.0
    assert odometry.twist.vx == pytest.approx(0.04, rel=0.05)


ARC = Twist(0.04, 0.01, 0.1)


def trotting(count, dt=DT, twist=ARC, scale=(1.0, 1.0), turn=None, rough=0.0):
    """The odometry of a walk, with poses and plans of every tick; joints may have noise [rad]."""
    machine, rng = robot("phantomx"), np.random.default_rng(6)
    odometry, poses, plans = Odometry(machine, scale), [], list(drive(standing_planner(machine), twist, count * DT))
    for plan in plans:
        joints = plan.joint_angles + rough * rng.standard_normal(plan.joint_angles.shape)
        odometry.update(joints, plan.support.tolist(), dt, turn)
        poses.append(odometry.pose)
    return odometry, poses, plans


@pytest.mark.parametrize("turn", [None, 0.003])
def test_a_step_adds_a_millionth_of_its_length_and_twice_its_squared_residual_per_foot_to_the_variance(turn):
    odometry, poses, plans = trotting(150, rough=1e-4, turn=turn)
    feet = sum(a > 0.0 < b for a, b in zip(plans[-2].support, plans[-1].support, strict=True))
    radius = np.mean([math.hypot(*leg.foothold) for leg in robot("phantomx").legs])
    step = poses[-2].inverse() @ poses[-1]
    distance = math.hypot(step.x, step.y) + radius * abs(step.yaw)
    spread = 2.0 * odometry.residual**2 / feet
    assert feet >= 3 and spread > 1e-10
    heading = 1e-5 * distance + spread / radius**2 if turn is None else 6.4e-7 * DT
    expected = np.diag([1e-6 * distance + spread, 1e-6 * distance + spread, heading]) / DT**2
    assert odometry.twist_covariance == pytest.approx(expected)


def test_a_rejected_sample_adds_to_the_variances():
    odometry, _, _ = trotting(50)
    before = odometry.covariance
    odometry.inflate_covariance(100)
    assert odometry.covariance == pytest.approx(before + np.diag([4e-4, 4e-4, 1.2e-3]))


@pytest.mark.parametrize("turn", [None, 0.002])
def test_calibration_factors_scale_distances_and_the_turns_of_the_feet(turn):
    plain, scaled = (trotting(100, scale=scale, turn=turn)[0] for scale in ((1.0, 1.0), (1.2, 0.8)))
    assert scaled.twist.vx == pytest.approx(1.2 * plain.twist.vx, rel=0.01)
    assert scaled.twist.wz == pytest.approx((0.8 if turn is None else 1.0) * plain.twist.wz)


def test_without_standing_feet_a_robot_keeps_its_velocity_for_a_tenth_of_a_second_with_a_residual_of_2_mm():
    odometry, _, plans = trotting(150, twist=Twist(0.05, 0.0, 0.0))
    steps = []
    for _ in range(6):
        before = odometry.pose
        odometry.update(plans[-1].joint_angles, (0.0,) * 6, 0.03)
        steps.append(odometry.pose.x - before.x)
        assert odometry.residual == 0.002
        if steps[-1]:
            variance = 1e-6 * math.dist(before[:2], odometry.pose[:2]) + 2.0 * 0.002**2
            assert odometry.twist_covariance[0, 0] == pytest.approx(variance / 0.03**2, rel=1e-3)
    assert steps == pytest.approx([0.0015] * 4 + [0.0] * 2, rel=0.05)
    odometry.update(plans[-1].joint_angles, plans[-1].support.tolist(), 0.03)
    odometry.update(plans[-1].joint_angles, plans[-1].support.tolist(), 0.03)
    assert odometry.residual == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("dt", "moves"), [(0.03, True), (0.031, False)])
def test_feet_may_all_change_between_two_samples_that_are_at_most_30_ms_apart(dt, moves):
    plans = list(drive(standing_planner("phantomx"), Twist(0.05, 0.0, 0.0), 1.0))[-2:]
    odometry = Odometry(robot("phantomx"))
    for plan, loads in zip(plans, ((1.0, 0.0) * 3, (0.0, 1.0) * 3), strict=True):
        odometry.update(plan.joint_angles, loads, dt)
    assert (odometry.pose != Pose(0.0, 0.0, 0.0)) == moves


def test_the_attitude_is_that_of_the_neutral_stance_until_three_feet_stand_and_is_kept_while_fewer_do():
    machine, planner = robot("phantomx"), standing_planner("phantomx")
    odometry, neutral = Odometry(machine), BodyPose(z=machine.walk.height)
    assert odometry.attitude == neutral
    planner.request_pose(BodyPose(z=0.004, roll=0.05, pitch=-0.04))
    joints = list(drive(planner, ZERO, 2.0))[-1].joint_angles
    odometry.update(joints, (1.0, 0.0, 0.0, 1.0, 0.0, 0.0), DT)
    assert odometry.attitude == neutral
    odometry.update(joints, (1.0, 0.0, 1.0, 0.0, 1.0, 0.0), DT)
    found = odometry.attitude
    assert found.roll == pytest.approx(0.05, abs=1e-6)
    odometry.update(planner.view.lying_joints, (1.0, 0.0, 0.0, 1.0, 0.0, 0.0), DT)
    assert odometry.attitude == found


@pytest.mark.parametrize(("off", "slips"), [(0.00049, False), (0.00051, True)])
def test_a_foot_that_is_off_by_more_than_half_a_millimetre_may_slip(off, slips):
    """The fit follows the three heavily loaded feet."""
    heavy = [(0.25, 0.15), (-0.02, -0.24), (-0.22, 0.17)]
    before = FootSupport(BodyPose(), (*heavy, (0.1, 0.0)), (1e6, 1e6, 1e6, 1.0))
    after = FootSupport(BodyPose(), (*heavy, (0.1, off)), (1e6, 1e6, 1e6, 1.0))
    assert fit(before, after).feet == (3 if slips else 4)


def test_a_new_odometry_and_one_that_was_reset_are_certain_to_be_at_the_origin_and_at_rest():
    walked_far, _, plans = trotting(100)
    walked_far.update(plans[-1].joint_angles, (0.0,) * 6, 0.09)
    assert walked_far.residual == 0.002
    walked_far.reset()
    for odometry in (walked_far, Odometry(robot("phantomx"))):
        assert (odometry.pose, odometry.twist) == (Pose(0.0, 0.0, 0.0), ZERO)
        assert (odometry.residual, odometry.fitted_turn) == (0.0, 0.0)
        assert odometry.covariance.shape == odometry.twist_covariance.shape == (3, 3)
        assert not odometry.covariance.any() and not odometry.twist_covariance.any()


def test_continuing_from_a_pose_keeps_its_covariance_and_an_interruption_neither():
    odometry, _, plans = trotting(50)
    covariance = np.diag([0.1, 0.2, 0.3])
    odometry.resume(Pose(1.0, 2.0, 0.5), covariance)
    assert odometry.pose == Pose(1.0, 2.0, 0.5) and odometry.covariance is covariance
    odometry.interrupt()
    assert (odometry.pose, odometry.twist) == (Pose(1.0, 2.0, 0.5), ZERO)
    odometry.update(plans[-1].joint_angles, plans[-1].support.tolist(), DT)
    assert odometry.pose == Pose(1.0, 2.0, 0.5)


@pytest.mark.parametrize("degrees", [12.0, -20.0])
def test_with_the_tilt_of_an_imu_the_height_follows_a_slope_and_the_way_is_seen_from_above(degrees):
    machine, slope = robot("phantomx"), math.radians(degrees)
    planner, odometry, rng = standing_planner("phantomx", "tripod"), Odometry(machine), np.random.default_rng(1)
    way, joints = 0.0, planner.step(DT).joint_angles
    for plan in drive(planner, Twist(0.08, 0.0, 0.0), 5.0):
        way += plan.twist.vx * DT
        joints = inverse(machine, plan.feet, joints).joints
        roll, pitch = rng.normal((0.0, -slope), 0.001)
        odometry.update(joints, plan.support.tolist(), DT, 0.0, (roll, pitch))
    assert way > 0.3
    assert odometry.height == pytest.approx(way * math.sin(slope), abs=0.03 * way)
    assert odometry.pose.x == pytest.approx(way * math.cos(slope), abs=0.02 * way)
    assert odometry.attitude.pitch == pytest.approx(-slope, abs=0.02)
    assert odometry.attitude.z == pytest.approx(machine.walk.height / math.cos(slope), abs=0.003)


def test_a_robot_that_stands_up_from_its_belly_leaves_the_ground_where_it_is():
    machine = robot("phantomx")
    odometry = Odometry(machine)
    lying = 0.5 * machine.body.size[2] - machine.body.center[2]
    heights = [lying] * 6 + np.linspace(lying, machine.walk.height, 50).tolist()
    joints = np.zeros((len(machine.legs), 3))
    for step, height in enumerate(heights):
        feet = [(*leg.foothold, machine.foot_radius - height) for leg in machine.legs]
        joints = inverse(machine, np.array(feet), joints).joints
        odometry.update(joints, [1.0 if step > 5 else 0.0] * len(joints), DT, 0.0, (0.0, 0.0))
        assert odometry.height == pytest.approx(0.0, abs=0.001)
        assert odometry.attitude.z == pytest.approx(height, abs=0.001)
