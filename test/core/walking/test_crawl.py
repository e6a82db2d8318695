"""The crawl of four legs: before a foot lifts off, the body is over the support triangle of the others."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.drives import DIRECTIONS, DT, drive, fitting, random_drive, robot, standing_planner, walk_of
from support.robots.other_robots import around, in_rows, reordered
from support.suite.soak import cases

from hexapod_control.core.gait.gait_clock import GaitClock
from hexapod_control.core.gait.gait_table import leg_sides
from hexapod_control.core.gait.swing_trajectory import smooth_travel
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.se2 import ZERO
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.walking.body.body_control import BodySway
from hexapod_control.core.walking.body.pose_feasibility import PoseFeasibility
from hexapod_control.core.walking.feet.foot_motion import FootMotion
from hexapod_control.core.walking.foot import STANCE, Foot, Swing
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.crawl import crawl
from hexapod_control.core.workspace.robot_gaits import gaits, least_support
from hexapod_control.core.workspace.stance_regions import REGION_SHARES

SUFFICIENT_MARGIN, SUFFICIENT_SHARE = 0.025, 0.1  # [m, -]
SWAY_STEP, SWAY_STEPS = 0.005, 16  # [m, -]

MIN_MARGIN = 0.005  # [m]
MACHINES = {"quadruped": robot("quadruped"), "diamond": around(4, 0.0)}
machines = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


def body_offset(planner):
    """Offset (x, y) [m] of the body from base_footprint."""
    x, y, _ = walk_of(planner).body.placement.to_footprint(0.0, 0.0, 0.0)
    return np.array((x, y))


@machines
def test_the_crawl_is_the_only_gait_of_four_legs_and_has_a_margin(machine):
    assert list(gaits(machine)) == ["crawl"]
    assert least_support(machine, gaits(machine)["crawl"]).margin >= 0.02


def test_the_crawl_does_not_depend_on_names_and_order_of_the_legs():
    machine, order = in_rows(2, 2), (2, 0, 3, 1)
    row, again = gaits(machine)["crawl"], gaits(reordered(machine, order))["crawl"]
    assert again.lift_off == tuple(row.lift_off[old] for old in order) and again.sway == pytest.approx(row.sway)


@pytest.mark.parametrize(("machine", "direction"), cases(MACHINES.values(), DIRECTIONS))
def test_at_full_speed_three_feet_always_support_the_robot_with_margin(machine, direction):
    planner = standing_planner(machine)
    limits = np.array([[joint.no_load_speed for joint in leg.joints] for leg in machine.legs])
    before = planner.step(DT)
    for plan in drive(planner, fitting(planner, DIRECTIONS[direction], 1.0, "crawl"), 9.0):
        assert sum(plan.planted) >= 3 and plan.margin >= MIN_MARGIN and plan.unreached is None
        assert (np.abs(plan.joint_angles - before.joint_angles) / DT <= limits).all()
        before = plan
    assert tuple(plan.twist) == pytest.approx(tuple(fitting(planner, DIRECTIONS[direction], 1.0, "crawl")), rel=1e-6)


@machines
def test_the_body_rests_over_one_side_while_legs_of_the_other_swing_and_is_centered_when_the_robot_stands(machine):
    planner, sway = standing_planner(machine), gaits(machine)["crawl"].sway
    before, rests = body_offset(planner), []
    for plan in drive(planner, fitting(planner, DIRECTIONS["straight"], 1.0, "crawl"), 12.0):
        now = body_offset(planner)
        swing_time = walk_of(planner).speed.swing_time
        # From one side to the other in two swing times; 15/8 is the peak speed of a fifth-order profile over the mean.
        fastest = 15.0 / 8.0 * math.hypot(*sway) / swing_time
        assert math.dist(now, before) / DT <= 1.01 * fastest
        if not all(plan.planted):
            rests.append(now)
            assert min(math.dist(now, sway), math.dist(now, np.negative(sway))) < 1e-3
        before = now
    assert max(math.dist(a, b) for a in rests for b in rests[::20]) == pytest.approx(2.0 * math.hypot(*sway), abs=2e-3)
    for _plan in drive(planner, ZERO, 8.0):
        pass
    assert planner.state is RobotState.STANDING
    assert body_offset(planner) == pytest.approx((0.0, 0.0), abs=1e-9)


def test_a_halt_with_a_foot_in_the_air_keeps_the_body_over_the_others_until_it_is_down():
    planner = standing_planner(MACHINES["quadruped"])
    twist = fitting(planner, DIRECTIONS["backwards"], 1.0, "crawl")
    flights = 0
    for plan in drive(planner, twist, 12.0):
        if all(plan.planted):
            continue
        flights += 1
        if flights % 7 == 0:
            halted = planner.copy()
            halted.halt()
            for _ in range(40):
                assert halted.step(DT).margin >= MIN_MARGIN
    assert flights > 50


@pytest.mark.parametrize("seed", [1, 2])
def test_under_random_joystick_input_the_static_margin_stays_positive(seed):
    planner = standing_planner(MACHINES["quadruped"])
    for _dt, plan in random_drive(planner, seed, 800, poses=False, gaits=False):
        assert plan.margin > 0.0 and sum(plan.planted) >= 3 and plan.unreached is None


def test_the_body_sways_from_side_to_side_in_two_swing_times_and_back_once_all_feet_stand():
    capabilities = Capabilities.of(MACHINES["quadruped"])
    gait, feasibility = capabilities.gaits["crawl"], PoseFeasibility(capabilities)
    sway, steps = BodySway(feasibility), 20
    motion = FootMotion([Foot(*leg.foothold) for leg in capabilities.robot.legs], GaitClock(gait), 0.03)

    def moved(goal):
        """Checks a shift from the present offset to a goal, with the speed of a swing."""
        start = sway.offset
        for k in range(1, steps + 1):
            sway.step(2.0 / steps, motion)
            part = smooth_travel(k / steps)
            assert sway.offset == pytest.approx([a + part * (b - a) for a, b in zip(start, goal, strict=True)])
        sway.step(1.0, motion)
        assert sway.offset == pytest.approx(goal)

    moved((0.0, 0.0))
    motion.start(gait.start_phase)
    moved(gait.sway)
    motion.clock.enter(gait, gait.start_phase + 0.5)
    moved((-gait.sway[0], -gait.sway[1]))
    motion.clock.enter(gait, gait.start_phase)
    sway.step(0.5, motion)  # in the middle of a shift
    motion.running, motion.feet[0].state = False, Swing(0.5, 1.0, 0.03)
    sway.step(0.5, motion)
    half = smooth_travel(0.5)
    assert sway.offset == pytest.approx([(2.0 * half - 1.0) * v for v in gait.sway], abs=1e-12)  # it goes on meanwhile
    motion.feet[0].state = STANCE
    moved((0.0, 0.0))
    assert sway.region_share == REGION_SHARES[0]
    sway.prepare(NEUTRAL, gait.sway)
    ends = [BodyPose(*gait.sway), BodyPose(-gait.sway[0], -gait.sway[1])]
    assert sway.region_share == min(map(feasibility.region_share, ends)) < REGION_SHARES[0]
    sway.prepare(NEUTRAL, (0.0, 0.0))
    assert sway.region_share == REGION_SHARES[0]


@machines
def test_the_crawl_lifts_the_rear_leg_of_a_side_first_and_sways_by_the_smallest_step_with_an_ample_margin(machine):
    gait = crawl(machine)
    (left_front, left_rear), (right_front, right_rear) = leg_sides(machine.legs)
    order = [gait.lift_off[leg] for leg in (left_rear, left_front, right_rear, right_front)]
    assert order == [0.0, 1 / 8, 4 / 8, 5 / 8] and gait.duty_factor == 7 / 8 and gait.start_phase == 0.75
    left, right = (
        np.mean([machine.legs[leg].foothold for leg in legs], axis=0)
        for legs in ((left_front, left_rear), (right_front, right_rear))
    )
    across, sway = right - left, np.array(gait.sway)
    track, size = np.linalg.norm(across), np.linalg.norm(sway)
    assert sway / size == pytest.approx(across / track)  # first away from the left legs, which lift off first
    steps = round(size / SWAY_STEP)
    assert size == pytest.approx(steps * SWAY_STEP) and 1 <= steps <= SWAY_STEPS
    margins = [
        least_support(machine, replace(gait, sway=tuple((k * SWAY_STEP * across / track).tolist()))).margin
        for k in range(1, steps + 1)
    ]
    sufficient = min(SUFFICIENT_MARGIN, SUFFICIENT_SHARE * track)
    assert all(margin < sufficient for margin in margins[:-1])
    assert margins[-1] >= sufficient or margins[-1] == max(margins)
