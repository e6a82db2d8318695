"""What servo_driver says of the servos: joints, feet, battery, whether they hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sensor_msgs.msg import BatteryState, JointState, MultiDOFJointState
from std_msgs.msg import Bool, Float64

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.foot_force_estimator import FootForceEstimator
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import COMMAND, LATCHED
from hexapod_control.ros.row_messages import FootStates, JointLayout
from hexapod_control.servos.driver.telemetry import Snapshot, TorqueState


class DriverOutput:
    """Publishers of one robot's servos."""

    def __init__(self, node: GuardedNode, robot: Robot, *, feet: bool = True) -> None:
        """Without `feet` others say which carry."""
        self._robot = robot
        self._torques = np.array([[joint.stall_torque for joint in leg.joints] for leg in robot.legs])
        self._loads = FootForceEstimator(robot)
        self._joints, self._feet = JointLayout(robot), FootStates(robot)
        self._joint_states = node.create_publisher(JointState, "joint_states", COMMAND)
        self._foot_states = node.create_publisher(MultiDOFJointState, "foot_states", COMMAND) if feet else None
        self._battery = node.create_publisher(BatteryState, "battery_state", COMMAND)
        self._armed = node.create_publisher(Bool, "armed", LATCHED)
        self._share = node.create_publisher(Float64, "speed_share", LATCHED)
        self._told: bool | None = None
        self._told_share: float | None = None

    def latched(self, snapshot: Snapshot) -> None:
        """Publishes on a change whether the servos hold, and what share of their speed they should have."""
        self.armed(snapshot.power is TorqueState.ON)
        if snapshot.speed_share != self._told_share:
            self._told_share = snapshot.speed_share
            self._share.publish(messages.number(snapshot.speed_share))

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
        if self._foot_states and torques is not None and snapshot.times is not None:
            self._state_of_feet(self._foot_states, snapshot, snapshot.joints, torques, stamp)
        message = self._joints.message(snapshot.joints, snapshot.velocities, stamp, torques)
        self._joint_states.publish(message)

    def _state_of_feet(self, publisher: Any, snapshot: Snapshot, joints: Array, torques: Array, stamp: Any) -> None:
        self._feet.update(joints, snapshot.time)
        speeds = np.zeros_like(torques) if snapshot.velocities is None else snapshot.velocities
        forces = self._loads.update(joints, speeds, torques, snapshot.times)
        if forces is not None:
            publisher.publish(self._feet.message(forces, stamp))

    def feet(self, snapshot: Snapshot) -> str:
        """How well it is known which feet carry, in words."""
        if self._foot_states is None:
            return "others tell"
        if snapshot.loads is None or snapshot.times is None:
            return "unknown: it takes servos that tell their load in every cycle and go evenly from goal to goal"
        if self._loads.learning:
            return "learning: felt after some steps"
        wrong = f"{100.0 * self._loads.error:.0f} % of samples in the air look like contact"
        return f"felt: {wrong}" if self._loads.clear else f"unknown: {wrong}"

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
