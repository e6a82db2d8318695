# SPDX-License-Identifier: Apache-2.0
"""Publishes the topics of a bag, e.g. for RViz: never to a running robot, and commands only on request."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock

from hexapod_control.bags.bag_file import Bag, BagChannel, BagError
from hexapod_control.nodes.recorder.topic_taps import GLOBAL
from hexapod_control.ros import messages
from hexapod_control.ros.client_node import ClientNode
from hexapod_control.ros.message_types import message_class
from hexapod_control.ros.qos import EVENTS, recording

SKIPPED_TOPICS = ("/rosout", "/parameter_events")  # every running node publishes its own
COMMANDS = ("cmd_vel", "arc", "gait", "body_pose", "foot_command", "motion", "joint_targets", "joint_motion", "driving")
ROBOT_NODES = ("gait_planner", "inverse_kinematics", "servo_driver", "mujoco_sim", "odometry")
CONNECTION_TIME_S = 0.5  # for the nodes to discover the player
ROBOT_CHECK_PERIOD_S = 0.1  # between two checks for a running robot
CLOCK_PERIOD_S = 0.01  # of the published clock
QUEUE_DEPTH = 100  # messages


class BagPlayer(ClientNode):
    """Publishes one bag; a context manager, whose publishers exist inside the `with` block."""

    def __init__(self, bag: Bag, namespace: str | None, commands: str, clock: str) -> None:
        """`namespace` replaces that of the bag, None keeps it; `commands` and `clock`: "yes" also publishes them."""
        self._bag = bag
        self.source = bag.namespace
        self.namespace = self.source if namespace is None else f"/{namespace.strip('/')}".rstrip("/")
        super().__init__("player")
        self.skipped: list[str] = []  # topics whose message type is not installed
        self._publishers: dict[str, Publisher] = {}
        for channel in bag.channels:
            if commands != "yes" and channel.topic in {f"{self.source}/{name}" for name in COMMANDS}:
                continue
            if channel.topic not in SKIPPED_TOPICS:
                self._advertise(channel)
        self._clock = None
        if clock == "yes" and "/clock" not in self._publishers:
            self._clock = self._node.create_publisher(Clock, "/clock", EVENTS)

    def _advertise(self, channel: BagChannel) -> None:
        kind = message_class(channel.kind)
        if kind is None:
            self.skipped.append(f"{channel.topic} ({channel.kind})")
            return
        profile = recording(
            depth=1 if channel.latched else QUEUE_DEPTH,
            reliable=True,  # matches every subscription
            latched=channel.latched,
        )
        topic = channel.topic
        if topic not in GLOBAL and topic.startswith(f"{self.source}/"):
            topic = self.namespace + topic.removeprefix(self.source)
        self._publishers[channel.topic] = self._node.create_publisher(kind, topic, profile)

    def check_no_robot(self) -> None:
        """Raises BagError if a robot runs in the namespace in which the bag would be published."""
        target = self.namespace or "/"
        for name, namespace in self._node.get_node_names_and_namespaces():
            if name in ROBOT_NODES and namespace == target:
                raise BagError(
                    f"{name} runs in {target}: a bag is not played to a running robot; stop the robot, or use another "
                    "--namespace or ROS_DOMAIN_ID"
                )

    def spin(self, seconds: float = CONNECTION_TIME_S) -> None:
        """Spins for a time [s], in which nodes discover each other. Raises BagError if a robot runs."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._executor.spin_once(timeout_sec=CLOCK_PERIOD_S)
        self.check_no_robot()

    def has_subscribers(self) -> bool:
        """Whether any of the topics has a subscriber."""
        return any(publisher.get_subscription_count() > 0 for publisher in self._publishers.values())

    def play(self, speed: float, ended: Callable[[], bool]) -> int:
        """Publishes the bag once, at `speed` times real time, until `ended`. Returns the number of messages."""
        begin = time.monotonic()
        start = self._bag.start
        count = 0
        checked = 0.0
        for at, topic, data in self._messages():
            due = begin + 1e-9 * (at - start) / speed
            while not ended():
                now = time.monotonic()
                if now - checked >= ROBOT_CHECK_PERIOD_S:
                    checked = now
                    self.check_no_robot()
                if now >= due:
                    break
                self._publish_clock(start + round(1e9 * speed * (now - begin)))
                self._executor.spin_once(timeout_sec=min(due - now, CLOCK_PERIOD_S))
            if ended():
                return count
            self._publishers[topic].publish(data)
            count += 1
        return count

    def _messages(self) -> Iterator[tuple[int, str, bytes]]:
        return self._bag.raw(self._publishers)

    def _publish_clock(self, now: int) -> None:
        if self._clock is not None:
            self._clock.publish(Clock(clock=messages.time(now)))
