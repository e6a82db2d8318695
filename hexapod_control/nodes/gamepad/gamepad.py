"""gamepad: publishes `joy` from a gamepad of Linux's input layer, for machines without ROS's joy package.

A gamepad that is removed is one message with everything at rest, then silence: nothing is repeated for it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rclpy.duration import Duration
from sensor_msgs.msg import Joy

from hexapod_control.core.steering.gamepad_map import GamepadState
from hexapod_control.nodes.gamepad.evdev_gamepad import (
    COUNT_AXES,
    COUNT_BUTTONS,
    EvdevDevice,
    EvdevGamepad,
    GamepadLost,
)
from hexapod_control.nodes.gamepad.settings import GamepadSettings
from hexapod_control.nodes.teleop.teleop import DELIVERED
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.node_process import run
from hexapod_control.ros.parameters import ParameterError, declare
from hexapod_control.ros.qos import EVENTS

POLL = 0.01  # [s] between two looks at the device
SEARCH = 1.0  # [s] between two looks for a device
AT_REST = GamepadState([0.0] * COUNT_AXES, [0] * COUNT_BUTTONS)


def devices() -> Iterable[EvdevDevice]:
    """All input devices that may be opened. Raises ParameterError without evdev."""
    try:
        import evdev
    except ModuleNotFoundError:
        cure = "apt install python3-evdev, or pip install 'hexapod_control[gamepad]'; or use game_controller_node"
        raise ParameterError(f"the Python module evdev is missing: {cure}") from None
    for path in evdev.list_devices():
        try:
            yield evdev.InputDevice(path)
        except OSError:  # not ours to open, or just gone
            continue


class GamepadNode(GuardedNode):
    """The node."""

    def __init__(self, find: Callable[[], Iterable[EvdevDevice]] = devices, **options: Any) -> None:
        """`find` lists the input devices. Raises ParameterError for input it cannot work with."""
        super().__init__("gamepad", **options)
        self.settings = declare(self, GamepadSettings)
        self._find = find
        self._pad: EvdevGamepad | None = None
        self._sent: tuple[float, GamepadState] | None = None  # [s] steady time
        self._joy = self.create_publisher(Joy, "joy", EVENTS)
        self._search()
        self.create_timer(POLL, self.poll, clock=self.steady)
        self.create_timer(SEARCH, self._search, clock=self.steady)

    def _search(self) -> None:
        if self._pad is not None:
            return
        for device in self._find():
            try:
                pad = EvdevGamepad(device, self.settings.deadzone)
            except (GamepadLost, OSError):
                continue
            if pad.usable and self.settings.device_name.lower() in pad.name.lower():
                self._pad = pad
                self.report("found", ReportLevel.OK, f"gamepad {pad.name}", every=0.0)
                return
            pad.close()
        which = f" with {self.settings.device_name!r} in its name" if self.settings.device_name else ""
        cure = "plug one in; if there is one, may this user read /dev/input/event* (group input)?"
        self.report("none", ReportLevel.WARNING, f"no gamepad{which}: {cure}", every=60.0)

    def poll(self) -> None:
        """Sends what has changed at once, and the state again from time to time."""
        pad = self._pad
        if pad is None:
            return
        try:
            pad.read()
        except GamepadLost as loss:
            self._lose(f"gamepad {pad.name} is gone ({loss}): everything at rest; plug it in again")
            return
        now = time.monotonic()
        if self._sent is None or pad.pad != self._sent[1] or now - self._sent[0] >= 1.0 / self.settings.autorepeat_rate:
            self._send(pad.pad)

    def _lose(self, text: str) -> None:
        pad, self._pad = self._pad, None
        self._send(AT_REST)
        self._sent = None
        self.report("lost", ReportLevel.ERROR, text, every=0.0)
        if pad is not None:
            pad.close()

    def _send(self, pad: GamepadState) -> None:
        self._sent = (time.monotonic(), pad)
        message = Joy(axes=list(pad.axes), buttons=list(pad.buttons))
        message.header.stamp, message.header.frame_id = self.get_clock().now().to_msg(), "joy"
        self._joy.publish(message)

    def safe_stop(self, callback: str) -> None:
        """Everything at rest; the device is looked for again."""
        self._lose(f"{callback} failed: the gamepad is opened again")

    def request_stop(self) -> None:
        """Everything at rest."""
        if self._pad is not None:
            self._send(AT_REST)

    def publish_final_state(self) -> None:
        """Waits until that has arrived."""
        self._joy.wait_for_all_acked(Duration(seconds=DELIVERED))

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        return {"gamepad": "none" if self._pad is None else self._pad.name}


def main(args: Sequence[str] | None = None) -> int:
    """Runs the node; returns the exit code."""
    return run(GamepadNode, args)


if __name__ == "__main__":
    sys.exit(main())
