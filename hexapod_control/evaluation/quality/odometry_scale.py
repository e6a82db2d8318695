"""How far odometry is off in simulation, where the truth is known: core and physics in lock step, no ROS."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hexapod_control.core.kinematics.se2 import ZERO, Pose, Twist, wrap
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.odometry import Odometry
from hexapod_control.evaluation.quality.lockstep import CONTROL_PERIOD, Lockstep, WalkError
from hexapod_control.evaluation.quality.odometry_drift import standing
from hexapod_control.evaluation.quality.walk_quality import planar_pose
from hexapod_control.sim.world_settings import WorldSettings

SPEED, RATE = 0.1, 0.5  # [m/s], [rad/s] at most
SHARE = 0.8  # of what the robot can do
PATIENCE = 3.0  # times as long as planned
REST = 3.0  # [s] for the feet to come down


@dataclass(frozen=True, slots=True)
class MeasuredScale:
    """A way by odometry and what it really was, [m] or [rad]."""

    told: float
    true: float

    @property
    def factor(self) -> float:
        """What odometry has to be multiplied with."""
        return self.true / self.told


def measure(
    robot: Robot, text: str, world: WorldSettings, distance: float, turn: float
) -> tuple[MeasuredScale, MeasuredScale]:
    """Walks so far [m] ahead and back, and turns so far [rad] left and right; `text` is the robot's URDF.

    Raises WalkError.
    """
    lockstep = standing(robot, text, world)
    most = lockstep.planner.maxima()
    ahead, left = Twist(min(SPEED, SHARE * most.vx), 0.0, 0.0), Twist(0.0, 0.0, min(RATE, SHARE * most.wz))
    ways = [_drive(lockstep, ahead.scaled(sign), distance, _far) for sign in (1.0, -1.0)]
    turns = [_drive(lockstep, left.scaled(sign), turn, _round) for sign in (1.0, -1.0)]
    return _sum(ways), _sum(turns)


class _CalibrationCourse:
    """Pose since a start, with the whole turn."""

    def __init__(self, start: Pose) -> None:
        self._start = self._last = start
        self.turn = 0.0  # [rad]

    def add(self, pose: Pose) -> None:
        self.turn += wrap(pose.yaw - self._last.yaw)
        self._last = pose

    @property
    def way(self) -> float:
        """Straight from start to end [m]."""
        return math.dist(self._start[:2], self._last[:2])


def _far(course: _CalibrationCourse) -> float:
    return course.way


def _round(course: _CalibrationCourse) -> float:
    return abs(course.turn)


def _drive(lockstep: Lockstep, twist: Twist, goal: float, size: Callable[[_CalibrationCourse], float]) -> MeasuredScale:
    odometry = Odometry(lockstep.simulation.robot)
    told, true = _CalibrationCourse(odometry.pose), _CalibrationCourse(planar_pose(lockstep.simulation))
    most = round((PATIENCE * goal / max(map(abs, twist)) + REST) / CONTROL_PERIOD)
    resting = 0
    for _ in range(most):
        resting += size(told) >= goal or resting > 0
        if resting * CONTROL_PERIOD >= REST:
            return MeasuredScale(size(told), size(true))
        lockstep.planner.command(ZERO if resting else twist)
        loads = lockstep.tick().support.tolist()
        odometry.update(lockstep.simulation.joints, loads, CONTROL_PERIOD)
        told.add(odometry.pose)
        true.add(planar_pose(lockstep.simulation))
    raise WalkError(f"the robot did not get {goal:g} far by odometry with the twist {tuple(twist)}")


def _sum(parts: list[MeasuredScale]) -> MeasuredScale:
    return MeasuredScale(sum(part.told for part in parts), sum(part.true for part in parts))
