"""Estimate of the electric power of the servos while standing and walking, and of the battery life."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Robot
from hexapod_control.evaluation.robot_check.joint_torques import of_servos, standing_torques
from hexapod_control.evaluation.robot_check.remark import Remark, Seriousness
from hexapod_control.evaluation.robot_check.subject import Subject

# A motor with resistive losses only draws stall torque times no-load speed at stall. Makers state
# stall currents of 1.2 to 2.3 times that: AX-12A 1.9, MG996R 1.9, STS3215 2.3, XM430-W350 1.4, MX-64 1.2.
STALL_POWER_FACTOR = 2.0  # power at stall over stall torque times no-load speed
IDLE_W = 0.5  # electronics of each servo


def servo_power(robot: Robot, torque: Array, velocity: Array) -> Array:
    """Power [W] of each servo for torques [N m] and velocities [rad/s], both (..., n, 3); nothing is fed back.

    The current is proportional to the torque; the voltage includes the back-EMF.
    """
    stall, speed = of_servos(robot, "stall_torque"), of_servos(robot, "no_load_speed")
    drawn = torque * (torque * speed / stall + velocity)
    return STALL_POWER_FACTOR * np.maximum(drawn, 0.0) + IDLE_W


def power(subject: Subject) -> Iterator[Remark]:
    """Average power standing and walking, and battery life."""
    robot = subject.robot
    held = standing_torques(subject.robot, subject.standing, [True] * len(subject.robot.legs))
    standing = float(servo_power(robot, held, np.zeros_like(held)).sum())
    walking = float(servo_power(robot, subject.torques.motor, subject.walk.velocity).sum(axis=(1, 2)).mean())
    capacity = subject.battery
    servos = held.size
    minutes = [60.0 * capacity / watts for watts in (standing, walking)]
    text = (
        f"An estimate: the {servos} servos take {standing:.0f} W standing and {walking:.0f} W walking, a battery of "
        f"{capacity:g} Wh lasts {minutes[0]:.0f} min and {minutes[1]:.0f} min without other consumers, if a servo at "
        f"stall draws {STALL_POWER_FACTOR:g} times its stall torque times its no-load speed, and {IDLE_W:g} W at rest"
    )
    figures = {
        "standing_w": round(standing, 2),
        "walking_w": round(walking, 2),
        "idle_w": IDLE_W * servos,
        "battery_wh": capacity,
        "standing_min": round(minutes[0], 1),
        "walking_min": round(minutes[1], 1),
    }
    yield Remark(Seriousness.FIGURE, "power", text, "", figures)
