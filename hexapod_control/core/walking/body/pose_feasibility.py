# SPDX-License-Identifier: Apache-2.0
"""Feasibility of body poses: for standing in the neutral stance, for walking, and over the present feet.

To stand in a pose, all neutral footholds must be in reach. To walk in it, a share of every stance region must be in
reach, on the ground and at lift height, and full strides over that share must keep a static margin, if they do with a
level body. Other poses are clamped along a straight line in all six coordinates towards the level pose.
The region share says how much of the stance and stride regions can be used in a pose, see REGION_SHARES.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.kinematics.whole_body import joints_in_pose
from hexapod_control.core.robot import Point, Robot
from hexapod_control.core.statics.static_stability import center_of_mass_in_footprint
from hexapod_control.core.walking.foot import Foot, Guided
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.stance_regions import (
    FLIGHT_REACH_SHARE,
    REGION_SHARES,
    StanceRegions,
    StanceRegionTable,
    reaches,
)
from hexapod_control.core.workspace.stride_stability import MIN_STRIDE_MARGIN, STRIDE_DIRECTIONS, stride_margin
from hexapod_control.core.workspace.strides.stride_table import (
    NEUTRAL_REGION,
    RegionShares,
    Strides,
    StrideTable,
    split_region_share,
)

TILT_REGION_SHARES = (2.0, 1.75, 1.5, 1.25, 1.0, 0.9, 0.8, 0.7, 0.6)  # possible with a tilt that keeps the body level
STEP_SHARES = (0.0, 0.35, 0.7)  # of the path to the neutral foothold: points that must be in reach for a step there
RESOLUTION = 1 / 64  # of clamped poses, as a share of the line from the level pose


@dataclass(frozen=True)
class PoseFeasibility:
    """Checks and clamps poses for one robot; stateless."""

    capabilities: Capabilities

    @property
    def _robot(self) -> Robot:
        return self.capabilities.robot

    @property
    def _stances(self) -> StanceRegionTable:
        return self.capabilities.stances

    def stance_at(self, pose: BodyPose) -> StanceRegions:
        """Returns neutral footholds and stance regions at the height of a pose."""
        return self._stances.at(self._robot.walk.height + pose.z)

    def clamp_height(self, pose: BodyPose) -> BodyPose:
        """Clamps the height of a pose to heights at which the robot can walk."""
        height = self._robot.walk.height
        return pose._replace(z=min(max(pose.z, self._stances.lowest - height), self._stances.highest - height))

    def clamp_to_stand(self, pose: BodyPose) -> BodyPose:
        """Clamps a pose, at a height in the table, to one to stand in."""
        return _clamped(pose, self._reaches_footholds)

    def clamp_to_walk(self, pose: BodyPose) -> BodyPose:
        """Clamps a pose, at a height in the table, to one to walk in."""
        return _clamped(pose, lambda there: self._can_stride(there, REGION_SHARES[-1]))

    def can_stand(self, pose: BodyPose) -> bool:
        """Returns True if a standing robot can take this pose without clamping."""
        low, high = self._stances.lowest, self._stances.highest
        return low <= self._robot.walk.height + pose.z <= high and self.clamp_to_stand(pose) == pose

    def region_share(self, pose: BodyPose) -> float:
        """Returns the greatest region share that a pose leaves for walking, one of REGION_SHARES."""
        *greater, least = REGION_SHARES
        return next((share for share in greater if self._can_stride(pose, share)), least)

    def tilted_region_share(self, pose: BodyPose) -> float:
        """Returns the greatest of TILT_REGION_SHARES that a pose tilted for levelling leaves; 0 if none fits."""
        return _tilted_region_share(self.capabilities.strides, pose, self._robot.walk.lift_height)

    def _reaches_footholds(self, pose: BodyPose) -> bool:
        return joints_in_pose(self._robot, self.stance_at(pose).footholds, pose) is not None

    def _can_stride(self, pose: BodyPose, share: float) -> bool:
        """True if the feet can stride over a share of their regions in a pose, and support the robot meanwhile."""
        return self.capabilities.strides.fits(pose, share, self._robot.walk.lift_height) and (
            self._stride_margin(pose, share) >= MIN_STRIDE_MARGIN
            or self._stride_margin(pose.level, share) < MIN_STRIDE_MARGIN  # too small with a level body, too
        )

    def _stride_margin(self, pose: BodyPose, share: float) -> float:
        stance = self.stance_at(pose)
        joints = joints_in_pose(self._robot, stance.footholds, pose)
        if not joints:
            return -math.inf
        center = center_of_mass_in_footprint(self._robot, joints, pose)
        gaits = tuple(self.capabilities.gaits.values())
        shares = split_region_share(share)
        if shares.displacement == 0.0:
            return stride_margin(gaits, stance, center, shares.radii)
        regions = tuple(self._moved_stance(stance, direction, shares.displacement) for direction in STRIDE_DIRECTIONS)
        return stride_margin(gaits, stance, center, shares.radii, regions)

    def _moved_stance(self, stance: StanceRegions, direction: Point, moved: float) -> StanceRegions:
        """The stride regions for walking in a direction, with a share `moved` of their displacement."""
        return Strides(stance, self.capabilities.strides.regions(stance, Twist(*direction, 0.0), moved)).stance_regions

    def within_regions(self, pose: BodyPose, feet: Sequence[Foot], region_share: float) -> bool:
        """Returns True if all feet are planted inside of their regions, reduced to a region share."""
        stance = self.stance_at(pose)
        shares = split_region_share(region_share)
        return all(
            foot.state.planted
            and foot.region.moved <= shares.displacement
            and _beyond(leg, foot, stance, shares) <= 0.0
            for leg, foot in enumerate(feet)
        )

    def keeps_feet_in_regions(self, pose: BodyPose, now: BodyPose, feet: Sequence[Foot], region_share: float) -> bool:
        """Returns True if all feet stay in reach in a pose and get no farther out of their regions than `now`."""
        if not all(foot.state.planted for foot in feet):  # with all feet planted, the robot can step to neutral
            outside = self._outside_region(pose, feet, region_share)
            if outside > 0.0 and outside > self._outside_region(now, feet, region_share) + 1e-9:
                return False
        return self.all_feet_reachable(pose, feet)

    def _outside_region(self, pose: BodyPose, feet: Sequence[Foot], region_share: float) -> float:
        """Greatest distance [m] of a foot outside of the usable part of its region in a pose; 0 if all are inside."""
        stance = self.stance_at(pose)
        shares = split_region_share(region_share)
        distances = [
            _beyond(leg, foot, stance, shares) for leg, foot in enumerate(feet) if not isinstance(foot.state, Guided)
        ]
        return max(distances, default=0.0)

    def can_step_to_neutral(self, pose: BodyPose, feet: Sequence[Foot], region_share: float) -> bool:
        """Returns True if all feet are in their regions, or in reach on the path from there to neutral, in a pose."""
        stance = self.stance_at(pose)
        shares = split_region_share(region_share)
        outside = [leg for leg, foot in enumerate(feet) if _beyond(leg, foot, stance, shares) > 0.0]
        if not outside:
            return True
        robot = self._robot
        placement = Placement(pose, robot.walk.height)
        lift = robot.walk.lift_height
        return all(
            reaches(robot.legs[leg], robot, point, lift, placement)
            for leg in outside
            for point in _points_to_neutral(feet[leg], stance.footholds[leg])
        )

    def all_feet_reachable(self, pose: BodyPose, feet: Sequence[Foot]) -> bool:
        """Returns True if all feet are in reach in a pose, where they are and where they can come to rest."""
        robot = self._robot
        placement = Placement(pose, robot.walk.height)
        return all(
            reaches(leg, robot, (x, y), z, placement)
            for leg, foot in zip(robot.legs, feet, strict=True)
            for x, y, z in foot.resting_points
        )


def _beyond(leg: int, foot: Foot, stance: StanceRegions, shares: RegionShares) -> float:
    """Distance [m] of the foot of a leg (row) outside of the usable part of its region; negative inside."""
    usable = 1.0 if foot.state.planted else FLIGHT_REACH_SHARE
    region = foot.region if foot.region.moved <= shares.displacement else NEUTRAL_REGION
    (x, y), radius = Strides(stance, (), shares.radii).disc(leg, region)
    return math.hypot(foot.x - x, foot.y - y) - usable * radius


def _points_to_neutral(foot: Foot, neutral: Point) -> list[Point]:
    """Points (x, y) [m] on the path of a foot to its neutral foothold, which itself is always in reach."""
    return [(foot.x + share * (neutral[0] - foot.x), foot.y + share * (neutral[1] - foot.y)) for share in STEP_SHARES]


def _clamped(pose: BodyPose, fits: Callable[[BodyPose], bool]) -> BodyPose:
    """The pose nearest to `pose` that fits, on the straight line from the level pose; by bisection."""
    if fits(pose):
        return pose
    level = pose.level  # in reach at all heights of the table
    low = 0.0
    high = 1.0
    while high - low > RESOLUTION:
        middle = (low + high) / 2
        if fits(level.towards(pose, middle)):
            low = middle
        else:
            high = middle
    return level.towards(pose, low)


@lru_cache(maxsize=256)
def _tilted_region_share(strides: StrideTable, pose: BodyPose, lift: float) -> float:
    return next((share for share in TILT_REGION_SHARES if strides.fits(pose, share, lift)), 0.0)
