"""A foot that is led by hand, point by point, while the others hold the robot."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hexapod_control.core.robot import Vector

SPEED = 0.15  # [m/s]
ACCELERATION = 0.8  # [m/s^2]
BRAKING = 0.8  # share of it with which the foot comes to rest at a point
NEAR = 0.006  # [m] of a point on the way at which the foot turns to the next
ARRIVED = 2e-4  # [m]
CLEAR = 0.02  # [m] a foot is lifted before it goes sideways, and keeps until it is above its goal


@dataclass(slots=True)
class GuidedFoot:
    """The way of one foot; points are contact points (x, y) [m] in base_footprint with the height z [m] above it."""

    way: tuple[Vector, ...]  # [m] still to come, the last one is the goal
    velocity: Vector = (0.0, 0.0, 0.0)  # [m/s]
    waiting: bool = True  # on the ground until the others hold the robot
    duration: float = 0.0  # [s] the way may take; 0: as fast as is calm
    held: bool = False  # the foot rests, or comes to rest, before a place that is out of reach now
    arrived: bool = False  # the foot is held at the end of its way

    @property
    def lands(self) -> bool:
        """True if the way ends on the ground."""
        return self.way[-1][2] <= 0.0

    def copy(self) -> GuidedFoot:
        """An independent hand in the same state."""
        return replace(self)

    def step(self, dt: float, at: Vector, reached: Callable[[Vector], bool]) -> Vector:
        """Where the foot is `dt` [s] later: towards the next point, never faster or more jerked than the limits.

        `reached` tells if a point [m] is in reach now; where the foot could not come to rest within it, it waits.
        """
        while True:
            x, y, z = self.way[0]
            ahead = (x - at[0], y - at[1], z - at[2])
            distance = math.hypot(*ahead)
            if len(self.way) == 1 or distance > NEAR:
                break
            self.way = self.way[1:]
        if distance <= ARRIVED and math.hypot(*self.velocity) <= ACCELERATION * dt:
            self.velocity, self.arrived = (0.0, 0.0, 0.0), True
            return self.way[0]
        # The speed from which braking tick by tick still brings the foot to rest at the point.
        half = 0.5 * BRAKING * ACCELERATION * dt
        wanted = min(SPEED, math.sqrt(half * half + 2.0 * BRAKING * ACCELERATION * distance) - half, distance / dt)
        most = ACCELERATION * dt
        velocity = self._turned(ahead, wanted, most)
        self.held = not reached(rest(moved(at, velocity, dt), velocity))
        if self.held:
            kept = 1.0 - most / max(math.hypot(*self.velocity), most)
            velocity = (kept * self.velocity[0], kept * self.velocity[1], kept * self.velocity[2])
        self.velocity = velocity
        return moved(at, velocity, dt)

    def _turned(self, ahead: Vector, wanted: float, most: float) -> Vector:
        """The velocity, changed by at most `most` [m/s], for a speed wanted [m/s] in the direction of `ahead` [m].

        What leads off the way fades as fast as it does before a point, so that the foot does not swing out in a turn.
        """
        distance = max(math.hypot(*ahead), 1e-9)
        along = math.fsum(a * v for a, v in zip(ahead, self.velocity, strict=True)) / distance
        off = [v - along * a / distance for a, v in zip(ahead, self.velocity, strict=True)]
        sideways = min(math.hypot(*off), BRAKING * most)
        left = math.sqrt(most * most - sideways * sideways)
        gain = min(max(wanted - along, -left), left)
        fade = sideways / max(math.hypot(*off), 1e-12)
        x, y, z = (v + gain * a / distance - fade * o for v, a, o in zip(self.velocity, ahead, off, strict=True))
        return x, y, z


def moved(at: Vector, velocity: Vector, time: float) -> Vector:
    """Where a point [m] is after a time [s] at a velocity [m/s]."""
    return at[0] + time * velocity[0], at[1] + time * velocity[1], at[2] + time * velocity[2]


def rest(at: Vector, velocity: Vector) -> Vector:
    """Where a foot at a point [m] with a velocity [m/s] can come to rest: straight on."""
    return moved(at, velocity, math.hypot(*velocity) / (2.0 * ACCELERATION))


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
