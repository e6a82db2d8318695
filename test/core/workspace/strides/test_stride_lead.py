# SPDX-License-Identifier: Apache-2.0
"""Gaps between legs seen from above, and how far a leg may be ahead of its neighbours on the way to new centers."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drives import DT, robot, standing_planner
from support.paths import DATA

from hexapod_control.core.kinematics.leg_clearance import LegNeighbours
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.core.workspace.strides.steady_cycle import SteadyCycle, line_distances
from hexapod_control.core.workspace.strides.stride_table import HEADINGS, LegStrides, PolarOffset, max_lead

AXES = [Twist(1.0, 0.0, 0.0), Twist(0.0, 1.0, 0.0), Twist(math.sqrt(0.5), math.sqrt(0.5), 0.0)]
PHASES = 12
places = st.complex_numbers(max_magnitude=1.0, allow_nan=False)


def build(name):
    """A robot of test/data/robots."""
    return robot(str(DATA / "robots" / f"{name}.yaml"))


@given(st.lists(places, min_size=4, max_size=4))
def test_the_distance_of_two_lines_is_the_least_of_their_points_and_zero_if_they_cross(points):
    a, b, c, d = points
    steps = np.linspace(0.0, 1.0, 60)
    sampled = np.abs((a + steps * (b - a))[:, None] - (c + steps * (d - c))).min()
    found = float(line_distances(*(np.array(point) for point in points)))
    assert found <= sampled + 1e-9
    assert sampled <= found + (abs(b - a) + abs(d - c)) / 59


@pytest.mark.parametrize("name", ["phantomx", "octopod", "inline"])
@pytest.mark.parametrize("axis", AXES)
def test_gaps_from_above_are_those_of_the_lines_between_femur_axis_and_foot_less_their_radii(name, axis):
    machine = robot(name)
    gait = min(gaits(machine).values(), key=lambda each: each.stance_time)
    cycle, pairs = SteadyCycle(machine, gait, axis), LegNeighbours.of(machine).pairs
    centers = np.array([complex(*leg.foothold) for leg in machine.legs])
    thick = [max(leg.femur.radius, leg.tibia.radius, machine.foot_radius) for leg in machine.legs]
    least = math.inf
    for phase in (np.arange(PHASES) + 0.5) / PHASES:
        feet, _ = cycle.feet(np.array(phase), np.array(0.05), centers)
        lines = []
        for leg, foot in zip(machine.legs, feet, strict=True):
            hip = complex(*leg.hip[:2])
            lines.append((hip + leg.coxa.length * (foot - hip) / abs(foot - hip), foot))
        for a, b in pairs:
            gap = float(line_distances(*map(np.array, (*lines[a], *lines[b])))) - thick[a] - thick[b]
            least = min(least, gap)
    assert cycle.horizontal_gaps(0.05, np.stack([centers, centers])) == pytest.approx([least, least])


@pytest.mark.parametrize("name", ["phantomx", "chica", "octopod", "scratch"])
def test_gaps_from_above_are_not_wider_than_those_of_the_joint_angles(name):
    machine, rng = robot(name), np.random.default_rng(1)
    gait = min(gaits(machine).values(), key=lambda each: each.stance_time)
    neutral = np.array([complex(*leg.foothold) for leg in machine.legs])
    cycle = SteadyCycle(machine, gait, AXES[0])
    for centers in neutral + 0.01 * (rng.normal(size=(4, len(neutral))) + 1j * rng.normal(size=(4, len(neutral)))):
        assert cycle.horizontal_gaps(0.03, centers[None])[0] <= cycle.limits(0.03, centers, 1.0).gap + 0.002


@pytest.mark.parametrize("name", ["phantomx", "chica", "article", "quadruped"])
def test_legs_that_never_meet_move_their_centers_at_once(name):
    assert Capabilities.of(robot(name)).strides.max_lead == math.inf


def test_close_legs_move_their_centers_in_step_with_their_neighbours():
    machine = build("wide_6")  # a leg ahead of the others would meet the next one
    capabilities = Capabilities.of(machine)
    strides, gait = capabilities.strides, capabilities.strides.gait
    assert 0.0 < strides.max_lead < math.inf
    top = capabilities.fastest(AXES[0], [gait.name])
    stance, pairs = capabilities.stances.at(machine.walk.height), LegNeighbours.of(machine).pairs
    goal = [region.displacement for region in strides.regions(stance, top, 1.0)]
    planner = standing_planner(machine, gait.name)
    planner.command(top)
    for _ in range(round(6.0 / DT)):
        plan = planner.step(DT)
        assert plan.blocked is None
        shares = [
            math.hypot(*foot.region.displacement) / math.hypot(*each)
            for foot, each in zip(planner.view.walk.motion.feet, goal, strict=True)
        ]
        assert all(abs(shares[a] - shares[b]) <= strides.max_lead + 0.02 for a, b in pairs)  # in polar coordinates
    assert plan.twist == pytest.approx(top)
    planner.command(ZERO)
    for _ in range(round(10.0 / DT)):
        plan = planner.step(DT)
        assert plan.blocked is None
    assert plan.twist == ZERO and all(plan.planted)


def test_legs_with_knees_far_outside_of_their_feet_are_no_lines_from_above_and_move_their_centers_at_once():
    machine = build("rows_6")
    gait = min(gaits(machine).values(), key=lambda each: each.stance_time)
    turned = [LegStrides((PolarOffset(0.0, 0.5 * (-1) ** row),) * HEADINGS, (0.04,) * HEADINGS) for row in range(6)]
    assert max_lead(machine, gait, turned) == math.inf
    low = replace(machine, walk=replace(machine.walk, height=0.06))  # its knees are inside of its feet
    assert max_lead(low, gait, turned) < 1.0
