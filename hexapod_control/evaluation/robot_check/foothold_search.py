# SPDX-License-Identifier: Apache-2.0
"""The highest speed that any choice of stride centers allows: a seeded search over the kinematics of the legs.

The limits are the planner's: its height, swing profile and joint speeds. Unlike the planner's table, which keeps a
reserve for curvature and rolling, the search computes them. It finds two speeds: with the neutral footholds moved along
the motion only, and with footholds anywhere. Legs that are mirror images keep mirrored footholds. For a gait in which
the body sways, footholds are varied step by step, and for each choice the sway that suits the axis best is found by the
search of the crawl itself.

Points are complex numbers x + i y [m, base_footprint], and motions have a constant twist: an axis times a speed.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_batch import joints_at_contacts
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.tick_limiter import MIN_LEG_GAP_M
from hexapod_control.core.robot import Leg, Robot
from hexapod_control.core.statics.moving_mass import MovingMass
from hexapod_control.core.workspace.crawl import fastest_crawl
from hexapod_control.core.workspace.stance_regions import nominal_stance
from hexapod_control.core.workspace.strides.leg_centers import clear_of_body
from hexapod_control.core.workspace.strides.steady_cycle import (
    Points,
    SteadyCycle,
    UnitMotion,
    displaced,
    foot_positions,
    lifts,
)
from hexapod_control.core.workspace.swing_limits import SPEED_SHARE, SWING_SAMPLES, SWING_TIME_SCALES

MIN_MARGIN_M = 0.020
MIN_MARGIN_SHARE = 0.1  # of the width of the stance, for small robots
MARGIN_RESERVE_M = 0.010  # above the least margin, for the moving masses of the legs; larger margins are equal
DISTANCE_COST = 0.05  # [m] of margin per metre from the neutral footholds, near which the legs keep apart
SPEED_STEPS = 8  # halvings of the range of the common speed
SPEED_RESOLUTION = 0.003  # share of the best speed: smaller gains are not searched for
# choices of centers per round, and those of them from which the next are made
POPULATION = 512
PARENTS = 64
SPREADS = (0.3, 0.2, 0.1, 0.05, 0.03, 0.02)  # of the next choices about their parents, in lengths of a leg
MAX_CHECKED = 8  # best choices that are checked with all masses and gaps
# searches on a finer grid about the best walk, and its steps over two cells
REFINEMENTS = 4
FINER_STEPS = 9
STANCE_SAMPLES = 11
HALVINGS = 11  # of the range in which the speed is searched
CELLS_PER_LEG = 20  # of the grid of stride centers, along the length of the leg
MOVED_STEPS = 81  # of a neutral foothold along the motion
SWAYING_STEPS = (0.1, 0.05, 0.025)  # of a foothold of a swaying robot, in lengths of a leg


class FoundStride(NamedTuple):
    """The fastest walk that a search has found."""

    speed: float  # [m/s] or [rad/s]
    gait: str
    swing_time: float  # [s]
    centers: tuple[complex, ...]  # [m] of every leg's stride


NOTHING = FoundStride(0.0, "", 0.0, ())


@dataclass(frozen=True, slots=True)
class LegGroup:
    """A leg, with the one that mirrors it if there is one, and its possible stride centers."""

    rows: tuple[int, ...]
    centers: Points
    speeds: Array  # (T, C) [m/s or rad/s] highest along the axis, by swing time and center


def search_margin(robot: Robot) -> float:
    """The static margin [m] that a found walk keeps."""
    sides = [leg.foothold[1] for leg in robot.legs]
    return min(MIN_MARGIN_M, MIN_MARGIN_SHARE * (max(sides) - min(sides)))


def fastest_stride(robot: Robot, gaits: Collection[Gait], axis: Twist, moved: FoundStride | None = None) -> FoundStride:
    """The fastest walk along an axis in any of the gaits.

    Without `moved`, footholds are moved along the motion only. With the result of such a search in `moved`, they may be
    anywhere; the walk is then at least as fast.
    """
    best = moved or NOTHING
    pairs = list(mirror_groups(robot.legs))
    anywhere = moved is not None
    for gait in sorted(gaits, key=lambda each: each.stance_time):
        if gait.sway is not None:
            best = _fastest_swaying(robot, gait, axis, pairs, best, anywhere)
            continue
        candidates = [_candidates(robot, robot.legs[rows[0]], axis, anywhere) for rows in pairs]
        best = _search(SteadyCycle(robot, gait, axis), pairs, candidates, best)
    refined = next((gait for gait in gaits if gait.name == best.gait and gait.sway is None), None)
    if anywhere and refined is not None:
        for _ in range(REFINEMENTS):
            legs = [(robot.legs[rows[0]], best.centers[rows[0]]) for rows in pairs]
            candidates = [np.append(clear_centers(robot, leg, p + _finer_grid(leg)), p) for leg, p in legs]
            best = _search(SteadyCycle(robot, refined, axis), pairs, candidates, best)
    return best


def _fastest_swaying(
    robot: Robot, gait: Gait, axis: Twist, pairs: Sequence[tuple[int, ...]], best: FoundStride, anywhere: bool
) -> FoundStride:
    """The best walk in a gait that sways, if it is faster than the best so far; else that.

    Without `anywhere`, the footholds are the neutral ones.
    """
    direction = (complex(axis.vx, axis.vy), axis.wz)
    both = (direction, (-direction[0], -direction[1]))

    def walk(placed: Robot) -> FoundStride:
        found = fastest_crawl(placed, both)
        if found is None:
            return NOTHING
        centers = tuple(complex(*leg.foothold) for leg in placed.legs)
        speed = found.speed / max(map(abs, centers)) if axis.wz else found.speed
        return FoundStride(speed, gait.name, found.swing_time, centers)

    here = walk(robot)
    for step in SWAYING_STEPS if anywhere else ():
        moves = [
            (rows, step * robot.legs[rows[0]].length * ahead) for rows in pairs for ahead in (1.0, -1.0, 1.0j, -1.0j)
        ]
        improved = True
        while improved:
            choices = [walk(placed) for rows, move in moves if (placed := _placed(robot, here, rows, move)) is not None]
            next_one = max((here, *choices), key=lambda found: found.speed)
            improved = next_one.speed > here.speed * (1.0 + SPEED_RESOLUTION)
            here = next_one if improved else here
    return here if here.speed > best.speed else best


def _placed(robot: Robot, walk: FoundStride, rows: tuple[int, ...], move: complex) -> Robot | None:
    """The robot on the footholds of a walk, those of a group of legs moved [m]; None if they cannot stand there."""
    legs = [replace(leg, foothold=(p.real, p.imag)) for leg, p in zip(robot.legs, walk.centers, strict=True)]
    for row, by in zip(rows, (move, move.conjugate()), strict=False):
        x, y = legs[row].foothold
        legs[row] = replace(legs[row], foothold=(x + by.real, y + by.imag))
        foot = np.array([complex(*legs[row].foothold)])
        if not len(clear_centers(robot, robot.legs[row], foot)):
            return None
    return replace(robot, legs=tuple(legs))


def _candidates(robot: Robot, leg: Leg, axis: Twist, anywhere: bool) -> Points:
    """Stride centers anywhere in reach, or on the line or arc on which the motion carries the neutral foothold."""
    if anywhere:
        return usable_centers(robot, leg)
    neutral = np.array(complex(*leg.foothold))
    foot_speed = abs(complex(axis.vx, axis.vy) + 1j * axis.wz * neutral)
    steps = np.linspace(-0.5, 0.5, MOVED_STEPS) * leg.length / foot_speed
    return np.append(clear_centers(robot, leg, displaced(UnitMotion.along(axis), steps, neutral)), neutral)


def _finer_grid(leg: Leg) -> Points:
    """A finer grid over the cells next to a point of the grid."""
    steps = np.linspace(-1.0, 1.0, FINER_STEPS) * leg.length / CELLS_PER_LEG
    return (steps[:, None] + 1j * steps).ravel()


def _search(
    cycle: SteadyCycle, pairs: Sequence[tuple[int, ...]], candidates: Sequence[Points], best: FoundStride
) -> FoundStride:
    """The best walk with these stride centers and any swing time, if it is faster than the best so far."""
    robot = cycle.robot
    times = robot.walk.swing_time * np.array(SWING_TIME_SCALES)
    groups = []
    for rows, centers in zip(pairs, candidates, strict=True):
        speeds = max_speeds(robot, robot.legs[rows[0]], cycle.axis, cycle.gait.stance_time, times, centers)
        groups.append(LegGroup(rows, centers, speeds))
    bounds = np.min([group.speeds.max(axis=1) for group in groups], axis=0)
    for k in np.argsort(-bounds).tolist():
        best = _fastest_at_swing_time(cycle, groups, k, float(times[k]), float(bounds[k]), best)
    return best


def mirror_groups(legs: Sequence[Leg]) -> Iterator[tuple[int, ...]]:
    """Rows of pairs of legs that are mirror images of each other, and of the legs without one."""
    left = list(range(len(legs)))
    while left:
        row = left.pop(0)
        image = _rounded(_mirror(legs[row]))
        counterpart = next((other for other in left if _rounded(legs[other]) == image), None)
        if counterpart is not None:
            left.remove(counterpart)
        yield (row,) if counterpart is None else (row, counterpart)


def _mirror(leg: Leg) -> Leg:
    (x, y, z), (foot_x, foot_y), coxa = leg.hip, leg.foothold, leg.coxa_joint
    return replace(
        leg,
        hip=(x, -y, z),
        hip_yaw=-leg.hip_yaw,
        tilt=(-leg.tilt[0], leg.tilt[1]),
        femur_lateral=-leg.femur_lateral,
        coxa_joint=replace(coxa, lower=-coxa.upper, upper=-coxa.lower),
        foothold=(foot_x, -foot_y),
    )


def _rounded(leg: Leg) -> Leg:
    """The leg without its name and without rounding errors of its place."""
    x, y, z = (round(value, 6) for value in leg.hip)
    foothold = round(leg.foothold[0], 6), round(leg.foothold[1], 6)
    return replace(leg, name="", hip=(x, y, z), hip_yaw=round(leg.hip_yaw, 6), foothold=foothold)


def _fastest_at_swing_time(
    cycle: SteadyCycle, groups: Sequence[LegGroup], k: int, swing_time: float, bound: float, best: FoundStride
) -> FoundStride:
    """The best walk with the swing time of index k, if it is faster than the best so far."""
    low = best.speed
    high = bound
    for _ in range(SPEED_STEPS):
        if high <= best.speed * (1.0 + SPEED_RESOLUTION):
            break
        speed = high if high == bound else 0.5 * (low + high)
        usable = [group.centers[group.speeds[k] >= speed] for group in groups]
        centers = _stable_centers(cycle, groups, usable, speed * swing_time)
        if centers is None:
            high = speed if speed < bound else math.nextafter(bound, 0.0)
        else:
            low = speed
            best = FoundStride(speed, cycle.gait.name, swing_time, tuple(centers.tolist()))
    return best


def _stable_centers(
    cycle: SteadyCycle, groups: Sequence[LegGroup], usable: Sequence[Points], stride_travel: float
) -> Points | None:
    """Stride centers with at least the least margin and no leg too near to the next; None if none are found."""
    rng = np.random.default_rng(0)
    robot = cycle.robot
    length = robot.legs[0].length
    mass = MovingMass.of(robot)
    least = search_margin(robot)
    neutral = np.array([complex(*leg.foothold) for leg in robot.legs])
    chosen = [rng.choice(points, POPULATION) for points in usable]
    for spread in (*SPREADS, 0.0):
        centers = _of_all_legs(groups, chosen)
        margins = np.minimum(cycle.support_margins(stride_travel, centers, mass), least + MARGIN_RESERVE_M)
        distances = np.abs(centers - neutral).mean(axis=1)
        order = np.argsort(DISTANCE_COST * distances - margins, kind="stable")[:PARENTS]
        noise = spread * length * (rng.normal(size=(len(usable), POPULATION, 2)) @ np.array((1.0, 1.0j)))
        parents = [np.resize(points[order], POPULATION) for points in chosen]
        noise[:, :PARENTS] = 0.0
        chosen = [_nearest(points, p + n) for points, p, n in zip(usable, parents, noise, strict=True)]
    for row in order[:MAX_CHECKED]:
        limits = cycle.limits(stride_travel, centers[row], MIN_LEG_GAP_M)
        if limits.margin >= least and limits.gap >= MIN_LEG_GAP_M:
            found: Points = centers[row]
            return found
    return None


def _of_all_legs(groups: Sequence[LegGroup], chosen: Sequence[Points]) -> Points:
    """Stride centers (N, legs) from those of every group."""
    columns: dict[int, Points] = {}
    for group, points in zip(groups, chosen, strict=True):
        columns |= dict(zip(group.rows, (points, points.conj()), strict=False))
    return np.stack([columns[row] for row in sorted(columns)], axis=1)


def _nearest(points: Points, wanted: Points) -> Points:
    return points[np.abs(wanted[:, None] - points).argmin(axis=1)]


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
        low = np.where(possible, speed, low)
        high = np.where(possible, high, speed)
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
