# SPDX-License-Identifier: Apache-2.0
"""Where depth cameras are mounted: their frames (REP 105), and usual places for one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.robot import Camera, Robot

OPTICAL = BodyPose(roll=-math.pi / 2.0, yaw=-math.pi / 2.0)
"""Pose of an optical frame in the frame of its camera."""
CLEARANCE_M = 0.015  # between the body and a camera at its front
FRONT_PITCH_RAD = math.radians(35.0)
MAST_SHARE = 0.75  # of femur and tibia, above the body
MAST_PITCH_RAD = math.radians(50.0)


def mounting(camera: Camera) -> BodyPose:
    """Returns the pose of the camera's link in base_link."""
    return BodyPose(*camera.position, *camera.rpy)


def frames(camera: Camera) -> tuple[tuple[str, str, BodyPose], ...]:
    """Returns parent, child and pose of the camera's frames: names and axes are those of the RealSense driver."""
    link, depth = f"{camera.name}_link", f"{camera.name}_depth_frame"
    return (
        ("base_link", link, mounting(camera)),
        (link, depth, BodyPose()),
        (depth, camera.optical_frame, OPTICAL),
    )


def optical_rotation(camera: Camera) -> Array:
    """Returns the rotation (3, 3) from the camera's optical frame to base_link."""
    return np.array(mounting(camera).rotation()) @ np.array(OPTICAL.rotation())


def _front(robot: Robot) -> Camera:
    body = robot.body
    x = body.center[0] + body.size[0] / 2.0 + CLEARANCE_M
    return Camera("camera", (x, body.center[1], body.top + CLEARANCE_M), (0.0, FRONT_PITCH_RAD, 0.0))


def _mast(robot: Robot) -> Camera:
    body = robot.body
    x = body.center[0] + body.size[0] / 2.0
    z = body.top + MAST_SHARE * max(leg.reach for leg in robot.legs)
    return Camera("camera", (x, body.center[1], z), (0.0, MAST_PITCH_RAD, 0.0))


USUAL_CAMERAS: Mapping[str, Callable[[Robot], Camera]] = {"front": _front, "mast": _mast}
"""A camera for any robot, by the name of its place."""
