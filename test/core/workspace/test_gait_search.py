# SPDX-License-Identifier: Apache-2.0
"""Laws of the gait search: its gait is faster than the named ones, stable on full strides, and depends on geometry."""

import random

import pytest
from support.drives import DIRECTIONS, ROBOTS, drive, fitting, robot, standing_planner
from support.robots.other_robots import around, in_rows, reordered
from support.suite.soak import some

from hexapod_control.core.gait.gait_table import derived_gaits
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.statics.moving_mass import neutral_center
from hexapod_control.core.statics.static_stability import margins_by_legs_in_swing
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.gait_search import fastest_gait
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.core.workspace.stance_regions import nominal_stance
from hexapod_control.core.workspace.stride_stability import stride_margin

UNEVEN = {"5": around(5), "7": around(7), "4 + 3": in_rows(4, 3), "9": around(9, 0.0), "11": around(11)}
uneven = pytest.mark.parametrize("machine", UNEVEN.values(), ids=UNEVEN)


@pytest.mark.parametrize("name", some(UNEVEN, "4 + 3"))
def test_the_search_finds_a_gait_faster_than_those_with_a_name(name):
    machine = UNEVEN[name]
    capabilities = Capabilities.of(machine)
    named = [capabilities.fastest(Twist(1.0, 0.0, 0.0), [name]).vx for name in derived_gaits(machine)]
    assert capabilities.fastest(Twist(1.0, 0.0, 0.0), ["fastest"]).vx > 1.2 * max(named)


@uneven
def test_the_search_finds_the_same_gait_for_legs_in_another_order(machine):
    order = list(range(len(machine.legs)))
    random.Random(3).shuffle(order)
    fastest, again = gaits(machine)["fastest"], gaits(reordered(machine, order))["fastest"]
    assert again.lift_off == tuple(fastest.lift_off[old] for old in order)


def test_no_division_of_seven_legs_into_two_groups_has_a_greater_margin():
    machine = UNEVEN["7"]
    margins = margins_by_legs_in_swing([leg.foothold for leg in machine.legs], neutral_center(machine))
    lifted = sum(1 << leg for leg in gaits(machine)["fastest"].legs_in_swing(0.0))
    every = [min(margins[group], margins[~group & 127]) for group in range(128)]
    assert min(margins[lifted], margins[~lifted & 127]) == pytest.approx(max(every), abs=1e-6)


@pytest.mark.parametrize("machine", [*map(robot, ROBOTS), in_rows(4, 4), around(12)], ids=lambda m: str(len(m.legs)))
def test_the_search_finds_no_gait_if_half_of_the_legs_already_swing_together(machine):
    assert list(gaits(machine)) == list(derived_gaits(machine))


# Without a leg, robots walk in the fastest gait of five, see test_lost_legs.py.
@pytest.mark.parametrize("name", some(("5", "4 + 3"), "4 + 3"))
@pytest.mark.parametrize("direction", ["arc", "strafe"])
def test_robots_with_an_odd_number_of_legs_walk_in_the_fastest_gait(name, direction):
    planner = standing_planner(UNEVEN[name], "fastest")
    twist = fitting(planner, DIRECTIONS[direction], 0.9, "fastest")
    plans = list(drive(planner, twist, 6.0))
    assert min(plan.margin for plan in plans) > 0.0 and all(plan.unreached is None for plan in plans)
    assert plans[-1].twist == pytest.approx(twist)


@pytest.mark.parametrize(
    ("legs", "ahead", "parts", "lift_off"),
    [
        (6, 0.12, 3, (0, 1, 0, 0, 1, 2)),
        (6, 0.13, 6, (0, 1, 2, 3, 4, 5)),
        (7, 0.16, 3, (0, 1, 0, 0, 0, 1, 2)),
        (8, 0.18, 2, (0, 1, 0, 0, 0, 1, 0, 1)),
        (8, 0.20, 8, (0, 3, 6, 1, 4, 7, 2, 5)),  # too many combinations: a wave, three parts from leg to leg
    ],
)
def test_the_farther_ahead_the_center_of_mass_is_the_slower_is_the_fastest_gait(legs, ahead, parts, lift_off):
    machine, center = around(legs), (ahead, 0.0)
    found = fastest_gait(machine, center, 0.99)
    assert found.lift_off == pytest.approx([part / parts for part in lift_off]) and found.name == "fastest"
    assert stride_margin((found,), nominal_stance(machine), center, 1.0) >= 0.005
    assert fastest_gait(machine, center, found.duty_factor) is None
    assert fastest_gait(machine, center, found.duty_factor + 0.001) == found
    assert fastest_gait(machine, (0.25, 0.0), 0.99) is None
