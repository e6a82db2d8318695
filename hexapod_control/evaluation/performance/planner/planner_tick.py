"""The cost of a whole tick: planner, gap between the legs, inverse kinematics and joint speeds, in Python and in C."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.leg_kinematics import inverse, joint_velocities
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.motions.motion_player import MotionPlayer, RehearsedMotion
from hexapod_control.core.motions.motion_steps import Choreography, WalkStep
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.robot import Robot
from hexapod_control.evaluation.performance.planner.c_reference import Floor, compiled

DT = 0.02  # [s]
TWIST = Twist(0.08, 0.0, 0.2)  # an arc; the slower gaits scale it
SETTLED = 3.0  # [s] after which the ramps are over
SAID = ("feet", "feet_velocity", "support", "row", "joint_velocity", "contacts", "twist", "pose", "margin", "gap")
SAME = 500  # ticks over which the rows are compared
REPEATS = 41  # interleaved batches: Python, C, Python, C ..., each short enough to run undisturbed on a busy machine
PYTHON_TICKS, C_TICKS = 50, 1200  # per batch


def standing(robot: Robot, gait: str) -> Planner:
    """A planner whose robot stands on its neutral footholds. Raises ValueError for a robot that cannot."""
    planner = Planner(robot, gait)
    row = joints_at_offset(robot, planner.capabilities.stances.at(robot.walk.height).footholds, 0.0)
    planner.measured(np.array(row))
    while planner.state is not RobotState.STANDING:
        planner.step(DT)
    return planner


def walking(robot: Robot, gait: str, twist: Twist = TWIST) -> Planner:
    """A planner that walks steadily."""
    planner = standing(robot, gait)
    planner.command(twist)
    for _ in range(round(SETTLED / DT)):
        planner.step(DT)
    return planner


def python_tick(planner: Planner | MotionPlayer, robot: Robot, joints: Array) -> tuple[TickPlan, Array, Array]:
    """What is done per tick: (plan with the gap between the legs, joints (n, 3) [rad], joint speeds (n, 3) [rad/s])."""
    plan = planner.step(DT)
    assert plan.feet is not None  # it walks
    solution = inverse(robot, plan.feet, joints)
    return plan, solution.joints, joint_velocities(robot, solution.joints, plan.feet_velocity)


def difference(planner: Planner, floor: Floor, ticks: int = SAME) -> float:
    """Greatest difference between Python and C over a walk [rad, rad/s, m, N]."""
    joints = np.array(planner._row)
    worst = 0.0
    for _ in range(ticks):
        plan, joints, speeds = python_tick(planner, planner.robot, joints)
        floor.walk(DT, 1)
        pairs = [(joints, floor.joints), (speeds, floor.joint_speeds)]
        pairs += [(np.array(getattr(plan, name)), floor.said(name)) for name in SAID]
        worst = max(worst, *(float(np.abs(ours - other).max()) for ours, other in pairs))
    return worst


def _seconds(work: Callable[[], object]) -> float:
    """CPU time [s]: what else the machine does does not count."""
    begin = time.thread_time()
    work()
    return time.thread_time() - begin


def _compared(python: list[float], c: list[float]) -> dict[str, float]:
    ours, floor = median(python), median(c)
    return {"c_us": round(floor, 3), "python_us": round(ours, 2), "ratio": round(ours / floor, 2)}


def measure(robot: Robot, progress: Callable[[str], None]) -> dict[str, object]:
    """`tick` (the robot's own gait), `tick_parts` of it, `tick_gaits`, `tick_watched`. Raises NoCompilerError."""
    library = compiled()
    gaits: dict[str, object] = {}
    found: dict[str, object] = {"tick_gaits": gaits}
    names = walking(robot, "").capabilities.gaits
    for gait in names:
        progress(f"tick: {gait}")
        planner = walking(robot, gait)
        floor = Floor(library, planner)
        same = difference(planner, floor)
        whole, parts = _timed(planner, floor)
        if gait == robot.walk.gait:
            found |= {"tick": whole, "tick_parts": parts}
        gaits[gait] = {**whole, "greatest_difference": same}
    progress("tick: watched")
    return found | {"tick_watched": watched(robot)}


def watched(robot: Robot) -> dict[str, float]:
    """What motion player, guard of joints and legs, loads and static margin add to a tick that only walks.

    Both walk the same: `bare_us` is gait, feet, kinematics and speeds, `watched_us` the whole tick of the planner's
    node in the middle of a motion.
    """
    bare_walk = walking(robot, "").standing_walk
    assert bare_walk is not None
    player = _playing(robot)

    def bare() -> None:
        joints = np.array(player.planner._row)
        feet = None
        for _ in range(PYTHON_TICKS):
            found = bare_walk.advance(DT, joints.tolist())
            now = read_only(found.centres)
            joints = inverse(robot, now, joints).joints
            joint_velocities(robot, joints, (now - (now if feet is None else feet)) / DT)
            feet = now

    def whole() -> None:
        joints = np.array(player.planner._row)
        for _ in range(PYTHON_TICKS):
            _, joints, _ = python_tick(player, robot, joints)

    batches = [[1e6 * _seconds(work) / PYTHON_TICKS for work in (bare, whole)] for _ in range(REPEATS)]
    plain, full = (median(column) for column in zip(*batches, strict=True))
    return {"bare_us": round(plain, 2), "watched_us": round(full, 2), "ratio": round(full / plain, 2)}


def _playing(robot: Robot) -> MotionPlayer:
    """A player in the middle of a motion that walks the usual arc."""
    player = MotionPlayer(standing(robot, ""))
    step = WalkStep(x=TWIST.vx, yaw=TWIST.wz, duration=600.0)
    player.execute(RehearsedMotion(Choreography(name="arc", steps=(step,)), 600.0))
    for _ in range(round(SETTLED / DT)):
        player.step(DT)
    return player


def _timed(planner: Planner, floor: Floor) -> tuple[dict[str, float], dict[str, object]]:
    """Medians of the batches: the whole tick, and its parts (kinematics: whole less planner)."""

    def walk() -> None:
        joints = np.array(planner._row)
        for _ in range(PYTHON_TICKS):
            _, joints, _ = python_tick(planner, planner.robot, joints)

    def plan() -> None:
        for _ in range(PYTHON_TICKS):
            planner.step(DT)

    works = (walk, lambda: floor.walk(DT, C_TICKS), plan, lambda: floor.plan(DT, C_TICKS))
    counts = (PYTHON_TICKS, C_TICKS, PYTHON_TICKS, C_TICKS)
    batches = [
        [1e6 * _seconds(work) / count for work, count in zip(works, counts, strict=True)] for _ in range(REPEATS)
    ]
    python, c, python_plan, c_plan = (list(column) for column in zip(*batches, strict=True))
    rest = [a - b for a, b in zip(python, python_plan, strict=True)], [a - b for a, b in zip(c, c_plan, strict=True)]
    return _compared(python, c), {"planner": _compared(python_plan, c_plan), "kinematics": _compared(*rest)}
