# SPDX-License-Identifier: Apache-2.0
"""One PCA9685: sixteen pulses from a counter of 4096 steps. Pulses are in microseconds; 0 is no pulse.

New pulses of a transfer appear together at its STOP. Source: NXP PCA9685 data sheet, revision 4, section 7.3.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from hexapod_control.servos.bus.pulse_board import runs
from hexapod_control.servos.i2c.i2c_port import I2cPort, I2cWrite, TransferError, read_registers, write_registers

CHANNELS = 16
FIRST_ADDRESS = 0x40
LAST_ADDRESS = 0x77
ALL_CALL = 0x70  # acknowledged by all chips after power-on
OSCILLATOR_MHZ = 25.0  # of the chip, within a few percent
FREQUENCY_HZ = 50.0  # of the pulses
STEPS = 4096  # of a period

MODE1 = 0x00
MODE2 = 0x01
SUBADR1 = 0x02
LED0 = 0x06
ALL_LED_OFF_H = 0xFD
PRE_SCALE = 0xFE
SLEEP = 0x10
AUTO_INCREMENT = 0x20
TOTEM_POLE = 0x04
FULL_OFF = 0x10
OWN_ADDRESSES = bytes.fromhex("E2 E4 E8 E0")  # registers SUBADR1 to ALLCALLADR after power-on
WAKE_UP_S = 0.0005  # until the oscillator is running
LED_BYTES = 4


class Pca9685:
    """The registers of one chip. All methods raise TransferError or PortGoneError."""

    def __init__(self, port: I2cPort, address: int, oscillator: float, frequency: float) -> None:
        """`oscillator` [MHz] as measured or as in the data sheet, `frequency` [Hz] of the pulses."""
        self.address = address
        self._port = port
        self.prescale = prescale(oscillator, frequency)
        self.step = (self.prescale + 1) / oscillator  # [us] of the counter

    def check(self) -> None:
        """Raises TransferError if the chip at this address is another one."""
        found = b"".join(self._read(SUBADR1 + i, 1) for i in range(len(OWN_ADDRESSES)))
        if found != OWN_ADDRESSES:
            raise TransferError(
                f"{self._port.path}: the chip at address 0x{self.address:02X} is no PCA9685, its registers 2 to 5 are "
                f"{found.hex(' ').upper()} instead of {OWN_ADDRESSES.hex(' ').upper()}: set the address jumpers so "
                "that no other chip has this address"
            )

    def runs(self) -> bool:
        """Whether the chip is configured and running; False after a loss of power."""
        return self._read(MODE1, 1)[0] == AUTO_INCREMENT and self._read(PRE_SCALE, 1)[0] == self.prescale

    def configure(self) -> None:
        """Sets the frequency, which is possible only while the oscillator sleeps; no channel has pulses afterwards."""
        self.all_off()
        self._write(MODE1, [SLEEP | AUTO_INCREMENT])
        self._write(PRE_SCALE, [self.prescale])
        self._write(MODE2, [TOTEM_POLE])
        self._write(MODE1, [AUTO_INCREMENT])
        time.sleep(WAKE_UP_S)

    def all_off(self) -> None:
        """Ends the pulses of all channels."""
        self._write(ALL_LED_OFF_H, [FULL_OFF])

    def send(self, pulses: Mapping[int, int]) -> None:
        """Sets the pulses of channels in one transfer, so that they change together."""
        self._port.transfer(*self.messages(pulses))

    def messages(self, pulses: Mapping[int, int]) -> list[I2cWrite]:
        """The messages that set the pulses of channels: one for each run of neighbouring channels."""
        return [
            I2cWrite(self.address, bytes([LED0 + LED_BYTES * first]) + b"".join(map(self.led, row)))
            for first, row in runs(pulses)
        ]

    def led(self, pulse: int) -> bytes:
        """The registers of one channel: the step at which the pulse begins and the one at which it ends, low first."""
        if not pulse:
            return bytes([0, 0, 0, FULL_OFF])
        end = min(round(pulse / self.step), STEPS - 1)
        return bytes([0, 0, end & 0xFF, end >> 8])

    def pulses(self, channels: Sequence[int]) -> dict[int, int]:
        """Present pulses of channels."""
        data = self._read(LED0, CHANNELS * LED_BYTES)
        pulses = {}
        for channel in channels:
            _, _, low, high = data[LED_BYTES * channel : LED_BYTES * (channel + 1)]
            pulses[channel] = 0 if high & FULL_OFF else round((low | high << 8) * self.step)
        return pulses

    def _read(self, register: int, count: int) -> bytes:
        return read_registers(self._port, self.address, register, count)

    def _write(self, register: int, data: Sequence[int]) -> None:
        write_registers(self._port, self.address, register, data)


def prescale(oscillator: float, frequency: float) -> int:
    """Value of the register PRE_SCALE for an oscillator [MHz] and a pulse frequency [Hz], as in section 7.3.5."""
    return min(max(round(oscillator * 1e6 / (STEPS * frequency)) - 1, 3), 255)
