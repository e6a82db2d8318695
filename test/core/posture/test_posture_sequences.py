# SPDX-License-Identifier: Apache-2.0
"""Whether a robot on its feet can walk on from there, and where its feet are then."""

import pytest
from support.drives import robot

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose, Placement
from hexapod_control.core.kinematics.whole_body import joints_at_contact
from hexapod_control.core.posture.posture_sequences import PostureSequences
from hexapod_control.core.workspace.capabilities import Capabilities

MACHINE = robot("phantomx")
CAPABILITIES = Capabilities.of(MACHINE)
SEQUENCES = PostureSequences.of(CAPABILITIES)
GAIT = CAPABILITIES.gaits["tripod"]


def standing(lifts, height=0.0, feet=None):
    """Joints of a robot with feet above their footholds [m], with its body above its walk height."""
    placement = Placement(BodyPose(z=height), MACHINE.walk.height)
    footholds = feet or [leg.foothold for leg in MACHINE.legs]
    rows = zip(MACHINE.legs, footholds, lifts, strict=True)
    return [joints_at_contact(leg, foot, lift, placement, MACHINE.foot_radius)[0] for leg, foot, lift in rows]


@pytest.mark.parametrize("lifted", [0, 1, 2, 3, 4])
def test_a_robot_stands_on_three_feet_or_more_and_keeps_the_others_in_the_air(lifted):
    lifts = [0.02 if row in (0, 3, 4, 1)[:lifted] else 0.0 for row in range(6)]
    walk = SEQUENCES.standing_on(standing(lifts), NEUTRAL, GAIT)
    assert (walk is None) == (lifted == 4)
    if walk is not None:
        feet = walk.motion.feet
        assert [foot.z for foot in feet] == pytest.approx(lifts, abs=1e-6)
        for foot, leg in zip(feet, MACHINE.legs, strict=True):
            assert (foot.x, foot.y) == pytest.approx(leg.foothold, abs=1e-5)
        assert walk.body.pose.now == pytest.approx(NEUTRAL, abs=1e-6) and walk.motion.clock.gait is GAIT


def test_a_robot_stands_at_the_heights_at_which_it_can_walk():
    lowest, highest = CAPABILITIES.stances.lowest, CAPABILITIES.stances.highest
    for height, stands in ((lowest + 0.012, True), (highest - 0.012, True), (lowest + 0.002, False)):
        feet = CAPABILITIES.stances.at(height).footholds
        walk = SEQUENCES.standing_on(standing([0.0] * 6, height - MACHINE.walk.height, feet), NEUTRAL, GAIT)
        assert (walk is not None) == stands
        if stands:
            assert walk.body.pose.now.z == pytest.approx(height - MACHINE.walk.height, abs=1e-5)
