# SPDX-License-Identifier: Apache-2.0
"""A foot and its state: it stands, swings, drops to the ground, or is guided along a path.

Contact points (x, y) [m] are in base_footprint, heights z [m] above its plane, + up. Velocities are over the ground.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, NamedTuple

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.swing_trajectory import SMOOTH, SwingTiming
from hexapod_control.core.robot import Point, Vector
from hexapod_control.core.workspace.strides.stride_table import NEUTRAL_REGION, StrideRegion

GUIDED_ACCELERATION = 0.8  # [m/s^2] of a guided foot
ZERO_VELOCITY: Vector = (0.0, 0.0, 0.0)  # [m/s]


@dataclass(frozen=True, slots=True)
class Stance:
    """The foot is planted, and fixed in the world."""

    planted: ClassVar[bool] = True


STANCE = Stance()


@dataclass
class Swing(Copyable):
    """The foot is in the air, from lift-off to touch-down."""

    progress: float  # in [0, 1)
    stance_time: float  # [swing times] planned duration of the stance after touch-down
    lift: float  # [m] height of the swing
    base: float = 0.0  # [m] height of the foot at lift-off, which fades to zero during the swing
    timing: SwingTiming = SMOOTH
    aim: Point = (0.0, 0.0)  # [m] planned touch-down point, fixed in the world
    lead: Point = (0.0, 0.0)  # [m] by which the foot passes its aim before it returns to it
    travel_rate: float = 1.0  # share (0 to 1) of the nominal rate of the horizontal travel
    origin: Vector = (0.0, 0.0, 0.0)  # [m] where the foot has lifted off, fixed in the world
    lag: float = 0.0  # progress by which the horizontal travel lags, the integral of 1 - travel_rate
    end: float | None = None  # [m] height of the seen foothold; None: none is seen
    felt: float = 0.0  # [m] height at which the ground is expected that is not seen

    planted: ClassVar[bool] = False


@dataclass
class Dropping(Copyable):
    """The foot moves to the ground outside of a swing: after a halt in mid-swing, or after an early contact."""

    duration: float  # [s]
    height: float  # [m] at the start, relative to the end
    vz: float  # [m/s] vertical speed at the start, + up
    vx: float  # [m/s] speed over the ground at the start, in the present base_footprint
    vy: float
    end: float = 0.0  # [m] height at the end
    touched: bool = False  # whether the foot has made contact, and returns to that point
    elapsed: float = 0.0  # [s]

    planted: ClassVar[bool] = False


class GuidedPhase(Enum):
    """Phase of a guided foot."""

    WAITING = "waiting"  # on the ground, until the other feet support the robot
    MOVING = "moving"
    HELD = "held"  # at rest, or coming to rest, because the next point is out of reach in the present body pose
    ARRIVED = "arrived"  # at rest at the end of its path


@dataclass
class Guided(Copyable):
    """The foot follows a path of contact points (x, y) [m] and heights z [m]."""

    path: tuple[Vector, ...]  # [m] remaining points; the last one is the goal
    velocity: Vector = ZERO_VELOCITY  # [m/s]
    phase: GuidedPhase = GuidedPhase.WAITING
    separating: bool = False  # whether it leads to the ground, away from a leg that blocks the way to the foothold
    origin: Point | None = None  # [m] where the foot has lifted off; None: unknown

    @property
    def planted(self) -> bool:
        """True until the foot lifts off."""
        return self.phase is GuidedPhase.WAITING

    @property
    def lands(self) -> bool:
        """True if the path ends on the ground."""
        return self.path[-1][2] <= 0.0


class SeenFoothold(NamedTuple):
    """The next foothold of a foot, in base_footprint."""

    x: float  # [m]
    y: float
    z: float
    even: bool  # the ground is as flat as the plane: the foot aims as on flat ground
    # [m] greatest heights of the ground above the plane on the way of the swing, evenly spaced; empty in the air
    path: tuple[float, ...] = ()
    held: bool = False  # no place is permitted: the foot does not lift off, or goes back to where it has


SEEN_EVEN = SeenFoothold(math.nan, math.nan, 0.0, even=True)
FootState = Stance | Swing | Dropping | Guided
"""The state of a foot."""


@dataclass
class Foot(Copyable):
    """Position and state of one foot."""

    x: float  # [m] contact point in base_footprint
    y: float
    z: float = 0.0  # [m] height above the plane of base_footprint
    state: FootState = STANCE
    velocity: Vector = ZERO_VELOCITY  # [m/s] over the ground, of the last tick in the air
    region: StrideRegion = NEUTRAL_REGION  # stride region since its last lift-off

    @property
    def planted(self) -> bool:
        """True if the gait clock counts the foot as standing; it may still be searching the ground."""
        return self.state.planted

    @property
    def arrived(self) -> bool:
        """True if the foot is at the end of its path, or not guided at all."""
        return not isinstance(self.state, Guided) or self.state.phase is GuidedPhase.ARRIVED

    @property
    def at(self) -> Vector:
        """Position of the foot: contact point (x, y) and height z [m]."""
        return self.x, self.y, self.z

    @property
    def resting_points(self) -> tuple[Vector, ...]:
        """Position of the foot [m] and, if it is guided, the point at which it can come to rest."""
        if isinstance(self.state, Guided):
            return self.at, stopping_point(self.at, self.state.velocity)
        return (self.at,)


def displaced(at: Vector, velocity: Vector, time: float) -> Vector:
    """Returns the position [m] of a point after `time` [s] at a velocity [m/s]."""
    return at[0] + time * velocity[0], at[1] + time * velocity[1], at[2] + time * velocity[2]


def stopping_point(at: Vector, velocity: Vector) -> Vector:
    """Returns the position [m] at which a guided foot at `at` [m] with a velocity [m/s] can come to rest."""
    return displaced(at, velocity, math.hypot(*velocity) / (2.0 * GUIDED_ACCELERATION))
