"""Stride regions over height and twist: one table, seen by twist and by heading, within the reach of the legs."""

import cmath
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drives import ROBOTS, robot

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose, Placement
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.stance_regions import DIRECTIONS, FLIGHT_REACH_SHARE, StanceRegions, reaches
from hexapod_control.core.workspace.strides.stride_regions import (
    BENDS,
    HEADINGS,
    NEUTRAL_REGION,
    PolarOffset,
    StrideRegion,
    Strides,
    room_parts,
)

CIRCLE = [cmath.rect(1.0, k * math.tau / 24) for k in range(24)]
HIP, FOOT = (0.1, -0.05), (0.25, 0.07)
TURN = Twist(0.0, 0.0, 1.0)


def capabilities(name):
    return Capabilities.of(robot(name))


def nominal(name) -> StanceRegions:
    return capabilities(name).stances.at(robot(name).walk.height)


def twists(seed, count):
    rng = random.Random(seed)
    return [Twist(rng.uniform(-0.2, 0.2), rng.uniform(-0.2, 0.2), rng.uniform(-1.0, 1.0)) for _ in range(count)]


# --- offsets and regions ------------------------------------------------------------------------------------


@given(st.floats(-0.1, 0.1), st.floats(-1.0, 1.0))
def test_an_offset_turns_a_point_about_the_hip_and_moves_it_outwards(outward, angle):
    dx, dy = PolarOffset(outward, angle).displacement(HIP, FOOT)
    before, after = (complex(x - HIP[0], y - HIP[1]) for x, y in (FOOT, (FOOT[0] + dx, FOOT[1] + dy)))
    assert abs(after) == pytest.approx(abs(before) + outward)
    assert cmath.phase(after / before) == pytest.approx(angle, abs=1e-9)


def test_offsets_are_interpolated_and_scaled_in_polar_coordinates():
    first, second = PolarOffset(0.1, 0.2), PolarOffset(0.3, -0.4)
    assert first.towards(second, 0.0) == first and first.towards(second, 1.0) == pytest.approx(second)
    assert first.towards(second, 0.25) == pytest.approx((0.15, 0.05))
    assert first.scaled(0.5) == pytest.approx((0.05, 0.1))
    assert PolarOffset(0.1, 0.0).displacement(HIP, HIP) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("room", "parts"), [(0.3, (0.0, 0.3)), (1.0, (0.0, 1.0)), (1.5, (0.5, 1.0)), (2.5, (1.0, 1.0))]
)
def test_room_is_first_that_of_the_radii_and_beyond_1_that_of_the_displacement(room, parts):
    assert room_parts(room) == parts


def test_a_disc_is_displaced_and_scaled_with_its_region():
    stance = StanceRegions(0.1, ((0.2, 0.1), (0.2, -0.1)), (0.05, 0.04))
    region = StrideRegion(PolarOffset(0.0, 0.0), 0.5, 1.0, (0.03, -0.02))
    strides = Strides(stance, (NEUTRAL_REGION, region), 0.8)
    assert strides.disc(0, NEUTRAL_REGION) == ((0.2, 0.1), pytest.approx(0.04))
    assert strides.disc(1, region) == (pytest.approx((0.23, -0.12)), pytest.approx(0.016))
    assert strides.stance.footholds == ((0.2, 0.1), pytest.approx((0.23, -0.12)))
    assert strides.stance.radii == pytest.approx((0.05, 0.02)) and strides.stance.height == 0.1
    assert Strides.about_neutral(stance) == (stance, (NEUTRAL_REGION,) * 2, 1.0)


# --- the table ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROBOTS)
def test_at_rest_and_without_displacement_feet_stride_about_their_footholds(name):
    table, stance = capabilities(name).strides, nominal(name)
    for twist, moved in ((ZERO, 1.0), (TURN, 0.0), (Twist(0.1, 0.0, 0.0), -0.1)):
        for region in table.regions(stance, twist, moved):
            assert (*region.offset, region.scale, region.moved, *region.displacement) == (0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_regions_of_a_twist_are_those_of_the_headings_of_its_feet(name):
    """Two views of one table: by twist, as the walk uses it, and by bend and heading, as the speed limits do."""
    table, stances = capabilities(name).strides, capabilities(name).stances
    for row in (0, len(stances.rows) // 2, len(stances.rows) - 1):
        stance = stances.rows[row]
        for moved in (1.0, 0.4):
            found = table.at_row(row, moved)
            for k in range(HEADINGS):
                heading = cmath.rect(0.1, math.pi * k / HEADINGS)
                regions = table.regions(stance, Twist(heading.real, heading.imag, 0.0), moved)
                for leg, region in enumerate(regions):
                    centre = complex(*stance.footholds[leg]) + complex(*region.displacement)
                    assert centre == pytest.approx(found[leg].centres[BENDS.index(0.0), k], abs=1e-9)
                    assert region.scale * stance.radii[leg] == pytest.approx(found[leg].radii[BENDS.index(0.0), k])


@pytest.mark.parametrize("name", ROBOTS)
def test_turning_on_the_spot_has_regions_of_its_own_in_both_directions(name):
    table, stances = capabilities(name).strides, capabilities(name).stances
    row = min(range(len(stances.rows)), key=lambda k: abs(stances.rows[k].height - robot(name).walk.height))
    stance, found = stances.rows[row], table.at_row(row, 1.0)
    for twist in (TURN, TURN.scaled(-0.2)):
        for leg, region in enumerate(table.regions(stance, twist, 1.0)):
            centre = complex(*stance.footholds[leg]) + complex(*region.displacement)
            for bend in (0, -1):
                assert found[leg].centres[bend] == pytest.approx([centre] * HEADINGS, abs=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_walking_backwards_uses_the_regions_of_walking_forward_and_the_speed_does_not_matter(name):
    table, stance = capabilities(name).strides, nominal(name)
    for twist in twists(3, 20):
        regions = table.regions(stance, twist, 1.0)
        for factor in (-1.0, 0.1):
            for a, b in zip(regions, table.regions(stance, twist.scaled(factor), 1.0), strict=True):
                assert a.displacement == pytest.approx(b.displacement, abs=1e-9) and a.scale == pytest.approx(b.scale)


@pytest.mark.parametrize("name", ROBOTS)
def test_half_of_the_displacement_is_half_of_the_offset(name):
    table, stance = capabilities(name).strides, nominal(name)
    for twist in twists(4, 20):
        for whole, half in zip(table.regions(stance, twist, 1.0), table.regions(stance, twist, 0.5), strict=True):
            assert half.offset == pytest.approx(whole.offset.scaled(0.5), abs=1e-12)
            assert half.scale - 1.0 == pytest.approx(0.5 * (whole.scale - 1.0), abs=1e-12)
            assert half.moved == pytest.approx(0.5 * whole.moved)


def test_a_foot_at_the_centre_of_rotation_keeps_its_place_and_faster_ones_move():
    stance = nominal("phantomx")
    x, y = stance.footholds[0]
    regions = capabilities("phantomx").strides.regions(stance, Twist(y, -x, 1.0), 1.0)
    assert regions[0].displacement == pytest.approx((0.0, 0.0), abs=1e-9) and regions[0].moved == 0.0
    assert regions[5].moved == 1.0 and math.hypot(*regions[5].displacement) > 0.005


@pytest.mark.parametrize("name", ROBOTS)
def test_every_region_is_in_reach_of_its_leg_in_the_neutral_pose(name):
    machine, stance, table = robot(name), nominal(name), capabilities(name).strides
    assert table.fits(NEUTRAL, 2.0, machine.walk.lift_height)
    placement = Placement(NEUTRAL, machine.walk.height)
    for twist in twists(5, 30):
        strides = table.at(machine.walk.height, twist, 1.0, 1.0)
        for leg, region in enumerate(strides.regions):
            centre, radius = strides.disc(leg, region)
            for point in (complex(*centre) + 0.97 * radius * each for each in CIRCLE):
                for z in (0.0, machine.walk.lift_height):
                    assert reaches(machine.legs[leg], machine, (point.real, point.imag), z, placement)
    assert len(stance.radii) == len(strides.regions)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_pose_leaves_room_for_the_displacement_only_if_the_legs_reach_it(name):
    machine, table, stances = robot(name), capabilities(name).strides, capabilities(name).stances
    rng, found, size, lift = random.Random(6), set(), machine.walk.height / 0.1, machine.walk.lift_height
    for _ in range(60):
        pose = BodyPose(*(rng.uniform(-1.0, 1.0) * a for a in (0.03 * size, 0.03 * size, 0.01 * size, 0.1, 0.1, 0.1)))
        fitting = [table.fits(pose, share, lift) for share in (0.6, 1.0, 1.5, 2.0)]
        assert fitting[:2] == [stances.fits(pose, share, lift) for share in (0.6, 1.0)]
        assert fitting == sorted(fitting, reverse=True)
        found.add(tuple(fitting))
        if not fitting[3]:
            continue
        placement = Placement(pose, machine.walk.height)
        for twist in twists(7, 8):
            strides = table.at(machine.walk.height + pose.z, twist, 1.0, 1.0)
            for leg, region in enumerate(strides.regions):
                (x, y), radius = strides.disc(leg, region)
                for each in CIRCLE[::4]:
                    far = 0.85 * FLIGHT_REACH_SHARE * radius
                    assert reaches(
                        machine.legs[leg], machine, (x + far * each.real, y + far * each.imag), 0.0, placement
                    )
    assert len(found) > 2


@pytest.mark.parametrize("name", ROBOTS)
def test_outlines_are_outside_of_the_regions_of_every_twist(name):
    machine, table, stance = robot(name), capabilities(name).strides, nominal(name)
    for leg, outline in zip(machine.legs, table.outlines(machine.walk.height), strict=True):
        row, turn = machine.legs.index(leg), complex(*leg.turn)
        regions = [table.regions(stance, twist, 1.0)[row] for twist in twists(8, 20)]
        for along in (turn * complex(*direction) for direction in DIRECTIONS):
            most = max(x * along.real + y * along.imag for x, y in outline)
            for _, scale, _, (dx, dy) in regions:
                assert dx * along.real + dy * along.imag + scale * stance.radii[row] <= most
