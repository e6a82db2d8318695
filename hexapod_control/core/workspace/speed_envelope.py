"""Speed envelope: the twists and swing times that legs and servos allow.

Two limits apply to every leg: in a swing no joint may exceed a share of its no-load speed, and half a stride must stay
inside the stride region. Both limit the speed over the ground of the point of the body above the neutral foothold, and
depend on its heading, the bend of its path, the swing time, the duty factor and the body height. Polar tables per leg
hold the limit, for strides about the neutral foothold and about the moved centre, with the full and the least lift;
half a turn is enough, as a backward stride is a forward stride reversed. Joint speed is not monotone in the swing time
(a longer swing lifts slower but strides farther), so the swing time is searched: the one nearest to the wanted one at
which the whole twist is possible. If there is none, the stride centres move as far as needed, and then the swings
become lower. If that is not enough, the twist is scaled down at the best swing time, which keeps its curvature.
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
from hexapod_control.core.robot import Leg, Robot
from hexapod_control.core.workspace.stance_regions import StanceRegionTable
from hexapod_control.core.workspace.strides.foot_paths import UnitMotion, foot_positions
from hexapod_control.core.workspace.strides.stride_regions import (
    BENDS,
    CORNERS,
    HEADINGS,
    UNADAPTED,
    StrideAdaptation,
    Strides,
    StridesByMotion,
    split_region_share,
)
from hexapod_control.core.workspace.strides.stride_table import StrideTable, bend_of_path
from hexapod_control.core.workspace.swing_limits import (
    PROGRESS,
    STRIDE_SHARE,
    SWING_TIME_SCALES,
    max_travels,
    nearest_swing_times,
    shortest_swing,
)

FULL_GAIN = 0.05  # relative gain in speed from which strides adapt as far as needed
EASY_LOAD = 0.95  # share of the possible load: strides adapt to the speed only above it
INTERPOLATED_LOAD = 1.02 * EASY_LOAD  # the same with moved centres, whose loads are not quite linear in between
LOAD_ROUNDING = 1e-9  # of a load: closer to 1, a twist is just possible
MIN_SPEED = 1e-6  # [m/s] in the tables
STRIDE_LENGTHS = np.sqrt(np.linspace(0.0, 1.0, 6))  # as shares of the longest
MIN_DISTANCE = 1e-6  # [m] of a foot from base_footprint
EXCESSIVE = 100.0  # [m/s, rad/s] a speed that no robot reaches
BEND_STEP = BENDS[1] - BENDS[0]
TURNING_HEADING = HEADINGS  # index in the tables of turning on the spot, after the headings
NEAR_TURNING = 0.1  # body speed over foot speed below which the tables blend into turning on the spot


@dataclass(frozen=True, slots=True)
class SpeedLimit:
    """A possible twist, and how the robot walks at it."""

    twist: Twist
    swing_time: float  # [s]
    adaptation: StrideAdaptation = UNADAPTED  # of the strides


def _inverse_speeds(
    leg: Leg, robot: Robot, height: float, strides: StridesByMotion, stance: float, lift: float
) -> Array:
    """The least time per path [s/m] of a foot with every joint under its limit, by (bend, swing time, heading).

    `stance` is in swing times, `lift` in [m]. The last heading is that of turning on the spot, in the last bend.
    """
    swings = np.array(SWING_TIME_SCALES) * robot.walk.swing_time
    # The body's motion past a foot of unit speed: straight, or about a centre of rotation as far as the body's.
    centres = np.append(strides.centres, strides.centres[:, -1:], axis=1)
    radii = np.append(strides.radii, strides.radii[:, -1:], axis=1)
    distance = np.maximum(np.abs(centres), MIN_DISTANCE)
    heading = np.exp(1j * math.pi * np.arange(HEADINGS + 1) / HEADINGS) * np.ones(centres.shape)
    heading[:, TURNING_HEADING] = 1j * centres[:, TURNING_HEADING] / distance[:, TURNING_HEADING]
    rate = np.array(BENDS)[:, None] / distance
    motion = UnitMotion((heading - 1j * rate * centres)[..., None, None], rate[..., None, None])
    travels = 2.0 * STRIDE_SHARE / stance * radii[..., None] * STRIDE_LENGTHS
    path = foot_positions(motion, travels[..., None], stance, centres[..., None, None], PROGRESS)
    contacts = path.real, path.imag, lift * travel_and_lift(PROGRESS)[1]
    times = shortest_swing(leg, joints_at_contacts(leg, robot.foot_radius, height, contacts).joints)
    speeds = (max_travels(travels, times, swings) / swings[:, None, None]).swapaxes(0, 1)
    found: Array = 1.0 / np.maximum(speeds, MIN_SPEED)
    return found


class _MovingFoot(NamedTuple):
    """Motion of one planted foot relative to the body at a twist, at its neutral foothold."""

    row: int  # of the leg
    speed: float  # [m/s] over the ground
    places: tuple[tuple[int, int, float], ...]  # (bend, heading, weight) of the table values to interpolate between
    stretch: float  # [1/s] its speed relative to the radius of its region


@dataclass(frozen=True, slots=True)
class _Demand:
    """A twist and the conditions under which it has to be possible."""

    gaits: tuple[Gait, ...]  # one of each stance time
    height: float  # [m]
    radii_share: float
    twist: Twist
    feet: dict[float, list[_MovingFoot]] = field(default_factory=dict)  # by share of the displacement, once computed


def _places(angle: float, bend: float, turning: float) -> tuple[tuple[int, int, float], ...]:
    """Bend, heading and weight of the values in a table next to a motion in a direction [rad].

    `turning` (0 to 1) is how nearly the body turns on the spot.
    """
    places = [(len(BENDS) - 1, TURNING_HEADING, turning)] if turning > 0.0 else []
    heading_at, bend_at = angle * HEADINGS / math.pi, (bend + 1.0) / BEND_STEP
    a, k = math.floor(heading_at), min(int(bend_at), len(BENDS) - 2)
    for heading, heading_weight in ((a, 1.0 - (heading_at - a)), (a + 1, heading_at - a)):
        for row, bend_weight in ((k, 1.0 - (bend_at - k)), (k + 1, bend_at - k)):
            # In the opposite heading, a path is the reverse of one that bends to the other side.
            mirrored = heading // HEADINGS % 2 == 1
            weight = (1.0 - turning) * heading_weight * bend_weight
            places.append((len(BENDS) - 1 - row if mirrored else row, heading % HEADINGS, weight))
    return tuple(places)


class SpeedEnvelope:
    """Tables of the highest speeds in every gait at every height, and the limiter that reads them."""

    def __init__(
        self, robot: Robot, stances: StanceRegionTable, strides: StrideTable, gaits: Mapping[str, Gait]
    ) -> None:
        """Tabulates the speeds of all gaits over a few heights: a third of the time to load a robot."""
        self._stances, self._strides = stances, strides
        rows = stances.rows
        self._heights = sorted({0, len(rows) - 1, *(i for i, r in enumerate(rows) if r.height == robot.walk.height)})
        self._swing = tuple(s * robot.walk.swing_time for s in SWING_TIME_SCALES)
        self._tables = {
            stance_time: [self._table(robot, h, stance_time) for h in self._heights]
            for stance_time in {gait.stance for gait in gaits.values()}
        }
        self.adapts_strides = True  # in the fastest gait
        self.stride_shares: Mapping[str, float] = {}  # by gait: share of the regions that strides use; 1 if absent

    def _table(self, robot: Robot, row: int, stance_time: float) -> list[list[list[list[array[float]]]]]:
        """Inverse speeds [s/m] by leg, bend, swing time and heading, for a stance time [swing times].

        For all CORNERS with the stance time of the gait that adapts its strides, else only for usual strides.
        """
        height, lift = self._stances.rows[row].height, robot.walk.lift_height
        return [
            [
                [
                    [array("d", headings) for headings in bend]
                    for bend in _inverse_speeds(leg, robot, height, strides, stance_time, corner.lift_share * lift)
                ]
                for leg, strides in zip(robot.legs, self._strides.at_row(row, corner.moved), strict=True)
            ]
            for corner in (CORNERS if stance_time == self._strides.gait.stance else (UNADAPTED,))
        ]

    def with_stride_shares(self, shares: Mapping[str, float]) -> SpeedEnvelope:
        """The same tables for strides that use only a share of the regions, by name of the gait."""
        shorter = copy(self)
        shorter.stride_shares, shorter.adapts_strides = shares, False
        return shorter

    def _between(self, height: float) -> tuple[int, int, float]:
        """(table below, table above, weight of the latter) for a height [m], clamped to the tables."""
        rows = self._stances.rows
        heights = [rows[h].height for h in self._heights]
        for k in range(len(heights) - 1):
            if height < heights[k + 1]:
                return k, k + 1, max(0.0, (height - heights[k]) / (heights[k + 1] - heights[k]))
        return len(heights) - 1, len(heights) - 1, 0.0

    def _moving_feet(self, demand: _Demand, moved: float) -> list[_MovingFoot]:
        """The footholds that move at a twist, with a share `moved` of the displacement of their regions."""
        if moved in demand.feet:
            return demand.feet[moved]
        stance, twist = self._stances.at(demand.height), demand.twist
        feet = demand.feet[moved] = []
        regions = self._strides.regions(stance, twist, moved)
        strides, body_speed = Strides(stance, regions, 1.0), math.hypot(twist.vx, twist.vy)
        for row, region in enumerate(regions):
            (x, y), radius = strides.disc(row, region)
            vx, vy = twist.velocity_at(x, y)
            speed = math.hypot(vx, vy)
            if speed > 0.0:
                bend, turning = bend_of_path(twist, x, y, speed), max(0.0, 1.0 - body_speed / (NEAR_TURNING * speed))
                feet.append(_MovingFoot(row, speed, _places(math.atan2(vy, vx), bend, turning), speed / radius))
        return feet

    def _loads(
        self, demand: _Demand, gait: Gait, adaptation: StrideAdaptation, swings: Sequence[int]
    ) -> Iterator[float]:
        """Load of a twist in a gait, for each swing time (index): 1 means that it is just possible."""
        feet = self._moving_feet(demand, adaptation.moved)
        low, high, high_weight = self._between(demand.height)
        table = self._tables[gait.stance]
        weighted = [
            (weight, table[h][corner])
            for h, height_weight in ((low, 1.0 - high_weight), (high, high_weight))
            for corner, corner_weight in enumerate(adaptation.weights())
            if (weight := height_weight * corner_weight) > 0.0
        ]
        half_stance = 0.5 * gait.stance / STRIDE_SHARE / (demand.radii_share * self.stride_shares.get(gait.name, 1.0))
        for swing in swings:
            worst = 0.0
            for row, speed, places, stretch in feet:
                slow = 0.0
                for weight, tables in weighted:
                    values = tables[row]
                    slow += weight * sum([part * values[bend][swing][heading] for bend, heading, part in places])
                worst = max(worst, speed * slow, stretch * half_stance * self._swing[swing])
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
        """The twist, scaled down to what is possible in a gait and in `next_gaits`, and its swing time.

        The swing time is the possible one nearest to `tempo`, a factor on the robot's. `height` is that of base_link
        [m]; `region_share` is what the body pose leaves of the regions (REGION_SHARES). Only the fastest gait adapts
        its strides.
        """
        gaits = tuple({gait.stance: gait for gait in (gait, *next_gaits)}.values())
        max_moved, radii_share = split_region_share(region_share)
        demand, adaptation = _Demand(gaits, height, radii_share, twist), UNADAPTED
        swing, load = self._nearest_swing(demand, adaptation, tempo)
        fastest = self._strides.gait.name
        if self.adapts_strides and load > EASY_LOAD and all(each.name == fastest for each in (gait, *next_gaits)):
            adaptation = self._adapted(demand, UNADAPTED, StrideAdaptation(max_moved))
            adaptation = self._adapted(demand, adaptation, adaptation._replace(lowered=1.0))
            if adaptation != UNADAPTED:
                swing, load = self._nearest_swing(demand, adaptation, tempo)
        limited = twist if load <= 1.0 + LOAD_ROUNDING else twist.scaled(1.0 / load)
        return SpeedLimit(limited, self._swing[swing], adaptation)

    def _nearest_swing(self, demand: _Demand, adaptation: StrideAdaptation, tempo: float) -> tuple[int, float]:
        """The swing time (index) nearest to a tempo at which a twist is possible, or that of the least load; its load.

        With adapted strides it is at most EASY_LOAD: at the limit, all joints of a leg reach their speeds at once.
        """
        # The region guard slows strides that only just fit: another swing time makes them shorter.
        enough = 1.0 - LOAD_ROUNDING if adaptation == UNADAPTED else EASY_LOAD
        swings = nearest_swing_times(tempo)
        loads = zip(*(self._loads(demand, gait, adaptation, swings) for gait in demand.gaits), strict=True)
        best, best_load = swings[0], math.inf
        for swing, load in zip(swings, map(max, loads), strict=False):
            if load <= enough:
                return swing, load
            if load < best_load:
                best, best_load = swing, load
        return best, best_load

    def _adapted(self, demand: _Demand, now: StrideAdaptation, most: StrideAdaptation) -> StrideAdaptation:
        """Strides that adapt no farther than the twist needs: as far as `most` only if that gains enough speed.

        Near the neutral footholds, legs are stiffer and the margin is greater; higher swings catch on less.
        """
        swings = range(len(self._swing))
        usual = list(self._loads(demand, self._strides.gait, now, swings))
        if min(usual) <= (EASY_LOAD if now == UNADAPTED else INTERPOLATED_LOAD) or now == most:
            return now
        adapted = list(self._loads(demand, self._strides.gait, most, swings))
        gain = min(max((min(usual) / min(adapted) - 1.0) / FULL_GAIN, 0.0), 1.0)
        # Between the two, loads are nearly linear.
        enough = [(a - EASY_LOAD) / (a - b) for a, b in zip(usual, adapted, strict=True) if b <= EASY_LOAD < a]
        return now.towards(most, gain * min(enough, default=1.0))

    def maxima(self, gait: Gait, height: float, region_share: float) -> Twist:
        """Highest speed along each axis alone [m/s, m/s, rad/s]; arguments as in `limit`."""
        return Twist(
            *(
                max(abs(v) for v in self.limit(gait, height, region_share, Twist(*excessive)).twist)
                for excessive in ((EXCESSIVE, 0.0, 0.0), (0.0, EXCESSIVE, 0.0), (0.0, 0.0, EXCESSIVE))
            )
        )
