# SPDX-License-Identifier: Apache-2.0
"""An emulated I2C bus: acknowledges and replies of its chips, and chips with numbered registers. No I/O, no clock."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Protocol

from hexapod_control.servos.i2c.i2c_port import I2cMessage, I2cWrite


class I2cChip(Protocol):
    """An emulated chip. A second one with the same address is possible, as on a real bus."""

    address: int

    def acknowledges(self, address: int) -> bool:
        """Whether the chip acknowledges this address: its own, or a group address."""

    def write(self, address: int, data: bytes) -> None:
        """Receives the bytes of one write message."""

    def read(self, count: int) -> bytes:
        """The bytes of one read message."""

    def stop(self) -> None:
        """Called at the STOP of a transfer."""

    def power_on(self) -> None:
        """Powers the chip on: all registers have their reset values."""


class I2cWire:
    """The chips of one bus, with injectable faults."""

    def __init__(self, chips: Sequence[I2cChip]) -> None:
        self.chips = list(chips)
        self.unplugged: set[int] = set()  # addresses of chips that are not connected
        self.stuck = False  # SDA is held low
        self.faulty: dict[int, int] = {}  # address -> error number of its transfers

    def transfer(self, messages: Sequence[I2cMessage]) -> tuple[int, bytes]:
        """Performs a transfer. Returns the error number of Linux (0: none) and all bytes read."""
        if self.stuck:
            return errno.ETIMEDOUT, b""
        data = b""
        number = 0
        acknowledged = []
        for each in messages:
            chips = [c for c in self.chips if c.address not in self.unplugged and c.acknowledges(each.address)]
            number = self.faulty.get(each.address, 0) or (0 if chips else errno.EREMOTEIO)
            if number:
                break
            acknowledged += [chip for chip in chips if chip not in acknowledged]
            if isinstance(each, I2cWrite):
                for chip in chips:
                    chip.write(each.address, each.data)
            else:  # several chips drive the line as a wired AND
                replies = [chip.read(each.count) for chip in chips]
                data += reduce(lambda a, b: bytes(x & y for x, y in zip(a, b, strict=True)), replies)
        for chip in acknowledged:
            chip.stop()
        return number, b"" if number else data

    def unplug(self, address: int) -> None:
        """Disconnects SDA and SCL of a chip, which stays powered. Raises ValueError for an unknown address."""
        self._chip(address)
        self.unplugged.add(address)

    def plug(self, address: int) -> None:
        """Connects a chip again. Raises ValueError for an unknown address."""
        self._chip(address)
        self.unplugged.discard(address)

    def restart(self, address: int) -> None:
        """Interrupts the power of a chip. Raises ValueError for an unknown address."""
        self._chip(address).power_on()

    def clear_faults(self) -> None:
        """Clears all faults."""
        self.unplugged.clear()
        self.faulty.clear()
        self.stuck = False

    def _chip(self, address: int) -> I2cChip:
        for chip in self.chips:
            if chip.address == address:
                return chip
        known = ", ".join(f"0x{chip.address:02X}" for chip in self.chips)
        raise ValueError(f"must be the address of a chip, one of {known}, is 0x{address:02X}")


class RegisterChip:
    """A chip with registers of `width` bytes; those returned by `live` are computed when they are read."""

    def __init__(
        self,
        address: int,
        defaults: Mapping[int, int],
        live: Callable[[RegisterChip], Mapping[int, int]],
        *,
        width: int = 1,
    ) -> None:
        """`defaults` are the values after power-on of registers that are not 0."""
        self.address = address
        self._defaults = dict(defaults)
        self._live = live
        self._width = width
        self.power_on()

    def power_on(self) -> None:
        """Sets all registers to their values after power-on."""
        self.registers = dict(self._defaults)
        self._pointer = 0

    def acknowledges(self, address: int) -> bool:
        """Whether an address is its own."""
        return address == self.address

    def write(self, address: int, data: bytes) -> None:
        """Receives a register number, then values, high byte first."""
        if not data:
            return
        self._pointer = data[0]
        for at in range(1, len(data) - self._width + 1, self._width):
            self.set(self._pointer, int.from_bytes(data[at : at + self._width], "big"))
            self._pointer += 1

    def set(self, register: int, value: int) -> None:
        """Stores a value."""
        self.registers[register] = value

    def read(self, count: int) -> bytes:
        """Values from the selected register on; a wide register is repeated."""
        values = {**self.registers, **self._live(self)}
        if self._width > 1:
            return (values.get(self._pointer, 0).to_bytes(self._width, "big") * count)[:count]
        first = self._pointer
        self._pointer = self._pointer + count
        return bytes(values.get(first + i, 0) & 0xFF for i in range(count))

    def stop(self) -> None:
        """Does nothing at the end of a transfer."""
