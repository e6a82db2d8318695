"""Motion of a guided foot: it follows a path, point by point, while the other feet support the robot.

Points are contact points (x, y) [m] in base_footprint with the height z [m] above its plane. The foot goes straight
from point to point, with bounded speed and acceleration and without overshoot where the path turns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hexapod_control.core.robot import Vector, interpolated
from hexapod_control.core.walking.foot import (
    GUIDED_ACCELERATION,
    ZERO_VELOCITY,
    Guided,
    GuidedPhase,
    displaced,
    stopping_point,
)

SPEED = 0.15  # [m/s] maximum of the foot
BRAKING_SHARE = 0.8  # of the acceleration: with which the foot brakes before a point
TURNING_DISTANCE = 0.006  # [m] from an intermediate point, at which the foot turns to the next one
ARRIVAL_DISTANCE = 2e-4  # [m] from the goal, at which the foot has arrived
CLEARANCE_HEIGHT = 0.02  # [m] above the ground while a foot moves sideways
PATH_STEP = 0.01  # [m] between the points of a path at which reach and clearance are checked


def advance_along_path(guided: Guided, dt: float, at: Vector, reachable: Callable[[Vector], bool]) -> Vector:
    """Returns the position of the foot `dt` [s] later, towards the next point, with bounded speed and acceleration.

    `reachable` returns True for a point [m] in reach; the foot is held before it could come to rest out of reach.
    """
    while True:
        x, y, z = guided.path[0]
        ahead = (x - at[0], y - at[1], z - at[2])
        distance = math.hypot(*ahead)
        if len(guided.path) == 1 or distance > TURNING_DISTANCE:
            break
        guided.path = guided.path[1:]
    if distance <= ARRIVAL_DISTANCE and math.hypot(*guided.velocity) <= GUIDED_ACCELERATION * dt:
        guided.velocity, guided.phase = ZERO_VELOCITY, GuidedPhase.ARRIVED
        return guided.path[0]
    # The highest speed from which the foot can brake, tick by tick, to rest at the point
    braking = BRAKING_SHARE * GUIDED_ACCELERATION
    half = 0.5 * braking * dt
    wanted = min(SPEED, math.sqrt(half * half + 2.0 * braking * distance) - half, distance / dt)
    max_change = GUIDED_ACCELERATION * dt
    velocity = _velocity_towards(ahead, guided.velocity, wanted, max_change)
    guided.phase = GuidedPhase.MOVING
    if not reachable(stopping_point(displaced(at, velocity, dt), velocity)):
        guided.phase = GuidedPhase.HELD
        share = 1.0 - max_change / max(math.hypot(*guided.velocity), max_change)
        velocity = (share * guided.velocity[0], share * guided.velocity[1], share * guided.velocity[2])
    guided.velocity = velocity
    return displaced(at, velocity, dt)


def _velocity_towards(ahead: Vector, velocity: Vector, speed: float, max_change: float) -> Vector:
    """Returns the velocity after a change of at most `max_change` [m/s] towards a speed [m/s] in the direction `ahead`.

    The component across the path is reduced first, so that the foot does not overshoot at a corner.
    """
    distance = max(math.hypot(*ahead), 1e-9)
    along = math.fsum(a * v for a, v in zip(ahead, velocity, strict=True)) / distance
    off = [v - along * a / distance for a, v in zip(ahead, velocity, strict=True)]
    sideways = min(math.hypot(*off), BRAKING_SHARE * max_change)
    remaining = math.sqrt(max_change * max_change - sideways * sideways)
    gain = min(max(speed - along, -remaining), remaining)
    fade = sideways / max(math.hypot(*off), 1e-12)
    x, y, z = (v + gain * a / distance - fade * o for v, a, o in zip(velocity, ahead, off, strict=True))
    return x, y, z


def path_between(start: Vector, goal: Vector) -> tuple[Vector, ...]:
    """Returns the points [m] of a path: up first if the start is near the ground, and over the goal if that is."""
    points: list[Vector] = []
    if start[2] < CLEARANCE_HEIGHT:
        points.append((start[0], start[1], CLEARANCE_HEIGHT))
    if goal[2] < CLEARANCE_HEIGHT and math.dist(start[:2], goal[:2]) > TURNING_DISTANCE:
        points.append((goal[0], goal[1], CLEARANCE_HEIGHT))
    return (*points, goal)


def points_along(start: Vector, points: Sequence[Vector]) -> list[Vector]:
    """Returns points [m] every PATH_STEP on a path from `start` through `points` [m], including its ends."""
    along = [start]
    for end in points:
        begin = along[-1]
        count = max(1, math.ceil(math.dist(begin, end) / PATH_STEP))
        along += [interpolated(begin, end, k / count) for k in range(1, count + 1)]
    return along
