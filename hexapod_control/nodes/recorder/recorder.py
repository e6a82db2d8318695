"""Node recorder: keeps the newest messages of all topics of a robot and writes a bag when asked, or on a fault.

It listens only: what goes wrong here (disk full, folder read-only) is said in a sentence and does not reach the robot.
The bag is written by a thread from a copy, so that nothing is missed meanwhile.
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
from std_msgs.msg import String
from std_srvs.srv import Trigger

from hexapod_control.bags import bag_file
from hexapod_control.bags.bag_file import BagChannel, BagError
from hexapod_control.bags.ring_buffer import RecordedMessage, RingBuffer
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.message_types import message_class
from hexapod_control.ros.qos import recording

GLOBAL = ("/tf", "/tf_static", "/diagnostics", "/clock", "/rosout")  # of all robots
LEFT_OUT = ("/parameter_events",)
LOOK = 0.25  # [s] between two looks for new topics
POLL = 0.1  # [s]
AFTERMATH = 2.0  # [s] a bag of a fault goes on after it
MOST_FAULTS = 10  # bags written by themselves in one run
LINGER = 0.3  # [s] after it was asked to end
LAST = 60.0  # [s] the last bag may take
DEPTH = 50


@dataclass(frozen=True, slots=True)
class RecorderSettings:
    """What is kept, and where it is written."""

    seconds: float = 60.0
    out: Path = Path()
    most_bytes: int = 256 * 1024 * 1024


class RecorderNode(GuardedNode):
    """The ring of one robot: of the node's namespace, or of everything if it has none."""

    def __init__(self, settings: RecorderSettings, told: Callable[[str], None], **options: Any) -> None:
        """`told` gets the path of each bag that was written, or the sentence why it was not."""
        super().__init__("recorder", **options)
        self.settings = settings
        self.ring = RingBuffer(settings.seconds, settings.most_bytes)
        self.failed_last = False  # was the last bag not written
        self._told = told
        self._space = self.get_namespace().rstrip("/") + "/"
        self._channels: dict[str, BagChannel] = {}
        self._subscriptions_of: dict[str, Any] = {}
        self._state = ""
        self._in_error: set[str] = set()
        self._due: tuple[float, str] | None = None  # [s] steady time of the next bag of a fault, and why
        self._quiet_until = 0.0  # [s] steady time
        self._faults = 0
        self._leave = 0.0  # [s] steady time
        self._writing: threading.Thread | None = None
        self._result: tuple[bool, str] | None = None
        self.create_service(Trigger, "~/save", self._serve)
        self.create_timer(LOOK, self._look, clock=self.steady)
        self.create_timer(POLL, self._watch, clock=self.steady)
        self._look()

    # --- listening ----------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Subscribes to new topics, and anew to those whose publishers have come or have another quality."""
        for topic, kinds in self.get_topic_names_and_types():
            if not self._wanted(topic):
                continue
            reliable, latched = self._quality(topic)
            channel = BagChannel(topic, kinds[0], reliable, latched)
            if self._channels.get(topic) != channel and self._usable(topic, kinds):
                self._listen(channel)

    def _wanted(self, topic: str) -> bool:
        hidden = any(part.startswith("_") for part in topic.split("/"))
        return not hidden and topic not in LEFT_OUT and (topic in GLOBAL or topic.startswith(self._space))

    def _usable(self, topic: str, kinds: list[str]) -> bool:
        if len(kinds) == 1 and bag_file.known(kinds[0]) and message_class(kinds[0]) is not None:
            return True
        if f"unknown {topic}" not in self.sent_reports:
            why = "has several types" if len(kinds) > 1 else f"its type {kinds[0]} is not known here"
            self.report(f"unknown {topic}", ReportLevel.WARNING, f"{topic} is not recorded: {why}")
        return False

    def _quality(self, topic: str) -> tuple[bool, bool]:
        """(reliable, latched): what all publishers of a topic offer; best effort fits those that are to come."""
        offered = [info.qos_profile for info in self.get_publishers_info_by_topic(topic)]
        reliable = bool(offered) and all(o.reliability == ReliabilityPolicy.RELIABLE for o in offered)
        latched = bool(offered) and all(o.durability == DurabilityPolicy.TRANSIENT_LOCAL for o in offered)
        before = self._channels.get(topic)
        if before and not offered:  # they have gone
            return before.reliable, before.latched
        return reliable, latched

    def _listen(self, channel: BagChannel) -> None:
        topic = channel.topic
        old = self._subscriptions_of.pop(topic, None)
        if old is not None:
            self.destroy_subscription(old)
        if channel.latched:
            self.ring.latch(topic)
        quality = recording(DEPTH, reliable=channel.reliable, latched=channel.latched)
        look = self._looks().get(topic)

        def take(data: bytes) -> None:
            self.ring.add(RecordedMessage(time.monotonic_ns(), topic, data))
            if look is not None:
                look(data)

        self._channels[topic] = channel
        kind = message_class(channel.kind)
        self._subscriptions_of[topic] = self.create_subscription(kind, topic, take, quality, raw=True)

    # --- faults -------------------------------------------------------------------------------------------

    def _looks(self) -> Mapping[str, Callable[[bytes], None]]:
        return {f"{self._space}gait_state": self._look_at_state, "/diagnostics": self._look_at_diagnostics}

    def _look_at_state(self, data: bytes) -> None:
        state = deserialize_message(data, String).data
        if state == "fault" and self._state != "fault":
            self._fault("gait_state is fault")
        self._state = state

    def _look_at_diagnostics(self, data: bytes) -> None:
        for status in deserialize_message(data, DiagnosticArray).status:
            if status.name == self.get_fully_qualified_name() or not status.name.startswith(self._space):
                continue
            if status.level != bytes([ReportLevel.ERROR]):
                self._in_error.discard(status.name)
            elif status.name not in self._in_error:
                self._in_error.add(status.name)
                self._fault(f"{status.name}: {status.message}")

    def _fault(self, why: str) -> None:
        """Plans a bag that goes on a little after the fault; one for all faults of the same time."""
        now = time.monotonic()
        if self._due is not None or now < self._quiet_until:
            return
        self._quiet_until = now + self.settings.seconds
        self._faults += 1
        if self._faults <= MOST_FAULTS:
            self._due = now + AFTERMATH, why
        elif self._faults == MOST_FAULTS + 1:
            self.report(
                "enough", ReportLevel.WARNING, f"{MOST_FAULTS} faults have been recorded, no more bags by themselves"
            )

    # --- saving -------------------------------------------------------------------------------------------

    def save(self, why: str) -> tuple[bool, str]:
        """Begins to write what is in the ring. Returns whether it does, and a sentence."""
        if self._writing is not None:
            return False, "a bag is being written: ask again when it is done"
        self.ring.expire(time.monotonic_ns())
        messages = self.ring.snapshot()
        if not messages:
            return self._finish(False, f"nothing has been heard below {self._space} yet, so there is nothing to write")
        name = time.strftime("hexapod_%Y-%m-%d_%H-%M-%S")
        try:
            path = bag_file.place(self.settings.out.expanduser().absolute(), self.ring.size, name)
        except BagError as error:
            return self._finish(False, str(error))
        channels, offset = tuple(self._channels.values()), time.time_ns() - time.monotonic_ns()
        text = f"{path}: {self.ring.seconds:.0f} s with {len(messages)} messages ({why})"

        def work() -> None:
            try:
                bag_file.write(path, channels, messages, offset)
                self._result = True, text
            except Exception as error:  # whatever it is, it ends in a sentence
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
        self._told(text)
        return good, text

    def _serve(self, request: Any, response: Any) -> Any:
        response.success, response.message = self.save("asked for by the service")
        return response

    def _watch(self) -> None:
        if self._result is not None and self._writing is not None:
            self._writing.join()
            result, self._writing, self._result = self._result, None, None
            self._finish(*result)
        if self._due is not None and time.monotonic() >= self._due[0] and self._writing is None:
            why, self._due = self._due[1], None
            self.save(why)

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

    # --- life ---------------------------------------------------------------------------------------------

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        return {"seconds": round(self.ring.seconds, 1), "topics": len(self._channels), "bytes": self.ring.size}

    def request_stop(self) -> None:
        """What has arrived by now is still taken in."""
        self._leave = time.monotonic() + LINGER

    def stopped(self) -> bool:
        """True when that is done."""
        return time.monotonic() >= self._leave

    def publish_final_state(self) -> None:
        """The last bag."""
        self._await()
        self._due = None
        self.save("end of the recording")
        self._await()

    def _await(self) -> None:
        if self._writing is not None:
            self._writing.join(LAST)
            if self._result is None:
                self._result = False, f"the bag is not complete after {LAST:g} s: is the disk that slow?"
            self._watch()
