# SPDX-License-Identifier: Apache-2.0
"""The crawl, the gait of four legs: the body sways all the time, and one leg after the other lifts off.

With one of four legs in swing and the body centered, the center of mass is on the edge of the support polygon or
outside. So the body sways away from the legs that lift off: from the left ones, rear leg first, then from the right
ones. The sway (`Sway`) is a solution of linear inequalities in its coefficients: at all times of a cycle, for strides
in all directions and for turns, the center of mass keeps its distance from each edge of the support polygon, and every
foot is in reach of its leg. For each share of the time with all feet on the ground, the longest strides for which there
is a solution are found; the crawl with the fastest feet is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hexapod_control.core.gait.body_sway import HARMONICS, MODES, Sway
from hexapod_control.core.gait.gait_table import Gait, leg_sides
from hexapod_control.core.gait.swing_trajectory import travel_and_lift
from hexapod_control.core.kinematics.arrays import Array, ComplexArray
from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.kinematics.leg_batch import joints_at_contacts
from hexapod_control.core.kinematics.whole_body import joints_in_pose
from hexapod_control.core.robot import Leg, Robot, Vector
from hexapod_control.core.statics.moving_mass import MovingMass
from hexapod_control.core.statics.static_stability import support_edges
from hexapod_control.core.workspace.stance_regions import MIN_RADIUS, nominal_stance
from hexapod_control.core.workspace.swing_limits import PROGRESS, SWING_TIME_SCALES, shortest_swing

MARGINS = (0.0065, 0.004, 0.001)  # [m] static margins that are tried: the first one with a solution is used
SHIFT_TIMES = (0.5, 0.75, 1.0)  # [swing times] with all feet on the ground, between the legs of both sides, to try
REGION_SHARES = tuple(np.linspace(0.2, 1.0, 17).round(2).tolist())  # of the stance regions, to try
SWING_PROGRESS = (1e-6, 0.35, 0.65, 1.0 - 1e-6)  # of each swing, at which the margin is evaluated
PHASES = 9  # in a cycle, at which the reach is evaluated
CORNERS = 16  # of the polygon that a foot reaches
REACH_SHARES = np.array((0.25, 0.5, 0.75, 1.0))  # of the way to a corner: points that must be in reach, too
HALVINGS = 8  # of the length of a leg, to find a corner
REACH_RESERVE = 0.005  # [m] for changes of speed and direction
STRIDE_SHARES = np.array((0.4, 0.6, 0.8, 1.0))  # of the longest strides, of which the fastest are compared
PROJECTIONS = 300  # after which the inequalities count as having no solution
OVERSHOOT = 1.6  # of a projection onto the inequality that is violated most
TOLERANCE = 1e-5  # [m] of a solution
EQUAL = 1e-9  # [m] difference up to which inequalities count as violated alike


class _Stance(NamedTuple):
    """A robot in its neutral stance, and the strides that it is to make."""

    robot: Robot
    feet: ComplexArray  # (legs,) [m] neutral footholds
    radius: float  # [m] of the smallest stance region
    mass: MovingMass
    reach: tuple[tuple[Vector, ...], ...]  # edges of the polygon that each foot reaches, about its foothold [m]
    motions: ComplexArray  # (N, 2) none, and those in each direction: unit vector and turn (real) [rad/m]


class _Strides(NamedTuple):
    """The strides for which a sway is searched."""

    order: tuple[int, ...]  # rows of the legs in the order of their lift-offs
    cycle: float  # [swing times]
    lift_offs: Array  # (legs,) [swing times]
    motions: ComplexArray  # (N, 2) half strides: of the body [m], and its turn (real) [rad]
    scale: Array  # (MODES,) size of each mode of the sway: 1, [m], [m], [rad]

    def paths(self, feet: ComplexArray, since: Array) -> ComplexArray:
        """Displacements (N, moments, legs) [m] of feet [m] at times (moments, legs) since their lift-off."""
        stance = self.cycle - 1.0
        swing = travel_and_lift(np.minimum(since, 1.0))[0] * (1.0 + stance) - since
        ahead = 2.0 / stance * np.where(since < 1.0, swing, 1.0 + stance - since) - 1.0
        motions, turns = self.motions.T
        displacements: ComplexArray = ahead * (motions[:, None] + 1j * turns.real[:, None] * feet)[:, None]
        return displacements


class Crawl(NamedTuple):
    """A crawl, and how fast its feet are."""

    gait: Gait
    speed: float  # [m/s] highest of the feet, in the slowest direction, that the joints allow; at the nominal height
    swing_time: float  # [s] at this speed


ALL_DIRECTIONS = tuple((complex(direction), 0.0) for direction in np.exp(1j * math.tau * np.arange(8) / 8))
"""Strides to all sides, as unit vectors, and no turn."""
TURNS = ((0j, 1.0), (0j, -1.0))
"""Turns on the spot to both sides."""


@lru_cache(maxsize=64)
def crawl(robot: Robot) -> Gait | None:
    """The fastest crawl of a robot with four legs; None if it is not stable."""
    found = fastest_crawl(robot, (*TURNS, *ALL_DIRECTIONS))
    return None if found is None else found.gait


def fastest_crawl(robot: Robot, directions: Sequence[tuple[complex, float]]) -> Crawl | None:
    """The fastest crawl of a robot with four legs in some directions; None if it is not stable.

    A direction is a unit vector and 0, or 0 and a turn of 1 or -1.
    """
    regions = nominal_stance(robot)
    if min(regions.radii) < MIN_RADIUS or joints_in_pose(robot, robot.footholds, NEUTRAL) is None:
        return None
    reach = tuple(_reach(robot, leg) for leg in robot.legs)
    feet = np.array([complex(*foothold) for foothold in regions.footholds])
    farthest = float(np.abs(feet).max())
    motions = np.array([(0j, 0j), *((ahead, turn / farthest) for ahead, turn in directions)])
    stance = _Stance(robot, feet, min(regions.radii), MovingMass.of(robot), reach, motions)
    for margin in MARGINS:
        gaits = [gait for shift_time in SHIFT_TIMES if (gait := _longest(stance, shift_time, margin)) is not None]
        if gaits:
            return max((_at_top_speed(stance, gait) for gait in gaits), key=lambda found: found.speed)
    return None


def _reach(robot: Robot, leg: Leg) -> tuple[Vector, ...]:
    """Edges of the polygon that a foot reaches on the ground and lifted, relative to its foothold [m]."""
    around = np.exp(1j * math.tau * np.arange(CORNERS) / CORNERS)
    lifts = robot.walk.lift_height * np.array((0.0, 1.0))[:, None, None]
    low = np.zeros(CORNERS)
    high = np.full(CORNERS, leg.length)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        points = complex(*leg.foothold) + REACH_SHARES[:, None] * middle * around
        contacts = points.real, points.imag, lifts
        inside = joints_at_contacts(leg, robot.foot_radius, robot.walk.height, contacts).reached.all(axis=(0, 1))
        low = np.where(inside, middle, low)
        high = np.where(inside, high, middle)
    corners = np.maximum(low - REACH_RESERVE, 0.0) * around
    return tuple(support_edges([(corner.real, corner.imag) for corner in corners.tolist()]))


def _longest(stance: _Stance, shift_time: float, margin: float) -> Gait | None:
    """The crawl with the longest strides that keeps a margin [m], None if there is none."""
    longest = None
    low = 0
    high = len(REGION_SHARES)
    while low < high:
        middle = (low + high) // 2
        gait = _gait(stance, shift_time, margin, REGION_SHARES[middle])
        longest = gait or longest
        low, high = (low, middle) if gait is None else (middle + 1, high)
    return longest


def _gait(stance: _Stance, shift_time: float, margin: float, share: float) -> Gait | None:
    """The crawl with strides over a share of the regions that keeps a margin [m], None if there is none."""
    strides = _strides(stance, shift_time, share)
    margins = _margin_inequalities(stance, strides, margin)
    reaches = _reach_inequalities(stance, strides)
    solution = _solution(*(np.concatenate(pair) for pair in zip(margins, reaches, strict=True)))
    if solution is None:
        return None
    real, imaginary = solution.reshape(2, MODES, len(HARMONICS))
    by_mode = ((real + 1j * imaginary) / strides.scale[:, None]).tolist()
    phases = strides.lift_offs / strides.cycle
    sway = Sway(tuple(map(tuple, by_mode)), float(phases[strides.order[1]]), share)
    return Gait("crawl", 1.0 - 1.0 / strides.cycle, tuple(phases.tolist()), sway)


def _at_top_speed(stance: _Stance, gait: Gait) -> Crawl:
    """A crawl with its speed."""
    sway = gait.sway
    robot = stance.robot
    assert sway is not None  # it is a crawl
    longest = _strides(stance, 0.5 * gait.cycle - 2.0, sway.region_share)
    times = np.zeros((len(STRIDE_SHARES), len(longest.motions) - 1))
    for row, leg in enumerate(robot.legs):
        for part, share in enumerate(STRIDE_SHARES):
            strides = longest._replace(motions=share * longest.motions[1:])
            straight, turns = strides.motions.T
            path = stance.feet[row] + strides.paths(stance.feet[row : row + 1], PROGRESS[:, None])[..., 0]
            path = path - sway.shifts(
                gait.lift_off[row] + PROGRESS / gait.cycle, straight[:, None], turns.real[:, None]
            )
            contacts = path.real, path.imag, robot.walk.lift_height * travel_and_lift(PROGRESS)[1]
            joints = joints_at_contacts(leg, robot.foot_radius, robot.walk.height, contacts).joints
            np.maximum(times[part], shortest_swing(leg, joints), out=times[part])
    times = np.maximum(times, SWING_TIME_SCALES[0] * robot.walk.swing_time)
    speeds = 2.0 * sway.region_share * stance.radius * STRIDE_SHARES[:, None] / (gait.stance_time * times)
    slowest = int(speeds.max(axis=0).argmin())
    best = int(speeds[:, slowest].argmax())
    return Crawl(gait, float(speeds[best, slowest]), float(times[best, slowest]))


def _strides(stance: _Stance, shift_time: float, share: float) -> _Strides:
    """Strides over a share of the regions: none, and those in each direction."""
    (left_front, left_rear), (right_front, right_rear) = leg_sides(stance.robot.legs)
    order = (left_rear, left_front, right_rear, right_front)
    cycle = 4.0 + 2.0 * shift_time
    lift_offs = np.zeros(len(order))
    lift_offs[list(order)] = 0.0, 1.0, 0.5 * cycle, 0.5 * cycle + 1.0
    length = share * stance.radius
    scale = np.array((1.0, length, length, length / float(np.abs(stance.feet).max())))
    return _Strides(order, cycle, lift_offs, length * stance.motions, scale)


def _margin_inequalities(stance: _Stance, strides: _Strides, margin: float) -> tuple[Array, Array]:
    """Rows and bounds: the center of mass keeps a margin [m] to every edge of the support polygons."""
    mass = stance.mass
    moments = (strides.lift_offs[:, None] + np.array(SWING_PROGRESS)).ravel() % strides.cycle
    since = (moments[:, None] - strides.lift_offs) % strides.cycle
    feet = stance.feet + strides.paths(stance.feet, since)
    found = []
    for motion, positions, centers in zip(strides.motions, feet.tolist(), mass.over(feet).tolist(), strict=True):
        for moment, times, points, center in zip(moments, since, positions, centers, strict=True):
            standing = [(p.real, p.imag) for p, time in zip(points, times, strict=True) if time >= 1.0]
            for x, y, offset in support_edges(standing):
                found.append((complex(x, y), moment, motion, margin - (x * center.real + y * center.imag - offset)))
    normals, times, motions, bounds = (np.array(column) for column in zip(*found, strict=True))
    moving = 1.0 - float(mass.shares.sum())  # of the mass: the feet do not move with the body
    return moving * _rows(strides, normals, times, motions), bounds


def _reach_inequalities(stance: _Stance, strides: _Strides) -> tuple[Array, Array]:
    """Rows and bounds: every foot stays inside the polygon that it reaches."""
    moments = strides.cycle * np.arange(PHASES) / PHASES
    paths = strides.paths(stance.feet, (moments[:, None] - strides.lift_offs) % strides.cycle)  # (N, moments, legs)
    times = np.tile(moments, len(paths))
    motions = np.repeat(strides.motions, PHASES, axis=0)
    rows = []
    bounds = []
    for path, edges in zip(paths.reshape(-1, paths.shape[-1]).T, stance.reach, strict=True):
        for x, y, offset in edges:
            rows.append(_rows(strides, np.full(len(times), -complex(x, y)), times, motions))
            bounds.append(offset - (x * path.real + y * path.imag))
    return np.concatenate(rows), np.concatenate(bounds)


def _rows(strides: _Strides, normals: ComplexArray, times: Array, motions: ComplexArray) -> Array:
    """Rows (N, 2 MODES HARMONICS): the shift along a normal at a time [swing times], for half strides (N, 2)."""
    straight, turns = motions.T
    modes = np.stack((np.ones(len(times)), straight.real, straight.imag, turns.real), axis=-1) / strides.scale
    waves = np.exp(1j * math.tau * times[:, None] / strides.cycle * np.array(HARMONICS))
    terms = (normals.conj()[:, None, None] * modes[:, :, None] * waves[:, None]).reshape(len(times), -1)
    return np.concatenate((terms.real, -terms.imag), axis=-1)


def _solution(rows: Array, bounds: Array) -> Array | None:
    """A solution x of rows x >= bounds, None if none is found: by projections onto the inequality violated most."""
    if not np.isfinite(bounds).all():
        return None
    lengths = np.linalg.norm(rows, axis=1)
    usable = lengths > EQUAL
    if (bounds[~usable] > 0.0).any():
        return None
    rows, bounds = rows[usable] / lengths[usable, None], bounds[usable] / lengths[usable]
    x = np.zeros(rows.shape[1])
    for _ in range(PROJECTIONS):
        excess = rows @ x - bounds
        worst = excess.min()
        if worst >= -TOLERANCE:
            return x
        x = x - OVERSHOOT * worst * rows[excess <= worst + EQUAL].mean(axis=0)
    return None
