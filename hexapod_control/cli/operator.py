"""The user's side of a running graph: commands out, what the robot does in. No threads: `spin` does everything."""

from __future__ import annotations

import math
import time
from types import TracebackType
from typing import Any

import rclpy
from geometry_msgs.msg import Twist as TwistMessage
from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String
from std_srvs.srv import Trigger

from hexapod_control.cli.demo import Sample, Track
from hexapod_control.core.se2 import ZERO, Pose, Twist

PERIOD = 0.05  # [s] between commands
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
READERS = 3  # of joint_states: planner, kinematics, odometry
SERVICES = ("stand", "sit", "stop")


class Operator:
    """Context manager: a node that drives the robot with `twist`, PERIOD after PERIOD."""

    def __init__(self, namespace: str, stamped: bool) -> None:
        self._context = rclpy.Context()
        rclpy.init(context=self._context, args=[], signal_handler_options=SignalHandlerOptions.NO)
        self._node = Node("operator", context=self._context, namespace=namespace, use_global_arguments=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self.twist = ZERO
        self.state = ""
        self.gait = ""
        self.gaits: tuple[str, ...] = ()
        self.maxima = ZERO
        self.truth = Track()
        self.odometry = Track()
        self._sent = -math.inf
        self._stamped = stamped
        self._cmd_vel = self._node.create_publisher(TwistStamped if stamped else TwistMessage, "cmd_vel", NEWEST)
        self._gait = self._node.create_publisher(String, "gait", NEWEST)
        self._clients = {name: self._node.create_client(Trigger, name) for name in SERVICES}
        self._subscribe()

    def _subscribe(self) -> None:
        create = self._node.create_subscription
        create(String, "gait_state", lambda message: setattr(self, "state", message.data), LATCHED)
        create(String, "gait_active", lambda message: setattr(self, "gait", message.data), LATCHED)
        create(String, "gaits", self._take_gaits, LATCHED)
        create(TwistMessage, "velocity_limits", self._take_limits, LATCHED)
        create(Odometry, "simulator/floating_base_state", lambda message: self.truth.add(_sample(message)), 50)
        create(Odometry, "odom", lambda message: self.odometry.add(_sample(message)), 50)

    def __enter__(self) -> Operator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.shutdown(0.5)
        self._node.destroy_node()
        self._context.try_shutdown()

    def _take_gaits(self, message: String) -> None:
        self.gaits = tuple(name.strip() for name in message.data.split(",") if name.strip())

    def _take_limits(self, message: TwistMessage) -> None:
        self.maxima = Twist(message.linear.x, message.linear.y, message.angular.z)

    def missing(self) -> list[str]:
        """What of the robot is not there yet."""
        count = self._node.count_subscribers
        wanted = {
            "reader of joint_targets": count("joint_targets") > 0,
            "joint_targets": self._node.count_publishers("joint_targets") > 0,
            "reader of joint_states in every node": count("joint_states") >= READERS,
            "gait_state": self.state not in ("", "unknown"),
            "simulator/floating_base_state": len(self.truth) > 0,
            "odom": len(self.odometry) > 0,
            "cmd_vel's subscriber": self._cmd_vel.get_subscription_count() > 0,
            "gait's subscriber": self._gait.get_subscription_count() > 0,
            **{f"service {name}": client.service_is_ready() for name, client in self._clients.items()},
        }
        return [name for name, there in wanted.items() if not there]

    def spin(self, seconds: float) -> None:
        """Takes in what comes within a time [s] and keeps the command alive."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0.0:
            if time.monotonic() - self._sent >= PERIOD:
                self.send()
            self._executor.spin_once(timeout_sec=min(left, PERIOD / 2))

    def send(self) -> None:
        """Sends the command now."""
        self._sent = time.monotonic()
        twist = TwistMessage()
        twist.linear.x, twist.linear.y, twist.angular.z = self.twist
        if self._stamped:
            message = TwistStamped(twist=twist)
            if len(self.truth):  # its clock, whichever it is; without it the stamp is zero and goes unwatched
                seconds, part = divmod(self.truth.last.time, 1.0)
                message.header.stamp.sec, message.header.stamp.nanosec = int(seconds), int(1e9 * part)
            self._cmd_vel.publish(message)
        else:
            self._cmd_vel.publish(twist)

    def change_gait(self, name: str) -> None:
        """Asks for another gait."""
        self._gait.publish(String(data=name))

    def request(self, service: str) -> Any:
        """Calls a service. Returns a future of its Trigger response."""
        return self._clients[service].call_async(Trigger.Request())


def _sample(message: Odometry) -> Sample:
    stamp, place, turn = message.header.stamp, message.pose.pose.position, message.pose.pose.orientation
    yaw = math.atan2(2.0 * (turn.w * turn.z + turn.x * turn.y), 1.0 - 2.0 * (turn.y * turn.y + turn.z * turn.z))
    return Sample(stamp.sec + 1e-9 * stamp.nanosec, Pose(place.x, place.y, yaw), place.z)
