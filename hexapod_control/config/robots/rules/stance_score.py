"""Score of a stance: large stance regions, and little load on the servos.

The radius of the smallest stance region limits the speed in the worst direction. Subtracted from it are costs of the
lever arm of the load and of the height, and of femur servos that bear more than they can hold for long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from hexapod_control.core.robot import Robot
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.core.workspace.stance_regions import MIN_RADIUS, max_radii, radius_about

# Weights of the costs against the radius of the smallest stance region, all lengths over the size of a leg.
LOAD_WEIGHT = 0.25  # of the lever arm of the load
TORQUE_WEIGHT = 1.0  # of the femur load beyond half of the stall torque, over the stall torque
HEIGHT_WEIGHT = 0.15  # of the walking height


class ScoredStance(NamedTuple):
    """A robot in its stance."""

    score: float
    radius: float  # [m] of the smallest stance region
    robot: Robot


def best_stance(
    candidates: Iterable[Robot], size: float, acceptable: Callable[[Robot], bool] = lambda robot: True
) -> ScoredStance | None:
    """The best of the robots that differ in their stance; None if none has a stance region for every foot.

    `size` [m] is a typical length of femur plus tibia. Only candidates better than the best so far are
    checked for being `acceptable`.
    """
    best: ScoredStance | None = None
    best_score = -math.inf
    for robot in candidates:
        cost = (LOAD_WEIGHT * reach(robot) + HEIGHT_WEIGHT * robot.walk.height) / size + _overload(robot)
        radius = _min_radius(robot, max(MIN_RADIUS, size * (best_score + cost)))
        if radius >= MIN_RADIUS and radius / size - cost > best_score and acceptable(robot):
            best_score = radius / size - cost
            best = ScoredStance(best_score, radius, robot)
    return best


def reach(robot: Robot) -> float:
    """Mean horizontal distance [m] from the femur axes to the feet."""
    return float(np.mean([math.dist(leg.hip[:2], leg.foothold) - leg.coxa.length for leg in robot.legs]))


def _min_radius(robot: Robot, wanted: float) -> float:
    """The smallest radius [m] of a stance region; 0 as soon as one is below `wanted`."""
    least = math.inf
    apart = max_radii(robot)
    if min(apart) < wanted:
        return 0.0
    for leg, most in zip(robot.legs, apart, strict=True):
        least = min(least, radius_about(leg, robot, leg.foothold, robot.walk.height, most))
        if least < wanted:
            return 0.0
    return least


def _overload(robot: Robot) -> float:
    """Cost of the femur torques, standing on half of the legs, beyond the continuous torque of the servos."""
    load = robot.mass * GRAVITY * reach(robot) / (len(robot.legs) / 2.0)
    return TORQUE_WEIGHT * max(0.0, load / robot.legs[0].femur_joint.stall_torque - 0.5)
