# SPDX-License-Identifier: Apache-2.0
"""The candidate stride centers of every leg: how fast its foot is about each, and which it can use.

The speed about a center is limited by the radius of the disc about it that the leg reaches, and by the joint speeds,
from which the shortest swing follows. Both are tabulated in the frame of the hip, so that legs of the same geometry
share a table. A backward stride is a forward stride reversed in time, so headings over half a turn are sufficient.

A leg whose foot is far from its hip deflects more under the weight: the body tilts, feet in swing touch the ground
early, and feet slip. In a tripod, a single leg on one side bears half of the weight. Friction keeps a foot from sliding
outward, which makes the leg stiffer. So centers about which the body would sag too far, or a foot would need too much
friction, are no candidates, nor are those at which the femur would touch the box of the body.
See docs/architecture/walking-mathematics.md, "Stride centers".
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.gait.swing_trajectory import travel_and_lift
from hexapod_control.core.kinematics.arrays import Array, ComplexArray, read_only
from hexapod_control.core.kinematics.leg_batch import Coordinates, StepGeometry, forward_over_arrays, joints_at_contacts
from hexapod_control.core.kinematics.leg_kinematics import hip_to_base
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Leg, Robot
from hexapod_control.core.statics.leg_loads import LoadedLeg
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.core.workspace.stance_regions import DIRECTIONS, RegionReach, nominal_stance, seen_from_hip
from hexapod_control.core.workspace.strides.steady_cycle import Points, UnitMotion, foot_positions
from hexapod_control.core.workspace.swing_limits import (
    PROGRESS,
    STRIDE_SHARE,
    SWING_TIME_SCALES,
    max_travels,
    shortest_swing,
)

SEARCHED_HEADINGS = 16  # of the foot, over half a turn
# of the grid of centers
RADIAL_STEPS = 22
ANGULAR_STEPS = 17
# of the length of the leg, of a center from the hip
MIN_DISTANCE_SHARE = 0.3
MAX_DISTANCE_SHARE = 0.95
MIN_SPEED_SHARE = 0.7  # of the best speed at a heading: centers that are slower at all headings are left out
ON_AXIS = 1e-6  # of the length of the leg: distance from the straight leg up to which a center is on it
MAX_ANGLE = math.radians(80.0)  # of the coxa at a center
MAX_RADIUS_SHARE = 0.4  # of the length of the leg: the largest region that is tried
TRAVELS = 5  # number of stride lengths that are tried
NO_OVERSHOOT = np.array(1.0)  # of the radius: across their motion, feet in the air stay within the disc


class StrideChoices(NamedTuple):
    """Candidate stride centers of one leg. The last one is its neutral foothold, if the leg can step there."""

    centers: Points  # (C,) [m] in the hip's frame, as complex numbers
    radii: Array  # (SEARCHED_HEADINGS, C) [m] of the region about each center
    speeds: Array  # (T, SEARCHED_HEADINGS, C) [m/s] of the foot over the ground, for each of SWING_TIME_SCALES

    def only(self, chosen: NDArray[np.bool_]) -> StrideChoices:
        """The chosen candidates."""
        return StrideChoices(self.centers[chosen], self.radii[:, chosen], self.speeds[..., chosen])

    def mirrored(self, chosen: NDArray[np.bool_]) -> StrideChoices:
        """The chosen candidates, mirrored across the straight leg."""
        centers, radii, speeds = self.only(chosen)
        image = -np.arange(SEARCHED_HEADINGS) % SEARCHED_HEADINGS
        return StrideChoices(centers.conj(), radii[image], speeds[:, image])


class _Setting(NamedTuple):
    """The inputs of a leg's table of candidates."""

    leg: Leg  # seen from its hip
    step: StepGeometry
    swing_time: float  # [s]
    stance: float  # [swing times]


def stride_choices(robot: Robot, leg: Leg, stance: float) -> StrideChoices:
    """The candidate centers of a leg in a gait whose stance lasts `stance` swing times."""
    walk = robot.walk
    seen = seen_from_hip(leg, leg.foothold)
    inputs = StepGeometry.of(robot, walk.height), walk.swing_time, stance
    grid = _grid_choices(_Setting(replace(seen, foothold=(0.0, 0.0)), *inputs))
    choices = _joined(grid, _choices_about(_Setting(seen, *inputs), np.array([complex(*seen.foothold)])))
    return StrideChoices(choices.centers, read_only(choices.radii), read_only(choices.speeds))


@lru_cache(maxsize=8)
def _grid_choices(setting: _Setting) -> StrideChoices:
    """The candidates on a grid over the workspace; legs of the same geometry share them."""
    leg = setting.leg
    length = leg.length
    lowest = max(leg.coxa_joint.lower, -MAX_ANGLE)
    highest = min(leg.coxa_joint.upper, MAX_ANGLE)
    radial = length * np.linspace(MIN_DISTANCE_SHARE, MAX_DISTANCE_SHARE, RADIAL_STEPS)
    symmetric = leg.femur_lateral == 0.0 and lowest == -highest
    angles = np.linspace(0.0 if symmetric else lowest, highest, ANGULAR_STEPS)
    choices = _choices_about(setting, (radial[:, None] * np.exp(1j * angles)).ravel())
    if symmetric:  # strides on one side of the leg mirror those on the other
        choices = _joined(choices, choices.mirrored(choices.centers.imag > ON_AXIS * length))
    best = choices.speeds.max(axis=(0, 2))[:, None]
    return choices.only((choices.speeds.max(axis=0) >= MIN_SPEED_SHARE * best).any(axis=0))


def _choices_about(setting: _Setting, centers: Points) -> StrideChoices:
    """The candidates at those of these centers (C,) [m] about which the leg can step."""
    leg = setting.leg
    limits = np.full(len(centers), MAX_RADIUS_SHARE * leg.length)
    around = np.array([complex(*direction) for direction in DIRECTIONS])
    radii = RegionReach(leg, setting.step, centers, around, NO_OVERSHOOT).radii(limits)
    centers, radii = centers[radii > 0.0], radii[radii > 0.0]
    radii = np.array([_radii_along(setting, centers, radii, heading) for heading in _headings()])
    return StrideChoices(centers, radii, _speeds(setting, centers, radii))


def _joined(first: StrideChoices, second: StrideChoices) -> StrideChoices:
    return StrideChoices(*(np.concatenate(pair, axis=-1) for pair in zip(first, second, strict=True)))


def _headings() -> Points:
    """Unit vectors of all searched headings, as complex numbers."""
    headings: Points = np.exp(1j * math.pi * np.arange(SEARCHED_HEADINGS) / SEARCHED_HEADINGS)
    return headings


def _radii_along(setting: _Setting, centers: Points, radii: Array, heading: complex) -> Array:
    """Radii (C,) [m], up to the given ones, with which feet in the air stay in reach along a heading."""
    return RegionReach(setting.leg, setting.step, centers, np.array((heading, -heading))).radii(radii)


def _speeds(setting: _Setting, centers: Points, radii: Array) -> Array:
    """Highest foot speeds (T, SEARCHED_HEADINGS, C) [m/s] at which no joint exceeds its speed limit in a swing.

    One heading at a time: arrays for all headings would need more memory than anything else in the planner.
    """
    by_heading = [_speeds_along(setting, centers, *pair) for pair in zip(radii, _headings(), strict=True)]
    return np.stack(by_heading, axis=1)


def _speeds_along(setting: _Setting, centers: Points, radii: Array, heading: complex) -> Array:
    """Highest foot speeds (T, C) [m/s] in strides along a heading, in regions with radii (C,) [m]."""
    leg, stance = setting.leg, setting.stance
    travel, lifted = travel_and_lift(PROGRESS)
    displacement = travel * (1.0 + stance) - PROGRESS - stance / 2  # of the foot in the body's frame, in travels
    travels = 2.0 * STRIDE_SHARE / stance * radii[:, None] * np.arange(TRAVELS + 1) / TRAVELS  # (C, V)
    path = centers[:, None, None] + heading * (travels[..., None] * displacement)  # (C, V, U)
    contacts = path.real, path.imag, setting.step.lift * lifted
    joints = joints_at_contacts(leg, setting.step.foot_radius, setting.step.height, contacts).joints
    return _max_speeds(leg, joints, travels, setting.swing_time)


def turning_speeds(robot: Robot, leg: Leg, stance: float, radii: Array, centers: Points) -> Array:
    """Highest foot speeds (T, C) [m/s] about centers (C,) [m, base_footprint] when turning on the spot.

    `radii` (C,) [m] are those of the regions.
    """
    travels = 2.0 * STRIDE_SHARE / stance * radii[:, None] * np.arange(TRAVELS + 1) / TRAVELS  # (C, V)
    turns = (travels / np.maximum(np.abs(centers), 1e-6)[:, None])[..., None]  # [rad]
    path = foot_positions(UnitMotion.along(Twist(0.0, 0.0, 1.0)), turns, stance, centers[:, None, None], PROGRESS)
    contacts = path.real, path.imag, robot.walk.lift_height * travel_and_lift(PROGRESS)[1]
    joints = joints_at_contacts(leg, robot.foot_radius, robot.walk.height, contacts).joints
    return _max_speeds(leg, joints, travels, robot.walk.swing_time)


def _max_speeds(leg: Leg, joints: Coordinates, travels: Array, swing_time: float) -> Array:
    """Highest foot speeds (T, ...) [m/s] for joints (..., C, V, U) [rad] in swings of strides (..., C, V) [m]."""
    times = shortest_swing(leg, joints)
    swings = swing_time * np.array(SWING_TIME_SCALES)
    speeds: Array = max_travels(travels, times, swings) / swings.reshape(-1, *[1] * (travels.ndim - 1))
    return speeds


MAX_SAG_SHARE = 0.4  # of the lift height; more only if it is more at the neutral foothold
MAX_FRICTION = 1.0  # coefficient that a foot may need to stay in place; likewise
ROUNDING = 1.000001  # factor: a neutral foothold in the frame of the hip is rounded


def bears_weight(robot: Robot, leg: Leg, gait: Gait, centers: ComplexArray) -> NDArray[np.bool_]:
    """True (C,) for centers x + i y [m, base_footprint] at which the weight does not ask too much of a leg in a gait.

    It does not sag too far, and its foot needs no more friction than there is, or no more than at the neutral foothold.
    The weight is shared by all legs in stance but one: in a tripod a single leg bears that of its side.
    """
    standing = len(robot.legs) * gait.duty_factor
    load = robot.mass * GRAVITY / max(standing - 1.0, 1.0)
    about = LoadedLeg.at(robot, leg, centers)
    neutral = LoadedLeg.at(robot, leg, np.array(complex(*leg.foothold)))
    suitable: NDArray[np.bool_] = np.logical_and.reduce(
        [
            values <= np.maximum(limit, ROUNDING * least)
            for values, least, limit in (
                (load * about.sag(), load * neutral.sag(), MAX_SAG_SHARE * robot.walk.lift_height),
                (about.demand, neutral.demand, MAX_FRICTION),
            )
        ]
    )
    return suitable


CLEARANCE = 0.003  # [m] minimum between a femur and the body, unless it is less about the neutral foothold
POINT = 1e-9  # [m] in place of a link length of zero
FEMUR_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the femur's length: points on it, from its axis


def clear_of_body(robot: Robot, leg: Leg, centers: Points, radii: Array) -> NDArray[np.bool_]:
    """True (C,) where the femur clears the body over the whole region about a center.

    `centers` (C,) [m, base_footprint] and `radii` (C,) [m] are those of the regions. The last center is the neutral
    foothold: if the femur is closer to the body there than CLEARANCE, that distance is sufficient everywhere.
    """
    around = np.array([0.0, *(complex(*direction) for direction in DIRECTIONS)])
    feet = centers[:, None] + radii[:, None] * around
    contacts = feet.real, feet.imag, np.zeros(feet.shape)
    joints = joints_at_contacts(leg, robot.foot_radius, robot.walk.height, contacts).joints
    no_tibia = replace(leg.tibia, length=POINT)
    nearest = np.full(len(centers), np.inf)
    for share in FEMUR_SHARES:
        part = replace(leg, femur=replace(leg.femur, length=max(share * leg.femur.length, POINT)), tibia=no_tibia)
        point = np.stack(hip_to_base(leg, forward_over_arrays(part, joints)), axis=-1)
        np.minimum(nearest, distance_from_body(robot, point).min(axis=-1) - leg.femur.radius, out=nearest)
    clear: NDArray[np.bool_] = nearest >= min(CLEARANCE, float(nearest[-1]))
    return clear


def distance_from_body(robot: Robot, points: Array) -> Array:
    """Returns signed distances (...) [m] of points (..., 3) from the box of the body, negative inside."""
    beyond = np.abs(points - np.array(robot.body.center)) - 0.5 * np.array(robot.body.size)
    distance: Array = np.linalg.norm(np.maximum(beyond, 0.0), axis=-1) + np.minimum(beyond.max(axis=-1), 0.0)
    return distance


TURNING = SEARCHED_HEADINGS  # index after the headings: turning on the spot
SPAN_SHARE = 0.8  # of the distance of the farthest foothold


class LegCenters(NamedTuple):
    """One leg and its candidate centers, in base_footprint."""

    hip: complex  # [m]
    foothold: complex  # [m] neutral
    centers: Points  # (C,) [m]
    radii: Array  # (SEARCHED_HEADINGS + 1, C) [m]; the last row is for turning on the spot
    speeds: Array  # (T, SEARCHED_HEADINGS + 1, C) [m/s] of the foot; the last row: turning, at the neutral foothold
    length: float  # [m] of the leg
    span: float  # [m] distance of footholds from the middle, along the travel, from which a leg is not a middle leg


class Travel(NamedTuple):
    """A direction of travel: a twist of unit speed, and the speeds of the feet at it."""

    axis: Twist
    heading: int  # of all feet; TURNING for a turn on the spot
    speeds: tuple[float, ...]  # of the feet per unit speed


def leg_centers(robot: Robot, row: int, gait: Gait) -> LegCenters:
    """The candidate centers of one leg (row) in a gait: those at which it bears the weight and is clear of the body."""
    leg = robot.legs[row]
    stance = gait.stance_time
    choices = stride_choices(robot, leg, stance)
    centers = complex(*leg.hip[:2]) + cmath.rect(1.0, leg.hip_yaw) * choices.centers
    # Headings of the body in the hip frame, as places in the tables of the choices
    place = (np.arange(SEARCHED_HEADINGS) - leg.hip_yaw * SEARCHED_HEADINGS / math.pi) % SEARCHED_HEADINGS
    nearest = np.round(place)
    place = np.where(np.abs(place - nearest) < 1e-6, nearest, place)  # rounding errors of the yaw
    share = (place - np.floor(place))[:, None]
    below, above = (np.array(k, dtype=int) % SEARCHED_HEADINGS for k in (np.floor(place), np.ceil(place)))
    speeds = (1.0 - share) * choices.speeds[:, below] + share * choices.speeds[:, above]
    radii = np.minimum(choices.radii[below], choices.radii[above])
    foothold = complex(*leg.foothold)
    tangent = np.round((np.angle(centers) / math.pi + 0.5) * SEARCHED_HEADINGS).astype(int) % SEARCHED_HEADINGS
    radii = np.append(radii, [radii[tangent, np.arange(len(centers))]], axis=0)
    turning = turning_speeds(robot, leg, stance, radii[TURNING], centers) * (abs(foothold) / np.abs(centers))
    neutral_radius = nominal_stance(robot).radii[row]
    usable = clear_of_body(robot, leg, centers, np.minimum(radii.max(axis=0), neutral_radius))
    usable &= bears_weight(robot, leg, gait, centers)
    speeds = np.concatenate((speeds, turning[:, None]), axis=1)[..., usable]
    span = SPAN_SHARE * max(math.hypot(*each.foothold) for each in robot.legs)
    return LegCenters(complex(*leg.hip[:2]), foothold, centers[usable], radii[:, usable], speeds, leg.length, span)


def straight_travel(legs: int, heading: int) -> Travel:
    """Straight travel in the direction of a searched heading."""
    angle = math.pi * heading / SEARCHED_HEADINGS
    return Travel(Twist(math.cos(angle), math.sin(angle), 0.0), heading, (1.0,) * legs)


def turning_travel(legs: Sequence[LegCenters]) -> Travel:
    """A turn on the spot."""
    return Travel(Twist(0.0, 0.0, 1.0), TURNING, tuple(abs(leg.foothold) for leg in legs))
