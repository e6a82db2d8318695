"""The speed that a robot reaches in physics near its top speed."""

from __future__ import annotations

import importlib.util
import math

from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import ZERO, Twist

COMMANDED_SHARE = 0.98  # of the top speed: the walk slows down for moments at the limit itself


def walked_speed(robot_file: RobotFile, gait: str, top: Twist) -> float | None:
    """The top speed along an axis [m/s or rad/s] times the achieved over the commanded speed of a walk in physics.

    None without MuJoCo. Raises WalkError.
    """
    if importlib.util.find_spec("mujoco") is None:
        return None
    from hexapod_control.evaluation.quality.lockstep import Course, walk
    from hexapod_control.sim.simulation import Simulation
    from hexapod_control.sim.world_settings import WorldSettings

    simulation = Simulation(robot_file.robot, urdf(robot_file), WorldSettings())
    return walk(simulation, Course(gait, top.scaled(COMMANDED_SHARE))).ratio * math.dist(top, ZERO)
