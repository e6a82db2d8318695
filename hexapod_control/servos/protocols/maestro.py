# SPDX-License-Identifier: Apache-2.0
"""Pololu Maestro, compact protocol. Set it to "USB Dual Port" in its Control Center (default: "UART, detect baud").

Only command bytes have the top bit set. Pulses are in quarter microseconds, low 7 bits first; replies have no frame.
Enable the serial timeout and set the home of every channel to Off there: together they act as the board's dead-man
switch, since any error, including a timeout, sends the servos home.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntFlag

from hexapod_control.servos.bus.bus_interface import (
    RELAX_REPEATS,
    Bus,
    BusFeatures,
    BusTiming,
    ServoFault,
    ServoQuantity,
    ServoReading,
)
from hexapod_control.servos.bus.pulse_board import (
    SCALE,
    TRY_TIMEOUT_S,
    BoardProbe,
    PulseStaging,
    WireTiming,
    checked_channels,
    clamp,
    runs,
)
from hexapod_control.servos.bus.serial_port import Port

LAST_CHANNEL = 23
DEVICE = 12  # factory number of a board in the Pololu protocol
TARGET = 0x84
SPEED = 0x87
POSITION = 0x90
MOVING = 0x93
TARGETS = 0x9F
ERRORS = 0xA1
ACCELERATION = 0x89
PWM = 0x8A
GO_HOME = 0xA2
STOP_SCRIPT = 0xA4
START_SCRIPT = 0xA7
START_SCRIPT_WITH = 0xA8
SCRIPT_STATUS = 0xAE
POLOLU = 0xAA  # begins a frame that names the device
MINI_SSC = 0xFF  # begins a frame of channel and 8-bit target, without checksum


class MaestroError(IntFlag):
    """The error word; reading clears it."""

    NONE = 0
    SIGNAL = 1
    OVERRUN = 2
    BUFFER_FULL = 4
    CRC = 8
    PROTOCOL = 16
    TIMEOUT = 32


# --- codec ------------------------------------------------------------------------------------------


def crc7(data: bytes) -> int:
    """The checksum byte: polynomial 0x91, low bit first."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc ^ 0x91) >> 1 if crc & 1 else crc >> 1
    return crc


@dataclass(frozen=True, slots=True)
class MaestroForm:
    """Form of the frames on this line: with or without device number, with or without checksum."""

    device: int | None = None
    crc: bool = False

    def frame(self, command: int, *parameters: int) -> bytes:
        """A frame. Parameters are 7 bits each."""
        head = [command] if self.device is None else [POLOLU, self.device, command & 0x7F]
        data = bytes([*head, *parameters])
        return data + bytes([crc7(data)]) if self.crc else data


COMPACT = MaestroForm()


def split(value: int) -> tuple[int, int]:
    """A 14-bit value as two parameters, low 7 bits first."""
    return value & 0x7F, value >> 7 & 0x7F


def target(channel: int, pulse: float, form: MaestroForm = COMPACT) -> bytes:
    """Command to set the pulse [us] of a channel, clamped; 0 stops its pulses."""
    return form.frame(TARGET, channel, *split(_quarters(pulse)))


def targets(first: int, pulses: Sequence[float], form: MaestroForm = COMPACT) -> bytes:
    """Command to set the pulses [us] of neighbouring channels, clamped; 0 stops them. Not on the Micro Maestro."""
    values = [part for pulse in pulses for part in split(_quarters(pulse))]
    return form.frame(TARGETS, len(pulses), first, *values)


def speed(channel: int, quarters: int, form: MaestroForm = COMPACT) -> bytes:
    """Command to set the speed limit of a channel in quarter microseconds per 10 ms; 0 is none."""
    return form.frame(SPEED, channel, *split(quarters))


def query_position(channel: int, form: MaestroForm = COMPACT) -> bytes:
    """Request for the present pulse: two bytes, low first, quarter microseconds."""
    return form.frame(POSITION, channel)


def query_moving(form: MaestroForm = COMPACT) -> bytes:
    """Request for whether a servo moves under a speed limit: one byte, 0 or 1."""
    return form.frame(MOVING)


def query_errors(form: MaestroForm = COMPACT) -> bytes:
    """Request for the error word: two bytes, low first."""
    return form.frame(ERRORS)


def _quarters(pulse: float) -> int:
    return 4 * clamp(pulse) if pulse else 0


def words(reply: bytes) -> list[int]:
    """The 16 bit words of a reply."""
    return [low | high << 8 for low, high in zip(reply[::2], reply[1::2], strict=False)]


# --- bus ---------------------------------------------------------------------------------------------


class MaestroBus(Bus):
    """Servos on a Maestro. `read` gives the pulses that are sent, not positions; FAULT is the board's error word.

    After an error the board has switched all servos off (home); only the error word shows that. `duration` is not sent,
    as goals are frequent. A servo gets its first pulse when `torque` is switched on for it.
    """

    scale = SCALE
    features = BusFeatures(board=True)
    can_read = ServoQuantity.FAULT

    def __init__(self, port: Port, ids: Sequence[int], *, device: int | None = None, crc: bool = False) -> None:
        """`device` is the number for frames of the Pololu protocol, `crc` is set as in the Maestro Control Center."""
        self.ids = checked_channels(ids, LAST_CHANNEL, "Maestro")
        self._wire = WireTiming(port)
        self.counters = self._wire.counters
        self.urgent = self._wire.urgent
        self._staging = PulseStaging(self.ids)
        self._form = MaestroForm(device, crc)
        self.errors = MaestroError.NONE  # kept until `relax` or torque on, as reading clears them on the board

    def identify(self) -> Mapping[int, str]:
        """Checks that the board answers by reading its error word, which clears errors from opening the port."""
        request = query_errors(self._form)
        for _ in range(3):
            reply = self._wire.ask(request, 2, TRY_TIMEOUT_S)
            if len(reply) == 2 and reply[0] != request[0]:  # it may be an echo
                self.counters.received += 1
                return dict.fromkeys(self.ids, "hobby servo on a Maestro")
        raise self._wire.refusal(
            request,
            [request],
            'no Maestro answers: set its serial mode to "USB Dual Port" in the Maestro Control Center, use the command '
            "port (the first of its two), and check that the CRC setting is the same on both sides",
        )

    def write_goals(self, goals: Mapping[int, int], duration: float) -> None:
        """Sends the goals of servos with torque; stages the others."""
        sent = {i: pulse for i, pulse in self._staging.stage(goals).items() if i in self._staging.on}
        self._send(sent)

    def _send(self, pulses: Mapping[int, int]) -> None:
        if pulses:
            self._wire.send(b"".join(targets(first, row, self._form) for first, row in runs(pulses)))

    def torque(self, ids: Sequence[int], on: bool) -> None:
        """Starts the staged pulses of these servos, or stops them. Raises BusError if one has no goal."""
        if on:
            self._staging.check(ids)
            self.errors = MaestroError.NONE
            self._staging.on.update(ids)
            self._send({i: self._staging.goals[i] for i in ids})
        else:
            self._staging.on.difference_update(ids)
            self._send(dict.fromkeys(ids, 0))

    def relax(self) -> None:
        """Stops the pulses of all servos; sent three times."""
        self._staging.clear()
        self.errors = MaestroError.NONE
        for _ in range(RELAX_REPEATS):
            self._send(dict.fromkeys(self.ids, 0))

    def read(self, ids: Sequence[int], quantities: ServoQuantity) -> dict[int, ServoReading]:
        """The pulses that are sent [us], and for all servos whether the board has had an error."""
        fault = self._errors(ids) if ServoQuantity.FAULT in quantities else ServoFault.NONE
        if fault is None or not self._wire.settled():
            return {}
        if ServoQuantity.POSITION not in quantities:
            return {i: ServoReading(fault=fault) for i in ids} if ServoQuantity.FAULT in quantities else {}
        reply = self._wire.ask(b"".join(query_position(i, self._form) for i in ids), 2 * len(ids))
        pulses = [round(word / 4) for word in words(reply)]
        if not self._wire.accepts(ids, pulses):
            return {}
        return {i: ServoReading(position=p, fault=fault) for i, p in zip(ids, pulses, strict=True) if p}

    def _errors(self, ids: Sequence[int]) -> ServoFault | None:
        if not self._wire.settled():
            return None
        reply = self._wire.ask(query_errors(self._form), 2)
        self._wire.count_reply(ids, len(reply) == 2)
        if len(reply) < 2:
            return None
        self.counters.received += 1
        self.errors |= MaestroError(words(reply)[0] & 0x3F)
        return ServoFault.OTHER if self.errors else ServoFault.NONE

    def torques(self, ids: Sequence[int]) -> dict[int, bool]:
        """Whether these servos get pulses; empty if the board does not answer."""
        if not self._wire.settled():
            return {}
        reply = self._wire.ask(b"".join(query_position(i, self._form) for i in ids), 2 * len(ids))
        pulses = [round(word / 4) for word in words(reply)]
        return dict(zip(ids, map(bool, pulses), strict=True)) if self._wire.accepts(ids, pulses) else {}

    def answers(self) -> bool | None:
        """Queries the board. Returns whether it answers; None if it cannot be queried now."""
        return self._errors(()) is not None if self._wire.settled() else None

    def timing(self, count: int, quantities: ServoQuantity = ServoQuantity.POSITION) -> BusTiming:
        """Wire time of `count` neighbouring channels."""
        write = len(targets(0, [SCALE.center] * count, self._form))
        read = count * (len(query_position(0, self._form)) + 2)
        return BusTiming(self._wire.seconds(write), self._wire.seconds(read), 1)

    def close(self) -> None:
        """Closes the port."""
        self._wire.port.close()


def probe(port: Port) -> str:
    """Nothing; raises WrongModelError if this board answers, as all buses with servo frames do."""
    BoardProbe(port).check()
    return ""
