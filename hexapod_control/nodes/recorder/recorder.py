"""Node recorder: buffers the newest messages of all topics of a robot and writes a bag on request or on a fault.

It only subscribes: its own failures (disk full, folder read-only) are reported and do not affect the robot.
A thread writes the bag from a copy of the buffer, so that no message is lost meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from std_msgs.msg import String
from std_srvs.srv import Trigger

from hexapod_control.bags import bag_file
from hexapod_control.bags.bag_file import BagChannel, BagError
from hexapod_control.bags.ring_buffer import RecordedMessage, RingBuffer
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.message_types import message_class
from hexapod_control.ros.qos import recording

GLOBAL = ("/tf", "/tf_static", "/diagnostics", "/clock", "/rosout")  # of all robots
SKIPPED_TOPICS = ("/parameter_events",)
DISCOVERY_PERIOD_S = 0.25  # between two searches for new topics
POLL_PERIOD_S = 0.1
FAULT_STATES = (RobotState.FAULT.value, RobotState.FALLEN.value)  # values of gait_state
AFTER_FAULT_S = 2.0  # that the bag of a fault continues after it
MAX_FAULT_BAGS = 10  # per run
LAST_MESSAGES_S = 0.3  # that recording continues after the request to end
MAX_LAST_BAG_S = 60.0  # that writing the last bag may take
QUEUE_DEPTH = 50  # messages


@dataclass(frozen=True, slots=True)
class RecorderSettings:
    """Bounds of the buffer, and the folder of the bags."""

    seconds: float = 60.0  # [s]
    out: Path = Path()
    most_bytes: int = 256 * 1024 * 1024


class RecorderNode(GuardedNode):
    """Records the topics in the node's namespace, or all topics if it has none.

    Subscribes to topics as they appear; writes a last bag when it is asked to end.
    """

    def __init__(self, settings: RecorderSettings, announce: Callable[[str], None], **options: Any) -> None:
        """`announce` is called with the path of each bag that was written, or the reason why it was not.

        `options` are those of rclpy's Node; `Any`: rclpy has no type for them.
        """
        super().__init__("recorder", **options)
        self.settings = settings
        self.ring = RingBuffer(settings.seconds, settings.most_bytes)
        self.failed_last = False  # the last bag was not written
        self._announce = announce
        self._space = self.get_namespace().rstrip("/") + "/"
        self._channels: dict[str, BagChannel] = {}
        self._subscriptions_of: dict[str, Subscription] = {}
        self._state = ""
        self._in_error: set[str] = set()
        self._due: tuple[float, str] | None = None  # [s] steady time of the next bag of a fault, reason
        self._quiet_until = 0.0  # [s] steady time
        self._faults = 0
        self._end = 0.0  # [s] steady time
        self._writing: threading.Thread | None = None
        self._result: tuple[bool, str] | None = None
        self.create_service(Trigger, "~/save", self._serve)
        self.create_timer(DISCOVERY_PERIOD_S, self._discover, clock=self.steady)
        self.create_timer(POLL_PERIOD_S, self._poll, clock=self.steady)
        self._discover()

    # --- subscriptions ------------------------------------------------------------------------------------

    def _discover(self) -> None:
        """Subscribes to new topics, and again to those whose publishers have changed their QoS."""
        for topic, kinds in self.get_topic_names_and_types():
            if not self._wanted(topic):
                continue
            reliable, latched = self._offered_qos(topic)
            channel = BagChannel(topic, kinds[0], reliable, latched)
            if self._channels.get(topic) != channel and self._usable(topic, kinds):
                self._subscribe(channel)

    def _wanted(self, topic: str) -> bool:
        hidden = any(part.startswith("_") for part in topic.split("/"))
        return not hidden and topic not in SKIPPED_TOPICS and (topic in GLOBAL or topic.startswith(self._space))

    def _usable(self, topic: str, kinds: list[str]) -> bool:
        if len(kinds) == 1 and bag_file.has_definition(kinds[0]) and message_class(kinds[0]) is not None:
            return True
        if f"unknown {topic}" not in self.sent_reports:
            why = "has several types" if len(kinds) > 1 else f"its type {kinds[0]} is not installed"
            self.report(f"unknown {topic}", ReportLevel.WARNING, f"{topic} is not recorded: {why}")
        return False

    def _offered_qos(self, topic: str) -> tuple[bool, bool]:
        """(reliable, latched) as all publishers of a topic offer it; without any: best effort, which matches all."""
        offered = [info.qos_profile for info in self.get_publishers_info_by_topic(topic)]
        reliable = bool(offered) and all(o.reliability == ReliabilityPolicy.RELIABLE for o in offered)
        latched = bool(offered) and all(o.durability == DurabilityPolicy.TRANSIENT_LOCAL for o in offered)
        before = self._channels.get(topic)
        if before and not offered:  # the publishers have gone
            return before.reliable, before.latched
        return reliable, latched

    def _subscribe(self, channel: BagChannel) -> None:
        topic = channel.topic
        old = self._subscriptions_of.pop(topic, None)
        if old is not None:
            self.destroy_subscription(old)
        if channel.latched:
            self.ring.latch(topic)
        profile = recording(QUEUE_DEPTH, reliable=channel.reliable, latched=channel.latched)
        watch = self._fault_watches().get(topic)

        def take(data: bytes) -> None:
            self.ring.add(RecordedMessage(time.monotonic_ns(), topic, data))
            if watch is not None:
                watch(data)

        self._channels[topic] = channel
        kind = message_class(channel.kind)
        self._subscriptions_of[topic] = self.create_subscription(kind, topic, take, profile, raw=True)

    # --- faults -------------------------------------------------------------------------------------------

    def _fault_watches(self) -> Mapping[str, Callable[[bytes], None]]:
        """Callbacks for the topics that report faults; they take the serialised message."""
        return {f"{self._space}gait_state": self._watch_state, "/diagnostics": self._watch_diagnostics}

    def _watch_state(self, data: bytes) -> None:
        state = deserialize_message(data, String).data
        if state in FAULT_STATES and self._state != state:
            self._fault(f"gait_state is {state}")
        self._state = state

    def _watch_diagnostics(self, data: bytes) -> None:
        for status in deserialize_message(data, DiagnosticArray).status:
            if status.name == self.get_fully_qualified_name() or not status.name.startswith(self._space):
                continue
            if status.level != bytes([ReportLevel.ERROR]):
                self._in_error.discard(status.name)
            elif status.name not in self._in_error:
                self._in_error.add(status.name)
                self._fault(f"{status.name}: {status.message}")

    def _fault(self, reason: str) -> None:
        """Schedules a bag that continues for a while after the fault; faults close together share one bag."""
        now = time.monotonic()
        if self._due is not None or now < self._quiet_until:
            return
        self._quiet_until = now + self.settings.seconds
        self._faults += 1
        if self._faults <= MAX_FAULT_BAGS:
            self._due = now + AFTER_FAULT_S, reason
        elif self._faults == MAX_FAULT_BAGS + 1:
            text = f"{MAX_FAULT_BAGS} faults have been recorded: further ones are not; save on request, or restart"
            self.report("fault limit", ReportLevel.WARNING, text)

    # --- saving -------------------------------------------------------------------------------------------

    def save(self, reason: str) -> tuple[bool, str]:
        """Starts writing the buffer to a bag. Returns whether it has started, and a message for the user."""
        if self._writing is not None:
            return False, "a bag is being written: save again when it is complete"
        self.ring.expire(time.monotonic_ns())
        messages = self.ring.snapshot()
        if not messages:
            return self._finish(False, f"no message has arrived below {self._space} yet: nothing to write")
        name = time.strftime("hexapod_%Y-%m-%d_%H-%M-%S")
        try:
            path = bag_file.new_bag_path(self.settings.out.expanduser().absolute(), self.ring.size, name)
        except BagError as error:
            return self._finish(False, str(error))
        channels, offset = tuple(self._channels.values()), time.time_ns() - time.monotonic_ns()
        text = f"{path}: {self.ring.seconds:.0f} s with {len(messages)} messages ({reason})"

        def work() -> None:
            try:
                bag_file.write(path, channels, messages, offset)
                self._result = True, text
            except Exception as error:  # a thread has no caller: every failure becomes a message
                self._result = False, str(error)

        self._writing = threading.Thread(target=work, daemon=True)
        self._writing.start()
        return True, text

    def _finish(self, good: bool, text: str) -> tuple[bool, str]:
        self.failed_last = not good
        if good:
            self.report("saved", ReportLevel.OK, f"written: {text}", every=0.0)
        else:
            self.report("not saved", ReportLevel.ERROR, text, every=0.0)
        self._announce(text)
        return good, text

    def _serve(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = self.save("requested by the service")
        return response

    def _poll(self) -> None:
        if self._result is not None and self._writing is not None:
            self._writing.join()
            result, self._writing, self._result = self._result, None, None
            self._finish(*result)
        if self._due is not None and time.monotonic() >= self._due[0] and self._writing is None:
            reason, self._due = self._due[1], None
            self.save(reason)

    @property
    def channels(self) -> Mapping[str, BagChannel]:
        """Recorded topics, by name."""
        return MappingProxyType(self._channels)

    @property
    def nodes_in_error(self) -> frozenset[str]:
        """Names in /diagnostics whose last level is ERROR."""
        return frozenset(self._in_error)

    @property
    def fault_pending(self) -> bool:
        """True while a bag of a fault is due but not yet written."""
        return self._due is not None

    # --- life cycle -----------------------------------------------------------------------------------------

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        return {"seconds": round(self.ring.seconds, 1), "topics": len(self._channels), "bytes": self.ring.size}

    def request_stop(self) -> None:
        """Records for LAST_MESSAGES_S more, to receive messages that are still being delivered."""
        self._end = time.monotonic() + LAST_MESSAGES_S

    def stopped(self) -> bool:
        """True once that time has passed."""
        return time.monotonic() >= self._end

    def publish_final_state(self) -> None:
        """Writes the last bag."""
        self._finish_writing()
        self._due = None
        self.save("end of the recording")
        self._finish_writing()

    def _finish_writing(self) -> None:
        if self._writing is not None:
            self._writing.join(MAX_LAST_BAG_S)
            if self._result is None:
                self._result = False, f"the bag is not complete after {MAX_LAST_BAG_S:g} s: is the disk too slow?"
            self._poll()
