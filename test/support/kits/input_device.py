# SPDX-License-Identifier: Apache-2.0
"""An emulated input device of Linux, in place of evdev.InputDevice."""

import errno
from types import SimpleNamespace

from hexapod_control.nodes.gamepad.evdev_gamepad import EV_ABS, EV_KEY

KEYS = [0x130, 0x131, 0x133, 0x134, 0x136, 0x137, 0x13A, 0x13B, 0x13C, 0x13D, 0x13E]
STICK, TRIGGER, HAT = (-32768, 32767), (0, 255), (-1, 1)
XBOX = {0: STICK, 1: STICK, 2: TRIGGER, 3: STICK, 4: STICK, 5: TRIGGER, 0x10: HAT, 0x11: HAT}
GENERIC = {0: TRIGGER, 1: TRIGGER, 2: TRIGGER, 5: TRIGGER, 0x10: HAT, 0x11: HAT}
BLUETOOTH = {0: STICK, 1: STICK, 2: STICK, 5: STICK, 9: TRIGGER, 10: TRIGGER}


class Device:
    """A stub for evdev.InputDevice."""

    def __init__(self, axes=XBOX, keys=KEYS, vendor=0x045E, name="Test Pad"):
        self.name, self.info = name, SimpleNamespace(vendor=vendor)
        self.axes, self.keys = axes, keys
        self.values = {
            code: (low + high + 1) // 2 if high > 1 and low < 0 else low for code, (low, high) in axes.items()
        }
        self.values |= {code: 0 for code, ends in axes.items() if ends == HAT}
        if axes is GENERIC:
            self.values |= dict.fromkeys((0, 1, 2, 5), 128)
        self.pressed, self.events = set(), []
        self.gone = self.closed = False

    def capabilities(self):
        ranges = [(code, SimpleNamespace(min=low, max=high)) for code, (low, high) in self.axes.items()]
        return {EV_ABS: ranges, EV_KEY: self.keys}

    def absinfo(self, axis):
        self._check()
        return SimpleNamespace(value=self.values[axis])

    def active_keys(self):
        self._check()
        return list(self.pressed)

    def read(self):
        self._check()
        if not self.events:
            raise BlockingIOError
        events, self.events = self.events, []
        return iter(events)

    def close(self):
        self.closed = True

    def _check(self):
        if self.gone:
            raise OSError(errno.ENODEV, "No such device")

    def event(self, kind, code, value):
        self.events.append(SimpleNamespace(type=kind, code=code, value=value))
        if kind == EV_ABS:
            self.values[code] = value
        elif kind == EV_KEY:
            (self.pressed.add if value else self.pressed.discard)(code)
