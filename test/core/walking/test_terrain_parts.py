# SPDX-License-Identifier: Apache-2.0
"""Parts of terrain adaptation: the support plane, and feet that are out of reach."""

import math
import random
from dataclasses import replace
from itertools import pairwise

import pytest
from support.drives import DT, neutral_strides, robot

from hexapod_control.core.gait.swing_trajectory import SMOOTH, SwingTiming
from hexapod_control.core.kinematics.body_pose import NEUTRAL, Placement
from hexapod_control.core.kinematics.se2 import ZERO, Pose, exp
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.statics.leg_compliance import steepness
from hexapod_control.core.walking.body.body_levelling import BodyLevelling
from hexapod_control.core.walking.feet.foot_motion import BodyTick, advance_drop, advance_swing
from hexapod_control.core.walking.foot import STANCE, Dropping, Foot, Swing
from hexapod_control.core.walking.terrain import (
    Expectation,
    FootContact,
    HeightReach,
    LiftOffDelay,
    TerrainAdaptation,
    early_touch_down,
    keep_in_reach,
    raise_over_edge,
    search_ground,
    stop_at_contact,
)
from hexapod_control.core.workspace.capabilities import Capabilities

MAX_LEVELLING_RATE = 0.35  # [rad/s]
CLIMB_SPEED, CLIMB_HEIGHT = 0.2, 0.03  # [m/s, m]
CLIMB_ACCELERATION, CLIMB_DECELERATION, CONTACT_DECELERATION = 6.0, 3.0, 10.0  # [m/s^2]
SHORTEST_STOP_S, FADE_S, RETREAT_S = 0.02, 0.3, 1.0
REACH_MARGIN, TERRAIN_TOLERANCE = 0.001, 0.003  # [m]
RISE_BRAKING, SEARCH_SPEED = 3.0, 0.15  # [m/s^2, m/s]
STEEP = SwingTiming(travel_start=0.1, travel_end=0.75, top=0.45, descent_end=0.95)

MACHINE = robot("phantomx")


def reach() -> HeightReach:
    stance = Capabilities.of(MACHINE).stances.at(MACHINE.walk.height)
    joints = joints_at_offset(MACHINE, stance.footholds, 0.0)
    return HeightReach(MACHINE, Placement(NEUTRAL, MACHINE.walk.height), neutral_strides(stance), joints)


def adapted_feet(heights, contacts, ticks=50):
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
    feet = adapted_feet(heights, [z > 0.0 for z in heights])
    for foot, before in zip(feet, heights, strict=True):
        assert foot.z - before == pytest.approx(feet[0].z - heights[0], abs=1e-9)
    assert abs(feet[0].z) < 0.3 * heights[0]  # most of it, in about three time constants


@pytest.mark.parametrize("touching", [0, 1, 2])
def test_the_plane_follows_all_planted_feet_if_fewer_than_three_touch(touching):
    feet = adapted_feet((0.01,) * 6, [leg < touching for leg in range(6)])
    assert all(abs(foot.z) < 0.3 * 0.01 for foot in feet)  # most of it, in about three time constants


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


class ReachBehind:
    """The reach of a coxa at its limit: at all heights up to a place x [m]."""

    def __init__(self, limit):
        self.limit = limit

    def includes(self, leg, foot, height):
        return foot.x <= self.limit


@pytest.mark.parametrize("height", [0.02, -0.02])
def test_a_planted_foot_near_the_end_of_its_reach_returns_to_the_plane_and_one_well_inside_stays(height):
    for limit, moves in ((0.025, True), (0.035, False)):
        foot, contact = Foot(0.1, 0.2, height), FootContact()
        for _ in range(10):
            search_ground(
                0, foot, contact, DT, ReachUpTo(limit), touches=True, leaving=False, roughness=0.0, depth=0.05
            )
        assert (abs(foot.z) < abs(height)) == moves


def time_to_search(*, carried, until=1.0, others=2, count=6):
    """Time [s] after which a foot without contact searches the ground downwards; infinite if it never does.

    `others` of the other feet touch the ground, of `count` feet.
    """
    height_reach = reach()
    feet = [Foot(x, y) for x, y in height_reach.strides.neutral.footholds[:count]]
    terrain = TerrainAdaptation(len(feet), MACHINE.walk.height)
    if not carried:
        feet[0].state = Swing(0.99, 1.0, 0.03)
    terrain.contacts = [carried] + [True] * (count - 1)
    terrain.step(feet, [until] * count, DT, height_reach)
    feet[0].state, terrain.contacts = STANCE, [False] + [True] * others + [False] * (count - 1 - others)
    for tick in range(25):
        terrain.step(feet, [until] * count, DT, height_reach)
        if feet[0].z < 0.0:
            return tick * DT
    return math.inf


def test_a_loaded_foot_searches_later_than_one_that_has_just_landed_and_one_about_to_lift_off_or_at_rest_never():
    assert time_to_search(carried=False) <= 0.05
    assert 0.09 <= time_to_search(carried=True) <= 0.15
    assert time_to_search(carried=True, until=0.25) < math.inf  # swing times
    assert time_to_search(carried=True, until=0.15) == math.inf
    assert time_to_search(carried=True, until=math.inf) == math.inf  # the clock stands
    assert time_to_search(carried=False, until=math.inf) <= 0.05


def test_a_foot_that_loses_its_load_to_three_others_does_not_push_them_off():
    assert time_to_search(carried=True, others=3) == time_to_search(carried=True, others=5) == math.inf
    assert time_to_search(carried=False, others=5) <= 0.05


def test_a_foot_of_four_that_is_unloaded_now_and_then_does_not_push_the_robot_over():
    assert time_to_search(carried=True, others=2, count=4) == math.inf
    assert time_to_search(carried=False, others=2, count=4) <= 0.05


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
    foot, terrain = Foot(0.1, 0.2, 0.01, replace(swing), (0.0, 0.0, -speed)), TerrainAdaptation(2, MACHINE.walk.height)
    terrain.begin_search(1, foot)
    assert foot.planted is planted
    assert [contact.sinking for contact in terrain.feet] == [0.0, speed if planted else 0.0]


@pytest.mark.parametrize("height", [-0.02, 0.0, 0.005])
def test_a_foot_that_misses_the_place_it_has_seen_searches_the_ground_near_it_and_not_into_a_gap(height):
    terrain, height_reach = TerrainAdaptation(6, 0.12), reach()
    feet = [Foot(x, y) for x, y in height_reach.strides.neutral.footholds]
    feet[0].z = height + 0.001
    feet[0].state = Swing(0.96, 1.0, 0.03, timing=STEEP, end=height)
    terrain.contacts = [False] + [True] * 5
    terrain.step(feet, [math.inf] * 6, DT, height_reach)
    terrain.begin_search(0, feet[0])
    assert feet[0].planted
    for _ in range(60):
        terrain.step(feet, [math.inf] * 6, DT, height_reach)
    assert min(height, 0.0) - 0.035 < feet[0].z < min(height, 0.0) - 0.02


@pytest.mark.parametrize("velocity", [(0.1, -0.2, -0.3), (0.0, 0.0, -0.2), (0.01, 0.0, -0.02)])
def test_a_foot_that_meets_the_ground_early_is_stopped_there_within_its_deceleration(velocity):
    foot = Foot(0.1, 0.2, 0.015, Swing(0.8, 1.0, 0.03), velocity)
    stop_at_contact(foot)
    drop = foot.state
    assert drop.touched and drop.end == foot.z and drop.height == 0.0 and not foot.planted
    assert (drop.vx, drop.vy, drop.vz) == velocity
    # It begins to slow down by four times its speed over the duration.
    assert drop.duration == pytest.approx(max(SHORTEST_STOP_S, 4.0 * math.hypot(*velocity) / CONTACT_DECELERATION))
    before, dt = foot.z, 1e-4 * drop.duration
    advance_drop(foot, drop, (foot.x, foot.y), dt, Pose(0.0, 0.0, 0.0))
    assert foot.z == pytest.approx(
        before + velocity[2] * dt, abs=0.001 * abs(velocity[2]) * dt + CONTACT_DECELERATION * dt * dt
    )


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


def test_a_foot_that_was_held_below_its_path_catches_up_once_its_reach_allows():
    """Of a path far above the foot the whole way is wanted in one tick; that speed says nothing about reach."""
    path = 0.06
    foot, contact, heights = Foot(0.1, 0.2, 0.02, Swing(0.5, 1.0, path)), FootContact(), []
    for limit in [0.03] * 10 + [0.2] * 20:
        foot.velocity = (0.0, 0.0, (path - foot.z) / DT)
        foot.z = path
        keep_in_reach(0, foot, contact, DT, ReachUpTo(limit))
        heights.append(foot.z)
        assert foot.z <= limit
    assert max(heights[:10]) < 0.03 < heights[10] + 0.01
    assert heights[-1] == pytest.approx(path)
    rises = [after - before for before, after in pairwise(heights)]
    assert max(after - before for before, after in pairwise(rises)) <= CONTACT_DECELERATION * DT * DT + 1e-9


@pytest.mark.parametrize("state", [Dropping(0.2, 0.05, 0.0, 0.0, 0.0, end=0.08), Swing(0.5, 1.0, 0.1)])
def test_a_foot_above_its_reach_comes_down_into_it_and_so_does_the_end_of_a_drop(state):
    foot = Foot(0.1, 0.2, 0.1, state)
    keep_in_reach(0, foot, FootContact(), DT, ReachUpTo(0.03))
    assert foot.z == pytest.approx(0.03 - REACH_MARGIN, abs=0.1 / 2**8) and foot.z <= 0.03 - REACH_MARGIN
    if isinstance(state, Dropping):
        assert state.end == foot.z


@pytest.mark.parametrize("state", [Dropping(0.2, 0.05, 0.0, 0.0, 0.0, end=0.04), Swing(0.5, 1.0, 0.05)])
def test_a_foot_in_the_air_travels_no_farther_than_its_reach_and_keeps_its_height(state):
    foot, contact, speed = Foot(0.1, 0.2, 0.05, state), FootContact(), 0.4
    for limit in [0.12] * 10 + [0.13, 0.14, 0.15]:
        foot.x, foot.velocity = foot.x + speed * DT, (speed, 0.0, 0.0)
        keep_in_reach(0, foot, contact, DT, ReachBehind(limit))
        assert foot.x <= limit and foot.z == 0.05
    assert foot.x > limit - 0.001 - speed * DT and foot.y == 0.2


def test_in_a_retreat_planted_feet_return_to_the_plane():
    feet = [Foot(0.1, 0.2, 0.02), Foot(0.1, -0.2, -0.01), Foot(0.3, 0.2, 0.05, Swing(0.5, 1.0, 0.05))]
    TerrainAdaptation(3, MACHINE.walk.height).retreat(feet, 0.25 * RETREAT_S)
    assert [foot.z for foot in feet] == pytest.approx([0.015, -0.0075, 0.05])
    TerrainAdaptation(3, MACHINE.walk.height).retreat(feet, 2.0 * RETREAT_S)
    assert [foot.z for foot in feet] == [0.0, 0.0, 0.05]


@pytest.mark.parametrize("beyond", [0.00004, 0.02])
def test_a_foot_that_drops_out_of_reach_is_in_reach_after_a_retreat_so_that_the_walk_goes_on(beyond):
    """The height of a drop follows from its end: if that stayed, each tick would be out of reach again."""
    end = -0.05
    foot = Foot(0.1, 0.2, end + 0.002, Dropping(0.1, 0.002, -0.1, 0.0, 0.0, end=end))
    terrain = TerrainAdaptation(1, MACHINE.walk.height)
    ticks = 0
    while True:
        tried = foot.copy()
        advance_drop(tried, tried.state, (tried.x, tried.y), 0.1, Pose(0.0, 0.0, 0.0))
        if tried.z > end + beyond:
            break
        terrain.retreat([foot], DT)
        ticks += 1
    assert ticks <= round(2.0 * beyond / -end * RETREAT_S / DT) + 1


def test_in_a_retreat_the_tilt_decreases_linearly_to_zero():
    levelling = BodyLevelling()
    levelling.tilt = (0.06, -0.08)
    levelling.retreat(0.5 * 0.1 / MAX_LEVELLING_RATE)
    assert levelling.tilt == pytest.approx((0.03, -0.04))
    levelling.retreat(0.1 / MAX_LEVELLING_RATE)
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


@pytest.mark.parametrize(
    ("foot", "met"),
    [
        (Foot(0.1, 0.2, 0.01, Swing(0.7, 1.0, 0.03), (0.1, 0.0, -0.1)), True),
        (Foot(0.1, 0.2, 0.01, Swing(0.7, 1.0, 0.03), (0.1, 0.0, 0.1)), False),  # it still rises
        (Foot(0.1, 0.2, 0.01, Swing(0.4, 1.0, 0.03), (0.1, 0.0, -0.1)), False),
        (Foot(0.1, 0.2, 0.9 * TERRAIN_TOLERANCE, Swing(0.9, 1.0, 0.03), (0.0, 0.0, -0.1)), False),  # as expected
        (Foot(0.1, 0.2, 0.05, Swing(0.7, 1.0, 0.06), (0.1, 0.0, -0.1)), False),  # too high for the terrain
        (Foot(0.1, 0.2, 0.01, Dropping(0.2, 0.03, 0.0, 0.0, 0.0)), True),
        (Foot(0.1, 0.2, 0.01, Dropping(0.2, 0.03, 0.0, 0.0, 0.0, touched=True)), False),
        (Foot(0.1, 0.2, 0.01, Dropping(0.2, 0.03, 0.0, 0.0, 0.0, end=0.01)), False),
        (Foot(0.1, 0.2, 0.01), False),
    ],
)
def test_a_foot_on_its_way_down_meets_the_ground_where_it_touches_above_its_end(foot, met):
    assert early_touch_down(foot, True, 0.04) == met and not early_touch_down(foot, False, 0.04)


def climb(touches, seconds, rise=0.0, lift=0.03, contact=None):
    """Lift [m], climbing speed [m/s] and travel rate of a swing in its first half, which has left the ground."""
    foot, contact = Foot(0.1, 0.2, 0.01, Swing(0.2, 1.0, lift), (0.0, 0.0, rise)), contact or FootContact()
    raise_over_edge(foot, contact, False, 0.03, DT)
    for _ in range(round(seconds / DT)):
        raise_over_edge(foot, contact, touches, 0.03, DT)
    return foot.state.lift, contact.climbing, foot.state.travel_rate


def test_a_foot_that_touches_an_edge_stops_travelling_and_climbs_until_it_is_over_it():
    lift, speed, travel_rate = climb(True, DT)
    assert (speed, travel_rate) == pytest.approx((CLIMB_ACCELERATION * DT, 1.0 - CLIMB_ACCELERATION * DT / CLIMB_SPEED))
    assert lift == pytest.approx(0.03 + CLIMB_ACCELERATION * DT * DT)
    assert climb(True, 0.1)[1:] == (CLIMB_SPEED, 0.0)
    faster, _, _ = climb(True, 0.1, rise=0.15)  # the swing itself rises
    assert climb(True, 0.1)[0] > faster > 0.03 and climb(True, 0.1, rise=0.5)[0] == 0.03
    highest = climb(True, 2.0)
    assert 0.03 + CLIMB_HEIGHT <= highest[0] <= 0.03 + CLIMB_HEIGHT + CLIMB_SPEED**2 / (2.0 * CLIMB_DECELERATION) + 0.01
    assert highest[1:] == (0.0, 1.0)
    contact = FootContact()
    climb(True, 0.1, contact=contact)
    assert climb(False, 2 * DT, contact=contact)[1] == pytest.approx(CLIMB_SPEED - 3 * CLIMB_DECELERATION * DT)
    assert climb(False, 0.5) == (0.03, 0.0, 1.0)


def test_a_foot_that_has_not_left_the_ground_or_comes_down_climbs_nothing():
    for foot in (Foot(0.1, 0.2, 0.0, Swing(0.1, 1.0, 0.03), (0.0, 0.0, 0.1)),):
        contact = FootContact()
        raise_over_edge(foot, contact, True, 0.03, DT)
        assert contact.climbing == 0.0 and foot.state.lift == 0.03
    down, contact = Foot(0.1, 0.2, 0.02, Swing(0.8, 1.0, 0.03), (0.0, 0.0, -0.1)), FootContact()
    raise_over_edge(down, contact, False, 0.03, DT)
    raise_over_edge(down, contact, True, 0.03, DT)
    assert contact.climbing == 0.0 and contact.left_ground
    raise_over_edge(Foot(0.1, 0.2), contact, False, 0.03, DT)
    assert not contact.left_ground


FRONT_TRIPOD = (0, 2, 4)


def standing(**states):
    """Six feet; some of them in another state, by the name leg0 to leg5."""
    feet = [Foot(0.1 * leg, 0.2) for leg in range(6)]
    for name, state in states.items():
        feet[int(name[-1])].state = state
    return feet


def test_lift_offs_wait_for_three_other_feet_that_touch_but_not_for_ever():
    delay, touching, lacking = LiftOffDelay(), [True] * 6, [True] * 5 + [False]
    assert not delay.update(standing(), lacking, (), DT, 0.1) and not delay.waiting
    assert not delay.update(standing(), touching, FRONT_TRIPOD, DT, 0.1)
    assert not delay.update(standing(), None, FRONT_TRIPOD, DT, 0.1)
    waits = [delay.update(standing(), lacking, FRONT_TRIPOD, DT, 0.1) for _ in range(7)]
    assert waits == [True] * 5 + [False, True] and delay.waiting
    assert delay.waited == pytest.approx(DT)
    delay.clear()
    assert (delay.waiting, delay.waited) == (False, 0.0)
    assert not delay.update(standing(), lacking, (0,), DT, 0.1)  # four others touch


@pytest.mark.parametrize(("progress", "carries"), [(0.3, False), (0.7, True)])
def test_a_foot_that_touches_late_in_its_swing_carries_and_one_that_has_just_lifted_off_does_not(progress, carries):
    feet = standing(leg5=Swing(progress, 1.0, 0.03))
    assert LiftOffDelay().update(feet, [True] * 6, FRONT_TRIPOD, DT, 0.1) != carries


def test_while_a_foot_drops_lift_offs_wait_for_three_others_that_stand_without_a_limit():
    delay, feet = LiftOffDelay(), standing(leg5=Dropping(0.2, 0.03, 0.0, 0.0, 0.0))
    assert all(
        delay.update(feet, contacts, FRONT_TRIPOD, DT, 0.1) for contacts in ([True] * 6, None) for _ in range(20)
    )
    assert delay.waiting and not delay.update(feet, None, (0, 2), DT, 0.1)


def test_a_foot_expects_the_height_of_its_last_step_only_while_steps_are_alike():
    ramp, blocks, rng = Expectation(), Expectation(), random.Random(1)
    assert ramp.after(0.05) == 0.0
    last = 0.0
    for _ in range(60):
        ramp.learn(0.04, 0.036)
        now = rng.uniform(-0.03, 0.03)
        blocks.learn(last, now)
        last = now
    # Of what exceeds 10 mm, at most all.
    assert ramp.after(0.04) == pytest.approx(0.03) and ramp.after(-0.04) == pytest.approx(-0.03)
    assert ramp.after(0.009) == 0.0
    assert abs(blocks.after(0.03)) < 0.01


@pytest.mark.parametrize("felt", [0.03, -0.03])
def test_a_swing_ends_at_the_height_that_is_expected_without_a_jump_and_a_contact_there_is_no_early_one(felt):
    foot = Foot(0.1, 0.2, 0.01, Swing(0.0, 1.0, 0.03, 0.01, STEEP, felt=felt))
    disc, heights = neutral_strides(Capabilities.of(MACHINE).stances.at(MACHINE.walk.height)), [foot.z]
    foot.x, foot.y = disc.neutral.footholds[0]
    tick = BodyTick(DT, ZERO, 0.6, exp(ZERO, -DT))
    while isinstance(foot.state, Swing):
        advance_swing(foot, foot.state, (foot.x, foot.y), foot.state.progress + DT / 0.6, tick, disc, 0)
        heights.append(foot.z)
    assert heights[-1] == pytest.approx(felt) and max(heights) > max(0.01, felt) + 0.01
    assert max(abs(b - a) for a, b in pairwise(heights)) < 0.6 * DT
    late = Swing(0.9, 1.0, 0.03, 0.01, STEEP, felt=felt)
    above = [Foot(0.1, 0.2, felt + up, late, (0.0, 0.0, -0.1)) for up in (0.002, 0.006)]
    assert [early_touch_down(each, True, 0.05) for each in above] == [False, True]


class Asked:
    """Legs that reach every height; records the requested heights [m]."""

    def __init__(self):
        self.heights = []

    def includes(self, leg, foot, height):
        self.heights.append(height)
        return True


def heights_without_contact(contact, ticks, roughness=0.0, dt=0.008, reaches=None, **slope):
    """Heights [m] of a planted foot without contact."""
    foot, found, legs = Foot(0.1, 0.2, 0.0), [], reaches or Asked()
    for _ in range(ticks):
        search_ground(
            0, foot, contact, dt, legs, touches=False, leaving=False, roughness=roughness, depth=0.04, **slope
        )
        found.append(foot.z)
    return found


def speeds_of(heights):
    return [(a - b) / 0.008 for a, b in pairwise(heights)]


@pytest.mark.parametrize(("touched", "roughness", "delay"), [(False, 0.0, 0.03), (True, 0.0, 0.1), (True, 0.5, 0.05)])
def test_a_foot_without_contact_searches_after_its_delay_with_bounded_acceleration(touched, roughness, delay):
    heights = heights_without_contact(FootContact(touched=touched), 30, roughness)
    waits = math.floor(delay / 0.008)
    assert heights[waits - 1] == 0.0 > heights[waits]
    assert speeds_of(heights[waits - 1 : waits + 6]) == pytest.approx([0.048, 0.096, 0.144, 0.15, 0.15, 0.15])
    assert heights_without_contact(FootContact(touched=False), 1, 1.0)[0] < 0.0


@pytest.mark.parametrize("gentle", [0.0, 0.5, 1.0])
def test_on_a_slope_a_foot_searches_gently_until_it_has_missed_the_ground_by_ten_millimetres(gentle):
    heights = heights_without_contact(FootContact(touched=False), 60, gentle=gentle)
    speeds = speeds_of(heights)
    near = [speed for speed, height in zip(speeds, heights, strict=False) if height > -0.01]
    assert max(near) == pytest.approx(0.15 - 0.07 * gentle) and max(speeds) == pytest.approx(0.15)


def test_ground_is_steep_from_what_blocks_do_not_tilt_the_robot_by():
    assert [steepness((math.radians(a), math.radians(b))) for a, b in ((5, 6), (0, -14), (30, 0))] == [0.0, 1.0, 1.0]
    assert steepness((0.0, math.radians(11.0))) == pytest.approx(0.5)


def test_a_foot_searches_only_where_it_could_stop_eight_millimetres_before_the_end_of_its_reach():
    legs = Asked()
    heights = heights_without_contact(FootContact(sinking=0.15), 2, dt=DT, reaches=legs)
    assert heights == pytest.approx([-0.003, -0.006])
    ahead = 0.008 + 0.15 * (DT + 0.15 / 20.0)
    assert legs.heights == pytest.approx([-ahead, -0.003 - 0.008, -0.003 - ahead])


def roughness_after(*heights):
    """Roughness after touch-downs at these heights [m] over the plane."""
    feet, terrain = [Foot(0.1 * leg, 0.2) for leg in range(4)], TerrainAdaptation(4, MACHINE.walk.height)
    terrain.contacts = [True] * 4
    for height in heights:
        feet[0].z, terrain.feet[0].touched = height, False
        for foot in feet[1:]:
            foot.z = 0.0
        terrain.step(feet, [0.0] * 4, 1e-9, Asked())
    return terrain


def test_touch_downs_off_the_plane_make_the_ground_rough_and_those_on_it_smooth_step_by_step():
    assert roughness_after(0.003).roughness == roughness_after(-0.002).roughness == 0.0
    assert roughness_after(0.0065).roughness == roughness_after(-0.0065).roughness == pytest.approx(0.5)
    assert roughness_after(0.01).roughness == pytest.approx(1.0) and roughness_after(0.03).roughness == 1.0
    rough = roughness_after(0.0065, 0.0, 0.0)
    assert rough.roughness == pytest.approx(0.3)
    assert rough.stretch == pytest.approx(1.1)  # a third more time at most
    assert rough.timing == SMOOTH.towards(STEEP, rough.roughness)
    assert roughness_after(0.0065, 0.0, 0.01).roughness == pytest.approx(1.0)


@pytest.mark.parametrize("state", [Dropping(0.2, 0.02, 0.0, 0.0, 0.0, end=0.08), Swing(0.5, 1.0, 0.1)])
def test_over_uneven_ground_feet_in_the_air_are_kept_in_reach(state):
    feet, terrain = [Foot(0.1 * leg, 0.2) for leg in range(4)], TerrainAdaptation(4, MACHINE.walk.height)
    feet[1].z, feet[1].state, terrain.contacts = 0.1, replace(state), [True, False, True, True]
    terrain.step(feet, [math.inf] * 4, DT, ReachUpTo(0.03))
    assert 0.028 < feet[1].z <= 0.03 - REACH_MARGIN and [foot.z for foot in feet[::2]] == [0.0, 0.0]
