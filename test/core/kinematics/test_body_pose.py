# SPDX-License-Identifier: Apache-2.0
"""A body pose as a rotation and as a quaternion."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexapod_control.core.kinematics.body_pose import BodyPose, quaternion_angles

HALF_TURN = st.floats(-math.pi + 1e-6, math.pi - 1e-6)
UPRIGHT = st.floats(-1.5, 1.5)  # [rad] pitch, away from the singularity at +-pi/2


@given(HALF_TURN, UPRIGHT, HALF_TURN)
def test_roll_pitch_and_yaw_survive_the_conversion_to_a_quaternion(roll, pitch, yaw):
    angles = quaternion_angles(*BodyPose(roll=roll, pitch=pitch, yaw=yaw).quaternion())
    assert angles == pytest.approx((roll, pitch, yaw), abs=1e-7)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_vertical_body_has_angles_although_its_quaternion_is_rounded_up(sign):
    half = math.sqrt(0.5)
    assert 2.0 * half * half > 1.0
    assert quaternion_angles(0.0, sign * half, 0.0, half)[1] == pytest.approx(sign * math.pi / 2)
