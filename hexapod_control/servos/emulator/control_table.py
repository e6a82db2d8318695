"""The memory of an emulated servo: defaults, limits and access rights of its registers."""

from __future__ import annotations

from dataclasses import dataclass

from hexapod_control.servos.bus.registers import Register, RegisterTable


@dataclass(frozen=True, slots=True)
class RegisterSpan:
    """Properties of the registers that a write covers."""

    limited: tuple[Register, ...]  # fully covered registers with limits
    read_only: bool  # at least one byte cannot be written
    cut: bool  # the write begins or ends inside a register
    stored: bool  # at least one byte is in the EEPROM
    empty: bool  # no register has any of the bytes


class ControlTable:
    """The memory of an emulated servo, laid out as in the table of its type."""

    def __init__(self, table: RegisterTable) -> None:
        self.table = table
        self.size = table.size
        self.eeprom = table.eeprom
        self._spans: dict[tuple[int, int], RegisterSpan] = {}

    def defaults(self) -> bytearray:
        """The memory of a new servo."""
        memory = bytearray(self.size)
        for register in self.table.registers:
            self.put(memory, register, register.size, register.default)
        return memory

    def powered_on(self, stored: bytes | bytearray) -> bytearray:
        """The memory at power-on, with the `stored` EEPROM."""
        memory = self.defaults()
        memory[: self.eeprom] = stored[: self.eeprom]
        for register in self.table.registers:
            if register.copies is not None:
                source = memory[register.copies : register.copies + register.size]
                memory[register : register + register.size] = source
        return memory

    def defines(self, address: int, size: int) -> bool:
        """Whether `size` bytes from an address on exist and contain a register."""
        touched = self.span(address, size)
        return address + size <= self.size and not touched.empty

    def number(self, memory: bytes | bytearray, address: int, size: int, *, signed: bool = False) -> int:
        """The number in a register."""
        return int.from_bytes(memory[address : address + size], self.table.byteorder, signed=signed)

    def put(self, memory: bytearray, address: int, size: int, value: int) -> None:
        """Sets the number in a register; negative numbers are in two's complement."""
        memory[address : address + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, self.table.byteorder)

    def span(self, address: int, size: int) -> RegisterSpan:
        """The registers in `size` bytes from an address on; computed once for each combination."""
        span = self._spans.get((address, size))
        if span is None:
            span = self._spans[address, size] = self._compute_span(address, address + size)
        return span

    def _compute_span(self, start: int, end: int) -> RegisterSpan:
        touched = [r for r in self.table.registers if r < end and start < r + r.size]
        writable = sum(min(r + r.size, end) - max(r, start) for r in touched if r.writable)
        return RegisterSpan(
            limited=tuple(r for r in touched if r.high is not None and start <= r and r + r.size <= end),
            read_only=writable < end - start,
            cut=any(r < start or r + r.size > end for r in touched),
            stored=start < self.eeprom,
            empty=not touched,
        )

    def beyond_limits(self, span: RegisterSpan, address: int, data: bytes) -> bool:
        """Whether a write to this span has a value outside the limits of its register."""
        for register in span.limited:
            value = self.number(data, register - address, register.size, signed=register.signed)
            if not register.permits(value):
                return True
        return False
