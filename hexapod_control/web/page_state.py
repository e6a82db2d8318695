# SPDX-License-Identifier: Apache-2.0
"""Converts the shape and state of the robot to JSON fields for the page.

Frames: joints are those of the robot file; `body` is the pose of base_link over the level base_footprint, from the
planted feet; velocities are (vx, vy, wz) in base_footprint.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.fits import attitude_over_feet
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.robot import Robot
from hexapod_control.core.statics.static_stability import center_of_mass

MIN_FORCE_N = 0.3  # on a planted foot, if there is no plan
MAX_HEIGHT_M = 0.004  # of a planted foot above the lowest one, if there are neither plan nor measured forces


@dataclass(slots=True)
class DrawnState:
    """The newest values that the page draws; None if unknown."""

    joints: Array | None = None  # (n, 3) [rad]
    support: Array | None = None  # (n,) [N] planned
    forces: Array | None = None  # (n,) [N] measured
    odometry: tuple[float, float, float] | None = None  # [m], [m], [rad]
    commanded: tuple[float, float, float] | None = None  # [m/s], [m/s], [rad/s]
    achieved: tuple[float, float, float] | None = None
    margin: float | None = None  # [m]
    planted: tuple[bool, ...] = ()  # feet; see `locate_body`
    height: float = 0.0  # [m] of base_link, last known
    tilt: tuple[float, float] = (0.0, 0.0)  # [rad] roll, pitch, last known

    def locate_body(self, robot: Robot, measured: tuple[float, float] | None = None) -> None:
        """Updates the planted feet and the pose of the body; the last pose holds if the feet do not give one.

        A robot off its feet lies at its `measured` roll and pitch [rad], with its lowest point on the ground.
        """
        if self.joints is None:
            return
        feet = np.asarray(forward(robot, self.joints))
        if measured is not None:
            self.planted = (False,) * len(feet)
            self.tilt = measured
            self.height = _lying_height(robot, feet, measured)
            return
        self.planted = tuple(planted(self, feet))
        pose = attitude_over_feet(feet[np.array(self.planted, dtype=bool)].tolist(), robot.foot_radius)
        if pose is not None:
            self.height = pose.z
            self.tilt = (pose.roll, pose.pitch)


def _lying_height(robot: Robot, feet: Array, tilt: tuple[float, float]) -> float:
    """The height [m] of base_link at which the lowest of the body's corners and the feet touches the ground."""
    half = np.array(robot.body.size) / 2.0
    corners = np.array(robot.body.center) + half * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    roll, pitch = tilt
    up = np.array(BodyPose(roll=roll, pitch=pitch).rotation()[2])  # gives heights of points in base_link
    return -min(float((corners @ up).min()), float((feet @ up).min()) - robot.foot_radius)


def shape(robot: Robot) -> dict[str, Any]:
    """Returns the geometry of the robot [m, rad, kg] as JSON fields."""
    return {
        "name": robot.name,
        "size": robot.body.size,
        "center": robot.body.center,
        "foot_radius": robot.foot_radius,
        "height": robot.walk.height,
        "mass": robot.mass,
        "legs": [
            {
                "name": leg.name,
                "hip": leg.hip,
                "yaw": leg.hip_yaw,
                "coxa": leg.coxa.length,
                "femur": leg.femur.length,
                "tibia": leg.tibia.length,
                "lateral": leg.femur_lateral,
                "vertical": leg.femur_vertical,
                "foothold": leg.foothold,
            }
            for leg in robot.legs
        ],
    }


def planted(values: DrawnState, feet: Array) -> list[bool]:
    """Returns which feet are planted: by the plan, else by measured forces, else the lowest feet."""
    if values.support is not None:
        return [bool(force > 0.0) for force in values.support]
    if values.forces is not None and values.forces.max() > MIN_FORCE_N:
        return [bool(force > MIN_FORCE_N) for force in values.forces]
    return [bool(z < feet[:, 2].min() + MAX_HEIGHT_M) for z in feet[:, 2]]


def drawing(robot: Robot, values: DrawnState) -> dict[str, Any]:
    """Returns the fields of one `state` message; the body is where `locate_body` has found it."""
    fields: dict[str, Any] = {
        "odom": _rounded(values.odometry),
        "commanded": _rounded(values.commanded),
        "achieved": _rounded(values.achieved),
        "margin": _rounded(values.margin),
        "joints": None,
    }
    if values.joints is None:
        return fields
    fields["joints"] = _rounded(np.ravel(values.joints).tolist())
    fields["planted"] = [int(value) for value in values.planted]
    fields["body"] = _rounded((values.height, *values.tilt))
    fields["mass"] = _rounded(center_of_mass(robot, values.joints.tolist()))
    return fields


def _rounded(value: Any, digits: int = 4) -> Any:
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [_rounded(item, digits) for item in value]
    return round(float(value), digits) if math.isfinite(value) else None
