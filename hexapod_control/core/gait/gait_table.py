"""Gaits as table rows: the share of the cycle a foot stands (duty factor) and when each leg lifts off.

Phase is in [0, 1) of the cycle. A leg lifts off at its own phase, swings for (1 - duty) of the cycle and
stands for the rest. Swing time is the setting that all gaits share; the cycle time follows from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from hexapod_control.core.names import STANDARD


@dataclass(frozen=True, slots=True)
class Gait:
    """One row of the table."""

    name: str
    duty_factor: float  # share of the cycle a foot stands, in [0.5, 1)
    lift_off: tuple[float, ...]  # phase of each leg's lift-off, rows in leg order

    def __post_init__(self) -> None:
        if not 0.5 <= self.duty_factor < 1.0:
            raise ValueError(f"gait {self.name}: duty factor must be in [0.5, 1), is {self.duty_factor}")
        if not all(0.0 <= phase < 1.0 for phase in self.lift_off):
            raise ValueError(f"gait {self.name}: lift-off phases must be in [0, 1), are {self.lift_off}")

    @property
    def stance(self) -> float:
        """Time of one stance in units of the swing time."""
        return self.duty_factor / (1.0 - self.duty_factor)

    @property
    def cycle(self) -> float:
        """Time of one cycle in units of the swing time."""
        return 1.0 / (1.0 - self.duty_factor)

    def legs_in_swing(self, phase: float) -> tuple[int, ...]:
        """Legs in the air at a phase, just after their lift-off included."""
        swing = 1.0 - self.duty_factor - 1e-9
        return tuple(leg for leg, lift_off in enumerate(self.lift_off) if (phase - lift_off) % 1.0 < swing)

    def until_lift_off(self, leg: int, phase: float) -> float:
        """Time from `phase` to the leg's next lift-off in units of the swing time, in [0, cycle)."""
        return ((self.lift_off[leg] - phase) % 1.0) * self.cycle


# Columns in the order of names.STANDARD: left front, middle, rear, right front, middle, rear.
_SIX = (
    Gait("tripod", 1 / 2, (0.0, 1 / 2, 0.0, 1 / 2, 0.0, 1 / 2)),
    Gait("ripple", 2 / 3, (2 / 3, 1 / 3, 0.0, 1 / 6, 5 / 6, 1 / 2)),
    Gait("tetrapod", 2 / 3, (0.0, 1 / 3, 2 / 3, 1 / 3, 2 / 3, 0.0)),
    Gait("wave", 5 / 6, (1 / 3, 1 / 6, 0.0, 5 / 6, 2 / 3, 1 / 2)),
)


def gaits(legs: tuple[str, ...]) -> MappingProxyType[str, Gait]:
    """The gaits of a robot with these legs: the table for six, a wave for any other number (>= 4).

    Six legs under other names take the rows in their own order, which must then be the standard one: left
    side front to rear, then right side front to rear.
    """
    count = len(legs)
    if count == len(STANDARD):
        order = [STANDARD.index(leg) for leg in legs] if set(legs) == set(STANDARD) else range(count)
        rows = [Gait(row.name, row.duty_factor, tuple(row.lift_off[i] for i in order)) for row in _SIX]
    elif count >= 4:
        rows = [Gait("wave", 1 - 1 / count, tuple((count - 1 - i) / count for i in range(count)))]
    else:
        raise ValueError(f"a walking robot needs at least 4 legs, has {count}")
    return MappingProxyType({row.name: row for row in rows})
