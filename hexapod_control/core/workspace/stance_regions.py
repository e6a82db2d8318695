# SPDX-License-Identifier: Apache-2.0
"""Neutral footholds and stance regions by body height, from the workspace of the legs.

A stance region is a disc about the neutral foothold, in base_footprint, that a planted foot never leaves. Its radius is
limited by the reach of the leg in every direction, on the ground and at the top of a swing, and by the clearance
between neighbouring legs. At other body heights the neutral foothold is moved along the line through the coxa axis, to
the nearest place at which the disc keeps its radius.
See docs/architecture/walking-mathematics.md, "Stance regions".
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array, ComplexArray
from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.kinematics.leg_batch import StepGeometry, joints_at_contacts
from hexapod_control.core.kinematics.leg_kinematics import BENT_LEG
from hexapod_control.core.kinematics.whole_body import ball_center_and_joints, joints_at_contact
from hexapod_control.core.robot import Leg, Point, Robot

DIRECTIONS = tuple((math.cos(k * math.tau / 12), math.sin(k * math.tau / 12)) for k in range(12))  # unit vectors
CHECK_ORDER = (0, 3, 1, 5, 2, 4)  # of every second direction: first those in which a region is likely out of reach
FLIGHT_REACH_SHARE = 1.18  # of the radius: reached by a foot early in its swing, still moving with the ground ...
FLIGHT_LIFT_SHARE = 0.25  # ... up to this share of its lift: in a tripod at 1.194 of half a stride
TIBIA_CLEARANCE = 0.0112  # [m] minimum between the tibias of neighbouring legs at the edges of their regions
REGION_SHARES = (2.0, 1.75, 1.5, 1.25, 1.0, 0.8, 0.6, 0.45, 0.3)
"""Region shares: the part of the regions that a body pose leaves for walking. Up to 1, it is a share of the radii of
the stance regions; what exceeds 1 is the share of the displacement from the stance regions to the stride regions."""
HEIGHT_STEPS = 13  # of the table; the step is the nominal height / (HEIGHT_STEPS - 1)
HEIGHT_ROUNDING = 1e-9  # [m] of a height that was computed from joint angles
MIN_RADIUS_SHARE = 0.4  # of the nominal radius, below which a height is left out of the table
RADIUS_HALVINGS = 5  # bisection steps for the radii of many regions at once (RegionReach)
RADIUS_RESOLUTION = 0.001  # [m] of radii in the table
MIN_RADIUS = 2 * RADIUS_RESOLUTION  # [m] of a region in which a foot can step


@dataclass(frozen=True, slots=True)
class StanceRegions:
    """Footholds and regions at one height."""

    height: float  # [m] of base_link above the ground
    footholds: tuple[Point, ...]  # [m] in base_footprint, contact points
    radii: tuple[float, ...]  # [m] of each foot's stance region


def reaches(leg: Leg, robot: Robot, contact: Point, lift: float, placement: Placement) -> bool:
    """True if the leg can put its foot `lift` [m] above a contact point (x, y) [m, base_footprint].

    Computed as exactly as the commanded joint angles, because a foot may be at the limit of its reach.
    """
    return joints_at_contact(leg, contact, lift - robot.walk.preload, placement, robot.foot_radius)[1] is None


def _around(leg: Leg, foothold: Point) -> list[Point]:
    """DIRECTIONS, rotated so that the first one points away from the hip: there, and opposite, reach ends first."""
    away = math.atan2(foothold[1] - leg.hip[1], foothold[0] - leg.hip[0])
    c, s = math.cos(away), math.sin(away)
    return [(c * x - s * y, s * x + c * y) for x, y in DIRECTIONS]


def radius_about(leg: Leg, robot: Robot, foothold: Point, height: float, max_radius: float) -> float:
    """Largest radius up to `max_radius` [m] of a disc about a foothold in which the leg reaches ground and lift height.

    The body is level, at a height [m], so the result does not depend on position and yaw of the hip.
    """
    return _radius(seen_from_hip(leg, foothold), StepGeometry.of(robot, height), max_radius)


def seen_from_hip(leg: Leg, foothold: Point) -> Leg:
    """The leg and a foothold [m, base_footprint] in the frame of its hip: equal for legs of the same geometry."""
    c, s = leg.hip_direction
    x = foothold[0] - leg.hip[0]
    y = foothold[1] - leg.hip[1]
    seen = (round(c * x + s * y, 9), round(c * y - s * x, 9))
    return replace(leg, name="", hip=(0.0, 0.0, leg.hip[2]), hip_yaw=0.0, foothold=seen)


@lru_cache(maxsize=4096)
def _radius(leg: Leg, step: StepGeometry, max_radius: float) -> float:
    """As radius_about, about the leg's own foothold."""
    around = np.array([complex(*direction) for direction in _around(leg, leg.foothold)])
    outline = np.array((FLIGHT_REACH_SHARE, 1.0))[:, None] * around
    lifts = np.array((0.0, step.lift))[:, None]

    def inside(radius: float) -> bool:
        points = complex(*leg.foothold) + radius * outline
        contacts = points.real, points.imag, lifts
        return bool(joints_at_contacts(leg, step.foot_radius, step.height, contacts).reached.all())

    if inside(max_radius):
        return max_radius
    if not inside(0.0):
        return 0.0
    low = 0.0
    high = max_radius
    while high - low > RADIUS_RESOLUTION:
        radius = (low + high) / 2
        low, high = (radius, high) if inside(radius) else (low, radius)
    return low


class RegionReach(NamedTuple):
    """Discs about centers in the frame of a hip, to find out whether the leg reaches ground and lift height in them."""

    leg: Leg
    step: StepGeometry
    centers: ComplexArray  # (N,) x + i y [m]
    around: ComplexArray  # (..., D) unit vectors in whose directions reach is checked
    flight: Array = np.array(FLIGHT_REACH_SHARE)  # (..., D) distance of feet in the air in these directions, in radii

    def contains(self, radii: Array) -> NDArray[np.bool_]:
        """True (N,) where the leg reaches the whole disc with a radius (N,) [m]."""
        ball, height, lift = self.step
        far = self.flight * self.around
        points = self.centers[:, None, None] + radii[:, None, None] * np.stack((far, far, self.around), axis=-2)
        contacts = (points.real, points.imag, lift * np.array((0.0, FLIGHT_LIFT_SHARE, 1.0))[:, None])
        reached = joints_at_contacts(self.leg, ball, height, contacts).reached
        contained: NDArray[np.bool_] = np.logical_and.reduce(reached, axis=(-1, -2))
        return contained

    def radii(self, limits: Array) -> Array:
        """Largest radii (N,), up to `limits` (N,) [m], as `radius_about`; by RADIUS_HALVINGS steps of bisection."""
        beyond = ~self.contains(limits)
        if not beyond.any():
            return limits
        limited = self._only(beyond)
        low = np.zeros(np.count_nonzero(beyond))
        high = limits[beyond]
        for _ in range(RADIUS_HALVINGS):
            middle = 0.5 * (low + high)
            reached = limited.contains(middle)
            low = np.where(reached, middle, low)
            high = np.where(reached, high, middle)
        radii = limits.copy()
        radii[beyond] = low
        return radii

    def _only(self, chosen: NDArray[np.bool_]) -> RegionReach:
        """The discs about the chosen centers."""
        around, flight = np.broadcast_arrays(self.around, self.flight, np.empty((len(chosen), 1)))[:2]
        return self._replace(centers=self.centers[chosen], around=around[chosen], flight=flight[chosen])


def max_radii(robot: Robot) -> tuple[float, ...]:
    """Largest radii [m] of the regions, by leg, that keep TIBIA_CLEARANCE between the legs."""
    best = []
    for leg in robot.legs:
        gaps = [
            math.dist(leg.foothold, other.foothold) - leg.tibia.radius - other.tibia.radius - TIBIA_CLEARANCE
            for other in robot.legs
            if other is not leg
        ]
        best.append(max(0.0, min(gaps) / 2))
    return tuple(best)


def _moved(leg: Leg, distance: float) -> Point:
    """The foothold of a leg, moved away from its coxa axis by `distance` [m]."""
    dx = leg.foothold[0] - leg.hip[0]
    dy = leg.foothold[1] - leg.hip[1]
    factor = 1.0 + distance / math.hypot(dx, dy)
    return leg.hip[0] + factor * dx, leg.hip[1] + factor * dy


def _shift(leg: Leg, robot: Robot, height: float, wanted: float, near: float) -> float:
    """Displacement [m] away from the coxa axis, nearest to `near`, at which the region has the radius `wanted` [m].

    If there is none, the displacement with the largest region.
    """
    span = 0.4 * math.dist(leg.foothold, leg.hip[:2])
    choices = sorted((near + span * k / 12 for k in range(-12, 13)), key=lambda d: abs(d - near))
    seen = seen_from_hip(leg, leg.foothold)
    return choices[_index_of_radius(seen, StepGeometry.of(robot, height), wanted, tuple(choices))]


@lru_cache(maxsize=4096)
def _index_of_radius(leg: Leg, step: StepGeometry, wanted: float, shifts: tuple[float, ...]) -> int:
    """Index of the first displacement [m] at which the region has the radius `wanted` [m], or else the largest one."""
    centers = np.array([complex(*_moved(leg, d)) for d in shifts])
    around = np.array([complex(*direction) for direction in _around(leg, leg.foothold)])
    limits = np.full(len(shifts), max(wanted - 2 * RADIUS_RESOLUTION, 0.0))
    return int(RegionReach(leg, step, centers, around).radii(limits).argmax())


def nominal_stance(robot: Robot) -> StanceRegions:
    """The stance regions at the nominal height; a leg that cannot step there has a radius below MIN_RADIUS."""
    return _stance(robot, robot.walk.height, [0.0] * len(robot.legs), max_radii(robot))


def strides_fit(robot: Robot, stance: StanceRegions, pose: BodyPose, share: float, lift: float) -> bool:
    """True if in a body pose all feet reach this share (0 to 1) of their regions, on the ground and lifted [m]."""
    placement = Placement(pose, robot.walk.height)
    ball = robot.foot_radius
    levels = ((FLIGHT_REACH_SHARE * share, 0.0), (share, lift))
    feet = [
        (leg, foothold, radius, _around(leg, foothold)[::2])
        for leg, foothold, radius in zip(robot.legs, stance.footholds, stance.radii, strict=True)
    ]
    points = (
        (leg, (x + r * radius * around[k][0], y + r * radius * around[k][1]), z)
        for k in CHECK_ORDER
        for leg, (x, y), radius, around in feet
        for r, z in levels
    )
    # Less exact than `reaches`, at a third of the cost: regions end more than a millimetre before the limit of reach.
    return all(ball_center_and_joints(*point, placement, ball, BENT_LEG)[1][1] is None for point in points)


def _stance(robot: Robot, height: float, shifts: Sequence[float], limits: Sequence[float]) -> StanceRegions:
    """The stance regions at a height [m], with footholds displaced [m] and radii limited [m] by leg."""
    footholds = tuple(_moved(leg, d) for leg, d in zip(robot.legs, shifts, strict=True))
    radii = tuple(
        radius_about(leg, robot, point, height, largest)
        for leg, point, largest in zip(robot.legs, footholds, limits, strict=True)
    )
    return StanceRegions(height, footholds, radii)


class StanceRegionTable:
    """Stance regions over the heights at which the robot can walk."""

    def __init__(self, robot: Robot, *, level: bool = False) -> None:
        """Computes the table, `level`: for the nominal height only. Raises ValueError if it cannot stand there."""
        self._robot = robot
        self._max_radii = max_radii(robot)
        nominal = nominal_stance(robot)
        if min(nominal.radii) < MIN_RADIUS:
            worst = robot.legs[nominal.radii.index(min(nominal.radii))].name
            raise ValueError(
                f"leg {worst} cannot step about its foothold at height {robot.walk.height} m with a lift of "
                f"{robot.walk.lift_height} m; lower the lift, or move the foothold or the height"
            )
        step = robot.walk.height / (HEIGHT_STEPS - 1)
        lower, upper = ([] if level else self._rows_from(nominal, step * sign) for sign in (-1, 1))
        self._rows = (*reversed(lower), nominal, *upper)
        self._heights = tuple(row.height for row in self._rows)

    def _rows_from(self, nominal: StanceRegions, step: float) -> list[StanceRegions]:
        """Rows of the table in steps [m] from the nominal height, until a region becomes too small."""
        rows: list[StanceRegions] = []
        shifts = [0.0] * len(self._robot.legs)
        belly = self._robot.body.size[2] / 2 - self._robot.body.center[2]
        for k in range(1, HEIGHT_STEPS):
            height = nominal.height + k * step
            if height <= belly:
                break
            shifts = [
                _shift(leg, self._robot, height, wanted, near)
                for leg, wanted, near in zip(self._robot.legs, nominal.radii, shifts, strict=True)
            ]
            row = _stance(self._robot, height, shifts, self._max_radii)
            if any(r < MIN_RADIUS_SHARE * r0 for r, r0 in zip(row.radii, nominal.radii, strict=True)):
                break
            rows.append(row)
        return rows

    @property
    def lowest(self) -> float:
        """Lowest height [m] at which the robot can walk."""
        return self._heights[0]

    @property
    def highest(self) -> float:
        """Greatest height [m] at which the robot can walk."""
        return self._heights[-1]

    def contains(self, height: float) -> bool:
        """True if the robot can walk at a height [m], which may have rounding errors."""
        return self.lowest - HEIGHT_ROUNDING <= height <= self.highest + HEIGHT_ROUNDING

    @property
    def rows(self) -> tuple[StanceRegions, ...]:
        """The table, by increasing height."""
        return self._rows

    def at(self, height: float) -> StanceRegions:
        """The stance regions at a height [m], interpolated between the rows and clamped to the table."""
        low, share = self.between(height)
        if share == 0.0:
            return self._rows[low]
        a = self._rows[low]
        b = self._rows[low + 1]

        def mix(p: float, q: float) -> float:
            return p + share * (q - p)

        return StanceRegions(
            mix(a.height, b.height),
            tuple((mix(p[0], q[0]), mix(p[1], q[1])) for p, q in zip(a.footholds, b.footholds, strict=True)),
            tuple(mix(p, q) for p, q in zip(a.radii, b.radii, strict=True)),
        )

    def between(self, height: float) -> tuple[int, float]:
        """Returns (row below, share (0 to 1) of the step to the next row) for a height [m]."""
        if height <= self._heights[0]:
            return 0, 0.0
        if height >= self._heights[-1]:
            return len(self._heights) - 1, 0.0
        low = bisect_right(self._heights, height) - 1
        return low, (height - self._heights[low]) / (self._heights[low + 1] - self._heights[low])

    def fits(self, pose: BodyPose, share: float, lift: float) -> bool:
        """True if in a body pose all feet reach this share (0 to 1) of their regions, on the ground and lifted [m]."""
        return strides_fit(self._robot, self.at(self._robot.walk.height + pose.z), pose, share, lift)
