# SPDX-License-Identifier: Apache-2.0
"""A robot that is to walk and does not move says so, whatever holds it, and stops."""

import pytest
from support.drives import DT, standing_planner, walk_of

from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.whole_body import UnreachableFoot, UnreachableReason
from hexapod_control.core.planner.faults.mishap_response import present_mishap, respond
from hexapod_control.core.planner.states import OnFeet, PlannerContext
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.core.sensing.mishap_watch import MishapKind
from hexapod_control.core.sensing.sensor_inputs import SensorInputs
from hexapod_control.core.walking.walk_settings import WalkSettings

AHEAD = Twist(0.05, 0.0, 0.0)
FOOT = UnreachableFoot("left_front", UnreachableReason.TOO_FAR, 0.01)


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"twist": ZERO, "unreached": FOOT}, "the foot of left_front does not reach its place"),
        ({"twist": ZERO}, "the legs cannot move as planned"),
        ({"twist": AHEAD.scaled(0.001)}, "the legs cannot move as planned"),
        ({"twist": AHEAD.scaled(0.1)}, None),
        ({}, None),
    ],
)
def test_a_robot_that_is_to_walk_and_stands_says_so_within_five_seconds_with_the_cause(changes, cause):
    planner = standing_planner("phantomx")
    for _ in range(round(2.0 / DT)):
        planner.command(AHEAD)
        plan = planner.step(DT)
    legs = WalkingLegs.without(planner.robot, frozenset())
    context = PlannerContext.of(legs, SensorInputs(planner.robot), WalkSettings(legs.capabilities.selection("")))
    state = OnFeet(walk_of(planner))
    for _ in range(round(5.0 / DT)):
        state = respond(state, plan._replace(**changes), DT, context)
    mishap = present_mishap(state, context)
    if cause is None:
        assert mishap is None
        return
    assert mishap.kind is MishapKind.HINDERED
    assert f"has stood for 4 s: {cause}" in mishap.text
    assert state.walk.speed.command.is_zero
    assert context.feedback.progress.refused.refuses(AHEAD) and not context.feedback.progress.refused.refuses(
        AHEAD.scaled(-1.0)
    )
