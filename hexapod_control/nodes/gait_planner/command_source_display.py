"""The topic `command_source`: the source of highest priority among those announced on `driving`, for display only."""

from __future__ import annotations

import time

from std_msgs.msg import String

from hexapod_control.core.steering.command_priorities import ANNOUNCEMENT_TIMEOUT_S, SOURCES, highest_priority
from hexapod_control.nodes.gait_planner.velocity_input import VelocityInput
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import EVENTS, LATCHED

NO_SOURCE = "none"
WATCH_PERIOD_S = 0.2
MAX_NAME_LENGTH = 40
MAX_NAMES = 16  # stored in addition to the names of the table


class CommandSourceDisplay:
    """Publishes the latched topic `command_source`. Lives as long as its node."""

    def __init__(self, node: GuardedNode, velocity: VelocityInput) -> None:
        self._velocity = velocity
        self.announced: dict[str, float] = {}  # [s] steady time by name
        self._shown = ""
        self._publisher = node.create_publisher(String, "command_source", LATCHED)
        node.create_subscription(String, "driving", self.on_driving, EVENTS)
        node.create_timer(WATCH_PERIOD_S, self.show, clock=node.steady)
        self.show()

    def on_driving(self, message: String) -> None:
        """Records a source that is in use."""
        name = "".join(filter(str.isprintable, message.data[:MAX_NAME_LENGTH]))
        if name and (name in SOURCES or name in self.announced or len(self.announced) < MAX_NAMES):
            self.announced[name] = time.monotonic()
            self.show()

    @property
    def name(self) -> str:
        """The announced source with the highest priority; without one, the nodes that publish cmd_vel."""
        now = time.monotonic()
        self.announced = {name: when for name, when in self.announced.items() if now - when <= ANNOUNCEMENT_TIMEOUT_S}
        if self.announced:
            return highest_priority(self.announced)
        return NO_SOURCE if self._velocity.filter.twist.is_zero else ", ".join(self._velocity.sources) or NO_SOURCE

    def show(self) -> None:
        """Publishes the name if it has changed."""
        name = self.name
        if name != self._shown:
            self._shown = name
            self._publisher.publish(messages.text(name))
