"""The user's side of a running graph: commands out, what the robot does in. No threads: `spin` does everything."""

from __future__ import annotations

import contextlib
import math
import time
from types import TracebackType
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose as PoseMessage
from geometry_msgs.msg import Twist as TwistMessage
from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from std_msgs.msg import String
from std_srvs.srv import Trigger

from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.trajectory_log import TrajectoryLog, TrajectorySample
from hexapod_control.core.kinematics.body_pose import BodyPose, quaternion_angles
from hexapod_control.core.kinematics.se2 import ZERO, Pose, Twist
from hexapod_control.core.steering.command_priorities import ANNOUNCE
from hexapod_control.ros.client_node import ClientNode
from hexapod_control.ros.qos import COMMAND, EVENTS, LATCHED

NAME = "keyboard"  # in core.sources.SOURCES
PERIOD = 0.05  # [s] between commands
REPEATED = 0.5  # [s] for which a zero is repeated
DELIVERED = 0.3  # [s] the last zero may take
READERS = 3  # of joint_states: planner, kinematics, odometry
SERVICES = ("stand", "sit", "stop")


class RobotClient(ClientNode):
    """Context manager: a node that drives the robot with `twist`, PERIOD after PERIOD.

    A zero is repeated for a while only: whoever else drives then is not disturbed.
    """

    source_name = NAME

    def __init__(self, link: ConnectionOptions) -> None:
        clock = Parameter("use_sim_time", value=link.sim_time)
        super().__init__("operator", link.namespace, parameter_overrides=[clock])
        self.twist = ZERO
        self.state = ""
        self.gait = ""
        self.gaits: tuple[str, ...] = ()
        self.maxima = ZERO
        self.source = ""  # who drives
        self._sent = self._moved = self._announced = -math.inf  # [s] steady time
        self._stamped = link.stamped
        kind = TwistStamped if link.stamped else TwistMessage
        self._cmd_vel = self._node.create_publisher(kind, link.cmd_vel, COMMAND)
        self._gait = self._node.create_publisher(String, "gait", COMMAND)
        self._pose = self._node.create_publisher(PoseMessage, "body_pose", COMMAND)
        self._driving = self._node.create_publisher(String, "driving", EVENTS)
        self._clients = {name: self._node.create_client(Trigger, name) for name in SERVICES}
        self._subscribe()

    def _subscribe(self) -> None:
        create = self._node.create_subscription
        create(String, "gait_state", lambda message: setattr(self, "state", message.data), LATCHED)
        create(String, "gait_active", lambda message: setattr(self, "gait", message.data), LATCHED)
        create(String, "gaits", self._take_gaits, LATCHED)
        create(TwistMessage, "velocity_limits", self._take_limits, LATCHED)
        create(String, "command_source", lambda message: setattr(self, "source", message.data), LATCHED)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(Exception):  # whatever ends the program: the robot is not left walking
            self.rest()
        super().__exit__(kind, error, trace)

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
            "cmd_vel's subscriber": self._cmd_vel.get_subscription_count() > 0,
            "gait's subscriber": self._gait.get_subscription_count() > 0,
            **{f"service {name}": client.service_is_ready() for name, client in self._clients.items()},
        }
        return [name for name, there in wanted.items() if not there]

    def spin(self, seconds: float) -> None:
        """Takes in what comes within a time [s] and keeps the command alive."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0.0:
            now = time.monotonic()
            if now - self._sent >= PERIOD and (not self.twist.is_zero or now - self._moved <= REPEATED):
                self.send()
            self._executor.spin_once(timeout_sec=min(left, PERIOD / 2))

    def send(self) -> None:
        """Sends the command now."""
        self._sent = time.monotonic()
        if not self.twist.is_zero:
            self._moved = self._sent
            if self._sent - self._announced >= ANNOUNCE:
                self._announced = self._sent
                self._driving.publish(String(data=self.source_name))
        twist = TwistMessage()
        twist.linear.x, twist.linear.y, twist.angular.z = self.twist
        if self._stamped:
            message = TwistStamped(twist=twist)
            message.header.stamp, message.header.frame_id = self.stamp(), "base_footprint"
            self._cmd_vel.publish(message)
        else:
            self._cmd_vel.publish(twist)

    def stamp(self) -> Any:
        """Now, as a message."""
        return self._node.get_clock().now().to_msg()

    @property
    def heard(self) -> bool:
        """True if somebody listens to our commands."""
        return bool(self._cmd_vel.get_subscription_count() > 0)

    def rest(self) -> None:
        """A zero, if the robot may still be following our command, and time for it to arrive."""
        self.twist = ZERO
        if time.monotonic() - self._moved <= REPEATED:
            self.send()
            self._cmd_vel.wait_for_all_acked(Duration(seconds=DELIVERED))

    def lean(self, pose: BodyPose) -> None:
        """Asks for a body pose."""
        self._pose.publish(_pose_message(pose))

    def change_gait(self, name: str) -> None:
        """Asks for another gait."""
        self._gait.publish(String(data=name))

    def request(self, service: str) -> Any:
        """Calls a service. Returns a future of its Trigger response."""
        return self._clients[service].call_async(Trigger.Request())

    def ready(self, service: str) -> bool:
        """True if a service is there."""
        return bool(self._clients[service].service_is_ready())


class SimulationClient(RobotClient):
    """An operator in simulation, who also sees where the robot is and where its odometry takes it to be."""

    def __init__(self, link: ConnectionOptions) -> None:
        super().__init__(link)
        self.truth = TrajectoryLog()
        self.odometry = TrajectoryLog()
        create = self._node.create_subscription
        create(Odometry, "simulator/floating_base_state", lambda message: self.truth.add(sample(message)), 50)
        create(Odometry, "odom", lambda message: self.odometry.add(sample(message)), 50)

    def missing(self) -> list[str]:
        """What of the robot is not there yet."""
        seen = {"simulator/floating_base_state": self.truth, "odom": self.odometry}
        return [*super().missing(), *(name for name, track in seen.items() if not len(track))]

    def stamp(self) -> Any:
        """Time of the truth, whichever clock that is; zero without it, which goes unwatched."""
        seconds, part = divmod(self.truth.last.time, 1.0) if len(self.truth) else (0.0, 0.0)
        return Time(sec=int(seconds), nanosec=int(1e9 * part))


def _pose_message(pose: BodyPose) -> PoseMessage:
    message = PoseMessage()
    message.position.x, message.position.y, message.position.z = pose[:3]
    turn = message.orientation
    turn.x, turn.y, turn.z, turn.w = pose.quaternion()
    return message


def sample(message: Odometry) -> TrajectorySample:
    """What nav_msgs/Odometry says."""
    stamp, place, turn = message.header.stamp, message.pose.pose.position, message.pose.pose.orientation
    yaw = quaternion_angles(turn.x, turn.y, turn.z, turn.w)[2]
    return TrajectorySample(stamp.sec + 1e-9 * stamp.nanosec, Pose(place.x, place.y, yaw), place.z)
