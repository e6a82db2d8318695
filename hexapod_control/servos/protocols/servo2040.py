# SPDX-License-Identifier: Apache-2.0
"""Pimoroni Servo2040 with the "Chica" firmware or its fork.

SET is `D3 start count values`, GET `C7 start count`; values are 14 bits, low 7 first, and only command bytes have the
top bit set. A frame is sent in ONE write: the board waits 100 us for a byte, then fills a short frame with garbage and
executes it. One relay powers all servos, and a servo without a goal jumps to the middle when the relay closes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from operator import xor

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
    PulseStaging,
    WireTiming,
    checked_channels,
    clamp,
    runs,
)
from hexapod_control.servos.bus.serial_port import Port

SET = 0xD3
GET = 0xC7
# indices; servos are 0 to 17
SERVOS = 18
TOUCH = 18
CURRENT = 24
VOLTAGE = 25
RELAY = 26
LATCH = 27
LAST_CHANNEL = SERVOS - 1
# number of inputs with pull-down; counts at which one is high: half of 3.3 V
TOUCH_INPUTS = 6
HIGH = 512
VALUE_BITS = 14


class Servo2040Dialect(Enum):
    """Protocol variant of the firmware, recognized by the length of a GET reply."""

    ORIGINAL = "original"  # no checksum, raw converter counts
    FORK = "fork"  # checksum after every GET reply, centivolts and centiamperes, over-current latch at index 27

    @property
    def checksum(self) -> int:
        """Bytes after a GET reply."""
        return int(self is Servo2040Dialect.FORK)

    def volts(self, raw: int) -> float:
        """Supply voltage [V]."""
        return raw * 0.01 if self is Servo2040Dialect.FORK else raw / 310.3

    def amperes(self, raw: int) -> float:
        """Supply current [A]."""
        return raw * 0.01 if self is Servo2040Dialect.FORK else (raw - 512) * 0.0814


# --- codec -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Servo2040Frame:
    """A request, or a reply to GET."""

    command: int  # SET or GET
    start: int  # first index
    count: int
    values: tuple[int, ...] = ()


def checksum(data: bytes) -> int:
    """The fork's checksum: XOR of all bytes before it, with the top bit set."""
    return reduce(xor, data, 0) | 0x80


def frame(command: int, start: int, values: Sequence[int]) -> bytes:
    """A frame with 14-bit values. Raises ValueError for values or indices that do not fit."""
    if not all(0 <= value < 1 << VALUE_BITS for value in values) or not 0 <= start <= 127 or len(values) > 127:
        raise ValueError(f"values of {VALUE_BITS} bits and indices to 127 fit into a frame, not {values} from {start}")
    return bytes([command, start, len(values), *(part for v in values for part in (v & 0x7F, v >> 7))])


def set_goals(start: int, pulses: Sequence[float]) -> bytes:
    """Request to set the pulses [us] of neighbouring servos, clamped."""
    return frame(SET, start, [clamp(pulse) for pulse in pulses])


def relay(on: bool) -> bytes:
    """Request to switch the relay that powers the servos."""
    return frame(SET, RELAY, [int(on)])


def query(start: int, count: int) -> bytes:
    """Request for `count` values."""
    return bytes([GET, start, count])


def reply(dialect: Servo2040Dialect, start: int, values: Sequence[int]) -> bytes:
    """The board's reply to GET."""
    data = frame(GET, start, values)
    return data + bytes([checksum(data)]) if dialect.checksum else data


class Servo2040Decoder:
    """Decodes frames from a byte stream; a command byte always begins a new frame. `bad` counts dropped frames."""

    def __init__(self, end: Servo2040Dialect | None = None) -> None:
        """`end`: the dialect whose GET replies are decoded; None: requests (SET with values, GET without)."""
        self._end = end
        self._data = bytearray()
        self.bad = 0

    def feed(self, data: bytes) -> list[Servo2040Frame]:
        """The frames that these bytes complete."""
        found = []
        for byte in data:
            if byte & 0x80 and not self._checksum_is_next():
                self.bad += bool(self._data)
                self._data.clear()
            if not self._data and byte not in ((GET,) if self._end else (SET, GET)):
                self.bad += 1
                continue
            self._data.append(byte)
            if len(self._data) == self._size():
                found += self._finished()
        return found

    @property
    def pending(self) -> bool:
        """Whether a frame is incomplete."""
        return bool(self._data)

    def _body(self) -> int:
        """Known number of bytes without the checksum."""
        valued = self._end is not None or self._data[0] == SET
        return 3 + (2 * self._data[2] if valued and len(self._data) > 2 else 0)

    def _size(self) -> int:
        """Number of bytes of the frame; -1 while it is not known."""
        if len(self._data) < 3:
            return -1
        return self._body() + (self._end.checksum if self._end else 0)

    def _checksum_is_next(self) -> bool:
        return bool(self._end and self._end.checksum) and len(self._data) == self._size() - 1

    def _finished(self) -> list[Servo2040Frame]:
        body = bytes(self._data[: self._body()])
        rest = bytes(self._data[self._body() :])
        self._data.clear()
        if rest and rest[0] != checksum(body):
            self.bad += 1
            if rest[0] == GET:
                self._data.append(GET)
            return []
        values = tuple(low | high << 7 for low, high in zip(body[3::2], body[4::2], strict=True))
        return [Servo2040Frame(body[0], body[1], body[2], values)]


# --- bus ---------------------------------------------------------------------------------------------


class Servo2040Bus(Bus):
    """Servos on a Servo2040. `read` gives the pulses that are sent, not positions.

    The relay is the only torque switch: it closes for all servos when the torque of any is switched on, which needs a
    goal for every servo, and opens when none is left on. The fork's over-current latch is read as ServoFault.CURRENT.
    """

    scale = SCALE
    features = BusFeatures(board=True)

    def __init__(
        self, port: Port, ids: Sequence[int], *, dialect: Servo2040Dialect | None = None, touch: bool = False
    ) -> None:
        """Without a `dialect`, `identify` or the first request detects it. `touch`: the touch inputs are read."""
        self.ids = checked_channels(ids, LAST_CHANNEL, "Servo2040")
        self._wire = WireTiming(port)
        self.counters = self._wire.counters
        self.urgent = self._wire.urgent
        self._staging = PulseStaging(self.ids)
        self.dialect = dialect
        self._touch = touch
        self.can_read = ServoQuantity.FAULT if dialect is Servo2040Dialect.FORK else ServoQuantity.NONE

    def identify(self) -> Mapping[int, str]:
        """Detects the dialect, or checks that the board answers in the configured one."""
        configured = self.dialect
        dialect = self._dialect()
        if dialect is None or (configured and not any(self._request_values(configured, CURRENT, 2) for _ in range(4))):
            also = f"; or its dialect is not {configured.value}: remove options.dialect" if configured else ""
            request = query(CURRENT, 2)
            raise self._wire.refusal(
                request,
                [request, 2 * request],  # a reply begins like its request
                f"no Servo2040 answers: it needs the Chica firmware, and its port must be the board's own USB{also}",
            )
        return dict.fromkeys(self.ids, f"hobby servo on a Servo2040, {dialect.value} firmware")

    def _dialect(self) -> Servo2040Dialect | None:
        """Detects the dialect: a reply with two values has 8 bytes with a checksum, or twice 7 (one may be cut off)."""
        request = query(CURRENT, 2)
        size = 7
        plain = 0
        for _ in range(0 if self.dialect else 4):
            answer = self._wire.ask(request, size, TRY_TIMEOUT_S)
            answer += self._wire.more(1) if len(answer) == size else b""
            if self._decoded(answer, Servo2040Dialect.FORK, request):
                self.dialect = Servo2040Dialect.FORK
                self.can_read = ServoQuantity.FAULT
                break
            if len(answer) == size and self._decoded(answer, Servo2040Dialect.ORIGINAL, request):
                plain += 1
            if plain == 2:
                self.dialect = Servo2040Dialect.ORIGINAL
                break
        return self.dialect

    def _ask(self, start: int, count: int) -> tuple[int, ...]:
        """Values of neighbouring indices; empty if the reply is missing or wrong, or an earlier one is due."""
        dialect = self._dialect() if self._wire.settled() else None
        return self._request_values(dialect, start, count) if dialect else ()

    def _request_values(self, dialect: Servo2040Dialect, start: int, count: int) -> tuple[int, ...]:
        request = query(start, count)
        size = 3 + 2 * count + dialect.checksum
        answer = self._wire.ask(request, size)
        found = self._decoded(answer, dialect, request)
        self.counters.bad += len(answer) == size and not found
        self.counters.received += bool(found)
        return found

    @staticmethod
    def _decoded(answer: bytes, dialect: Servo2040Dialect, request: bytes) -> tuple[int, ...]:
        for found in Servo2040Decoder(dialect).feed(answer):
            if bytes([found.command, found.start, found.count]) == request:
                return found.values
        return ()

    def write_goals(self, goals: Mapping[int, int], duration: float) -> None:
        """Sends goals, which the board stores without torque. `duration` is not sent, as goals come often."""
        self._send(self._staging.stage(goals))

    def _send(self, pulses: Mapping[int, int]) -> None:
        if pulses:
            self._wire.send(b"".join(set_goals(first, row) for first, row in runs(pulses)))

    def torque(self, ids: Sequence[int], on: bool) -> None:
        """Closes the relay, or opens it with the last servo. Raises BusError if any servo has no goal."""
        if on and ids:
            self._staging.check(self.ids)
            if not self._staging.on:
                self._send(self._staging.goals)  # sent again, as a frame may have been lost
                self._wire.send(relay(True))
            self._staging.on.update(ids)
        elif not on:
            self._staging.on.difference_update(ids)
            if not self._staging.on:
                self._wire.send(relay(False))

    def relax(self) -> None:
        """Opens the relay; sent three times."""
        self._staging.clear()
        for _ in range(RELAX_REPEATS):
            self._wire.send(relay(False))

    def read(self, ids: Sequence[int], quantities: ServoQuantity) -> dict[int, ServoReading]:
        """The pulses that are sent [us], and the fork's latch."""
        latch: tuple[int, ...] = (0,)
        if quantities & self.can_read:
            latch = self._ask(LATCH, 1)
            self._wire.count_reply(ids, bool(latch))
        if not latch or not quantities & (self.can_read | ServoQuantity.POSITION):
            return {}
        fault = ServoFault.CURRENT if latch[0] else ServoFault.NONE
        if ServoQuantity.POSITION not in quantities:
            return {i: ServoReading(fault=fault) for i in ids}
        return {i: ServoReading(position=pulse, fault=fault) for i, pulse in self._sent(ids).items()}

    def _sent(self, ids: Sequence[int]) -> dict[int, int]:
        """The pulses [us] of servos that have a goal."""
        sent: dict[int, int] = {}
        for first, row in runs(dict.fromkeys(ids, 0)):
            found = self._ask(first, len(row))
            self._wire.count_reply(range(first, first + len(row)), bool(found))
            sent.update((first + i, pulse) for i, pulse in enumerate(found) if SCALE.low <= pulse <= SCALE.high)
        return sent

    def torques(self, ids: Sequence[int]) -> dict[int, bool]:
        """Whether the relay powers the servos; empty if the board does not answer."""
        return {i: bool(closed) for closed in self._ask(RELAY, 1) for i in ids}

    def supply(self) -> tuple[float | None, float | None]:
        """Voltage [V] and current [A] of the board."""
        found = self._ask(CURRENT, 2)
        if not found or self.dialect is None:
            return None, None
        return self.dialect.volts(found[1]), self.dialect.amperes(found[0])

    def input_levels(self) -> tuple[bool, ...] | None:
        """Whether each touch input is high; None if they are not read."""
        counts = self._ask(TOUCH, TOUCH_INPUTS) if self._touch else ()
        return tuple(count >= HIGH for count in counts) or None

    def answers(self) -> bool | None:
        """Queries the board. Returns whether it answers; None if it cannot be queried now."""
        return bool(self._ask(CURRENT, 2)) if self._wire.settled() else None

    def timing(self, count: int, quantities: ServoQuantity = ServoQuantity.POSITION) -> BusTiming:
        """Wire time of `count` goals, and of reading voltage and current."""
        write = len(set_goals(0, [SCALE.center] * count))
        size = 7 + (self.dialect.checksum if self.dialect else 0)
        return BusTiming(self._wire.seconds(write), self._wire.seconds(len(query(CURRENT, 2)) + size), 1)

    def close(self) -> None:
        """Closes the port."""
        self._wire.port.close()


def probe(port: Port) -> str:
    """What answers like this board, with the protocol to use; empty if nothing does."""
    board = Servo2040Bus(port, [0], dialect=Servo2040Dialect.ORIGINAL)  # the fork's replies have the same beginning
    return "the port answers like a Servo2040: use protocol servo2040" if board.answers() else ""
