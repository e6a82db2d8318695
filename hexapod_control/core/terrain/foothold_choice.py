# SPDX-License-Identifier: Apache-2.0
"""Where a foot can stand: the best place near its nominal foothold, from a height map of the ground.

A place suits a foot if

- it is known, with a deviation below UNSURE, and flat: within the radius of the foot and EDGE_MARGIN, no height differs
  by more than ROUGHNESS from the plane that fits them, and this plane is not steeper than STEEPEST. So the foot keeps
  away from edges, up and down;
- it lies in the disc in which the leg strides, or near it if there is none in it;
- the leg reaches it at touch-down, in the middle of the stance and at its end, with joints inside of their limits;
- femur and tibia are LEG_MARGIN above the ground at these times.

Of these the nearest to the nominal foothold is chosen, unless it has little room beside edges and legs: the nominal one
itself, the one chosen before, or a cell of the map. A foot in the air keeps its place while it suits.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array, ComplexArray
from hexapod_control.core.kinematics.body_pose import Placement
from hexapod_control.core.kinematics.leg_kinematics import (
    BENT_LEG,
    LegJoints,
    femur_axis,
    hip_to_base,
    leg_forward,
    solve_leg,
)
from hexapod_control.core.kinematics.se2 import ZERO, Pose, Twist, exp
from hexapod_control.core.kinematics.whole_body import rolling_shift
from hexapod_control.core.robot import Leg, Point, Robot, Vector
from hexapod_control.core.terrain.cell_cover import EDGE_DROP
from hexapod_control.core.terrain.ground_view import GroundView, Window
from hexapod_control.core.workspace.strides.stride_table import Disc

UNSURE = 0.05  # [m] deviation of the ground from which it is none
EDGE_MARGIN = 0.008  # [m] between the ball of a foot and an edge
ROUGHNESS = 0.005  # [m] greatest distance of the ground under a foot from a plane: a step that is not fitted
STEEPEST = math.tan(math.radians(42.0))  # of the ground under a foot
SLOPING = math.tan(math.radians(12.0))  # from which on a slope has to continue around the foot: else it is ...
BENT = 0.006  # [m] least distance of the ground around a foot from the plane under it, at a step that the map blurs ...
FREE = 0.03  # [m] the same from which there may be an edge, where the ground about the robot is one plane
BLURRED_COST = 0.06  # [m] of a place at such a step
LEG_MARGIN = 0.012  # [m] of femur and tibia above the ground
WIDE_EDGE = 0.025  # [m] beyond EDGE_MARGIN, in which edges count: down from EDGE_DROP on, and ...
# ... up if higher than the middle of the foot: the shank meets it
EDGE_COST = 1.5  # [1] per metre nearer than that: errors of joints, slip and drift of odom lead the foot elsewhere
WIDE = 0.03  # [m] up to which more of it is better ...
NARROW_COST = 1.5  # ... per metre that is missing; also of that above the ground beside the leg, up to as much
BESIDE = 0.015  # [m] beside femur and tibia, in which the ground counts as beside them: feet and map err
HYSTERESIS = 0.012  # [m] by which a new foothold has to be nearer to the nominal one
SAME_LEVEL = 0.015  # [m] a foot in the air does not change to a foothold that is so much higher or lower ...
OTHER_LEVEL_COST = 0.1  # [m] ... unless one at its level is so much farther from the nominal one, or there is none
SLOWEST = 0.3  # share of the wanted speed at which a foot has to be able to stay at its place for a whole stance
POOR = 0.03  # [m] cost from which a place near the disc may be better than one in it
WIDER = 1.6  # radius of the disc if there is none in it: a place in reach is better than a stop
TRIED = 24  # candidates, nearest first, for which reach and clearance are computed
OUTSIDE_COST = 2.0  # per metre that a stance would end outside of the disc
AHEAD = tuple(0.01 * k for k in range(1, 9))  # [m] ahead of a foothold, where a step up counts ...
RISE_MARGIN = 0.03  # [m] by which the foot has to rise above it where it lifts off
STEP_COST = 0.08  # [m] of a foothold from which it cannot ...
OVER = 0.02  # [m] ... or to which the foot cannot come from so much above it, before the body has followed
PATH_SHARES = np.linspace(0.0, 1.0, 13)  # of the path of a swing, at which the height of the ground is looked up
PATH_SIDES = np.array([[-0.012], [0.0], [0.012]])  # [m] beside it, where it is, too
LOWER_REACH = 0.008  # [m] below a place, which the leg reaches at touch-down, too: the body may be higher
FOLLOWING = 0.5  # share of the height of a foothold by which the plane of the feet follows it
LEG_POINTS = (0.2, 0.36, 0.52, 0.68, 0.84, 1.0)  # of the tibia, from the foot to the knee
FEMUR_POINTS = (0.35, 0.7)  # from the knee to the body


class NoFoothold(Enum):
    """Why a leg has no foothold."""

    UNKNOWN = "unknown"  # nothing is known about the ground there
    UNEVEN = "uneven"  # edges, steps, or too steep
    UNREACHABLE = "unreachable"  # too high or too low
    BLOCKED = "blocked"  # the leg would touch the ground


class Foothold(NamedTuple):
    """A place where a foot can stand, in odom [m]."""

    at: Vector  # odom, as on the map
    path: tuple[float, ...]  # [m] as in SeenFoothold; empty for a foot that is on its way already
    contact: Vector = (0.0, 0.0, 0.0)  # odom, the contact point of the walk there: that of the upright tibia
    even: bool = False  # the ground is as flat as the plane of the feet: the nominal foothold
    probed: bool = False  # nothing is known about the ground: the foot feels for it


EVEN_GROUND = Foothold((0.0, 0.0, 0.0), (), even=True)


class Missing(NamedTuple):
    """No foothold for a leg."""

    why: NoFoothold
    drop: float  # [m] by which the ground is lower than the plane of the feet at most, - higher; NaN: unknown


@lru_cache(maxsize=32)
def _sole(radius: float, cell: float) -> tuple[tuple[int, int], ...]:
    """Offsets (row, column) of the cells under a foot with a radius [m], at least the next ones."""
    most = max(math.floor(radius / cell + 0.5), 1)
    steps = range(-most, most + 1)
    near = max(radius + 0.5 * cell, cell)
    return tuple((i, j) for i in steps for j in steps if math.hypot(i, j) * cell <= near)


class _Cells(NamedTuple):
    """The cells of a square window at which a foot can be, and the cells under it."""

    columns: NDArray[np.intp]  # (k,)
    rows: NDArray[np.intp]  # (k,)
    sole: NDArray[np.intp]  # (k, n) index of each cell under the foot in the flat window
    around: NDArray[np.intp]  # (k, m) the same of the cells under and around it
    away: Array  # (m,) [cells] distance of these from its middle
    fit: Array  # (n, 3) of heights: mean, and slope along columns and rows, per cell
    plane: Array  # (3, n) back to heights
    wide_plane: Array  # (3, m) to heights of the cells around


@lru_cache(maxsize=32)
def _cells(size: int, sole: tuple[tuple[int, int], ...], wide: tuple[tuple[int, int], ...]) -> _Cells:
    """The cells of a window of `size` x `size` cells; those whose wide sole leaves it are left out."""
    margin = max(wide)[0]
    rows, columns = (index.ravel() for index in np.mgrid[margin : size - margin, margin : size - margin])
    middles = (rows * size + columns)[:, None]
    under, around = (middles + np.array(cells) @ (size, 1) for cells in (sole, wide))
    # Least squares of a plane about the middle of the sole, which is symmetrical
    (y, x), (v, u) = (np.array(cells).T.astype(float) for cells in (sole, wide))
    fit = np.stack((np.full(len(x), 1.0 / len(x)), x / (x @ x), y / (y @ y)), axis=1)
    away = np.hypot(v, u)
    planes = (np.stack((np.ones(len(x)), x, y)), np.stack((np.ones(len(u)), u, v)))
    return _Cells(columns, rows, under, around, away, fit, *planes)


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
    wanted: Twist = ZERO  # with which the stance leads as far as it is to
    change: float = math.inf  # [m] by which the place can still change


class _Places(NamedTuple):
    """Candidates (k,) for a foothold, in odom: the nominal one, the one chosen before, and the cells of the map."""

    x: Array  # [m]
    y: Array  # [m]
    z: Array  # [m]; NaN: unknown
    sure: NDArray[np.bool_]  # the ground under the foot is known well
    rough: Array  # [m] greatest distance of the ground under the foot from a plane
    bent: Array  # [m] the same of the ground around the foot; NaN: none is known
    whole: NDArray[np.bool_]  # whether all of the ground around the foot is known
    slope: Array  # [1] of that plane
    room: Array  # [m] by which the next edge is farther than EDGE_MARGIN from the foot, up to WIDE_EDGE


class _Tried(NamedTuple):
    """A candidate that is tried."""

    cost: float  # [m] at least
    at: Vector  # [m] in odom
    now: Vector  # [m] in base_footprint
    landing: Vector  # [m] the same place in base_footprint of the touch-down ...
    leaving: Vector  # [m] ... and of the next lift-off


class FootholdChooser:
    """Chooses footholds of one robot."""

    def __init__(self, robot: Robot) -> None:
        """`robot` has the legs that walk."""
        self._robot = robot

    def choose(
        self, view: GroundView, step: Step, twist: Twist, placement: Placement, plane: tuple[float, float, float]
    ) -> Foothold | Missing:
        """Returns the foothold of a step, or why there is none.

        `twist` is that of the body, `placement` its pose; `plane` (a, b, c) is z = a x + b y + c [m] in base_footprint,
        that of the other feet.
        """
        found: Foothold | Missing | None = self._kept(view, step, twist, placement, plane)
        cost = 0.0
        if found is None:
            found, cost = self._in_disc(view, step, twist, placement, plane, step.disc.radius)
        if cost > POOR:
            near, (found, _) = found, self._in_disc(view, step, twist, placement, plane, WIDER * step.disc.radius)
            found = near if isinstance(found, Missing) and isinstance(near, Foothold) else found
        before = step.before
        if isinstance(found, Missing) and step.level is not None and before is not None:
            x, y, z = before.at
            if abs(view.height(x, y) - z) < SAME_LEVEL:  # False with NaN
                return before
        return found

    def explore(
        self, view: GroundView, step: Step, twist: Twist, placement: Placement, plane: tuple[float, float, float]
    ) -> Foothold | Missing:
        """As `choose`, but ground that is unknown counts as that of the feet; a foothold on it is `probed`."""
        found = self.choose(replace(view, radius=math.inf), step, twist, placement, plane)
        if isinstance(found, Missing):
            return found
        at = found.at
        if found.even:
            x, y = exp(twist, step.until).apply(*step.nominal)
            a, b, c = plane
            at = view.to_odom(x, y, a * x + b * y + c)
        if not math.isnan(view.height(*at[:2])):
            return found
        return Foothold(at, self._path(view, step.foot, at) if step.level is None else (), at, probed=True)

    def _kept(
        self, view: GroundView, step: Step, twist: Twist, placement: Placement, plane: tuple[float, float, float]
    ) -> Foothold | None:
        """The place to which a foot in the air is on its way, as long as it suits."""
        if step.level is None or step.before is None:
            return None
        at = step.before.at[:2]
        cell = view.grid.cell
        places = self._places(view.window(at, self._margin(cell) + cell), at, 0.0, [at], -EDGE_MARGIN)
        if not (places.sure[0] and places.rough[0] <= ROUGHNESS and places.slope[0] <= STEEPEST):  # False with NaN
            return None
        tried = self._tried(view, step, twist, plane, places, np.zeros(1), [0])
        beside = view.window(at, self._robot.legs[step.leg].tibia.length).highest(BESIDE)
        found = self._best(view, beside, step.leg, tried, twist, placement)
        return None if isinstance(found, NoFoothold) else self._foothold(view, step, found, placement)

    def _in_disc(
        self,
        view: GroundView,
        step: Step,
        twist: Twist,
        placement: Placement,
        plane: tuple[float, float, float],
        radius: float,
    ) -> tuple[Foothold | Missing, float]:
        """As `choose`, with the cost [m], within a radius [m] of the middle of the disc in which the leg strides."""
        ahead = exp(twist, step.until)  # base_footprint at touch-down, in that of now
        a, b, c = plane
        points = (ahead.apply(*point) for point in (step.disc.center, step.nominal))
        middle, nominal = (view.to_odom(x, y, a * x + b * y + c)[:2] for x, y in points)
        before = [] if step.before is None else [step.before.at[:2]]
        window = view.window(middle, radius + self._margin(view.grid.cell))
        if view.is_plane(window):
            return EVEN_GROUND, 0.0
        places = self._places(window, middle, radius, [nominal, *before])
        x, y, z = view.to_footprint(places.x, places.y, places.z)
        free = bool(places.sure[0] and places.whole[0] and places.bent[0] < FREE)
        if view.is_even(places.x, places.y, places.z, places.rough, free=free):
            return EVEN_GROUND, 0.0
        center = complex(*step.disc.center)
        landing = moved(exp(twist, -step.until), x + 1j * y)
        leaving = moved(exp(step.wanted, -step.stance), landing)
        # A place from which the body could not move on is none.
        slowest = moved(exp(step.wanted.scaled(SLOWEST), -step.stance), landing)
        inside = (np.abs(landing - center) <= radius) & (np.abs(slowest - center) <= WIDER * step.disc.radius)
        known = np.isfinite(z)
        suitable = inside & places.sure & (places.rough <= ROUGHNESS) & (places.slope <= STEEPEST)  # False with NaN
        if not suitable.any():
            drop = _drop(z[inside & known])
            seen = math.isfinite(drop) and (abs(drop) > ROUGHNESS or known[inside].all())
            return Missing(NoFoothold.UNEVEN if seen else NoFoothold.UNKNOWN, drop), math.inf
        # A foot on its way goes as near as it can to where it was to go: its path was planned to that place.
        goal = landing[1] if before and step.level is not None else complex(*step.nominal)
        cost = np.abs(landing - goal)
        suitable &= cost <= max(step.change, view.grid.cell)  # within a cell it is the same place
        cost[(places.slope > SLOPING) & (places.bent > BENT)] += BLURRED_COST
        cost += EDGE_COST * (WIDE_EDGE - places.room)
        cost += OUTSIDE_COST * np.maximum(np.abs(leaving - center) - step.disc.radius, 0.0)
        if before:
            cost[1] -= HYSTERESIS
        if step.level is not None:
            cost[np.abs(z - step.level) > SAME_LEVEL] += OTHER_LEVEL_COST
        order = np.argsort(np.where(suitable, cost, math.inf), kind="stable")[: min(TRIED, np.count_nonzero(suitable))]
        tried = self._tried(view, step, twist, plane, places, cost, order.tolist())
        beside = view.window(middle, radius + self._robot.legs[step.leg].tibia.length).highest(BESIDE)
        found = self._best(view, beside, step.leg, tried, twist, placement)
        if isinstance(found, NoFoothold):
            return Missing(found, _drop(z[inside & known])), math.inf
        return self._foothold(view, step, found, placement), found.cost

    def _tried(
        self,
        view: GroundView,
        step: Step,
        twist: Twist,
        plane: tuple[float, float, float],
        places: _Places,
        cost: Array,
        order: Sequence[int],
    ) -> Iterator[_Tried]:
        """Candidates in an order, with their costs [m], at touch-down and at the next lift-off."""
        a, b, c = plane
        slowest = step.wanted.scaled(SLOWEST)
        radius = self._robot.foothold_radius
        stance = exp(max(twist, slowest, key=lambda each: each.foot_speed(radius)), -step.stance)
        for k in order:
            x, y, z = view.to_footprint(*(at := (float(places.x[k]), float(places.y[k]), float(places.z[k]))))
            # The body will have followed the feet: heights above its plane at touch-down.
            height = (1.0 - FOLLOWING) * (z - a * x - b * y - c)
            landing = exp(twist, -step.until).apply(x, y)
            leaving = stance.apply(*landing)
            yield _Tried(float(cost[k]), at, (x, y, z), (*landing, height), (*leaving, height))

    def _foothold(self, view: GroundView, step: Step, found: _Tried, placement: Placement) -> Foothold:
        """The foothold at a place, above which the middle of the ball of a foot is to stand."""
        leg = self._robot.legs[step.leg]
        joints = self._joints(leg, found.landing, placement)
        dx, dy = (0.0, 0.0) if joints is None else rolling_shift(leg, joints, placement, self._robot.foot_radius)
        x, y, z = found.now
        path = self._path(view, step.foot, found.at) if step.level is None else ()
        return Foothold(found.at, path, view.to_odom(x - dx, y - dy, z))

    def _best(
        self,
        view: GroundView,
        beside: Window,
        row: int,
        tried: Iterable[_Tried],
        twist: Twist,
        placement: Placement,
    ) -> _Tried | NoFoothold:
        """The best of places in the order of their costs, or why a leg (row) cannot stand on any."""
        found: _Tried | None = None
        least = math.inf
        reason = NoFoothold.UNEVEN
        for place in tried:
            cost, _, now, landing, leaving = place
            if cost >= least:
                break
            middle = (0.5 * (landing[0] + leaving[0]), 0.5 * (landing[1] + leaving[1]), landing[2])
            lower = (*landing[:2], landing[2] - LOWER_REACH)
            narrow: float | NoFoothold = NoFoothold.UNREACHABLE
            if self._joints(self._robot.legs[row], lower, placement) is not None:
                narrow = self._narrow(view, beside, row, now, (leaving, landing, middle), placement)
            if isinstance(narrow, NoFoothold):
                reason = NoFoothold.BLOCKED if reason is NoFoothold.BLOCKED else narrow
                continue
            total = cost + NARROW_COST * narrow
            total += self._step_cost(view, row, now, leaving, twist, placement)
            if self._joints(self._robot.legs[row], (*landing[:2], now[2] + OVER), placement) is None:
                total += STEP_COST
            if total < least:
                least = total
                found = place
        return found or reason

    def misfit(self, view: GroundView, foot: Vector) -> float:
        """Least distance [m] between a foot (x, y, z) [m] in base_footprint and the ground under it; NaN: unknown."""
        x, y, z = view.to_odom(*foot)
        cell = view.grid.cell
        heights = [view.grid.height(x + j * cell, y + i * cell) for i, j in self._sole(cell)]
        return min((abs(height - z) for height in heights if math.isfinite(height)), default=math.nan)

    def _sole(self, cell: float, wider: float = 0.0) -> tuple[tuple[int, int], ...]:
        return _sole(self._robot.foot_radius + EDGE_MARGIN + wider, cell)

    def _margin(self, cell: float) -> float:
        """How far [m] the cells around a foot reach from its middle."""
        return cell * max(self._sole(cell, WIDE_EDGE))[0]

    def _places(
        self, window: Window, middle: Point, radius: float, more: Sequence[Point], wider: float = 0.0
    ) -> _Places:
        """The ground at points [m] of odom, first, and at all cells within a radius of a middle [m].

        It is to be flat in the radius of a foot and EDGE_MARGIN, and `wider` [m] than that.
        """
        heights, deviations, first_x, first_y, cell = window
        margin = max(wide := self._sole(cell, WIDE_EDGE))[0]
        size = len(heights)
        steps: Array = cell * np.arange(size, dtype=float)
        xs = first_x + steps
        ys = first_y + steps
        cells = _cells(size, self._sole(cell, wider), wide)
        within = np.hypot(xs[cells.columns] - middle[0], ys[cells.rows] - middle[1]) <= radius
        side = size - 2 * margin
        last = side - 1
        # The cells of the other points; one outside of the window is as near to the middle as the window allows.
        nearest = [
            min(max(round((y - ys[margin]) / cell), 0), last) * side + min(max(round((x - xs[margin]) / cell), 0), last)
            for x, y in more
        ]
        which = np.concatenate((nearest, np.flatnonzero(within)))
        x = xs[cells.columns[which]]
        y = ys[cells.rows[which]]
        sure = ~(deviations.ravel() > UNSURE)
        ground = heights.ravel()[cells.sole[which]]
        around = heights.ravel()[cells.around[which]]
        fitted = ground @ cells.fit
        rough = np.abs(ground - fitted @ cells.plane).max(axis=1)
        bent = np.fmax.reduce(np.abs(around - fitted @ cells.wide_plane), axis=1)
        z, along, across = fitted.T
        rise = around - z[:, np.newaxis]
        inner = self._robot.foot_radius + EDGE_MARGIN + 0.5 * cell  # what is unknown may be an edge
        goes_on = (rise > -EDGE_DROP) & (rise < self._robot.foot_radius) & sure[cells.around[which]]
        away = np.where(goes_on, math.inf, cells.away * cell).min(axis=1)
        room = np.clip(away - inner, 0.0, WIDE_EDGE)
        for k, (px, py) in enumerate(more):
            z[k] += (along[k] * (px - x[k]) + across[k] * (py - y[k])) / cell
            x[k] = px
            y[k] = py
        whole, known = (np.logical_and.reduce(each, axis=1) for each in (np.isfinite(around), sure[cells.sole[which]]))
        return _Places(x, y, z, known, rough, bent, whole, np.hypot(along, across) / cell, room)

    def _narrow(
        self,
        view: GroundView,
        beside: Window,
        row: int,
        now: Vector,
        stance: Sequence[Vector],
        placement: Placement,
    ) -> float | NoFoothold:
        """What a stance on a place `now` [m] lacks of WIDE above the ground and beside it [m], or why there is none.

        `stance` are the positions [m] of the foot in base_footprint at times of the stance, `beside` is the highest
        ground beside each cell.
        """
        leg = self._robot.legs[row]
        above = over = math.inf
        for foot in stance:
            joints = self._joints(leg, foot, placement)
            if joints is None:
                return NoFoothold.UNREACHABLE
            gaps = self._gaps(view, beside, leg, joints, foot, now, placement)
            above = min(above, gaps[0])
            over = min(over, gaps[1])
        if above < LEG_MARGIN:
            return NoFoothold.BLOCKED
        return max(WIDE - above, 0.0) + min(max(WIDE - over, 0.0), WIDE)

    def _step_cost(
        self, view: GroundView, row: int, now: Vector, leaving: Vector, twist: Twist, placement: Placement
    ) -> float:
        """Cost [m] of a place [m] that the leg leaves too near to a step up: it could not rise over it there."""
        x, y, z = now
        speed = max(twist.foot_speed(self._robot.foothold_radius), 1e-6)
        dx = (twist.vx - twist.wz * y) / speed
        dy = (twist.vy + twist.wz * x) / speed
        up = 0.0
        for distance in AHEAD:
            px, py, pz = view.to_odom(x + distance * dx, y + distance * dy, z)
            up = max(up, view.height(px, py) - pz)  # `up` with NaN
        if up <= SAME_LEVEL:
            return 0.0
        raised = (leaving[0], leaving[1], leaving[2] + up + RISE_MARGIN)
        return STEP_COST if self._joints(self._robot.legs[row], raised, placement) is None else 0.0

    def _joints(self, leg: Leg, foot: Vector, placement: Placement) -> LegJoints | None:
        """Joints [rad] for a foot [m] in base_footprint; None: out of reach."""
        x, y, z = foot
        joints, reason, _ = solve_leg(leg, placement.to_base(x, y, z + self._robot.foot_radius), BENT_LEG)
        return joints if reason is None else None

    def _gaps(
        self,
        view: GroundView,
        beside: Window,
        leg: Leg,
        joints: LegJoints,
        foot: Vector,
        now: Vector,
        placement: Placement,
    ) -> tuple[float, float]:
        """Least distances [m] of femur and tibia above the ground, and above the highest ground beside them.

        The leg is placed so that its foot is where it will stand: relative to the foot, the ground is that of now.
        """
        knee, _ = leg_forward(leg, joints)
        axis = femur_axis(leg, math.cos(joints[0]), math.sin(joints[0]))
        x, y, z = (place - at for place, at in zip(now, foot, strict=True))
        points = [(*now[:2], now[2] + self._robot.foot_radius)]
        for point in (knee, axis):
            u, v, w = placement.to_footprint(*hip_to_base(leg, point))
            points.append((u + x, v + y, w + z))
        ball, bent, high = (view.to_odom(*point) for point in points)
        bars = ((ball, bent, LEG_POINTS, leg.tibia.radius), (bent, high, FEMUR_POINTS, leg.femur.radius))
        above = over = math.inf
        for (ax, ay, az), (bx, by, bz), shares, radius in bars:
            for share in shares:
                at = ax + share * (bx - ax), ay + share * (by - ay)
                under = az + share * (bz - az) - radius
                above = min(above, under - view.height(*at))  # `above` with NaN
                over = min(over, under - beside.height(*at))
        return above, over

    def _path(self, view: GroundView, foot: Vector, goal: Vector) -> tuple[float, ...]:
        """Greatest heights [m] above the plane along the way from a foot in base_footprint to a goal [m] in odom."""
        start = view.to_odom(*foot)
        length = max(math.dist(start[:2], goal[:2]), 1e-6)
        x, y, z = (a + PATH_SHARES * (b - a) for a, b in zip(start, goal, strict=True))
        across, up = (PATH_SIDES * side / length for side in (start[1] - goal[1], goal[0] - start[0]))
        seen = np.fmax.reduce(view.heights(x + across, y + up))
        ground = np.where(np.isnan(seen), z, seen)  # unknown: as the way there
        path: list[float] = view.to_footprint(x, y, ground)[2].tolist()
        return tuple(path)


def moved(pose: Pose, points: ComplexArray) -> ComplexArray:
    """Points x + i y [m] after a planar motion."""
    moved: ComplexArray = complex(pose.x, pose.y) + cmath.exp(1j * pose.yaw) * points
    return moved


def _drop(heights: Array) -> float:
    """How much lower [m] the ground is than the plane of the feet, at the place where it differs most."""
    return -float(heights[np.abs(heights).argmax()]) if len(heights) else math.nan
