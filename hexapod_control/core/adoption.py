"""Taking over a robot that already stands: feet and height from measured joints.

A planner that starts (again) under a standing or walking robot must not drop it. The feet that are lowest form the
ground; feet above it are in the air and will be set down below where they are. The body is taken as level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.core.body import NEUTRAL, BodyPose, Placement
from hexapod_control.core.contact import rolling_shift
from hexapod_control.core.footing import SAME_GROUND
from hexapod_control.core.kinematics import Row, hip_to_base, leg_forward, leg_inverse
from hexapod_control.core.robot import Robot
from hexapod_control.core.stability import center_of_mass, margin
from hexapod_control.core.stance import Point, StanceTable

SAME_ANGLE = 1e-6  # [rad] by which a pose on the knee-up branch may differ from its own inverse


def adopt(robot: Robot, stances: StanceTable, joints: Sequence[Row]) -> tuple[list[Point], BodyPose] | None:
    """Contact points [m, base_footprint] and pose of a robot that stands with joints (n, 3) [rad]; None if it does not.

    It stands if it is on the knee-up branch, at a height where it can walk, every foot within its stance
    region's neighbourhood and its centre of mass over the feet on the ground.
    """
    level = Placement(NEUTRAL, robot.walk.height)
    centres = []
    for leg, row in zip(robot.legs, joints, strict=True):
        foot = leg_forward(leg, row)[1]
        solution = leg_inverse(leg, foot, row)
        if solution.reason or max(abs(a - b) for a, b in zip(solution.joints, row, strict=True)) > SAME_ANGLE:
            return None
        centres.append(hip_to_base(leg, foot))
    lowest = sorted(z for _, _, z in centres)[:3]
    height = robot.foot_radius - sum(lowest) / 3
    if not stances.lowest <= height <= stances.highest:
        return None
    stance = stances.at(height)
    contacts, standing = [], []
    for leg, row, (x, y, z), home, radius in zip(
        robot.legs, joints, centres, stance.footholds, stance.radii, strict=True
    ):
        shift = rolling_shift(leg, row, level, robot.foot_radius)
        contact = (x - shift[0], y - shift[1])
        lift = z + height - robot.foot_radius
        if math.dist(contact, home) > radius or lift > 2.0 * robot.walk.lift_height:
            return None
        contacts.append(contact)
        if lift <= SAME_GROUND:
            standing.append(contact)
    if margin(standing, center_of_mass(robot, joints)[:2]) <= 0.0:
        return None
    return contacts, BodyPose(z=height - robot.walk.height)
