"""Paths of the feet in steady walking at a constant twist.

Points are complex numbers x + i y [m, base_footprint]. A motion is a twist of unit speed, and its path the speed times
the time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hexapod_control.core.gait.swing_trajectory import travel_and_lift
from hexapod_control.core.kinematics.arrays import Array, ComplexArray
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Robot

Points = ComplexArray


class UnitMotion(NamedTuple):
    """Twists of unit speed; the linear velocity is a complex number."""

    velocity: Points  # [m] per unit of the path
    rate: Array  # [rad] per unit of the path

    @classmethod
    def along(cls, axis: Twist) -> UnitMotion:
        """The motion of a single twist of unit speed."""
        return cls(np.array(complex(axis.vx, axis.vy)), np.array(axis.wz))


def displaced(motion: UnitMotion, path: Array, points: Points) -> Points:
    """Points moved rigidly by a motion (SE(2) exponential); `path` is speed times time."""
    if not motion.rate.any():
        return points + motion.velocity * path
    angle = motion.rate * path
    half = np.empty(angle.shape, np.complex128)  # rotation by half of the angle: the direction of the chord
    half.real, half.imag = np.cos(0.5 * angle), np.sin(0.5 * angle)
    moved: Points = half * (half * points + motion.velocity * path * np.sinc(angle / math.tau))
    return moved


def foot_positions(motion: UnitMotion, stride_travel: Array, stance: float, centers: Points, progress: Array) -> Points:
    """Foot positions in steady walking at a progress, the time since lift-off [swing times].

    `stride_travel` is the speed times the swing time. The stance lasts `stance` swing times; in the middle of it the
    foot is at its stride center.
    """
    lift_off = displaced(motion, -0.5 * stance * stride_travel, centers)
    aim = displaced(motion, (1.0 + 0.5 * stance) * stride_travel, centers)
    share = travel_and_lift(np.minimum(progress, 1.0))[0]
    swing = displaced(motion, -progress * stride_travel, lift_off + share * (aim - lift_off))
    if (progress <= 1.0).all():
        return swing
    return np.where(progress < 1.0, swing, displaced(motion, (1.0 + 0.5 * stance - progress) * stride_travel, centers))


def lifts(robot: Robot, progress: Array) -> Array:
    """Heights [m] of feet above the ground at a progress, the time since lift-off [swing times]."""
    lifted: Array = robot.walk.lift_height * travel_and_lift(np.minimum(progress, 1.0))[1]
    return lifted
