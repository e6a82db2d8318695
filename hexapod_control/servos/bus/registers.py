# SPDX-License-Identifier: Apache-2.0
"""The registers of a servo type: one table for its bus, for the checks before torque, and for the emulated servo.

A family of servos has its table in its module of `protocols/`, with the addresses of the maker's manual.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import Literal

from hexapod_control.servos.bus.ff_frames import sign_magnitude, signed

NO_LIMITS = "both angle limits are 0, which is wheel mode: the servo turns without end"


class RegisterRole(Enum):
    """Meaning of a register that programs treat alike on all servo types."""

    ID = auto()
    RETURN_DELAY = auto()  # replies are late by 2 us per unit
    REPLY_LEVEL = auto()  # at its maximum, the servo confirms all instructions
    REGISTERED = auto()  # a REG_WRITE waits
    LOCK = auto()  # of the EEPROM: 0 is open
    MAX_VOLTAGE = auto()  # 0.1 V
    MODE = auto()
    LOW_LIMIT = auto()  # minimum position
    HIGH_LIMIT = auto()
    OFFSET = auto()  # of the position
    FULL_TORQUE = auto()  # a limit of torque or PWM; from the factory there is none
    TORQUE = auto()
    GOAL = auto()


class Register(int):
    """One register; as a number, its address. For servos with commands in place of addresses, the read command."""

    size: int  # bytes
    default: int  # of a new servo; at power-on the value of the register at `copies`, if there is one
    low: int  # valid values
    high: int | None  # None: every value is valid
    writable: bool
    signed: bool  # two's complement
    sign_bit: int | None  # sign and magnitude
    values: tuple[int, ...]  # the only valid ones, if there are any
    copies: Register | None
    role: RegisterRole | None
    at: int  # offset in a reply that holds several values
    reply: int  # bytes of such a reply; 0: the reply holds only this register
    stored: bool  # kept without power, where the address does not say so
    name: str

    def __new__(
        cls,
        address: int,
        size: int = 1,
        default: int = 0,
        low: int = 0,
        high: int | None = None,
        *,
        role: RegisterRole | None = None,
        title: str = "",
        writable: bool = True,
        signed: bool = False,
        sign_bit: int | None = None,
        values: tuple[int, ...] = (),
        copies: Register | None = None,
        at: int = 0,
        reply: int = 0,
        stored: bool = True,
    ) -> Register:
        """`title` is its name in messages, if that is not the name in the table."""
        made = super().__new__(cls, address)
        made.size = size
        made.default = default
        made.low = low
        made.high = high
        made.role = role
        made.name = title
        made.writable = writable
        made.signed = signed
        made.sign_bit = sign_bit
        made.values = values
        made.copies = copies
        made.at = at
        made.reply = reply
        made.stored = stored
        return made

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name.lower().replace("_", " ")

    @property
    def length(self) -> int:
        """Bytes to read."""
        return self.reply or self.size

    def permits(self, value: int) -> bool:
        """Whether a value is valid."""
        return self.high is None or (self.low <= value <= self.high and (not self.values or value in self.values))


def status(address: int, size: int = 1, default: int = 0, *, role: RegisterRole | None = None) -> Register:
    """A read-only register."""
    return Register(address, size, default, role=role, writable=False)


class RegisterTable:
    """The registers of a servo type."""

    def __init__(
        self,
        names: type,
        *,
        others: Iterable[Register] = (),
        size: int = 0,
        eeprom: int = 0,
        byteorder: Literal["little", "big"] = "little",
        modes: str | Mapping[int, str] = "",
        zero_limits: str = "",
    ) -> None:
        """`names` is a class whose attributes are the registers; `others` have no names.

        They have `size` bytes, of which the first `eeprom` are kept without power.
        `modes` says what is wrong with a mode other than the default, by its value (-1: any other), and `zero_limits`
        what two angle limits of 0 mean.
        """
        found = (each for kind in reversed(names.__mro__) for each in vars(kind).values() if isinstance(each, Register))
        self.registers: tuple[Register, ...] = (*found, *others)
        self.size = size
        self.eeprom = eeprom
        self.byteorder = byteorder
        self.modes = modes
        self.zero_limits = zero_limits
        self._by_role = {each.role: each for each in reversed(self.registers)}

    def __getitem__(self, role: RegisterRole) -> Register:
        return self._by_role[role]

    def get(self, role: RegisterRole) -> Register | None:
        """The register with a role; None if the servos have none."""
        return self._by_role.get(role)

    def all(self, role: RegisterRole) -> tuple[Register, ...]:
        """The registers with a role, by rising address."""
        return tuple(each for each in self.registers if each.role is role)

    def value(self, register: Register, data: bytes) -> int:
        """The value of a register in the bytes that were read."""
        number = int.from_bytes(data[register.at : register.at + register.size], self.byteorder, signed=register.signed)
        return number if register.sign_bit is None else signed(number, register.sign_bit)

    def replaced(self, register: Register, data: bytes, value: int) -> bytes:
        """The bytes that were read, with this value of a register instead."""
        number = value if register.sign_bit is None else sign_magnitude(value, register.sign_bit)
        raw = number.to_bytes(register.size, self.byteorder, signed=register.signed)
        return data[: register.at] + raw + data[register.at + register.size :]
