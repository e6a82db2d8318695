# SPDX-License-Identifier: Apache-2.0
"""Gaits as table rows: duty factor (share of the cycle in stance) and lift-off phase of each leg.

The rows follow from the number of legs on each side and their order along the body: see docs/how-it-walks.md, and
docs/architecture/walking-mathematics.md, "Gaits".

Phase is in [0, 1) of the cycle. A leg lifts off at its own phase, swings for (1 - duty) of the cycle and
stands for the rest. Swing time is the setting that all gaits share; the cycle time follows from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

from hexapod_control.core.gait.body_sway import Sway
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.names import quoted
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.robot import Leg, Point, Robot

CENTERLINE = 0.001  # [m] half the width of the strip that is neither left nor right
SAME_ANGLE = 1e-6  # [rad] more than the rounding error of the angle of a leg straight ahead


def leg_sides(legs: Sequence[Leg]) -> tuple[list[int], list[int]]:
    """Rows of the left and of the right legs, front to rear on each side.

    Legs in two rows, at most one more on one side, are ordered along x. Any others, for instance a leg straight ahead
    with the rest around the body, are ordered by angle: the first half from the front over the left is the left side.
    """
    across = list(enumerate(map(_across, legs)))
    sides = [row for row, y in across if y > CENTERLINE], [row for row, y in across if y < -CENTERLINE]
    if sum(map(len, sides)) == len(legs) and abs(len(sides[0]) - len(sides[1])) <= 1:
        left, right = (sorted(side, key=lambda row: _along(legs[row])) for side in sides)
        return left, right
    center = [math.fsum(leg.hip[axis] for leg in legs) / len(legs) for axis in (0, 1)]

    def angle(row: int) -> float:
        x, y, _ = legs[row].hip
        return (math.atan2(y - center[1], x - center[0]) + SAME_ANGLE) % math.tau

    around = sorted(range(len(legs)), key=angle)
    half = (len(legs) + 1) // 2
    return around[:half], around[: half - 1 : -1]


def _across(leg: Leg) -> float:
    """Lateral position [m] of the hip, + left; of the foothold if the hip is on the centerline."""
    return leg.hip[1] if abs(leg.hip[1]) > CENTERLINE else leg.foothold[1]


def _along(leg: Leg) -> tuple[float, float]:
    """Sort key from front to rear: x of the hip, then of the foothold."""
    return -round(leg.hip[0], 6), -leg.foothold[0]


TOUCH_DOWN_PHASE_STEP = 1e-6  # share of a cycle before a touch-down, at which the margin is evaluated
MIN_LEGS = 4  # three stand while one swings


@dataclass(frozen=True, slots=True)
class Gait:
    """One row of the table."""

    name: str
    duty_factor: float  # share of the cycle in stance, in [0.5, 1)
    lift_off: tuple[float, ...]  # phase of each leg's lift-off, rows in leg order
    sway: Sway | None = None  # of the body

    def __post_init__(self) -> None:
        if not 0.5 <= self.duty_factor < 1.0:
            raise ValueError(f"gait {self.name}: duty factor must be in [0.5, 1), is {self.duty_factor}")
        if not all(0.0 <= phase < 1.0 for phase in self.lift_off):
            raise ValueError(f"gait {self.name}: lift-off phases must be in [0, 1), are {self.lift_off}")

    @property
    def stance_time(self) -> float:
        """Stance time [swing times]."""
        return self.duty_factor / (1.0 - self.duty_factor)

    @property
    def cycle(self) -> float:
        """Cycle time [swing times]."""
        return 1.0 / (1.0 - self.duty_factor)

    @property
    def critical_phases(self) -> tuple[float, ...]:
        """Phases just after each lift-off and just before each touch-down: between them the same feet stand."""
        down = 1.0 - self.duty_factor - TOUCH_DOWN_PHASE_STEP
        return tuple((lift_off + part) % 1.0 for lift_off in sorted(set(self.lift_off)) for part in (0.0, down))

    @property
    def start_phase(self) -> float:
        """Phase at which a standing robot starts."""
        return 0.0 if self.sway is None else self.sway.start_phase

    def shift(self, phase: float, half_stride: Twist = ZERO) -> Point:
        """Shift (x, y) [m] of the body at a phase; `half_stride` is its motion in half of a stance [m, m, rad]."""
        return (0.0, 0.0) if self.sway is None else self.sway.at(phase, half_stride)[0]

    def legs_in_swing(self, phase: float) -> tuple[int, ...]:
        """Rows of the legs in swing at a phase; a leg is in swing from its lift-off phase on."""
        swing = 1.0 - self.duty_factor - 1e-9
        return tuple(leg for leg, lift_off in enumerate(self.lift_off) if (phase - lift_off) % 1.0 < swing)

    def until_lift_off(self, leg: int, phase: float) -> float:
        """Time [swing times] from a phase to the next lift-off of a leg (row), in [0, cycle)."""
        return ((self.lift_off[leg] - phase) % 1.0) * self.cycle


AUTO = "auto"
"""Name under which the gait is chosen by speed."""


@dataclass(frozen=True, slots=True)
class GaitSelection:
    """The selected gait: one gait, or several to choose from by speed."""

    name: str  # of the gait, or AUTO
    gaits: tuple[Gait, ...]  # from the most stable to the fastest

    @classmethod
    def of(cls, gait: Gait) -> GaitSelection:
        """The selection of a single gait."""
        return cls(gait.name, (gait,))

    @property
    def most_stable(self) -> Gait:
        """The gait of a robot at rest."""
        return self.gaits[0]

    @property
    def fastest(self) -> Gait:
        """The gait of a robot at its highest speed."""
        return self.gaits[-1]


def derived_gaits(robot: Robot) -> MappingProxyType[str, Gait]:
    """Gaits by name, derived from the positions of the hips. Raises ValueError for fewer than `MIN_LEGS`."""
    if len(robot.legs) < MIN_LEGS:
        raise ValueError(f"a walking robot needs at least {MIN_LEGS} legs, has {len(robot.legs)}")
    left, right = leg_sides(robot.legs)
    counts = (len(left), len(right))
    found = {}
    for row in STANDARD_GAITS:
        if row.is_for(counts):
            phases = row.phases(counts)
            lift_off = dict(zip(left + right, phases[0] + phases[1], strict=True))
            ordered = tuple(float(lift_off[leg]) for leg in range(len(lift_off)))
            found[row.name] = Gait(row.name, float(1 - row.in_the_air(counts)), ordered)
    return MappingProxyType(found)


def unknown_gait(name: str, known: Iterable[str]) -> Refusal | None:
    """Refuses a gait that is not among the known ones."""
    names = tuple(known)
    if name in names:
        return None
    return Refusal("unknown_gait", "unknown gait {gait}; known: {known}", gait=quoted(name), known=", ".join(names))


def own_gaits(robot: Robot) -> dict[str, Gait]:
    """The gaits defined in the robot file, by name."""
    return {row.name: Gait(*row) for row in robot.gaits}


LegCounts = tuple[int, int]
"""Legs on the left and on the right."""

Phases = list[list[Fraction]]
"""Lift-off phase of the left and of the right legs, front to rear."""


class StandardGait(NamedTuple):
    """A gait that follows from the numbers of legs; one name may stand for gaits of different numbers."""

    name: str
    is_for: Callable[[LegCounts], bool]
    in_the_air: Callable[[LegCounts], Fraction]  # share of the cycle
    phases: Callable[[LegCounts], Phases]


def _in_turn(parts: int) -> Callable[[LegCounts], Phases]:
    """Legs lift off one part of the cycle after their neighbour in front or on the left side."""
    return lambda counts: [[Fraction(i + side, parts) % 1 for i in range(n)] for side, n in enumerate(counts)]


def _half_apart(counts: LegCounts) -> Phases:
    """Legs lift off from rear to front on each side, the sides half a cycle apart."""
    return [[(Fraction(n - 1 - i, n) + Fraction(side, 2)) % 1 for i in range(n)] for side, n in enumerate(counts)]


def _one_by_one(counts: LegCounts) -> Phases:
    """Legs lift off one after the other, from rear to front, first on the left."""
    total = sum(counts)
    return [[Fraction(side * counts[0] + n - 1 - i, total) for i in range(n)] for side, n in enumerate(counts)]


# Two alternating groups are called by the number of feet that stay on the ground. With six legs a tetrapod keeps four
# there too: it lifts two at a time.
STANDARD_GAITS = (
    StandardGait("tripod", lambda counts: counts == (3, 3), lambda counts: Fraction(1, 2), _in_turn(2)),
    StandardGait("tetrapod", lambda counts: counts == (4, 4), lambda counts: Fraction(1, 2), _in_turn(2)),
    StandardGait("alternating", lambda c: c[0] == c[1] > 4, lambda counts: Fraction(1, 2), _in_turn(2)),
    StandardGait("ripple", lambda counts: max(counts) > 2, lambda counts: Fraction(1, max(counts)), _half_apart),
    StandardGait("tetrapod", lambda counts: counts == (3, 3), lambda counts: Fraction(1, 3), _in_turn(3)),
    StandardGait("wave", lambda counts: True, lambda counts: Fraction(1, sum(counts)), _one_by_one),
)
"""In the order of the keys and lists that show them."""

RESERVED_NAMES = {*(row.name for row in STANDARD_GAITS), "crawl", "fastest", AUTO}
"""Names that gaits in a robot file may not use: also those of core/workspace/robot_gaits.py."""
