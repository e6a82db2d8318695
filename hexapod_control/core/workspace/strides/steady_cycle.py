# SPDX-License-Identifier: Apache-2.0
"""One cycle of steady walking at a constant twist: paths of the feet, static margin, and gap between the legs.

Points are complex numbers x + i y [m, base_footprint]. A motion is a twist of unit speed, and its path the speed times
the time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hexapod_control.core.gait.gait_table import TOUCH_DOWN_PHASE_STEP, Gait
from hexapod_control.core.gait.swing_trajectory import travel_and_lift
from hexapod_control.core.kinematics.arrays import Array, ComplexArray
from hexapod_control.core.kinematics.leg_batch import joints_at_contacts
from hexapod_control.core.kinematics.leg_clearance import LegNeighbours
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Robot
from hexapod_control.core.statics.leg_loads import greatest_torque_share
from hexapod_control.core.statics.moving_mass import MovingMass
from hexapod_control.core.statics.static_stability import center_of_mass, static_margin

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


JUST_AFTER = 1e-9  # of a cycle, added to the phase of a lift-off
TINY = 1e-9  # [m]
PHASES = 12  # evenly spaced in a cycle, in addition to those at which the support polygon changes


class CycleLimits(NamedTuple):
    """Smallest static margin and gap over a cycle."""

    margin: float  # [m] static
    gap: float  # [m] between neighbouring legs

    def at_most(self, margin: float, gap: float) -> CycleLimits:
        """These values, limited to a margin and a gap [m]."""
        return CycleLimits(min(self.margin, margin), min(self.gap, gap))

    def at_least(self, other: CycleLimits) -> bool:
        """True if neither value is less than that of another cycle."""
        return self.margin >= other.margin and self.gap >= other.gap


@dataclass(frozen=True, slots=True)
class SteadyCycle:
    """A gait at a constant twist of unit speed: which feet are in stance, and where."""

    robot: Robot
    gait: Gait
    axis: Twist

    def critical_phases(self) -> list[float]:
        """Phases just after each lift-off and just before each touch-down; between them the margin is greater."""
        down = 1.0 - self.gait.duty_factor - TOUCH_DOWN_PHASE_STEP
        moments = (lift_off + part for lift_off in self.gait.lift_off for part in (JUST_AFTER, down))
        return sorted({round(moment % 1.0, 10) for moment in moments})

    def feet(self, phase: Array, stride_travel: Array, centers: Points) -> tuple[Points, Array]:
        """Returns foot positions [m] at phases (...), and the times since lift-off [swing times], both (..., legs).

        `centers` (..., legs) [m] are the stride centers, `stride_travel` is speed times swing time.
        """
        progress = (phase[..., None] - np.array(self.gait.lift_off)) % 1.0 * self.gait.cycle
        return foot_positions(
            UnitMotion.along(self.axis), stride_travel, self.gait.stance_time, centers, progress
        ), progress

    def support_margins(self, stride_travel: float, centers: Points, mass: MovingMass) -> Array:
        """Smallest static margins (N,) [m] over the cycle, for centers (N, legs) [m]."""
        margins = np.full(len(centers), math.inf)
        phases = self.critical_phases()
        by_phase, _ = self.feet(np.array(phases)[:, None], np.array(stride_travel), centers)
        for phase, feet in zip(phases, by_phase, strict=True):
            swing = self.gait.legs_in_swing(phase)
            standing = [leg for leg in range(feet.shape[1]) if leg not in swing]
            np.minimum(margins, polygon_margins(feet[:, standing] - mass.over(feet)[:, None]), out=margins)
        return margins

    def torque_share(self, stride_travel: float, centers: Points, mass: MovingMass) -> float:
        """Greatest torque of a femur or tibia servo over the cycle, as a share of its stall torque.

        `centers` (legs,) [m] are the stride centers.
        """
        phases = self.critical_phases()
        feet, _ = self.feet(np.array(phases), np.array(stride_travel), centers)
        swinging = [self.gait.legs_in_swing(phase) for phase in phases]
        planted = np.array([[leg not in swing for leg in range(len(centers))] for swing in swinging])
        return greatest_torque_share(self.robot, feet, planted, mass.over(feet))

    def horizontal_gaps(self, stride_travel: float | Array, centers: Points) -> Array:
        """Smallest gaps (N,) [m] between neighbouring legs over the cycle, seen from above, for centers (N, legs) [m].

        `stride_travel`, a number or (N, 1), is speed times swing time. From above, femur and tibia are a line from the
        femur axis to the foot. That needs no joint angles; the gap may be smaller than that of `limits`.
        """
        legs = self.robot.legs
        neighbours = LegNeighbours.of(self.robot)
        feet, _ = self.feet((np.arange(PHASES)[:, None] + 0.5) / PHASES, np.asarray(stride_travel), centers)
        feet = np.broadcast_to(feet, (PHASES, len(centers), len(legs)))
        hips = np.array([complex(*leg.hip[:2]) for leg in legs])
        arms = feet - hips
        inner = np.array([leg.coxa.length for leg in legs]) / np.maximum(np.abs(arms), TINY)
        starts = hips + np.minimum(inner, 1.0) * arms
        first, second = np.array(neighbours.pairs).T
        distances = line_distances(starts[..., first], feet[..., first], starts[..., second], feet[..., second])
        gaps: Array = (distances - np.array([span.thickness for span in neighbours.spans])).min(axis=(0, 2))
        return gaps

    def limits(self, stride_travel: float, centers: Points, max_gap: float) -> CycleLimits:
        """Smallest margin and gap [m] by the joint angles, for centers (legs,) [m]; the gap is capped at `max_gap`."""
        phases = np.array([*self.critical_phases(), *((np.arange(PHASES) + 0.5) / PHASES)])
        feet, progress = self.feet(phases, np.array(stride_travel), centers)
        heights = lifts(self.robot, progress)
        columns: list[list[LegJoints]] = []
        for row, leg in enumerate(self.robot.legs):
            contacts = feet[:, row].real, feet[:, row].imag, heights[:, row]
            joints = joints_at_contacts(leg, self.robot.foot_radius, self.robot.walk.height, contacts).joints
            columns.append(list(zip(*(angle.tolist() for angle in joints), strict=True)))
        neighbours = LegNeighbours.of(self.robot)
        margin = math.inf
        gap = max_gap
        for phase, pose, points in zip(phases.tolist(), zip(*columns, strict=True), feet, strict=True):
            swing = self.gait.legs_in_swing(phase)
            standing = [(p.real, p.imag) for leg, p in enumerate(points.tolist()) if leg not in swing]
            margin = min(margin, static_margin(standing, center_of_mass(self.robot, pose)[:2]))
            gap = neighbours.gap(pose, gap).distance
        return CycleLimits(margin, gap)


def polygon_margins(feet: Points) -> Array:
    """Static margins (N,) [m] of the origin in the convex hulls of feet (N, feet): `static_margin` over arrays."""
    edges = feet[:, None, :] - feet[:, :, None]  # (N, from, to)
    others = feet[:, None, None, :] - feet[:, :, None, None]
    on_hull = ((edges.conj()[..., None] * others).imag >= -1e-15).all(axis=-1) & (np.abs(edges) > 0.0)
    length = np.where(on_hull, np.abs(edges), 1.0)
    inside = np.where(on_hull, (edges.conj() * -feet[:, :, None]).imag / length, math.inf)
    margins: Array = inside.min(axis=(1, 2))
    in_a_line = (on_hull & on_hull.swapaxes(1, 2)).any(axis=(1, 2))
    return np.where(np.isinf(margins) | in_a_line, -math.inf, margins)


def line_distances(a: Points, b: Points, c: Points, d: Points) -> Array:
    """Distances (...) [m] between the line segments from a to b and from c to d (...) [m]; 0 where they cross."""
    ends = np.min([_distances(a, c, d), _distances(b, c, d), _distances(c, a, b), _distances(d, a, b)], axis=0)
    crossing = (_side(a, b, c) * _side(a, b, d) < 0.0) & (_side(c, d, a) * _side(c, d, b) < 0.0)
    return np.where(crossing, 0.0, ends)


def _distances(points: Points, a: Points, b: Points) -> Array:
    """Distances [m] of points from the line segments from a to b [m]."""
    along = b - a
    part = np.clip(((points - a) * along.conj()).real / np.maximum(np.abs(along), TINY) ** 2, 0.0, 1.0)
    distances: Array = np.abs(points - a - part * along)
    return distances


def _side(a: Points, b: Points, points: Points) -> Array:
    """Cross product [m^2], positive where points are on the left of the line from a to b."""
    cross: Array = ((b - a).conj() * (points - a)).imag
    return cross
