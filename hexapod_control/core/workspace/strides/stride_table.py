# SPDX-License-Identifier: Apache-2.0
"""Stride regions: the discs in which feet stride, displaced from the neutral stance regions according to the twist.

Points are in base_footprint [m]. See docs/architecture/walking-mathematics.md, "Stride centers".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.arrays import Array, ComplexArray
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose, Placement
from hexapod_control.core.kinematics.leg_batch import StepGeometry, joints_at_contacts
from hexapod_control.core.kinematics.leg_clearance import LegNeighbours
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Leg, Point, Robot, Vector
from hexapod_control.core.workspace.stance_regions import (
    DIRECTIONS,
    FLIGHT_REACH_SHARE,
    RegionReach,
    StanceRegions,
    StanceRegionTable,
    nominal_stance,
    reaches,
    seen_from_hip,
)
from hexapod_control.core.workspace.strides.steady_cycle import Points, SteadyCycle
from hexapod_control.core.workspace.swing_limits import MIN_LIFT_SHARE, STRIDE_SHARE

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
        x = point[0] - hip[0]
        y = point[1] - hip[1]
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
        unmoved, high = 1.0 - self.moved, 1.0 - self.lowered
        return unmoved * high, self.moved * high, unmoved * self.lowered, self.moved * self.lowered

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

    def clamped(self, x: float, y: float, share: float) -> Point:
        """The point of this disc with a share of its radius that is nearest to a point (x, y) [m]."""
        cx, cy = self.center
        radius = share * self.radius
        dx = x - cx
        dy = y - cy
        distance = math.hypot(dx, dy)
        if distance <= radius:
            return x, y
        factor = radius / distance
        return cx + factor * dx, cy + factor * dy


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
        x, y = neutral.footholds[leg]
        _, scale, _, (dx, dy) = region
        return Disc((x + dx, y + dy), share * scale * neutral.radii[leg])

    @property
    def stance_regions(self) -> StanceRegions:
        """The stride regions with their full radii, as stance regions."""
        height, radii = self.neutral.height, self.neutral.radii
        return StanceRegions(
            height,
            tuple([self.disc(leg, region).center for leg, region in enumerate(self.regions)]),
            tuple([radius * r.scale for radius, r in zip(radii, self.regions, strict=True)]),
        )


OFFSET_SHARES = (1.0, 0.8, 0.6, 0.4, 0.2)  # of the offsets, tried in turn at each height; 0 if all fail
MIN_MOVED_RADIUS_SHARE = 0.8  # of the radii at the nominal height that must remain at another height
OUTLINE_SHARES = (1.0, 0.995, 0.99, 0.98, 0.97, 0.95)  # of the outline of all regions of a leg, tried in turn
SLOW_FOOT_SHARE = 0.25  # of the fastest foot's speed: regions of slower feet, near the center of rotation, move less


class StrideTable:
    """The stride regions of one robot in its fastest gait; in other gaits feet stride in their stance regions."""

    def __init__(self, robot: Robot, stances: StanceRegionTable, gait: Gait, legs: Sequence[LegStrides]) -> None:
        """Tabulates the regions for a gait over all heights; `legs` are the strides at the nominal height."""
        self.gait = gait
        self._robot = robot
        self._stances = stances
        self._offsets = tuple(leg.offsets for leg in legs)
        self._hips = tuple(leg.hip[:2] for leg in robot.legs)
        fitted = [_at_height(robot, row, legs) for row in stances.rows] if legs else []
        self._offset_shares = [share for share, _ in fitted]  # by row
        self._scales = [scales for _, scales in fitted]  # of the radii, by row, leg and heading
        self._flight = [_flight(leg) for leg in robot.legs]
        self._outline_shares = self._reached_outlines()
        self.max_lead = max_lead(robot, gait, legs)  # of a leg over its neighbours, as a share of its displacement

    def at(self, height: float, twist: Twist, moved: float, share: float) -> Strides:
        """The stride regions at a height [m] for a twist.

        `moved` is a share (0 to 1) of the full displacement, `share` (0 to 1) one of the radii.
        """
        stance = self._stances.at(height)
        return Strides(stance, self.regions(stance, twist, moved), share)

    def regions(self, stance: StanceRegions, twist: Twist, moved: float) -> tuple[StrideRegion, ...]:
        """The stride regions of all legs for a twist, with a share `moved` (0 to 1) of their full displacement."""
        if moved <= 0.0 or not self._offsets or twist.is_zero:
            return (NEUTRAL_REGION,) * len(stance.footholds)
        low, part = self._stances.between(stance.height)
        high = low + 1 if part > 0.0 else low
        reach = (1.0 - part) * self._offset_shares[low] + part * self._offset_shares[high]
        velocities = [twist.velocity_at(x, y) for x, y in stance.footholds]
        speeds = [math.hypot(vx, vy) for vx, vy in velocities]
        slow = SLOW_FOOT_SHARE * max(speeds)
        regions = []
        for leg, ((vx, vy), speed) in enumerate(zip(velocities, speeds, strict=True)):
            offsets = self._offsets[leg]
            place = math.atan2(vy, vx) * HEADINGS / math.pi
            a = math.floor(place)
            upper, a, b = place - a, a % HEADINGS, (a + 1) % HEADINGS
            if abs(offsets[a].angle - offsets[b].angle) > FAR_RAD:
                upper = float(round(upper))
            x, y = stance.footholds[leg]
            bend = abs(bend_of_path(twist, x, y, speed))
            lower = (1.0 - bend) * (1.0 - upper)
            upper = (1.0 - bend) * upper
            share = moved if speed >= slow else moved * speed / slow
            below, above = self._scales[low][leg], self._scales[high][leg]
            weights = ((lower, a), (upper, b), (bend, HEADINGS))
            scale = sum([w * (below[k] + part * (above[k] - below[k])) for w, k in weights])
            offset = PolarOffset(*[share * reach * sum([w * offsets[k][c] for w, k in weights]) for c in (0, 1)])
            regions.append(self.placed(leg, stance, offset, 1.0 + share * (scale - 1.0), share))
        return tuple(regions)

    def placed(self, leg: int, stance: StanceRegions, offset: PolarOffset, scale: float, moved: float) -> StrideRegion:
        """The region of a leg (row) displaced by an offset from its neutral foothold."""
        return StrideRegion(offset, scale, moved, offset.displacement(self._hips[leg], stance.footholds[leg]))

    def at_row(self, row: int, moved: float) -> list[StridesByMotion]:
        """The strides of all legs at a row (height) of the table, with a share `moved` (0 to 1) of the displacement."""
        stance = self._stances.rows[row]
        strides = []
        shape = len(BENDS), HEADINGS
        if not self._offsets:
            return [
                StridesByMotion(np.full(shape, complex(*foothold)), np.full(shape, radius))
                for foothold, radius in zip(stance.footholds, stance.radii, strict=True)
            ]
        bend = np.abs(np.array(BENDS))[:, None]
        for leg, (foothold, radius) in enumerate(zip(stance.footholds, stance.radii, strict=True)):
            columns = (*zip(*self._offsets[leg], strict=True), self._scales[row][leg])
            outward, angle, scale = (
                (1.0 - bend) * column[:HEADINGS] + bend * column[HEADINGS] for column in map(np.array, columns)
            )
            length = moved * self._offset_shares[row]
            hip = complex(*self._hips[leg])
            arm = complex(*foothold) - hip
            centers = hip + moved_points(arm, length * outward, length * angle)
            strides.append(StridesByMotion(centers, radius * (1.0 + moved * (scale - 1.0))))
        return strides

    def fits(self, pose: BodyPose, share: float, lift: float) -> bool:
        """True if in a body pose all feet reach a region share of their regions, on the ground and lifted [m].

        With a share above 1 (REGION_SHARES), the feet must also reach the displaced stride regions.
        """
        height = self._robot.walk.height
        if not self._stances.fits(pose, min(1.0, share), lift):
            return False
        if share <= 1.0 or not self._offsets:
            return True
        placement = Placement(pose, height)
        stance = self._stances.at(height + pose.z)
        outlines = self._extremes(stance, share - 1.0, lift)
        return all(
            self._reaches(leg, stance, points, part, placement)
            for leg, (points, part) in enumerate(zip(outlines, self._outline_shares, strict=True))
        )

    def _reached_outlines(self) -> list[float]:
        """The share of its outline that each leg reaches in the neutral pose.

        All regions are in reach there, but the tables check that in other directions than those of the outlines.
        """
        height, lift = self._robot.walk.height, self._robot.walk.lift_height
        placement = Placement(NEUTRAL, height)
        stance = self._stances.at(height)
        if not self._offsets:
            return [1.0] * len(self._robot.legs)
        return [
            next((s for s in OUTLINE_SHARES if self._reaches(leg, stance, points, s, placement)), OUTLINE_SHARES[-1])
            for leg, points in enumerate(self._extremes(stance, 1.0, lift))
        ]

    def _reaches(
        self, leg: int, stance: StanceRegions, points: Sequence[Vector], share: float, placement: Placement
    ) -> bool:
        """True if a leg (row) reaches a share of the way from its neutral foothold to each point (x, y, height) [m]."""
        x, y = stance.footholds[leg]
        return all(
            reaches(self._robot.legs[leg], self._robot, (x + share * dx, y + share * dy), z, placement)
            for dx, dy, z in points
        )

    def outlines(self, height: float) -> list[list[Point]]:
        """Outlines of the stride regions and swings over all headings, by leg: points [m] relative to the foothold."""
        stance = self._stances.at(height)
        return [
            [(x, y) for x, y, z in points if z == 0.0]
            for points in self._extremes(stance, 1.0, 1.0, FLIGHT_REACH_SHARE)
        ]

    def _extremes(
        self, stance: StanceRegions, moved: float, lift: float, min_share: float = 1.0
    ) -> Iterator[list[Vector]]:
        """Yields the outermost points (x, y, height) [m] of all regions of each leg, relative to its foothold."""
        low, part = self._stances.between(stance.height)
        row = low if part < 0.5 else low + 1
        for leg, radius in enumerate(stance.radii):
            length = moved * self._offset_shares[row]
            foothold = stance.footholds[leg]
            c, s = self._robot.legs[leg].hip_direction
            regions = [(0.0, 0.0, radius)] + [
                (*offset.scaled(length).displacement(self._hips[leg], foothold), radius * (1.0 + moved * (scale - 1.0)))
                for offset, scale in zip(self._offsets[leg], self._scales[row][leg], strict=True)
            ]
            points = []
            for (dx, dy), shares in zip(DIRECTIONS, self._flight[leg], strict=True):
                ux = c * dx - s * dy
                uy = s * dx + c * dy
                reach = [x * ux + y * uy + max(f, min_share) * r for (x, y, r), f in zip(regions, shares, strict=True)]
                x, y, r = regions[k := reach.index(max(reach))]
                far = max(shares[k], min_share) * r
                points += [(x + far * ux, y + far * uy, 0.0), (x + r * ux, y + r * uy, lift)]
            yield points


def bend_of_path(twist: Twist, x: float, y: float, speed: float) -> float:
    """Bend (-1 to 1) of the path of a foot at (x, y) [m] with a speed [m/s]: yaw rate x distance / speed, see BENDS."""
    return min(max(twist.wz * math.hypot(x, y) / speed, -1.0), 1.0) if speed > 0.0 else 0.0


def _at_height(robot: Robot, row: StanceRegions, legs: Sequence[LegStrides]) -> tuple[float, list[list[float]]]:
    """Share of the offsets that fits at a height, and the radii, by leg and heading, relative to the neutral ones."""
    min_radii = [
        np.minimum(MIN_MOVED_RADIUS_SHARE * np.array(strides.radii), radius)
        for strides, radius in zip(legs, row.radii, strict=True)
    ]
    for share in OFFSET_SHARES:
        regions = [
            _regions(robot, leg, foothold, row.height, strides.offsets, share)
            for leg, foothold, strides in zip(robot.legs, row.footholds, legs, strict=True)
        ]
        if all(region.contains(radii).all() for region, radii in zip(regions, min_radii, strict=True)):
            radii_by_leg = [region.radii(np.array(s.radii)) for region, s in zip(regions, legs, strict=True)]
            return share, [(radii / r).tolist() for radii, r in zip(radii_by_leg, row.radii, strict=True)]
    return 0.0, [[1.0] * len(strides.radii) for strides in legs]


def flight_shares(around: ComplexArray, headings: ComplexArray) -> Array:
    """Distance of feet in the air in the directions `around`, in radii of a region, for strides along headings."""
    along = (around * headings.conj()).real
    shares: Array = 1.0 + (FLIGHT_REACH_SHARE - 1.0) * along * along
    return shares


def _flight(leg: Leg) -> list[list[float]]:
    """`flight_shares` in the neutral region and in that of every heading, by direction in the frame of the hip."""
    around = np.array([complex(*direction) for direction in DIRECTIONS])[:, None]
    shares = flight_shares(around, _along(leg, leg.foothold))
    return [[FLIGHT_REACH_SHARE, *row] for row in shares.tolist()]


def _along(leg: Leg, foothold: Point) -> ComplexArray:
    """Unit vectors of the headings of a foot in the frame of the hip; the last one is for turning on the spot."""
    tangent = math.atan2(foothold[0], -foothold[1])
    headings: ComplexArray = np.exp(1j * (np.append(math.pi * np.arange(HEADINGS) / HEADINGS, tangent) - leg.hip_yaw))
    return headings


def _regions(
    robot: Robot, leg: Leg, foothold: Point, height: float, offsets: Sequence[PolarOffset], share: float
) -> RegionReach:
    """The regions of a leg for all headings at a height [m], with a share of the offsets."""
    seen = seen_from_hip(leg, foothold)
    outward, angle = share * np.array(offsets).T
    # Reach is checked along the motion, where the feet go, and in DIRECTIONS.
    along = _along(leg, foothold)[:, None]
    around = np.concatenate((along, -along, np.tile([complex(*d) for d in DIRECTIONS], (len(offsets), 1))), axis=1)
    step = StepGeometry.of(robot, height)
    flight = flight_shares(around, along)
    return RegionReach(seen, step, moved_points(complex(*seen.foothold), outward, angle), around, flight)


MIN_GAP = 0.005  # [m] between neighbouring legs: at less than 3 mm the tick limiter stops the walk
MAX_KNEE_OVERHANG = 0.02  # [m] by which a knee may be horizontally farther from the hip than its foot
LEAD_SHARES = (1.0, 0.4, 0.3, 0.2)  # leads that are tried, as shares of the displacement; the last one if all fail


def max_lead(robot: Robot, gait: Gait, strides: Sequence[LegStrides]) -> float:
    """Maximum lead of a leg over its neighbours, as a share of its displacement; infinite if legs never collide.

    It is also infinite if knees overhang the feet: then a leg seen from above is not a line from hip to foot, which the
    gaps are computed for.
    """
    if not strides or _knee_overhang(robot) > MAX_KNEE_OVERHANG:
        return math.inf
    lead = next((share for share in LEAD_SHARES if _keeps_apart(robot, gait, strides, share)), LEAD_SHARES[-1])
    return lead if lead < 1.0 else math.inf


def _knee_overhang(robot: Robot) -> float:
    """By how much a knee is farther from the hip than its foot in the neutral stance [m], maximum of all legs."""
    overhang = -math.inf
    for leg in robot.legs:
        contact = np.array(leg.foothold[0]), np.array(leg.foothold[1]), np.array(0.0)
        femur = joints_at_contacts(leg, robot.foot_radius, robot.walk.height, contact).joints[1].item()
        knee = leg.coxa.length + leg.femur.length * math.cos(femur)
        overhang = max(overhang, knee - math.dist(leg.foothold, leg.hip[:2]))
    return overhang


def _keeps_apart(robot: Robot, gait: Gait, strides: Sequence[LegStrides], lead: float) -> bool:
    """True if neighbours keep MIN_GAP along all headings if one leads by a share (0 to 1) of the displacement."""
    hips = np.array([complex(*leg.hip[:2]) for leg in robot.legs])
    arms = np.array([complex(*leg.foothold) for leg in robot.legs]) - hips
    neutral = np.array(nominal_stance(robot).radii)
    ahead = np.arange(lead, 1.0 + 1e-9, lead)[:, None]
    every_second: NDArray[np.bool_] = np.zeros(len(hips), dtype=bool)
    every_second[[first for first, _ in LegNeighbours.of(robot).pairs][::2]] = True
    for heading in range(HEADINGS):
        outward, angle = np.array([leg.offsets[heading] for leg in strides]).T
        radii = np.array([leg.radii[heading] for leg in strides])

        def centers(shares: Array, outward: Array = outward, angle: Array = angle) -> Points:
            return hips + moved_points(arms, shares * outward, shares * angle)

        first = centers(ahead)
        second = centers(ahead - lead)
        mixed = np.concatenate((np.where(every_second, first, second), np.where(every_second, second, first)))
        # Between neutral and moved regions radii are interpolated, and the smallest region limits the stride.
        radius = (neutral + ahead * (radii - neutral)).min(axis=1, keepdims=True)
        travels = np.tile(2.0 * STRIDE_SHARE * radius / gait.stance_time, (2, 1))
        direction = math.pi * heading / HEADINGS
        axis = Twist(math.cos(direction), math.sin(direction), 0.0)
        if not all(_apart(SteadyCycle(robot, gait, twist), travels, mixed) for twist in (axis, axis.scaled(-1.0))):
            return False
    return True


def _apart(cycle: SteadyCycle, travels: Array, centers: Points) -> bool:
    """True if neighbours keep MIN_GAP for centers (N, legs) [m] and travels per swing time (N, 1) [m]."""
    crossing = np.flatnonzero(cycle.horizontal_gaps(travels, centers) < 0.0)
    return all(cycle.limits(float(travels[k, 0]), centers[k], MIN_GAP).gap >= MIN_GAP for k in crossing)
