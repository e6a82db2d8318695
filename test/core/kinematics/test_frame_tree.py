# SPDX-License-Identifier: Apache-2.0
"""Poses of frames at a time, from transforms in any order."""

import math

import numpy as np
import pytest

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.frame_tree import FrameTree, UnknownPoseError


def place(tree, frame, parent, time, **pose):
    made = BodyPose(**pose)
    tree.place(frame, parent, made[:3], made.quaternion(), time)


def tree():
    made = FrameTree()
    place(made, "camera", "base", None, x=0.1, pitch=0.5)
    for time in np.random.default_rng(1).permutation(20):
        place(made, "base", "odom", 0.1 * time, x=0.02 * time, yaw=3.0 + 0.05 * time)  # its yaw passes pi
    return made


@pytest.mark.parametrize("time", [0.0, 0.55, 0.25, 1.9])
def test_a_pose_is_that_at_its_time_whatever_the_order_of_the_transforms(time):
    pose = tree().find("camera", "odom", time)
    yaw = 3.0 + 0.5 * time
    at = (0.2 * time + 0.1 * math.cos(yaw), 0.1 * math.sin(yaw), 0.0)
    assert pose.position == pytest.approx(at, abs=1e-5)
    assert pose.rotation == pytest.approx(np.array(BodyPose(yaw=yaw, pitch=0.5).rotation()), abs=1e-5)


def test_what_is_not_known_is_named_and_whether_it_may_still_come():
    known = tree()
    for frame, time, text, early in (
        ("camera", 2.0, "the newest pose of base is 0.10 s older than the scan", True),
        ("camera", -1.0, "the pose of base is not known at the time of the scan", False),
        ("arm", 1.0, "nothing publishes the pose of arm", True),
    ):
        with pytest.raises(UnknownPoseError, match=text) as caught:
            known.find(frame, "odom", time)
        assert caught.value.early is early
    place(known, "a", "b", None)
    place(known, "b", "a", None)
    with pytest.raises(UnknownPoseError, match="form a loop"):
        known.find("a", "odom", 1.0)


def test_a_gap_between_samples_and_what_is_forgotten_are_unknown():
    known = tree()
    place(known, "base", "odom", 4.0)
    with pytest.raises(UnknownPoseError, match="not known"):
        known.find("base", "odom", 3.0)
    known.forget()
    with pytest.raises(UnknownPoseError, match="nothing publishes the pose of base"):
        known.find("camera", "odom", 1.0)
    assert known.find("camera", "base", 1.0).position == pytest.approx((0.1, 0.0, 0.0))
