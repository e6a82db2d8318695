"""Table of emulated devices by protocol name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hexapod_control.servos.emulator.chips.i2c_adapter import I2cAdapter
from hexapod_control.servos.emulator.device import EmulatedDevice
from hexapod_control.servos.emulator.devices import (
    dynamixel1_device,
    dynamixel2_device,
    feetech_device,
    lx16a_device,
)
from hexapod_control.servos.emulator.devices.maestro_device import MaestroDevice
from hexapod_control.servos.emulator.devices.servo2040_device import Servo2040Device
from hexapod_control.servos.emulator.devices.ssc32_device import Ssc32Device
from hexapod_control.servos.emulator.servo_world import ServoWorld

DEVICES: Mapping[str, Callable[..., EmulatedDevice]] = {  # (world, ids) -> device
    "feetech_st": feetech_device.st_device,
    "feetech_sc": feetech_device.sc_device,
    "dynamixel1": dynamixel1_device.device,
    "dynamixel2": dynamixel2_device.device,
    "lx16a": lx16a_device.device,
    "servo2040": Servo2040Device,
    "ssc32": Ssc32Device,
    "maestro": MaestroDevice,
    "pca9685": I2cAdapter,
}
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
