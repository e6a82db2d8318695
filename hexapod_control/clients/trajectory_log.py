"""A log of timed poses of a robot, from ground truth or odometry, with interpolation."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from hexapod_control.core.kinematics.se2 import Pose, wrap


class TrajectorySample(NamedTuple):
    """Pose of the robot at a time."""

    time: float  # [s]
    pose: Pose
    height: float  # [m]


class TrajectoryLog:
    """Samples in order of time."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._samples: list[TrajectorySample] = []

    def add(self, sample: TrajectorySample) -> None:
        """Appends a sample; one that is not newer than the last is ignored."""
        if not self._times or sample.time > self._times[-1]:
            self._times.append(sample.time)
            self._samples.append(sample)

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
