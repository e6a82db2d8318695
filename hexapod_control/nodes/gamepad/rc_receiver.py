# SPDX-License-Identifier: Apache-2.0
"""Reads an RC receiver on a serial port as a GamepadState: CRSF (Crossfire, ELRS) and SBUS (FrSky, Futaba).

CRSF: address, length, type, payload, CRC-8 of type and payload with the polynomial 0xD5; 16 channels of 11 bits.
SBUS: 0x0F, 16 channels of 11 bits, flags, end; no check sum, so that of the first frames two have to follow each other.
In both a channel goes from 172 to 1811, with its center at 992. A receiver without signal of its transmitter is silent,
or says so: then all controls are at rest, and the dead-man has to be released before it counts again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import serial

from hexapod_control.config.channel_file import STICKS, SWITCHES
from hexapod_control.core.steering.gamepad_map import GamepadState
from hexapod_control.nodes.gamepad.evdev_gamepad import COUNT_AXES, COUNT_BUTTONS, GamepadLostError
from hexapod_control.servos.bus.serial_port import PORT_ERRORS, reason

CENTER = 992  # of a channel
SPAN = 819.5  # from the center to an end
PRESSED = 1.0 / 3.0  # deflection from which on a switch is pressed
SOME_BYTES = 100  # from which on a frame must have been among them; fewer are noise
SIGNAL_TIMEOUT_S = 0.2  # without a good frame, after which the signal counts as lost
Channels = tuple[float, ...]  # deflections, about -1 to 1


class ReceivedChannels(NamedTuple):
    """What a receiver has said since the last call: the newest channels, or that it has no signal."""

    channels: Channels = ()
    failsafe: bool = False


def _channels(packed: bytes) -> Channels:
    bits = int.from_bytes(packed, "little")
    return tuple(((bits >> 11 * k & 0x7FF) - CENTER) / SPAN for k in range(16))


def crc8(data: bytes) -> int:
    """CRC-8/DVB-S2, polynomial 0xD5."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ 0xD5) & 0xFF if crc & 0x80 else crc << 1
    return crc


class CrsfDecoder:
    """Finds the frames of CRSF in a stream of bytes."""

    ADDRESSES = (0xC8, 0xEA, 0xEE, 0x00)  # flight controller, transmitter, its module, all
    # types of frames
    LINK = 0x14
    CHANNELS = 0x16
    LONGEST = 64  # bytes of a frame
    UPLINK_QUALITY = 2  # place in the payload of LINK: packets that arrive [%]

    def __init__(self) -> None:
        self._rest = b""

    def take(self, data: bytes) -> ReceivedChannels:
        """What the bytes say together with those before them."""
        received = ReceivedChannels()
        for kind, payload in self._frames(data):
            if kind == self.CHANNELS and len(payload) == 22:
                received = received._replace(channels=_channels(payload))
            elif kind == self.LINK and len(payload) == 10:
                received = ReceivedChannels(received.channels, failsafe=payload[self.UPLINK_QUALITY] == 0)
        return received

    def _frames(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        data = self._rest + data
        at = 0
        while len(data) - at >= 2:
            end = at + 2 + data[at + 1]
            if data[at] not in self.ADDRESSES or not 4 <= end - at <= self.LONGEST:
                at += 1
            elif len(data) < end:
                break
            elif crc8(data[at + 2 : end - 1]) == data[end - 1]:
                yield data[at + 2], data[at + 3 : end - 1]
                at = end
            else:
                at += 1
        self._rest = data[at:]


class SbusDecoder:
    """Finds the frames of SBUS in a stream of bytes."""

    LENGTH = 25
    START = 0x0F
    ENDS = (0x00, 0x04, 0x14, 0x24, 0x34)  # SBUS, and SBUS2 with its slots
    # flags
    DIGITAL_17 = 1
    DIGITAL_18 = 2
    LOST = 4
    FAILSAFE = 8

    def __init__(self) -> None:
        self._rest = b""
        self._in_step = False  # whether a frame has ended where the next one begins

    def take(self, data: bytes) -> ReceivedChannels:
        """What the bytes say together with those before them."""
        received = ReceivedChannels()
        for frame in self._frames(data):
            flags = frame[23]
            digital = tuple(1.0 if flags & flag else -1.0 for flag in (self.DIGITAL_17, self.DIGITAL_18))
            lost = bool(flags & self.LOST)  # the receiver repeats the channels of an earlier frame
            channels = received.channels if lost else (*_channels(frame[1:23]), *digital)
            received = ReceivedChannels(channels, failsafe=bool(flags & self.FAILSAFE))
        return received

    def _frames(self, data: bytes) -> Iterator[bytes]:
        data = self._rest + data
        at = 0
        while len(data) - at >= self.LENGTH * (1 if self._in_step else 2):
            if self._is_frame(data, at) and (self._in_step or self._is_frame(data, at + self.LENGTH)):
                self._in_step = True
                yield data[at : at + self.LENGTH]
                at += self.LENGTH
            else:
                self._in_step = False
                at += 1
        self._rest = data[at:]

    def _is_frame(self, data: bytes, at: int) -> bool:
        return data[at] == self.START and data[at + self.LENGTH - 1] in self.ENDS


class Protocol(NamedTuple):
    """How a receiver talks."""

    baud: int
    parity: str
    stop_bits: int
    decoder: Callable[[], CrsfDecoder | SbusDecoder]
    remedy: str  # if bytes arrive, but no frames


PROTOCOLS: Mapping[str, Protocol] = {
    "crsf": Protocol(
        420_000,
        serial.PARITY_NONE,
        serial.STOPBITS_ONE,
        CrsfDecoder,
        "is the receiver set to CRSF with 420000 baud, and is this its wire?",
    ),
    "sbus": Protocol(
        100_000,
        serial.PARITY_EVEN,
        serial.STOPBITS_TWO,
        SbusDecoder,
        "is the receiver set to SBUS, and does an inverter sit in its wire? With one, try without it",
    ),
}


def state(channels: Channels, controls: Mapping[str, int]) -> GamepadState:
    """The gamepad whose sticks and buttons have the channels of `controls`; missing channels are at rest."""

    def value(name: str) -> float:
        number = controls.get(name, 0)
        if not 0 < abs(number) <= len(channels):
            return 0.0
        return min(1.0, max(-1.0, channels[abs(number) - 1])) * (1.0 if number > 0 else -1.0)

    axes = [0.0] * COUNT_AXES
    buttons = [0] * COUNT_BUTTONS
    for name, control in STICKS.items():
        axes[control.number] = round(value(name), 2)  # finer steps are noise, and a message each
    for name, control in SWITCHES.items():
        buttons[control.number] = int(value(name) > PRESSED)
    return GamepadState(axes, buttons)


class RcReceiver:
    """A receiver, read without blocking; usable from its first channels on."""

    def __init__(self, kind: str, path: str, controls: Mapping[str, int]) -> None:
        """Opens the port. Raises GamepadLostError with cause and remedy."""
        protocol = PROTOCOLS[kind]
        self.name = f"{kind.upper()} receiver at {path}"
        self.usable = False
        self.state = GamepadState([0.0] * COUNT_AXES, [0] * COUNT_BUTTONS)
        self._controls = controls
        self._decoder = protocol.decoder()
        self._heard_at = math.inf  # [s] steady time of the last good frame; infinite before the first
        self._kind = kind
        self._bytes = 0  # that have arrived
        self._failsafe = False  # what the receiver said last
        try:
            self._serial = serial.Serial(
                path, protocol.baud, parity=protocol.parity, stopbits=protocol.stop_bits, timeout=0, exclusive=True
            )
        except PORT_ERRORS as error:
            raise GamepadLostError(reason(path, protocol.baud, error)) from None

    def read(self) -> None:
        """Takes what has arrived since the last call. Raises GamepadLostError if port or signal are lost."""
        try:
            data = self._serial.read(self._serial.in_waiting)
        except PORT_ERRORS as error:
            raise GamepadLostError(f"the port is gone ({error})") from None
        self._bytes += len(data)
        received = self._decoder.take(data)
        self._failsafe = received.failsafe or (self._failsafe and not received.channels)
        now = time.monotonic()
        if received.failsafe and self.usable:
            raise GamepadLostError("signal lost, the receiver reports failsafe")
        if received.channels and not received.failsafe:
            self._heard_at = now
            self.usable = True
            self.state = state(received.channels, self._controls)
        elif now - self._heard_at > SIGNAL_TIMEOUT_S:
            raise GamepadLostError("signal lost")

    @property
    def why_unusable(self) -> str:
        """Why no channels have come yet, and what to do."""
        if self._failsafe:
            return "the receiver has no signal: is the transmitter on, and bound to it?"
        if self._bytes < SOME_BYTES:
            return "nothing arrives: has the receiver power and signal, and does its TX go to RX of this port?"
        return f"what arrives is not {self._kind.upper()}: {PROTOCOLS[self._kind].remedy}"

    def close(self) -> None:
        """Closes the port."""
        self._serial.close()
