# SPDX-License-Identifier: Apache-2.0
"""Velocity commands: `cmd_vel` as Twist or TwistStamped, and `arc`. Reports refusals and conflicting publishers."""

from __future__ import annotations

import math
import time

from geometry_msgs.msg import Twist as TwistMessage
from geometry_msgs.msg import TwistStamped, Vector3
from rclpy.qos import ReliabilityPolicy
from rclpy.subscription import Subscription
from rclpy.topic_endpoint_info import TopicEndpointInfo

from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.motions.motion_steps import ArcStep, MotionError
from hexapod_control.core.motions.operator_commands import OperatorCommands
from hexapod_control.core.names import enumerated
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.refusal import Refusal, Statement
from hexapod_control.core.robot import Vector
from hexapod_control.nodes.gait_planner.velocity_filter import VelocityFilter
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.monitoring.endpoints import node_name, of_known_nodes
from hexapod_control.ros.qos import COMMAND
from hexapod_control.ros.row_messages import xyz

WATCH_PERIOD_S = 0.05  # between two checks of the timeout
SOURCES_AGE_S = 1.0  # after which the names of the publishers are looked up again
# A longer gap between two checks means that this process was paused, and commands that arrived meanwhile may not have
# been read yet: that check is skipped. The next one is not, so commands also expire in a process that is always late.
MAX_WATCH_GAP_S = 0.2
TOPIC = "cmd_vel"
ARC = "arc"
DRIVING = "driving"  # topic on which sources announce that they are in use
NON_PLANAR = Statement("non_planar", "linear.z, angular.x, angular.y are ignored; use body_pose to lean or rise")


class VelocityInput:
    """Passes accepted twists on to the operator commands, and stops the walk when they stop arriving.

    Lives as long as its node. velocity_filter.py decides which commands are accepted.
    """

    def __init__(
        self, node: GuardedNode, commands: OperatorCommands, planner: Planner, stamped: bool, timeout: float
    ) -> None:
        """`stamped`: cmd_vel is TwistStamped; `timeout` [s] of a command."""
        self.filter = VelocityFilter(timeout)
        self._node = node
        self._commands = commands
        self._planner = planner
        self._topic = TOPIC  # of the present command
        self._stamped = stamped
        self.last_refusal = ""
        self._warned: set[str] = set()  # kinds that were reported
        self._watched = time.monotonic()
        self._skipped = False  # whether the last check was skipped
        self._sources: list[str] = []
        # Topic, number of publishers and steady time [s] for which the sources were found.
        self._sources_of: tuple[str, int, float] = ("", 0, -math.inf)
        self._type = "geometry_msgs/msg/TwistStamped" if stamped else "geometry_msgs/msg/Twist"
        self._subscription = node.create_subscription(
            TwistStamped if stamped else TwistMessage, TOPIC, self.on_cmd_vel, COMMAND
        )
        self._arcs = node.create_subscription(Vector3, ARC, self.on_arc, COMMAND)
        node.create_timer(WATCH_PERIOD_S, self.watch, clock=node.steady)

    def on_cmd_vel(self, message: TwistMessage | TwistStamped) -> None:
        """Handles cmd_vel as Twist or TwistStamped."""
        stamp = None
        if isinstance(message, TwistStamped):
            stamp = messages.nanoseconds(message.header.stamp) * 1e-9
            message = message.twist
        non_planar = messages.non_planar(message)
        if self._offer(TOPIC, messages.twist(message), non_planar, stamp) and any(non_planar):
            self._report(TOPIC, NON_PLANAR)

    def on_arc(self, message: Vector3) -> None:
        """Handles an arc: x is the travel of the outermost foot per stance [m], y the curvature (`twist_of_arc`)."""
        travel, curvature, unused = xyz(message)
        try:
            ArcStep(travel=travel, curvature=curvature)
        except MotionError as error:
            return self._report(ARC, Refusal("bounds", "{error}: refused", error=error))
        if unused != 0.0:
            text = "z must be 0, is {z:g}: refused; x is the travel, y the curvature"
            return self._report(ARC, Refusal("arc_z", text, z=unused))
        self._offer(ARC, self._planner.view.arc_twist(travel, curvature), (0.0, 0.0, 0.0), None)

    def _offer(self, topic: str, twist: Twist, non_planar: Vector, stamp: float | None) -> bool:
        """Passes a twist on, or reports why it is refused."""
        now = self._node.get_clock().now().nanoseconds * 1e-9 if stamp is not None else 0.0
        verdict = self.filter.offer(twist, non_planar, stamp, now, time.monotonic())
        if verdict.report is not None:
            self._report(topic, verdict.report)
        if verdict.accepted:
            self._topic = topic
            ignored = self._commands.velocity(self.filter.twist)
            if ignored:
                self._node.report("not standing", ReportLevel.OK, f"cmd_vel {ignored}")
        return verdict.accepted

    def _report(self, topic: str, said: Statement) -> None:
        """Reports a refusal, or once each peculiarity of accepted messages."""
        told = Statement("of_topic", "{topic}: {said}", topic=topic, said=said)
        if isinstance(said, Refusal):
            self.last_refusal = str(told)
        elif said.kind in self._warned:
            return
        else:
            self._warned.add(said.kind)
        self._node.report(f"{topic} {said.kind}", ReportLevel.WARNING, told)

    def watch(self) -> None:
        """Checks for a timeout of the command; after a pause of this process, waiting messages are read first."""
        now = time.monotonic()
        last = self._watched
        self._watched = now
        self._skipped = now - last > MAX_WATCH_GAP_S and not self._skipped
        if not self._skipped and self.filter.expire(now):
            seconds = self.filter.timeout
            topic = self._topic
            question = "is its sender running?"
            cause = self._node.clock_monitor.cause(question, now)
            why: str | Statement = Statement("sender_gone", question) if cause == question else cause
            text = "{topic}: nothing usable for {seconds:g} s while walking: stopping; {why}"
            said = Statement("command_silent", text, topic=topic, seconds=seconds, why=why)
            self._node.report(f"{topic} timeout", ReportLevel.WARNING, said)
            self._commands.velocity_timed_out()

    # --- publishers ------------------------------------------------------------------------------------------

    @property
    def sources(self) -> list[str]:
        """Nodes that publish the topic of the present command; looked up once a second, or if their number changes."""
        subscription = self._arcs if self._topic == ARC else self._subscription
        count = subscription.get_publisher_count()
        now = time.monotonic()
        if self._sources_of[:2] != (self._topic, count) or now - self._sources_of[2] > SOURCES_AGE_S:
            self._sources_of = self._topic, count, now
            self._sources = sorted({node_name(info) for info in self._publishers(subscription)})
        return self._sources

    def _publishers(self, subscription: Subscription) -> list[TopicEndpointInfo]:
        return list(self._node.get_publishers_info_by_topic(subscription.topic_name))

    def check_publishers(self) -> None:
        """Reports publishers with the wrong type, and several publishers at once."""
        received = []
        for info in self._publishers(self._subscription):
            name = node_name(info)
            if info.topic_type != self._type:
                other = "false" if self._stamped else "true"
                remedy = f"start gait_planner with enable_stamped_cmd_vel:={other}, or change the sender"
                text = f"{name} publishes {info.topic_type} on {TOPIC}, not {self._type}: it is not received; {remedy}"
                self._node.report(f"type of {name}", ReportLevel.ERROR, text)
            elif info.qos_profile.reliability != ReliabilityPolicy.BEST_EFFORT:
                received.append(info)
        # Sources that announce themselves on `driving` publish only while in use, so they do not conflict.
        announced = {node_name(info) for info in self._node.get_publishers_info_by_topic(DRIVING)}
        known = {node_name(info) for info in of_known_nodes(received)}
        if len(known) > 1 and known - announced:
            names = enumerated(sorted(known))
            text = f"{names} publish {TOPIC} at once: the newest message wins; put a twist_mux between"
            self._node.report(f"publishers {names}", ReportLevel.WARNING, text, every=math.inf)
