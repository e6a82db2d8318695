"""The highest speed of one leg about many stride centers, by the limits of the planner for joints and reach.

Points are complex numbers x + i y [m, base_footprint], and motions have a constant twist: an axis times a speed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_batch import joints_at_contacts
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Leg, Robot
from hexapod_control.core.workspace.stance_regions import nominal_stance
from hexapod_control.core.workspace.strides.body_clearance import clear_of_body
from hexapod_control.core.workspace.strides.foot_paths import Points, UnitMotion, foot_positions, lifts
from hexapod_control.core.workspace.swing_limits import SPEED_SHARE, SWING_SAMPLES

STANCE_SAMPLES = 11
HALVINGS = 11  # of the range in which the speed is searched
CELLS_PER_LEG = 20  # of the grid of stride centers, along the length of the leg


def usable_centers(robot: Robot, leg: Leg) -> Points:
    """A grid of points at which the leg reaches the ground and its lift, and its femur keeps clear of the body."""
    length = leg.length
    steps = np.linspace(-length, length, 2 * CELLS_PER_LEG + 1)
    grid = (complex(*leg.hip[:2]) + steps[:, None] + 1j * steps).ravel()
    contacts = grid.real, grid.imag, np.array([[0.0], [robot.walk.lift_height]])
    reached = joints_at_contacts(leg, robot.foot_radius, robot.walk.height, contacts).reached
    return clear_centers(robot, leg, grid[reached.all(axis=0)])


def clear_centers(robot: Robot, leg: Leg, points: Points) -> Points:
    """Those of the points about which the femur keeps clear of the body, over a region as large as the neutral one."""
    centers = np.append(points, complex(*leg.foothold))
    radius = nominal_stance(robot).radii[robot.legs.index(leg)]
    return centers[clear_of_body(robot, leg, centers, np.full(len(centers), radius))][:-1]


def max_speeds(robot: Robot, leg: Leg, axis: Twist, stance: float, swing_times: Array, centers: Points) -> Array:
    """Speeds (swing time, center) along an axis up to which all joints keep their limits over a cycle."""
    progress = np.concatenate(
        (np.linspace(0.0, 1.0, SWING_SAMPLES), np.linspace(1.0, 1.0 + stance, STANCE_SAMPLES)[1:])
    )
    times = swing_times[:, None]
    foot_speed = np.abs(complex(axis.vx, axis.vy) + 1j * axis.wz * centers)
    high = 2.0 * leg.length / (stance * times * np.maximum(foot_speed, 1e-6))
    low = np.zeros_like(high)
    for _ in range(HALVINGS):
        speed = 0.5 * (low + high)
        feet = foot_positions(UnitMotion.along(axis), (speed * times)[:, :, None], stance, centers[:, None], progress)
        possible = _possible(robot, leg, feet, progress, times)
        low, high = np.where(possible, speed, low), np.where(possible, high, speed)
    return low


def _possible(robot: Robot, leg: Leg, feet: Points, progress: Array, swing_times: Array) -> NDArray[np.bool_]:
    """True for paths (..., samples) on which the foot is always in reach and no joint too fast."""
    contacts = feet.real, feet.imag, lifts(robot, progress)
    joints, reached = joints_at_contacts(leg, robot.foot_radius, robot.walk.height, contacts)
    allowed = [reached.all(axis=-1)]
    for angle, joint in zip(joints, leg.joints, strict=True):
        speed = (np.abs(np.diff(angle)) / np.diff(progress)).max(axis=-1) / swing_times
        allowed.append(speed <= SPEED_SHARE * joint.no_load_speed)
    found: NDArray[np.bool_] = np.logical_and.reduce(allowed)
    return found
