"""Highest foot speed of a leg about every candidate stride center in its workspace, by heading of the foot.

The speed about a center is limited by the radius of the disc about it that the leg reaches, and by the joint speeds,
from which the shortest swing follows. Both are tabulated in the frame of the hip, so that legs of the same geometry
share a table. A backward stride is a forward stride reversed in time, so headings over half a turn are sufficient.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.gait.swing_trajectory import travel_and_lift
from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.leg_batch import Coordinates, StepGeometry, joints_at_contacts
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Leg, Robot
from hexapod_control.core.workspace.stance_regions import DIRECTIONS, RegionReach, seen_from_hip
from hexapod_control.core.workspace.strides.foot_paths import Points, UnitMotion, foot_positions
from hexapod_control.core.workspace.swing_limits import (
    PROGRESS,
    STRIDE_SHARE,
    SWING_TIME_SCALES,
    max_travels,
    shortest_swing,
)

SEARCHED_HEADINGS = 16  # of the foot, over half a turn
RADIAL_STEPS, ANGULAR_STEPS = 22, 17  # of the grid of centers
MIN_DISTANCE_SHARE, MAX_DISTANCE_SHARE = 0.3, 0.95  # of the length of the leg, of a center from the hip
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
    lowest, highest = max(leg.coxa_joint.lower, -MAX_ANGLE), min(leg.coxa_joint.upper, MAX_ANGLE)
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
