# SPDX-License-Identifier: Apache-2.0
"""Node recorder: buffers the newest messages of all topics of a robot and writes a bag on request or on a fault.

It only subscribes: its own failures (disk full, folder read-only) are reported and do not affect the robot.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.serialization import deserialize_message
from std_msgs.msg import String
from std_srvs.srv import Trigger

from hexapod_control.bags.bag_file import BagChannel, BagError
from hexapod_control.bags.bag_saver import BagSaver, new_path
from hexapod_control.bags.ring_buffer import RecordedMessage, RingBuffer
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.nodes.recorder.topic_taps import TopicTaps
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel

DISCOVERY_PERIOD_S = 0.25  # between two searches for new topics
POLL_PERIOD_S = 0.1
FAULT_STATES = (RobotState.FAULT.value, RobotState.FALLEN.value)  # values of gait_state
AFTER_FAULT_S = 2.0  # recorded after a fault
MAX_FAULT_BAGS = 10  # per run
LAST_MESSAGES_S = 0.3  # recorded after the request to end
MAX_LAST_BAG_S = 60.0  # time limit for writing the last bag


@dataclass(frozen=True, slots=True)
class RecorderSettings:
    """Limits of the buffer, and the folder of the bags."""

    seconds: float = 60.0  # length of the buffer
    out: Path = Path()
    max_bytes: int = 256 * 1024 * 1024


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
        self.ring = RingBuffer(settings.seconds, settings.max_bytes)
        self.failed_last = False  # the last bag was not written
        self._announce = announce
        self._taps = TopicTaps(self, self._take, self.ring.latch)
        self._watches = {
            f"{self._taps.namespace}gait_state": self._watch_state,
            "/diagnostics": self._watch_diagnostics,
        }
        self._state = ""
        self._in_error: set[str] = set()  # names in /diagnostics whose last level is ERROR
        self._due: tuple[float, str] | None = None  # steady time [s] and reason of the next bag of a fault
        self._quiet_until = 0.0  # [s] steady time until which faults start no further bag
        self._faults = 0
        self._end = 0.0  # [s] steady time
        self._saver = BagSaver(self._taps.namespace, self._finish)
        self.create_service(Trigger, "~/save", self._serve)
        self.create_timer(DISCOVERY_PERIOD_S, self._taps.discover, clock=self.steady)
        self.create_timer(POLL_PERIOD_S, self._poll, clock=self.steady)
        self._taps.discover()

    def _take(self, message: RecordedMessage) -> None:
        self.ring.add(message)
        watch = self._watches.get(message.topic)
        if watch is not None:
            watch(message.data)

    # --- faults -------------------------------------------------------------------------------------------

    def _watch_state(self, data: bytes) -> None:
        state = deserialize_message(data, String).data
        if state in FAULT_STATES and self._state != state:
            self._fault(f"gait_state is {state}")
        self._state = state

    def _watch_diagnostics(self, data: bytes) -> None:
        for status in deserialize_message(data, DiagnosticArray).status:
            if status.name == self.get_fully_qualified_name() or not status.name.startswith(self._taps.namespace):
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
        try:
            path = new_path(self.settings.out, self.ring.size)
        except BagError as error:
            self._finish(False, str(error))
            return False, str(error)
        return self._saver.save(self.ring, self.channels.values(), path, reason)

    def _finish(self, good: bool, text: str) -> None:
        self.failed_last = not good
        if good:
            self.report("saved", ReportLevel.OK, f"written: {text}", every=0.0)
        else:
            self.report("not saved", ReportLevel.ERROR, text, every=0.0)
        self._announce(text)

    def _serve(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = self.save("requested by the service")
        return response

    def _poll(self) -> None:
        self._saver.poll()
        if self._due is not None and time.monotonic() >= self._due[0] and not self._saver.busy:
            reason = self._due[1]
            self._due = None
            self.save(reason)

    @property
    def channels(self) -> Mapping[str, BagChannel]:
        """Recorded topics, by name."""
        return self._taps.channels

    # --- life cycle -----------------------------------------------------------------------------------------

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        return {"seconds": round(self.ring.seconds, 1), "topics": len(self.channels), "bytes": self.ring.size}

    def request_stop(self) -> None:
        """Records for LAST_MESSAGES_S more, to receive messages that are still being delivered."""
        self._end = time.monotonic() + LAST_MESSAGES_S

    def stopped(self) -> bool:
        """True LAST_MESSAGES_S after `request_stop`."""
        return time.monotonic() >= self._end

    def publish_final_state(self) -> None:
        """Writes the last bag."""
        self._saver.wait(MAX_LAST_BAG_S)
        self._due = None
        self.save("end of the recording")
        self._saver.wait(MAX_LAST_BAG_S)
