# SPDX-License-Identifier: Apache-2.0
"""An emulated PCA9685 with all its registers.

Source: NXP PCA9685 data sheet, revision 4, sections 7.1 to 7.4 (addresses, control register, registers, reset).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

GENERAL_CALL = 0x00
SOFTWARE_RESET = b"\x06"
MODE1 = 0x00
MODE2 = 0x01
SUBADR1 = 0x02
ALLCALLADR = 0x05
LED0 = 0x06
LED15_OFF_H = 0x45
ALL_LED = 0xFA
ALL_LED_END = 0xFD
PRE_SCALE = 0xFE
RESTART = 0x80
EXTCLK = 0x40
AUTO_INCREMENT = 0x20
SLEEP = 0x10
ALLCALL = 0x01
OCH = 0x08  # in MODE2: outputs change with the acknowledge, not at the STOP
CHANNELS = 16
STEPS = 4096
FULL = 0x10
LED_MASK = 0x1F
MIN_PRE_SCALE = 3


@dataclass(frozen=True, slots=True)
class LedPulse:
    """The pulses of a channel."""

    width: float  # [us]; 0: always low, infinity: always high
    period: float  # [us]


class Pca9685Chip:
    """Registers and outputs. `outputs` is called with channel and pulse when a pulse changes."""

    def __init__(self, address: int, outputs: Callable[[int, LedPulse], None], *, oscillator: float = 25.0) -> None:
        """`oscillator` is its true frequency [MHz]."""
        self.address = address
        self._outputs = outputs
        self._oscillator = oscillator
        self._shown = [LedPulse(0.0, 0.0)] * CHANNELS
        self.power_on()

    def power_on(self) -> None:
        """Sets all registers to their values after a reset; no pulses."""
        self.registers = bytearray(256)
        self.registers[MODE1] = SLEEP | ALLCALL
        self.registers[MODE2] = 0x04
        self.registers[SUBADR1 : ALLCALLADR + 1] = bytes.fromhex("E2 E4 E8 E0")
        self.registers[PRE_SCALE] = 0x1E
        for channel in range(CHANNELS):
            self.registers[LED0 + 4 * channel + 3] = FULL
        self._pointer = 0
        self._latched = bytes(self.registers[LED0 : LED15_OFF_H + 1])
        self._waiting = False  # after a sleep, channels wait for RESTART or for new values
        self._show()

    # --- the bus ------------------------------------------------------------------------------------

    def acknowledges(self, address: int) -> bool:
        """Whether an address is its own, the general call, or that of an enabled group of chips."""
        mode = self.registers[MODE1]
        groups = [self.registers[SUBADR1 + i] >> 1 for i, bit in enumerate((8, 4, 2)) if mode & bit]
        calls = [self.registers[ALLCALLADR] >> 1] if mode & ALLCALL else []
        return address in (self.address, GENERAL_CALL, *groups, *calls)

    def write(self, address: int, data: bytes) -> None:
        """Receives a register number, then values."""
        if address == GENERAL_CALL:
            if data == SOFTWARE_RESET:
                self.power_on()
            return
        if not data:
            return
        self._pointer = data[0]
        for value in data[1:]:
            self._set(self._pointer, value)
            self._advance()
        if self.registers[MODE2] & OCH:
            self.stop()

    def read(self, count: int) -> bytes:
        """Values from the selected register on."""
        values = bytearray()
        for _ in range(count):
            hidden = ALL_LED <= self._pointer <= ALL_LED_END  # write-only: read as zero
            values.append(0 if hidden else self.registers[self._pointer])
            self._advance()
        return bytes(values)

    def stop(self) -> None:
        """Applies new values to the outputs."""
        latched = bytes(self.registers[LED0 : LED15_OFF_H + 1])
        if latched != self._latched:
            self._latched = latched
            self._waiting = False
        self._show()

    def _advance(self) -> None:
        if self.registers[MODE1] & AUTO_INCREMENT:
            self._pointer = 0 if self._pointer == LED15_OFF_H else (self._pointer + 1) & 0xFF

    # --- registers ----------------------------------------------------------------------------------

    def _set(self, register: int, value: int) -> None:
        if register == MODE1:
            self._set_mode(value)
        elif register == PRE_SCALE:
            if self.registers[MODE1] & SLEEP:
                self.registers[PRE_SCALE] = max(value, MIN_PRE_SCALE)
        elif ALL_LED <= register <= ALL_LED_END:
            for channel in range(CHANNELS):
                self._set(LED0 + 4 * channel + register - ALL_LED, value)
        elif LED0 <= register <= LED15_OFF_H:
            self.registers[register] = value & (LED_MASK if register % 2 else 0xFF)  # high bytes are odd
        elif register == MODE2:
            self.registers[register] = value & 0x1F
        elif SUBADR1 <= register <= ALLCALLADR:
            self.registers[register] = value & 0xFE

    def _set_mode(self, value: int) -> None:
        before = self.registers[MODE1]
        external = before & EXTCLK or (value & EXTCLK if before & SLEEP and value & SLEEP else 0)
        pending = before & RESTART
        if value & SLEEP and not before & SLEEP and any(p.width for p in self._shown):
            pending = RESTART
            self._waiting = True
        if value & RESTART and not value & SLEEP:
            pending = 0
            self._waiting = False
        self.registers[MODE1] = value & 0x3F | external | pending

    # --- outputs ------------------------------------------------------------------------------------

    @property
    def period(self) -> float:
        """Period of the pulses [us]."""
        return STEPS * (self.registers[PRE_SCALE] + 1) / self._oscillator

    def pulse(self, channel: int) -> LedPulse:
        """The output of a channel."""
        on_low, on_high, off_low, off_high = self._latched[4 * channel : 4 * channel + 4]
        if off_high & FULL or self.registers[MODE1] & SLEEP or self._waiting:
            return LedPulse(0.0, self.period)
        if on_high & FULL:
            return LedPulse(float("inf"), self.period)
        width = ((off_low | off_high << 8) - (on_low | on_high << 8)) % STEPS
        return LedPulse(width * self.period / STEPS, self.period)

    def _show(self) -> None:
        for channel in range(CHANNELS):
            now = self.pulse(channel)
            if now != self._shown[channel] and (now.width or self._shown[channel].width):
                self._shown[channel] = now
                self._outputs(channel, now)
