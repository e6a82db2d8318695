# SPDX-License-Identifier: Apache-2.0
"""Measures the scale error of the odometry in simulation, with planner and physics in lock step, without ROS."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hexapod_control.core.kinematics.se2 import ZERO, Pose, Twist, wrap
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.odometry import Odometry
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, Lockstep, WalkError, planar_pose, standing_lockstep
from hexapod_control.sim.world_settings import WorldSettings

MAX_SPEED = 0.1  # [m/s]
MAX_YAW_RATE = 0.5  # [rad/s]
SPEED_SHARE = 0.8  # of the maximum speed
SLOWDOWN = 3.0  # a drive may take this many times its planned duration
REST_TIME_S = 3.0  # for the feet to touch down


@dataclass(frozen=True, slots=True)
class MeasuredScale:
    """A displacement by odometry and by ground truth, [m] or [rad]."""

    estimate: float
    truth: float

    @property
    def factor(self) -> float:
        """Scale factor that corrects the odometry."""
        return self.truth / self.estimate


def measure(
    robot: Robot, text: str, world: WorldSettings, distance: float, turn: float
) -> tuple[MeasuredScale, MeasuredScale]:
    """Walks a distance [m] forwards and backwards and turns an angle [rad] left and right; `text` is the URDF.

    Raises WalkError.
    """
    lockstep = standing_lockstep(robot, text, world)
    maxima = lockstep.planner.view.maxima()
    ahead = Twist(min(MAX_SPEED, SPEED_SHARE * maxima.vx), 0.0, 0.0)
    left = Twist(0.0, 0.0, min(MAX_YAW_RATE, SPEED_SHARE * maxima.wz))
    distances = [_drive(lockstep, ahead.scaled(sign), distance, _distance) for sign in (1.0, -1.0)]
    turns = [_drive(lockstep, left.scaled(sign), turn, _rotation) for sign in (1.0, -1.0)]
    return _sum(distances), _sum(turns)


class _CalibrationCourse:
    """Displacement since a start pose; the rotation is accumulated and may exceed one turn."""

    def __init__(self, start: Pose) -> None:
        self._start = start
        self._last = start
        self.turn = 0.0  # [rad]

    def add(self, pose: Pose) -> None:
        self.turn += wrap(pose.yaw - self._last.yaw)
        self._last = pose

    @property
    def distance(self) -> float:
        """Straight distance from start to end [m]."""
        return math.dist(self._start[:2], self._last[:2])


def _distance(course: _CalibrationCourse) -> float:
    return course.distance


def _rotation(course: _CalibrationCourse) -> float:
    return abs(course.turn)


def _drive(lockstep: Lockstep, twist: Twist, goal: float, size: Callable[[_CalibrationCourse], float]) -> MeasuredScale:
    odometry = Odometry(lockstep.simulation.robot)
    estimate = _CalibrationCourse(odometry.pose)
    truth = _CalibrationCourse(planar_pose(lockstep.simulation))
    ticks = round((SLOWDOWN * goal / max(map(abs, twist)) + REST_TIME_S) / CONTROL_PERIOD_S)
    resting = 0
    for _ in range(ticks):
        resting += size(estimate) >= goal or resting > 0
        if resting * CONTROL_PERIOD_S >= REST_TIME_S:
            return MeasuredScale(size(estimate), size(truth))
        lockstep.planner.command(ZERO if resting else twist)
        loads = lockstep.tick().support.tolist()
        odometry.update(lockstep.simulation.joints, loads, CONTROL_PERIOD_S)
        estimate.add(odometry.pose)
        truth.add(planar_pose(lockstep.simulation))
    raise WalkError(f"the robot did not reach {goal:g} by odometry with the twist {tuple(twist)}")


def _sum(parts: list[MeasuredScale]) -> MeasuredScale:
    return MeasuredScale(sum(part.estimate for part in parts), sum(part.truth for part in parts))
