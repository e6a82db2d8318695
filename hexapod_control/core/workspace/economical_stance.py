# SPDX-License-Identifier: Apache-2.0
"""Chooses height and width of the stance in which a robot needs least power, with its gait and the time of its steps.

Most of the power of a slow walk holds the body up, and it grows with the squares of the torques. They are smaller with
the body higher, or the feet nearer to it. All legs move by the same shares of their lengths, along the lines from their
hips to their footholds. Kept are the gaits, the static margin in the longest strides, and most of the length of these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product

from hexapod_control.core.gait.gait_table import AUTO, Gait
from hexapod_control.core.robot import Leg, Point, Robot
from hexapod_control.core.statics.moving_mass import neutral_center
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.core.workspace.stance_regions import MIN_RADIUS, nominal_stance
from hexapod_control.core.workspace.stride_stability import stride_heat, stride_margin, usable_share
from hexapod_control.core.workspace.swing_limits import SWING_TIME_SCALES

RISES = tuple(k / 20 for k in range(9))  # of the body, as shares of femur plus tibia
MOVES_OUT = tuple(k / 40 for k in range(-8, 3))  # of the feet, the same
KEPT_STRIDE = 0.7  # of the longest strides: they need fewer swings, and allow the speed
MAX_STRETCH = 0.85  # of the legs in the neutral stance: the knees of longer ones turn fast and brace against each other
EQUAL_MARGIN_M = 0.001
DIGITS = 4  # decimals of height and footholds [m]


@lru_cache(maxsize=8)
def economical(robot: Robot) -> Robot:
    """The robot in that stance, with slow steps.

    At low speeds it walks in slower gaits, in which more legs bear the weight, unless its file names one of these. A
    robot whose body sways keeps its stance and gait. Raises ValueError without a gait.
    """
    known = gaits(robot)
    fastest = min(known.values(), key=lambda each: each.stance_time)
    gait = known.get(robot.walk.gait, fastest)
    if gait.sway is not None:
        return _slow(robot, robot.walk.gait)
    stances = sorted((robot, *_stances(robot, gait)), key=lambda each: stride_heat(each, gait))
    least = _margin(robot, gait) - EQUAL_MARGIN_M
    steady = (each for each in stances if gaits(each).keys() == known.keys() and _margin(each, gait) >= least)
    best = next(steady)  # at the latest the robot as it is
    return _slow(best, AUTO if gait is fastest else gait.name)


def _slow(robot: Robot, gait: str) -> Robot:
    """Slow swings need less torque for the inertia of motors, and there are fewer of them."""
    return replace(robot, walk=replace(robot.walk, gait=gait, tempo=SWING_TIME_SCALES[-1]))


def _stances(robot: Robot, gait: Gait) -> Iterator[Robot]:
    """The robot in the stances that allow long strides."""
    shortest = max(MIN_RADIUS, KEPT_STRIDE * _stride(robot, gait))
    for rise, out in product(RISES, MOVES_OUT):
        legs = tuple(replace(leg, foothold=_moved(leg, out)) for leg in robot.legs)
        height = round(robot.walk.height + rise * min(leg.reach for leg in robot.legs), DIGITS)
        stance = replace(robot, legs=legs, walk=replace(robot.walk, height=height))
        if _stretch(stance) > MAX_STRETCH:
            continue
        if min(nominal_stance(stance).radii) >= MIN_RADIUS and _stride(stance, gait) >= shortest:
            yield stance


def _stretch(robot: Robot) -> float:
    """Distance from femur joint to foot in the neutral stance, as a share of femur plus tibia: of the longest leg."""
    heights = [robot.walk.height + leg.hip[2] + leg.femur_vertical - robot.foot_radius for leg in robot.legs]
    outwards = [math.dist(leg.hip[:2], leg.foothold) - leg.coxa.length for leg in robot.legs]
    return max(math.hypot(*each) / leg.reach for leg, *each in zip(robot.legs, outwards, heights, strict=True))


def _moved(leg: Leg, out: float) -> Point:
    hip = leg.hip[:2]
    further = 1.0 + out * leg.reach / math.dist(hip, leg.foothold)
    x, y = (round(h + further * (f - h), DIGITS) for h, f in zip(hip, leg.foothold, strict=True))
    return x, y


def _stride(robot: Robot, gait: Gait) -> float:
    return usable_share(robot, gait) * min(nominal_stance(robot).radii)


def _margin(robot: Robot, gait: Gait) -> float:
    return stride_margin((gait,), nominal_stance(robot), neutral_center(robot), usable_share(robot, gait))
