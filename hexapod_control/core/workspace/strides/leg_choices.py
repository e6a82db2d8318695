"""Highest foot speed of a leg about every candidate stride centre in its workspace, by heading of the foot.

Two things limit the speed about a centre: the radius of the disc about it that the leg reaches, and the joint speeds,
which set the shortest swing. Both are tabulated in the frame of the hip, so that legs of the same geometry share a
table. A backward stride is a forward stride reversed in time, so headings over half a turn are enough.
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
RADIAL_STEPS, ANGULAR_STEPS = 18, 19  # of the polar grid of centres about the hip
MAX_ANGLE = math.radians(80.0)  # [rad] of the coxa at a centre
MAX_RADIUS_SHARE = 0.4  # largest region considered, as a share of the leg's length
TRAVELS = 5  # stride lengths evaluated per centre
SAMPLES = PROGRESS[::2]  # of a swing: enough to compare centres


class StrideChoices(NamedTuple):
    """Candidate stride centres of one leg; the last one is its neutral foothold, if the leg can step there."""

    centres: Points  # (C,) [m] in the hip's frame, as complex numbers
    radii: Array  # (C,) [m] of the region about each centre
    speeds: Array  # (T, SEARCHED_HEADINGS, C) [m/s] of the foothold over the ground, for each of SWING_TIME_SCALES


class _Setting(NamedTuple):
    """Everything that the candidates of a leg depend on."""

    leg: Leg  # seen from its hip
    ball: float  # [m]
    height: float  # [m]
    lift: float  # [m]
    swing_time: float  # [s]
    stance: float  # [swing times]


def stride_choices(robot: Robot, leg: Leg, stance: float) -> StrideChoices:
    """The candidate centres of a leg in a gait whose stance lasts `stance` swing times."""
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
    radii = RegionReach(leg, setting[1:4], grid, around).radii(most)
    usable = radii > 0.0
    centres, radii = grid[usable], radii[usable]
    return StrideChoices(centres, read_only(radii), read_only(_speeds(setting, centres, radii)))


def _speeds(setting: _Setting, centres: Points, radii: Array) -> Array:
    """Highest foot speeds (T, SEARCHED_HEADINGS, C) [m/s] at which no joint exceeds its speed limit in a swing."""
    leg, stance = setting.leg, setting.stance
    travel, lifted = share_and_lift(SAMPLES)
    displacement = travel * (1.0 + stance) - SAMPLES - stance / 2  # of the foot in the body frame, per travel
    headings = np.exp(1j * math.pi * np.arange(SEARCHED_HEADINGS) / SEARCHED_HEADINGS)
    travels = 2.0 * STRIDE_SHARE / stance * radii[:, None] * np.arange(TRAVELS + 1) / TRAVELS  # (C, V)
    path = centres[:, None, None] + travels[:, :, None] * displacement  # along x, rotated to every heading below
    path = centres[:, None, None] + headings[:, None, None, None] * (path - centres[:, None, None])  # (H, C, V, U)
    contacts = path.real, path.imag, setting.lift * lifted
    joints = joints_at_contacts(leg, setting.ball, setting.height, contacts).joints
    return _max_speeds(leg, joints, travels, setting.swing_time)


def turning_speeds(robot: Robot, leg: Leg, stance: float, choices: StrideChoices, centres: Points) -> Array:
    """Highest foot speeds (T, C) [m/s] about centres (C,) [m, base_footprint] when the robot turns on the spot."""
    travels = 2.0 * STRIDE_SHARE / stance * choices.radii[:, None] * np.arange(TRAVELS + 1) / TRAVELS  # (C, V)
    turns = (travels / np.maximum(np.abs(centres), 1e-6)[:, None])[..., None]  # [rad]
    path = foot_positions(UnitMotion.along(Twist(0.0, 0.0, 1.0)), turns, stance, centres[:, None, None], SAMPLES)
    contacts = path.real, path.imag, robot.walk.lift_height * share_and_lift(SAMPLES)[1]
    joints = joints_at_contacts(leg, robot.foot_radius, robot.walk.height, contacts).joints
    return _max_speeds(leg, joints, travels, robot.walk.swing_time)


def _max_speeds(leg: Leg, joints: Coordinates, travels: Array, swing_time: float) -> Array:
    """Highest foot speeds (T, ...) [m/s] within the joint speed limits.

    `joints` (..., C, V, U) [rad] are the angles over a swing for travels (C, V) [m]; `swing_time` is the nominal [s].
    """
    times = shortest_swing(leg, joints)
    swings = [scale * swing_time for scale in SWING_TIME_SCALES]
    return np.array([max_travels(travels, times, swing) / swing for swing in swings])
