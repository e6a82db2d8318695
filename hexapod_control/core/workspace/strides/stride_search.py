"""Search for the stride centres with which a robot walks fastest in every direction of travel.

A foot strides fastest where its leg is perpendicular to the motion and stretched out, so the best stride centre depends
on the direction of travel. For each direction, a bisection finds the highest speed at which every leg has a centre that
allows it and the static margin is sufficient; of the possible centres, those nearest to the neutral footholds are used.
Dynamic programming then joins the centres of a leg to a closed curve over the heading of its foot: the shortest one
that loses little speed.
See docs/architecture/walking-mathematics.md, "Stride centres".
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Robot
from hexapod_control.core.workspace.robot_gaits import neutral_center
from hexapod_control.core.workspace.stance_regions import MIN_RADIUS, TIBIA_CLEARANCE, nominal_stance
from hexapod_control.core.workspace.strides.body_clearance import clear_of_body
from hexapod_control.core.workspace.strides.foot_paths import Points
from hexapod_control.core.workspace.strides.leg_choices import SEARCHED_HEADINGS, stride_choices, turning_speeds
from hexapod_control.core.workspace.strides.steady_cycle import CycleLimits, SteadyCycle
from hexapod_control.core.workspace.strides.stride_regions import FAR_RAD, LegStrides, PolarOffset
from hexapod_control.core.workspace.swing_limits import STRIDE_SHARE, SWING_TIME_SCALES

MIN_MARGIN_M = 0.026  # least static margin with moved centres ...
MIN_MARGIN_SHARE = 0.13  # ... or this share of the width of the stance, for small robots
TURNING = SEARCHED_HEADINGS  # index after the headings: turning on the spot
SPREADS = (1.0, 1.15, 1.3, 1.5, 2.0)  # factors on the neutral footholds, tried in turn for a greater margin
SPEED_STEPS, SPEED_RESOLUTION = 9, 1.003  # of the bisection for the speed; it ends at a smaller factor between bounds
FEET_CLEARANCE = 0.02  # [m] between the tibias at the feet
STRIDE_RESERVE = 1.03  # factor on the stride length that a region must have room for
SHORTFALL_COST, DISTANCE_COST, MOTION_COST = 1000.0, 0.05, 0.05  # per squared share of speed, or of the leg's length
AXIS_CARE = 10000.0  # factor on MOTION_COST at the body axes, so that small deviations of a command hardly move centres
LAPS = 3  # over all headings; in the middle one the curve is closed
RETRIES = 10  # with smaller offsets, if legs come too close to each other or the static margin is too small
SMALLER = 0.9  # factor on the offsets per retry


class _LegCentres(NamedTuple):
    """One leg and its candidate centres, in base_footprint."""

    hip: complex  # [m]
    foothold: complex  # [m] neutral
    centres: Points  # (C,) [m]
    radii: Array  # (C,) [m]
    speeds: Array  # (T, SEARCHED_HEADINGS + 1, C) [m/s]; the last is the neutral foothold's when turning on the spot
    length: float  # [m]


class _Travel(NamedTuple):
    """A direction of travel, and the motion of the feet in it."""

    axis: Twist  # of unit speed
    heading: int  # index, the same for all feet; TURNING for a turn on the spot
    speeds: tuple[float, ...]  # of the neutral footholds per unit speed


class _Top(NamedTuple):
    """The highest speed in a direction of travel."""

    speed: float  # [m/s] or [rad/s]
    swing: int  # index of the swing time
    spread: float  # the centres are the nearest to the neutral footholds times this; 0: the neutral footholds


def min_margin(robot: Robot) -> float:
    """The least static margin [m] with moved stride centres."""
    sides = [leg.foothold[1] for leg in robot.legs]
    return min(MIN_MARGIN_M, MIN_MARGIN_SHARE * (max(sides) - min(sides)))


def stride_centres(robot: Robot, gait: Gait) -> tuple[LegStrides, ...]:
    """The stride centres of all legs for a gait; they keep the legs apart and the robot stable."""
    legs = [_leg(robot, row, gait.stance) for row in range(len(robot.legs))]
    travels = [*(_straight(len(legs), k) for k in range(SEARCHED_HEADINGS)), _turn(legs)]
    search = _Search(robot, gait, legs)
    tops = [search.top(travel) for travel in travels]
    half_stance = 0.5 * gait.stance * robot.walk.swing_time / STRIDE_SHARE
    found = []
    for row, leg in enumerate(legs):
        chosen = [*_curve(leg, tops), _of_turn(leg, travels[TURNING].speeds[row], tops[TURNING])]
        strides = [
            STRIDE_RESERVE * top.speed * travel.speeds[row] * SWING_TIME_SCALES[top.swing] * half_stance
            for travel, top in zip(travels, tops, strict=True)
        ]
        strides[TURNING] *= abs(leg.centres[chosen[TURNING]]) / abs(leg.foothold)
        centres = leg.centres[chosen] - leg.hip
        offsets = np.stack(
            (np.abs(centres) - abs(leg.foothold - leg.hip), np.angle(centres / (leg.foothold - leg.hip))), -1
        )
        found.append((offsets, np.clip(strides, MIN_RADIUS, leg.radii[chosen])))
    return _kept_apart(robot, gait, legs, travels, found)


def _leg(robot: Robot, row: int, stance: float) -> _LegCentres:
    leg = robot.legs[row]
    choices = stride_choices(robot, leg, stance)
    centres = complex(*leg.hip[:2]) + cmath.rect(1.0, leg.hip_yaw) * choices.centres
    place = (np.arange(SEARCHED_HEADINGS) - leg.hip_yaw * SEARCHED_HEADINGS / math.pi) % SEARCHED_HEADINGS
    nearest = np.round(place)
    below = np.where(np.abs(place - nearest) < 1e-6, nearest, np.floor(place)).astype(int)
    above = np.where(np.abs(place - nearest) < 1e-6, nearest, np.ceil(place)).astype(int)
    speeds = np.minimum(choices.speeds[:, below % SEARCHED_HEADINGS], choices.speeds[:, above % SEARCHED_HEADINGS])
    foothold = complex(*leg.foothold)
    turning = turning_speeds(robot, leg, stance, choices, centres) * (abs(foothold) / np.abs(centres))
    usual = nominal_stance(robot).radii[row]  # strides of the neutral region
    clear = clear_of_body(robot, leg, centres, np.minimum(choices.radii, usual))
    speeds = np.concatenate((speeds, turning[:, None]), axis=1)[..., clear]
    length = leg.coxa.length + leg.femur.length + leg.tibia.length
    return _LegCentres(complex(*leg.hip[:2]), foothold, centres[clear], choices.radii[clear], speeds, length)


def _straight(legs: int, heading: int) -> _Travel:
    angle = math.pi * heading / SEARCHED_HEADINGS
    return _Travel(Twist(math.cos(angle), math.sin(angle), 0.0), heading, (1.0,) * legs)


def _turn(legs: Sequence[_LegCentres]) -> _Travel:
    return _Travel(Twist(0.0, 0.0, 1.0), TURNING, tuple(abs(leg.foothold) for leg in legs))


class _Search:
    """Search for the highest speed of one robot in one gait."""

    def __init__(self, robot: Robot, gait: Gait, legs: Sequence[_LegCentres]) -> None:
        self._robot, self._gait, self._legs = robot, gait, legs
        self._center = complex(*neutral_center(robot))
        self._least = min_margin(robot)
        self._apart = 2.0 * max(leg.tibia.radius for leg in robot.legs) + FEET_CLEARANCE

    def top(self, travel: _Travel) -> _Top:
        """The highest speed in a direction of travel over all swing times."""
        bounds = np.min(
            [
                leg.speeds[:, travel.heading].max(axis=-1) / speed
                for leg, speed in zip(self._legs, travel.speeds, strict=True)
            ],
            axis=0,
        )
        best = self._neutral_top(travel)
        for k in np.argsort(-bounds, kind="stable").tolist():
            low, high = best.speed, float(bounds[k])
            for step in range(SPEED_STEPS):
                if high <= low * SPEED_RESOLUTION:
                    break
                # First whether this swing time gains anything, then the bound from the legs, then bisection.
                speed = (low * SPEED_RESOLUTION, high, 0.5 * (low + high))[min(step, 2)]
                spread = self._stable_spread(travel, speed, k)
                if spread is not None:
                    low, best = speed, _Top(speed, k, spread)
                elif step == 0:
                    break
                else:
                    high = speed
        return best

    def _neutral_top(self, travel: _Travel) -> _Top:
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
        return _Top(float(speeds[swing]), swing, 0.0)

    def _stable_spread(self, travel: _Travel, speed: float, swing: int) -> float | None:
        """The least of SPREADS at which the nearest centres that allow a speed keep the static margin, or None."""
        choices = zip(self._legs, travel.speeds, strict=True)
        chosen = [_nearest(leg, leg.speeds[swing, travel.heading] >= speed * factor) for leg, factor in choices]
        centres = np.stack(chosen, axis=-1)
        stride_travel = speed * SWING_TIME_SCALES[swing] * self._robot.walk.swing_time
        cycles = [SteadyCycle(self._robot, self._gait, axis) for axis in (travel.axis, travel.axis.scaled(-1.0))]
        margins = np.min([cycle.support_margins(stride_travel, centres, self._center) for cycle in cycles], axis=0)
        for place in np.flatnonzero(margins >= self._least):
            if all(cycle.feet_apart(stride_travel, centres[place]) >= self._apart for cycle in cycles):
                return SPREADS[place]
        return None


def _nearest(leg: _LegCentres, usable: NDArray[np.bool_]) -> Points:
    """The usable centres (SPREADS,) of a leg that are nearest to its foothold times each of SPREADS."""
    distances = np.abs(leg.centres - np.array(SPREADS)[:, None] * leg.foothold)
    nearest = np.where(usable, np.round(distances, 9), math.inf).argmin(axis=-1)
    found: Points = leg.centres[nearest]
    return found


def _curve(leg: _LegCentres, tops: Sequence[_Top]) -> list[int]:
    """Index of the leg's centre for each heading: the shortest closed curve that loses little speed."""
    costs = [_cost(leg, leg.speeds[top.swing, k], top) for k, top in enumerate(tops[:SEARCHED_HEADINGS])]
    apart = (np.abs(leg.centres[:, None] - leg.centres) / leg.length) ** 2
    total, came_from = costs[0], []
    for step in range(1, LAPS * SEARCHED_HEADINGS):
        k = step % SEARCHED_HEADINGS
        ways = total[:, None] + MOTION_COST * _care(k) * apart
        came_from.append(ways.argmin(axis=0))
        total = ways.min(axis=0) + costs[k]
    path = [int(total.argmin())]
    for came in reversed(came_from):
        path.append(int(came[path[-1]]))
    return path[::-1][SEARCHED_HEADINGS : 2 * SEARCHED_HEADINGS]


def _of_turn(leg: _LegCentres, factor: float, top: _Top) -> int:
    """Index of the leg's centre when turning on the spot; its foot moves `factor` [m] times as fast as the robot."""
    return int(_cost(leg, leg.speeds[top.swing, TURNING] / factor, top).argmin())


def _cost(leg: _LegCentres, speeds: Array, top: _Top) -> Array:
    """Cost (C,) of every centre of a leg: its shortfall in speed, and its distance from the spread foothold."""
    if top.spread == 0.0:  # strides about the neutral foothold are the fastest
        return SHORTFALL_COST * np.abs(leg.centres - leg.foothold) / leg.length
    away = np.abs(leg.centres - top.spread * leg.foothold) / leg.length
    return SHORTFALL_COST * np.maximum(0.0, 1.0 - speeds / top.speed) ** 2 + DISTANCE_COST * away**2


def _care(heading: int) -> float:
    """Factor on MOTION_COST from the previous heading to this one."""
    return AXIS_CARE if heading % (SEARCHED_HEADINGS // 2) in (0, 1) else 1.0


def _kept_apart(
    robot: Robot,
    gait: Gait,
    legs: Sequence[_LegCentres],
    travels: Sequence[_Travel],
    found: Sequence[tuple[Array, Array]],
) -> tuple[LegStrides, ...]:
    """The strides found, with smaller offsets where legs come too close or the static margin is too small."""
    neutral = np.array(nominal_stance(robot).radii)
    offsets, radii = np.array([each[0] for each in found]), np.array([each[1] for each in found])
    hips = np.array([leg.hip for leg in legs])
    arms = np.array([leg.foothold for leg in legs]) - hips
    for k, travel in enumerate(travels):
        enough = CycleLimits(min_margin(robot), TIBIA_CLEARANCE)
        for attempt in range(RETRIES if offsets[:, k].any() else 0):
            if attempt == 1:  # accept what strides about the neutral footholds have
                enough = _limits(robot, gait, travel, hips + arms, neutral).at_most(*enough)
            outward, angle = offsets[:, k].T
            centres = hips + (1.0 + outward / np.abs(arms)) * np.exp(1j * angle) * arms
            if _limits(robot, gait, travel, centres, radii[:, k]).at_least(enough):
                break
            offsets[:, k] *= SMALLER
            radii[:, k] = SMALLER * radii[:, k] + (1.0 - SMALLER) * neutral
        else:
            offsets[:, k], radii[:, k] = 0.0, neutral
    return tuple(_strides(*columns) for columns in zip(offsets, radii, strict=True))


def _strides(offsets: Array, radii: Array) -> LegStrides:
    """The strides at all headings: between two searched ones their mean, or the first one if they are far apart."""
    found, sizes = [], []
    for k in range(SEARCHED_HEADINGS):
        here, there = offsets[k], offsets[(k + 1) % SEARCHED_HEADINGS]
        between = 0.5 * (here + there) if abs(there[1] - here[1]) < FAR_RAD else here
        found += [PolarOffset(*here.tolist()), PolarOffset(*between.tolist())]
        sizes += [float(radii[k]), float(min(radii[k], radii[(k + 1) % SEARCHED_HEADINGS]))]
    turning = PolarOffset(*offsets[TURNING].tolist()), float(radii[TURNING])
    return LegStrides((*found, turning[0]), (*sizes, turning[1]))


def _limits(robot: Robot, gait: Gait, travel: _Travel, centres: Points, radii: Array) -> CycleLimits:
    """Least static margin and gap of full strides, forward and backward along a direction of travel."""
    factors = np.abs(centres) if travel.heading == TURNING else np.ones(len(centres))
    longest = 2.0 * STRIDE_SHARE / STRIDE_RESERVE * float((radii / factors).min())
    found = CycleLimits(math.inf, TIBIA_CLEARANCE)
    for axis in (travel.axis, travel.axis.scaled(-1.0)):
        found = found.at_most(*SteadyCycle(robot, gait, axis).limits(longest / gait.stance, centres, TIBIA_CLEARANCE))
    return found
