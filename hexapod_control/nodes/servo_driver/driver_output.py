# SPDX-License-Identifier: Apache-2.0
"""The topics that servo_driver publishes: joint_states, foot_states, battery_state, armed, speed_share.

With foot switches, which are debounced, each pressed one counts as an even share of the weight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import BatteryState, JointState, MultiDOFJointState
from std_msgs.msg import Float64

from hexapod_control.config.robots.urdf_import.joint_mapping import JointMapping
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.foot_force_estimator import FootForceEstimator
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.nodes.servo_driver.torque_services import ArmedTopic
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import COMMAND, LATCHED
from hexapod_control.ros.row_messages import FootStates, JointLayout
from hexapod_control.servos.driver.telemetry import Snapshot
from hexapod_control.servos.i2c.foot_switches import FootSwitches, FootSwitchSection


class Debounce:
    """States of several switches, initialised by the first reading."""

    def __init__(self, time: float) -> None:
        """`time` [s] for which a new state must last."""
        self.states: tuple[bool, ...] = ()
        self._time = time
        self._changed: list[float] = []  # [s] for which the readings of each switch have differed from its state

    def update(self, read: Sequence[bool], dt: float) -> tuple[bool, ...]:
        """Returns the states after a reading `dt` [s] after the last one."""
        if not self.states:
            self.states = tuple(read)
            self._changed = [0.0] * len(read)
        states = list(self.states)
        for i, new in enumerate(read):
            self._changed[i] = self._changed[i] + dt if new != states[i] else 0.0
            if new != states[i] and self._changed[i] >= self._time:
                states[i] = new
                self._changed[i] = 0.0
        self.states = tuple(states)
        return self.states


ALTERNATION = 1e-3  # relative change of every second reading: subscribers take constant ones for a frozen sensor
MAX_STEP_S = 1.0  # between two readings


class SwitchedFeet:
    """The switches of one robot, debounced. Owned by one thread."""

    def __init__(self, robot: Robot, section: FootSwitchSection, bus: str) -> None:
        self._switches = FootSwitches(section, bus)
        self._debounce = Debounce(section.bounce)
        self._even = robot.mass * GRAVITY / len(robot.legs)  # [N]
        self._read_at = -math.inf  # [s]
        self._odd = False  # [s]

    @property
    def error(self) -> str | None:
        """Why the switches are not known."""
        return self._switches.error

    def forces(self, now: float, board: Sequence[bool] | None) -> Array | None:
        """Forces (n,) [N] at a steady time [s]; None if the switches are not known.

        `board` is whether each input of the servos' board is high, None if unknown.
        """
        read = self._switches.read(board)
        if read is None:
            return None
        pressed = self._debounce.update(read, min(now - self._read_at, MAX_STEP_S))
        self._read_at = now
        self._odd = not self._odd
        return self._even * (np.array(pressed, dtype=float) + ALTERNATION * self._odd)


class DriverOutput:
    """Publishers of one robot's servos."""

    def __init__(
        self,
        node: GuardedNode,
        robot: Robot,
        mapping: JointMapping | None = None,
        *,
        feet: bool = True,
        switched: SwitchedFeet | None = None,
    ) -> None:
        """`feet`: publish foot_states, from switches or else estimated from servo loads; False: another node does."""
        self._switched = switched
        self._stall_torques = np.array([[joint.stall_torque for joint in leg.joints] for leg in robot.legs])  # [N m]
        self._estimator = FootForceEstimator(robot)
        self._joints = JointLayout(robot, mapping)
        self._feet = FootStates(robot)
        self._joint_states = node.create_publisher(JointState, "joint_states", COMMAND)
        self._foot_states = node.create_publisher(MultiDOFJointState, "foot_states", COMMAND) if feet else None
        self._battery = node.create_publisher(BatteryState, "battery_state", COMMAND)
        self._armed = ArmedTopic(node)
        self._speed_share = node.create_publisher(Float64, "speed_share", LATCHED)
        self._published_share: float | None = None

    def latched(self, snapshot: Snapshot) -> None:
        """Publishes `armed` and `speed_share` when they change."""
        self.armed(snapshot.torque.holds)
        if snapshot.speed_share != self._published_share:
            self._published_share = snapshot.speed_share
            self._speed_share.publish(messages.number(snapshot.speed_share))

    def armed(self, holds: bool) -> None:
        """Publishes `armed` when it changes."""
        self._armed.show(holds)

    def state(self, snapshot: Snapshot, stamp: Time) -> None:
        """Publishes foot_states if forces are known, then joint_states; nothing while the pose is unknown."""
        if snapshot.joints is None:
            return
        loads = snapshot.loads
        torques = None
        if loads is not None:
            torques = np.where(np.isnan(loads), 0.0, loads) * self._stall_torques
        if self._switched is not None and self._foot_states is not None:
            self._feet.update(snapshot.joints, snapshot.time)
            forces = self._switched.forces(snapshot.time, snapshot.input_levels)
            if forces is not None:
                self._foot_states.publish(self._feet.message(forces, stamp))
        elif torques is not None:
            self._publish_feet(snapshot, snapshot.joints, torques, stamp)
        message = self._joints.message(snapshot.joints, snapshot.velocities, stamp, torques, snapshot.extra)
        self._joint_states.publish(message)

    def _publish_feet(self, snapshot: Snapshot, joints: Array, torques: Array, stamp: Time) -> None:
        if self._foot_states is None or snapshot.times is None:
            return
        self._feet.update(joints, snapshot.time)
        speeds = np.zeros_like(torques) if snapshot.velocities is None else snapshot.velocities
        forces = self._estimator.update(joints, speeds, torques, snapshot.times)
        if forces is not None:
            self._foot_states.publish(self._feet.message(forces, stamp))

    def foot_contact_status(self, snapshot: Snapshot) -> str:
        """Quality of the contact estimate from servo loads, as a text for /diagnostics."""
        if self._foot_states is None:
            return "from contact sensors"
        if self._switched is not None:
            return self._switched.error or "known: from switches"
        if snapshot.loads is None or snapshot.times is None:
            return "unknown: needs servos that report load in every cycle and move evenly from goal to goal"
        if self._estimator.learning:
            return "learning: known after some steps"
        wrong = f"{100.0 * self._estimator.error:.0f} % of samples in swing look like contact"
        return f"known: {wrong}" if self._estimator.valid else f"unknown: {wrong}"

    def battery(self, snapshot: Snapshot, stamp: Time) -> None:
        """Publishes battery_state if the supply voltage is known."""
        if snapshot.voltage is None:
            return
        message = BatteryState(voltage=snapshot.voltage, present=True)
        message.header.stamp = stamp
        message.current = math.nan if snapshot.current is None else -snapshot.current  # discharging is negative
        message.charge = message.capacity = message.design_capacity = message.percentage = math.nan
        message.temperature = math.nan
        self._battery.publish(message)
