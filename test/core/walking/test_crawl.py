# SPDX-License-Identifier: Apache-2.0
"""The crawl of four legs: before a foot lifts off, the body is over the support triangle of the others."""

import itertools
import math
import random
from dataclasses import replace

import numpy as np
import pytest
from support.drives import DIRECTIONS, DT, drive, fitting, random_drive, robot, standing_planner, walk_of
from support.robots.other_robots import around, in_rows, reordered
from support.suite.soak import cases

from hexapod_control.core.gait.gait_table import leg_sides
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.workspace.crawl import crawl
from hexapod_control.core.workspace.robot_gaits import gaits, least_support

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
    assert least_support(machine, gaits(machine)["crawl"]).margin >= MIN_MARGIN


def test_the_crawl_does_not_depend_on_names_and_order_of_the_legs():
    machine, order = in_rows(2, 2), (2, 0, 3, 1)
    row, again = gaits(machine)["crawl"], gaits(reordered(machine, order))["crawl"]
    assert again.lift_off == tuple(row.lift_off[old] for old in order)
    for phase in np.linspace(0.0, 1.0, 9):
        assert again.shift(phase) == pytest.approx(row.shift(phase), abs=1e-3)


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
def test_the_body_sways_without_a_jump_all_the_time_and_is_centered_when_the_robot_stands(machine):
    planner, gait = standing_planner(machine), gaits(machine)["crawl"]
    before, velocity, offsets = body_offset(planner), np.zeros(2), []
    for plan in drive(planner, fitting(planner, DIRECTIONS["straight"], 1.0, "crawl"), 8.0):
        now = body_offset(planner)
        faster = (now - before) / DT - velocity
        assert math.hypot(*faster) / DT <= 5.0  # [m/s^2]
        if not all(plan.planted):
            offsets.append(now)
        before, velocity = now, (now - before) / DT
    rest = [math.dist(a, b) for a, b in itertools.pairwise(offsets[len(offsets) // 2 :])]
    assert min(rest) > 0.0 and np.ptp(offsets, axis=0).max() > 0.02 and gait.sway is not None
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


@machines
def test_the_crawl_lifts_the_rear_leg_of_a_side_first_and_a_leg_is_in_the_air_most_of_the_time(machine):
    gait = crawl(machine)
    (left_front, left_rear), (right_front, right_rear) = leg_sides(machine.legs)
    order = [gait.lift_off[leg] for leg in (left_rear, left_front, right_rear, right_front)]
    assert order == pytest.approx([0.0, 1.0 / gait.cycle, 0.5, 0.5 + 1.0 / gait.cycle])
    assert gait.start_phase == order[1] and 5.0 <= gait.cycle <= 6.0


def quadruped(seed):
    """A quadruped by chance: hips on a rectangle, legs of phantomx in other lengths, legs turned outwards."""
    rng, machine = random.Random(seed), robot("quadruped")
    length, x, y, yaw = rng.uniform(0.8, 1.2), rng.uniform(0.03, 0.1), rng.uniform(0.03, 0.08), rng.uniform(20.0, 70.0)
    legs = []
    for leg, (ahead, left) in zip(machine.legs, ((1, 1), (-1, 1), (1, -1), (-1, -1)), strict=True):
        turn = math.radians(90.0 - (90.0 - yaw) * ahead) * left
        tibia = replace(leg.tibia, length=length * leg.tibia.length)
        out = leg.coxa.length + 0.1 * length
        foothold = (ahead * x + out * math.cos(turn), left * y + out * math.sin(turn))
        legs.append(replace(leg, hip=(ahead * x, left * y, 0.0), hip_yaw=turn, tibia=tibia, foothold=foothold))
    offset = (rng.uniform(-0.01, 0.01), rng.uniform(-0.01, 0.01), 0.0)
    return replace(machine, legs=tuple(legs), body=replace(machine.body, center_of_mass=offset))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_quadruped_of_any_shape_keeps_its_margin_along_all_axes_and_their_arcs_at_full_speed(seed):
    machine = quadruped(seed)
    planner = standing_planner(machine)
    for axis in (Twist(1.0, 0.0, 0.0), Twist(-1.0, 1.0, 0.0), Twist(0.0, 1.0, 5.0), Twist(0.0, 0.0, -1.0)):
        top = planner.capabilities.fastest(axis, ["crawl"])
        for plan in drive(planner, top, 6.0):
            assert sum(plan.planted) >= 3 and plan.margin >= MIN_MARGIN - 0.003 and plan.unreached is None
        for plan in drive(planner, top, 4.0):
            assert plan.margin >= MIN_MARGIN
        assert tuple(plan.twist) == pytest.approx(tuple(top), rel=0.02)
