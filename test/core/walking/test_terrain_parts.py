"""Laws of the parts of terrain adaptation: the support plane, and feet that are out of reach."""

import math

import pytest
from support.drives import DT, robot

from hexapod_control.core.kinematics.body_pose import NEUTRAL, Placement
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.walking.foot import Foot
from hexapod_control.core.walking.terrain.foot_contact import FootContact
from hexapod_control.core.walking.terrain.ground_search import SEARCH_SPEED, search_ground
from hexapod_control.core.walking.terrain.height_reach import HeightReach
from hexapod_control.core.walking.terrain.terrain_adaptation import TerrainAdaptation
from hexapod_control.core.workspace.capabilities import Capabilities

MACHINE = robot("phantomx")


def reach() -> HeightReach:
    stance = Capabilities.of(MACHINE).stances.at(MACHINE.walk.height)
    joints = joints_at_offset(MACHINE, stance.footholds, 0.0)
    return HeightReach(MACHINE, Placement(NEUTRAL, MACHINE.walk.height), stance, joints)


def adapted(heights, contacts, ticks=50):
    """Feet that stand at heights [m] over the plane, after some ticks with these contacts."""
    height_reach = reach()
    feet = [Foot(x, y, z) for (x, y), z in zip(height_reach.stance.footholds, heights, strict=True)]
    terrain = TerrainAdaptation(len(feet), MACHINE.walk.height)
    terrain.contacts = contacts
    for _ in range(ticks):
        # Due to lift off: no foot searches the ground meanwhile.
        terrain.step(feet, [0.0] * len(feet), DT, height_reach)
    return feet


def test_the_plane_follows_the_feet_that_touch_whatever_the_others_do():
    heights = (0.01, 0.0, 0.01, 0.0, 0.01, 0.0)
    feet = adapted(heights, [z > 0.0 for z in heights])
    for foot, before in zip(feet, heights, strict=True):
        assert foot.z - before == pytest.approx(feet[0].z - heights[0], abs=1e-9)
    assert abs(feet[0].z) < 0.3 * heights[0]


@pytest.mark.parametrize("touching", [0, 1, 2])
def test_the_plane_follows_all_standing_feet_where_fewer_than_three_touch(touching):
    feet = adapted((0.01,) * 6, [leg < touching for leg in range(6)])
    assert all(abs(foot.z) < 0.3 * 0.01 for foot in feet)


class NothingInReach:
    def includes(self, leg, foot, height):
        return False


@pytest.mark.parametrize("height", [0.02, -0.02])
@pytest.mark.parametrize("touches", [True, False])
def test_a_planted_foot_out_of_reach_goes_back_to_the_plane_at_a_bounded_speed_and_not_beyond(height, touches):
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
def test_a_planted_foot_near_the_end_of_its_reach_goes_back_to_the_plane_and_one_well_inside_stays(height):
    for limit, moves in ((0.025, True), (0.035, False)):
        foot, contact = Foot(0.1, 0.2, height), FootContact()
        for _ in range(10):
            search_ground(
                0, foot, contact, DT, ReachUpTo(limit), touches=True, leaving=False, roughness=0.0, depth=0.05
            )
        assert (abs(foot.z) < abs(height)) == moves
