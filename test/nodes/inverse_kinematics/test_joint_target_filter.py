# SPDX-License-Identifier: Apache-2.0
"""The joint target filter over all floats: its output is inside the limits and not too fast."""

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.drives import robot as shipped
from support.phantomx import LIMITS, robot, standing_joints

from hexapod_control.config.shipped_files import shipped_names
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.kinematics.whole_body import standing_joints as standing
from hexapod_control.nodes.inverse_kinematics.joint_target_filter import MAX_PERIOD_S, JointTargetFilter
from hexapod_control.ros.row_messages import FootLayout

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
    assert len(str(targets.deviation)) < 200


def seeded(joints):
    made = JointTargetFilter(robot())
    made.seed(joints)
    return made, np.clip(joints, LIMITS[..., 0], LIMITS[..., 1])


@given(ROWS, ROWS, ROWS, STAMPS)
def test_any_joint_targets_are_approached_within_limits_and_speed(start, joints, velocities, stamp):
    made, last = seeded(start)
    for k in range(2):
        targets = made.joints(joints, velocities, stamp + 0.02 * k)
        sound(targets, last)
        last = targets.joints


@given(ROWS, ROWS, STAMPS)
def test_any_foot_targets_are_approached_within_limits_and_speed(change, velocities, stamp):
    made, last = seeded(standing_joints())
    for feet in (change, FEET + 0.02 * np.clip(change, -1.0, 1.0)):
        targets = made.feet(feet, velocities, stamp)
        sound(targets, last)
        last = targets.joints


# --- what is reported -----------------------------------------------------------------------------------------

STANDING, STILL = standing_joints(), np.zeros((6, 3))
SPEED = LIMITS[..., 2]


def changed(row, joint, value):
    joints = STANDING.copy()
    joints[row, joint] += value
    return joints


def test_targets_within_the_limits_pass_unchanged():
    made, _ = seeded(STANDING)
    wanted = STANDING + 0.9 * SPEED * 0.02
    made.joints(STANDING, STILL, 1.0)
    found = made.joints(wanted, 0.5 * SPEED, 1.02)
    assert np.allclose(found.joints, wanted) and np.allclose(found.velocities, 0.5 * SPEED) and not found.deviation


def test_a_jump_is_approached_at_no_load_speed_and_the_joint_that_is_farthest_off_for_its_speed_is_named():
    made, _ = seeded(STANDING)
    made.joints(STANDING, STILL, 1.0)
    wanted = changed(0, 1, 2.0 * SPEED[0, 1] * 0.04)
    wanted[2, 0] -= 3.0 * SPEED[2, 0] * 0.04
    found = made.joints(wanted, STILL, 1.04)
    assert found.joints[0, 1] - STANDING[0, 1] == pytest.approx(SPEED[0, 1] * 0.04)
    assert found.joints[2, 0] - STANDING[2, 0] == pytest.approx(-SPEED[2, 0] * 0.04)
    assert (found.velocities[0, 1], found.velocities[2, 0]) == pytest.approx((SPEED[0, 1], -SPEED[2, 0]))
    first, second = -3.0 * SPEED[2, 0] * 0.04, SPEED[2, 0] * 0.04
    assert str(found.deviation) == (
        f"target of {robot().legs[2].name}_coxa_joint jumps by {first:.3f} rad in 40 ms, "
        f"it can move by {second:.3f} rad: all joints go there at no-load speed"
    )


@pytest.mark.parametrize(("stamp", "seconds"), [(0.5, 0.02), (1.0, 0.02), (1.001, 0.005), (1.03, 0.03), (9.0, 0.1)])
def test_the_time_between_targets_is_bounded_and_nominal_if_their_stamps_do_not_increase(stamp, seconds):
    made, _ = seeded(STANDING)
    made.joints(STANDING, STILL, 1.0)
    found = made.joints(changed(1, 0, 0.9 * np.sign(-STANDING[1, 0] or 1.0)), STILL, stamp)
    assert abs(found.joints[1, 0] - STANDING[1, 0]) == pytest.approx(SPEED[1, 0] * seconds)


def test_a_target_beyond_a_joint_limit_is_named_and_stays_at_it():
    made, _ = seeded(STANDING)
    upper = LIMITS[3, 2, 1]
    joints = STANDING.copy()
    joints[3, 2] = upper + 0.25
    joints[4, 0] = LIMITS[4, 0, 0] - 0.1
    found = made.joints(joints, STILL, 1.0)
    name = f"{robot().legs[3].name}_tibia_joint"
    assert str(found.deviation) == (
        f"target of {name} is {upper + 0.25:.4g} rad, its limit {upper:.3f} rad: it stays at the limit"
    )


def test_feet_out_of_reach_hold_the_last_targets_and_the_farthest_is_named():
    made, last = seeded(STANDING)
    feet = FEET.copy()
    feet[1] *= 1.9
    feet[5] *= 2.5
    found = made.feet(feet, STILL + 1.0, 1.0)
    assert np.array_equal(found.joints, last) and not found.velocities.any()
    assert str(found.deviation).startswith(f"foot of {robot().legs[5].name}: the target is ")
    assert str(found.deviation).endswith(" mm: the last targets are held")
    again = made.feet(FEET, STILL, 1.02)
    assert np.allclose(again.joints, STANDING, atol=1e-6) and not again.deviation


@pytest.mark.parametrize("name", shipped_names("robots"))
def test_the_feet_of_any_pose_up_to_and_next_to_all_limits_are_accepted(name):
    """Knee up, with the foot in front of the coxa axis, as the planner plans poses: converted as in the topic."""
    machine, rng, layout = shipped(name), np.random.default_rng(1), FootLayout(shipped(name))
    limits = np.array([[(joint.lower, joint.upper) for joint in leg.joints] for leg in machine.legs])
    lower, upper = limits[..., 0], limits[..., 1]
    lengths = np.array([(leg.coxa.length, leg.femur.length, leg.tibia.length) for leg in machine.legs]).T
    for _ in range(200):
        inside = np.minimum(10.0 ** rng.uniform(-17.0, -3.0, lower.shape), 0.5 * (upper - lower))
        choices = [lower, upper, lower + inside, upper - inside, rng.uniform(lower, upper)]
        joints = np.choose(rng.integers(len(choices), size=lower.shape), choices)
        _, femur, tibia = joints.T
        in_front = lengths[0] + lengths[1] * np.cos(femur) + lengths[2] * np.cos(femur + tibia) > 0.0
        planned = np.where((in_front & (tibia <= 0.0))[:, None], joints, standing(machine))
        made = JointTargetFilter(machine)
        made.seed(planned)
        message = layout.message(forward(machine, planned), np.zeros(planned.shape), np.zeros(len(planned)), Time())
        feet = layout.feet(message)
        targets = made.feet(feet.positions, feet.velocities, 1.0)
        assert targets.deviation is None and np.abs(targets.joints - planned).max() < 1e-6
