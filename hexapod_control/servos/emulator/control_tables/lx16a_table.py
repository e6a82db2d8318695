"""LX-16A: settings by command instead of address. Source: Hiwonder, "LX-16A bus servo communication protocol"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hexapod_control.servos.protocols.lx16a import Lx16aCommand


@dataclass(frozen=True, slots=True)
class LxSetting:
    """A setting: the command that reads it, the parameters of a new servo, and the bounds of each number."""

    read: Lx16aCommand
    default: bytes
    bounds: tuple[tuple[int, int], ...]  # of its numbers, each 1 or 2 bytes
    size: int  # bytes of each number
    signed: bool = False
    persistent: bool = True  # stored without power

    def accepts(self, data: bytes) -> bool:
        """Whether these parameters are valid; of two limits the first must be below the second."""
        if len(data) != len(self.default):
            return False
        values = self.numbers(data)
        inside = all(low <= value <= high for value, (low, high) in zip(values, self.bounds, strict=True))
        return inside and (len(values) < 2 or self.read is Lx16aCommand.MODE_READ or values[0] < values[1])

    def numbers(self, data: bytes) -> list[int]:
        """The numbers in the parameters."""
        starts = range(0, len(data), self.size)
        return [int.from_bytes(data[at : at + self.size], "little", signed=self.signed) for at in starts]


LX_SETTINGS: Mapping[int, LxSetting] = {  # by write command
    Lx16aCommand.OFFSET: LxSetting(Lx16aCommand.OFFSET_READ, b"\x00", ((-125, 125),), 1, signed=True, persistent=False),
    Lx16aCommand.LIMITS_WRITE: LxSetting(Lx16aCommand.LIMITS_READ, b"\x00\x00\xe8\x03", ((0, 1000), (0, 1000)), 2),
    Lx16aCommand.VOLTAGE_LIMITS_WRITE: LxSetting(
        Lx16aCommand.VOLTAGE_LIMITS_READ, b"\x94\x11\xe0\x2e", ((4500, 14000), (4500, 14000)), 2
    ),
    Lx16aCommand.TEMPERATURE_LIMIT_WRITE: LxSetting(Lx16aCommand.TEMPERATURE_LIMIT_READ, b"\x55", ((50, 100),), 1),
    Lx16aCommand.MODE_WRITE: LxSetting(
        Lx16aCommand.MODE_READ, b"\x00\x00\x00\x00", ((0, 1), (-1000, 1000)), 2, signed=True, persistent=False
    ),
    Lx16aCommand.LED: LxSetting(Lx16aCommand.LED_READ, b"\x00", ((0, 1),), 1),
    Lx16aCommand.FAULT_MASK_WRITE: LxSetting(Lx16aCommand.FAULT_MASK_READ, b"\x07", ((0, 7),), 1),
}
