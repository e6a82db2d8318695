"""A foot that is led by hand, point by point, while the others hold the robot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hexapod_control.core.robot import Vector

SPEED = 0.15  # [m/s]
ACCELERATION = 0.8  # [m/s^2]
NEAR = 0.006  # [m] of a point on the way at which the foot turns to the next
ARRIVED = 2e-4  # [m]
CLEAR = 0.02  # [m] a foot is lifted before it goes sideways, and keeps until it is above its goal


@dataclass(slots=True)
class Hand:
    """The way of one foot; points are contact points (x, y) [m] in base_footprint with the height z [m] above it."""

    way: tuple[Vector, ...]  # [m] still to come, the last one is the goal
    velocity: Vector = (0.0, 0.0, 0.0)  # [m/s]
    waiting: bool = True  # on the ground until the others hold the robot
    duration: float = 0.0  # [s] the way may take; 0: as fast as is calm

    @property
    def lands(self) -> bool:
        """True if the way ends on the ground."""
        return self.way[-1][2] <= 0.0

    @property
    def arrived(self) -> bool:
        """True if the foot is held at the end of its way."""
        return not self.waiting and len(self.way) == 1 and not any(self.velocity)

    def copy(self) -> Hand:
        """An independent hand in the same state."""
        return replace(self)

    def step(self, dt: float, at: Vector) -> Vector:
        """Where the foot is `dt` [s] later: towards the next point, never faster or more jerked than the limits."""
        top = SPEED
        while True:
            ahead = tuple(b - a for a, b in zip(at, self.way[0], strict=True))
            distance = math.hypot(*ahead)
            if len(self.way) == 1 or distance > NEAR:
                break
            self.way = self.way[1:]
        if distance <= ARRIVED and math.hypot(*self.velocity) <= ACCELERATION * dt:
            self.velocity = (0.0, 0.0, 0.0)
            return self.way[0]
        # The speed from which 0.8 of the acceleration still brings the foot to rest at the point.
        wanted = min(top, math.sqrt(1.6 * ACCELERATION * distance), distance / dt) / max(distance, 1e-9)
        change = [wanted * a - v for a, v in zip(ahead, self.velocity, strict=True)]
        share = min(1.0, ACCELERATION * dt / max(math.hypot(*change), 1e-12))
        vx, vy, vz = (v + share * c for v, c in zip(self.velocity, change, strict=True))
        self.velocity = (vx, vy, vz)
        return at[0] + vx * dt, at[1] + vy * dt, at[2] + vz * dt


def way(start: Vector, goal: Vector) -> tuple[Vector, ...]:
    """Points [m] from one place to another: up, across, down, as far as the places are on the ground."""
    points: list[Vector] = []
    clear = max(start[2], goal[2], CLEAR)
    if start[2] < CLEAR:
        points.append((start[0], start[1], min(clear, CLEAR)))
    if goal[2] < CLEAR and math.dist(start[:2], goal[:2]) > NEAR:
        points.append((goal[0], goal[1], CLEAR))
    return (*points, goal)


def along(start: Vector, points: Sequence[Vector], step: float = 0.01) -> list[Vector]:
    """Points every `step` [m] on the way, its ends included."""
    found = [start]
    for end in points:
        begin = found[-1]
        count = max(1, math.ceil(math.dist(begin, end) / step))
        found += [
            (
                begin[0] + (end[0] - begin[0]) * k / count,
                begin[1] + (end[1] - begin[1]) * k / count,
                begin[2] + (end[2] - begin[2]) * k / count,
            )
            for k in range(1, count + 1)
        ]
    return found
