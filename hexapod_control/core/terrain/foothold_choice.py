# SPDX-License-Identifier: Apache-2.0
"""Where a foot can stand: the best place near its nominal foothold, from a height map of the ground.

The ground is given in odom, the walk is planned in base_footprint, whose plane follows the feet. `GroundView` is the
transform between the two, with the height of the map corrected by the feet that stand on it.

A place suits a foot if

- it is known, and flat: within the radius of the foot and EDGE_MARGIN, no height differs by more than ROUGHNESS from
  the plane that fits them, and this plane is not steeper than STEEPEST. So the foot keeps away from edges, up and down;
- it lies in the disc in which the leg strides;
- the leg reaches it at touch-down and at the end of the stance, with joints inside of their limits;
- femur and tibia are LEG_MARGIN above the ground at both times.

Of these the nearest to the nominal foothold is chosen. The foothold chosen before is a candidate, too, and is preferred
by HYSTERESIS, so that noise of the map does not move the aim to and fro.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import Placement
from hexapod_control.core.kinematics.frame_tree import FramePose
from hexapod_control.core.kinematics.leg_batch import inverse_over_arrays
from hexapod_control.core.kinematics.leg_kinematics import base_to_hip, femur_axis, hip_to_base
from hexapod_control.core.kinematics.se2 import Pose, Twist, exp
from hexapod_control.core.robot import Leg, Point, Robot, Vector
from hexapod_control.core.terrain.height_map import TerrainGrid
from hexapod_control.core.workspace.strides.stride_table import Disc

EDGE_MARGIN = 0.008  # [m] between the ball of a foot and an edge
ROUGHNESS = 0.005  # [m] greatest distance of the ground under a foot from a plane: a step that is not fitted
STEEPEST = math.tan(math.radians(42.0))  # of the ground under a foot
LEG_MARGIN = 0.012  # [m] of femur and tibia above the ground
SPACING = 0.01  # [m] between candidates
EVEN = 0.004  # [m] height up to which the ground counts as the plane of the feet
HYSTERESIS = 0.012  # [m] by which a new foothold has to be nearer to the nominal one
SAME_LEVEL = 0.015  # [m] a foot in the air does not change to a foothold that is so much higher or lower ...
OTHER_LEVEL_COST = 0.1  # [m] ... unless one at its level is so much farther from the nominal one, or there is none
TRIED = 24  # candidates, nearest first, for which reach and clearance are computed
OUTSIDE_COST = 2.0  # per metre that a stance would end outside of the disc
AHEAD = np.linspace(0.01, 0.08, 8)  # [m] ahead of a foothold, where a step up counts ...
RISE_MARGIN = 0.03  # [m] by which the foot has to rise above it where it lifts off
STEP_COST = 0.08  # [m] of a foothold from which it cannot
PATH_POINTS = 12  # of the path of a swing, at which the height of the ground is looked up
PATH_HALF_WIDTH = 0.012  # [m]
FOLLOWING = 0.5  # share of the height of a foothold by which the plane of the feet follows it
LEG_POINTS = np.linspace(0.2, 1.0, 6)  # of the tibia, from the foot to the knee
FEMUR_POINTS = np.array((0.0, 0.35, 0.7))  # from the knee to the body


class NoFoothold(Enum):
    """Why a leg has no foothold."""

    UNKNOWN = "unknown"  # nothing is known about the ground there
    UNEVEN = "uneven"  # edges, steps, or too steep
    UNREACHABLE = "unreachable"  # too high or too low
    BLOCKED = "blocked"  # the leg would touch the ground


class Foothold(NamedTuple):
    """A place where a foot can stand, in odom [m]."""

    at: Vector  # odom, as on the map
    path: tuple[float, ...]  # [m] greatest heights of the ground on the way there, above the plane of base_footprint
    even: bool = False  # the ground is as flat as the plane of the feet: the nominal foothold


class Missing(NamedTuple):
    """No foothold for a leg."""

    why: NoFoothold
    drop: float  # [m] by which the ground is lower than the plane of the feet at most, - higher; NaN: unknown


def _offsets(radius: float) -> Array:
    """Offsets (n, 2) [m] of candidates in a disc."""
    count = math.floor(radius / SPACING)
    axis = SPACING * np.arange(-count, count + 1)
    x, y = np.meshgrid(axis, axis)
    inside = x * x + y * y <= radius * radius
    return np.stack((x[inside], y[inside]), axis=1)


def _sole(radius: float) -> Array:
    """Offsets (13, 2) [m] at which the ground under a foot is looked up, the middle first."""
    angles = np.arange(8) * math.tau / 8
    outer = radius * np.stack((np.cos(angles), np.sin(angles)), axis=1)
    return np.concatenate((np.zeros((1, 2)), outer, 0.5 * outer[::2]))


@dataclass(frozen=True)
class GroundView:
    """The ground as seen from base_footprint at one time."""

    grid: TerrainGrid
    rotation: Array  # (3, 3) base_footprint to odom
    origin: Array  # (3,) [m] of base_footprint on the map, whose height is that of the feet, not that of odom
    start: Point = (0.0, 0.0)  # [m] where the robot began to see, on the map
    radius: float = 0.0  # [m] around it, in which ground that is not known is that of the feet: no camera sees it

    @classmethod
    def of(
        cls,
        grid: TerrainGrid,
        base: FramePose,
        placement: Placement,
        standing: Sequence[Vector],
        start: Point = (0.0, 0.0),
        radius: float = 0.0,
    ) -> GroundView:
        """The view of a robot whose base_link has a rotation (3, 3) and a position (3,) [m] in odom.

        `standing` are the feet (x, y, z) [m] in base_footprint that stand on the ground; `start` and `radius` [m] as in
        the view.
        """
        turned, position = base
        rotation: Array = turned @ np.array(placement.rotation).T
        origin = position - rotation @ np.array(placement.to_footprint(0.0, 0.0, 0.0))
        view = cls(grid, rotation, origin, start, radius)
        errors = view.errors(standing)
        known = errors[np.isfinite(errors)]
        if len(known):
            view = replace(view, origin=origin + np.array((0.0, 0.0, float(np.median(known)))))
        return view

    def heights(self, x: Array, y: Array) -> Array:
        """Heights [m] of the ground at points [m] of odom, in their shape; NaN where it is unknown."""
        known = self.grid.heights(x, y)
        missing = np.isnan(known)
        if self.radius > 0.0 and missing.any():
            a, b, c = self.rotation[:, 2]
            felt = self.origin[2] - (a * (x - self.origin[0]) + b * (y - self.origin[1])) / c
            near = np.hypot(x - self.start[0], y - self.start[1]) < self.radius
            known = np.where(missing & near, felt, known)
        return known

    def errors(self, feet: Sequence[Vector]) -> Array:
        """By how much [m] the map is higher than feet (x, y, z) [m] in base_footprint; NaN where it is unknown."""
        if not feet:
            return np.empty(0)
        points = self.to_odom(np.array(feet))
        errors: Array = self.grid.heights(points[:, 0], points[:, 1]) - points[:, 2]
        return errors

    def to_odom(self, points: Array) -> Array:
        """Points (..., 3) [m] of base_footprint in odom."""
        moved: Array = points @ self.rotation.T + self.origin
        return moved

    def to_footprint(self, points: Array) -> Array:
        """Points (..., 3) [m] of odom in base_footprint."""
        moved: Array = (points - self.origin) @ self.rotation
        return moved


class Step(NamedTuple):
    """The coming step of one leg."""

    leg: int  # row
    foot: Vector  # [m] where the foot is, in base_footprint
    nominal: tuple[float, float]  # [m] place of touch-down in base_footprint of that time
    disc: Disc  # in which it strides, in base_footprint of that time
    until: float  # [s] until touch-down
    stance: float  # [s] after it
    before: Foothold | None  # chosen before
    level: float | None  # [m] height to which the foot is on its way in the air, above the plane; None: it stands


class FootholdChooser:
    """Chooses footholds of one robot."""

    def __init__(self, robot: Robot) -> None:
        """`robot` has the legs that walk."""
        self._robot = robot
        self._sole = _sole(robot.foot_radius + EDGE_MARGIN)
        x, y = self._sole.T
        # Least squares of a plane about the middle of the sole, which is symmetrical
        self._fit = np.stack((np.full(len(x), 1.0 / len(x)), x / (x @ x), y / (y @ y)), axis=1)
        self._plane = np.stack((np.ones(len(x)), x, y))

    def choose(
        self, view: GroundView, step: Step, twist: Twist, placement: Placement, plane: tuple[float, float, float]
    ) -> Foothold | Missing:
        """Returns the foothold of a step, or why there is none.

        `twist` is that of the body, `placement` its pose; `plane` (a, b, c) is z = a x + b y + c [m] in base_footprint,
        that of the other feet.
        """
        ahead = exp(twist, step.until)  # base_footprint at touch-down, in that of now
        cx, cy = ahead.apply(*step.disc.center)
        a, b, c = plane
        middle = view.to_odom(np.array((cx, cy, a * cx + b * cy + c)))
        places = middle[:2] + _offsets(step.disc.radius)
        nominal_now = ahead.apply(*step.nominal)
        first = [view.to_odom(np.array((*nominal_now, a * nominal_now[0] + b * nominal_now[1] + c)))[:2]]
        if step.before is not None:
            first.append(np.array(step.before.at[:2]))
        places = np.concatenate((np.array(first), places))
        sole = places[:, None, :] + self._sole
        ground = view.heights(sole[..., 0], sole[..., 1])
        known = np.logical_and.reduce(np.isfinite(ground), axis=1)
        fitted = ground @ self._fit
        rough = np.abs(ground - fitted @ self._plane).max(axis=1)
        points = view.to_footprint(np.column_stack((places, fitted[:, 0])))
        slope = np.hypot(fitted[:, 1], fitted[:, 2])
        if known.all() and np.abs(points[:, 2]).max() < EVEN and rough.max() < EVEN:
            return Foothold((0.0, 0.0, 0.0), (), even=True)
        back = exp(twist, -step.until)
        landing = _moved(back, points)
        distance = np.hypot(landing[:, 0] - step.nominal[0], landing[:, 1] - step.nominal[1])
        x, y = step.disc.center
        inside = np.hypot(landing[:, 0] - x, landing[:, 1] - y) <= step.disc.radius
        flat = known & (rough <= ROUGHNESS) & (slope <= STEEPEST)
        leaving = _moved(exp(twist, -step.stance), landing)
        beyond = np.maximum(np.hypot(leaving[:, 0] - x, leaving[:, 1] - y) - step.disc.radius, 0.0)
        cost = distance + OUTSIDE_COST * beyond
        if step.before is not None:
            cost[1] -= HYSTERESIS
        if step.level is not None:
            cost += np.where(np.abs(points[:, 2] - step.level) > SAME_LEVEL, OTHER_LEVEL_COST, 0.0)
        suitable = np.flatnonzero(flat & inside)
        if not len(suitable):
            why = NoFoothold.UNEVEN if known[inside].any() else NoFoothold.UNKNOWN
            return Missing(why, _drop(points[inside & known, 2]))
        # The body will have followed the feet: heights above its plane at touch-down.
        landing[:, 2] = leaving[:, 2] = (1.0 - FOLLOWING) * (points @ np.array((-a, -b, 1.0)) - c)
        cost[suitable] += self._step_cost(view, step.leg, points[suitable], leaving[suitable], twist, placement)
        tried = suitable[np.argsort(cost[suitable], kind="stable")[:TRIED]]
        found = self._fits(view, step.leg, points[tried], landing[tried], leaving[tried], placement)
        if isinstance(found, NoFoothold):
            return Missing(found, _drop(points[inside & known, 2]))
        chosen = tried[found]
        goal = points[chosen]
        return Foothold(
            tuple((places[chosen][0], places[chosen][1], fitted[chosen, 0])), self._path(view, step.foot, goal)
        )

    def misfits(self, view: GroundView, feet: Sequence[Vector]) -> list[float]:
        """Least distances [m] between feet (x, y, z) [m] in base_footprint and the ground under them; NaN: unknown."""
        points = view.to_odom(np.array(feet))
        sole = points[:, None, :2] + self._sole
        errors = np.abs(view.grid.heights(sole[..., 0], sole[..., 1]) - points[:, None, 2])
        least = np.where(np.isfinite(errors), errors, np.inf).min(axis=1)
        found: list[float] = np.where(np.isfinite(least), least, np.nan).tolist()
        return found

    def _fits(
        self,
        view: GroundView,
        row: int,
        now: Array,
        landing: Array,
        leaving: Array,
        placement: Placement,
    ) -> int | NoFoothold:
        """The first of places (n, 3) [m] that the leg reaches without touching the ground, or why there is none."""
        leg = self._robot.legs[row]
        both = np.stack((landing, leaving))
        joints, reached = self._joints(leg, both, placement)
        reached_both = reached.all(axis=0)
        if not reached_both.any():
            return NoFoothold.UNREACHABLE
        least = self._clearance(view, leg, joints, both, now, placement).min(axis=0)
        fits = np.flatnonzero(reached_both & (least >= 0.0))
        return int(fits[0]) if len(fits) else NoFoothold.BLOCKED

    def _step_cost(
        self, view: GroundView, row: int, now: Array, leaving: Array, twist: Twist, placement: Placement
    ) -> Array:
        """Costs [m] of places (n, 3) [m] that the leg leaves too near to a step up: it could not rise over it there."""
        x, y, _ = now.T
        velocity = np.column_stack((twist.vx - twist.wz * y, twist.vy + twist.wz * x, np.zeros(len(now))))
        direction = velocity / max(twist.foot_speed(self._robot.foothold_radius), 1e-6)
        seen = view.to_odom(now[:, None, :] + AHEAD[:, None] * direction[:, None, :])
        up = np.nan_to_num(view.heights(seen[..., 0], seen[..., 1]) - seen[..., 2], nan=0.0).max(axis=1)
        steps = np.flatnonzero(up > SAME_LEVEL)
        raised = leaving[steps]
        raised[:, 2] += up[steps] + RISE_MARGIN
        _, reached = self._joints(self._robot.legs[row], raised, placement)
        costs = np.zeros(len(now))
        costs[steps[~reached]] = STEP_COST
        return costs

    def _joints(
        self, leg: Leg, feet: Array, placement: Placement
    ) -> tuple[tuple[Array, Array, Array], NDArray[np.bool_]]:
        """Joints for feet (..., 3) [m] in base_footprint, and whether they are in reach."""
        offset = np.array(placement.to_footprint(0.0, 0.0, 0.0))
        lifted = feet + np.array((0.0, 0.0, self._robot.foot_radius))
        base = (lifted - offset) @ np.array(placement.rotation)
        solution = inverse_over_arrays(leg, base_to_hip(leg, (base[..., 0], base[..., 1], base[..., 2])))
        return solution

    def _clearance(
        self,
        view: GroundView,
        leg: Leg,
        joints: tuple[Array, Array, Array],
        feet: Array,
        now: Array,
        placement: Placement,
    ) -> Array:
        """Least distances (2, n) [m] of femur and tibia above the ground beyond LEG_MARGIN.

        The leg is placed so that its foot is where it will stand: relative to the foot, the ground is that of now.
        """
        coxa, lift, _ = joints
        cosine, sine = np.cos(coxa), np.sin(coxa)
        x, y, z = femur_axis(leg, cosine, sine)
        axis = _stack(leg, x, y, np.full_like(cosine, z))
        along = leg.femur.length * np.cos(lift)
        knee = _stack(leg, x + along * cosine, y + along * sine, z + leg.femur.length * np.sin(lift))
        rotation = np.array(placement.rotation)
        offset = np.array(placement.to_footprint(0.0, 0.0, 0.0))
        knee, axis = knee @ rotation.T + offset, axis @ rotation.T + offset
        ball = feet + np.array((0.0, 0.0, self._robot.foot_radius))
        tibia = ball[..., None, :] + LEG_POINTS[:, None] * (knee - ball)[..., None, :]
        femur = knee[..., None, :] + FEMUR_POINTS[:, None] * (axis - knee)[..., None, :]
        bars = np.concatenate((tibia, femur), axis=-2) + (now - feet)[..., None, :]
        seen = view.to_odom(bars)
        above = seen[..., 2] - view.heights(seen[..., 0], seen[..., 1])
        above = np.where(np.isnan(above), np.inf, above)
        radius = np.concatenate(
            (np.full(len(LEG_POINTS), leg.tibia.radius), np.full(len(FEMUR_POINTS), leg.femur.radius))
        )
        least: Array = (above - radius).min(axis=-1) - LEG_MARGIN
        return least

    def _path(self, view: GroundView, foot: Vector, goal: Array) -> tuple[float, ...]:
        """Greatest heights [m] above the plane along the way from a foot to its goal."""
        start = np.array(foot)
        share = np.linspace(0.0, 1.0, PATH_POINTS + 1)[:, None]
        way = start + share * (goal - start)
        direction = goal[:2] - start[:2]
        length = float(np.hypot(*direction))
        across = np.array((-direction[1], direction[0])) / length if length > 1e-6 else np.array((1.0, 0.0))
        sides = way[:, None, :] + np.array((-1.0, 0.0, 1.0))[:, None] * PATH_HALF_WIDTH * np.array((*across, 0.0))
        seen = view.to_odom(sides)
        heights = view.heights(seen[..., 0], seen[..., 1]) - seen[..., 2]
        relative = np.where(np.isnan(heights), 0.0, heights).max(axis=1) + way[:, 2]
        return tuple(relative.tolist())


def _stack(leg: Leg, x: Array, y: Array, z: Array) -> Array:
    """Points (..., 3) [m] of base_link from coordinates [m] of the hip frame."""
    return np.stack(hip_to_base(leg, (x, y, z)), axis=-1)


def _moved(pose: Pose, points: Array) -> Array:
    """Points (n, 3) [m] after a planar motion."""
    c, s = math.cos(pose.yaw), math.sin(pose.yaw)
    x, y, z = points.T
    return np.column_stack((pose.x + c * x - s * y, pose.y + s * x + c * y, z))


def _drop(heights: Array) -> float:
    """How much lower [m] the ground is than the plane of the feet, at the place where it differs most."""
    return -float(heights[np.abs(heights).argmax()]) if len(heights) else math.nan
