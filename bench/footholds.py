# SPDX-License-Identifier: Apache-2.0
"""The top speed along each axis, what is achieved of it in physics, and what other footholds would allow."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable

from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.robot import Robot
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.evaluation.robot_check.foothold_search import FoundStride, fastest_stride
from hexapod_control.evaluation.robot_check.subject import AXES

COMMANDED_SHARE = 0.98  # of the top speed: the walk slows down for moments at the limit itself


def measure(robot_file: RobotFile, progress: Callable[[str], None]) -> dict[str, object]:
    """`footholds`: the top speed along each axis, what is achieved of it in physics, and what other footholds allow."""
    robot = robot_file.robot
    found = {}
    capabilities = Capabilities.of(robot)
    for name, axis in AXES.items():
        progress(f"footholds: {name}")
        tops = {gait: capabilities.fastest(axis, [gait]) for gait in capabilities.gaits}
        fastest = max(tops, key=lambda gait: math.dist(tops[gait], ZERO))
        own = math.dist(tops[fastest], ZERO)
        achieved = walked_speed(robot_file, fastest, tops[fastest])
        gaits = capabilities.gaits.values()
        moved = fastest_stride(robot, gaits, axis)
        free = fastest_stride(robot, gaits, axis, moved)
        found[name] = {
            "own": round(own, 4),
            "achieved": achieved and round(achieved, 4),
            "moved": _as_json(robot, moved),
            "free": _as_json(robot, free),
            "ratio": round(own / free.speed, 3) if free.speed else None,
        }
    return {"footholds": found}


def walked_speed(robot_file: RobotFile, gait: str, top: Twist) -> float | None:
    """The top speed along an axis [m/s or rad/s] times the achieved over the commanded speed of a walk in physics.

    None without MuJoCo. Raises WalkError.
    """
    if importlib.util.find_spec("mujoco") is None:
        return None
    from walk_quality import Course, walk

    from hexapod_control.sim.simulation import Simulation
    from hexapod_control.sim.world_settings import WorldSettings

    simulation = Simulation(robot_file.robot, urdf(robot_file), WorldSettings())
    return walk(simulation, Course(gait, top.scaled(COMMANDED_SHARE))).ratio * math.dist(top, ZERO)


def _as_json(robot: Robot, found: FoundStride) -> dict[str, object]:
    """Converts a result for JSON."""
    footholds = {
        leg.name: [round(p.real, 4), round(p.imag, 4)] for leg, p in zip(robot.legs, found.centers, strict=False)
    }
    return {
        "speed": round(found.speed, 4),
        "gait": found.gait,
        "swing_time": round(found.swing_time, 3),
        "footholds": footholds,
    }
