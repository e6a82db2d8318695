# SPDX-License-Identifier: Apache-2.0
"""Minimal relays: as many rclpy nodes as the graph has, with the same messages but without any computation.

Started with `python bench/minimal_relays.py ROLE`.
"""

from __future__ import annotations

import sys
from array import array
from typing import Any

import rclpy
from geometry_msgs.msg import Quaternion, Transform, TransformStamped, Twist, Wrench
from nav_msgs.msg import Odometry
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.utilities import try_shutdown
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
from std_msgs.msg import Float64

from hexapod_control.core.names import STANDARD, foot_name, joint_names
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.qos import COMMAND
from hexapod_control.ros.transport.executor import Spinner

RATE_HZ = 50.0
NUMBERS = [0.01 * k for k in range(3 * len(STANDARD))]  # in all messages


class RelayNode(Node):
    """Base class of all relays."""

    def every(self, period: float, work: Any) -> None:
        """Calls `work` with a period [s] of the steady clock."""
        self.create_timer(period, work, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def now(self) -> Any:
        """Returns the current time as a stamp."""
        return self.get_clock().now().to_msg()

    def ignore(self, kind: Any, *topics: str) -> None:
        """Subscribes to topics without using their messages."""
        for topic in topics:
            self.create_subscription(kind, topic, lambda message: None, COMMAND)


def feet_message() -> Any:
    """Returns a message of foot targets for six legs."""
    count = len(STANDARD)
    return MultiDOFJointState(
        joint_names=[foot_name(leg) for leg in STANDARD],
        transforms=[Transform(rotation=Quaternion(w=1.0)) for _ in range(count)],
        twist=[Twist() for _ in range(count)],
        wrench=[Wrench() for _ in range(count)],
    )


def fill(message: Any, numbers: list[float]) -> None:
    """Writes numbers into all used fields of foot targets."""
    for k, (transform, twist, wrench) in enumerate(zip(message.transforms, message.twist, message.wrench, strict=True)):
        place = transform.translation
        speed = twist.linear
        place.x, place.y, place.z = numbers[3 * k : 3 * k + 3]
        speed.x, speed.y, speed.z = numbers[3 * k : 3 * k + 3]
        wrench.force.z = numbers[k]


class SourceRelay(RelayNode):
    """Relay in place of gait_planner."""

    def __init__(self) -> None:
        super().__init__("source")
        self._message = feet_message()
        self._feet = self.create_publisher(MultiDOFJointState, "foot_targets", COMMAND)
        self._margin = self.create_publisher(Float64, "stability_margin", COMMAND)
        self.ignore(JointState, "joint_states")
        self.ignore(Twist, "cmd_vel")
        self.every(1.0 / RATE_HZ, self._tick)

    def _tick(self) -> None:
        self._message.header.stamp = self.now()
        fill(self._message, NUMBERS)
        self._feet.publish(self._message)
        self._margin.publish(Float64(data=0.1))


class ConverterRelay(RelayNode):
    """Relay in place of inverse_kinematics."""

    def __init__(self) -> None:
        super().__init__("converter")
        self._message = JointState(name=list(joint_names(STANDARD)))
        self._targets = self.create_publisher(JointState, "joint_targets", COMMAND)
        self.create_subscription(MultiDOFJointState, "foot_targets", self._convert, COMMAND)
        self.ignore(JointState, "joint_motion", "joint_states")

    def _convert(self, message: Any) -> None:
        places = [transform.translation for transform in message.transforms]
        speeds = [twist.linear for twist in message.twist]
        self._message.header.stamp = message.header.stamp
        self._message.position = array("d", [value for p in places for value in (p.x, p.y, p.z)])
        self._message.velocity = array("d", [value for v in speeds for value in (v.x, v.y, v.z)])
        self._targets.publish(self._message)


class HardwareRelay(RelayNode):
    """Relay in place of mujoco_sim."""

    def __init__(self) -> None:
        super().__init__("hardware")
        self._ticks = 0
        self._joints = JointState(name=list(joint_names(STANDARD)))
        self._feet = feet_message()
        self._joint_states = self.create_publisher(JointState, "joint_states", COMMAND)
        self._foot_states = self.create_publisher(MultiDOFJointState, "foot_states", COMMAND)
        self._imu = self.create_publisher(Imu, "imu/data", COMMAND)
        self._truth = self.create_publisher(Odometry, "simulator/floating_base_state", 10)
        self.ignore(JointState, "joint_targets")
        self.every(0.5 / RATE_HZ, self._tick)

    def _tick(self) -> None:
        self._ticks += 1
        stamp = self.now()
        imu = Imu()
        imu.header.stamp = stamp
        self._imu.publish(imu)
        if self._ticks % 2:
            return
        self._joints.header.stamp = self._feet.header.stamp = stamp
        self._joints.position = self._joints.velocity = self._joints.effort = array("d", NUMBERS)
        self._joint_states.publish(self._joints)
        fill(self._feet, NUMBERS)
        self._foot_states.publish(self._feet)
        truth = Odometry()
        truth.header.stamp = stamp
        self._truth.publish(truth)


class OdometryRelay(RelayNode):
    """Relay in place of odometry."""

    def __init__(self) -> None:
        super().__init__("reckoning")
        self._odom = self.create_publisher(Odometry, "odom", 10)
        self._tf = self.create_publisher(TFMessage, "/tf", 100)
        self.create_subscription(JointState, "joint_states", self._answer, COMMAND)
        self.ignore(MultiDOFJointState, "foot_targets")
        self.ignore(JointState, "joint_motion")

    def _answer(self, message: Any) -> None:
        odometry = Odometry()
        odometry.header.stamp = message.header.stamp
        self._odom.publish(odometry)
        self._tf.publish(TFMessage(transforms=[TransformStamped(), TransformStamped()]))


ROLES = {"source": SourceRelay, "converter": ConverterRelay, "hardware": HardwareRelay, "reckoning": OdometryRelay}


def main() -> int:
    """Runs the role given as first argument."""
    role = sys.argv.pop(1)
    rclpy.init()
    try:
        executor = Spinner()
        executor.add_node(node := ROLES[role]())
        while node.context.ok():
            executor.spin_once(timeout_sec=1.0)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
