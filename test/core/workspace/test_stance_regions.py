# SPDX-License-Identifier: Apache-2.0
"""Laws of the table of stance regions over the body's height."""

import math
import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from support.drives import ROBOTS, robot

from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.kinematics.leg_batch import StepGeometry
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.stance_regions import (
    CHECK_ORDER,
    DIRECTIONS,
    RegionReach,
    StanceRegionTable,
    max_radii,
    nominal_stance,
    radius_about,
    reaches,
    seen_from_hip,
)

FLIGHT_REACH_SHARE, MIN_RADIUS_SHARE = 1.18, 0.4
HEIGHT_STEPS, RADIUS_HALVINGS = 13, 5
RADIUS_RESOLUTION, TIBIA_CLEARANCE = 0.001, 0.0112  # [m]

CIRCLE = [(math.cos(k * math.tau / 48), math.sin(k * math.tau / 48)) for k in range(48)]

INSIDE_HEXAGON = 0.99 * math.cos(math.pi / 6)  # radius of the circle inside the six points that the table checks


@pytest.mark.parametrize("name", ROBOTS)
def test_the_table_is_linear_between_its_rows_and_clamped_at_both_ends(name):
    table = Capabilities.of(robot(name)).stances
    for row in table.rows:
        assert table.at(row.height) == row
    assert table.at(table.lowest - 1.0) == table.rows[0] and table.at(table.highest + 1.0) == table.rows[-1]
    for low, high in pairwise(table.rows):
        found = table.at(0.8 * low.height + 0.2 * high.height)
        assert found.radii == pytest.approx([0.8 * a + 0.2 * b for a, b in zip(low.radii, high.radii, strict=True)])
        for home, a, b in zip(found.footholds, low.footholds, high.footholds, strict=True):
            assert home == pytest.approx((0.8 * a[0] + 0.2 * b[0], 0.8 * a[1] + 0.2 * b[1]))


def reach_circle(machine, table, pose, share, lift) -> bool:
    """True if all feet reach every point of CIRCLE about their footholds, on the ground and lifted [m]."""
    stance = table.at(machine.walk.height + pose.z)
    placement = Placement(pose, machine.walk.height)
    return all(
        reaches(leg, machine, (x + r * radius * dx, y + r * radius * dy), z, placement)
        for leg, (x, y), radius in zip(machine.legs, stance.footholds, stance.radii, strict=True)
        for dx, dy in CIRCLE
        for r, z in ((FLIGHT_REACH_SHARE * share, 0.0), (share, lift))
    )


@pytest.mark.parametrize("name", ROBOTS)
def test_a_share_of_the_regions_fits_a_pose_if_and_only_if_the_feet_reach_it_in_every_direction(name):
    machine, rng = robot(name), random.Random(2)
    table, lift = Capabilities.of(machine).stances, machine.walk.lift_height
    found = set()
    for _ in range(40):
        size = machine.walk.height / 0.1
        spread = (0.03 * size, 0.03 * size, 0.02 * size, 0.2, 0.2, 0.25)
        pose = BodyPose(*(rng.uniform(-1.0, 1.0) * a for a in spread))
        share = rng.choice((0.3, 0.6, 0.8))
        fits = table.fits(pose, share, lift)
        found.add(fits)
        if fits:  # between the directions that are checked, the reach may be a little less
            assert reach_circle(machine, table, pose, INSIDE_HEXAGON * share, lift)
        else:
            assert not reach_circle(machine, table, pose, 1.03 * share, lift)
    assert found == {True, False}


@pytest.mark.parametrize("name", ROBOTS)
def test_regions_of_neighbouring_legs_are_exactly_the_tibia_clearance_apart(name):
    machine = robot(name)
    radii = max_radii(machine)
    for leg, radius in zip(machine.legs, radii, strict=True):
        gaps = [
            math.dist(leg.foothold, other.foothold) - leg.tibia.radius - other.tibia.radius - 2.0 * radius
            for other in machine.legs
            if other is not leg
        ]
        assert min(gaps) == pytest.approx(TIBIA_CLEARANCE)


def test_reach_is_checked_in_directions_spread_evenly_over_the_circle():
    circle = [complex(*direction) for direction in DIRECTIONS]
    turns = [b / a for a, b in zip(circle, circle[1:] + circle[:1], strict=True)]
    assert turns == pytest.approx([turns[0]] * len(circle)) and circle[0] == 1.0
    assert math.atan2(turns[0].imag, turns[0].real) * len(circle) == pytest.approx(math.tau)
    assert sorted(CHECK_ORDER) == list(range(len(DIRECTIONS[::2])))


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("most", [0.004, 0.05, 0.15])
def test_the_radii_of_many_regions_at_once_are_those_of_single_ones_to_the_resolution_of_the_search(name, most):
    machine, rng = robot(name), random.Random(4)
    leg = machine.legs[0]
    turn, hip, home = complex(*leg.hip_direction), complex(*leg.hip[:2]), complex(*leg.foothold)
    places = [hip + (home - hip) * complex(rng.uniform(0.6, 1.2), rng.uniform(-0.6, 0.6)) for _ in range(10)]
    around = np.array([complex(*direction) for direction in DIRECTIONS])
    step = StepGeometry.of(machine, machine.walk.height)
    seen = seen_from_hip(leg, leg.foothold)
    centers = np.array([(place - hip) / turn for place in places])
    found = RegionReach(seen, step, centers, around).radii(np.full(len(places), most))
    for place, radius in zip(places, found.tolist(), strict=True):
        alone = radius_about(leg, machine, (place.real, place.imag), machine.walk.height, most)
        assert radius == pytest.approx(alone, abs=most / 2**RADIUS_HALVINGS + RADIUS_RESOLUTION + 0.1 * alone)
        assert 0.0 <= radius <= most and (radius == most) == (alone == most)
    assert found.max() > 0.0


@pytest.mark.parametrize("name", ROBOTS)
def test_heights_are_evenly_spaced_about_the_nominal_one_while_every_region_keeps_a_share_of_its_size(name):
    machine, table = robot(name), Capabilities.of(robot(name)).stances
    nominal, heights = nominal_stance(machine), [row.height for row in table.rows]
    step = machine.walk.height / (HEIGHT_STEPS - 1)
    assert [b - a for a, b in pairwise(heights)] == pytest.approx([step] * (len(heights) - 1))
    assert nominal in table.rows and table.rows[heights.index(machine.walk.height)] == nominal
    belly = machine.body.size[2] / 2 - machine.body.center[2]
    assert table.rows[0].height > belly
    assert table.rows[-1].height <= machine.walk.height + (HEIGHT_STEPS - 1) * step + 1e-12
    for row in table.rows:
        for leg, home, radius, usual, most in zip(
            machine.legs, row.footholds, row.radii, nominal.radii, max_radii(machine), strict=True
        ):
            assert MIN_RADIUS_SHARE * usual <= radius <= most
            assert radius == radius_about(leg, machine, home, row.height, most)
            # Footholds move along the line through the coxa axis.
            arm, moved = complex(*leg.foothold) - complex(*leg.hip[:2]), complex(*home) - complex(*leg.hip[:2])
            assert (moved / arm).imag == pytest.approx(0.0, abs=1e-9) and (moved / arm).real > 0.0


def test_a_robot_that_cannot_step_at_its_height_is_refused_with_the_name_of_the_leg():
    machine = robot("phantomx")
    far = replace(machine.legs[4], foothold=(0.0, -0.5))
    legs = (*machine.legs[:4], far, *machine.legs[5:])
    with pytest.raises(ValueError, match=f"leg {far.name} cannot step"):
        StanceRegionTable(replace(machine, legs=legs))
