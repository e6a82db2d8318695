# SPDX-License-Identifier: Apache-2.0
"""Reads a gamepad of the Linux input layer (evdev) as a GamepadState, with the order and signs of game_controller_node.

Codes are those of linux/input-event-codes.h and its gamepad specification (Documentation/input/gamepad.rst).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from hexapod_control.core.steering.gamepad_map import GamepadState

EV_SYN = 0
EV_KEY = 1
EV_ABS = 3
SYN_DROPPED = 3
BTN_SOUTH = 0x130
BTN_EAST = 0x131
BTN_NORTH = 0x133
BTN_WEST = 0x134
BTN_TL2 = 0x138
BTN_TR2 = 0x139
BUTTONS = {  # evdev code -> button number: A B X Y Back Guide Start, stick presses, L1 R1, D-pad
    BTN_SOUTH: 0,
    BTN_EAST: 1,
    BTN_NORTH: 2,
    BTN_WEST: 3,
    0x13A: 4,
    0x13C: 5,
    0x13B: 6,
    0x13D: 7,
    0x13E: 8,
    0x136: 9,
    0x137: 10,
    0x220: 11,
    0x221: 12,
    0x222: 13,
    0x223: 14,
}
# Drivers of Sony and Nintendo gamepads report the position of these buttons, other drivers their letter X or Y.
BY_POSITION = {BTN_NORTH: 3, BTN_WEST: 2}
VENDORS_BY_POSITION = (0x054C, 0x057E)
COUNT_BUTTONS = 21
COUNT_AXES = 6
ABS_X = 0
ABS_Y = 1
ABS_Z = 2
ABS_RX = 3
ABS_RY = 4
ABS_RZ = 5
ABS_GAS = 9
ABS_BRAKE = 10
HAT = {0x10: (13, 14), 0x11: (11, 12)}  # D-pad as two axes: buttons at the negative and the positive end
LEFT_TRIGGER = 4
RIGHT_TRIGGER = 5
TRIGGER_REST = 0.1  # share of the travel up to which an axis may be a trigger at rest


class GamepadLostError(Exception):
    """The gamepad was removed."""


class EvdevDevice(Protocol):
    """The part of evdev.InputDevice that is used; `Any`: evdev is not typed."""

    name: str
    info: Any

    def capabilities(self) -> Mapping[int, Sequence[Any]]: ...  # noqa: D102
    def absinfo(self, axis: int) -> Any: ...  # noqa: D102
    def active_keys(self) -> Sequence[int]: ...  # noqa: D102
    def read(self) -> Any: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102


class EvdevGamepad:
    """The state of one device, read without blocking."""

    def __init__(self, device: EvdevDevice, deadzone: float) -> None:
        """`deadzone` is the share of a stick's travel that counts as centered. Raises GamepadLostError."""
        self._device = device
        self._deadzone = deadzone
        self.name = device.name
        capabilities = device.capabilities()
        self._ranges = {code: (info.min, info.max) for code, info in capabilities.get(EV_ABS, ())}
        keys = set(capabilities.get(EV_KEY, ()))
        self._buttons = BUTTONS | (BY_POSITION if device.info.vendor in VENDORS_BY_POSITION else {})
        self._sticks, self._triggers = _layout(self._at_minimum())
        self._digital = {BTN_TL2: LEFT_TRIGGER, BTN_TR2: RIGHT_TRIGGER} if not self._triggers else {}
        self.state = GamepadState([0.0] * COUNT_AXES, [0] * COUNT_BUTTONS)
        self.usable = {ABS_X, ABS_Y} <= set(self._ranges) and BTN_SOUTH in keys
        self._resync()

    def read(self) -> None:
        """Applies the events since the last call. Raises GamepadLostError."""
        try:
            for event in self._device.read():
                if event.type == EV_SYN and event.code == SYN_DROPPED:
                    self._resync()
                else:
                    self._take(event.type, event.code, event.value)
        except BlockingIOError:
            pass
        except OSError as error:
            raise GamepadLostError(str(error)) from None

    def close(self) -> None:
        """Closes the device."""
        self._device.close()

    def _at_minimum(self) -> dict[int, bool]:
        """Whether each axis is at its minimum, where triggers rest."""
        try:
            return {
                code: lower < upper and _share(self._device.absinfo(code).value, lower, upper) < TRIGGER_REST
                for code, (lower, upper) in self._ranges.items()
            }
        except OSError as error:
            raise GamepadLostError(str(error)) from None

    def _resync(self) -> None:
        try:
            pressed = set(self._device.active_keys())
            values = {code: self._device.absinfo(code).value for code in self._ranges}
        except OSError as error:
            raise GamepadLostError(str(error)) from None
        for code in (*self._buttons, *self._digital):
            self._take(EV_KEY, code, int(code in pressed))
        for code, value in values.items():  # last: a D-pad may also be reported as axes
            self._take(EV_ABS, code, value)

    def _take(self, kind: int, code: int, value: int) -> None:
        axes, buttons = list(self.state.axes), list(self.state.buttons)
        if kind == EV_KEY and code in self._buttons:
            buttons[self._buttons[code]] = int(value != 0)
        elif kind == EV_KEY and code in self._digital:
            axes[self._digital[code]] = -float(value != 0)
        elif kind == EV_ABS and code in self._sticks:
            axes[self._sticks[code]] = self._stick(code, value)
        elif kind == EV_ABS and code in self._triggers:
            lower, upper = self._ranges[code]
            axes[self._triggers[code]] = -_share(value, lower, upper)
        elif kind == EV_ABS and code in HAT:
            for button, pressed in zip(HAT[code], (value < 0, value > 0), strict=True):
                buttons[button] = int(pressed)
        self.state = GamepadState(axes, buttons)

    def _stick(self, code: int, value: int) -> float:
        """Deflection of a stick in [-1, 1], + to the left and forward; 0 at the edge of the dead zone."""
        lower, upper = self._ranges[code]
        deflection = 1.0 - 2.0 * _share(value, lower, upper)
        beyond = max(0.0, abs(deflection) - self._deadzone) / (1.0 - self._deadzone)
        return beyond if deflection > 0.0 else -beyond


def _layout(at_minimum: Mapping[int, bool]) -> tuple[dict[int, int], dict[int, int]]:
    """The axis numbers of sticks and triggers, by evdev code; `at_minimum` has the axes that the device has.

    RX and RY are the right stick, or else Z and RZ. Some drivers report the triggers as RX and RY: these rest at their
    minimum while Z and RZ do not.
    """
    candidates = ((ABS_RX, ABS_RY), (ABS_Z, ABS_RZ), (ABS_BRAKE, ABS_GAS))
    pairs = [pair for pair in candidates if set(pair) <= at_minimum.keys()]
    sticks = [pair for pair in pairs if pair != candidates[-1]]
    right = next((pair for pair in sticks if not all(map(at_minimum.get, pair))), next(iter(sticks), ()))
    triggers = next((pair for pair in pairs if pair != right), ())
    return (
        dict(zip((ABS_X, ABS_Y, *right), range(4), strict=False)),
        dict(zip(triggers, (LEFT_TRIGGER, RIGHT_TRIGGER), strict=False)),
    )


def _share(value: int, lower: int, upper: int) -> float:
    """Position of a value between its ends, in [0, 1]; the middle for an axis without a range."""
    return min(1.0, max(0.0, (value - lower) / (upper - lower))) if upper > lower else 0.5
