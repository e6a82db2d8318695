# SPDX-License-Identifier: Apache-2.0
"""Poses of frames in each other at a time, from transforms that arrive in any order.

A chain of frames leads from each frame to its parent. Between two samples of a moving frame positions are interpolated
linearly and rotations along the shortest turn.
"""

from __future__ import annotations

import bisect
from typing import NamedTuple

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose, quaternion_angles

HISTORY_S = 10.0
MAX_GAP_S = 0.5  # between two samples of a frame that moves; in a longer one its pose is unknown
MAX_DEPTH = 32  # frames in a chain, against loops


class FramePose(NamedTuple):
    """The pose of a frame in another one."""

    rotation: Array  # (3, 3) from the frame to the other one
    position: Array  # (3,) [m]

    def __matmul__(self, inner: FramePose) -> FramePose:
        """The pose of a frame whose pose in this one is `inner`."""
        return FramePose(self.rotation @ inner.rotation, self.rotation @ inner.position + self.position)

    def apply(self, points: Array) -> Array:
        """Points (n, 3) [m] of the frame in the other one."""
        moved: Array = points @ self.rotation.T + self.position
        return moved


IDENTITY = FramePose(np.eye(3), np.zeros(3))


class UnknownPoseError(LookupError):
    """A pose that the transforms do not tell; `early`: they may still arrive."""

    def __init__(self, text: str, *, early: bool = False) -> None:
        super().__init__(text)
        self.early = early


class _Frame:
    """The parent of a frame, and its pose there over time."""

    def __init__(self, parent: str) -> None:
        self.parent = parent
        self.times: list[float] = []  # [s] ascending; empty: the frame does not move
        self.samples: list[tuple[float, ...]] = []  # position [m] and quaternion x, y, z, w of each time

    def add(self, time: float, sample: tuple[float, ...]) -> None:
        at = bisect.bisect_left(self.times, time)
        if at < len(self.times) and self.times[at] == time:
            self.samples[at] = sample
            return
        self.times.insert(at, time)
        self.samples.insert(at, sample)
        old = bisect.bisect_left(self.times, self.times[-1] - HISTORY_S)
        del self.times[:old], self.samples[:old]

    def at(self, time: float, name: str) -> FramePose:
        """Raises UnknownPoseError."""
        if not self.times:
            return _pose(self.samples[0])
        after = bisect.bisect_left(self.times, time)
        if after == len(self.times):
            missing = time - self.times[-1]
            raise UnknownPoseError(f"the newest pose of {name} is {missing:.2f} s older than the scan", early=True)
        if self.times[after] == time:
            return _pose(self.samples[after])
        gap = self.times[after] - self.times[after - 1] if after else np.inf
        if gap > MAX_GAP_S:
            raise UnknownPoseError(f"the pose of {name} is not known at the time of the scan")
        return _pose(_between(self.samples[after - 1], self.samples[after], (time - self.times[after - 1]) / gap))


class FrameTree:
    """The frames of a robot by name."""

    def __init__(self) -> None:
        self._frames: dict[str, _Frame] = {}

    def place(
        self, frame: str, parent: str, position: tuple[float, ...], quaternion: tuple[float, ...], time: float | None
    ) -> None:
        """Stores the pose of a frame in its parent: position [m] and unit quaternion x, y, z, w; None: at any time."""
        known = self._frames.get(frame)
        if time is None or known is None or known.parent != parent or not known.times:
            known = self._frames[frame] = _Frame(parent)
        if time is None:
            known.samples = [(*position, *quaternion)]
        else:
            known.add(time, (*position, *quaternion))

    def forget(self) -> None:
        """Forgets the frames that move, as when the clock was set back."""
        self._frames = {name: frame for name, frame in self._frames.items() if not frame.times}

    def find(self, frame: str, other: str, time: float) -> FramePose:
        """The pose of a frame in another one, from which its chain begins, at `time` [s]. Raises UnknownPoseError."""
        pose = IDENTITY
        name = frame
        for _ in range(MAX_DEPTH):
            if name == other:
                return pose
            if name not in self._frames:
                raise UnknownPoseError(f"nothing publishes the pose of {name}", early=True)
            pose = self._frames[name].at(time, name) @ pose
            name = self._frames[name].parent
        raise UnknownPoseError(f"the frames above {frame} form a loop")


def _pose(sample: tuple[float, ...]) -> FramePose:
    x, y, z, *quaternion = sample
    turn = BodyPose(0.0, 0.0, 0.0, *quaternion_angles(*quaternion)).rotation()
    return FramePose(np.array(turn), np.array((x, y, z)))


def _between(first: tuple[float, ...], second: tuple[float, ...], share: float) -> tuple[float, ...]:
    """Interpolates two samples whose rotations are close to each other."""
    a, b = np.array(first), np.array(second)
    if a[3:] @ b[3:] < 0.0:
        b[3:] = -b[3:]
    mixed = a + share * (b - a)
    mixed[3:] /= np.linalg.norm(mixed[3:])
    return tuple(mixed.tolist())
