# SPDX-License-Identifier: Apache-2.0
"""The tour of a self-calibration through its body poses, and what is measured in each.

The body moves slowly from pose to pose over feet that stay planted. In each pose it first comes to rest; then joint
angles and tilt are averaged. The tour depends on the time alone; what moves meanwhile only tells whether the robot was
lifted.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from hexapod_control.core.calibration.chain_estimate import Mask, StandingPose
from hexapod_control.core.calibration.closed_chains import MIN_FEET
from hexapod_control.core.calibration.pose_choice import travel_time
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.whole_body import joints_in_pose
from hexapod_control.core.robot import Point, Robot
from hexapod_control.core.sensing.payload import foot_force
from hexapod_control.core.statics.static_stability import GRAVITY

SETTLE_S = 0.5  # in each pose: commands, servos and, on slow buses, their replies are late
RECORD_S = 0.3  # then samples are averaged
MIN_MOVE_S = 0.5
MIN_SAMPLES = 5  # of the joints in a pose
MAX_SPREAD = math.radians(1.0)  # [rad] of a joint while the body should rest
LOADED_SHARE = 0.2  # of an even share of the weight: a foot with less may hang, with friction in its joints
MIN_LOAD = 0.01  # of an even share: of a foot that stands
LIFTED_SHARE = 0.4  # of the weight: with less on all feet together, the robot does not stand


class PoseTour:
    """Where the body is to be at each time [s] since the start, and what was measured there."""

    def __init__(self, robot: Robot, poses: Sequence[BodyPose], stance: int = 0, *, loads_by_sag: bool = False) -> None:
        """Starts in the neutral pose; `stance` is the number of this tour of the robot.

        `loads_by_sag`: its servos report angles but no loads, which then follow from how far they give way.
        """
        self.poses = tuple(poses)
        self.measured: list[StandingPose] = []
        self.planned: list[BodyPose] = []  # poses of the body in those that were measured
        self.moved = 0  # poses in which the body did not rest
        self.lifted = 0  # poses in which the feet did not bear the weight
        self.tilted: list[tuple[float, Array, Point]] = []  # all times [s], joints and tilts
        self._robot = robot
        self._stance = stance
        self._loads_by_sag = loads_by_sag
        self._even = robot.mass * GRAVITY / len(robot.legs)  # [N]
        self._starts = [0.0]  # [s] of the moves, and the end
        self._moves = []  # [s] duration of each
        for before, pose in zip((NEUTRAL, *poses), poses, strict=False):
            self._moves.append(max(MIN_MOVE_S, travel_time(before, pose)))
            self._starts.append(self._starts[-1] + self._moves[-1] + SETTLE_S + RECORD_S)
        self._index = 0  # of the present pose
        self._joints: list[Array] = []
        self._tilts: list[Point] = []
        self._torques: list[Array] = []

    @property
    def duration(self) -> float:
        """Duration [s] of the whole tour."""
        return self._starts[-1]

    @property
    def planted(self) -> Mask:
        """Which feet bore load in the poses that were measured (m, n)."""
        return np.array([pose.loads for pose in self.measured]) > 0.0

    def _at(self, time: float) -> tuple[int, float]:
        """Index of the pose, and the time [s] since its move began."""
        index = min(bisect_right(self._starts, time) - 1, len(self.poses) - 1)
        return index, time - self._starts[index]

    def goal(self, time: float) -> BodyPose:
        """The pose at a time [s]."""
        index, elapsed = self._at(time)
        share = min(1.0, elapsed / self._moves[index])
        before = self.poses[index - 1] if index else NEUTRAL
        return before.towards(self.poses[index], share * share * (3.0 - 2.0 * share))

    def take(self, time: float, joints: Array, tilt: Point | None, torques: Array | None) -> None:
        """Takes a sample: joints (n, 3) [rad], roll and pitch [rad] by an IMU, and torques (n, 3) [N m] of the servos.

        Without torques and loads by sag, all feet count as standing.
        """
        index, elapsed = self._at(time)
        if index != self._index or time >= self.duration:
            self._finish()
            self._index = index
        if tilt is not None and time < self.duration:
            self.tilted.append((time, np.array(joints), tilt))
        if 0.0 <= elapsed - self._moves[index] - SETTLE_S <= RECORD_S:
            self._joints.append(np.array(joints))
            if tilt is not None:
                self._tilts.append(tilt)
            if torques is not None:
                self._torques.append(np.array(torques))

    def _finish(self) -> None:
        """Ends the present pose."""
        if len(self._joints) >= MIN_SAMPLES:
            spread = float(np.ptp(self._joints, axis=0).max())
            joints = np.mean(self._joints, axis=0)
            loads = self._loads(joints, self._held_by(joints))
            if not any(loads):
                self.lifted += 1
            elif spread > MAX_SPREAD:
                self.moved += 1
            else:
                tilt: Point | None = None
                if self._tilts:
                    roll, pitch = np.mean(self._tilts, axis=0).tolist()
                    tilt = roll, pitch
                self.measured.append(StandingPose(joints, tilt, loads, self._stance))
                self.planned.append(self.poses[self._index])
        self._joints = []
        self._tilts = []
        self._torques = []

    def _held_by(self, joints: Array) -> Array | None:
        """Torques (n, 3) [N m] of the servos in the present pose; None if unknown."""
        if self._torques:
            torques: Array = np.mean(self._torques, axis=0)
            return torques
        goals = joints_in_pose(self._robot, self._robot.footholds, self.poses[self._index])
        if not self._loads_by_sag or goals is None:
            return None
        stiffness = np.array([[joint.stiffness for joint in leg.joints] for leg in self._robot.legs])
        held: Array = stiffness * (np.array(goals) - joints)
        return held

    def _loads(self, joints: Array, torques: Array | None) -> tuple[float, ...]:
        """Loads of the feet in even shares of the weight, 0 in the air; all 0 if together they do not bear it."""
        if torques is None:
            return (1.0,) * len(joints)
        loads = [
            float(foot_force(leg, self._robot.foot_radius, angles, held)[0]) / self._even
            for leg, angles, held in zip(self._robot.legs, joints, torques, strict=True)
        ]
        if sum(loads) < LIFTED_SHARE * len(loads):
            return (0.0,) * len(loads)
        least = min(LOADED_SHARE, sorted(loads)[-MIN_FEET])  # a robot at rest stands on three feet
        return tuple(max(float(load), MIN_LOAD) if load >= least else 0.0 for load in loads)
