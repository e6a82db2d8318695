"""What servo_driver says of the servos: joints, feet, battery, whether they hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sensor_msgs.msg import BatteryState, JointState, MultiDOFJointState
from std_msgs.msg import Bool, Float64

from hexapod_control.core.kinematics import Array, forward
from hexapod_control.core.robot import Robot
from hexapod_control.nodes import messages
from hexapod_control.nodes.base import COMMAND, LATCHED, GuardedNode
from hexapod_control.nodes.layouts import FootLayout, JointLayout
from hexapod_control.servos.telemetry import Power, Snapshot

SHORTEST_LEVER = 0.02  # [m] of a foot about its femur axis: below it the load tells nothing


class DriverOutput:
    """Publishers of one robot's servos."""

    def __init__(self, node: GuardedNode, robot: Robot, *, feet: bool = True) -> None:
        """Without `feet` others say which carry."""
        self._robot = robot
        self._torques = np.array([[joint.stall_torque for joint in leg.joints] for leg in robot.legs])
        self._joints, self._feet = JointLayout(robot), FootLayout(robot)
        self._joint_states = node.create_publisher(JointState, "joint_states", COMMAND)
        self._foot_states = node.create_publisher(MultiDOFJointState, "foot_states", COMMAND) if feet else None
        self._battery = node.create_publisher(BatteryState, "battery_state", COMMAND)
        self._armed = node.create_publisher(Bool, "armed", LATCHED)
        self._share = node.create_publisher(Float64, "speed_share", LATCHED)
        self._told: bool | None = None
        self._told_share: float | None = None
        self._last: tuple[float, Array] | None = None  # [s], [m] feet at the last time

    def latched(self, snapshot: Snapshot) -> None:
        """Publishes on a change whether the servos hold, and what share of their speed they should have."""
        self.armed(snapshot.power is Power.ON)
        if snapshot.share != self._told_share:
            self._told_share = snapshot.share
            self._share.publish(messages.number(snapshot.share))

    def armed(self, holds: bool) -> None:
        """Publishes on a change whether the servos hold."""
        if holds != self._told:
            self._told = holds
            self._armed.publish(Bool(data=holds))

    def state(self, snapshot: Snapshot, stamp: Any) -> None:
        """Publishes feet, where the load tells, then joints; nothing while the pose is unknown."""
        if snapshot.joints is None:
            return
        torques = None if snapshot.loads is None else np.nan_to_num(snapshot.loads) * self._torques
        if self._foot_states and torques is not None and snapshot.measured:
            feet = forward(self._robot, snapshot.joints)
            velocities = self._foot_velocities(feet, snapshot.time)
            forces = contact_forces(self._robot, snapshot.joints, torques)
            self._foot_states.publish(self._feet.message(feet, velocities, forces, stamp))
        message = self._joints.message(snapshot.joints, snapshot.velocities, stamp, torques)
        self._joint_states.publish(message)

    def _foot_velocities(self, feet: Array, time: float) -> Array:
        """Mean speeds (n, 3) [m/s] in base_link since the last time."""
        last, self._last = self._last, (time, feet)
        if last is None or time <= last[0]:
            return np.zeros_like(feet)
        velocities: Array = (feet - last[1]) / (time - last[0])
        return velocities

    def battery(self, snapshot: Snapshot, stamp: Any) -> None:
        """Publishes the supply, if it is known."""
        if snapshot.voltage is None:
            return
        message = BatteryState(voltage=snapshot.voltage, present=True)
        message.header.stamp = stamp
        message.current = math.nan if snapshot.current is None else -snapshot.current  # discharging is negative
        message.charge = message.capacity = message.design_capacity = message.percentage = math.nan
        if snapshot.temperatures is not None:
            message.temperature = math.nan
        self._battery.publish(message)


def contact_forces(robot: Robot, joints: Array, torques: Array) -> Array:
    """Vertical forces (n,) [N] that explain the femur servos' torques (n, 3) [N m] at joints (n, 3) [rad].

    The femur's torque over the lever of the foot about its axis; the weight of the leg is not taken out.
    """
    forces = []
    for leg, (_, femur, tibia), torque in zip(robot.legs, joints.tolist(), torques.tolist(), strict=True):
        lever = leg.femur.length * math.cos(femur) + leg.tibia.length * math.cos(femur + tibia)
        forces.append(max(0.0, -torque[1] / lever) if lever > SHORTEST_LEVER else 0.0)
    return np.array(forces)
