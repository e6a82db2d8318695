"""Gaits as table rows: duty factor (share of the cycle in stance) and lift-off phase of each leg.

The rows follow from the number of legs on each side and their order along the body: see docs/how-it-walks.md, and
docs/architecture/walking-mathematics.md, "Gaits".

Phase is in [0, 1) of the cycle. A leg lifts off at its own phase, swings for (1 - duty) of the cycle and
stands for the rest. Swing time is the setting that all gaits share; the cycle time follows from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from hexapod_control.core.gait.leg_sides import leg_sides
from hexapod_control.core.names import quoted
from hexapod_control.core.robot import Point, Robot

MIN_LEGS = 4  # three stand while one swings
CRAWL_PARTS = 8  # swing times in the cycle of a gait with sway: two swings and a shift of the body, for each side
SHIFT_TIME = 2.0  # [swing times] in which the body shifts to the other side, with all feet on the ground


@dataclass(frozen=True, slots=True)
class Gait:
    """One row of the table."""

    name: str
    duty_factor: float  # share of the cycle in stance, in [0.5, 1)
    lift_off: tuple[float, ...]  # phase of each leg's lift-off, rows in leg order
    sway: Point = (0.0, 0.0)  # [m] shift of the body while the legs of the first half of the cycle swing, then opposite

    def __post_init__(self) -> None:
        if not 0.5 <= self.duty_factor < 1.0:
            raise ValueError(f"gait {self.name}: duty factor must be in [0.5, 1), is {self.duty_factor}")
        if not all(0.0 <= phase < 1.0 for phase in self.lift_off):
            raise ValueError(f"gait {self.name}: lift-off phases must be in [0, 1), are {self.lift_off}")

    @property
    def stance(self) -> float:
        """Stance time [swing times]."""
        return self.duty_factor / (1.0 - self.duty_factor)

    @property
    def cycle(self) -> float:
        """Cycle time [swing times]."""
        return 1.0 / (1.0 - self.duty_factor)

    @property
    def start_phase(self) -> float:
        """Phase at which a standing robot starts: with sway, a shift before the first lift-off."""
        return 0.0 if self.sway == (0.0, 0.0) else 1.0 - SHIFT_TIME / CRAWL_PARTS

    def shift(self, phase: float) -> Point:
        """Goal (x, y) [m] of the shift of the body at a phase; it changes when the shift to the other side begins."""
        x, y = self.sway
        return (x, y) if (phase - self.start_phase) % 1.0 < 0.5 else (-x, -y)

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


# Name of the gait with two alternating groups, by number of legs. A tetrapod keeps four feet on the ground: with eight
# legs it alternates between two groups, with six legs (`_standard_gaits`) it lifts two legs at a time.
ALTERNATING = {6: "tripod", 8: "tetrapod"}

RESERVED_NAMES = ("tripod", "tetrapod", "alternating", "ripple", "wave", "crawl", "fastest")
"""Names that gaits in a robot file may not use: those of `derived_gaits` and of core/workspace/robot_gaits.py."""

Phases = list[list[Fraction]]
"""Lift-off phase of the left and of the right legs, front to rear."""


def derived_gaits(robot: Robot) -> MappingProxyType[str, Gait]:
    """Gaits by name, derived from the positions of the hips. Raises ValueError for fewer than `MIN_LEGS`."""
    if len(robot.legs) < MIN_LEGS:
        raise ValueError(f"a walking robot needs at least {MIN_LEGS} legs, has {len(robot.legs)}")
    left, right = leg_sides(robot.legs)
    counts = (len(left), len(right))
    rows = []
    for name, in_the_air, phases in _standard_gaits(counts):
        lift_off = dict(zip(left + right, phases[0] + phases[1], strict=True))
        rows.append(Gait(name, float(1 - in_the_air), tuple(float(lift_off[leg]) for leg in range(len(lift_off)))))
    return MappingProxyType({row.name: row for row in rows})


def unknown_gait(name: str, known: Iterable[str]) -> str:
    """Returns the refusal of a gait that is not among the known ones; empty if it is."""
    names = tuple(known)
    return "" if name in names else f"unknown gait {quoted(name)}; known: {', '.join(names)}"


def own_gaits(robot: Robot) -> dict[str, Gait]:
    """The gaits defined in the robot file, by name."""
    return {row.name: Gait(*row) for row in robot.gaits}


def _standard_gaits(counts: tuple[int, int]) -> Iterator[tuple[str, Fraction, Phases]]:
    """Yields name, swing share of the cycle, and phases of each gait for these numbers of legs left and right."""
    total, larger = sum(counts), max(counts)
    if counts[0] == counts[1] and larger > 2:
        yield ALTERNATING.get(total, "alternating"), Fraction(1, 2), _in_turn(counts, 2)
    if larger > 2:
        half_apart = [
            [(Fraction(n - 1 - i, n) + Fraction(side, 2)) % 1 for i in range(n)] for side, n in _sides(counts)
        ]
        yield "ripple", Fraction(1, larger), half_apart
    if counts == (3, 3):
        yield "tetrapod", Fraction(1, 3), _in_turn(counts, 3)
    one_by_one = [[Fraction(side * counts[0] + n - 1 - i, total) for i in range(n)] for side, n in _sides(counts)]
    yield "wave", Fraction(1, total), one_by_one


def _in_turn(counts: tuple[int, int], parts: int) -> Phases:
    """Phases of legs that lift off one part of the cycle after their neighbour in front or on the left side."""
    return [[Fraction(i + side, parts) % 1 for i in range(n)] for side, n in _sides(counts)]


def _sides(counts: tuple[int, int]) -> Iterable[tuple[int, int]]:
    """(0, legs on the left) and (1, legs on the right)."""
    return enumerate(counts)
