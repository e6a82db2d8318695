"""Stride regions for the present twist; a foot changes to its next region when it lifts off.

As long as strides about the neutral footholds are fast enough, and in all gaits but the fastest, the feet stride there,
where the robot is most stable. At higher speed the stride centers move to where the legs are fastest in the direction
of travel. With each swing, a region moves at most so far that the swing is hardly longer than in steady walking. Where
legs are close together, no leg may lead its neighbours by more than the maximum lead (`strides.stride_lead`). Meanwhile
the robot walks more slowly. See docs/architecture/walking-mathematics.md, "Stride centers".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.leg_clearance import LegNeighbours
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.walking.feet.foot_motion import FootMotion
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.stance_regions import StanceRegions
from hexapod_control.core.workspace.strides.stride_regions import (
    NEUTRAL_REGION,
    StrideRegion,
    Strides,
    split_region_share,
)

MAX_SWING_PER_STRIDE = 1.28  # travel of a swing that moves its region: at most this many steady strides, or ...
MAX_SWING_PER_RADIUS = 1.9  # ... this many radii of the neutral region
SMALL_DISPLACEMENT = 0.001  # [m] of a stride center, up to which the lead of a leg is not limited
MIN_STRIDE_SHARE = 0.6  # of MAX_SWING_PER_RADIUS: strides are not shortened further while regions move


class StrideDemand(NamedTuple):
    """The conditions on which the stride regions depend."""

    stance: StanceRegions
    gait: Gait  # the active one
    region_share: float  # that the body pose leaves, see REGION_SHARES
    moved: float  # share (0 to 1) of the displacement of the regions
    twist: Twist  # the limited command, to which the executed twist ramps


class StrideControl(Copyable):
    """The regions in which the feet stride next; `step` advances them by one tick."""

    _demand: StrideDemand | None
    _goal: tuple[StrideRegion, ...]  # for the demanded twist
    _lengths: tuple[float, ...]  # [m] largest displacements of the centers while they move; empty: they rest
    _neighbours: tuple[tuple[int, int], ...]  # rows of both neighbours of each leg
    regions: tuple[StrideRegion, ...]  # for the next swings

    def __init__(self, capabilities: Capabilities) -> None:
        """Starts with the neutral regions."""
        self._capabilities = capabilities
        self._neighbours = LegNeighbours.of(capabilities.robot).by_row
        self.regions = (NEUTRAL_REGION,) * len(capabilities.robot.legs)
        self._goal = self.regions
        self._lengths = ()
        self.speed_share = 1.0  # of the demanded twist, at which swings are short enough to move their regions
        self._demand = None

    def step(self, demand: StrideDemand, twist: Twist, swing_time: float, motion: FootMotion) -> Strides:
        """Returns the regions for the next swing of each foot at the executed twist and swing time [s]."""
        share = split_region_share(demand.region_share).radii
        if self._demand != demand:
            self._demand, self._goal = demand, self._regions(demand)
        regions = tuple([foot.region for foot in motion.feet])
        self.speed_share = 1.0
        if regions == self._goal:
            self._lengths = ()
        else:
            regions = self._next(regions, demand, twist, swing_time)
        self.regions = regions
        return Strides(demand.stance, regions, share)

    def _regions(self, demand: StrideDemand) -> tuple[StrideRegion, ...]:
        return self._capabilities.strides.regions(demand.stance, demand.twist, demand.moved)

    def _next(
        self, regions: Sequence[StrideRegion], demand: StrideDemand, twist: Twist, swing_time: float
    ) -> tuple[StrideRegion, ...]:
        """The regions of the next swings, as far towards the goal as a swing may move them; sets `speed_share`."""
        stance, stance_time, next_regions = demand.stance, swing_time * demand.gait.stance, []
        distances = [math.dist(a.displacement, b.displacement) for a, b in zip(regions, self._goal, strict=True)]
        max_steps = self._max_steps(regions, distances)
        for leg, (now, goal, distance) in enumerate(zip(regions, self._goal, distances, strict=True)):
            x, y = stance.footholds[leg]
            speed, goal_speed = twist.speed_at(x, y), demand.twist.speed_at(x, y)
            stride, goal_stride = stance_time * speed, stance_time * goal_speed
            usual = MAX_SWING_PER_RADIUS * stance.radii[leg]
            longest = max(MAX_SWING_PER_STRIDE * goal_stride, usual)
            if goal_stride > 0.0:
                share = max(longest - distance, MIN_STRIDE_SHARE * usual) / goal_stride
                self.speed_share = min(self.speed_share, share)
            step = max(min(longest - stride, max_steps[leg]), 0.0)
            next_regions.append(goal if distance <= step else self._towards(leg, stance, now, goal, step / distance))
        return tuple(next_regions)

    def _max_steps(self, regions: Sequence[StrideRegion], distances: Sequence[float]) -> list[float]:
        """Distance [m] that each center may move within the maximum lead; `distances` [m] are those to the goals."""
        max_lead = self._capabilities.strides.max_lead
        if max_lead == math.inf:
            return [math.inf] * len(distances)
        displaced = [max(_length(a), _length(b)) for a, b in zip(regions, self._goal, strict=True)]
        self._lengths = tuple(map(max, displaced, self._lengths or displaced))
        remaining = [
            d / length if length > SMALL_DISPLACEMENT else 0.0
            for d, length in zip(distances, self._lengths, strict=True)
        ]
        leads = [max(remaining[a], remaining[b]) - own for own, (a, b) in zip(remaining, self._neighbours, strict=True)]
        return [
            (max_lead - lead) * length if length > SMALL_DISPLACEMENT else math.inf
            for lead, length in zip(leads, self._lengths, strict=True)
        ]

    def _towards(
        self, leg: int, stance: StanceRegions, now: StrideRegion, goal: StrideRegion, part: float
    ) -> StrideRegion:
        """The region of a leg (row) between `now` (part 0) and `goal` (part 1)."""
        offset = now.offset.towards(goal.offset, part)
        scale, moved = (a + part * (b - a) for a, b in ((now.scale, goal.scale), (now.moved, goal.moved)))
        return self._capabilities.strides.placed(leg, stance, offset, scale, moved)


def _length(region: StrideRegion) -> float:
    """The distance [m] of the center of a region from the neutral foothold."""
    return math.hypot(*region.displacement)
