"""Search for the stride centers with which a robot walks fastest in every direction of travel.

A foot strides fastest where its leg is perpendicular to the motion and stretched out, so the best stride center depends
on the direction of travel. For each direction, a bisection finds the highest speed at which every leg has a center that
allows it and the static margin is sufficient; of the possible centers, those nearest to the neutral footholds are used
(top_speeds.py). Dynamic programming then selects a closed curve of centers over the heading of the foot, for each leg:
the shortest one that loses little speed.
See docs/architecture/walking-mathematics.md, "Stride centers".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Robot
from hexapod_control.core.workspace.stance_regions import MIN_RADIUS, TIBIA_CLEARANCE, nominal_stance
from hexapod_control.core.workspace.strides.foot_paths import Points
from hexapod_control.core.workspace.strides.leg_centers import (
    TURNING,
    LegCenters,
    Travel,
    leg_centers,
    straight_travel,
    turning_travel,
)
from hexapod_control.core.workspace.strides.leg_choices import SEARCHED_HEADINGS
from hexapod_control.core.workspace.strides.steady_cycle import CycleLimits, SteadyCycle
from hexapod_control.core.workspace.strides.stride_regions import FAR_RAD, LegStrides, PolarOffset, moved_points
from hexapod_control.core.workspace.strides.top_speeds import (
    LEAST_MARGIN,
    TopSpeed,
    TopSpeedSearch,
    axis_of,
    spread_foothold,
)
from hexapod_control.core.workspace.swing_limits import STRIDE_SHARE, SWING_TIME_SCALES

STRIDE_RESERVE = 1.03  # factor on the stride length that a region must have room for
SHORTFALL_COST, DISTANCE_COST, MOTION_COST = 1000.0, 0.05, 0.05  # per squared share of speed, or of the leg's length
AXIS_COST = 1e4  # DISTANCE_COST at the body axes, so that the curve passes through the fastest centers there
AXIS_MOTION_FACTOR = 1000.0  # on MOTION_COST at the body axes: small deviations of a command hardly move centers
LAPS = 3  # of the dynamic programming over all headings; in the middle one the curve is closed
RETRIES = 10  # with smaller offsets, if legs come too close to each other or the static margin is too small
RETRY_FACTOR = 0.9  # on the offsets, per retry


def stride_centers(robot: Robot, gait: Gait) -> tuple[LegStrides, ...]:
    """The stride centers of all legs for a gait, with which legs do not collide and the robot is stable."""
    legs = [leg_centers(robot, row, gait) for row in range(len(robot.legs))]
    travels = [*(straight_travel(len(legs), k) for k in range(SEARCHED_HEADINGS)), turning_travel(legs)]
    search = TopSpeedSearch(robot, gait, legs)
    tops = search.tops(travels)
    half_stance = 0.5 * gait.stance * robot.walk.swing_time / STRIDE_SHARE
    offsets_and_radii = []
    for row, leg in enumerate(legs):
        chosen = [*_curve(leg, row, tops), tops[TURNING].chosen[row]]
        strides = [
            STRIDE_RESERVE * top.speed * travel.speeds[row] * SWING_TIME_SCALES[top.swing] * half_stance
            for travel, top in zip(travels, tops, strict=True)
        ]
        strides[TURNING] *= abs(leg.centers[chosen[TURNING]]) / abs(leg.foothold)
        centers = leg.centers[chosen] - leg.hip
        offsets = np.stack(
            (np.abs(centers) - abs(leg.foothold - leg.hip), np.angle(centers / (leg.foothold - leg.hip))), -1
        )
        offsets_and_radii.append((offsets, np.clip(strides, MIN_RADIUS, leg.radii[np.arange(len(chosen)), chosen])))
    return _separated(robot, gait, legs, travels, offsets_and_radii)


def _curve(leg: LegCenters, row: int, tops: Sequence[TopSpeed]) -> list[int]:
    """Index of the center of a leg (row) for each heading: the shortest closed curve that loses little speed.

    Dynamic programming: `total` is the lowest cost of a curve up to this heading, by its last center.
    """
    costs = [
        _distance_cost(leg, leg.centers[top.chosen[row]], AXIS_COST) if axis_of(k) == k else _cost(leg, k, top)
        for k, top in enumerate(tops[:SEARCHED_HEADINGS])
    ]
    apart = (np.abs(leg.centers[:, None] - leg.centers) / leg.length) ** 2
    total, predecessors = costs[0], []
    for step in range(1, LAPS * SEARCHED_HEADINGS):
        k = step % SEARCHED_HEADINGS
        extended = total[:, None] + MOTION_COST * _motion_factor(k) * apart  # by last center, and the next one
        predecessors.append(extended.argmin(axis=0))
        total = extended.min(axis=0) + costs[k]
    path = [int(total.argmin())]
    for predecessor in reversed(predecessors):
        path.append(int(predecessor[path[-1]]))
    return path[::-1][SEARCHED_HEADINGS : 2 * SEARCHED_HEADINGS]


def _cost(leg: LegCenters, heading: int, top: TopSpeed) -> Array:
    """Cost (C,) of every center of a leg: of its shortfall in speed, and of its distance from the spread foothold."""
    if not top.spread:  # strides about the neutral foothold are the fastest
        return _distance_cost(leg, leg.foothold, SHORTFALL_COST)
    shortfall = np.maximum(0.0, 1.0 - leg.speeds[top.swing, heading] / top.speed)
    away = _distance_cost(leg, complex(spread_foothold(leg, top.heading, np.array(top.spread))), DISTANCE_COST)
    return SHORTFALL_COST * shortfall**2 + away


def _distance_cost(leg: LegCenters, point: complex, weight: float) -> Array:
    """Cost (C,) of the distance of every center from a point [m]."""
    cost: Array = weight * (np.abs(leg.centers - point) / leg.length) ** 2
    return cost


def _motion_factor(heading: int) -> float:
    """Factor on MOTION_COST from the previous heading to this one."""
    return AXIS_MOTION_FACTOR if heading % (SEARCHED_HEADINGS // 2) in (0, 1) else 1.0


def _separated(
    robot: Robot,
    gait: Gait,
    legs: Sequence[LegCenters],
    travels: Sequence[Travel],
    offsets_and_radii: Sequence[tuple[Array, Array]],
) -> tuple[LegStrides, ...]:
    """The strides, with smaller offsets where legs come too close or the static margin is too small."""
    neutral = np.array(nominal_stance(robot).radii)
    offsets, radii = (np.array(values) for values in zip(*offsets_and_radii, strict=True))
    hips = np.array([leg.hip for leg in legs])
    arms = np.array([leg.foothold for leg in legs]) - hips
    for k, travel in enumerate(travels):
        required = CycleLimits(LEAST_MARGIN.of(robot), TIBIA_CLEARANCE)
        for attempt in range(RETRIES if offsets[:, k].any() else 0):
            if attempt == 1:  # no more than with strides about the neutral footholds
                for limits in _limits(robot, gait, travel, hips + arms, neutral):
                    required = required.at_most(*limits)
            outward, angle = offsets[:, k].T
            centers = hips + moved_points(arms, outward, angle)
            if all(limits.at_least(required) for limits in _limits(robot, gait, travel, centers, radii[:, k])):
                break
            offsets[:, k] *= RETRY_FACTOR
            radii[:, k] = RETRY_FACTOR * radii[:, k] + (1.0 - RETRY_FACTOR) * neutral
        else:
            offsets[:, k], radii[:, k] = 0.0, neutral
    return tuple(_strides(*columns) for columns in zip(offsets, radii, strict=True))


def _strides(offsets: Array, radii: Array) -> LegStrides:
    """The strides at all headings: between two searched headings their mean, or the first one if they are far apart."""
    all_offsets, all_radii = [], []
    for k in range(SEARCHED_HEADINGS):
        here, there = offsets[k], offsets[(k + 1) % SEARCHED_HEADINGS]
        between = 0.5 * (here + there) if abs(there[1] - here[1]) < FAR_RAD else here
        all_offsets += [PolarOffset(*here.tolist()), PolarOffset(*between.tolist())]
        all_radii += [float(radii[k]), float(min(radii[k], radii[(k + 1) % SEARCHED_HEADINGS]))]
    turning_offset, turning_radius = PolarOffset(*offsets[TURNING].tolist()), float(radii[TURNING])
    return LegStrides((*all_offsets, turning_offset), (*all_radii, turning_radius))


def _limits(robot: Robot, gait: Gait, travel: Travel, centers: Points, radii: Array) -> Iterator[CycleLimits]:
    """Yields the smallest static margin and gap of full strides along a direction of travel: forward, then backward."""
    factors = np.abs(centers) if travel.heading == TURNING else np.ones(len(centers))
    longest = 2.0 * STRIDE_SHARE / STRIDE_RESERVE * float((radii / factors).min())
    for axis in (travel.axis, travel.axis.scaled(-1.0)):
        yield SteadyCycle(robot, gait, axis).limits(longest / gait.stance, centers, TIBIA_CLEARANCE)
