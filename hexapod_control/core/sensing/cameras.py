# SPDX-License-Identifier: Apache-2.0
"""Where depth cameras are mounted: their frames in base_link, and usual places for one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.robot import Camera, Robot, Vector

OPTICAL = BodyPose(roll=-math.pi / 2.0, yaw=-math.pi / 2.0)
"""Pose of an optical frame in the frame of its camera."""

CLEARANCE_M = 0.015  # between the body and a camera at its front
KNEE_CLEARANCE_M = 0.02  # above the highest position of a knee
MAST_M = 0.1  # above the body
FRONT_PITCH_RAD = math.radians(35.0)
MAST_PITCH_RAD = math.radians(50.0)
USUAL_FOV_RAD = (math.radians(87.0), math.radians(58.0))
USUAL_RANGE_M = (0.1, 3.0)
USUAL_RAYS = (64, 48)
USUAL_TOPICS = {"image": "camera/depth/image_rect_raw", "cloud": "camera/points"}
LIDAR_FOV_RAD = (math.tau, math.radians(59.0))
LIDAR_RANGE_M = (0.1, 12.0)
LIDAR_RAYS = (180, 20)


def mounting(camera: Camera) -> BodyPose:
    """Returns the pose of the camera's link in base_link."""
    return BodyPose(*camera.position, *camera.rpy)


def sensor_rotation(camera: Camera) -> Array:
    """Returns the rotation (3, 3) from the frame of the camera's data to base_link."""
    rotation = np.array(mounting(camera).rotation())
    return rotation @ np.array(OPTICAL.rotation()) if camera.kind == "image" else rotation


def above_knees(robot: Robot) -> Vector:
    """Returns the point [m] in base_link over the middle of the body, just above the highest position of any knee."""
    body = robot.body
    knees = (
        leg.hip[2] + leg.femur_vertical + leg.femur.length + max(leg.femur.radius, leg.tibia.radius)
        for leg in robot.legs
    )
    height = max(body.top, *knees) + KNEE_CLEARANCE_M
    return body.center[0], body.center[1], height


def _usual(position: Vector, pitch: float) -> Camera:
    topic = USUAL_TOPICS["image"]
    return Camera("camera", "image", position, (0.0, pitch, 0.0), USUAL_FOV_RAD, USUAL_RANGE_M, USUAL_RAYS, topic)


def _front(robot: Robot) -> Camera:
    center, size = robot.body.center, robot.body.size
    x = center[0] + size[0] / 2.0 + CLEARANCE_M
    return _usual((x, center[1], center[2] + size[2] / 2.0 + CLEARANCE_M), FRONT_PITCH_RAD)


def _mast(robot: Robot) -> Camera:
    center, size = robot.body.center, robot.body.size
    return _usual((center[0] + size[0] / 2.0, center[1], center[2] + size[2] / 2.0 + MAST_M), MAST_PITCH_RAD)


def _lidar(robot: Robot) -> Camera:
    topic = USUAL_TOPICS["cloud"]
    return Camera("camera", "cloud", above_knees(robot), (0.0,) * 3, LIDAR_FOV_RAD, LIDAR_RANGE_M, LIDAR_RAYS, topic)


USUAL_CAMERAS: Mapping[str, Callable[[Robot], Camera]] = {"front": _front, "mast": _mast, "lidar": _lidar}
"""Cameras for a robot whose file has none, by the name of their place."""
