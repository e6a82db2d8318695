# SPDX-License-Identifier: Apache-2.0
"""Torques of all joints while a robot stands or walks, without a simulation.

The legs are springs: planted feet stay where they touched the ground, the body sinks and tilts until their forces
balance its weight (three unknown displacements and three rotations, six equations). As in the servo models of the
simulation, there are also the torque against the motor's own speed, its inertia and dry friction, and the steps of
targets that arrive once per tick.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, hip_to_base, leg_forward
from hexapod_control.core.robot import FRICTION_SHARE, Leg, Robot
from hexapod_control.core.sensing.foot_force_estimator import MOTOR_TIME_CONSTANT_S
from hexapod_control.core.statics.leg_compliance import foot_jacobian
from hexapod_control.core.statics.static_stability import GRAVITY, center_of_mass
from hexapod_control.evaluation.robot_check.steady_walk import TICK_S, PlannedCycle


@dataclass(frozen=True, slots=True)
class JointTorques:
    """Torques over a cycle, by joint: coxa, femur and tibia, the worst leg of each."""

    rms: Array  # (3,) [N m] of all legs
    peak: Array  # (3,) [N m]
    held: Array  # (3,) [N m] RMS without the speed-dependent part: it determines the heating
    motor: Array  # (ticks, n, 3) [N m] of the motors, proportional to their currents
    cycle: Array  # (ticks, n, 3) [N m] including the speed-dependent part


def of_servos(robot: Robot, figure: str) -> Array:
    """A figure (n, 3) of all servos: an attribute of Joint."""
    return np.array([[getattr(joint, figure) for joint in leg.joints] for leg in robot.legs])


def standing_torques(robot: Robot, joints: Sequence[LegJoints], planted: Sequence[bool]) -> Array:
    """Torques (n, 3) [N m] that hold a robot still with joints (n, 3) [rad] on its planted feet."""
    center = np.array(center_of_mass(robot, joints))
    stiff = np.zeros((6, 6))
    sink = np.zeros(6)
    feet = [_foot(leg, row, center) for leg, row in zip(robot.legs, joints, strict=True)]
    for foot, down in zip(feet, planted, strict=True):
        if down:
            stiff += foot.moves.T @ foot.stiffness @ foot.moves
            sink += foot.moves.T @ foot.stiffness @ foot.sag
    sink[2] += robot.mass * GRAVITY
    moved = np.linalg.solve(stiff, -sink)
    return np.array(
        [
            foot.own + (foot.jacobian.T @ foot.stiffness @ (foot.moves @ moved + foot.sag) if down else 0.0)
            for foot, down in zip(feet, planted, strict=True)
        ]
    )


@dataclass(frozen=True, slots=True)
class SpringFoot:
    """A leg as a spring at its foot."""

    jacobian: Array  # (3, 3) [m/rad]
    stiffness: Array  # (3, 3) [N/m]
    moves: Array  # (3, 6) displacement of the foot by displacement [m] and rotation [rad] of the body
    sag: Array  # (3,) [m] under the leg's own weight
    own: Array  # (3,) [N m] holding torques of the leg's own weight


def _foot(leg: Leg, joints: LegJoints, center: Array) -> SpringFoot:
    jacobian = foot_jacobian(leg, joints)
    soft = np.array([1.0 / joint.stiffness for joint in leg.joints])
    own = _own_weight(leg, joints)
    x, y, z = np.array(hip_to_base(leg, leg_forward(leg, joints)[1])) - center
    turned = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
    sag = np.array([0.0, 0.0, -(jacobian @ (own * soft))[2]])
    return SpringFoot(jacobian, np.linalg.inv((jacobian * soft) @ jacobian.T), np.hstack([np.eye(3), turned]), sag, own)


def _own_weight(leg: Leg, joints: LegJoints) -> Array:
    *_, of_femur, of_tibia = leg.moments
    _, femur, tibia = joints
    knee = of_femur * math.cos(femur)
    foot = of_tibia * math.cos(femur + tibia)
    return GRAVITY * np.array([0.0, knee + foot, foot])


def walking_torques(robot: Robot, walk: PlannedCycle) -> JointTorques:
    """Torques over one cycle of a steady walk."""
    stall, speed, stiffness = (of_servos(robot, name) for name in ("stall_torque", "no_load_speed", "stiffness"))
    damping = stall / speed
    rows = [[(c, f, t) for c, f, t in row] for row in walk.joints.tolist()]
    load = np.array([standing_torques(robot, row, down) for row, down in zip(rows, walk.planted, strict=True)])
    change = (np.roll(walk.velocity, -1, axis=0) - np.roll(walk.velocity, 1, axis=0)) / (2.0 * TICK_S)
    motor = load + MOTOR_TIME_CONSTANT_S * damping * change + FRICTION_SHARE * stall * np.sign(walk.velocity)
    effort = motor + damping * walk.velocity
    steps = stiffness * walk.velocity * TICK_S / math.sqrt(12.0)  # RMS of a saw-tooth
    square = effort * effort + steps * steps
    return JointTorques(
        rms=np.sqrt(square.mean(axis=(0, 1))),
        peak=np.abs(effort).max(axis=(0, 1)),
        held=np.sqrt((motor * motor).mean(axis=0).max(axis=0)),
        motor=motor,
        cycle=effort,
    )
