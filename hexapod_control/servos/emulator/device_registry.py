# SPDX-License-Identifier: Apache-2.0
"""The emulated devices by protocol: what the modules of `devices/` name in their DEVICES."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence

from hexapod_control.servos.emulator import devices
from hexapod_control.servos.emulator.device import EmulatedDevice
from hexapod_control.servos.emulator.servo_world import ServoWorld


def _found() -> dict[str, Callable[..., EmulatedDevice]]:
    names = [f"{devices.__name__}.{each.name}" for each in pkgutil.iter_modules(devices.__path__)]
    modules = map(importlib.import_module, names)
    return {name: device for module in modules for name, device in getattr(module, "DEVICES", {}).items()}


DEVICES: Mapping[str, Callable[..., EmulatedDevice]] = _found()
"""(world, ids) -> device, by protocol."""
CONFIGURED = ("pca9685",)  # devices that take the options of their protocol


def emulated_device(
    protocol: str, world: ServoWorld, ids: Sequence[int], options: Sequence[tuple[str, object]] = ()
) -> EmulatedDevice:
    """The emulated device of a protocol with options of a robot file; servo `ids[i]` has index i in the world.

    Raises ValueError for a protocol without hardware.
    """
    if protocol not in DEVICES:
        raise ValueError(f"{protocol} has no hardware to emulate: choose another protocol")
    return DEVICES[protocol](world, ids, **(dict(options) if protocol in CONFIGURED else {}))
