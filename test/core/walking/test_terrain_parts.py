"""Parts of terrain adaptation: the support plane, and feet that are out of reach."""

import math
from itertools import pairwise

import pytest
from support.drives import DT, robot

from hexapod_control.core.gait.swing_trajectory import SMOOTH
from hexapod_control.core.kinematics.body_pose import NEUTRAL, Placement
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.walking.body.body_levelling import RATE, BodyLevelling
from hexapod_control.core.walking.foot import STANCE, Dropping, Foot, Swing
from hexapod_control.core.walking.terrain.foot_contact import REACH_MARGIN, FootContact
from hexapod_control.core.walking.terrain.ground_search import (
    RISE_BRAKING,
    SEARCH_SPEED,
    keep_in_reach,
    search_ground,
    start_search,
)
from hexapod_control.core.walking.terrain.height_reach import HeightReach
from hexapod_control.core.walking.terrain.terrain_adaptation import FADE_S, RETREAT_S, STEEP, TerrainAdaptation
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.strides.stride_regions import Strides

MACHINE = robot("phantomx")


def reach() -> HeightReach:
    stance = Capabilities.of(MACHINE).stances.at(MACHINE.walk.height)
    joints = joints_at_offset(MACHINE, stance.footholds, 0.0)
    return HeightReach(MACHINE, Placement(NEUTRAL, MACHINE.walk.height), Strides.about_neutral(stance), joints)


def adapted(heights, contacts, ticks=50):
    """Feet that stand at heights [m] over the plane, after some ticks with these contacts."""
    height_reach = reach()
    feet = [Foot(x, y, z) for (x, y), z in zip(height_reach.strides.neutral.footholds, heights, strict=True)]
    terrain = TerrainAdaptation(len(feet), MACHINE.walk.height)
    terrain.contacts = contacts
    for _ in range(ticks):
        # Due to lift off: no foot searches the ground meanwhile.
        terrain.step(feet, [0.0] * len(feet), DT, height_reach)
    return feet


def test_the_plane_follows_only_the_feet_that_touch():
    heights = (0.01, 0.0, 0.01, 0.0, 0.01, 0.0)
    feet = adapted(heights, [z > 0.0 for z in heights])
    for foot, before in zip(feet, heights, strict=True):
        assert foot.z - before == pytest.approx(feet[0].z - heights[0], abs=1e-9)
    assert abs(feet[0].z) < 0.3 * heights[0]


@pytest.mark.parametrize("touching", [0, 1, 2])
def test_the_plane_follows_all_planted_feet_if_fewer_than_three_touch(touching):
    feet = adapted((0.01,) * 6, [leg < touching for leg in range(6)])
    assert all(abs(foot.z) < 0.3 * 0.01 for foot in feet)


class NothingInReach:
    def includes(self, leg, foot, height):
        return False


@pytest.mark.parametrize("height", [0.02, -0.02])
@pytest.mark.parametrize("touches", [True, False])
def test_a_planted_foot_out_of_reach_returns_to_the_plane_at_a_bounded_speed_without_overshoot(height, touches):
    foot, contact = Foot(0.1, 0.2, height), FootContact()
    for _ in range(60):
        before = foot.z
        search_ground(0, foot, contact, DT, NothingInReach(), touches=touches, leaving=False, roughness=0.0, depth=0.04)
        assert abs(foot.z - before) <= SEARCH_SPEED * DT + 1e-12
        assert foot.z == 0.0 or math.copysign(1.0, foot.z) == math.copysign(1.0, height) or abs(foot.z) < 1e-4
    assert foot.z == pytest.approx(0.0, abs=1e-4)


class ReachUpTo:
    """Heights [m] up to a limit on both sides of the plane are in reach."""

    def __init__(self, limit):
        self.limit = limit

    def includes(self, leg, foot, height):
        return abs(height) <= self.limit


@pytest.mark.parametrize("height", [0.02, -0.02])
def test_a_planted_foot_near_the_end_of_its_reach_returns_to_the_plane_and_one_well_inside_stays(height):
    for limit, moves in ((0.025, True), (0.035, False)):
        foot, contact = Foot(0.1, 0.2, height), FootContact()
        for _ in range(10):
            search_ground(
                0, foot, contact, DT, ReachUpTo(limit), touches=True, leaving=False, roughness=0.0, depth=0.05
            )
        assert (abs(foot.z) < abs(height)) == moves


def time_to_search(*, carried, until=math.inf):
    """Time [s] after which a foot without contact sinks, if it ever does."""
    height_reach = reach()
    feet = [Foot(x, y) for x, y in height_reach.strides.neutral.footholds]
    terrain = TerrainAdaptation(len(feet), MACHINE.walk.height)
    if not carried:
        feet[0].state = Swing(0.99, 1.0, 0.03)
    terrain.contacts = [carried] + [True] * 5
    terrain.step(feet, [until] * 6, DT, height_reach)
    feet[0].state, terrain.contacts = STANCE, [False] + [True] * 5
    for tick in range(25):
        terrain.step(feet, [until] * 6, DT, height_reach)
        if feet[0].z < 0.0:
            return tick * DT
    return math.inf


def test_a_loaded_foot_searches_later_than_one_that_has_just_landed_and_one_about_to_lift_off_never():
    assert time_to_search(carried=False) <= 0.05
    assert 0.09 <= time_to_search(carried=True) <= 0.15
    assert time_to_search(carried=True, until=0.25) < math.inf  # swing times
    assert time_to_search(carried=True, until=0.15) == math.inf


class ReachDownTo:
    def __init__(self, limit):
        self.limit = limit

    def includes(self, leg, foot, height):
        return height >= self.limit


def test_a_foot_that_searches_the_ground_stops_just_before_the_end_of_its_reach():
    limit, foot, contact, places = -0.02, Foot(0.1, 0.2, 0.0), FootContact(), [0.0]
    for _ in range(100):
        search_ground(0, foot, contact, DT, ReachDownTo(limit), touches=False, leaving=False, roughness=0.0, depth=0.04)
        places.append(foot.z)
    assert min(places) >= limit
    assert places[-1] == places[-2] < limit + 0.015


@pytest.mark.parametrize(
    ("swing", "speed", "planted"),
    [
        (Swing(0.8, 1.0, 0.03, timing=STEEP), 0.1, True),
        (Swing(0.7, 1.0, 0.03, timing=STEEP), 0.1, False),  # not over its aim
        (Swing(0.8, 1.0, 0.03, timing=STEEP, lag=0.1), 0.1, False),
        (Swing(0.8, 1.0, 0.03, timing=STEEP), 0.2, False),  # too fast
        (Swing(0.99, 1.0, 0.03, timing=SMOOTH), 0.1, False),  # on flat ground
    ],
)
def test_a_swing_over_rough_ground_becomes_a_search_once_it_is_over_its_aim_and_slow(swing, speed, planted):
    foot, contact = Foot(0.1, 0.2, 0.01, swing, (0.0, 0.0, -speed)), FootContact()
    start_search(foot, contact)
    assert foot.planted is planted
    assert contact.sinking == (speed if planted else 0.0)


@pytest.mark.parametrize("speed", [0.1, 0.3])
def test_a_foot_that_rises_to_the_end_of_its_reach_is_braked_before_it(speed):
    limit, end = 0.06, 0.06 - REACH_MARGIN
    foot, contact = Foot(0.1, 0.2, 0.0, Swing(0.2, 1.0, 0.1)), FootContact()
    heights, speeds = [0.0], [0.0]
    for _ in range(60):
        foot.z, foot.velocity = foot.z + speed * DT, (0.05, 0.0, speed)
        keep_in_reach(0, foot, contact, DT, ReachUpTo(limit))
        heights.append(foot.z)
        speeds.append(foot.velocity[2])
        assert foot.velocity[:2] == (0.05, 0.0)
        assert foot.z <= end + 1e-9
    assert max(speeds) == pytest.approx(speed)
    changes = [after - before for before, after in pairwise(speeds)]
    assert min(changes) >= -RISE_BRAKING * DT - 1e-9
    assert heights[-1] > end - 0.01
    for before, after, v in zip(heights, heights[1:], speeds[1:], strict=False):
        assert after - before == pytest.approx(v * DT, abs=1e-9) or after == pytest.approx(end, abs=1e-3)


def test_a_foot_in_the_air_starts_to_rise_with_bounded_acceleration_and_sinks_freely():
    foot, contact, speeds = Foot(0.1, 0.2, 0.0, Swing(0.2, 1.0, 0.1)), FootContact(), []
    for wanted in (0.5, 0.5, 0.5, 0.5, -0.4):
        foot.z, foot.velocity = foot.z + wanted * DT, (0.0, 0.0, wanted)
        keep_in_reach(0, foot, contact, DT, ReachUpTo(1.0))
        speeds.append(foot.velocity[2])
    assert speeds == pytest.approx([0.2, 0.4, 0.5, 0.5, -0.4])


@pytest.mark.parametrize("state", [Dropping(0.2, 0.05, 0.0, 0.0, 0.0, end=0.08), Swing(0.5, 1.0, 0.1)])
def test_a_foot_above_its_reach_comes_down_into_it_and_so_does_the_end_of_a_drop(state):
    foot = Foot(0.1, 0.2, 0.1, state)
    keep_in_reach(0, foot, FootContact(), DT, ReachUpTo(0.03))
    assert foot.z == pytest.approx(0.03 - REACH_MARGIN, abs=0.1 / 2**8) and foot.z <= 0.03 - REACH_MARGIN
    if isinstance(state, Dropping):
        assert state.end == foot.z


def test_in_a_retreat_planted_feet_return_to_the_plane():
    feet = [Foot(0.1, 0.2, 0.02), Foot(0.1, -0.2, -0.01), Foot(0.3, 0.2, 0.05, Swing(0.5, 1.0, 0.05))]
    TerrainAdaptation(3, MACHINE.walk.height).retreat(feet, 0.25 * RETREAT_S)
    assert [foot.z for foot in feet] == pytest.approx([0.015, -0.0075, 0.05])
    TerrainAdaptation(3, MACHINE.walk.height).retreat(feet, 2.0 * RETREAT_S)
    assert [foot.z for foot in feet] == [0.0, 0.0, 0.05]


def test_in_a_retreat_the_tilt_decreases_linearly_to_zero():
    levelling = BodyLevelling()
    levelling.tilt = (0.06, -0.08)
    levelling.retreat(0.5 * 0.1 / RATE)
    assert levelling.tilt == pytest.approx((0.03, -0.04))
    levelling.retreat(0.1 / RATE)
    assert levelling.tilt == (0.0, 0.0) and levelling.faded
    levelling.retreat(DT)
    assert levelling.faded


def test_without_contacts_all_heights_fade_in_proportion_to_zero():
    feet = [
        Foot(0.1, 0.2, 0.02),
        Foot(0.1, -0.2, 0.05, Swing(0.5, 1.0, 0.05, base=0.01)),
        Foot(-0.1, 0.2, 0.05, Dropping(0.2, 0.02, 0.0, 0.0, 0.0, end=0.03)),
    ]
    terrain, height_reach = TerrainAdaptation(3, MACHINE.walk.height), reach()
    terrain.contacts = [True] * 3
    terrain.step(feet, [0.0] * 3, 1e-9, height_reach)
    before = feet[0].z
    terrain.contacts = None
    shares = []
    while not terrain.even:
        terrain.step(feet, [0.0] * 3, DT, height_reach)
        shares.append(feet[0].z / before)
        assert feet[1].state.base == pytest.approx(0.01 * shares[-1])
        assert feet[2].state.end == pytest.approx(0.03 * shares[-1])
        assert feet[2].z - feet[2].state.end == pytest.approx(0.02)
    assert len(shares) * DT == pytest.approx(FADE_S, abs=1.5 * DT)
    assert shares[-1] == 0.0 and shares == sorted(shares, reverse=True) and 0.0 < shares[6] < shares[5] < 1.0
