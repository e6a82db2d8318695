"""How fast the robot may walk: twist and swing time that legs and servos can do.

What limits a leg is the speed of its foot over the ground: over one swing no joint may exceed a share of its
no-load speed, and half a stride must stay inside the stance region. Both depend on the direction of the foot, the swing
time, the duty factor, the body's height, and whether the robot turns on the spot. Two polar tables per leg hold them,
for strides about the neutral foothold and about the moved centres; half a turn suffices, as strides forwards and
backwards are alike. Joint speed is not monotone in the swing time (a longer swing lifts slower but strides further), so
the swing time is searched: the one nearest to the nominal at which the whole twist is possible. If there is none, the
twist is scaled at the best; its curvature stays.
See docs/architecture/walking-mathematics.md, "Speed envelope".
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.gait.swing_trajectory import share_and_lift
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_batch import joints_at_contacts
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Leg, Robot
from hexapod_control.core.workspace.stance_regions import StanceRegions, StanceRegionTable
from hexapod_control.core.workspace.strides.foot_paths import UnitMotion, foot_positions
from hexapod_control.core.workspace.strides.stride_regions import (
    BENDS,
    HEADINGS,
    Strides,
    StridesByMotion,
    room_parts,
)
from hexapod_control.core.workspace.strides.stride_table import StrideTable, bend_of_path
from hexapod_control.core.workspace.swing_limits import (
    PROGRESS,
    STRIDE_SHARE,
    SWING_TIME_SCALES,
    max_travels,
    shortest_swing,
)

WHOLE_GAIN = 0.05  # of speed, with which stride centres move all the way
SLOW = 0.85  # of the speed at which strides about the neutral footholds are at their limit: they move only above it
MIN_SPEED = 1e-6  # [m/s] in the tables
TRIED_STRIDES = 8  # lengths of strides, from 0 to the whole region
MIN_DISTANCE = 1e-6  # [m] of a foot from base_footprint
BEND_STEP = BENDS[1] - BENDS[0]


@dataclass(frozen=True, slots=True)
class SpeedLimit:
    """A twist that is possible, and how."""

    twist: Twist
    swing_time: float  # [s]
    moved: float = 0.0  # share (0 to 1) of the way to the moved stride centres


def _slowness(leg: Leg, robot: Robot, height: float, strides: StridesByMotion, stance_share: float) -> Array:
    """The least time per path [s/m] of a foot (bend, swing time, heading) with every joint under its limit."""
    swings = np.array(SWING_TIME_SCALES) * robot.walk.swing_time
    # The body's motion past a foot of unit speed: straight, or about a centre of rotation as far as the body's.
    heading = np.exp(1j * math.pi * np.arange(HEADINGS) / HEADINGS)
    rate = np.array(BENDS)[:, None] / np.maximum(np.abs(strides.centres), MIN_DISTANCE)
    velocity = heading - 1j * rate * strides.centres
    motion = UnitMotion(velocity[..., None, None], rate[..., None, None])
    travels = 2.0 * STRIDE_SHARE / stance_share * strides.radii[..., None] * np.linspace(0.0, 1.0, TRIED_STRIDES)
    path = foot_positions(motion, travels[..., None], stance_share, strides.centres[..., None, None], PROGRESS)
    contacts = path.real, path.imag, robot.walk.lift_height * share_and_lift(PROGRESS)[1]
    times = shortest_swing(leg, joints_at_contacts(leg, robot.foot_radius, height, contacts).joints)
    speeds = np.stack([max_travels(travels, times, swing) / swing for swing in swings], axis=1)
    # A speed of zero becomes a very large number.
    found: Array = 1.0 / np.maximum(speeds, MIN_SPEED)
    return found


def swing_loads(robot: Robot, stance: StanceRegions, leg: int, twist: Twist, swing_time: float, ends: Array) -> Array:
    """Joint speed over its limit for swings (K, K) from `ends` (K,) [m] behind the foothold to `ends` ahead of it."""
    x, y = stance.footholds[leg]
    vx, vy = twist.vx - twist.wz * y, twist.vy + twist.wz * x
    speed = math.hypot(vx, vy)
    stride_travel = speed * swing_time
    behind, ahead = ends[:, None, None], ends[None, :, None]
    reach = share_and_lift(PROGRESS)[0] * (behind + ahead + stride_travel) - PROGRESS * stride_travel - behind
    heading = complex(vx, vy) / speed if speed > 0.0 else 1.0 + 0.0j
    path = np.asarray(complex(x, y) + heading * reach)
    contacts = path.real, path.imag, robot.walk.lift_height * share_and_lift(PROGRESS)[1]
    joints = joints_at_contacts(robot.legs[leg], robot.foot_radius, stance.height, contacts).joints
    found: Array = shortest_swing(robot.legs[leg], joints) / swing_time
    return found


class _MovingFoot(NamedTuple):
    """What a twist asks of one foot."""

    row: int
    speed: float  # [m/s] over the ground
    places: tuple[tuple[int, int, float], ...]  # bend, heading and weight of the values next to its own in the tables
    stretch: float  # [1/s] its speed over the radius of its region


def _places(angle: float, bend: float) -> tuple[tuple[int, int, float], ...]:
    """Bend, heading and weight of the values in a table next to a motion in a direction [rad]."""
    place, side = angle * HEADINGS / math.pi, (bend + 1.0) / BEND_STEP
    a, k = math.floor(place), min(int(side), len(BENDS) - 2)
    found = []
    for heading, part in ((a, 1.0 - (place - a)), (a + 1, place - a)):
        for row, share in ((k, 1.0 - (side - k)), (k + 1, side - k)):
            # Half a turn on, a motion is the reverse of one that bends to the other side.
            mirrored = heading // HEADINGS % 2 == 1
            found.append((len(BENDS) - 1 - row if mirrored else row, heading % HEADINGS, part * share))
    return tuple(found)


class SpeedEnvelope:
    """Tables of what every gait can do at every height, and the limiter that reads them."""

    def __init__(
        self, robot: Robot, stances: StanceRegionTable, strides: StrideTable, gaits: Mapping[str, Gait]
    ) -> None:
        """Tabulates the speeds of all gaits over a few heights (tens of milliseconds)."""
        self._stances, self._strides = stances, strides
        rows = stances.rows
        self._heights = sorted({0, len(rows) - 1, *(i for i, r in enumerate(rows) if r.height == robot.walk.height)})
        self._swing = tuple(s * robot.walk.swing_time for s in SWING_TIME_SCALES)
        self._nearest: dict[float, tuple[int, ...]] = {}  # indices of swing times by the share wished for
        self._tables = {
            duty_stance: [self._table(robot, h, duty_stance) for h in self._heights]
            for duty_stance in {gait.stance for gait in gaits.values()}
        }
        self.stride_shares: Mapping[str, float] = {}  # by gait: of the regions that strides use, 1 if absent

    def _table(self, robot: Robot, row: int, duty_stance: float) -> list[list[list[list[array[float]]]]]:
        """Slowness [s/m] about the neutral footholds and, if gaits of this duty have them, about the moved centres.

        By leg, bend, swing time and heading.
        """
        height = self._stances.rows[row].height
        return [
            [
                [
                    [array("d", headings) for headings in bend]
                    for bend in _slowness(leg, robot, height, strides, duty_stance)
                ]
                for leg, strides in zip(robot.legs, self._strides.at_row(row, moved), strict=True)
            ]
            for moved in ((0.0, 1.0) if duty_stance == self._strides.gait.stance else (0.0,))
        ]

    def with_stride_shares(self, shares: Mapping[str, float]) -> SpeedEnvelope:
        """The same tables for strides that use a share of the stance regions, by name of the gait."""
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

    def _moving_feet(self, height: float, moved: float, twist: Twist) -> list[_MovingFoot]:
        """The feet that a twist moves, with their stride regions moved by a share of the way."""
        stance, found = self._stances.at(height), []
        regions = self._strides.regions(stance, twist, moved)
        strides = Strides(stance, regions, 1.0)
        for row, region in enumerate(regions):
            (x, y), radius = strides.disc(row, region)
            vx, vy = twist.vx - twist.wz * y, twist.vy + twist.wz * x
            speed = math.hypot(vx, vy)
            if speed > 0.0:
                bend = bend_of_path(twist, x, y, speed)
                found.append(_MovingFoot(row, speed, _places(math.atan2(vy, vx), bend), speed / radius))
        return found

    def _load(
        self, gait: Gait, height: float, moved: float, share: float, feet: Sequence[_MovingFoot], swing: int
    ) -> float:
        """How far moving feet use what is possible at a swing time (index) in regions of a share; 1 is the limit."""
        low, high, part = self._between(height)
        table = self._tables[gait.stance]
        half_stance = 0.5 * gait.stance * self._swing[swing] / STRIDE_SHARE
        half_stance /= share * self.stride_shares.get(gait.name, 1.0)
        weighted = [
            (weight, table[h][m])
            for h, near in ((low, 1.0 - part), (high, part))
            for m, weight in ((0, near * (1.0 - moved)), (1, near * moved))
            if weight > 0.0
        ]
        worst = 0.0
        for row, speed, places, stretch in feet:
            slow = 0.0
            for weight, tables in weighted:
                values = tables[row]
                slow += weight * sum([part * values[bend][swing][heading] for bend, heading, part in places])
            worst = max(worst, speed * slow, stretch * half_stance)
        return worst

    def limit(
        self, gait: Gait, height: float, room: float, twist: Twist, tempo: float = 1.0, coming: Iterable[Gait] = ()
    ) -> SpeedLimit:
        """The twist, scaled to what is possible in a gait and in those to come, and the swing time at which it is.

        The swing time is the possible one nearest to `tempo`, a share of the robot's. `room` is what the body's pose
        leaves of the regions, see REGION_SHARES; only the fastest gait moves them.
        """
        gaits = tuple({gait.stance: gait for gait in (gait, *coming)}.values())
        most, share = room_parts(room)
        moved = 0.0
        swing, load = self._nearest_swing(gaits, height, moved, share, twist, tempo)
        if load > SLOW and most > 0.0 and all(each.name == self._strides.gait.name for each in (gait, *coming)):
            moved = self._moved_share(gait, height, most, share, twist)
            if moved > 0.0:
                swing, load = self._nearest_swing(gaits, height, moved, share, twist, tempo)
        return SpeedLimit(twist if load <= 1.0 else twist.scaled(1.0 / load), self._swing[swing], moved)

    def _nearest_swing(
        self, gaits: Sequence[Gait], height: float, moved: float, share: float, twist: Twist, tempo: float
    ) -> tuple[int, float]:
        """The swing time (index) nearest to a tempo at which a twist is possible, or with the least load; its load."""
        feet = self._moving_feet(height, moved, twist)
        if tempo not in self._nearest:
            indices = sorted(range(len(SWING_TIME_SCALES)), key=lambda k: abs(SWING_TIME_SCALES[k] - tempo))
            self._nearest[tempo] = tuple(indices)
        best, best_load = self._nearest[tempo][0], math.inf
        for swing in self._nearest[tempo]:
            load = max([self._load(each, height, moved, share, feet, swing) for each in gaits])
            if load <= 1.0:
                return swing, load
            if load < best_load:
                best, best_load = swing, load
        return best, best_load

    def _moved_share(self, gait: Gait, height: float, most: float, share: float, twist: Twist) -> float:
        """How far to move the stride centres, at most a share of the way.

        Slow strides stay about the neutral footholds, where the robot is most stable, as do those that moved centres
        would not make faster.
        """
        neutral = self._least_load(gait, height, 0.0, share, twist)
        if neutral <= SLOW:
            return 0.0
        gain = neutral / self._least_load(gait, height, most, share, twist) - 1.0
        return most * min(max(gain / WHOLE_GAIN, 0.0), 1.0) * min((neutral - SLOW) / (1.0 - SLOW), 1.0)

    def _least_load(self, gait: Gait, height: float, moved: float, share: float, twist: Twist) -> float:
        """How far a twist uses what is possible at the best swing time; 1 is the limit."""
        feet = self._moving_feet(height, moved, twist)
        return min([self._load(gait, height, moved, share, feet, k) for k in range(len(self._swing))])

    def maxima(self, gait: Gait, height: float, room: float) -> Twist:
        """Greatest speed along each axis alone [m/s, m/s, rad/s]."""
        return Twist(
            *(
                max(abs(v) for v in self.limit(gait, height, room, Twist(*unit)).twist)
                for unit in ((100.0, 0.0, 0.0), (0.0, 100.0, 0.0), (0.0, 0.0, 100.0))
            )
        )
