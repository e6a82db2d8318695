# SPDX-License-Identifier: Apache-2.0
"""Measures the time of a tick: planner, inverse kinematics and joint speeds in Python, against kinematics in C."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
from c_kinematics import CKinematics

from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, inverse, joint_velocities
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.motions.motion_player import MotionPlayer, RehearsedMotion
from hexapod_control.core.motions.motion_steps import Choreography, WalkStep
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.robot import Robot
from hexapod_control.core.walking.walk_controller import WalkController
from hexapod_control.core.workspace.capabilities import Capabilities

TICK_S = 0.02
TWIST = Twist(0.08, 0.0, 0.2)  # an arc; the slower gaits scale it
SETTLING_TIME_S = 3.0  # after which the acceleration is over
REPEATS = 41  # batches, Python and C alternately, each short enough to run undisturbed on a busy computer
# per batch
PYTHON_TICKS = 50
C_TICKS = 5000


def standing_planner(robot: Robot, gait: str) -> Planner:
    """Returns a planner whose robot stands in its neutral stance. Raises ValueError if the robot cannot reach it."""
    planner = Planner(robot, gait)
    planner.set_measured_joints(np.array(planner.capabilities.standing_joints))
    while planner.state is not RobotState.STANDING:
        planner.step(TICK_S)
    return planner


def walking_planner(robot: Robot, gait: str, twist: Twist = TWIST) -> Planner:
    """Returns a planner that walks with a constant twist."""
    planner = standing_planner(robot, gait)
    planner.command(twist)
    for _ in range(round(SETTLING_TIME_S / TICK_S)):
        planner.step(TICK_S)
    return planner


def python_tick(planner: Planner | MotionPlayer, robot: Robot, joints: Array) -> Array:
    """Runs one tick of planner and kinematics. Returns the joint targets (n, 3) [rad]."""
    plan = planner.step(TICK_S)
    assert plan.feet is not None  # it walks
    solution = inverse(robot, plan.feet, joints)
    joint_velocities(robot, solution.joints, plan.feet_velocity)
    return solution.joints


def measure(robot_file: RobotFile, progress: Callable[[str], None]) -> dict[str, object]:
    """Returns the times of a tick: `tick` (in the robot's gait), its `tick_parts`, `tick_gaits`, `tick_supervised`.

    Raises MissingCompilerError.
    """
    robot = robot_file.robot
    kinematics = CKinematics(robot)
    gaits: dict[str, object] = {}
    found: dict[str, object] = {"tick_gaits": gaits}
    capabilities = Capabilities.of(robot)
    for gait in capabilities.gaits:
        progress(f"tick: {gait}")
        whole, parts = _timed(walking_planner(robot, gait), kinematics)
        gaits[gait] = whole
        if gait == capabilities.selection().fastest.name:
            found |= {"tick": whole, "tick_parts": parts}
    progress("tick: supervised")
    return found | {"tick_supervised": supervised(robot)}


def supervised(robot: Robot) -> dict[str, float]:
    """Measures the cost of motion player, tick limiter, loads and stability margin in addition to the walk itself.

    Both walk the same arc: `bare_us` is walk controller, kinematics and joint speeds; `supervised_us` is the whole
    tick of gait_planner in the middle of a motion.
    """
    controller, player = _controller(robot), _playing(robot)
    start = np.array(player.step(TICK_S).joint_angles)

    def bare() -> None:
        joints: Array = start
        feet: Array | None = None
        for _ in range(PYTHON_TICKS):
            now = read_only(controller.advance(TICK_S, joints.tolist()).centers)
            joints = inverse(robot, now, joints).joints
            joint_velocities(robot, joints, (now - (now if feet is None else feet)) / TICK_S)
            feet = now

    def whole() -> None:
        joints: Array = start
        for _ in range(PYTHON_TICKS):
            joints = python_tick(player, robot, joints)

    batches = [[_microseconds(work, PYTHON_TICKS) for work in (bare, whole)] for _ in range(REPEATS)]
    plain, full = (median(column) for column in zip(*batches, strict=True))
    return {"bare_us": round(plain, 2), "supervised_us": round(full, 2), "ratio": round(full / plain, 2)}


def _controller(robot: Robot) -> WalkController:
    """A walk controller alone, walking the usual arc with a constant twist."""
    capabilities = standing_planner(robot, "").capabilities
    footholds = capabilities.neutral_stance.footholds
    controller = WalkController(capabilities, footholds, NEUTRAL, capabilities.selection().fastest)
    joints: Sequence[LegJoints] = capabilities.standing_joints
    controller.drive(TWIST)
    for _ in range(round(SETTLING_TIME_S / TICK_S)):
        joints = controller.advance(TICK_S, joints).joints
    return controller


def _playing(robot: Robot) -> MotionPlayer:
    """A motion player in the middle of a motion that walks the usual arc."""
    player = MotionPlayer(standing_planner(robot, ""))
    step = WalkStep(x=TWIST.vx, yaw=TWIST.wz, duration=600.0)
    player.execute(RehearsedMotion(Choreography(name="arc", steps=(step,)), 600.0))
    for _ in range(round(SETTLING_TIME_S / TICK_S)):
        player.step(TICK_S)
    return player


def _timed(planner: Planner, kinematics: CKinematics) -> tuple[dict[str, float], dict[str, float]]:
    """Medians over the batches [us]: the whole tick compared with the kinematics in C, and the parts of the tick."""
    start = np.array(planner.step(TICK_S).joint_angles)

    def walk() -> None:
        joints: Array = start
        for _ in range(PYTHON_TICKS):
            joints = python_tick(planner, planner.robot, joints)

    def plan() -> None:
        for _ in range(PYTHON_TICKS):
            planner.step(TICK_S)

    works = ((walk, PYTHON_TICKS), (plan, PYTHON_TICKS), (lambda: kinematics.run(start, C_TICKS), C_TICKS))
    batches = [[_microseconds(work, ticks) for work, ticks in works] for _ in range(REPEATS)]
    tick, planning, c = (list(column) for column in zip(*batches, strict=True))
    rest = [whole - part for whole, part in zip(tick, planning, strict=True)]
    whole_us, c_us = median(tick), median(c)
    compared = {"c_kinematics_us": round(c_us, 3), "python_us": round(whole_us, 2), "ratio": round(whole_us / c_us, 1)}
    return compared, {"planner_us": round(median(planning), 2), "kinematics_us": round(median(rest), 2)}


def _microseconds(work: Callable[[], object], ticks: int) -> float:
    """CPU time of this thread [us] per tick, independent of other load on the computer."""
    begin = time.thread_time()
    work()
    return 1e6 * (time.thread_time() - begin) / ticks
