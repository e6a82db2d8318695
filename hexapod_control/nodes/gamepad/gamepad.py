# SPDX-License-Identifier: Apache-2.0
"""Node gamepad: publishes `joy` from a gamepad of the Linux input layer, for computers without the ROS package joy.

Or from an RC receiver. When the gamepad is removed, or the signal is lost, one message with all controls at rest is
published, then none.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rclpy.duration import Duration
from sensor_msgs.msg import Joy

from hexapod_control.config.channel_file import load_channels, shipped_channels
from hexapod_control.config.missing_modules import missing_module
from hexapod_control.core.steering.gamepad_map import GamepadState
from hexapod_control.nodes.gamepad.evdev_gamepad import (
    COUNT_AXES,
    COUNT_BUTTONS,
    EvdevDevice,
    EvdevGamepad,
    GamepadLostError,
)
from hexapod_control.nodes.gamepad.rc_receiver import RcReceiver
from hexapod_control.nodes.gamepad.settings import GamepadSettings
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.node_process import run
from hexapod_control.ros.parameters import ParameterError, declare
from hexapod_control.ros.qos import DELIVERY_TIME_S, EVENTS

POLL_PERIOD_S = 0.01  # between two reads of the device
SEARCH_PERIOD_S = 1.0  # between two searches for a device
AT_REST = GamepadState([0.0] * COUNT_AXES, [0] * COUNT_BUTTONS)


def devices() -> Iterable[EvdevDevice]:
    """All input devices that may be opened. Raises ParameterError without evdev."""
    try:
        import evdev
    except ModuleNotFoundError as error:
        raise ParameterError(f"{missing_module(error)}; or use game_controller_node") from None
    for path in evdev.list_devices():
        try:
            yield evdev.InputDevice(path)
        except OSError:  # no permission, or just removed
            continue


class GamepadNode(GuardedNode):
    """Finds a gamepad, publishes its state, and finds it again after a removal."""

    def __init__(self, find: Callable[[], Iterable[EvdevDevice]] = devices, **options: Any) -> None:
        """`find` lists the input devices. Raises ParameterError for an invalid parameter, ChannelFileError."""
        super().__init__("gamepad", **options)
        self.settings = declare(self, GamepadSettings)
        self._find = find
        self._channels = load_channels(Path(self.settings.channels or shipped_channels()))
        self._gamepad: EvdevGamepad | RcReceiver | None = None
        self._sent: tuple[float, GamepadState] | None = None  # [s] steady time
        self._joy = self.create_publisher(Joy, "joy", EVENTS)
        self._search()
        self.create_timer(POLL_PERIOD_S, self.poll, clock=self.steady)
        self.create_timer(SEARCH_PERIOD_S, self._search, clock=self.steady)

    def _search(self) -> None:
        if self._gamepad is None:
            self._gamepad = self._receiver() if self.settings.receiver else self._device()
        elif isinstance(self._gamepad, RcReceiver) and not self._gamepad.usable:
            self.report("none", ReportLevel.WARNING, f"{self._gamepad.name}: {self._gamepad.why_unusable}", every=10.0)

    def _receiver(self) -> RcReceiver | None:
        kind, port = self.settings.receiver, self.settings.port
        try:
            return RcReceiver(kind, port, self._channels)
        except GamepadLostError as error:
            self.report("none", ReportLevel.WARNING, f"{kind.upper()} receiver at {port}: {error}", every=60.0)
            return None

    def _device(self) -> EvdevGamepad | None:
        for device in self._find():
            try:
                pad = EvdevGamepad(device, self.settings.deadzone)
            except (GamepadLostError, OSError):
                continue
            if pad.usable and self.settings.device_name.lower() in pad.name.lower():
                self.report("found", ReportLevel.OK, f"gamepad {pad.name}", every=0.0)
                return pad
            pad.close()
        which = f" with {self.settings.device_name!r} in its name" if self.settings.device_name else ""
        remedy = "plug one in; if there is one, may this user read /dev/input/event* (group input)?"
        self.report("none", ReportLevel.WARNING, f"no gamepad{which}: {remedy}", every=60.0)
        return None

    def poll(self) -> None:
        """Publishes a changed state at once, and an unchanged one at the repetition rate."""
        pad = self._gamepad
        if pad is None:
            return
        try:
            pad.read()
        except GamepadLostError as loss:
            self._lose(
                f"{pad.name}: {loss}: all controls at rest; when it is back, release the dead-man first"
                if self.settings.receiver
                else f"gamepad {pad.name} was removed ({loss}): all controls at rest; plug it in again"
            )
            return
        if not pad.usable:
            return
        if self.settings.receiver and self._sent is None:
            self.report("found", ReportLevel.OK, pad.name, every=0.0)
        now = time.monotonic()
        if (
            self._sent is None
            or pad.state != self._sent[1]
            or now - self._sent[0] >= 1.0 / self.settings.autorepeat_rate
        ):
            self._send(pad.state)

    def _lose(self, text: str) -> None:
        pad = self._gamepad
        self._gamepad = None
        if pad is None or pad.usable:
            self._send(AT_REST)
        self._sent = None
        self.report("lost", ReportLevel.ERROR, text, every=0.0)
        if pad is not None:
            pad.close()

    def _send(self, pad: GamepadState) -> None:
        self._sent = (time.monotonic(), pad)
        message = Joy(axes=list(pad.axes), buttons=list(pad.buttons))
        message.header.stamp = self.get_clock().now().to_msg()
        message.header.frame_id = "joy"
        self._joy.publish(message)

    def safe_stop(self, callback: str) -> None:
        """Publishes all controls at rest and opens the device again."""
        self._lose(f"{callback} failed: reopening the gamepad")

    def request_stop(self) -> None:
        """Publishes all controls at rest."""
        if self._gamepad is not None and self._gamepad.usable:
            self._send(AT_REST)

    def publish_final_state(self) -> None:
        """Waits until the last message is delivered."""
        self._joy.wait_for_all_acked(Duration(seconds=DELIVERY_TIME_S))

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        return {"gamepad": self._gamepad.name if self._gamepad is not None and self._gamepad.usable else "none"}


def main(args: Sequence[str] | None = None) -> int:
    """Runs the node. Returns the exit code."""
    return run(GamepadNode, args)


if __name__ == "__main__":
    sys.exit(main())
