"""Stride regions: discs in which the feet stride, displaced from the neutral stance regions by the motion.

Points are in base_footprint [m].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from hexapod_control.core.kinematics.arrays import Array, ComplexArray
from hexapod_control.core.robot import Point
from hexapod_control.core.workspace.stance_regions import StanceRegions

HEADINGS = 32  # of the tables, over half a turn: strides forwards and backwards are alike
FAR_RAD = 0.5  # between two centres, seen from the hip: those between them are not used
BENDS = (-1.0, -0.5, 0.0, 0.5, 1.0)  # of the path of a foot: straight, and to either side as when turning on the spot


class PolarOffset(NamedTuple):
    """Displacement of a point in polar coordinates about the hip, in which the reach of a leg hardly changes on it."""

    outward: float  # [m]
    angle: float  # [rad] counter-clockwise

    def towards(self, other: PolarOffset, part: float) -> PolarOffset:
        """The offset between this one (part 0) and another one (part 1)."""
        outward, angle = self
        return PolarOffset(outward + part * (other.outward - outward), angle + part * (other.angle - angle))

    def scaled(self, share: float) -> PolarOffset:
        """A share of it."""
        return PolarOffset(share * self.outward, share * self.angle)

    def displacement(self, hip: Point, point: Point) -> Point:
        """By how much (x, y) [m] it moves a point."""
        x, y = point[0] - hip[0], point[1] - hip[1]
        distance = math.hypot(x, y)
        c, s = math.cos(self.angle), math.sin(self.angle)
        factor = 1.0 + self.outward / distance if distance > 0.0 else 1.0
        return factor * (c * x - s * y) - x, factor * (s * x + c * y) - y


@dataclass(frozen=True, slots=True)
class LegStrides:
    """The stride centres of one leg, by the heading of its foot's motion, and for turning on the spot."""

    offsets: tuple[PolarOffset, ...]  # of the centres from the neutral foothold
    radii: tuple[float, ...]  # [m] of the regions about them


class StridesByMotion(NamedTuple):
    """The strides of one leg at one height, by the bend of its foot's path (rows of BENDS) and its heading."""

    centres: ComplexArray  # (bends, HEADINGS) [m] in base_footprint, as complex numbers
    radii: Array  # (bends, HEADINGS) [m]


class StrideRegion(NamedTuple):
    """The region of one leg's strides, relative to its neutral stance region."""

    offset: PolarOffset  # of its centre
    scale: float  # of its radius
    moved: float  # share (0 to 1) of the way to where it is at full speed
    displacement: Point  # [m] of its centre: what the offset comes to


NEUTRAL_REGION = StrideRegion(PolarOffset(0.0, 0.0), 1.0, 0.0, (0.0, 0.0))


def room_parts(room: float) -> tuple[float, float]:
    """(share of the way to the moved regions, share of the radii) of the room that a pose leaves, see REGION_SHARES."""
    return min(max(room - 1.0, 0.0), 1.0), min(room, 1.0)


class Disc(NamedTuple):
    """A disc on the ground."""

    centre: Point  # [m]
    radius: float  # [m]


def usable_disc(neutral: StanceRegions, leg: int, region: StrideRegion, share: float) -> Disc:
    """A share (0 to 1) of a region of a leg (row), from its neutral stance region."""
    if region is NEUTRAL_REGION:
        return Disc(neutral.footholds[leg], share * neutral.radii[leg])
    (x, y), (_, scale, _, (dx, dy)) = neutral.footholds[leg], region
    return Disc((x + dx, y + dy), share * scale * neutral.radii[leg])


class Strides(NamedTuple):
    """The stride regions of all legs in one tick."""

    neutral: StanceRegions  # at the height of the body
    regions: tuple[StrideRegion, ...]
    share: float = 1.0  # (0 to 1) of the radii that can be used

    @classmethod
    def about_neutral(cls, stance: StanceRegions) -> Strides:
        """Strides in the neutral stance regions."""
        return cls(stance, (NEUTRAL_REGION,) * len(stance.footholds))

    def disc(self, leg: int, region: StrideRegion) -> Disc:
        """The usable part of a region of a leg (row)."""
        return usable_disc(self.neutral, leg, region, self.share)

    @property
    def stance(self) -> StanceRegions:
        """Centres and whole radii of the regions, as those of a stance."""
        height, radii = self.neutral.height, self.neutral.radii
        return StanceRegions(
            height,
            tuple([self.disc(leg, region).centre for leg, region in enumerate(self.regions)]),
            tuple([radius * r.scale for radius, r in zip(radii, self.regions, strict=True)]),
        )
