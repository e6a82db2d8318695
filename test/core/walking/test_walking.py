# SPDX-License-Identifier: Apache-2.0
"""The kinematic contract of walking, for every robot file, gait and kind of motion."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from support.drives import (
    DIRECTIONS,
    DT,
    GAITS,
    ROBOTS,
    drive,
    fitting,
    neutral_strides,
    random_drive,
    robot,
    standing_planner,
    walk_of,
)
from support.robots.other_robots import PRELOAD_M, on_point_feet
from support.suite.soak import SOAK, cases

from hexapod_control.core.gait.gait_table import AUTO, Gait
from hexapod_control.core.gait.swing_trajectory import lift, smooth_travel
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose, Placement
from hexapod_control.core.kinematics.leg_clearance import LegNeighbours
from hexapod_control.core.kinematics.leg_kinematics import forward, inverse
from hexapod_control.core.kinematics.se2 import ZERO, Twist, exp
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.sensing.odometry import FootSupport, fit
from hexapod_control.core.statics.static_stability import center_of_mass
from hexapod_control.core.walking.walk_controller import RAISED_LIFTS, WalkController
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.core.workspace.stance_regions import TIBIA_CLEARANCE, reaches
from hexapod_control.core.workspace.stride_stability import stride_margin
from hexapod_control.core.workspace.strides.stride_search import LEAST_MARGIN
from hexapod_control.core.workspace.swing_limits import MIN_LIFT_SHARE, SPEED_SHARE

FAR = 10.0  # [m] every gap between legs is measured
# [m] narrowest gap at full speed. The article's hips are 7 cm apart and its strides as long as stance regions allow
# that come within 1 cm of each other.
FLOOR = {"phantomx": TIBIA_CLEARANCE, "article": 0.008}
ROUNDED = 1.0001  # factor on a limit, for rounding errors
NEUTRAL_TOLERANCE_M = 0.005  # a foot this near to its neutral foothold counts as on it
AT_REST = 0.05  # largest speed of a foot at touch-down and lift-off, over that of the swing
MAX_HELD_SHARE = 0.002  # of the ticks, in which a foot gets out of reach and the joints are slowed
SEEDS, TICKS = (24, 10_000) if SOAK else (2, 1_000)


def support(plan: TickPlan) -> FootSupport:
    return FootSupport(plan.pose, tuple((x, y) for x, y in plan.contacts.tolist()), tuple(map(float, plan.planted)))


def top_speeds(name: str) -> np.ndarray:
    return np.array([[SPEED_SHARE * joint.no_load_speed for joint in leg.joints] for leg in robot(name).legs])


def assert_feet_follow_the_twist(before: TickPlan, after: TickPlan, dt: float) -> None:
    """Feet planted in both plans are fixed in the world, and their least-squares motion is the executed twist."""
    back, here, there = exp(after.twist, -dt), support(before), support(after)
    for p, q, was, still in zip(here.contacts, there.contacts, before.planted, after.planted, strict=True):
        if was and still:
            assert math.dist(back.apply(*p), q) < 1e-9
    step = fit(here, there)
    if step is not None and step.feet >= 2:
        assert math.dist(step.motion, exp(after.twist, dt)) < 1e-9 * dt
        assert step.residual < 1e-9


@pytest.mark.parametrize(("name", "gait", "direction"), cases(ROBOTS, GAITS, DIRECTIONS))
def test_at_full_speed_planted_feet_stay_fixed_in_the_world_legs_apart_and_the_robot_in_balance(name, gait, direction):
    planner = standing_planner(name, gait)
    command = fitting(planner, DIRECTIONS[direction], 1.0, gait)
    limits, ring, balance = top_speeds(name), LegNeighbours.of(robot(name)), full_stride_margin(planner, gait)
    at_once = planner.capabilities.gaits[gait].duty_factor < 0.7  # else its first stance, and so its ramp, takes longer
    plans = list(drive(planner, command, 3.0 if at_once else 5.0))
    for before, after in pairwise(plans):
        assert_feet_follow_the_twist(before, after, DT)
        assert (np.abs(after.joint_angles - before.joint_angles) / DT <= limits * ROUNDED).all()
        assert after.unreached is None and sum(after.planted) >= 3
        assert after.margin >= 0.99 * balance
    assert min(ring.gap(plan.joint_angles.tolist(), FAR).distance for plan in plans) >= FLOOR[name]
    if at_once:
        assert tuple(plans[-1].twist) == pytest.approx(tuple(command), rel=0.1)  # the guard of the regions slows it


def full_stride_margin(planner: Planner, gait: str) -> float:
    """Static margin [m] of full strides about the neutral footholds, or of displaced strides if that is less."""
    machine = planner.robot
    stance = planner.capabilities.stances.at(machine.walk.height)
    center = center_of_mass(machine, joints_at_offset(machine, stance.footholds, 0.0))[:2]
    least = stride_margin((planner.capabilities.gaits[gait],), stance, center, 1.0)
    assert least > 0.0
    return min(least, LEAST_MARGIN.of(machine))


@pytest.mark.parametrize("name", ROBOTS)
def test_the_changing_twist_of_an_operator_moves_no_planted_foot(name):
    planner = standing_planner(name)
    plans = []
    for k in range(320):  # a turn of the command
        angle = k * DT
        command = Twist(0.05 * math.cos(angle), 0.05 * math.sin(2 * angle), 0.3 * math.sin(angle))
        planner.command(command)
        plans.append(planner.step(DT))
    for before, after in pairwise(plans):
        assert_feet_follow_the_twist(before, after, DT)


@pytest.mark.parametrize(("name", "gait"), cases(ROBOTS, GAITS))
def test_feet_leave_and_land_at_rest_over_the_ground(name, gait):
    """At touch-down and lift-off: vertical speed x swing time / lift <= 0.05, horizontal mismatch <= 0.05."""
    planner = standing_planner(name, gait)
    command = fitting(planner, DIRECTIONS["arc"], 0.8, gait)
    list(drive(planner, command, 4.0))
    fine, swing_time = 0.002, walk_of(planner).speed.swing_time
    feet = walk_of(planner).motion.feet  # the speed over the ground is not in the plan
    fastest = max(math.hypot(command.vx - command.wz * foot.y, command.vy + command.wz * foot.x) for foot in feet)
    seen = 0
    planted = [foot.planted for foot in feet]
    for _ in range(round(1.05 * planner.capabilities.gaits[gait].cycle * swing_time / fine)):
        planner.command(command)
        planner.step(fine)
        feet = walk_of(planner).motion.feet
        for foot, stood in zip(feet, planted, strict=True):
            if foot.planted is not stood:  # it has landed or lifted off in this tick
                seen += 1
                assert abs(foot.velocity[2]) * swing_time / robot(name).walk.lift_height <= AT_REST
                assert math.hypot(*foot.velocity[:2]) / fastest <= AT_REST
        planted = [foot.planted for foot in feet]
    assert seen >= 12


def test_the_swing_is_at_rest_at_both_ends_and_highest_in_the_middle():
    """Article B6: lift over the swing, none in stance; the article's sine is squared here, to land without a bump."""
    step = 1e-5
    assert smooth_travel(step) < 1e-12 and 1.0 - smooth_travel(1.0 - step) < 1e-12
    assert lift(step, 0.03) / step < 1e-4 and lift(1.0 - step, 0.03) / step < 1e-4
    assert lift(0.5, 0.03) == pytest.approx(0.03)
    assert smooth_travel(2.0) == 1.0 and lift(1.5, 0.03) == 0.0


@pytest.mark.parametrize("gait", GAITS)
def test_a_gait_is_a_row_of_phases_and_neighbours_never_swing_together(gait):
    """Article A3: legs of the two tripods are half a cycle apart; a leg's motion is a function of one phase."""
    row = gaits(robot("phantomx"))[gait]
    perimeter = (0, 1, 2, 5, 4, 3)
    for a, b in pairwise((*perimeter, perimeter[0])):
        apart = abs(row.lift_off[a] - row.lift_off[b]) % 1.0
        assert min(apart, 1.0 - apart) >= 1.0 - row.duty_factor - 1e-12
    assert row.cycle == pytest.approx(1.0 + row.stance_time)


@pytest.mark.parametrize(("seed", "name"), cases(range(SEEDS), ROBOTS))
def test_soak_of_random_joystick_input_keeps_all_limits(name, seed):
    """Reversals, jumps, releases and jittered ticks: regions, joint speeds, reach, stability, fixed feet."""
    planner = standing_planner(name, ("", AUTO)[seed % 2])
    limits = top_speeds(name)
    before = planner.step(DT)
    for dt, plan in random_drive(planner, seed, TICKS, poses=False, gaits=False):
        assert (np.abs(plan.joint_angles - before.joint_angles) / dt <= limits * ROUNDED).all()
        assert plan.unreached is None and plan.margin > 0.0 and sum(plan.planted) >= 3
        assert_feet_follow_the_twist(before, plan, dt)
        walk = walk_of(planner)
        strides = neutral_strides(walk.regions)
        for leg, (foot, now) in enumerate(zip(walk.motion.feet, walk.strides.regions, strict=True)):
            discs = [strides.disc(leg, region) for region in (foot.region, now)]
            assert not foot.planted or any(math.dist((foot.x, foot.y), center) <= radius for center, radius in discs)
        before = plan


@pytest.mark.parametrize(("seed", "name"), cases(range(100, 100 + SEEDS), ROBOTS))
def test_soak_of_random_poses_and_gaits_keeps_speed_limits_support_and_fixed_feet(name, seed):
    planner = standing_planner(name)
    limits = top_speeds(name)
    before, held = planner.step(DT), 0
    for dt, plan in random_drive(planner, seed, TICKS, poses=True, gaits=True):
        assert (
            np.isfinite(plan.joint_angles).all()
            and (np.abs(plan.joint_angles - before.joint_angles) / dt <= limits * ROUNDED).all()
        )
        assert plan.margin > 0.0 and sum(plan.planted) >= 3
        assert_feet_follow_the_twist(before, plan, dt)
        held += plan.unreached is not None
        before = plan
    assert held <= MAX_HELD_SHARE * TICKS


@pytest.mark.parametrize("name", ROBOTS)
def test_mirrored_commands_give_mirrored_walks(name):
    """Both shipped robots are symmetric; the mirror image of a tripod is the tripod half a cycle later."""
    planner = standing_planner(name, "tripod")
    tripod = planner.capabilities.gaits["tripod"]
    later = replace(tripod, lift_off=tuple((phase + 0.5) % 1.0 for phase in tripod.lift_off))
    command = fitting(planner, Twist(0.7, 0.4, 2.0), 0.8, "tripod")
    mirrored = Twist(command.vx, -command.vy, -command.wz)
    left, right = (
        contact_points(planner.capabilities, tripod, command),
        contact_points(planner.capabilities, later, mirrored),
    )
    for a, b in zip(left, right, strict=True):
        assert np.allclose(a[[3, 4, 5, 0, 1, 2]] * np.array([1.0, -1.0]), b, atol=1e-9)


def contact_points(
    capabilities: Capabilities, gait: Gait, command: Twist, seconds: float = 3.0
) -> Iterator[np.ndarray]:
    """Contact points (n, 2) [m] of a walk from the neutral stance, tick by tick."""
    machine = capabilities.robot
    footholds = capabilities.stances.at(machine.walk.height).footholds
    controller = WalkController(capabilities, footholds, NEUTRAL, gait)
    controller.drive(command)
    joints = joints_at_offset(machine, footholds, 0.0)
    for _ in range(round(seconds / DT)):
        found = controller.advance(DT, joints)
        joints = found.joints
        yield np.array(found.contacts)


def test_in_a_retreat_the_body_returns_to_neutral_above_feet_that_stand_still():
    """The way out of a pose in which a foot is out of reach, on rough ground with the body kept level."""
    machine = robot("phantomx")
    capabilities = Capabilities.of(machine)
    footholds = capabilities.stances.at(machine.walk.height).footholds
    walk = WalkController(capabilities, footholds, NEUTRAL, capabilities.gaits["ripple"])
    walk.body.request(BodyPose(z=-0.01, yaw=0.05))
    joints = joints_at_offset(machine, footholds, 0.0)
    for tick in range(60):
        if tick == 20:
            walk.drive(capabilities.fastest(DIRECTIONS["arc"], ["ripple"]).scaled(0.5))
        walk.sense([True] * 6, (0.02, -0.01))
        found = walk.advance(DT, joints)
        joints = found.joints
    assert walk.body.tilt != (0.0, 0.0) and walk.body.pose.now.z < -0.005 and walk.speed.twist != ZERO
    contacts, sizes = found.contacts, []
    heights = [abs(foot.z) if foot.state.planted else 0.0 for foot in walk.motion.feet]
    assert any(heights)
    for _ in range(100):
        found = walk.retreat(DT, found.joints)
        assert found.contacts == contacts and walk.speed.twist == ZERO
        sizes.append(np.abs([*walk.body.pose.now, *walk.body.tilt]).sum())
    assert all(after <= before for before, after in pairwise(sizes))
    assert sizes[-1] == 0.0 and found.unreached is None
    assert all(abs(foot.z) < 0.2 * height for foot, height in zip(walk.motion.feet, heights, strict=True) if height)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_row_is_the_inverse_of_its_own_foot_targets(name):
    planner = standing_planner(name)
    for plan in drive(planner, fitting(planner, DIRECTIONS["arc"], 0.8, "tripod"), 2.0):
        again = inverse(robot(name), plan.feet, plan.joint_angles)
        assert again.reached and np.allclose(again.joints, plan.joint_angles, atol=1e-9)
        assert np.allclose(forward(robot(name), plan.joint_angles), plan.feet, atol=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_limited_commands_keep_their_curvature(name):
    """Articles A5 and B7: steps are scaled together so that the outermost leg never exceeds its stride."""
    planner = standing_planner(name)
    for direction in (*DIRECTIONS.values(), Twist(1.0, 0.4, 2.5)):
        command = direction.scaled(3.0)
        plan = list(drive(planner, command, 2.5))[-1]
        scale = math.dist(plan.twist, ZERO) / math.dist(command, ZERO)
        assert 0.0 < scale < 1.0
        assert tuple(plan.twist) == pytest.approx(tuple(command.scaled(scale)), abs=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_turning_on_the_spot_moves_every_foot_tangentially(name):
    """Article A5: each foot moves tangentially about the body center."""
    planner = standing_planner(name)
    plans = list(drive(planner, fitting(planner, DIRECTIONS["on the spot"], 0.8, "tripod"), 3.0))
    for before, after in pairwise(plans):
        for p, q, was, still in zip(before.contacts, after.contacts, before.planted, after.planted, strict=True):
            if was and still:
                assert math.hypot(*p) == pytest.approx(math.hypot(*q), abs=1e-9)


@pytest.mark.parametrize(("name", "angle_deg"), cases(ROBOTS, range(0, 360, 45)))
def test_the_body_walks_in_any_direction_without_turning(name, angle_deg):
    """Article D9."""
    planner = standing_planner(name)
    direction = Twist(math.cos(math.radians(angle_deg)), math.sin(math.radians(angle_deg)), 0.0)
    command = fitting(planner, direction, 0.8, "tripod")
    plan = list(drive(planner, command, 3.0))[-1]
    assert tuple(plan.twist) == pytest.approx(tuple(command), abs=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_gait_tripod_supports_the_center_of_mass_with_three_feet(name):
    """Article C7: three feet always support and the center of mass stays inside their triangle."""
    planner = standing_planner(name, "tripod")
    plans = list(drive(planner, fitting(planner, DIRECTIONS["straight"], 0.8, "tripod"), 4.0))
    assert min(sum(plan.planted) for plan in plans) == 3
    assert all(plan.margin > 0.0 for plan in plans)
    weight = robot(name).mass * 9.81
    assert all(plan.support.sum() == pytest.approx(weight) for plan in plans if plan.support.min() >= 0.0)


@pytest.mark.parametrize("gait", GAITS)
@pytest.mark.parametrize("name", ROBOTS)
def test_after_a_zero_command_all_feet_return_to_neutral_and_stay_down(name, gait):
    """Article D6: walking is relative to a rest point per leg."""
    planner = standing_planner(name, gait)
    list(drive(planner, fitting(planner, DIRECTIONS["arc"], 0.8, gait), 3.0))
    next(plan for plan in drive(planner, ZERO, 8.0) if plan.state is RobotState.STANDING)
    list(drive(planner, ZERO, 0.5))
    stay = list(drive(planner, ZERO, 1.0))
    assert planner.state is RobotState.STANDING
    assert all(all(plan.planted) for plan in stay)
    assert np.array_equal(stay[0].joint_angles, stay[-1].joint_angles)
    for foot, leg in zip(stay[-1].contacts, robot(name).legs, strict=True):
        assert math.dist(foot, leg.foothold) <= NEUTRAL_TOLERANCE_M


@pytest.mark.parametrize("name", ROBOTS)
def test_halting_brings_feet_straight_down_and_leaves_them_until_a_zero_command(name):
    planner = standing_planner(name)
    command = fitting(planner, DIRECTIONS["straight"], 0.8, "tripod")
    list(drive(planner, command, 3.13))
    before = planner.step(DT)
    limits = top_speeds(name)
    planner.halt()
    stopped = None
    for tick in range(100):
        plan = planner.step(DT)
        assert (
            np.abs(plan.joint_angles - before.joint_angles) / DT <= limits * ROUNDED
        ).all() and plan.unreached is None
        assert_feet_follow_the_twist(before, plan, DT)
        if stopped is None and plan.state is RobotState.STANDING:
            stopped = tick * DT
        before = plan
    assert stopped is not None and stopped <= planner.capabilities.gaits["tripod"].cycle * robot(name).walk.swing_time
    away = [math.dist(foot, leg.foothold) for foot, leg in zip(before.contacts, robot(name).legs, strict=True)]
    assert max(away) > NEUTRAL_TOLERANCE_M  # they stayed where they came down
    assert np.array_equal(planner.step(DT).joint_angles, before.joint_angles)
    list(drive(planner, ZERO, 4.0))
    plan = planner.step(DT)
    assert (
        max(math.dist(f, leg.foothold) for f, leg in zip(plan.contacts, robot(name).legs, strict=True))
        <= NEUTRAL_TOLERANCE_M
    )


@pytest.mark.parametrize("name", ROBOTS)
def test_every_ball_center_is_one_radius_above_the_ground_while_its_foot_stands(name):
    machine = robot(name)
    planner = standing_planner(name)
    for plan in drive(planner, fitting(planner, DIRECTIONS["diagonal"], 0.8, "tripod"), 2.0):
        placement = Placement(plan.pose, machine.walk.height)
        for center, down in zip(plan.feet, plan.planted, strict=True):
            if down:
                assert placement.to_footprint(*center)[2] == pytest.approx(machine.foot_radius, abs=1e-9)


def test_a_touch_down_preload_presses_planted_feet_below_the_ground_and_keeps_the_lift():
    """Article A4: the foot may press slightly below ground level in stance; default 0."""
    assert robot("phantomx").walk.preload == 0.0
    pressed = on_point_feet("phantomx")
    planner = Planner(pressed)
    planner.set_measured_joints(
        np.array(joints_at_offset(pressed, planner.capabilities.stances.at(pressed.walk.height).footholds, 0.0))
    )
    list(drive(planner, ZERO, 1.0))
    placement = Placement(BodyPose(), pressed.walk.height)
    heights = []
    for plan in drive(planner, Twist(0.05, 0.0, 0.0), 3.0):
        for center, down in zip(plan.feet, plan.planted, strict=True):
            z = placement.to_footprint(*center)[2] - pressed.foot_radius
            heights.append(z)
            assert not down or z == pytest.approx(-PRELOAD_M, abs=1e-9)
    assert max(heights) == pytest.approx(pressed.walk.lift_height, abs=5e-4)


def test_swings_reach_the_lift_height_except_near_the_top_speed_and_again_when_the_robot_slows_down():
    machine = robot("phantomx")
    planner = standing_planner(machine, "tripod")
    top, placement = (
        planner.capabilities.fastest(Twist(0.0, 1.0, 0.0), ["tripod"]),
        Placement(BodyPose(), machine.walk.height),
    )
    for share, lift_share in ((0.5, 1.0), (1.0, MIN_LIFT_SHARE), (0.5, 1.0)):
        plans = list(drive(planner, top.scaled(share), 6.0))
        steady = plans[len(plans) // 2 :]
        heights = [placement.to_footprint(*center)[2] - machine.foot_radius for plan in steady for center in plan.feet]
        assert max(heights) == pytest.approx(lift_share * machine.walk.lift_height, rel=0.02)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_stance_is_linear_in_time_on_a_straight_walk(name):
    """Article A4: ground motion is linear in phase, that is with constant foot speed in stance."""
    planner = standing_planner(name)
    command = fitting(planner, DIRECTIONS["straight"], 0.8, "tripod")
    plans = list(drive(planner, command, 4.0))[-60:]
    for before, after in pairwise(plans):
        for p, q, was, still in zip(before.contacts, after.contacts, before.planted, after.planted, strict=True):
            if was and still:
                assert (q - p) / DT == pytest.approx([-command.vx, 0.0], abs=1e-9)


def test_a_caught_leg_lifts_as_high_as_it_reaches_over_its_stride_while_the_robot_walks_slowly():
    capabilities, leg = Capabilities.of(robot("phantomx")), 1
    machine, twist = capabilities.robot, Twist(0.05, 0.01, 0.0)
    lift_height, footholds = machine.walk.lift_height, capabilities.stances.at(machine.walk.height).footholds
    walk = WalkController(capabilities, footholds, NEUTRAL, capabilities.gaits["tripod"])
    joints = joints_at_offset(machine, footholds, 0.0)
    walk.drive(twist)

    def highest(ticks):
        """Greatest height [m] of every foot, and the joints at the end."""
        nonlocal joints
        heights = []
        for _ in range(ticks):
            joints = walk.advance(DT, joints).joints
            heights.append([foot.z for foot in walk.motion.feet])
        return np.max(heights, axis=0)

    highest(120)
    (x, y), foot = walk.regions.footholds[leg], walk.motion.feet[leg]
    ends = (foot.x, foot.y), (x, y), (2.0 * x - foot.x, 2.0 * y - foot.y)
    raised = next(
        factor * lift_height
        for factor in (*RAISED_LIFTS, 1.0)
        if all(reaches(machine.legs[leg], machine, end, factor * lift_height, walk.body.placement) for end in ends)
    )
    walk.slow_down(0.5, lagging_leg=leg)
    highest(60)
    expected = np.full(len(machine.legs), lift_height)
    expected[leg] = raised
    assert highest(60) == pytest.approx(expected, rel=0.03) and walk.speed.twist == pytest.approx(twist.scaled(0.5))
    walk.slow_down(1.0)
    highest(60)
    assert highest(60) == pytest.approx(np.full(len(machine.legs), lift_height), rel=0.03)
    assert walk.speed.twist == pytest.approx(twist)


def test_a_walk_is_in_its_neutral_stance_only_at_rest_on_its_footholds_in_its_pose_on_flat_ground():
    capabilities = Capabilities.of(robot("phantomx"))
    machine = capabilities.robot
    footholds = list(capabilities.stances.at(machine.walk.height).footholds)

    def walk(*, shifted=0.0, pose=NEUTRAL):
        """A walk, its joints, and itself after a tick."""
        contacts = [(footholds[0][0] + shifted, footholds[0][1]), *footholds[1:]]
        found = WalkController(capabilities, contacts, pose, capabilities.gaits["tripod"])
        return found, joints_at_offset(machine, footholds, 0.0)

    resting, joints = walk(shifted=0.004)
    assert resting.in_neutral_stance and resting.at_rest and resting.still
    assert not walk(shifted=0.006)[0].in_neutral_stance and walk(shifted=0.006)[0].at_rest
    resting.body.request(BodyPose(z=0.01))
    assert not resting.in_neutral_stance and resting.at_rest
    joints = resting.advance(DT, joints).joints
    assert not resting.still
    for _ in range(100):
        joints = resting.advance(DT, joints).joints
    assert resting.in_neutral_stance and resting.still
    resting.sense([True] * 6, None)
    assert not resting.in_neutral_stance and resting.motion.terrain is not None
    moving, joints = walk()
    moving.drive(Twist(0.05, 0.0, 0.0))
    joints = moving.advance(DT, joints).joints
    assert not (moving.in_neutral_stance or moving.at_rest or moving.still)
