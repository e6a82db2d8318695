# SPDX-License-Identifier: Apache-2.0
"""The node of `hexapod play`: requests motions and follows their progress, without threads."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self, TextIO

from rclpy.duration import Duration
from std_msgs.msg import String
from std_srvs.srv import Trigger

from hexapod_control.clients.bounded_wait import DISCOVERY_S, wait_until
from hexapod_control.core.motions.motion_topics import DONE, REHEARSE, MotionState
from hexapod_control.ros.client_node import ClientNode
from hexapod_control.ros.qos import COMMAND, LATCHED_HISTORY

DELIVERY_S = 0.5  # time for a request to arrive
CYCLE_S = 120.0  # longest cycle of a motion that is waited for
BAR_WIDTH = 30  # characters


class MotionClient(ClientNode):
    """Context manager: a node that requests motions and receives `motion_state`."""

    def __init__(self, namespace: str) -> None:
        super().__init__("play", namespace)
        self._motion = self._node.create_publisher(String, "motion", COMMAND)
        self._cancel = self._node.create_client(Trigger, "cancel_motion")
        self._last: MotionState | None = None
        self._callback: Callable[[MotionState], None] | None = None
        self._node.create_subscription(String, "motion_state", self._on_state, LATCHED_HISTORY)

    def _on_state(self, message: String) -> None:
        if message.data:
            self._last = MotionState.parse(message.data)
            if self._callback is not None:
                self._callback(self._last)

    def follow(self, callback: Callable[[MotionState], None]) -> None:
        """Calls `callback` with every `motion_state` that arrives from now on."""
        self._callback = callback

    def spin(self, seconds: float) -> None:
        """Receives messages for a time [s]."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def wait_for_robot(self) -> bool:
        """Waits at most DISCOVERY_S for a robot whose `motion_state` no longer shows the end of an earlier motion.

        Returns True if there is one.
        """
        return wait_until(self._robot_is_ready, DISCOVERY_S, self.spin)

    def _robot_is_ready(self) -> bool:
        available = self._motion.get_subscription_count() > 0 and self._cancel.service_is_ready()
        return available and self._last is not None and not self._last.ended

    def request(self, data: str) -> None:
        """Requests a motion (MotionRequest.data); an empty text ends the current motion after its cycle."""
        self._motion.publish(String(data=data))
        self._motion.wait_for_all_acked(Duration(seconds=DELIVERY_S))

    def cancel(self, seconds: float) -> bool:
        """Ends the motion now. Returns True if the robot confirms it within `seconds` [s]."""
        response = self._cancel.call_async(Trigger.Request())
        return wait_until(response.done, seconds, self.spin) and bool(response.result().success)

    @property
    def playing(self) -> str:
        """Name of the motion that plays; empty if there is none."""
        state = self._last
        return state.name if state is not None and state.has_motion and not state.ended else ""

    def finish_cycle(self) -> bool:
        """Ends the current motion after its cycle, and waits for that end, at most CYCLE_S. Returns True if it came."""
        name = self.playing
        self.request("")
        return wait_until(lambda: self.playing != name, CYCLE_S, self.spin) if name else True


class MotionProgress:
    """State of one requested motion, until it has ended."""

    def __init__(self, names: Iterable[str], timeout: float) -> None:
        """`names` are those that the robot may report for the motion; `timeout` [s] is the limit for it to begin."""
        self._names = tuple(names)
        self._left = timeout
        self.name = self._names[0]
        self.phase = "requested"
        self.percent = 0
        self.over = False
        self.failure = ""
        self.begun = False
        self._other = ""  # motion that plays before

    def update(self, state: MotionState) -> None:
        """Handles one `motion_state`."""
        if self.over:
            return
        if state.name not in self._names:
            self._other = state.name if state.has_motion else ""
            if self.begun and state.phase != REHEARSE:
                self.over, self.failure = True, f"{self.name} was ended"
            return
        self.begun = True
        self._other = ""
        self.name = state.name
        self.phase = state.phase
        self.percent = state.percent
        if state.ended:
            self.over = True
            message = f"{state.name} was {state.phase}" + (f": {state.reason}" if state.reason else "")
            self.failure = "" if state.phase == DONE else message

    def pass_time(self, seconds: float) -> None:
        """Counts the timeout down by `seconds` [s] while an idle robot does not begin the motion."""
        if self.begun or self._other:
            return
        self._left -= seconds
        if self._left <= 0.0:
            self.over, self.failure = True, f"the robot did not begin {self.name}"

    def give_up(self, confirmed: bool) -> None:
        """Marks the motion as cancelled by the user, and whether the robot has confirmed it."""
        unknown = f"{self.name} was cancelled, but the robot does not confirm it: call stop, or use the E-STOP"
        self.over, self.failure = True, f"{self.name} was cancelled" if confirmed else unknown

    @property
    def line(self) -> str:
        """The progress bar as text."""
        if self._other:
            return f"{self.name}  waits for the end of {self._other}"
        full = round(BAR_WIDTH * self.percent / 100)
        return f"{self.name}  [{'#' * full}{'.' * (BAR_WIDTH - full)}] {self.percent:3d} %  {self.phase}"


class ProgressBar:
    """Context manager: a progress bar in the last line of a terminal; without a terminal, one line per phase."""

    def __init__(self, screen: TextIO) -> None:
        self._screen = screen
        self._rewrites = screen.isatty()
        self._last = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._rewrites and self._last:
            self._screen.write("\n")

    def show(self, progress: MotionProgress) -> None:
        """Shows the progress."""
        line = progress.line if self._rewrites else f"{progress.name}: {progress.phase}"
        if line == self._last:
            return
        self._last = line
        width = shutil.get_terminal_size().columns - 1
        self._screen.write(f"\r\x1b[K{line[:width]}" if self._rewrites else f"{line}\n")
        self._screen.flush()
