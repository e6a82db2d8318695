# SPDX-License-Identifier: Apache-2.0
"""The capabilities of a robot, computed once from its description: gaits, stance regions, strides and speeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar, Protocol

from hexapod_control.core.gait.gait_table import AUTO, Gait, GaitSelection, unknown_gait
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.refusal import Statement
from hexapod_control.core.robot import Robot
from hexapod_control.core.statics.moving_mass import neutral_center
from hexapod_control.core.statics.static_stability import margins_by_legs_in_swing
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.core.workspace.speed_envelope import SpeedEnvelope
from hexapod_control.core.workspace.stance_regions import (
    REGION_SHARES,
    StanceRegions,
    StanceRegionTable,
)
from hexapod_control.core.workspace.stride_stability import stride_margin, usable_share
from hexapod_control.core.workspace.strides.stride_search import stride_centers
from hexapod_control.core.workspace.strides.stride_table import StrideTable

MIN_GAIN_M = 0.001  # by which the static margin of a slower gait must be greater, for AUTO to use it
WHOLE = 0.999  # of a twist: what rounding leaves
BEYOND_ANY_SPEED = 100.0  # factor on a unit twist that makes it faster than any robot
FORWARD = Twist(1.0, 0.0, 0.0)


class CapabilitiesStore(Protocol):
    """Stores capabilities from one run of a program to the next."""

    def read(self, robot: Robot) -> Capabilities | None:
        """Returns the stored capabilities of a robot, or None."""

    def write(self, capabilities: Capabilities) -> None:
        """Stores computed capabilities."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Gaits, stance regions, strides and speeds of a robot, as tables."""

    robot: Robot
    gaits: Mapping[str, Gait]
    stances: StanceRegionTable
    strides: StrideTable
    envelope: SpeedEnvelope
    margins: tuple[float, ...]  # [m] static margin by set of legs in swing, see `margins_by_legs_in_swing`
    drift: Mapping[str, Twist] = field(default_factory=dict)  # [m, m, rad] per cycle, by gait, see `load_drift`

    _store: ClassVar[CapabilitiesStore | None] = None

    @classmethod
    def use_store(cls, store: CapabilitiesStore | None) -> None:
        """Sets where this process reads and writes computed capabilities; None: nowhere."""
        cls._store = store

    @classmethod
    @lru_cache(maxsize=1)
    def of(cls, robot: Robot) -> Capabilities:
        """The capabilities of a robot, stored or computed (about a second). Raises ValueError if it cannot walk."""
        capabilities = cls._store.read(robot) if cls._store else None
        if capabilities is None:
            capabilities = cls._computed(robot)
            if cls._store:
                cls._store.write(capabilities)
        return capabilities

    @classmethod
    def _computed(cls, robot: Robot) -> Capabilities:
        rows = gaits(robot)
        if refusal := unknown_gait(robot.walk.gait, (*rows, AUTO)):
            raise ValueError(refusal)
        stances = StanceRegionTable(robot)
        footholds = stances.at(robot.walk.height).footholds
        margins = margins_by_legs_in_swing(footholds, neutral_center(robot))
        fastest = min(rows.values(), key=lambda gait: gait.stance_time)
        centers = stride_centers(robot, fastest) if fastest.sway is None else ()  # a swaying body leaves no room
        strides = StrideTable(robot, stances, fastest, centers)
        return cls(
            robot, rows, stances, strides, SpeedEnvelope(robot, stances, strides, rows, stride_shares(robot)), margins
        )

    @classmethod
    def unadapted(cls, robot: Robot, name: str) -> Capabilities:
        """As `of`, for one gait at the nominal height, with strides that never adapt to the speed: within 0.1 s.

        These are the same unless the gait is the fastest one. Raises ValueError as `of`, KeyError for an unknown gait.
        """
        gait = gaits(robot)[name]
        phases = () if gait.sway is None else gait.lift_off  # without sway, the tables do not depend on them
        tables = _level_tables(replace(robot, gaits=()), Gait("", gait.duty_factor, phases, gait.sway))
        stances, strides, envelope = tables
        envelope = envelope.with_stride_shares({name: stride_shares(robot)[name]})
        margins = margins_by_legs_in_swing(stances.rows[0].footholds, neutral_center(robot))
        return cls(robot, {name: gait}, stances, strides, envelope, margins)

    @property
    def neutral_stance(self) -> StanceRegions:
        """The stance at the nominal height."""
        return self.stances.at(self.robot.walk.height)

    @property
    def standing_joints(self) -> tuple[LegJoints, ...]:
        """Joint angles (n, 3) [rad] of a robot that stands in its neutral stance."""
        joints = joints_at_offset(self.robot, self.neutral_stance.footholds, 0.0)
        assert joints is not None  # in reach, or there would be no stance regions
        return joints

    @property
    def gait_names(self) -> tuple[str, ...]:
        """The names that can be selected as gait."""
        return (*self.gaits, AUTO)

    def selection(self, name: str = "") -> GaitSelection:
        """The gait with a name, by default that of the robot file; for AUTO, several gaits. Raises KeyError."""
        name = name or self.robot.walk.gait
        return GaitSelection(AUTO, self._by_speed()) if name == AUTO else GaitSelection.of(self.gaits[name])

    def _by_speed(self) -> tuple[Gait, ...]:
        """The gaits for AUTO, slowest first: those with a greater margin in full strides than all faster ones."""
        margins = {name: self.margin(name) for name in self.gaits}
        speeds = {name: self.fastest(FORWARD, [name]).vx for name in self.gaits}
        names: list[str] = []  # fastest first
        for name in sorted(self.gaits, key=lambda gait: (round(speeds[gait], 6), margins[gait]), reverse=True):
            if not names or margins[name] > margins[names[-1]] + MIN_GAIN_M:
                names.append(name)
        return tuple(self.gaits[name] for name in reversed(names))

    def margin(self, gait: str) -> float:
        """The static margin [m] of a gait in its longest strides, at the nominal height."""
        share = self.envelope.stride_shares.get(gait, 1.0)
        return stride_margin((self.gaits[gait],), self.neutral_stance, neutral_center(self.robot), share)

    def fastest(self, direction: Twist, gaits: Iterable[str]) -> Twist:
        """The highest speed in the direction of a twist that all these gaits allow, at the nominal height."""
        far = direction.scaled(BEYOND_ANY_SPEED)
        height = self.robot.walk.height
        rows = [self.gaits[name] for name in gaits]
        return min((self.envelope.limit(gait, height, self.region_share(gait), far).twist for gait in rows), key=_size)

    def allowed_share(self, twist: Twist, gait: str) -> float:
        """The share of a twist that is not zero that a gait allows at the nominal height, at most 1."""
        return min(1.0, _size(self.fastest(twist, [gait])) / _size(twist))

    def excess(self, twist: Twist, gait: GaitSelection) -> Statement | None:
        """What remains of a twist that a gait does not allow, and which gait allows it; None if it does."""
        share = 1.0 if twist.is_zero else self.allowed_share(twist, gait.fastest.name)
        if share >= WHOLE:
            return None
        others = {name: self.allowed_share(twist, name) for name in self.gaits}
        best = max(others, key=lambda name: others[name])
        remedy = f"{best} allows it" if others[best] >= WHOLE else f"no gait allows it, {best} comes nearest"
        text = "the gait {gait} allows {share:.0%} of the speed; {remedy}"
        return Statement("excess", text, gait=gait.name, share=share, remedy=remedy)

    def region_share(self, gait: Gait) -> float:
        """The share of the regions that the sway of a gait leaves for strides, see REGION_SHARES."""
        return REGION_SHARES[0] if gait.sway is None else gait.sway.region_share


def stride_shares(robot: Robot) -> dict[str, float]:
    """The share of the stance regions that strides may use, by gait, see `usable_share`.

    Raises ValueError if the robot has no gait.
    """
    return {name: usable_share(robot, gait) for name, gait in gaits(robot).items()}


@lru_cache(maxsize=8)
def _level_tables(robot: Robot, gait: Gait) -> tuple[StanceRegionTable, StrideTable, SpeedEnvelope]:
    """The tables of `Capabilities.unadapted` for a gait without its name."""
    stances = StanceRegionTable(robot, level=True)
    strides = StrideTable(robot, stances, gait, ())
    return stances, strides, SpeedEnvelope(robot, stances, strides, {"": gait}, {}, adapts_strides=False)


def _size(twist: Twist) -> float:
    return math.dist(twist, ZERO)
