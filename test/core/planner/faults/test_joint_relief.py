# SPDX-License-Identifier: Apache-2.0
"""A fallen robot relieves servos that the ground bends too far, and only these."""

import numpy as np
import pytest
from support.drives import DT, robot

from hexapod_control.core.planner.faults.mishap_response import relief
from hexapod_control.core.planner.states import PlannerContext
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.core.sensing.sensor_inputs import SensorInputs
from hexapod_control.core.walking.walk_settings import WalkSettings

MACHINE = robot("phantomx")
HELD = [(0.1, 0.5, -1.5)] * len(MACHINE.legs)  # [rad]
STALLS = MACHINE.legs[4].coxa_joint.stall_torque / MACHINE.legs[4].coxa_joint.stiffness  # [rad] bent at stall torque


def relief_goal(*bent, held=HELD):
    """The goal of the joints if some (leg, joint, share of the stall torque) are bent, or None if all hold."""
    legs = WalkingLegs.without(MACHINE, frozenset())
    context = PlannerContext.of(legs, SensorInputs(MACHINE), WalkSettings(legs.capabilities.selection("")))
    context.joints, measured = tuple(held), np.array(held)
    for leg, joint, share in bent:
        measured[leg, joint] += share * STALLS
    context.sensors.joints.take(measured.ravel().tolist())
    move = relief(context)
    if move is not None:
        assert move.start == context.joints
        context.sensors.step(1.0, moving=False)
        assert relief(context) is None  # nothing is measured any more
    return None if move is None else np.array(move.goal)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_joint_beyond_seven_tenths_of_its_stall_torque_gives_way_to_three_tenths(sign):
    assert relief_goal((4, 0, 0.69 * sign)) is None
    goal = relief_goal((4, 0, 0.71 * sign))
    goal[4, 0] -= sign * 0.41 * STALLS
    assert goal == pytest.approx(np.array(HELD))


def test_with_a_strained_joint_the_others_beyond_three_tenths_give_way_as_well():
    goal = relief_goal((4, 0, 0.8), (2, 1, 0.5), (1, 2, -0.2))
    expected = np.array(HELD)
    expected[4, 0] += 0.5 * STALLS
    expected[2, 1] += 0.2 * STALLS
    assert goal == pytest.approx(expected)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_no_joint_gives_way_beyond_its_limit(sign):
    joint = MACHINE.legs[0].coxa_joint
    limit = joint.upper if sign > 0.0 else joint.lower
    held = [(limit - 0.1 * sign * STALLS, *HELD[0][1:]), *HELD[1:]]
    goal = relief_goal((0, 0, sign), held=held)
    assert goal[0, 0] == pytest.approx(limit)


def test_nothing_gives_way_while_no_joint_is_measured():
    legs = WalkingLegs.without(MACHINE, frozenset())
    context = PlannerContext.of(legs, SensorInputs(MACHINE), WalkSettings(legs.capabilities.selection("")))
    context.joints = tuple(HELD)
    context.sensors.step(DT, moving=False)
    assert relief(context) is None
