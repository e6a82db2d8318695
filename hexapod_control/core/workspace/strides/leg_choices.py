"""How fast a leg can stride about every centre in its workspace, for every direction of its foot.

A stride needs room, a disc about its centre that the leg reaches, and time: a swing lasts at least as long as the joint
takes that has to move farthest in relation to its speed. Both are tabulated in the frame of the hip, so legs of one
build share a table. A stride forwards and one backwards along the same line are mirror images in time: directions over
half a turn are enough.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hexapod_control.core.gait.swing_trajectory import share_and_lift
from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.leg_batch import Coordinates, joints_at_contacts
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Leg, Robot
from hexapod_control.core.workspace.stance_regions import DIRECTIONS, region_radii, seen_from_hip
from hexapod_control.core.workspace.strides.foot_paths import Points, UnitMotion, foot_positions
from hexapod_control.core.workspace.swing_limits import (
    PROGRESS,
    STRIDE_SHARE,
    SWING_TIME_SCALES,
    max_travels,
    shortest_swing,
)

SEARCHED_HEADINGS = 16  # of the foot, over half a turn
RADIAL_STEPS, ANGULAR_STEPS = 18, 19  # of the grid of centres
MAX_ANGLE = math.radians(80.0)  # of the coxa at a centre
MAX_RADIUS_SHARE = 0.4  # of the length of the leg: the largest region that is tried
TRAVELS = 5  # lengths of strides that are tried
SAMPLES = PROGRESS[::2]  # of a swing: enough to compare centres


class StrideChoices(NamedTuple):
    """The centres that the strides of one leg may have; the last one is its neutral foothold, if it can step there."""

    centres: Points  # (C,) [m] in the hip's frame, as complex numbers
    radii: Array  # (C,) [m] of the region about each
    speeds: Array  # (T, SEARCHED_HEADINGS, C) [m/s] of the foot over the ground, for each of SWING_TIME_SCALES


class _Setting(NamedTuple):
    """What the choices of a leg depend on."""

    leg: Leg  # seen from its hip
    ball: float  # [m]
    height: float  # [m]
    lift: float  # [m]
    swing_time: float  # [s]
    stance: float  # [swing times]


def stride_choices(robot: Robot, leg: Leg, stance: float) -> StrideChoices:
    """The choices of a leg in a gait whose stances last `stance` swing times."""
    walk = robot.walk
    setting = robot.foot_radius, walk.height, walk.lift_height, walk.swing_time, stance
    return _choices(_Setting(seen_from_hip(leg, leg.foothold), *setting))


@lru_cache(maxsize=8)
def _choices(setting: _Setting) -> StrideChoices:
    leg = setting.leg
    length = leg.coxa.length + leg.femur.length + leg.tibia.length
    lowest, highest = max(leg.coxa_joint.lower, -MAX_ANGLE), min(leg.coxa_joint.upper, MAX_ANGLE)
    radial = np.linspace(0.0, length, RADIAL_STEPS + 1)[1:]
    polar = radial[:, None] * np.exp(1j * np.linspace(lowest, highest, ANGULAR_STEPS))
    grid = np.append(polar, complex(*leg.foothold))
    most = np.full(len(grid), MAX_RADIUS_SHARE * length)
    around = np.array([complex(*direction) for direction in DIRECTIONS])
    radii = region_radii(leg, setting[1:4], grid, most, around)
    usable = radii > 0.0
    centres, radii = grid[usable], radii[usable]
    return StrideChoices(centres, read_only(radii), read_only(_speeds(setting, centres, radii)))


def _speeds(setting: _Setting, centres: Points, radii: Array) -> Array:
    """Foot speeds (T, SEARCHED_HEADINGS, C) [m/s] at which every joint is within its limits over a swing."""
    leg, stance = setting.leg, setting.stance
    travel, lifted = share_and_lift(SAMPLES)
    displacement = travel * (1.0 + stance) - SAMPLES - stance / 2  # of the foot in the body's frame, in travels
    headings = np.exp(1j * math.pi * np.arange(SEARCHED_HEADINGS) / SEARCHED_HEADINGS)
    travels = 2.0 * STRIDE_SHARE / stance * radii[:, None] * np.arange(TRAVELS + 1) / TRAVELS  # (C, V)
    path = centres[:, None, None] + travels[:, :, None] * displacement  # rotated below
    path = centres[:, None, None] + headings[:, None, None, None] * (path - centres[:, None, None])  # (H, C, V, U)
    contacts = path.real, path.imag, setting.lift * lifted
    joints = joints_at_contacts(leg, setting.ball, setting.height, contacts).joints
    return _max_speeds(leg, joints, travels, setting.swing_time)


def turning_speeds(robot: Robot, leg: Leg, stance: float, choices: StrideChoices, centres: Points) -> Array:
    """Foot speeds (T, C) [m/s], as in the choices, about these centres [m, base_footprint] when turning on the spot."""
    travels = 2.0 * STRIDE_SHARE / stance * choices.radii[:, None] * np.arange(TRAVELS + 1) / TRAVELS  # (C, V)
    turns = (travels / np.maximum(np.abs(centres), 1e-6)[:, None])[..., None]  # [rad]
    path = foot_positions(UnitMotion.along(Twist(0.0, 0.0, 1.0)), turns, stance, centres[:, None, None], SAMPLES)
    contacts = path.real, path.imag, robot.walk.lift_height * share_and_lift(SAMPLES)[1]
    joints = joints_at_contacts(leg, robot.foot_radius, robot.walk.height, contacts).joints
    return _max_speeds(leg, joints, travels, robot.walk.swing_time)


def _max_speeds(leg: Leg, joints: Coordinates, travels: Array, swing_time: float) -> Array:
    """Foot speeds (T, ...) [m/s] up to which the joints (..., C, V, U) [rad] over travels (C, V) [m] are in time."""
    times = shortest_swing(leg, joints)
    swings = [scale * swing_time for scale in SWING_TIME_SCALES]
    return np.array([max_travels(travels, times, swing) / swing for swing in swings])
