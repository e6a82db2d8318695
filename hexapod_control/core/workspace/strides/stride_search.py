# SPDX-License-Identifier: Apache-2.0
"""Search for the stride centers with which a robot walks fastest in every direction of travel.

A foot strides fastest where its leg is perpendicular to the motion and stretched out, so the best stride center depends
on the direction of travel. For each direction, a bisection finds the highest speed at which every leg has a center that
allows it and the static margin is sufficient. For each swing time and speed, the centers that allow it are compared:
those nearest to the neutral footholds, and those nearest to footholds that are spread outwards, for a greater static
margin. Dynamic programming then selects a closed curve of centers over the heading of the foot, for each leg: the
shortest one that loses little speed.

A foot far from its hip is fast, but the servo of the coxa holds it by a long lever. On such compliant legs the body is
an oscillator, excited by the steps: if their frequency is too near to its natural frequency, the feet slip. So the
frequency ratio, step frequency over natural frequency, is bounded; a walk that is a little slower is used if its ratio
is lower. The smaller the loss of speed, the higher the permitted ratio; but there is a highest one, whatever the loss.
See docs/architecture/walking-mathematics.md, "Stride centers".
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Robot
from hexapod_control.core.statics.moving_mass import MovingMass
from hexapod_control.core.workspace.stance_regions import MIN_RADIUS, TIBIA_CLEARANCE, nominal_stance
from hexapod_control.core.workspace.stride_stability import MAX_TORQUE_SHARE, MIN_STRIDE_MARGIN, usable_share
from hexapod_control.core.workspace.strides.leg_centers import (
    SEARCHED_HEADINGS,
    TURNING,
    LegCenters,
    Travel,
    leg_centers,
    straight_travel,
    turning_travel,
)
from hexapod_control.core.workspace.strides.steady_cycle import CycleLimits, Points, SteadyCycle
from hexapod_control.core.workspace.strides.stride_table import FAR_RAD, LegStrides, PolarOffset, moved_points
from hexapod_control.core.workspace.swing_limits import STRIDE_SHARE, SWING_TIME_SCALES


class MarginBound(NamedTuple):
    """A bound of the static margin."""

    distance: float  # [m]
    share: float  # of the width of the stance; the smaller of both bounds is used, for small robots

    def of(self, robot: Robot) -> float:
        """The bound [m] for a robot."""
        sides = [leg.foothold[1] for leg in robot.legs]
        return min(self.distance, self.share * (max(sides) - min(sides)))


USUAL_MARGIN = MarginBound(0.024, 0.13)  # static margin with moved centers ...
LEAST_MARGIN = MarginBound(0.021, 0.105)  # ... or this one, if the robot is then faster by the factor MIN_GAIN ...
MIN_GAIN = 1.02  # ... and the frequency ratio is not too high
SPREADS = tuple(sorted(product((1.0, 1.3, 1.7), (1.0, 1.15, 1.3, 1.7), (1.0, 1.15, 1.3)), key=math.prod))
"""Factors on the neutral footholds, for a greater margin: along the travel, across it, and across for middle legs."""
# of the bisection for the speed; it ends at a smaller factor between bounds
SPEED_STEPS = 9
SPEED_RESOLUTION = 1.003
MAX_FREQUENCY_RATIO = 0.485  # above it the feet slip ...
SLOWER = {0.985: 0.54, **dict.fromkeys((0.97, 0.95, 0.925, 0.9), MAX_FREQUENCY_RATIO)}
"""... so these shares of the speed that the legs alone allow are tried, each with a bound of the frequency ratio."""
HIGHEST_FREQUENCY_RATIO = 0.65  # above it the feet slip so much that a walk counts as too fast ...
MUCH_SLOWER = tuple(k / 40 for k in range(39, 19, -1))  # ... and these shares of the speed are tried as well
NEAR_AXIS = 0.9  # of the speed along a body axis: required in the headings next to it, with the same centers


class TopSpeed(NamedTuple):
    """The highest speed in a direction of travel."""

    speed: float  # [m/s] or [rad/s]
    swing: int  # index of the swing time
    spread: tuple[float, ...]  # one of SPREADS; empty: strides about the neutral footholds
    heading: int  # along which the footholds are spread
    frequency_ratio: float  # step frequency over natural frequency
    chosen: tuple[int, ...]  # index of the center of every leg


class TravelReach(NamedTuple):
    """The speeds that the legs allow in a direction of travel, regardless of the static margin."""

    travel: Travel
    speeds: list[Array]  # [m/s] or [rad/s] by leg: (swing times, centers)
    bounds: Array  # (swing times,) highest speed with the best center of every leg
    distances: list[Array]  # by leg, see `_distances_to_spread`; megabytes, so they exist for one direction at a time

    @classmethod
    def of(cls, travel: Travel, legs: Sequence[LegCenters]) -> TravelReach:
        """The speeds that the candidate centers of all legs allow."""
        speeds = [leg.speeds[:, travel.heading] / factor for leg, factor in zip(legs, travel.speeds, strict=True)]
        distances = [_distances_to_spread(leg, travel.heading) for leg in legs]
        return cls(travel, speeds, np.min([s.max(axis=-1) for s in speeds], axis=0), distances)


def min_gap(robot: Robot, gait: Gait) -> float:
    """Required horizontal gap [m] between neighbouring legs: no more than they have at their neutral footholds."""
    neutral = np.array([[complex(*leg.foothold) for leg in robot.legs]])
    return min(TIBIA_CLEARANCE, float(SteadyCycle(robot, gait, Twist(1.0, 0.0, 0.0)).horizontal_gaps(0.0, neutral)[0]))


class TopSpeedSearch:
    """Searches the highest speed of one robot in one gait."""

    def __init__(self, robot: Robot, gait: Gait, legs: Sequence[LegCenters]) -> None:
        self._robot = robot
        self._gait = gait
        self._legs = legs
        self._mass = MovingMass.of(robot)
        self._usual_margin = USUAL_MARGIN.of(robot)
        self._least_margin = LEAST_MARGIN.of(robot)
        self._gap = min_gap(robot, gait)

    def tops(self, travels: Sequence[Travel]) -> list[TopSpeed]:
        """The highest speeds in all directions of travel; headings next to a body axis use the centers of that axis."""
        by_heading = {
            travel.heading: self.top(travel) for travel in travels if axis_of(travel.heading) in (None, travel.heading)
        }
        for travel in travels:
            axis = axis_of(travel.heading)
            if axis is not None and travel.heading != axis:
                by_heading[travel.heading] = by_heading[axis]._replace(speed=NEAR_AXIS * by_heading[axis].speed)
        return [by_heading[travel.heading] for travel in travels]

    def top(self, travel: Travel) -> TopSpeed:
        """The highest speed in a direction of travel, with any swing time, or less for a lower frequency ratio."""
        reach = TravelReach.of(travel, self._legs)
        best = self._fastest(reach, self._usual_margin, self._neutral_top(travel), SPEED_RESOLUTION)
        margin = self._usual_margin
        faster = self._fastest(reach, self._least_margin, best, MIN_GAIN)
        if best.speed < faster.speed and faster.frequency_ratio <= max(best.frequency_ratio, MAX_FREQUENCY_RATIO):
            best = faster
            margin = self._least_margin
        if travel.heading == TURNING or best.frequency_ratio <= MAX_FREQUENCY_RATIO:
            return best
        slower = list(SLOWER.items())
        if best.frequency_ratio > HIGHEST_FREQUENCY_RATIO:
            slower += [(share, HIGHEST_FREQUENCY_RATIO) for share in MUCH_SLOWER]
        for share, max_ratio in slower:
            speed = share * float(reach.bounds.max())
            usable = np.flatnonzero(reach.bounds >= speed).tolist() if speed < best.speed else []
            tops = [self._stable(reach, speed, k, margin) for k in usable]
            bound = min(max_ratio, best.frequency_ratio)
            better = [top for top in tops if top is not None and top.frequency_ratio < bound]
            if better:
                return min(better, key=lambda top: top.frequency_ratio)
        return best

    def _fastest(self, reach: TravelReach, margin: float, best: TopSpeed, gain: float) -> TopSpeed:
        """The fastest walk with a static margin [m]; the best one so far, unless it is faster by the factor `gain`."""
        wanted = gain * best.speed
        for k in np.argsort(-reach.bounds, kind="stable").tolist():
            low = best.speed
            high = float(reach.bounds[k])
            for step in range(SPEED_STEPS):
                lowest = max(wanted, low * SPEED_RESOLUTION)
                if high <= lowest:
                    break
                # First the lowest speed that would be a gain, then the highest that the legs allow, then bisection.
                speed = (lowest, high, 0.5 * (low + high))[min(step, 2)]
                top = self._stable(reach, speed, k, margin)
                if top is not None:
                    low = speed
                    best = top
                elif step == 0:
                    break
                else:
                    high = speed
        return best

    def _neutral_top(self, travel: Travel) -> TopSpeed:
        """The highest speed with strides about the neutral footholds."""
        times = np.array(SWING_TIME_SCALES) * self._robot.walk.swing_time
        longest = 2.0 * STRIDE_SHARE / self._gait.stance_time / times
        speeds = np.min(
            [
                np.minimum(leg.speeds[:, travel.heading, -1], longest * radius) / factor
                for leg, radius, factor in zip(
                    self._legs, usable_radii(self._robot, self._gait), travel.speeds, strict=True
                )
            ],
            axis=0,
        )
        swing = int(np.argmax(speeds))
        return TopSpeed(float(speeds[swing]), swing, (), travel.heading, 0.0, (-1,) * len(self._legs))

    def _stable(self, reach: TravelReach, speed: float, swing: int, margin: float) -> TopSpeed | None:
        """The centers with the lowest frequency ratio that allow a speed and keep a margin [m] and gaps, or None."""
        travel = reach.travel
        near = [
            np.where(speeds[swing] >= speed, distances, math.inf).argmin(axis=-1)
            for speeds, distances in zip(reach.speeds, reach.distances, strict=True)
        ]
        centers = np.stack([leg.centers[nearest] for leg, nearest in zip(self._legs, near, strict=True)], axis=-1)
        swing_time = SWING_TIME_SCALES[swing] * self._robot.walk.swing_time
        cycles = [SteadyCycle(self._robot, self._gait, axis) for axis in (travel.axis, travel.axis.scaled(-1.0))]
        travelled = speed * swing_time
        margins = np.min([cycle.support_margins(travelled, centers, self._mass) for cycle in cycles], axis=0)
        ratios = self._frequency_ratios(centers, swing_time)
        places = np.flatnonzero(margins >= margin)
        for cycle in cycles:
            places = places[cycle.horizontal_gaps(travelled, centers[places]) >= self._gap]
        if not len(places):
            return None
        place = places[ratios[places].argmin()]
        chosen = tuple(int(nearest[place]) for nearest in near)
        return TopSpeed(speed, swing, SPREADS[place], travel.heading, float(ratios[place]), chosen)

    def _frequency_ratios(self, centers: Points, swing_time: float) -> Array:
        """Step frequency over natural frequency of the body on its coxa servos (N,), for centers (N, legs) [m]."""
        legs = self._robot.legs
        stiffness = np.array([leg.coxa_joint.stiffness for leg in legs])
        arms = np.abs(centers - np.array([leg.hip for leg in self._legs]))
        mean_stiffness = self._gait.duty_factor * (stiffness / np.maximum(arms, MIN_RADIUS) ** 2).sum(axis=-1)
        ratios: Array = math.tau / swing_time / np.sqrt(mean_stiffness / self._robot.mass)
        return ratios


def usable_radii(robot: Robot, gait: Gait) -> Array:
    """Radii (legs,) [m] of the part of the stance regions over which strides keep a static margin and torques."""
    radii: Array = usable_share(robot, gait) * np.array(nominal_stance(robot).radii)
    return radii


def spread_foothold(leg: LegCenters, heading: int, spreads: Array) -> Points:
    """The foothold [m] of a leg, moved outwards by factors (..., 3) along and across a heading, see SPREADS."""
    ahead = cmath.rect(1.0, math.pi * heading / SEARCHED_HEADINGS) if heading != TURNING else 1.0
    place = leg.foothold / ahead
    middle = 1.0 - min(abs(place.real) / leg.span, 1.0)
    along, across, across_in_middle = spreads.T
    sideways = across * (1.0 + (across_in_middle - 1.0) * middle)
    spread: Points = ahead * (along * place.real + 1j * sideways * place.imag)
    return spread


def _distances_to_spread(leg: LegCenters, heading: int) -> Array:
    """Distances (SPREADS, C) [m] of the centers of a leg from its foothold, spread by each of SPREADS."""
    distances: Array = np.abs(leg.centers - spread_foothold(leg, heading, np.array(SPREADS))[:, None]).round(9)
    return distances


def axis_of(heading: int) -> int | None:
    """The heading of the body axis along or next to a heading, whose centers it uses; None if it is next to none."""
    half = SEARCHED_HEADINGS // 2
    nearest = round(heading / half) * half
    return nearest % SEARCHED_HEADINGS if heading != TURNING and abs(heading - nearest) <= 1 else None


STRIDE_RESERVE = 1.03  # factor on the stride length that a region must have room for
# per squared share of speed, or of the leg's length
SHORTFALL_COST = 1000.0
DISTANCE_COST = 0.05
MOTION_COST = 0.05
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
    half_stance = 0.5 * gait.stance_time * robot.walk.swing_time / STRIDE_SHARE
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
    total = costs[0]
    predecessors = []
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
    """The strides, with smaller offsets where legs come too close, or margin or torques are beyond their limits."""
    neutral = usable_radii(robot, gait)
    mass = MovingMass.of(robot)
    offsets, radii = (np.array(values) for values in zip(*offsets_and_radii, strict=True))
    hips = np.array([leg.hip for leg in legs])
    arms = np.array([leg.foothold for leg in legs]) - hips
    for k, travel in enumerate(travels):
        required = CycleLimits(LEAST_MARGIN.of(robot), TIBIA_CLEARANCE)
        most_torque = MAX_TORQUE_SHARE
        for attempt in range(RETRIES if offsets[:, k].any() else 0):
            if attempt == 1:  # no more than with strides about the neutral footholds
                for margin, gap in _limits(robot, gait, travel, hips + arms, neutral):
                    required = required.at_most(max(margin, MIN_STRIDE_MARGIN), gap)
                most_torque = max(most_torque, *_torques(robot, gait, travel, hips + arms, neutral, mass))
            outward, angle = offsets[:, k].T
            centers = hips + moved_points(arms, outward, angle)
            walk = robot, gait, travel, centers, radii[:, k]
            if max(_torques(*walk, mass)) <= most_torque and all(each.at_least(required) for each in _limits(*walk)):
                break
            offsets[:, k] *= RETRY_FACTOR
            radii[:, k] = RETRY_FACTOR * radii[:, k] + (1.0 - RETRY_FACTOR) * neutral
        else:
            offsets[:, k] = 0.0
            radii[:, k] = neutral
    return tuple(_strides(*columns) for columns in zip(offsets, radii, strict=True))


def _strides(offsets: Array, radii: Array) -> LegStrides:
    """The strides at all headings: between two searched headings their mean, or the first one if they are far apart."""
    all_offsets = []
    all_radii = []
    for k in range(SEARCHED_HEADINGS):
        here = offsets[k]
        there = offsets[(k + 1) % SEARCHED_HEADINGS]
        between = 0.5 * (here + there) if abs(there[1] - here[1]) < FAR_RAD else here
        all_offsets += [PolarOffset(*here.tolist()), PolarOffset(*between.tolist())]
        all_radii += [float(radii[k]), float(min(radii[k], radii[(k + 1) % SEARCHED_HEADINGS]))]
    turning_offset = PolarOffset(*offsets[TURNING].tolist())
    turning_radius = float(radii[TURNING])
    return LegStrides((*all_offsets, turning_offset), (*all_radii, turning_radius))


def _limits(robot: Robot, gait: Gait, travel: Travel, centers: Points, radii: Array) -> Iterator[CycleLimits]:
    """Yields the smallest static margin and gap of full strides along a direction of travel: forward, then backward."""
    for cycle, travelled in _cycles(robot, gait, travel, centers, radii):
        yield cycle.limits(travelled, centers, TIBIA_CLEARANCE)


def _torques(
    robot: Robot, gait: Gait, travel: Travel, centers: Points, radii: Array, mass: MovingMass
) -> Iterator[float]:
    """Yields the greatest torque of a servo in full strides, as `_limits`, as a share of its stall torque."""
    for cycle, travelled in _cycles(robot, gait, travel, centers, radii):
        yield cycle.torque_share(travelled, centers, mass)


def _cycles(
    robot: Robot, gait: Gait, travel: Travel, centers: Points, radii: Array
) -> Iterator[tuple[SteadyCycle, float]]:
    """Yields the cycles of full strides forward and backward, with the travel [m] or [rad] in a swing time."""
    factors = np.abs(centers) if travel.heading == TURNING else np.ones(len(centers))
    longest = 2.0 * STRIDE_SHARE / STRIDE_RESERVE * float((radii / factors).min())
    for axis in (travel.axis, travel.axis.scaled(-1.0)):
        yield SteadyCycle(robot, gait, axis), longest / gait.stance_time
