# SPDX-License-Identifier: Apache-2.0
"""The body poses of a self-calibration: those that tell most about the corrections, in an order of short moves.

Candidates lie in random directions from the neutral pose, most of the way to the limits of legs, joints and balance.
The next pose is the one that increases the determinant of the information most; an upper bound from an earlier round
spares most of the computation, since no pose tells more when more is known (M. Minoux, "Accelerated greedy algorithms",
1978).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from hexapod_control.core.calibration.closed_chains import ClosedChains
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose, Placement
from hexapod_control.core.kinematics.leg_clearance import LegNeighbours, body_gaps
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, hip_to_base, leg_forward
from hexapod_control.core.kinematics.whole_body import joints_in_pose
from hexapod_control.core.robot import Robot
from hexapod_control.core.statics.static_stability import center_of_mass_in_footprint, static_margin
from hexapod_control.core.walking.body.pose_feasibility import PoseFeasibility

POSES = 58  # besides the neutral one, before and after them
CANDIDATES = 4  # for each pose that is chosen
SCALE = (0.06, 0.06, 0.06, 0.4, 0.4, 0.4)  # [m, rad] of a direction
SHARE = 0.85  # of the way to the limits
HALVINGS = 7
JOINT_CLEARANCE = math.radians(6.0)  # [rad] from the joint limits: zeros may be wrong by 4 degrees
MARGIN_SHARE = 0.3  # of the static margin in the neutral pose
CLEARANCE = 0.012  # [m] of body and knees from the ground, and between legs
BODY_CLEARANCE = 0.004  # [m] of legs from the body, or
BODY_GAP_SHARE = 0.15  # of their gap in the neutral pose, if that is less
PATH_POINTS = 7  # that are checked between two poses
SHORTER_S = 0.01  # by which a way must get shorter
PACE = (0.055, 0.055, 0.04, 0.35, 0.35, 0.35)  # [m/s, rad/s] of the moves, on average


class CalibrationPoses:
    """Finds the poses of one robot, which stands at its neutral footholds."""

    def __init__(self, feasibility: PoseFeasibility) -> None:
        self._feasibility = feasibility
        self._robot: Robot = feasibility.capabilities.robot
        self._neighbours = LegNeighbours.of(self._robot)
        neutral = self._joints(NEUTRAL)
        self._margin = MARGIN_SHARE * self._static_margin(neutral, NEUTRAL)
        gaps = body_gaps(self._robot, neutral)  # negative where the box of the file is larger than the body
        self._from_body = np.minimum(gaps, np.minimum(BODY_GAP_SHARE * gaps, BODY_CLEARANCE))

    def chosen(self, count: int = POSES, seed: int = 0) -> list[BodyPose]:
        """The poses from the neutral one to the neutral one. A way between two of them is in reach."""
        candidates = list(self._candidates(CANDIDATES * count, np.random.default_rng(seed)))
        joints = np.array([self._joints(pose) for pose in (NEUTRAL, *candidates)])
        chains = ClosedChains(self._robot)
        told = chains.information(joints)
        known = chains.prior_information + told[0]
        return self._ordered([candidates[k - 1] for k in _most_informative(known, told, count)])

    def _candidates(self, count: int, rng: np.random.Generator) -> Iterator[BodyPose]:
        for _ in range(count):
            direction = rng.standard_normal(6)
            direction *= np.array(SCALE) / np.linalg.norm(direction)
            reached = 0.0
            step = 1.0
            for _ in range(HALVINGS):
                if self.fits(BodyPose(*((reached + step) * direction).tolist())):
                    reached += step
                step /= 2.0
            yield BodyPose(*(SHARE * reached * direction).tolist())

    def fits(self, pose: BodyPose) -> bool:
        """Whether the robot can stand in a pose with clearance from all limits."""
        if not self._feasibility.can_stand(pose):
            return False
        joints = joints_in_pose(self._robot, self._robot.footholds, pose)
        if joints is None or not self._within_limits(joints):
            return False
        placement = Placement(pose, self._robot.walk.height)
        return (
            self._static_margin(joints, pose) >= self._margin
            and self._height(joints, placement) >= CLEARANCE
            and self._neighbours.gap(joints, CLEARANCE).distance >= CLEARANCE
            and bool((body_gaps(self._robot, joints) >= self._from_body).all())
        )

    def _joints(self, pose: BodyPose) -> tuple[LegJoints, ...]:
        joints = joints_in_pose(self._robot, self._robot.footholds, pose)
        assert joints is not None  # the neutral pose and the candidates are in reach
        return joints

    def _within_limits(self, joints: tuple[LegJoints, ...]) -> bool:
        return all(
            joint.lower + JOINT_CLEARANCE <= angle <= joint.upper - JOINT_CLEARANCE
            for leg, angles in zip(self._robot.legs, joints, strict=True)
            for joint, angle in zip(leg.joints, angles, strict=True)
        )

    def _static_margin(self, joints: tuple[LegJoints, ...], pose: BodyPose) -> float:
        return static_margin(self._robot.footholds, center_of_mass_in_footprint(self._robot, joints, pose))

    def _height(self, joints: tuple[LegJoints, ...], placement: Placement) -> float:
        """Height [m] above the ground of the lowest corner of the body, or of the lowest knee."""
        (cx, cy, cz), (sx, sy, sz) = self._robot.body.center, self._robot.body.size
        x, y, z = placement.rotation[2]
        _, _, center = placement.to_footprint(cx, cy, cz)
        body = center - (abs(x) * sx + abs(y) * sy + abs(z) * sz) / 2.0
        knees = [
            placement.to_footprint(*hip_to_base(leg, leg_forward(leg, angles)[0]))[2] - leg.femur.radius
            for leg, angles in zip(self._robot.legs, joints, strict=True)
        ]
        return min(body, *knees)

    def _ordered(self, poses: list[BodyPose]) -> list[BodyPose]:
        """From neutral to the nearest pose that is in reach on the straight way; over neutral, if there is none."""
        way = [NEUTRAL]
        left = list(poses)
        while left:
            left.sort(key=lambda pose: travel_time(way[-1], pose))
            near = next((pose for pose in left if self._passable(way[-1], pose)), None)
            if near is None and way[-1] is not NEUTRAL:
                way.append(NEUTRAL)
                continue
            near = near or left[0]
            left.remove(near)
            way.append(near)
        return self._shortened([*way, NEUTRAL])

    def _shortened(self, way: list[BodyPose]) -> list[BodyPose]:
        """The way with parts of it turned round, as long as that makes it shorter (2-opt, G. Croes, 1958)."""
        shorter = True
        while shorter:
            shorter = False
            for first, last in itertools.combinations(range(1, len(way) - 1), 2):
                cuts = ((way[first - 1], way[first]), (way[last], way[last + 1]))
                joins = ((way[first - 1], way[last]), (way[first], way[last + 1]))
                saved = sum(travel_time(*move) for move in cuts) - sum(travel_time(*move) for move in joins)
                if saved > SHORTER_S and all(self._passable(*move) for move in joins):
                    way[first : last + 1] = way[first : last + 1][::-1]
                    shorter = True
        return way

    def _passable(self, start: BodyPose, end: BodyPose) -> bool:
        return all(self.fits(start.towards(end, (k + 1) / (PATH_POINTS + 1))) for k in range(PATH_POINTS))


def travel_time(start: BodyPose, end: BodyPose) -> float:
    """Time [s] of the move between two poses."""
    return max(abs(b - a) / pace for a, b, pace in zip(start, end, PACE, strict=True))


def _most_informative(known: Array, told: Array, count: int) -> list[int]:
    """Rows (from 1) of the poses that increase the determinant of the information most, one after the other."""
    gains = np.full(len(told), np.inf)
    gains[0] = -np.inf  # the neutral pose is there already
    chosen = []
    for _ in range(min(count, len(told) - 1)):
        _, so_far = np.linalg.slogdet(known)
        fresh = np.zeros(len(told), dtype=bool)
        while not fresh[best := int(np.argmax(gains))]:
            gains[best] = np.linalg.slogdet(known + told[best])[1] - so_far
            fresh[best] = True
        chosen.append(best)
        known = known + told[best]
        gains[best] = -np.inf
    return chosen
