"""Chips with numbered registers and an auto-incremented pointer; the first byte of a write selects the register."""

from __future__ import annotations

from collections.abc import Callable, Mapping


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
