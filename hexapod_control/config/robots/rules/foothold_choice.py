"""Chooses the footholds of the legs whose foothold the robot file leaves out.

All these legs turn to a neutral coxa angle (zero, mid-range, or radially outward) and step equally far out, in shares
of their lengths. The stance with the best score is taken; the robot must be statically stable in the gait of its file.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Collection, Iterator
from dataclasses import replace

import numpy as np

from hexapod_control.config.robots.rules.stance_score import best_stance
from hexapod_control.core.robot import Leg, Robot
from hexapod_control.core.workspace.robot_gaits import gait_names

SHARES = tuple(np.linspace(0.1, 1.0, 37).tolist())  # of femur plus tibia, between femur axis and foothold
DIGITS = 4  # decimals of a foothold [m]


def with_footholds(robot: Robot, rows: Collection[int]) -> Robot:
    """The robot with footholds for the legs in these rows; arbitrary ones if no stance at its height has regions."""
    size = float(np.mean([leg.reach for leg in robot.legs]))
    candidates = list(_candidates(robot, rows))
    found = best_stance(candidates, size, _walks) or best_stance(candidates, size)
    return found.robot if found is not None else candidates[len(SHARES) // 2]


def _walks(robot: Robot) -> bool:
    """True if the robot is statically stable in the gait of its file."""
    try:
        return robot.walk.gait in gait_names(robot)
    except ValueError:
        return False


def _candidates(robot: Robot, rows: Collection[int]) -> Iterator[Robot]:
    middle = np.mean([complex(*leg.hip[:2]) for leg in robot.legs]).item()
    for turns in zip(*(_neutral_turns(robot.legs[row], middle) for row in rows), strict=True):
        for share in SHARES:
            legs = list(robot.legs)
            for row, turn in zip(rows, turns, strict=True):
                legs[row] = replace(legs[row], foothold=_foothold(legs[row], turn, share))
            yield replace(robot, legs=tuple(legs))


def _neutral_turns(leg: Leg, middle: complex) -> tuple[float, float, float]:
    """Coxa angles [rad] to try: zero, mid-range, and away from the middle [m] of the hips."""
    outward = complex(*leg.hip[:2]) - middle
    radial = math.remainder(cmath.phase(outward) - leg.hip_yaw, math.tau) if outward else 0.0
    lower, upper = leg.coxa_joint.lower, leg.coxa_joint.upper
    zero, radial = (min(max(angle, lower), upper) for angle in (0.0, radial))
    return zero, (lower + upper) / 2.0, radial


def _foothold(leg: Leg, turn: float, share: float) -> tuple[float, float]:
    """The point (x, y) [m] in the direction of a coxa angle [rad] at a share of the length of femur and tibia."""
    distance = leg.coxa.length + share * leg.reach
    point = complex(*leg.hip[:2]) + cmath.rect(distance, leg.hip_yaw + turn)
    return round(point.real, DIGITS), round(point.imag, DIGITS)
