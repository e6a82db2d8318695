"""A bag's topics published again, for page and RViz: never into a robot that runs, and no commands unless asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from rosgraph_msgs.msg import Clock

from hexapod_control.bags.bag_file import Bag, BagChannel, BagError
from hexapod_control.ros import messages
from hexapod_control.ros.client_node import ClientNode
from hexapod_control.ros.message_types import message_class
from hexapod_control.ros.qos import EVENTS, recording

GLOBAL = ("/tf", "/tf_static", "/diagnostics", "/clock", "/rosout")
LEFT_OUT = ("/rosout", "/parameter_events")  # every node makes its own
COMMANDS = ("cmd_vel", "arc", "gait", "body_pose", "foot_command", "motion", "joint_targets", "joint_motion", "driving")
ACTING = ("gait_planner", "inverse_kinematics", "servo_driver", "mujoco_sim", "odometry")
MEET = 0.5  # [s] for nodes to see each other
GUARD = 0.1  # [s] between two looks for a robot
TICK = 0.01  # [s] of the published clock
DEPTH = 100


class BagPlayer(ClientNode):
    """Context manager: one bag and its publishers."""

    def __init__(self, bag: Bag, namespace: str | None, commands: str, clock: str) -> None:
        """`namespace` instead of the bag's, None for that; `commands` and `clock`: "yes" publishes them, too."""
        self._bag = bag
        self.source = bag.namespace
        self.namespace = self.source if namespace is None else f"/{namespace.strip('/')}".rstrip("/")
        super().__init__("player")
        self.left_out: list[str] = []
        self._publishers: dict[str, Any] = {}
        for channel in bag.channels:
            if commands != "yes" and channel.topic in {f"{self.source}/{name}" for name in COMMANDS}:
                continue
            if channel.topic not in LEFT_OUT:
                self._publish(channel)
        self._clock = None
        if clock == "yes" and "/clock" not in self._publishers:
            self._clock = self._node.create_publisher(Clock, "/clock", EVENTS)

    def _publish(self, channel: BagChannel) -> None:
        kind = message_class(channel.kind)
        if kind is None:
            self.left_out.append(f"{channel.topic} ({channel.kind})")
            return
        quality = recording(
            depth=1 if channel.latched else DEPTH,
            reliable=True,  # matches every subscription
            latched=channel.latched,
        )
        topic = channel.topic
        if topic not in GLOBAL and topic.startswith(f"{self.source}/"):
            topic = self.namespace + topic.removeprefix(self.source)
        self._publishers[channel.topic] = self._node.create_publisher(kind, topic, quality)

    def guard(self) -> None:
        """Raises BagError if a robot runs where the bag would be published."""
        place = self.namespace or "/"
        for name, space in self._node.get_node_names_and_namespaces():
            if name in ACTING and space == place:
                raise BagError(
                    f"{name} runs in {place}: a bag is not played into a robot; end it, or give another --namespace "
                    "or ROS_DOMAIN_ID"
                )

    def meet(self, seconds: float = MEET) -> None:
        """Lets so much time [s] pass, in which nodes see each other. Raises BagError as `guard`."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._executor.spin_once(timeout_sec=TICK)
        self.guard()

    def seen(self) -> bool:
        """Whether somebody listens to anything."""
        return any(publisher.get_subscription_count() > 0 for publisher in self._publishers.values())

    def play(self, speed: float, ended: Callable[[], bool]) -> int:
        """Publishes the bag once, at times its speed, until `ended`. Returns the number of messages."""
        begin, start, count, guarded = time.monotonic(), self._bag.start, 0, 0.0
        for at, topic, data in self._messages():
            due = begin + 1e-9 * (at - start) / speed
            while not ended():
                now = time.monotonic()
                if now - guarded >= GUARD:
                    guarded = now
                    self.guard()
                if now >= due:
                    break
                self._tell_time(start + round(1e9 * speed * (now - begin)))
                self._executor.spin_once(timeout_sec=min(due - now, TICK))
            if ended():
                return count
            self._publishers[topic].publish(data)
            count += 1
        return count

    def _messages(self) -> Iterator[tuple[int, str, bytes]]:
        return self._bag.raw(self._publishers)

    def _tell_time(self, now: int) -> None:
        if self._clock is not None:
            self._clock.publish(Clock(clock=messages.time(now)))
