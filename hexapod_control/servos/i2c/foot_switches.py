# SPDX-License-Identifier: Apache-2.0
"""Foot switches: on GPIO pins of this computer (with libgpiod), on an MCP23017, or on the board of the servos.

Source: Microchip DS20001952C (MCP23017), with its registers in pairs (IOCON.BANK = 0), as after power-on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from hexapod_control.config.missing_modules import missing_module
from hexapod_control.servos.bus.bus_interface import PortGoneError
from hexapod_control.servos.i2c.i2c_bus import open_i2c
from hexapod_control.servos.i2c.i2c_port import I2cPort, TransferError, read_registers, write_registers

IODIR = 0x00
GPPU = 0x0C
GPIO = 0x12
CONSUMER = "hexapod_control"
SERVO_BOARD = "servo2040"  # also the name of a servo protocol


@dataclass(frozen=True, slots=True)
class FootSwitchSection:
    """`io.feet` of a robot file."""

    chip: str
    address: int  # of an MCP23017
    device: str  # of GPIO pins
    pins: tuple[int, ...]  # by leg, in row order
    pressed: str  # low or high
    bounce: float  # [s]


class SwitchInputs(Protocol):
    """Opened digital inputs."""

    def levels(self) -> Sequence[bool]:
        """Whether each pin is high. Raises TransferError or PortGoneError."""

    def close(self) -> None:
        """Closes; never raises."""


class Mcp23017Inputs:
    """Pins of an MCP23017: 0 to 7 are GPA0 to GPA7, 8 to 15 are GPB0 to GPB7."""

    def __init__(self, section: FootSwitchSection, bus: str) -> None:
        """Sets the pins to inputs with pull-up. Raises TransferError or PortGoneError."""
        self._section = section
        self._port = open_i2c(bus)
        try:
            self._configure(self._port)
        except TransferError:
            self._port.close()
            raise

    def _configure(self, port: I2cPort) -> None:
        mask = sum(1 << pin for pin in self._section.pins)
        for register in (IODIR, GPPU):
            low, high = read_registers(port, self._section.address, register, 2)
            value = low | high << 8 | mask
            write_registers(port, self._section.address, register, value.to_bytes(2, "little"))

    def levels(self) -> Sequence[bool]:
        """Whether each pin is high."""
        low, high = read_registers(self._port, self._section.address, GPIO, 2)
        return [bool((low | high << 8) >> pin & 1) for pin in self._section.pins]

    def close(self) -> None:
        """Closes the bus."""
        self._port.close()


class GpioInputs:
    """GPIO pins of this computer, with pull-up, by libgpiod 1 or 2."""

    def __init__(self, section: FootSwitchSection, bus: str) -> None:
        """Requests the pins. Raises PortGoneError."""
        try:
            import gpiod
        except ModuleNotFoundError as error:
            raise PortGoneError(f"{section.device}: {missing_module(error)}") from None
        self._section = section
        try:
            self._lines, self._read = _request_lines(gpiod, section)
        except OSError as error:
            raise PortGoneError(
                f"{section.device}: pins {', '.join(map(str, section.pins))} cannot be used ({error}): check "
                "io.feet.device and io.feet.pins, end other programs that use them, join the group gpio"
            ) from None

    def levels(self) -> Sequence[bool]:
        """Whether each pin is high."""
        try:
            return self._read()
        except OSError as error:
            raise PortGoneError(
                f"{self._section.device}: the pins cannot be read ({error}): restart the driver"
            ) from None

    def close(self) -> None:
        """Releases the pins."""
        self._lines.release()


def _request_lines(gpiod: Any, section: FootSwitchSection) -> tuple[Any, Callable[[], Sequence[bool]]]:
    """Requests the lines with either version of libgpiod. Returns them and a function that reads them."""
    if hasattr(gpiod, "request_lines"):
        line = gpiod.line
        settings = gpiod.LineSettings(direction=line.Direction.INPUT, bias=line.Bias.PULL_UP)
        lines = gpiod.request_lines(section.device, consumer=CONSUMER, config={section.pins: settings})
        return lines, lambda: [value == line.Value.ACTIVE for value in lines.get_values(section.pins)]
    lines = gpiod.Chip(section.device).get_lines(list(section.pins))
    lines.request(CONSUMER, type=gpiod.LINE_REQ_DIR_IN, flags=gpiod.LINE_REQ_FLAG_BIAS_PULL_UP)
    return lines, lambda: [bool(value) for value in lines.get_values()]


class SwitchChip(NamedTuple):
    """A way to connect the switches."""

    title: str
    last_pin: int
    pressed: str = "low"  # level of a loaded foot, unless the robot file sets it
    open: Callable[[FootSwitchSection, str], SwitchInputs] | None = None  # None: the driver of the servos reads them
    address: int | None = None  # usual one on I2C; None: not on I2C


SWITCH_CHIPS: Mapping[str, SwitchChip] = {
    "gpio": SwitchChip("GPIO", 63, open=GpioInputs),
    "mcp23017": SwitchChip("MCP23017", 15, open=Mcp23017Inputs, address=0x20),
    SERVO_BOARD: SwitchChip("Servo2040", 5, pressed="high"),
}


class FootSwitches:
    """Reads the switches; opens them again after an error. Owned by one thread."""

    def __init__(self, section: FootSwitchSection, bus: str) -> None:
        self.error: str | None = None  # why the switches are unknown
        self._section = section
        self._bus = bus
        self._inputs: SwitchInputs | None = None

    def read(self, board: Sequence[bool] | None = None) -> tuple[bool, ...] | None:
        """Whether each foot switch is pressed, by leg; None if unknown.

        `board` has the level of each input of the servos' board (True: high); None if unknown.
        """
        try:
            levels = self._levels(board)
            self.error = None
        except (PortGoneError, TransferError) as error:
            self.error = f"the foot switches are not read: {error}"
            self.close()
            return None
        return tuple(level == (self._section.pressed == "high") for level in levels)

    def _levels(self, board: Sequence[bool] | None) -> Sequence[bool]:
        chip = SWITCH_CHIPS[self._section.chip]
        if chip.open is None:
            if board is None:
                raise PortGoneError(f"the {chip.title} does not send its touch inputs: check its port and its firmware")
            return [board[pin] for pin in self._section.pins]
        if self._inputs is None:
            self._inputs = chip.open(self._section, self._bus)
        return self._inputs.levels()

    def close(self) -> None:
        """Closes the inputs."""
        if self._inputs is not None:
            self._inputs.close()
        self._inputs = None
