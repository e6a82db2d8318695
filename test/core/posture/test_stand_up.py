# SPDX-License-Identifier: Apache-2.0
"""A body that rises and sinks over planted feet, and how deep it can sink."""

import numpy as np
import pytest
from support.drives import ROBOTS, robot

from hexapod_control.core.kinematics.support_detection import belly_height
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.posture.stand_up import BodyLift, lying_joints, lying_offset

MACHINE = robot("phantomx")
FEET = [leg.foothold for leg in MACHINE.legs]
SHARES = {0.0: 0.0, 0.25: 0.103515625, 0.5: 0.5, 0.75: 0.896484375, 1.0: 1.0}  # of a quintic, at rest at both ends


@pytest.mark.parametrize(("start", "goal", "seconds"), [(0.0, -0.01, 0.6), (-0.06, 0.0, 1.40625), (0.0, -0.064, 1.5)])
def test_a_body_rises_and_sinks_at_8_cm_per_second_at_most_and_for_at_least_0_6_s(start, goal, seconds):
    lift = BodyLift.between(MACHINE, FEET, start, goal)
    assert lift.duration == pytest.approx(seconds)
    joints = joints_at_offset(MACHINE, FEET, start)
    for part in (0.25, 0.5, 0.75, 1.0):
        assert not lift.done
        pose = lift.advance(seconds / 4, joints)
        joints = pose.joints
        assert lift.offset == pytest.approx(start + SHARES[part] * (goal - start))
        assert lift.progress == pytest.approx(part)
        height = pose.placement.to_footprint(0.0, 0.0, 0.0)
        assert height == pytest.approx((0.0, 0.0, MACHINE.walk.height + lift.offset))
        assert pose.contacts == list(FEET) and pose.planted == [True] * 6 and pose.unreached is None
    assert lift.done and np.array(joints) == pytest.approx(np.array(joints_at_offset(MACHINE, FEET, goal)), abs=1e-3)
    lift.advance(1.0, joints)
    assert lift.progress == 1.0 and lift.retreat(1.0, joints) is None


def test_a_lying_robot_has_its_feet_at_its_footholds():
    assert lying_joints(MACHINE) == joints_at_offset(MACHINE, FEET, lying_offset(MACHINE, FEET))


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_lies_with_its_feet_13_to_15_mm_above_the_ground(name):
    machine = robot(name)
    feet = [leg.foothold for leg in machine.legs]
    for inwards in (0.0, 0.0013, 0.0029):
        contacts = [(x * (1.0 - inwards), y * (1.0 - inwards)) for x, y in feet]
        offset = lying_offset(machine, contacts)
        assert joints_at_offset(machine, contacts, offset) is not None
        assert 0.013 <= belly_height(machine) - machine.walk.height - offset <= 0.015
        assert offset / 0.002 == pytest.approx(round(offset / 0.002))


@pytest.mark.parametrize("inwards", [0.2, 0.4])
@pytest.mark.parametrize("name", ROBOTS)
def test_legs_that_cannot_fold_so_far_lie_as_low_as_they_can(name, inwards):
    machine, contacts = robot(name), []
    for leg in machine.legs:
        (x, y), (hip_x, hip_y, _) = leg.foothold, leg.hip
        contacts.append((x - inwards * (x - hip_x), y - inwards * (y - hip_y)))
    offset = lying_offset(machine, contacts)
    assert belly_height(machine) - machine.walk.height - offset < 0.0
    assert joints_at_offset(machine, contacts, offset) is not None
    assert joints_at_offset(machine, contacts, offset - 0.002) is None
