"""The highest speed in every direction of travel, and the stride centres at which it is reached.

For each swing time, the centres that allow a speed and are nearest to the neutral footholds are compared, and those
nearest to footholds that are spread outwards, for a greater static margin. A foot far from its hip is fast, but the leg
is soft, as the servo of the coxa holds the foot by a long lever. Where the body would swing on soft legs in time with
the steps, feet slip; a walk that is a little slower and stiffer is preferred there. The smaller the loss of
speed, the softer it may be.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Robot
from hexapod_control.core.workspace.stance_regions import MIN_RADIUS, TIBIA_CLEARANCE, nominal_stance
from hexapod_control.core.workspace.strides.foot_paths import Points
from hexapod_control.core.workspace.strides.leg_centres import TURNING, LegCentres, Travel
from hexapod_control.core.workspace.strides.leg_choices import SEARCHED_HEADINGS
from hexapod_control.core.workspace.strides.steady_cycle import MovingMass, SteadyCycle
from hexapod_control.core.workspace.swing_limits import STRIDE_SHARE, SWING_TIME_SCALES


class MarginBound(NamedTuple):
    """A bound of the static margin."""

    distance: float  # [m]
    share: float  # of the width of the stance; the smaller of both counts, for small robots

    def of(self, robot: Robot) -> float:
        """The bound [m] for a robot."""
        sides = [leg.foothold[1] for leg in robot.legs]
        return min(self.distance, self.share * (max(sides) - min(sides)))


USUAL_MARGIN = MarginBound(0.024, 0.13)  # static margin with moved centres ...
LEAST_MARGIN = MarginBound(0.021, 0.105)  # ... or this one, if it makes the robot faster and not too soft
MIN_GAIN = 1.02  # factor by which it must be faster
SPREADS = tuple(sorted(product((1.0, 1.3, 1.7), (1.0, 1.15, 1.3, 1.7), (1.0, 1.15, 1.3)), key=math.prod))
"""Factors on the neutral footholds, for a greater margin: along the travel, across it, and across for middle legs."""
SPEED_STEPS, SPEED_RESOLUTION = 9, 1.003  # of the bisection for the speed; it ends at a smaller factor between bounds
MAX_SOFTNESS = 0.485  # of a walk, see `_softness`: above, the feet slip ...
SLOWER = {0.985: 0.54, **dict.fromkeys((0.97, 0.95, 0.925, 0.9), MAX_SOFTNESS)}
"""... so these shares of the speed that the legs alone allow are tried, each with a bound of its softness."""
NEAR_AXIS = 0.9  # of the speed along a body axis: with the same centres, in the headings next to it


class TopSpeed(NamedTuple):
    """The highest speed in a direction of travel."""

    speed: float  # [m/s] or [rad/s]
    swing: int  # index of the swing time
    spread: tuple[float, ...]  # one of SPREADS; empty: strides about the neutral footholds
    heading: int  # along which the footholds are spread
    softness: float  # see _softness
    chosen: tuple[int, ...]  # index of the centre of every leg


class TravelReach(NamedTuple):
    """The speeds that the legs allow in a direction of travel."""

    travel: Travel
    speeds: list[Array]  # [m/s] or [rad/s] by leg: (swing times, centres)
    bounds: Array  # (swing times,) the highest with the best centre of every leg
    distances: list[Array]  # see `_distances_to_spread`, by leg; megabytes, so only of one direction at a time

    @classmethod
    def of(cls, travel: Travel, legs: Sequence[LegCentres]) -> TravelReach:
        """From the candidate centres of all legs."""
        speeds = [leg.speeds[:, travel.heading] / factor for leg, factor in zip(legs, travel.speeds, strict=True)]
        distances = [_distances_to_spread(leg, travel.heading) for leg in legs]
        return cls(travel, speeds, np.min([each.max(axis=-1) for each in speeds], axis=0), distances)


def min_gap(robot: Robot, gait: Gait) -> float:
    """The least horizontal gap [m] between neighbouring legs: no more than they have at their neutral footholds."""
    neutral = np.array([[complex(*leg.foothold) for leg in robot.legs]])
    return min(TIBIA_CLEARANCE, float(SteadyCycle(robot, gait, Twist(1.0, 0.0, 0.0)).horizontal_gaps(0.0, neutral)[0]))


class TopSpeedSearch:
    """Searches the highest speed of one robot in one gait."""

    def __init__(self, robot: Robot, gait: Gait, legs: Sequence[LegCentres]) -> None:
        self._robot, self._gait, self._legs = robot, gait, legs
        self._mass = MovingMass.of(robot)
        self._usual_margin, self._least_margin = USUAL_MARGIN.of(robot), LEAST_MARGIN.of(robot)
        self._gap = min_gap(robot, gait)

    def tops(self, travels: Sequence[Travel]) -> list[TopSpeed]:
        """The highest speeds in all directions of travel; headings next to a body axis use the centres of that axis."""
        found = {
            travel.heading: self.top(travel) for travel in travels if axis_of(travel.heading) in (None, travel.heading)
        }
        for travel in travels:
            axis = axis_of(travel.heading)
            if axis is not None and travel.heading != axis:
                found[travel.heading] = found[axis]._replace(speed=NEAR_AXIS * found[axis].speed)
        return [found[travel.heading] for travel in travels]

    def top(self, travel: Travel) -> TopSpeed:
        """The highest speed in a direction of travel, with any swing time, or a little less if that is stiffer."""
        reach = TravelReach.of(travel, self._legs)
        best, margin = (
            self._fastest(reach, self._usual_margin, self._neutral_top(travel), SPEED_RESOLUTION),
            self._usual_margin,
        )
        faster = self._fastest(reach, self._least_margin, best, MIN_GAIN)
        if best.speed < faster.speed and faster.softness <= max(best.softness, MAX_SOFTNESS):
            best, margin = faster, self._least_margin
        if travel.heading == TURNING or best.softness <= MAX_SOFTNESS:
            return best
        for share, max_softness in SLOWER.items():
            speed = share * float(reach.bounds.max())
            usable = np.flatnonzero(reach.bounds >= speed).tolist() if speed < best.speed else []
            tops = [self._stable(reach, speed, k, margin) for k in usable]
            stiff = [top for top in tops if top is not None and top.softness < min(max_softness, best.softness)]
            if stiff:
                return min(stiff, key=lambda top: top.softness)
        return best

    def _fastest(self, reach: TravelReach, margin: float, best: TopSpeed, gain: float) -> TopSpeed:
        """The fastest walk with a static margin [m], if it is faster than the best so far by a factor `gain`."""
        wanted = gain * best.speed
        for k in np.argsort(-reach.bounds, kind="stable").tolist():
            low, high = best.speed, float(reach.bounds[k])
            for step in range(SPEED_STEPS):
                lowest = max(wanted, low * SPEED_RESOLUTION)
                if high <= lowest:
                    break
                # First whether this swing time gains anything, then the bound from the legs, then bisection.
                speed = (lowest, high, 0.5 * (low + high))[min(step, 2)]
                found = self._stable(reach, speed, k, margin)
                if found is not None:
                    low, best = speed, found
                elif step == 0:
                    break
                else:
                    high = speed
        return best

    def _neutral_top(self, travel: Travel) -> TopSpeed:
        """The highest speed with strides about the neutral footholds, regardless of the static margin."""
        times = np.array(SWING_TIME_SCALES) * self._robot.walk.swing_time
        longest = 2.0 * STRIDE_SHARE / self._gait.stance / times
        speeds = np.min(
            [
                np.minimum(leg.speeds[:, travel.heading, -1], longest * radius) / factor
                for leg, radius, factor in zip(
                    self._legs, nominal_stance(self._robot).radii, travel.speeds, strict=True
                )
            ],
            axis=0,
        )
        swing = int(np.argmax(speeds))
        return TopSpeed(float(speeds[swing]), swing, (), travel.heading, 0.0, (-1,) * len(self._legs))

    def _stable(self, reach: TravelReach, speed: float, swing: int, margin: float) -> TopSpeed | None:
        """The stiffest centres that allow a speed and keep a static margin [m] and the legs apart, or None."""
        travel = reach.travel
        near = [
            np.where(each[swing] >= speed, away, math.inf).argmin(axis=-1)
            for each, away in zip(reach.speeds, reach.distances, strict=True)
        ]
        centres = np.stack([leg.centres[each] for leg, each in zip(self._legs, near, strict=True)], axis=-1)
        swing_time = SWING_TIME_SCALES[swing] * self._robot.walk.swing_time
        cycles = [SteadyCycle(self._robot, self._gait, axis) for axis in (travel.axis, travel.axis.scaled(-1.0))]
        travelled = speed * swing_time
        margins = np.min([cycle.support_margins(travelled, centres, self._mass) for cycle in cycles], axis=0)
        softness = self._softness(centres, swing_time)
        places = np.flatnonzero(margins >= margin)
        for cycle in cycles:
            places = places[cycle.horizontal_gaps(travelled, centres[places]) >= self._gap]
        if not len(places):
            return None
        place = places[softness[places].argmin()]
        chosen = tuple(int(each[place]) for each in near)
        return TopSpeed(speed, swing, SPREADS[place], travel.heading, float(softness[place]), chosen)

    def _softness(self, centres: Points, swing_time: float) -> Array:
        """Ratio (N,) of the step frequency to the natural frequency of the body on its coxa servos for centres."""
        legs = self._robot.legs
        stiffness = np.array([leg.coxa_joint.stiffness for leg in legs])
        arms = np.abs(centres - np.array([leg.hip for leg in self._legs]))
        standing = self._gait.duty_factor * (stiffness / np.maximum(arms, MIN_RADIUS) ** 2).sum(axis=-1)
        found: Array = math.tau / swing_time / np.sqrt(standing / self._robot.mass)
        return found


def spread_foothold(leg: LegCentres, heading: int, spreads: Array) -> Points:
    """The foothold of a leg, moved outwards by factors (..., 3) along and across a heading, see SPREADS."""
    ahead = cmath.rect(1.0, math.pi * heading / SEARCHED_HEADINGS) if heading != TURNING else 1.0
    place = leg.foothold / ahead
    middle = 1.0 - min(abs(place.real) / leg.span, 1.0)
    along, across, diamond = spreads.T
    found: Points = ahead * (along * place.real + 1j * across * (1.0 + (diamond - 1.0) * middle) * place.imag)
    return found


def _distances_to_spread(leg: LegCentres, heading: int) -> Array:
    """Distances (SPREADS, C) [m] of the centres of a leg from its foothold times each of SPREADS."""
    found: Array = np.abs(leg.centres - spread_foothold(leg, heading, np.array(SPREADS))[:, None]).round(9)
    return found


def axis_of(heading: int) -> int | None:
    """The heading along an axis of the body whose centres a heading shares, if it is one or next to one."""
    half = SEARCHED_HEADINGS // 2
    nearest = round(heading / half) * half
    return nearest % SEARCHED_HEADINGS if heading != TURNING and abs(heading - nearest) <= 1 else None
