# SPDX-License-Identifier: Apache-2.0
"""Start poses of a simulated robot as joint angles (n, 3) [rad]."""

from __future__ import annotations

import mujoco
import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import Solution, inverse
from hexapod_control.core.posture.stand_up import lying_joints
from hexapod_control.core.robot import Robot

FOOT_CLEARANCE_M = 0.002  # between a sitting robot's feet and the ground


def standing_pose(robot: Robot) -> Array:
    """Returns the neutral stance: every foot on its foothold, base_link at the walking height."""
    return _solution(robot, -robot.walk.height).joints


def sitting_pose(robot: Robot) -> Array:
    """Returns a pose with the belly on the ground and the feet just above it, over their neutral footholds.

    If the legs do not fold that far, the body is as low as they do, as when the robot lies down.
    """
    solution = _solution(robot, robot.body.center[2] - robot.body.size[2] / 2.0 + FOOT_CLEARANCE_M)
    return solution.joints if solution.reached else np.array(lying_joints(robot))


def _solution(robot: Robot, ground: float) -> Solution:
    """Joints with the feet on their neutral footholds, on a ground at a height [m] in base_link."""
    feet = [(*leg.foothold, ground + robot.foot_radius) for leg in robot.legs]
    limits = [[(joint.lower, joint.upper) for joint in leg.joints] for leg in robot.legs]
    lower, upper = np.moveaxis(np.array(limits), -1, 0)
    return inverse(robot, np.array(feet), np.clip(np.zeros_like(lower), lower, upper))


def lowest_point(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """Returns the height [m] of the lowest point of the robot's collision shapes, in the world."""
    return min(
        float(data.geom_xpos[geom, 2]) - _half_height(model, data, geom)
        for geom in range(model.ngeom)
        if model.geom_bodyid[geom] != 0 and model.geom_contype[geom] != 0
    )


def _half_height(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> float:
    size = model.geom_size[geom]
    row = np.abs(data.geom_xmat[geom].reshape(3, 3)[2])
    kind = model.geom_type[geom]
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return float(size[0])
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        return float(size[0] + row[2] * size[1])
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return float(np.sqrt(max(0.0, 1.0 - row[2] ** 2)) * size[0] + row[2] * size[1])
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        return float(row @ size)
    return float(model.geom_rbound[geom])
