"""The candidate stride centers of every leg, and the directions of travel for which they are compared."""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Robot
from hexapod_control.core.workspace.stance_regions import nominal_stance
from hexapod_control.core.workspace.strides.body_clearance import clear_of_body
from hexapod_control.core.workspace.strides.foot_paths import Points
from hexapod_control.core.workspace.strides.leg_choices import SEARCHED_HEADINGS, stride_choices, turning_speeds
from hexapod_control.core.workspace.strides.leg_sag import stiff_enough

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
    """The candidate centers of one leg (row) in a gait: those at which it is stiff and clear of the body."""
    leg, stance = robot.legs[row], gait.stance
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
    usable &= stiff_enough(robot, leg, gait, centers)
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
