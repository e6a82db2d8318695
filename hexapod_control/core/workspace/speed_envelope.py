# SPDX-License-Identifier: Apache-2.0
"""Speed envelope: the twists and swing times that legs and servos allow.

Two conditions hold for every leg: in a swing no joint exceeds a share of its no-load speed, and half a stride stays
inside the stride region. Both limit the speed of the foothold relative to the body, which is tabulated by leg, height,
duty factor, swing time, bend and heading of the path (half a turn: a backward stride is a forward stride reversed), for
strides about the neutral foothold and about the moved center, with the full and the lowest lift. The limit ratio of a
twist is the largest ratio, over all legs, of this speed to the highest one allowed: up to 1 the twist is possible.

Joint speed is not monotone in the swing time (a longer swing lifts more slowly but strides farther). So the swing times
are tried, nearest to the requested one first, until the twist is possible. If it is at none, the stride centers move as
far as needed, and then the swings become lower. Finally the twist is scaled down at the best swing time, which keeps
its curvature.
See docs/architecture/walking-mathematics.md, "Speed envelope".
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.gait.swing_trajectory import travel_and_lift
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_batch import joints_at_contacts
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Robot
from hexapod_control.core.workspace.stance_regions import StanceRegions, StanceRegionTable
from hexapod_control.core.workspace.strides.steady_cycle import UnitMotion, foot_positions
from hexapod_control.core.workspace.strides.stride_table import (
    BENDS,
    CORNERS,
    HEADINGS,
    UNADAPTED,
    StrideAdaptation,
    Strides,
    StridesByMotion,
    StrideTable,
    bend_of_path,
    split_region_share,
)
from hexapod_control.core.workspace.swing_limits import (
    PROGRESS,
    STRIDE_SHARE,
    SWING_TIME_SCALES,
    max_travels,
    nearest_swing_times,
    shortest_swing,
)

FULL_GAIN = 0.05  # relative gain in speed from which strides adapt as far as needed
TARGET_RATIO = 0.95  # limit ratio above which strides adapt to the speed, and to which they adapt
INTERPOLATED_RATIO = 1.02 * TARGET_RATIO  # likewise with moved centers: between the tables, ratios are not quite linear
RATIO_ROUNDING = 1e-9  # above 1, by which a limit ratio still counts as possible
MIN_SPEED = 1e-6  # [m/s] in the tables
STRIDE_LENGTHS = np.sqrt(np.linspace(0.0, 1.0, 6))  # as shares of the longest
MIN_DISTANCE = 1e-6  # [m] of a foot from base_footprint
EXCESSIVE = 100.0  # [m/s, rad/s] a speed that no robot reaches
BEND_STEP = BENDS[1] - BENDS[0]
TURNING_HEADING = HEADINGS  # index in the tables of turning on the spot, after the headings
SWING_STRIDE = HEADINGS + 1  # places in a table from one swing time to the next
BEND_STRIDE = len(SWING_TIME_SCALES) * SWING_STRIDE  # places in a table from one bend to the next
NEAR_TURNING = 0.1  # body speed over foot speed, below which the tables are blended with that of turning on the spot


@dataclass(frozen=True, slots=True)
class SpeedLimit:
    """A possible twist, with the swing time and the strides for it."""

    twist: Twist
    swing_time: float  # [s]
    adaptation: StrideAdaptation = UNADAPTED  # of the strides


def _inverse_speeds(row: int, robot: Robot, height: float, strides: StridesByMotion, gait: Gait, lift: float) -> Array:
    """The inverse of the highest foot speed [s/m] with every joint within its limit, by (bend, swing time, heading).

    `lift` is in [m]. The last heading is that of turning on the spot, in the last bend.
    """
    leg = robot.legs[row]
    stance = gait.stance_time
    swings = np.array(SWING_TIME_SCALES) * robot.walk.swing_time
    # The motion of the body for a foot with unit speed: straight, or on an arc of the given bend.
    centers = np.append(strides.centers, strides.centers[:, -1:], axis=1)
    radii = np.append(strides.radii, strides.radii[:, -1:], axis=1)
    distance = np.maximum(np.abs(centers), MIN_DISTANCE)
    heading = np.exp(1j * math.pi * np.arange(HEADINGS + 1) / HEADINGS) * np.ones(centers.shape)
    heading[:, TURNING_HEADING] = 1j * centers[:, TURNING_HEADING] / distance[:, TURNING_HEADING]
    rate = np.array(BENDS)[:, None] / distance
    motion = UnitMotion((heading - 1j * rate * centers)[..., None, None], rate[..., None, None])
    travels = 2.0 * STRIDE_SHARE / stance * radii[..., None] * STRIDE_LENGTHS
    # A foot strides alike in both directions, unless the body sways.
    directions = (1.0,) if gait.sway is None else (1.0, -1.0)
    times = np.zeros(travels.shape)
    for sign in directions:
        signed = UnitMotion(sign * motion.velocity, sign * motion.rate)
        path = foot_positions(signed, travels[..., None], stance, centers[..., None, None], PROGRESS)
        if gait.sway is not None:
            half = 0.5 * stance * travels[..., None]
            phases = gait.lift_off[row] + PROGRESS / gait.cycle
            path = path - gait.sway.shifts(phases, half * signed.velocity, half * signed.rate)
        contacts = path.real, path.imag, lift * travel_and_lift(PROGRESS)[1]
        np.maximum(
            times, shortest_swing(leg, joints_at_contacts(leg, robot.foot_radius, height, contacts).joints), out=times
        )
    speeds = (max_travels(travels, times, swings) / swings[:, None, None]).swapaxes(0, 1)
    inverse: Array = 1.0 / np.maximum(speeds, MIN_SPEED)
    return inverse


class _MovingFoot(NamedTuple):
    """Motion of one planted foot relative to the body at a twist, at its neutral foothold."""

    row: int  # of the leg
    speed: float  # [m/s] over the ground
    weights: list[tuple[int, float]]  # (place, weight) of the table values to interpolate, for the first swing time
    relative_speed: float  # [1/s] its speed over the radius of its region


@dataclass(frozen=True, slots=True)
class _Demand:
    """A twist, and the conditions under which it is to be possible."""

    gaits: tuple[Gait, ...]  # one of each stance time
    regions: StanceRegions  # at the height of the body
    radii_share: float
    twist: Twist
    between: tuple[int, int, float]  # tables below and above the height, and weight of the latter
    feet: dict[float, list[_MovingFoot]] = field(default_factory=dict)  # cache, by share of the displacement


def _weights(angle: float, bend: float, turning: float) -> list[tuple[int, float]]:
    """Place and weight of the table values for a foot that moves in a direction [rad], for the first swing time.

    `turning` (0 to 1) is the weight of the values for turning on the spot.
    """
    weights = [((len(BENDS) - 1) * BEND_STRIDE + TURNING_HEADING, turning)] if turning > 0.0 else []
    heading_at = angle * HEADINGS / math.pi
    bend_at = (bend + 1.0) / BEND_STEP
    a = math.floor(heading_at)
    k = min(int(bend_at), len(BENDS) - 2)
    for heading, heading_weight in ((a, 1.0 - (heading_at - a)), (a + 1, heading_at - a)):
        for row, bend_weight in ((k, 1.0 - (bend_at - k)), (k + 1, bend_at - k)):
            # A path in the opposite heading is the reverse of one that bends to the other side.
            mirrored = heading // HEADINGS % 2 == 1
            weight = (1.0 - turning) * heading_weight * bend_weight
            if weight != 0.0:
                bend_row = len(BENDS) - 1 - row if mirrored else row
                weights.append((bend_row * BEND_STRIDE + heading % HEADINGS, weight))
    return weights


class SpeedEnvelope:
    """Tables of the highest foot speeds in every gait at every height; limits a twist to what they allow."""

    def __init__(
        self,
        robot: Robot,
        stances: StanceRegionTable,
        strides: StrideTable,
        gaits: Mapping[str, Gait],
        stride_shares: Mapping[str, float],
        *,
        adapts_strides: bool = True,
    ) -> None:
        """Tabulates the speeds of all gaits at a few heights, which takes a third of the time to load a robot.

        `stride_shares` are those of the regions that keep a static margin, by name of the gait; 1 if absent.
        `adapts_strides`: those of the fastest gait.
        """
        self.adapts_strides = adapts_strides
        self._stances = stances
        self._strides = strides
        rows = stances.rows
        self._heights = sorted({0, len(rows) - 1, *(i for i, r in enumerate(rows) if r.height == robot.walk.height)})
        self._swing = tuple(s * robot.walk.swing_time for s in SWING_TIME_SCALES)
        self._tables = {
            key: [self._table(robot, h, gait) for h in self._heights]
            for key, gait in {(gait.stance_time, gait.sway): gait for gait in gaits.values()}.items()
        }
        self.stride_shares = stride_shares

    def _table(self, robot: Robot, row: int, gait: Gait) -> list[list[array[float]]]:
        """Inverse speeds [s/m] by corner and leg, in the order of `_inverse_speeds`, for gaits with the same key.

        For all CORNERS with the key of the gait that adapts its strides, else only for unadapted strides.
        """
        height = self._stances.rows[row].height
        lift = robot.walk.lift_height
        adapting = self.adapts_strides and gait.stance_time == self._strides.gait.stance_time
        return [
            [
                array("d", _inverse_speeds(leg, robot, height, strides, gait, corner.lift_share * lift).ravel())
                for leg, strides in enumerate(self._strides.at_row(row, corner.moved))
            ]
            for corner in (CORNERS if adapting else (UNADAPTED,))
        ]

    def with_stride_shares(self, shares: Mapping[str, float]) -> SpeedEnvelope:
        """The envelope for strides that use only a share of the regions, by name of the gait, without adapting."""
        shorter = copy(self)
        shorter.stride_shares = shares
        shorter.adapts_strides = False
        return shorter

    def _between(self, height: float) -> tuple[int, int, float]:
        """Returns (table below, table above, weight of the latter) for a height [m], clamped to the tables."""
        rows = self._stances.rows
        heights = [rows[h].height for h in self._heights]
        for k in range(len(heights) - 1):
            if height < heights[k + 1]:
                return k, k + 1, max(0.0, (height - heights[k]) / (heights[k + 1] - heights[k]))
        return len(heights) - 1, len(heights) - 1, 0.0

    def _moving_feet(self, demand: _Demand, moved: float) -> list[_MovingFoot]:
        """Motion of the planted feet at a twist, with a share `moved` (0 to 1) of the displacement of their regions."""
        if moved in demand.feet:
            return demand.feet[moved]
        twist = demand.twist
        feet = demand.feet[moved] = []
        regions = self._strides.regions(demand.regions, twist, moved)
        strides = Strides(demand.regions, regions, 1.0)
        body_speed = math.hypot(twist.vx, twist.vy)
        for row, region in enumerate(regions):
            (x, y), radius = strides.disc(row, region)
            vx, vy = twist.velocity_at(x, y)
            speed = math.hypot(vx, vy)
            if speed > 0.0:
                bend = bend_of_path(twist, x, y, speed)
                turning = max(0.0, 1.0 - body_speed / (NEAR_TURNING * speed))
                feet.append(_MovingFoot(row, speed, _weights(math.atan2(vy, vx), bend, turning), speed / radius))
        return feet

    def _limit_ratios(
        self,
        demand: _Demand,
        gait: Gait,
        adaptation: StrideAdaptation,
        feet: Sequence[_MovingFoot],
        swings: Sequence[int],
    ) -> Iterator[float]:
        """Yields the limit ratio of a twist in a gait, for each of the swing times (indices).

        For foot i with the speed v_i relative to the body it is max_i max(v_i / u_i, v_i S T / (2 STRIDE_SHARE r_i)):
        u_i is the highest speed in the tables, S T the stance time, r_i the radius of the region.
        """
        low, high, high_weight = demand.between
        table = self._tables[gait.stance_time, gait.sway]
        corners = adaptation.weights()
        weighted = [
            (weight, table[h][corner])
            for h, height_weight in ((low, 1.0 - high_weight), (high, high_weight))
            for corner, corner_weight in enumerate(corners)
            if (weight := height_weight * corner_weight) > 0.0
        ]
        share = self.stride_shares.get(gait.name, 1.0)
        share += adaptation.moved * (1.0 - share)  # moved regions keep the margin themselves
        half_stance = 0.5 * gait.stance_time / STRIDE_SHARE / (demand.radii_share * share)
        for swing in swings:
            worst = 0.0
            first = swing * SWING_STRIDE
            for row, speed, weights, relative_speed in feet:
                inverse_speed = 0.0
                for weight, tables in weighted:
                    values = tables[row]
                    inverse_speed += weight * sum([w * values[first + place] for place, w in weights])
                worst = max(worst, speed * inverse_speed, relative_speed * half_stance * self._swing[swing])
            yield worst

    def limit(
        self,
        gait: Gait,
        height: float,
        region_share: float,
        twist: Twist,
        tempo: float = 1.0,
        next_gaits: Iterable[Gait] = (),
    ) -> SpeedLimit:
        """The twist, scaled down to what is possible in a gait and in `next_gaits`, with swing time and strides.

        The swing time is the possible one nearest to `tempo`, a factor on that of the robot file. `height` [m] is that
        of base_link, `region_share` the share of the regions that the body pose leaves (REGION_SHARES). Only the
        fastest gait adapts its strides.
        """
        gaits = tuple({(gait.stance_time, gait.sway): gait for gait in (gait, *next_gaits)}.values())
        max_moved, radii_share = split_region_share(region_share)
        regions = self._stances.at(height)
        demand = _Demand(gaits, regions, radii_share, twist, self._between(height))
        adaptation = UNADAPTED
        swing, ratio = self._nearest_swing(demand, adaptation, tempo)
        fastest = self._strides.gait.name
        if self.adapts_strides and ratio > TARGET_RATIO and all(each.name == fastest for each in (gait, *next_gaits)):
            adaptation = self._adapted(demand, UNADAPTED, StrideAdaptation(max_moved))
            adaptation = self._adapted(demand, adaptation, adaptation._replace(lowered=1.0))
            if adaptation != UNADAPTED:
                swing, ratio = self._nearest_swing(demand, adaptation, tempo)
        limited = twist if ratio <= 1.0 + RATIO_ROUNDING else twist.scaled(1.0 / ratio)
        return SpeedLimit(limited, self._swing[swing], adaptation)

    def _nearest_swing(self, demand: _Demand, adaptation: StrideAdaptation, tempo: float) -> tuple[int, float]:
        """The swing time (index) nearest to a tempo at which a twist is possible, else the best one; its limit ratio.

        With adapted strides, possible means up to TARGET_RATIO: at the limit, all joints of a leg reach their maximum
        speeds at the same time.
        """
        # The region guard slows strides that only just fit their region; another swing time makes them shorter.
        max_ratio = 1.0 - RATIO_ROUNDING if adaptation == UNADAPTED else TARGET_RATIO
        swings = nearest_swing_times(tempo)
        feet = self._moving_feet(demand, adaptation.moved)
        ratios = zip(
            *[self._limit_ratios(demand, gait, adaptation, feet, swings) for gait in demand.gaits], strict=True
        )
        best = swings[0]
        best_ratio = math.inf
        for swing, ratio in zip(swings, map(max, ratios), strict=False):
            if ratio <= max_ratio:
                return swing, ratio
            if ratio < best_ratio:
                best = swing
                best_ratio = ratio
        return best, best_ratio

    def _adapted(self, demand: _Demand, now: StrideAdaptation, full: StrideAdaptation) -> StrideAdaptation:
        """The adaptation between `now` and `full` that the twist needs; less if even `full` gains little speed.

        Less adaptation is better: near the neutral footholds the legs are stiffer and the static margin is greater, and
        higher swings are less likely to catch on an obstacle.
        """
        swings = range(len(self._swing))
        feet = self._moving_feet(demand, now.moved)
        before = list(self._limit_ratios(demand, self._strides.gait, now, feet, swings))
        if min(before) <= (TARGET_RATIO if now == UNADAPTED else INTERPOLATED_RATIO) or now == full:
            return now
        feet = self._moving_feet(demand, full.moved)
        after = list(self._limit_ratios(demand, self._strides.gait, full, feet, swings))
        gain = min(max((min(before) / min(after) - 1.0) / FULL_GAIN, 0.0), 1.0)
        # Between the two, ratios are nearly linear.
        shares = [(a - TARGET_RATIO) / (a - b) for a, b in zip(before, after, strict=True) if b <= TARGET_RATIO < a]
        return now.towards(full, gain * min(shares, default=1.0))

    def maxima(self, gait: Gait, height: float, region_share: float) -> Twist:
        """Highest speed along each axis alone [m/s, m/s, rad/s]; arguments as in `limit`."""
        return Twist(
            *(
                max(abs(v) for v in self.limit(gait, height, region_share, Twist(*excessive)).twist)
                for excessive in ((EXCESSIVE, 0.0, 0.0), (0.0, EXCESSIVE, 0.0), (0.0, 0.0, EXCESSIVE))
            )
        )
