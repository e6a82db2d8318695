"""Neutral footholds and stance regions by body height, from the workspace of the legs.

A stance region is a disc about the neutral foothold, in base_footprint, that a planted foot never leaves. Its radius is
limited by the reach of the leg in every direction, on the ground and at the top of a swing, and by the clearance
between neighbouring legs. At other heights the neutral foothold moves along the line through the coxa axis to where the
disc stays large.
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
from hexapod_control.core.kinematics.rolling_contact import ball_centre_and_joints, joints_at_contact
from hexapod_control.core.robot import Leg, Point, Robot

DIRECTIONS = tuple((math.cos(k * math.tau / 12), math.sin(k * math.tau / 12)) for k in range(12))
CHECK_ORDER = (0, 3, 1, 5, 2, 4)  # of every second direction: those in which reach is likely to end come first
FLIGHT_REACH_SHARE = 1.18  # of the radius, within which a foot is early in its swing, as it lags behind the body ...
FLIGHT_LIFT_SHARE = 0.25  # ... up to this share of its lift: in a tripod at 1.194 of half a stride
TIBIA_CLEARANCE = 0.0112  # [m] kept between the tibias of neighbouring legs at the edges of their regions
REGION_SHARES = (2.0, 1.75, 1.5, 1.25, 1.0, 0.8, 0.6, 0.45, 0.3)
"""Region shares: how much of the regions a body pose can leave for walking, at least the last one. Up to 1, it is the
share of the radii of the stance regions; above 1, its excess is the share of the displacement to the stride regions."""
HEIGHT_STEPS = 13  # of the table; the step is the nominal height / (HEIGHT_STEPS - 1)
MIN_RADIUS_SHARE = 0.4  # of the nominal radius, below which a height is left out of the table
RADIUS_HALVINGS = 5  # bisection steps for the radii of many regions at once
RADIUS_RESOLUTION = 0.001  # [m] of radii in the table
MIN_RADIUS = 2 * RADIUS_RESOLUTION  # [m] of a region in which a foot can step


@dataclass(frozen=True, slots=True)
class StanceRegions:
    """Footholds and regions at one height."""

    height: float  # [m] of base_link above the ground
    footholds: tuple[Point, ...]  # [m] in base_footprint, contact points
    radii: tuple[float, ...]  # [m] of each foot's stance region


def reaches(leg: Leg, robot: Robot, contact: Point, lift: float, placement: Placement) -> bool:
    """True if the leg can put its foot at a contact point (x, y) [m, base_footprint] lifted by `lift` [m].

    Computed as exactly as the commanded joint angles, since a foot may be at the limit of its reach.
    """
    return joints_at_contact(leg, contact, lift - robot.walk.preload, placement, robot.foot_radius)[1] is None


def _around(leg: Leg, foothold: Point) -> list[Point]:
    """DIRECTIONS, turned so that the first one points away from the hip: there, and opposite, reach ends first."""
    away = math.atan2(foothold[1] - leg.hip[1], foothold[0] - leg.hip[0])
    c, s = math.cos(away), math.sin(away)
    return [(c * x - s * y, s * x + c * y) for x, y in DIRECTIONS]


def radius_about(leg: Leg, robot: Robot, foothold: Point, height: float, most: float) -> float:
    """Largest radius, at most `most` [m], about a foothold within which the leg reaches the ground and its lift height.

    The body is level, at a height [m], so position and yaw of the hip make no difference.
    """
    return _radius(seen_from_hip(leg, foothold), StepGeometry.of(robot, height), most)


def seen_from_hip(leg: Leg, foothold: Point) -> Leg:
    """The leg with a foothold [m, base_footprint], in the frame of its hip: equal for legs of the same geometry."""
    c, s = leg.hip_direction
    x, y = foothold[0] - leg.hip[0], foothold[1] - leg.hip[1]
    seen = (round(c * x + s * y, 9), round(c * y - s * x, 9))
    return replace(leg, name="", hip=(0.0, 0.0, leg.hip[2]), hip_yaw=0.0, foothold=seen)


@lru_cache(maxsize=4096)
def _radius(leg: Leg, step: StepGeometry, most: float) -> float:
    """As radius_about, about the leg's own foothold."""
    around = np.array([complex(*direction) for direction in _around(leg, leg.foothold)])
    far, lifts = np.array((FLIGHT_REACH_SHARE, 1.0))[:, None] * around, np.array((0.0, step.lift))[:, None]

    def inside(radius: float) -> bool:
        points = complex(*leg.foothold) + radius * far
        contacts = points.real, points.imag, lifts
        return bool(joints_at_contacts(leg, step.foot_radius, step.height, contacts).reached.all())

    if inside(most):
        return most
    if not inside(0.0):
        return 0.0
    low, high = 0.0, most
    while high - low > RADIUS_RESOLUTION:
        radius = (low + high) / 2
        low, high = (radius, high) if inside(radius) else (low, radius)
    return low


class RegionReach(NamedTuple):
    """Whether a leg reaches ground and lift within discs about centres, in the frame of its hip."""

    leg: Leg
    step: StepGeometry
    centres: ComplexArray  # (N,) x + i y [m]
    around: ComplexArray  # (..., D) directions in which reach is checked
    flight: Array = np.array(FLIGHT_REACH_SHARE)  # (..., D) radii that feet in the air reach in these directions

    def contains(self, radii: Array) -> NDArray[np.bool_]:
        """Whether discs of these radii (N,) [m] are reached."""
        ball, height, lift = self.step
        far = self.flight * self.around
        points = self.centres[:, None, None] + radii[:, None, None] * np.stack((far, far, self.around), axis=-2)
        contacts = (points.real, points.imag, lift * np.array((0.0, FLIGHT_LIFT_SHARE, 1.0))[:, None])
        reached = joints_at_contacts(self.leg, ball, height, contacts).reached
        found: NDArray[np.bool_] = np.logical_and.reduce(reached, axis=(-1, -2))
        return found

    def radii(self, most: Array) -> Array:
        """Largest radii (N,), at most `most` (N,) [m], as `radius_about`; by RADIUS_HALVINGS steps of bisection."""
        beyond = ~self.contains(most)
        if not beyond.any():
            return most
        limited, low, high = self._only(beyond), np.zeros(np.count_nonzero(beyond)), most[beyond]
        for _ in range(RADIUS_HALVINGS):
            middle = 0.5 * (low + high)
            reached = limited.contains(middle)
            low, high = np.where(reached, middle, low), np.where(reached, high, middle)
        radii = most.copy()
        radii[beyond] = low
        return radii

    def _only(self, chosen: NDArray[np.bool_]) -> RegionReach:
        """The discs about the chosen centres."""
        around, flight = np.broadcast_arrays(self.around, self.flight, np.empty((len(chosen), 1)))[:2]
        return self._replace(centres=self.centres[chosen], around=around[chosen], flight=flight[chosen])


def max_radii(robot: Robot) -> tuple[float, ...]:
    """Largest radii [m] by leg of regions that keep TIBIA_CLEARANCE between the legs."""
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
    """The leg's foothold moved along the line through its coxa axis by `distance` [m]."""
    dx, dy = leg.foothold[0] - leg.hip[0], leg.foothold[1] - leg.hip[1]
    factor = 1.0 + distance / math.hypot(dx, dy)
    return leg.hip[0] + factor * dx, leg.hip[1] + factor * dy


def _shift(leg: Leg, robot: Robot, height: float, wanted: float, near: float) -> float:
    """Displacement [m] of the foothold, nearest to `near`, at which its region has the radius `wanted` [m].

    If there is none, the one with the largest region.
    """
    span = 0.4 * math.dist(leg.foothold, leg.hip[:2])
    choices = sorted((near + span * k / 12 for k in range(-12, 13)), key=lambda d: abs(d - near))
    seen = seen_from_hip(leg, leg.foothold)
    return choices[_place_of_radius(seen, StepGeometry.of(robot, height), wanted, tuple(choices))]


@lru_cache(maxsize=4096)
def _place_of_radius(leg: Leg, step: StepGeometry, wanted: float, shifts: tuple[float, ...]) -> int:
    """Index of the first of the shifts [m] of the foothold with a region of the radius `wanted` [m], or the largest."""
    centres = np.array([complex(*_moved(leg, d)) for d in shifts])
    around = np.array([complex(*direction) for direction in _around(leg, leg.foothold)])
    most = np.full(len(shifts), max(wanted - 2 * RADIUS_RESOLUTION, 0.0))
    return int(RegionReach(leg, step, centres, around).radii(most).argmax())


def nominal_stance(robot: Robot) -> StanceRegions:
    """The stance at the nominal height; a leg that cannot step there has a radius below MIN_RADIUS."""
    return _stance(robot, robot.walk.height, [0.0] * len(robot.legs), max_radii(robot))


def strides_fit(robot: Robot, stance: StanceRegions, pose: BodyPose, share: float, lift: float) -> bool:
    """True if in a body pose all feet reach this share (0 to 1) of their regions, on the ground and lifted [m]."""
    placement, ball = Placement(pose, robot.walk.height), robot.foot_radius
    levels = ((FLIGHT_REACH_SHARE * share, 0.0), (share, lift))
    feet = [
        (leg, foothold, radius, _around(leg, foothold)[::2])
        for leg, foothold, radius in zip(robot.legs, stance.footholds, stance.radii, strict=True)
    ]
    points = (
        (leg, (x + r * radius * to[k][0], y + r * radius * to[k][1]), z)
        for k in CHECK_ORDER
        for leg, (x, y), radius, to in feet
        for r, z in levels
    )
    # Not as exactly as `reaches`, but at a third of the cost: regions leave more than a millimetre of reach.
    return all(ball_centre_and_joints(*point, placement, ball, BENT_LEG)[1][1] is None for point in points)


def _stance(robot: Robot, height: float, shifts: Sequence[float], most: Sequence[float]) -> StanceRegions:
    """The stance at a height [m] with shifted footholds [m] and radii of at most `most` [m], by leg."""
    footholds = tuple(_moved(leg, d) for leg, d in zip(robot.legs, shifts, strict=True))
    radii = tuple(
        radius_about(leg, robot, point, height, largest)
        for leg, point, largest in zip(robot.legs, footholds, most, strict=True)
    )
    return StanceRegions(height, footholds, radii)


class StanceRegionTable:
    """Stances over the heights at which the robot can walk."""

    def __init__(self, robot: Robot) -> None:
        """Tabulates the workspace. Raises ValueError if the robot cannot stand at its nominal height."""
        self._robot = robot
        self._most = max_radii(robot)
        nominal = nominal_stance(robot)
        if min(nominal.radii) < MIN_RADIUS:
            worst = robot.legs[nominal.radii.index(min(nominal.radii))].name
            raise ValueError(
                f"leg {worst} cannot step about its foothold at height {robot.walk.height} m with a lift of "
                f"{robot.walk.lift_height} m; lower the lift, or move the foothold or the height"
            )
        step = robot.walk.height / (HEIGHT_STEPS - 1)
        lower = self._rows_from(nominal, -step)
        upper = self._rows_from(nominal, step)
        self._rows = (*reversed(lower), nominal, *upper)
        self._heights = tuple(row.height for row in self._rows)

    def _rows_from(self, nominal: StanceRegions, step: float) -> list[StanceRegions]:
        """Rows away from the nominal height, until a region becomes too small."""
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
            row = _stance(self._robot, height, shifts, self._most)
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

    @property
    def rows(self) -> tuple[StanceRegions, ...]:
        """The table, by height."""
        return self._rows

    def at(self, height: float) -> StanceRegions:
        """The stance at a height [m], linear between the rows and clamped to the table."""
        low, share = self.between(height)
        if share == 0.0:
            return self._rows[low]
        a, b = self._rows[low], self._rows[low + 1]

        def mix(p: float, q: float) -> float:
            return p + share * (q - p)

        return StanceRegions(
            mix(a.height, b.height),
            tuple((mix(p[0], q[0]), mix(p[1], q[1])) for p, q in zip(a.footholds, b.footholds, strict=True)),
            tuple(mix(p, q) for p, q in zip(a.radii, b.radii, strict=True)),
        )

    def between(self, height: float) -> tuple[int, float]:
        """(row below, share of the step to the next row) for a height [m]."""
        if height <= self._heights[0]:
            return 0, 0.0
        if height >= self._heights[-1]:
            return len(self._heights) - 1, 0.0
        low = bisect_right(self._heights, height) - 1
        return low, (height - self._heights[low]) / (self._heights[low + 1] - self._heights[low])

    def fits(self, pose: BodyPose, share: float, lift: float) -> bool:
        """True if in a body pose all feet reach this share (0 to 1) of their regions, on the ground and lifted [m]."""
        return strides_fit(self._robot, self.at(self._robot.walk.height + pose.z), pose, share, lift)
