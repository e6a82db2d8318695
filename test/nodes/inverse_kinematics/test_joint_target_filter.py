"""The joint target filter over all floats: its output is inside the limits and not too fast."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.phantomx import LIMITS, robot, standing_joints

from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.nodes.inverse_kinematics.joint_target_filter import MAX_PERIOD_S, JointTargetFilter

FINITE = st.floats(allow_nan=False, allow_infinity=False)
ROWS = arrays(np.float64, (6, 3), elements=st.one_of(FINITE, st.floats(-2.0, 2.0)))
FEET = forward(robot(), standing_joints())
STAMPS = st.one_of(FINITE, st.floats(0.0, 0.2))


def sound(targets, last):
    lower, upper, speed = np.moveaxis(LIMITS, -1, 0)
    assert np.isfinite(targets.joints).all() and np.isfinite(targets.velocities).all()
    assert (targets.joints >= lower).all() and (targets.joints <= upper).all()
    assert (np.abs(targets.velocities) <= speed * (1.0 + 1e-9)).all()
    assert (np.abs(targets.joints - last) <= speed * MAX_PERIOD_S + 1e-9).all()
    assert len(targets.deviation) < 200


def seeded(joints):
    made = JointTargetFilter(robot())
    made.seed(joints)
    return made, np.clip(joints, LIMITS[..., 0], LIMITS[..., 1])


@settings(max_examples=100, deadline=None)
@given(ROWS, ROWS, ROWS, STAMPS)
def test_any_joint_targets_are_approached_within_limits_and_speed(start, joints, velocities, stamp):
    made, last = seeded(start)
    for k in range(2):
        targets = made.joints(joints, velocities, stamp + 0.02 * k)
        sound(targets, last)
        last = targets.joints


@settings(max_examples=100, deadline=None)
@given(ROWS, ROWS, STAMPS)
def test_any_foot_targets_are_approached_within_limits_and_speed(change, velocities, stamp):
    made, last = seeded(standing_joints())
    for feet in (change, FEET + 0.02 * np.clip(change, -1.0, 1.0)):
        targets = made.feet(feet, velocities, stamp)
        sound(targets, last)
        last = targets.joints
