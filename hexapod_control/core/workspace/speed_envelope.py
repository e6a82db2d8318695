"""How fast the robot may walk: twist and swing time that legs and servos can do.

What limits a leg is the speed of its foot over the ground: over one swing no joint may exceed a share of its
no-load speed, and half a stride must stay inside the stance region. Both depend on the direction of the foot,
the swing time, the duty factor and the body's height, and hardly on the curvature of the path: a polar table
per leg holds them (the tick limiter of the planner takes care of the small rest). Joint speed is not monotone in the
swing time (a longer swing lifts slower but strides further), so the swing time is searched: the one nearest to the
nominal at which the whole twist is possible. If there is none, the twist is scaled at the best; its curvature stays.
See docs/architecture/walking-mathematics.md, "Speed envelope".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass

import numpy as np

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.gait.swing_trajectory import share_and_lift
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_batch import inverse_over_arrays
from hexapod_control.core.kinematics.leg_kinematics import base_to_hip
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Leg, Point, Robot
from hexapod_control.core.workspace.stance_regions import StanceRegions, StanceRegionTable

SPEED_SHARE = 0.7  # of the no-load speed: what a loaded servo still follows
TABLE_SHARE = 0.97  # of that: what the table leaves to curvature, rolling and interpolation
STRIDE_SHARE = 0.95  # of the stance region that steady strides use; the guard of planted feet has the rest
SWING_TIME_SCALES = (0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0)  # of the nominal swing time
TABLE_DIRECTIONS = 16  # of the polar table
SWING_SAMPLES = 21  # of a swing
TRIED_SPEEDS = 9  # tried per direction


@dataclass(frozen=True, slots=True)
class SpeedLimit:
    """A twist that is possible, and the swing time [s] at which it is."""

    twist: Twist
    swing_time: float  # [s]


def _load(leg: Leg, robot: Robot, foothold: Point, height: float, path: tuple[Array, Array], time: Array) -> Array:
    """Greatest joint speed over its limit along paths (..., U) [m] about a foothold, each sample `time` [s] long."""
    lift = robot.walk.lift_height * share_and_lift(np.linspace(0.0, 1.0, SWING_SAMPLES))[1]
    feet = foothold[0] + path[0], foothold[1] + path[1], lift + robot.foot_radius - height
    found = np.zeros(path[0].shape[:-1])
    for angle, joint in zip(inverse_over_arrays(leg, base_to_hip(leg, feet)).joints, leg.joints, strict=True):
        step = np.abs(np.diff(angle)).max(axis=-1)
        np.maximum(found, step / (SPEED_SHARE * TABLE_SHARE * joint.no_load_speed), out=found)
    return found / time


def _fastest(leg: Leg, robot: Robot, stance: StanceRegions, row: int, stance_share: float) -> Array:
    """Foot speeds (swing time, direction) [m/s] that keep every joint under its limit over a swing."""
    swing = np.array(SWING_TIME_SCALES) * robot.walk.swing_time
    angle = (np.arange(TABLE_DIRECTIONS) * math.tau / TABLE_DIRECTIONS)[:, None, None]
    u = np.linspace(0.0, 1.0, SWING_SAMPLES)
    # Displacement of the foot in the body's frame over a swing, in units of speed x swing time.
    displacement = share_and_lift(u)[0] * (1.0 + stance_share) - u - stance_share / 2
    # Speeds up to the one whose stride fills the region, per swing time.
    top = 2.0 * stance.radii[row] / (stance_share * swing)
    speed = top[:, None] * np.linspace(0.0, 1.0, TRIED_SPEEDS)  # (S, V)
    reach = (speed[:, :, None] * swing[:, None, None] * displacement)[:, None]  # (S, 1, V, U)
    paths = (reach * np.cos(angle), reach * np.sin(angle))  # (S, A, V, U)
    time = (swing / (SWING_SAMPLES - 1))[:, None, None]
    load = np.maximum.accumulate(_load(leg, robot, stance.footholds[row], stance.height, paths, time), axis=2)
    result = np.empty((len(swing), TABLE_DIRECTIONS))
    for s in range(len(swing)):
        for a in range(TABLE_DIRECTIONS):
            result[s, a] = np.interp(1.0, load[s, a], speed[s]) if load[s, a, 0] < 1.0 else 0.0
    return np.minimum(result, STRIDE_SHARE * top[:, None])


def swing_loads(robot: Robot, stance: StanceRegions, leg: int, twist: Twist, swing_time: float, ends: Array) -> Array:
    """Joint speed over its limit for swings (K, K) from `ends` (K,) [m] behind the foothold to `ends` ahead of it."""
    x, y = stance.footholds[leg]
    vx, vy = twist.vx - twist.wz * y, twist.vy + twist.wz * x
    speed = math.hypot(vx, vy)
    u = np.linspace(0.0, 1.0, SWING_SAMPLES)
    ride = speed * swing_time
    behind, ahead = ends[:, None, None], ends[None, :, None]
    reach = share_and_lift(u)[0] * (behind + ahead + ride) - u * ride - behind  # (K, K, U)
    heading = (vx / speed, vy / speed) if speed > 0.0 else (1.0, 0.0)
    paths = (reach * heading[0], reach * heading[1])
    time = np.array(swing_time / (SWING_SAMPLES - 1))
    return _load(robot.legs[leg], robot, stance.footholds[leg], stance.height, paths, time)


class SpeedEnvelope:
    """Tables of what every gait can do at every height, and the limiter that reads them."""

    def __init__(self, robot: Robot, stances: StanceRegionTable, gaits: Mapping[str, Gait]) -> None:
        """Tabulates the speeds of all gaits over a few heights (tens of milliseconds)."""
        self._robot = robot
        self._stances = stances
        rows = stances.rows
        self._heights = sorted({0, len(rows) - 1, *(i for i, r in enumerate(rows) if r.height == robot.walk.height)})
        self._swing = tuple(s * robot.walk.swing_time for s in SWING_TIME_SCALES)
        self._nearest: dict[float, tuple[int, ...]] = {}  # indices of swing times by the share wished for
        tables = {}
        for duty_stance in {gait.stance for gait in gaits.values()}:
            # 1 / speed is what the limiter needs; a speed of zero becomes a very large number.
            tables[duty_stance] = [
                [
                    (1.0 / np.maximum(_fastest(leg, robot, rows[h], i, duty_stance), 1e-6)).tolist()
                    for i, leg in enumerate(robot.legs)
                ]
                for h in self._heights
            ]
        self._tables = tables
        self.stride_shares: Mapping[str, float] = {}  # by gait: of the room that strides use, if not all of it

    def with_shorter_strides(self, shares: Mapping[str, float]) -> SpeedEnvelope:
        """The same tables for strides that use only a share (0 to 1) of the stance regions, by name of the gait."""
        shorter = copy(self)
        shorter.stride_shares = shares
        return shorter

    def _between(self, height: float) -> tuple[int, int, float]:
        rows = self._stances.rows
        heights = [rows[h].height for h in self._heights]
        for k in range(len(heights) - 1):
            if height < heights[k + 1]:
                return k, k + 1, max(0.0, (height - heights[k]) / (heights[k + 1] - heights[k]))
        return len(heights) - 1, len(heights) - 1, 0.0

    def load(self, gait: Gait, height: float, room: float, twist: Twist, swing: int) -> float:
        """How far a twist uses what is possible at a swing time (index); 1 is the limit.

        `room` is the share (0 to 1) of the stance regions that the body's pose leaves.
        """
        low, high, share = self._between(height)
        table = self._tables[gait.stance]
        stance = self._stances.at(height)
        room *= self.stride_shares.get(gait.name, 1.0)
        half_stance = 0.5 * gait.stance * self._swing[swing] / (STRIDE_SHARE * room)
        worst = 0.0
        for i, (x, y) in enumerate(stance.footholds):
            vx, vy = twist.vx - twist.wz * y, twist.vy + twist.wz * x
            speed = math.hypot(vx, vy)
            if speed == 0.0:
                continue
            place = math.atan2(vy, vx) * (TABLE_DIRECTIONS / math.tau) % TABLE_DIRECTIONS
            a = int(place)
            b, part = (a + 1) % TABLE_DIRECTIONS, place - a
            a %= TABLE_DIRECTIONS
            below, above = table[low][i][swing], table[high][i][swing]
            slow = (1 - share) * (below[a] + part * (below[b] - below[a])) + share * (
                above[a] + part * (above[b] - above[a])
            )
            worst = max(worst, speed * slow, speed * half_stance / stance.radii[i])
        return worst

    def limit(
        self, gait: Gait, height: float, room: float, twist: Twist, tempo: float = 1.0, coming: Iterable[Gait] = ()
    ) -> SpeedLimit:
        """The twist, scaled to what is possible in a gait and in those to come, and the swing time at which it is.

        It is the one nearest to `tempo`, a share of the robot's.
        """
        gaits = {gait.stance: gait for gait in (gait, *coming)}.values()
        if tempo not in self._nearest:
            indices = sorted(range(len(SWING_TIME_SCALES)), key=lambda k: abs(SWING_TIME_SCALES[k] - tempo))
            self._nearest[tempo] = tuple(indices)
        best, best_load = self._nearest[tempo][0], math.inf
        for swing in self._nearest[tempo]:
            load = max([self.load(each, height, room, twist, swing) for each in gaits])
            if load <= 1.0:
                return SpeedLimit(twist, self._swing[swing])
            if load < best_load:
                best, best_load = swing, load
        return SpeedLimit(twist.scaled(1.0 / best_load), self._swing[best])

    def maxima(self, gait: Gait, height: float, room: float) -> Twist:
        """Greatest speed along each axis alone [m/s, m/s, rad/s]."""
        return Twist(
            *(
                max(abs(v) for v in self.limit(gait, height, room, Twist(*unit)).twist)
                for unit in ((100.0, 0.0, 0.0), (0.0, 100.0, 0.0), (0.0, 0.0, 100.0))
            )
        )
