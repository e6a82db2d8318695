"""Laws of the table of stance regions over the body's height."""

import math
import random
from itertools import pairwise

import pytest
from support.drives import ROBOTS, robot

from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.stance_regions import FLIGHT_REACH_SHARE, TIBIA_CLEARANCE, max_radii, reaches

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
