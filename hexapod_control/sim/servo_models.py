# SPDX-License-Identifier: Apache-2.0
"""Servo models of the simulation: a position loop of finite stiffness, torque and speed.

The model is a spring `stiffness * (target - angle)` clipped at the stall torque, minus a viscous torque that equals
the stall torque at no-load speed: the linear torque-speed curve of a DC motor.
Every stiffness comes from a data sheet or an identification, none is tuned. Data sheets give neither rotor inertia nor
dry friction: without an identification, they follow from a mechanical time constant of 20 ms (small cored DC
motors have 10 to 30 ms) and from two hundredths of the stall torque.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from hexapod_control.core.robot import FRICTION_SHARE, Joint, Leg, Robot
from hexapod_control.core.sensing.foot_force_estimator import MOTOR_TIME_CONSTANT_S

RPM = math.tau / 60.0
POSITION_UNIT_RAD = math.tau / 4096.0  # position unit of a 12 bit servo


@dataclass(frozen=True, slots=True)
class ServoModel:
    """One servo at its output shaft, at the supply voltage given in `source`."""

    no_load_speed: float  # [rad/s]
    stall_torque: float  # [N m]
    stiffness: float  # [N m/rad]
    source: str
    identified_inertia: float | None = None  # [kg m2] rotor inertia reflected through the gear
    identified_friction: float | None = None  # [N m] dry friction

    @property
    def damping(self) -> float:
        """Back-EMF as a viscous torque [N m s/rad]: stall torque at no-load speed."""
        return self.stall_torque / self.no_load_speed

    @property
    def armature(self) -> float:
        """Rotor inertia reflected through the gear [kg m2]."""
        return MOTOR_TIME_CONSTANT_S * self.damping if self.identified_inertia is None else self.identified_inertia

    @property
    def friction(self) -> float:
        """Dry friction [N m]."""
        return FRICTION_SHARE * self.stall_torque if self.identified_friction is None else self.identified_friction


def _stiffness_of_gain(stall: float, gain: float) -> float:
    """Stiffness [N m/rad] of a Dynamixel X of a stall torque [N m]: PWM = gain / 128 per step of error, 885 is full."""
    return stall * gain / 128.0 / 885.0 / POSITION_UNIT_RAD


def _stiffness_of_slope(stall: float, slope: float) -> float:
    """Stiffness [N m/rad] of a Dynamixel AX of a stall torque [N m]: full after `slope` steps of 300 deg / 1023."""
    return stall / math.radians(slope * 300.0 / 1023.0)


SERVO_MODELS = {
    "ax12": ServoModel(
        59.0 * RPM,
        1.5,
        _stiffness_of_slope(1.5, 16.0),
        "emanual.robotis.com AX-12A at 12 V: 59 rpm, 1.5 N m; compliance slope 16",
    ),
    "xl430": ServoModel(
        57.0 * RPM,
        1.4,
        _stiffness_of_gain(1.4, 1600.0),
        "emanual.robotis.com XL430-W250 at 11.1 V: 57 rpm, 1.4 N m; position P gain 1600",
    ),
    "xm430": ServoModel(
        46.0 * RPM,
        4.1,
        _stiffness_of_gain(4.1, 800.0),
        "emanual.robotis.com XM430-W350 at 12 V: 46 rpm, 4.1 N m; factory P gain 800; inertia and friction of "
        "mujoco_menagerie robotis_op3 (whose kp is 21.1)",
        identified_inertia=0.045,
        identified_friction=0.03,
    ),
    "mg996r": ServoModel(
        math.radians(60.0) / 0.14,
        1.08,
        1.08 / math.radians(5.0),
        "Tower Pro MG996R at 6 V: 0.14 s/60 deg, 11 kg cm; analog loop, full torque from 5 deg of error",
    ),
    "mg90s": ServoModel(
        math.radians(60.0) / 0.08,
        0.216,
        0.216 / math.radians(5.0),
        "Tower Pro MG90S at 6 V: 0.08 s/60 deg, 2.2 kg cm; analog loop, full torque from 5 deg of error",
    ),
    "sts3215": ServoModel(
        math.radians(60.0) / 0.222,
        1.91,
        17.8,
        "Feetech STS3215 at 7.4 V: 0.222 s/60 deg, 19.5 kg cm; stiffness, inertia and friction identified on the bench "
        "by the Open Duck Mini project",
        identified_inertia=0.028,
        identified_friction=0.052,
    ),
}


def servo_model(name: str) -> ServoModel:
    """Returns the servo with a name. Raises ValueError, which lists the known names."""
    try:
        return SERVO_MODELS[name]
    except KeyError:
        known = ", ".join(sorted(SERVO_MODELS))
        raise ValueError(f"servo_model must be one of {known}, is {name!r}") from None


def with_servo(robot: Robot, name: str) -> Robot:
    """Returns the robot with this servo at every joint, so that the planner uses its speed, torque and stiffness."""
    servo = servo_model(name)

    def joint(old: Joint) -> Joint:
        return Joint(old.lower, old.upper, servo.no_load_speed, servo.stall_torque, servo.stiffness)

    def leg(old: Leg) -> Leg:
        coxa, femur, tibia = map(joint, old.joints)
        return replace(old, coxa_joint=coxa, femur_joint=femur, tibia_joint=tibia)

    return replace(robot, legs=tuple(map(leg, robot.legs)))
