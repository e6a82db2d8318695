"""Stride regions: the discs in which feet stride, displaced from the neutral stance regions according to the twist.

Points are in base_footprint [m]. See docs/architecture/walking-mathematics.md, "Stride centers".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hexapod_control.core.kinematics.arrays import Array, ComplexArray
from hexapod_control.core.robot import Point
from hexapod_control.core.workspace.stance_regions import StanceRegions
from hexapod_control.core.workspace.swing_limits import MIN_LIFT_SHARE

HEADINGS = 32  # in the tables, over half a turn: a backward stride is a forward stride reversed
FAR_RAD = 0.5  # angle about the hip between the centers of two headings, above which these are not interpolated
BENDS = (-1.0, -0.5, 0.0, 0.5, 1.0)  # in the tables, see `bend_of_path`: 0 is straight, +-1 as when turning on the spot


class PolarOffset(NamedTuple):
    """Displacement of a foothold in polar coordinates about the hip, in which interpolated points stay in reach."""

    outward: float  # [m]
    angle: float  # [rad] counter-clockwise

    def towards(self, other: PolarOffset, part: float) -> PolarOffset:
        """Interpolates between this offset (part 0) and another one (part 1)."""
        outward, angle = self
        return PolarOffset(outward + part * (other.outward - outward), angle + part * (other.angle - angle))

    def scaled(self, share: float) -> PolarOffset:
        """A share of this offset."""
        return PolarOffset(share * self.outward, share * self.angle)

    def displacement(self, hip: Point, point: Point) -> Point:
        """Displacement (x, y) [m] of a point (x, y) [m] by this offset about a hip (x, y) [m]."""
        x, y = point[0] - hip[0], point[1] - hip[1]
        distance = math.hypot(x, y)
        c, s = math.cos(self.angle), math.sin(self.angle)
        factor = 1.0 + self.outward / distance if distance > 0.0 else 1.0
        return factor * (c * x - s * y) - x, factor * (s * x + c * y) - y


def moved_points(point: complex | ComplexArray, outward: Array, angle: Array) -> ComplexArray:
    """Points [m] moved by offsets about the hip, here the origin: `PolarOffset.displacement` over arrays."""
    moved: ComplexArray = (1.0 + outward / np.abs(point)) * np.exp(1j * angle) * point
    return moved


@dataclass(frozen=True, slots=True)
class LegStrides:
    """Stride centers and regions of one leg, by heading of its foot; the last entry is for turning on the spot."""

    offsets: tuple[PolarOffset, ...]  # of the centers from the neutral foothold
    radii: tuple[float, ...]  # [m] of the regions about them


class StridesByMotion(NamedTuple):
    """Stride centers and regions of one leg at one height, by bend and heading of the path of its foot."""

    centers: ComplexArray  # (bends, HEADINGS) [m] in base_footprint, as complex numbers
    radii: Array  # (bends, HEADINGS) [m]


class StrideAdaptation(NamedTuple):
    """Adaptation of strides to the speed: shares (0 to 1) of the displacement of the centers, and of the lower lift."""

    moved: float = 0.0
    lowered: float = 0.0

    @property
    def lift_share(self) -> float:
        """Lift of the swings, as a share of the lift height."""
        return 1.0 - self.lowered * (1.0 - MIN_LIFT_SHARE)

    def weights(self) -> tuple[float, ...]:
        """Weights with which the values of CORNERS are interpolated."""
        moved, lowered = (1.0 - self.moved, self.moved), (1.0 - self.lowered, self.lowered)
        return tuple(moved[round(corner.moved)] * lowered[round(corner.lowered)] for corner in CORNERS)

    def towards(self, other: StrideAdaptation, share: float) -> StrideAdaptation:
        """Interpolates between this adaptation (share 0) and another one (share 1)."""
        return StrideAdaptation(*(a + share * (b - a) for a, b in zip(self, other, strict=True)))


UNADAPTED = StrideAdaptation()
CORNERS = (UNADAPTED, StrideAdaptation(1.0, 0.0), StrideAdaptation(0.0, 1.0), StrideAdaptation(1.0, 1.0))


class StrideRegion(NamedTuple):
    """The region of one leg's strides, relative to its neutral stance region."""

    offset: PolarOffset  # of its center
    scale: float  # of its radius
    moved: float  # share (0 to 1) of the full displacement
    displacement: Point  # [m] of its center: the offset in Cartesian coordinates


NEUTRAL_REGION = StrideRegion(PolarOffset(0.0, 0.0), 1.0, 0.0, (0.0, 0.0))


class RegionShares(NamedTuple):
    """The two shares (0 to 1) into which a region share is split."""

    displacement: float  # of the stride regions from the stance regions
    radii: float


def split_region_share(region_share: float) -> RegionShares:
    """Splits a region share, see REGION_SHARES."""
    return RegionShares(min(max(region_share - 1.0, 0.0), 1.0), min(region_share, 1.0))


class Disc(NamedTuple):
    """A disc on the ground."""

    center: Point  # [m]
    radius: float  # [m]


class Strides(NamedTuple):
    """The stride regions of all legs in one tick."""

    neutral: StanceRegions  # at the height of the body
    regions: tuple[StrideRegion, ...]
    share: float = 1.0  # usable share (0 to 1) of the radii

    def disc(self, leg: int, region: StrideRegion) -> Disc:
        """The usable disc of a stride region of a leg (row)."""
        neutral, _, share = self
        if region is NEUTRAL_REGION:
            return Disc(neutral.footholds[leg], share * neutral.radii[leg])
        (x, y), (_, scale, _, (dx, dy)) = neutral.footholds[leg], region
        return Disc((x + dx, y + dy), share * scale * neutral.radii[leg])

    @property
    def stance(self) -> StanceRegions:
        """The stride regions with their full radii, as stance regions."""
        height, radii = self.neutral.height, self.neutral.radii
        return StanceRegions(
            height,
            tuple([self.disc(leg, region).center for leg, region in enumerate(self.regions)]),
            tuple([radius * r.scale for radius, r in zip(radii, self.regions, strict=True)]),
        )
