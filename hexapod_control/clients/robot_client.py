# SPDX-License-Identifier: Apache-2.0
"""The node of an operator's program: publishes commands to a robot and receives its state, without threads."""

from __future__ import annotations

import contextlib
import math
import time
from types import TracebackType

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose as PoseMessage
from geometry_msgs.msg import Twist as TwistMessage
from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from std_msgs.msg import String

from hexapod_control.clients import service_request
from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.service_request import ServiceRequest
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import ZERO
from hexapod_control.core.names import shortened
from hexapod_control.nodes.announcements.drive_announcement import DriveAnnouncement
from hexapod_control.nodes.announcements.graph_presence import TOPIC
from hexapod_control.nodes.announcements.node_presence import NodePresence
from hexapod_control.ros import messages
from hexapod_control.ros.client_node import ClientNode
from hexapod_control.ros.operator_requests import STEPS
from hexapod_control.ros.qos import COMMAND, DELIVERY_TIME_S, LATCHED, LATCHED_HISTORY
from hexapod_control.ros.trajectory_log import TrajectoryLog, sample

NAME = "keyboard"  # in core.steering.command_priorities.SOURCES
COMMAND_PERIOD_S = 0.05
ZERO_REPEAT_S = 0.5  # a zero command is repeated for this long after driving
MIN_READERS = 3  # subscribers of joint_states: gait_planner, inverse_kinematics, odometry
PRESENT_S = 2.0  # a node counts as running for this long after its last announcement
POSTURES = ("stand", "sit", "stop")


class RobotClient(ClientNode):
    """Context manager: a node that publishes `twist` periodically while `spin` runs.

    A zero twist is repeated only for a short time, so that other sources can drive. The robot is stopped at exit.
    """

    source_name = NAME
    node_name = "operator"

    def __init__(self, options: ConnectionOptions) -> None:
        clock = Parameter("use_sim_time", value=options.sim_time)
        super().__init__(self.node_name, options.namespace, parameter_overrides=[clock])
        self.twist = ZERO
        self.state = ""  # gait_state
        self.gait = ""
        self.gaits: tuple[str, ...] = ()
        self.maxima = ZERO  # velocity_limits
        self.source = ""  # command_source: the source that drives
        self._graphs: dict[str, float] = {}  # [s] steady time of the last announcement of each planner
        # [s] steady time
        self._last_sent = -math.inf
        self._last_driven = -math.inf
        self._stamped = options.stamped
        node = self._node
        kind = TwistStamped if options.stamped else TwistMessage
        self._cmd_vel = node.create_publisher(kind, options.cmd_vel, COMMAND)
        self._gait = node.create_publisher(String, "gait", COMMAND)
        self._pose = node.create_publisher(PoseMessage, "body_pose", COMMAND)
        self._announcement = DriveAnnouncement(node, self.source_name)
        self._clients = service_request.clients(node, *STEPS)
        node.create_subscription(String, TOPIC, self._on_presence, LATCHED_HISTORY)
        node.create_subscription(String, "gait_state", self._on_state, LATCHED)
        node.create_subscription(String, "gait_active", self._on_gait, LATCHED)
        node.create_subscription(String, "gaits", self._on_gaits, LATCHED)
        node.create_subscription(TwistMessage, "velocity_limits", self._on_limits, LATCHED)
        node.create_subscription(String, "command_source", self._on_source, LATCHED)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(Exception):  # the robot must stop after any error
            self.stop_driving()
        super().__exit__(kind, error, trace)

    def _on_presence(self, message: String) -> None:
        presence = NodePresence.parsed(message.data)
        if presence is not None and presence.node.endswith("/gait_planner"):
            self._graphs[presence.graph] = time.monotonic()

    @property
    def graphs(self) -> set[str]:
        """Ids of the graphs whose planners receive the commands of this client."""
        now = time.monotonic()
        return {graph for graph, heard in self._graphs.items() if now - heard <= PRESENT_S}

    def _on_state(self, message: String) -> None:
        self.state = shortened(message.data)

    def _on_gait(self, message: String) -> None:
        self.gait = shortened(message.data)

    def _on_gaits(self, message: String) -> None:
        self.gaits = tuple(shortened(name.strip()) for name in message.data.split(",") if name.strip())

    def _on_limits(self, message: TwistMessage) -> None:
        self.maxima = messages.twist(message)

    def _on_source(self, message: String) -> None:
        self.source = shortened(message.data)

    def missing(self) -> list[str]:
        """Topics and services of the robot that are not available yet."""
        count = self._node.count_subscribers
        all_read = count("joint_states") >= MIN_READERS
        available = {
            "reader of joint_targets": count("joint_targets") > 0,
            "joint_targets": self._node.count_publishers("joint_targets") > 0,
            "full set of joint_states readers (gait_planner, inverse_kinematics, odometry)": all_read,
            "gait_state": self.state not in ("", "unknown"),
            "cmd_vel's subscriber": self.has_listener,
            "gait's subscriber": self._gait.get_subscription_count() > 0,
            **{f"service {name}": self.has_service(name) for name in POSTURES},
        }
        return [name for name, there in available.items() if not there]

    def spin(self, seconds: float) -> None:
        """Receives messages for a time [s] and repeats the command."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0.0:
            now = time.monotonic()
            driving = not self.twist.is_zero or now - self._last_driven <= ZERO_REPEAT_S
            if driving and now - self._last_sent >= COMMAND_PERIOD_S:
                self.send()
            self._executor.spin_once(timeout_sec=min(left, COMMAND_PERIOD_S / 2))

    def send(self) -> None:
        """Publishes the command now."""
        self._last_sent = time.monotonic()
        if not self.twist.is_zero:
            self._last_driven = self._last_sent
            self._announcement.announce()
        if self._stamped:
            self._cmd_vel.publish(messages.twist_stamped_message(self.twist, self.stamp()))
        else:
            self._cmd_vel.publish(messages.twist_message(self.twist))

    def stamp(self) -> Time:
        """The current time."""
        return self._node.get_clock().now().to_msg()

    @property
    def has_listener(self) -> bool:
        """True if a node subscribes to the commands."""
        return bool(self._cmd_vel.get_subscription_count() > 0)

    def stop_driving(self) -> None:
        """Publishes a zero command if the robot may still follow an earlier one, and waits for its delivery."""
        self.twist = ZERO
        if time.monotonic() - self._last_driven <= ZERO_REPEAT_S:
            self.send()
            self._cmd_vel.wait_for_all_acked(Duration(seconds=DELIVERY_TIME_S))

    def request_pose(self, pose: BodyPose) -> None:
        """Publishes a body pose."""
        self._pose.publish(messages.body_pose_message(pose))

    def request_gait(self, name: str) -> None:
        """Publishes the name of a gait."""
        self._gait.publish(String(data=name))

    def request(self, name: str) -> ServiceRequest:
        """Begins a request, one of `STEPS`."""
        return ServiceRequest(name, self._clients)

    def has_service(self, service: str) -> bool:
        """True if a service is available."""
        return bool(self._clients[service].service_is_ready())


class SimulationClient(RobotClient):
    """A robot client that also logs ground truth and odometry of a simulated robot."""

    def __init__(self, options: ConnectionOptions) -> None:
        super().__init__(options)
        self.truth = TrajectoryLog()
        self.odometry = TrajectoryLog()
        create = self._node.create_subscription
        create(Odometry, "simulator/floating_base_state", lambda message: self.truth.add(sample(message)), 50)
        create(Odometry, "odom", lambda message: self.odometry.add(sample(message)), 50)

    def missing(self) -> list[str]:
        """Topics and services that are not available yet."""
        logs = {"simulator/floating_base_state": self.truth, "odom": self.odometry}
        return [*super().missing(), *(name for name, log in logs.items() if not len(log))]

    def stamp(self) -> Time:
        """Time of the newest ground truth, so that commands have the simulator's clock; zero before it arrives."""
        seconds, part = divmod(self.truth.last.time, 1.0) if len(self.truth) else (0.0, 0.0)
        return Time(sec=int(seconds), nanosec=int(1e9 * part))
