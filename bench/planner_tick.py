# SPDX-License-Identifier: Apache-2.0
"""Measures the time of a tick: planner, inverse kinematics and joint speeds in Python, against kinematics in C."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median

import numpy as np
from c_kinematics import CKinematics

from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.frame_tree import FramePose
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, inverse, joint_velocities
from hexapod_control.core.kinematics.se2 import Pose, Twist, exp
from hexapod_control.core.motions.motion_player import MotionPlayer, RehearsedMotion
from hexapod_control.core.motions.motion_steps import Choreography, WalkStep
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.sensor_inputs import Adaptation
from hexapod_control.core.terrain.height_map import TerrainGrid
from hexapod_control.core.walking.walk_controller import WalkController
from hexapod_control.core.workspace.capabilities import Capabilities

TICK_S = 0.02
TWIST = Twist(0.08, 0.0, 0.2)  # an arc; the slower gaits scale it
SETTLING_TIME_S = 3.0  # after which the acceleration is over
REPEATS = 41  # batches, Python and C alternately, each short enough to run undisturbed on a busy computer
# per batch
PYTHON_TICKS = 50
C_TICKS = 5000

# of the map
CELL_M = 0.015
MAP_BLOCKS = 20  # on each side
BLOCK_CELLS = 8
BLOCKS_M = 0.015


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
    """Returns the times of a tick: in the robot's gait, its parts, in all gaits, with a map, and supervised.

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
    progress("tick: map")
    found["tick_map"] = with_map(robot)
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


class MapWalk:
    """A planner with foot contacts that walks the usual arc on a map of the ground, or without one."""

    def __init__(self, robot: Robot, blocks: float | None) -> None:
        """`blocks` [m]: they are so much higher or lower than the start, at most; None: no map."""
        self.planner = standing_planner(robot, "")
        self.planner.sensors.adaptation = Adaptation(touch_down=True)
        self._at = Pose(0.0, 0.0, 0.0)
        heights = np.random.default_rng(1).uniform(-1.0, 1.0, (MAP_BLOCKS, MAP_BLOCKS)) * (blocks or 0.0)
        ground = np.kron(heights, np.ones((BLOCK_CELLS, BLOCK_CELLS))).astype(np.float64)
        first = -0.5 * len(ground) * CELL_M
        unseen = np.full_like(ground, np.nan)
        grid = TerrainGrid((first, first), CELL_M, ground, np.full_like(ground, 0.002), unseen, 0.0)
        self._grid = None if blocks is None else grid
        self._time = 0.0
        self.run(round(SETTLING_TIME_S / TICK_S))

    def run(self, ticks: int = PYTHON_TICKS) -> None:
        """Walks on; a new map comes five times a second."""
        planner = self.planner
        for _ in range(ticks):
            walk = planner.view.walk
            assert walk is not None
            planner.command(TWIST)
            planner.sensors.contacts.take([5.0 if foot.planted else 0.0 for foot in walk.motion.feet])
            self._time += TICK_S
            if self._grid is not None:
                x, y, yaw = self._at
                pose = BodyPose(x=x, y=y, z=walk.body.height, yaw=yaw)
                base = FramePose(np.array(pose.rotation()), np.array(pose[:3]))
                planner.see(replace(self._grid, time=round(self._time / 0.2)), base)
            self._at = self._at @ exp(planner.step(TICK_S).twist, TICK_S)


def with_map(robot: Robot) -> dict[str, float]:
    """Measures a tick without map, and how many times as long it takes with one: on flat ground, and among blocks."""
    walks = [MapWalk(robot, blocks) for blocks in (None, 0.0, BLOCKS_M)]
    batches = [[_microseconds(walk.run, PYTHON_TICKS) for walk in walks] for _ in range(REPEATS)]
    none, flat, blocks = (median(column) for column in zip(*batches, strict=True))
    return {"none_us": round(none, 2), "flat_ratio": round(flat / none, 2), "blocks_ratio": round(blocks / none, 2)}


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
