# SPDX-License-Identifier: Apache-2.0
"""Timed poses of a robot, from ground truth or odometry, with interpolation."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from nav_msgs.msg import Odometry

from hexapod_control.core.kinematics.body_pose import quaternion_angles
from hexapod_control.core.kinematics.se2 import Pose, wrap


class TrajectorySample(NamedTuple):
    """Pose of the robot at a time."""

    time: float  # [s]
    pose: Pose
    height: float  # [m]


class TrajectoryLog:
    """Samples in order of time."""

    def __init__(self, kept: int = 0) -> None:
        """`kept` is the least number of the newest samples that are kept; 0: all of them."""
        self._kept = kept
        self._times: list[float] = []
        self._samples: list[TrajectorySample] = []

    def add(self, sample: TrajectorySample) -> None:
        """Appends a sample; one that is not newer than the last is ignored."""
        if not self._times or sample.time > self._times[-1]:
            self._times.append(sample.time)
            self._samples.append(sample)
        if self._kept and len(self._times) > 2 * self._kept:
            del self._times[: -self._kept], self._samples[: -self._kept]

    def __len__(self) -> int:
        return len(self._samples)

    @property
    def last(self) -> TrajectorySample:
        """The newest sample."""
        return self._samples[-1]

    def between(self, start: float, end: float) -> Sequence[TrajectorySample]:
        """Returns the samples of the time span [start, end) [s]."""
        return self._samples[bisect_left(self._times, start) : bisect_left(self._times, end)]

    def at(self, time: float) -> Pose:
        """Returns the pose at a time [s], interpolated linearly and constant outside the log. Needs two samples."""
        index = min(max(bisect_left(self._times, time), 1), len(self._times) - 1)
        before = self._samples[index - 1]
        after = self._samples[index]
        span = after.time - before.time
        part = min(1.0, max(0.0, (time - before.time) / span)) if span > 0.0 else 0.0
        a = before.pose
        b = after.pose
        return Pose(a.x + part * (b.x - a.x), a.y + part * (b.y - a.y), a.yaw + part * wrap(b.yaw - a.yaw))


def sample(message: Odometry) -> TrajectorySample:
    """Time, planar pose and height of an odometry message."""
    stamp = message.header.stamp
    place = message.pose.pose.position
    turn = message.pose.pose.orientation
    yaw = quaternion_angles(turn.x, turn.y, turn.z, turn.w)[2]
    return TrajectorySample(stamp.sec + 1e-9 * stamp.nanosec, Pose(place.x, place.y, yaw), place.z)
