# SPDX-License-Identifier: Apache-2.0
"""Obstacle avoidance with a planar range scan, for a disc-shaped robot that can walk in every direction.

Points are in base_footprint, x forward, y left [m]; directions are angles [rad] from x, counter-clockwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import Pose, wrap

DIRECTIONS = np.linspace(-math.pi, math.pi, 120, endpoint=False)  # [rad] candidates for a detour
CLEAR_DISTANCE = 1.2  # [m] free distance from which a direction counts as free
BLOCKED_COST = 3.0  # [1] cost per metre by which the free distance of a direction is shorter than CLEAR_DISTANCE
DIRECTION_CHANGE_COST = 0.15  # [m/rad] cost of another direction than the last one: obstacles are passed on one side
GROUND_SHARE = 0.75  # of the height of the lidar; the rest is for ground that rises
MAX_TILT_RAD = math.radians(45.0)
RINGS = 30  # around a goal, on which a free place is searched
CONTACT_TOLERANCE = 0.005  # [m] depth up to which a point in the disc counts as outside: the robot can walk along it


@dataclass(frozen=True, slots=True)
class Scan:
    """A planar range scan, as in sensor_msgs/LaserScan."""

    ranges: Array  # (k,) [m]
    start: float  # [rad] direction of the first ray in the sensor's frame
    increment: float  # [rad]
    shortest: float  # [m]
    longest: float  # [m]


def points(scan: Scan, sensor: Pose) -> Array:
    """Converts a scan to points (k, 2) [m] in base_footprint; `sensor` is the pose of the sensor there.

    Invalid ranges are left out: NaN, infinite, or outside of the range of the sensor.
    """
    ranges = np.asarray(scan.ranges, dtype=float)
    with np.errstate(invalid="ignore"):
        valid = np.isfinite(ranges) & (ranges >= scan.shortest) & (ranges <= scan.longest)
    angles = (scan.start + scan.increment * np.arange(len(ranges)))[valid]
    return transform_points(np.column_stack((np.cos(angles), np.sin(angles))) * ranges[valid, None], sensor)


def levelled(points: Array, tilt: tuple[float, float], above: float, height: float) -> Array:
    """Projects points (k, 2) [m] that a lidar on a tilted body has seen to base_footprint, without those on the ground.

    `tilt` are roll and pitch [rad] of base_link. The plane of the lidar is `above` base_link [m], which is `height` [m]
    above the ground. A ray that has lost GROUND_SHARE of the lidar's height has met the ground, and beyond MAX_TILT_RAD
    the lidar sees nothing that could be told from it.
    """
    rotation = np.array(BodyPose(roll=tilt[0], pitch=tilt[1]).rotation())
    upright = float(rotation[2, 2])
    if upright < math.cos(MAX_TILT_RAD):
        return points[:0]
    turned = np.column_stack((points, np.full(len(points), above))) @ rotation.T
    begin = above * upright
    kept: Array = turned[begin - turned[:, 2] < GROUND_SHARE * (begin + height), :2]
    return kept


def transform_points(points: Array, pose: Pose) -> Array:
    """Transforms points (k, 2) [m] from a frame with this pose to its parent frame."""
    c, s = math.cos(pose.yaw), math.sin(pose.yaw)
    transformed: Array = points @ np.array(((c, s), (-s, c))) + np.array(pose[:2])
    return transformed


def free_distances(obstacles: Array, directions: Array, radius: float) -> Array:
    """Returns the distances (d,) [m] that a disc at the origin can move in directions (d,) [rad], inf without obstacle.

    `obstacles` are points (k, 2) [m], `radius` [m] is that of the disc.

    A point that is already inside the disc only blocks motion towards it.
    """
    if not len(obstacles):
        return np.full(len(directions), math.inf)
    along = np.cos(directions)[:, None] * obstacles[:, 0] + np.sin(directions)[:, None] * obstacles[:, 1]
    square = (obstacles * obstacles).sum(axis=1)
    radii = np.minimum(radius, np.maximum(np.sqrt(square) - CONTACT_TOLERANCE, 0.0))
    chord = radii * radii - (
        square - along * along
    )  # square of half the distance over which the point is inside the disc
    ahead = (along > 0.0) & (chord > 0.0)
    distances = np.where(ahead, along - np.sqrt(np.maximum(chord, 0.0)), math.inf)
    nearest: Array = np.maximum(distances.min(axis=1), 0.0)
    return nearest


def free_distance(obstacles: Array, direction: float, radius: float) -> float:
    """`free_distances` of one direction."""
    return float(free_distances(obstacles, np.array([direction]), radius)[0])


def nearest_free(goal: tuple[float, float], obstacles: Array, disc: float, farthest: float) -> tuple[float, float]:
    """Returns the place (x, y) [m] nearest to a goal with room for a disc, and a straight way for it from the origin.

    `obstacles` are points (k, 2) [m], `disc` [m] is the radius. Without such a way a place that only has room is taken,
    and without one within `farthest` [m] of the goal the goal.
    """
    distances = np.arange(0.0, farthest, farthest / RINGS)
    rings = distances[:, None, None] * np.column_stack((np.cos(DIRECTIONS), np.sin(DIRECTIONS)))
    places = np.array(goal) + rings.reshape(-1, 2)
    near = obstacles[np.hypot(*(obstacles - np.array(goal)).T) < disc + farthest]
    gaps = ((places[:, None, :] - near) ** 2).sum(axis=2).min(axis=1, initial=math.inf)
    free = places[gaps >= disc * disc]
    if not len(free):
        return goal
    ways = free_distances(obstacles, np.arctan2(free[:, 1], free[:, 0]), disc - CONTACT_TOLERANCE)
    straight = free[ways >= np.hypot(*free.T)]
    x, y = (straight if len(straight) else free)[0].tolist()
    return x, y


def detour(goal: tuple[float, float], obstacles: Array, radius: float, last: float | None) -> tuple[float, float]:
    """Returns the direction [rad] of a detour to a goal (x, y) [m], and its free distance [m].

    It is the direction with the shortest path to the goal via the end of its free part. A path that ends at an obstacle
    costs more, and so does a change from the last direction [rad].
    """
    distance = math.hypot(*goal)
    reach = min(CLEAR_DISTANCE, distance)
    free = free_distances(obstacles, DIRECTIONS, radius)
    path = np.minimum(free, reach)
    rest = np.hypot(goal[0] - path * np.cos(DIRECTIONS), goal[1] - path * np.sin(DIRECTIONS))
    cost = path + rest + BLOCKED_COST * (reach - path)
    if last is not None:
        cost += DIRECTION_CHANGE_COST * np.abs([wrap(angle - last) for angle in DIRECTIONS.tolist()])
    best = int(np.argmin(cost))
    return float(DIRECTIONS[best]), float(free[best])
