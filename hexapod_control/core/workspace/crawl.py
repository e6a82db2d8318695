"""The crawl, the gait of four legs: the body sways to one side before the legs of the other side lift off.

With one of four legs in swing and the body centered, the center of mass is on the edge of the support polygon or
outside. The crawl lifts the left legs one after another, rear leg first, while the body is on the right, and then the
right legs while it is on the left. In between, all feet are in stance and the body shifts.
"""

from __future__ import annotations

import math

from hexapod_control.core.gait.gait_table import CRAWL_PARTS, Gait, leg_sides
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.whole_body import joints_in_pose
from hexapod_control.core.robot import Point, Robot
from hexapod_control.core.statics.static_stability import center_of_mass_in_footprint, static_margin
from hexapod_control.core.workspace.stance_regions import REGION_SHARES, StanceRegions, nominal_stance, strides_fit

SUFFICIENT_MARGIN = 0.025  # [m] static margin from which no larger sway is tried ...
SUFFICIENT_SHARE = 0.1  # ... or this share of the track width, for small robots
# [m] between the sways that are tried, and their number
SWAY_STEP = 0.005
SWAY_STEPS = 16


def crawl(robot: Robot) -> Gait | None:
    """The crawl of a robot with four legs, with the smallest sufficient sway; None if it is not stable."""
    (left_front, left_rear), (right_front, right_rear) = leg_sides(robot.legs)
    parts = {left_rear: 0, left_front: 1, right_rear: 4, right_front: 5}
    lift_off = tuple(parts[leg] / CRAWL_PARTS for leg in range(4))
    (x0, y0), (x1, y1) = (_middle(robot, legs) for legs in ((left_front, left_rear), (right_front, right_rear)))
    track_width = math.dist((x0, y0), (x1, y1))
    stance = nominal_stance(robot)
    best = None
    best_margin = 0.0
    for k in range(1, SWAY_STEPS + 1):
        share = k * SWAY_STEP / track_width
        gait = Gait("crawl", 1.0 - 1.0 / CRAWL_PARTS, lift_off, (share * (x1 - x0), share * (y1 - y0)))
        margin = _margin(robot, gait, stance)
        if margin > best_margin:
            best = gait
            best_margin = margin
        if margin >= min(SUFFICIENT_MARGIN, SUFFICIENT_SHARE * track_width) or margin == -math.inf:
            break
    return best


def _middle(robot: Robot, legs: tuple[int, int]) -> Point:
    """The point (x, y) [m] between the neutral footholds of two legs."""
    (x0, y0), (x1, y1) = (robot.legs[leg].foothold for leg in legs)
    return (x0 + x1) / 2, (y0 + y1) / 2


def _margin(robot: Robot, gait: Gait, stance: StanceRegions) -> float:
    """Smallest static margin [m] over a cycle at the neutral footholds; -inf if they are out of reach."""
    margins = []
    for phase in gait.lift_off:
        center = shifted_center(robot, gait.shift(phase))
        pose = BodyPose(*gait.shift(phase))
        if center is None or not strides_fit(robot, stance, pose, REGION_SHARES[-1], robot.walk.lift_height):
            return -math.inf
        lifted = gait.legs_in_swing(phase)
        margins.append(static_margin([p for leg, p in enumerate(stance.footholds) if leg not in lifted], center))
    return min(margins)


def shifted_center(robot: Robot, shift: Point) -> Point | None:
    """Center of mass (x, y) [m] with a shifted body [m] over the neutral footholds; None if they are out of reach."""
    pose = BodyPose(*shift)
    joints = joints_in_pose(robot, robot.footholds, pose)
    return None if joints is None else center_of_mass_in_footprint(robot, joints, pose)
