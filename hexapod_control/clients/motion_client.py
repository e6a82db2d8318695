"""The side of `hexapod play` that talks to a robot. No threads: `spin` does everything."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.duration import Duration
from std_msgs.msg import String
from std_srvs.srv import Trigger

from hexapod_control.clients.motion_progress import ENDS
from hexapod_control.ros.client_node import ClientNode
from hexapod_control.ros.qos import COMMAND, LATCHED_HISTORY

DELIVERED = 0.5  # [s] a wish may take
PIECE = 0.02  # [s]


class MotionClient(ClientNode):
    """Context manager: a node that asks for motions and hears how far they are."""

    def __init__(self, namespace: str) -> None:
        super().__init__("play", namespace)
        self._motion = self._node.create_publisher(String, "motion", COMMAND)
        self._cancel = self._node.create_client(Trigger, "cancel_motion")
        self._said = ""
        self._follow: Callable[[str], None] | None = None
        self._node.create_subscription(String, "motion_state", self._take, LATCHED_HISTORY)

    def _take(self, message: String) -> None:
        self._said = message.data
        if self._follow is not None:
            self._follow(message.data)

    def follow(self, take: Callable[[str], None]) -> None:
        """Tells every `motion_state` from now on."""
        self._follow = take

    def spin(self, seconds: float) -> None:
        """Takes in what comes within a time [s]."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def _until(self, condition: Callable[[], bool], seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not condition() and time.monotonic() < deadline:
            self.spin(PIECE)
        return condition()

    def found(self, seconds: float) -> bool:
        """Waits at most so long [s] for a robot that does not tell the end of an earlier motion any more."""
        return self._until(self._ready, seconds)

    def _ready(self) -> bool:
        heard = self._motion.get_subscription_count() > 0 and self._cancel.service_is_ready()
        return heard and bool(self._said) and self._said.split(" ")[1:2] not in [[end] for end in ENDS]

    def ask(self, text: str) -> None:
        """Asks for a motion by name or absolute path; nothing ends the one that plays after its cycle."""
        self._motion.publish(String(data=text))
        self._motion.wait_for_all_acked(Duration(seconds=DELIVERED))

    def cancel(self, seconds: float) -> bool:
        """Ends what plays; True once the robot has answered, within so long [s]."""
        answer = self._cancel.call_async(Trigger.Request())
        return self._until(answer.done, seconds)
