"""A control table: the registers of a servo type, with their sizes, defaults, limits and access rights."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple


class ControlRegister(NamedTuple):
    """One register. Without `high` every value is valid; `writable` is False for status registers.

    With `values`, only these are valid. At power-on a register has its default, or the value of the one at `copies`.
    """

    address: int
    size: int = 1  # bytes
    default: int = 0
    low: int = 0
    high: int | None = None
    writable: bool = True
    signed: bool = False
    values: tuple[int, ...] = ()
    copies: int | None = None  # address

    def permits(self, value: int) -> bool:
        """Whether a value is within the limits."""
        return self.low <= value <= (self.high or 0) and (not self.values or value in self.values)


def status(address: int, size: int = 1, default: int = 0) -> ControlRegister:
    """A read-only register."""
    return ControlRegister(address, size, default, writable=False)


@dataclass(frozen=True, slots=True)
class RegisterSpan:
    """Properties of the registers that a write covers."""

    limited: tuple[ControlRegister, ...]  # fully covered registers with limits
    read_only: bool  # at least one byte cannot be written
    cut: bool  # the write begins or ends inside a register
    stored: bool  # at least one byte is in the EEPROM
    empty: bool  # no register has any of the bytes


class ControlTable:
    """The registers of a servo type."""

    def __init__(
        self, registers: Iterable[ControlRegister], size: int, eeprom: int, byteorder: Literal["little", "big"]
    ) -> None:
        """`size` bytes in total; the first `eeprom` bytes keep their values without power."""
        self.registers = tuple(registers)
        self.size, self.eeprom, self.byteorder = size, eeprom, byteorder
        self._spans: dict[tuple[int, int], RegisterSpan] = {}

    def defaults(self) -> bytearray:
        """The memory of a new servo."""
        memory = bytearray(self.size)
        for register in self.registers:
            self.put(memory, register.address, register.size, register.default)
        return memory

    def powered_on(self, stored: bytes | bytearray) -> bytearray:
        """The memory at power-on, with the `stored` EEPROM."""
        memory = self.defaults()
        memory[: self.eeprom] = stored[: self.eeprom]
        for register in self.registers:
            if register.copies is not None:
                source = memory[register.copies : register.copies + register.size]
                memory[register.address : register.address + register.size] = source
        return memory

    def defines(self, address: int, size: int) -> bool:
        """Whether `size` bytes from an address on exist and contain a register."""
        touched = self.span(address, size)
        return address + size <= self.size and not touched.empty

    def number(self, memory: bytes | bytearray, address: int, size: int, *, signed: bool = False) -> int:
        """The number in a register."""
        return int.from_bytes(memory[address : address + size], self.byteorder, signed=signed)

    def put(self, memory: bytearray, address: int, size: int, value: int) -> None:
        """Sets the number in a register; negative numbers are in two's complement."""
        memory[address : address + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, self.byteorder)

    def span(self, address: int, size: int) -> RegisterSpan:
        """The registers in `size` bytes from an address on; computed once for each combination."""
        span = self._spans.get((address, size))
        if span is None:
            span = self._spans[address, size] = self._compute_span(address, address + size)
        return span

    def _compute_span(self, start: int, end: int) -> RegisterSpan:
        touched = [r for r in self.registers if r.address < end and start < r.address + r.size]
        writable = sum(min(r.address + r.size, end) - max(r.address, start) for r in touched if r.writable)
        return RegisterSpan(
            limited=tuple(
                r for r in touched if r.high is not None and start <= r.address and r.address + r.size <= end
            ),
            read_only=writable < end - start,
            cut=any(r.address < start or r.address + r.size > end for r in touched),
            stored=start < self.eeprom,
            empty=not touched,
        )

    def beyond_limits(self, span: RegisterSpan, address: int, data: bytes) -> bool:
        """Whether a write to this span has a value outside the limits of its register."""
        for register in span.limited:
            value = self.number(data, register.address - address, register.size, signed=register.signed)
            if not register.permits(value):
                return True
        return False
