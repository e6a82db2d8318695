# SPDX-License-Identifier: Apache-2.0
"""Chooses the footholds of the legs whose foothold the robot file leaves out.

All these legs turn to a neutral coxa angle (zero, mid-range, or radially outward) and step equally far out, in shares
of their lengths. The stance with the best score is taken; the robot must be statically stable in the gait of its file.

The score: large stance regions, and little load on the servos. The radius of the smallest stance region limits the
speed in the worst direction. Subtracted from it are costs of the lever arm of the load and of the height, of femur
servos that bear more than they can hold for long, of feet that would slide, and, where it depends on the stance, of the
swing time.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hexapod_control.core.robot import Joint, Leg, Robot
from hexapod_control.core.statics.leg_loads import LoadedLeg
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.core.workspace.robot_gaits import gait_names
from hexapod_control.core.workspace.stance_regions import MIN_RADIUS, max_radii, radius_about

MAX_COXA_RAD = math.radians(20.0)  # of a foothold's coxa angle from mid-range
SHARES = tuple(np.linspace(0.1, 1.0, 37).tolist())  # of femur plus tibia, between femur axis and foothold
DIGITS = 4  # decimals of a foothold [m]
USUAL_FRICTION = 0.7  # coefficient that every foot has; legs stretched out flat need more, or their feet slide
# Weights of the costs against the radius of the smallest stance region, all lengths over the size of a leg.
LOAD_WEIGHT = 0.25  # of the lever arm of the load
TORQUE_WEIGHT = 1.0  # of the femur load beyond half of the stall torque, over the stall torque
HEIGHT_WEIGHT = 0.15  # of the walking height
FRICTION_WEIGHT = 0.5  # of the friction beyond USUAL_FRICTION that keeps the feet in place
SWING_WEIGHT = 0.15  # of the logarithm of the swing time: half the time gives as much speed as a larger region


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
    chosen = [robot.legs[row] for row in rows]
    for turns in zip(*(neutral_turns(leg.coxa_joint, _radial(leg, middle)) for leg in chosen), strict=True):
        for share in SHARES:
            legs = list(robot.legs)
            for row, turn in zip(rows, turns, strict=True):
                legs[row] = replace(legs[row], foothold=_foothold(legs[row], turn, share))
            yield replace(robot, legs=tuple(legs))


def neutral_turns(joint: Joint, radial: float, aside: float = math.inf) -> tuple[float, float, float]:
    """Coxa angles [rad] to try: zero, mid-range, and `radial`, away from the middle of the hips.

    They are at most `aside` [rad] from mid-range.
    """
    middle = (joint.lower + joint.upper) / 2.0
    least = max(joint.lower, middle - aside)
    most = min(joint.upper, middle + aside)
    zero, outward = (min(max(angle, least), most) for angle in (0.0, radial))
    return zero, middle, outward


def _radial(leg: Leg, middle: complex) -> float:
    """Coxa angle [rad] that points away from the middle [m] of the hips."""
    outward = complex(*leg.hip[:2]) - middle
    return math.remainder(cmath.phase(outward) - leg.hip_yaw, math.tau) if outward else 0.0


def _foothold(leg: Leg, turn: float, share: float) -> tuple[float, float]:
    """The point (x, y) [m] in the direction of a coxa angle [rad] at a share of the length of femur and tibia."""
    distance = leg.coxa.length + share * leg.reach
    point = complex(*leg.hip[:2]) + cmath.rect(distance, leg.hip_yaw + turn)
    return round(point.real, DIGITS), round(point.imag, DIGITS)


class ScoredStance(NamedTuple):
    """A robot in its stance."""

    score: float
    radius: float  # [m] of the smallest stance region
    robot: Robot


def best_stance(
    candidates: Iterable[Robot], size: float, acceptable: Callable[[Robot], object] = lambda robot: True
) -> ScoredStance | None:
    """The best of the robots that differ in their stance; None if none has a stance region for every foot.

    `size` [m] is a typical length of femur plus tibia. Only candidates better than the best so far are
    checked for being `acceptable`.
    """
    best: ScoredStance | None = None
    best_score = -math.inf
    for robot in candidates:
        cost = (LOAD_WEIGHT * reach(robot) + HEIGHT_WEIGHT * robot.walk.height) / size + _overload(robot)
        cost += _slide(robot)
        cost += SWING_WEIGHT * math.log(robot.walk.swing_time)
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


def _slide(robot: Robot) -> float:
    """Cost of the friction that the feet need to stay in place under the weight, beyond what every foot has."""
    feet = [np.array(complex(*leg.foothold)) for leg in robot.legs]
    demands = [LoadedLeg.at(robot, leg, foot).demand.item() for leg, foot in zip(robot.legs, feet, strict=True)]
    return FRICTION_WEIGHT * max(0.0, max(demands) - USUAL_FRICTION)
