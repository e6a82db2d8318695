# SPDX-License-Identifier: Apache-2.0
"""Stride regions over height and twist: one table, seen by twist and by heading, within the reach of the legs."""

import cmath
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drives import ROBOTS, robot
from support.paths import DATA
from support.suite.soak import some

from hexapod_control.config.robots.robot_file import known_robots
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose, Placement
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.stance_regions import DIRECTIONS, StanceRegions, reaches
from hexapod_control.core.workspace.strides.stride_table import (
    NEUTRAL_REGION,
    LegStrides,
    PolarOffset,
    StrideRegion,
    Strides,
    StrideTable,
    split_region_share,
)

BUILDS = [str(path) for path in sorted((DATA / "robots").glob("*.yaml"))]
FLIGHT_REACH_SHARE, OFFSET_SHARES = 1.18, (1.0, 0.8, 0.6, 0.4, 0.2)
BENDS, HEADINGS = (-1.0, -0.5, 0.0, 0.5, 1.0), 32

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
    assert split_region_share(room) == parts


def test_a_disc_is_displaced_and_scaled_with_its_region():
    stance = StanceRegions(0.1, ((0.2, 0.1), (0.2, -0.1)), (0.05, 0.04))
    region = StrideRegion(PolarOffset(0.0, 0.0), 0.5, 1.0, (0.03, -0.02))
    strides = Strides(stance, (NEUTRAL_REGION, region), 0.8)
    assert strides.disc(0, NEUTRAL_REGION) == ((0.2, 0.1), pytest.approx(0.04))
    assert strides.disc(1, region) == (pytest.approx((0.23, -0.12)), pytest.approx(0.016))
    assert strides.stance_regions.footholds == ((0.2, 0.1), pytest.approx((0.23, -0.12)))
    assert strides.stance_regions.radii == pytest.approx((0.05, 0.02)) and strides.stance_regions.height == 0.1
    assert Strides(stance, (NEUTRAL_REGION,) * 2).share == 1.0


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
                    center = complex(*stance.footholds[leg]) + complex(*region.displacement)
                    assert center == pytest.approx(found[leg].centers[BENDS.index(0.0), k], abs=1e-9)
                    assert region.scale * stance.radii[leg] == pytest.approx(found[leg].radii[BENDS.index(0.0), k])


@pytest.mark.parametrize("name", ROBOTS)
def test_turning_on_the_spot_has_regions_of_its_own_in_both_directions(name):
    table, stances = capabilities(name).strides, capabilities(name).stances
    row = min(range(len(stances.rows)), key=lambda k: abs(stances.rows[k].height - robot(name).walk.height))
    stance, found = stances.rows[row], table.at_row(row, 1.0)
    for twist in (TURN, TURN.scaled(-0.2)):
        for leg, region in enumerate(table.regions(stance, twist, 1.0)):
            center = complex(*stance.footholds[leg]) + complex(*region.displacement)
            for bend in (0, -1):
                assert found[leg].centers[bend] == pytest.approx([center] * HEADINGS, abs=1e-9)


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


def test_a_foot_at_the_center_of_rotation_keeps_its_place_and_faster_ones_move():
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
            center, radius = strides.disc(leg, region)
            for point in (complex(*center) + 0.97 * radius * each for each in CIRCLE):
                for z in (0.0, machine.walk.lift_height):
                    assert reaches(machine.legs[leg], machine, (point.real, point.imag), z, placement)
    assert len(stance.radii) == len(strides.regions)


@pytest.mark.parametrize("name", some([*known_robots(), *BUILDS], *known_robots()))
def test_the_neutral_pose_leaves_room_for_all_strides_and_so_for_the_top_speeds(name):
    strides = capabilities(name).strides
    assert strides.fits(NEUTRAL, 2.0, robot(name).walk.lift_height)


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


def nominal_row(name):
    """Row of the table at the nominal height."""
    rows = capabilities(name).stances.rows
    return next(k for k, row in enumerate(rows) if row.height == robot(name).walk.height)


def regions_of(name, leg, moved):
    """Displacement x + i y [m], radius [m] and heading of all regions of a leg; heading 0 for the neutral one."""
    machine, stance = robot(name), nominal(name)
    home, found = complex(*stance.footholds[leg]), capabilities(name).strides.at_row(nominal_row(name), moved)[leg]
    straight, on_the_spot = BENDS.index(0.0), BENDS.index(1.0)
    yield 0.0, stance.radii[leg], 0.0
    for k in range(HEADINGS):
        yield found.centers[straight, k] - home, found.radii[straight, k], cmath.rect(1.0, math.pi * k / HEADINGS)
    foothold = complex(*machine.legs[leg].foothold)
    yield found.centers[on_the_spot, 0] - home, found.radii[on_the_spot, 0], 1j * foothold / abs(foothold)


@pytest.mark.parametrize("name", ROBOTS)
def test_outlines_enclose_the_feet_in_the_air_in_the_regions_of_all_headings(name):
    machine = robot(name)
    for row, outline in enumerate(capabilities(name).strides.outlines(machine.walk.height)):
        turn = complex(*machine.legs[row].hip_direction)
        for along in (turn * complex(*direction) for direction in DIRECTIONS):
            most = max(x * along.real + y * along.imag for x, y in outline)
            reach = [dot(at, along) + FLIGHT_REACH_SHARE * radius for at, radius, _ in regions_of(name, row, 1.0)]
            assert most == pytest.approx(max(reach))


def dot(a, b):
    return (a * b.conjugate()).real


@pytest.mark.parametrize("share", [1.4, 2.0])
@pytest.mark.parametrize("name", ROBOTS)
def test_a_pose_leaves_a_share_of_the_displacement_if_feet_reach_the_outermost_regions_on_the_ground_and_lifted(
    name, share
):
    machine, lift = robot(name), robot(name).walk.lift_height
    table, stances, rng = capabilities(name).strides, capabilities(name).stances, random.Random(9)
    size, found = machine.walk.height / 0.1, set()
    for k in range(24):  # farther and farther from the neutral pose
        spread = (0.03 * size, 0.03 * size, 0.0, 0.1, 0.1, 0.1)
        pose = BodyPose(*(rng.uniform(-1.0, 1.0) * a * k / 24 for a in spread))
        placement, reached = Placement(pose, machine.walk.height), stances.fits(pose, 1.0, lift)
        for row, leg in enumerate(machine.legs if reached else ()):
            home, regions = complex(*nominal(name).footholds[row]), list(regions_of(name, row, share - 1.0))
            for along in (complex(*leg.hip_direction) * complex(*direction) for direction in DIRECTIONS):
                # In the air a foot lags behind the body along its heading, not across it.
                flight = [FLIGHT_REACH_SHARE if not h else 1.0 + 0.18 * dot(along, h) ** 2 for _, _, h in regions]
                reach = [dot(at, along) + f * r for (at, r, _), f in zip(regions, flight, strict=True)]
                k = reach.index(max(reach))
                at, radius, _ = regions[k]
                for far, z in ((flight[k] * radius, 0.0), (radius, lift)):
                    point = home + at + far * along
                    reached = reached and reaches(leg, machine, (point.real, point.imag), z, placement)
        found.add(reached)
        assert table.fits(pose, share, lift) == reached
    assert found == {True, False}


def in_reach(machine, stance, row, offset, radius):
    """Whether feet reach a disc about a displaced foothold, lifted, and beyond it where feet are early in a swing."""
    leg, home, lift = machine.legs[row], stance.footholds[row], machine.walk.lift_height
    center = complex(*home) + complex(*offset.displacement(leg.hip[:2], home))
    far, level = FLIGHT_REACH_SHARE * radius, Placement(NEUTRAL, stance.height)
    places = [(center + r * u, z) for u in CIRCLE for r, z in ((far, 0.0), (far, 0.25 * lift), (radius, lift))]
    return all(reaches(leg, machine, (at.real, at.imag), z, level) for at, z in places)


def test_at_every_height_the_largest_share_of_the_offsets_is_used_that_leaves_the_regions_most_of_their_size():
    machine, stances, radius, offset = robot("phantomx"), capabilities("phantomx").stances, 0.04, PolarOffset(0.05, 0.1)
    legs = [LegStrides((offset,) * (HEADINGS + 1), (radius,) * (HEADINGS + 1)) for _ in machine.legs]
    table, seen = StrideTable(machine, stances, capabilities("phantomx").gaits["tripod"], legs), set()
    for row, stance in list(enumerate(stances.rows))[::3]:
        hip, home = complex(*machine.legs[0].hip[:2]), complex(*stance.footholds[0])
        center = table.at_row(row, 1.0)[0].centers[BENDS.index(0.0), 5]
        share = min(OFFSET_SHARES, key=lambda each: abs(0.1 * each - cmath.phase((center - hip) / (home - hip))))
        assert abs(center - hip) == pytest.approx(abs(home - hip) + 0.05 * share)
        seen.add(share)
        for each in OFFSET_SHARES[: OFFSET_SHARES.index(share) + 1]:
            least = (0.97 if each == share else 1.03) * 0.8 * radius
            fits = [in_reach(machine, stance, leg, offset.scaled(each), least) for leg in (0, 1)]
            assert all(fits) == (each == share)
        for strides in table.at_row(row, 1.0):
            assert (0.8 - 1 / 32) * radius <= strides.radii.min() and strides.radii.max() <= radius + 1e-12
    assert len(seen) > 3


KNOWN_REGIONS = {  # by leg, height [rows over the nominal one] and bend: displacements (x, y) and radii [mm]
    (0, 0, 0.0): ((-85.1, 53.3, 55.5), (-152.4, 56.0, 35.7), (31.1, -38.4, 36.0), (2.1, 2.1, 36.0)),
    (0, -6, 0.5): ((-7.1, 21.4, 52.2), (-26.4, 38.2, 42.4), (31.5, -24.7, 42.5), (19.6, -8.6, 42.5)),
    (0, 9, 0.0): ((-19.6, 20.4, 55.5), (-34.7, 31.0, 35.7), (10.0, -9.6, 36.0), (0.8, 0.8, 36.0)),
    (0, 0, 1.0): ((52.0, -28.1, 62.8),) * 4,
    (1, 0, 0.0): ((0.0, 10.8, 55.5), (-49.2, -5.1, 36.0), (-147.3, -68.1, 35.7), (49.2, -5.1, 36.0)),
    (1, 9, -0.5): ((0.0, 2.2, 53.7), (-6.9, 0.4, 44.0), (-22.9, 1.3, 43.8), (6.9, 0.4, 44.0)),
}


@pytest.mark.parametrize(("leg", "row", "bend"), KNOWN_REGIONS)
def test_phantomx_has_its_known_stride_regions_in_every_eighth_heading(leg, row, bend):
    row += nominal_row("phantomx")
    home = complex(*capabilities("phantomx").stances.rows[row].footholds[leg])
    centers, radii = (each[BENDS.index(bend), ::8] for each in capabilities("phantomx").strides.at_row(row, 1.0)[leg])
    found = [(at.real, at.imag, radius) for at, radius in zip((centers - home).tolist(), radii.tolist(), strict=True)]
    for region, known in zip(found, KNOWN_REGIONS[leg, row - nominal_row("phantomx"), bend], strict=True):
        assert region == pytest.approx([v / 1000.0 for v in known], abs=1e-4)


def test_at_a_height_between_two_rows_the_offsets_are_those_of_the_nearest_row():
    table, rows = capabilities("phantomx").strides, capabilities("phantomx").stances.rows
    low, high = rows[3].height, rows[4].height

    def change(before, after):
        """Greatest change [m] of the outlines between two heights, as shares of the step."""
        legs = zip(*(table.outlines(low + part * (high - low)) for part in (before, after)), strict=True)
        return max(math.dist(p, q) for first, second in legs for p, q in zip(first, second, strict=True))

    assert max(change(0.0, 1e-6), change(1.0 - 1e-6, 1.0), change(1.0, 1.0 + 1e-6)) < 1e-6
    slight = max(change(0.47, 0.49), change(0.51, 0.53), change(0.74, 0.76))
    assert change(0.49, 0.51) > slight + 1e-3


@pytest.mark.parametrize("twist", [Twist(0.1, 0.05, 0.0), Twist(-0.02, 0.1, 0.0), TURN])
def test_between_two_heights_of_the_table_offsets_and_radii_are_interpolated(twist):
    table, stances = capabilities("phantomx").strides, capabilities("phantomx").stances
    for low, high in ((3, 4), (10, 11)):
        first, second = stances.rows[low], stances.rows[high]
        between = stances.at(0.7 * first.height + 0.3 * second.height)
        regions = [table.regions(stance, twist, 1.0) for stance in (first, between, second)]
        for a, found, b in zip(*regions, strict=True):
            assert found.offset == pytest.approx(a.offset.towards(b.offset, 0.3), abs=1e-9)
            assert found.scale == pytest.approx(0.7 * a.scale + 0.3 * b.scale)
    assert {region.scale for region in regions[0]} != {region.scale for region in regions[2]}
