# SPDX-License-Identifier: Apache-2.0
"""SSC-32, SSC-32U and boards with the same ASCII lines, such as firmware/ssc32_mega.

A line ends with CR, which executes it. There is no checksum and the replies have no frame: ESC discards an unfinished
line, and replies are recognized by their length. † from memory of the manual, not verified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
)
from hexapod_control.servos.bus.serial_port import Port

ESC = b"\x1b"
LAST_CHANNEL = 31
ANALOG_INPUTS = "ABCDEFGH"
MAX_MOVE_MS = 65535  # maximum of T
VOLT = 5.0 / 256.0  # [V] per count of an analog input
BOOT_TIME_S = 5.0  # maximum start-up time of an Arduino after its port is opened; bytes meanwhile would block it

# --- codec ------------------------------------------------------------------------------------------


def move(pulses: Mapping[int, float], duration: float = 0.0) -> bytes:
    """Line for a group move within `duration` [s]; 0 is without T, at maximum speed. Pulses [us] are clamped."""
    time = f"T{min(max(round(duration * 1000.0), 1), MAX_MOVE_MS)}" if duration > 0.0 else ""
    return ("".join(f"#{i}P{clamp(pulse)}" for i, pulse in pulses.items()) + time + "\r").encode()


def off(ids: Sequence[int]) -> bytes:
    """Line that stops the pulses of these channels."""
    return ("".join(f"#{i}L" for i in ids) + "\r").encode()


def stop(channel: int) -> bytes:
    """Line that halts a channel at its present pulse."""
    return f"STOP{channel}\r".encode()


def query_pulses(ids: Sequence[int]) -> bytes:
    """Request for the present pulses: one byte per channel, see `pulses`."""
    return ("".join(f"QP{i}" for i in ids) + "\r").encode()


def query_moving() -> bytes:
    """Request for whether the last group move is done (`.`) or not (`+`)."""
    return b"Q\r"


def query_analog(inputs: str) -> bytes:
    """Request for analog inputs (`A` to `H`): one byte each, times VOLT."""
    return ("".join(f"V{letter}" for letter in inputs) + "\r").encode()


def pulses(reply: bytes) -> list[int]:
    """Pulses [us] in a reply; 0 where there is none."""
    return [10 * byte for byte in reply]


# --- bus ---------------------------------------------------------------------------------------------


class Ssc32Bus(Bus):
    """Servos on an SSC-32. `read` gives the pulses that are sent, not positions; so `can_read` is empty.

    The board has no torque switch: a servo gets its first pulse, without T †, when `torque` is switched on for it.
    """

    scale = SCALE
    features = BusFeatures(board=True)
    can_read = ServoQuantity.NONE

    def __init__(self, port: Port, ids: Sequence[int], *, battery: str = "", divider: float = 1.0) -> None:
        """The battery is on analog input `battery` (`A` to `H`) behind a divider: battery = divider * input [V]."""
        self.ids = checked_channels(ids, LAST_CHANNEL, "SSC-32")
        if battery and battery not in tuple(ANALOG_INPUTS):
            raise ValueError(f"battery is an analog input from A to H, is {battery!r}")
        self._wire = WireTiming(port)
        self.counters = self._wire.counters
        self.urgent = self._wire.urgent
        self._staging = PulseStaging(self.ids)
        self._battery = battery
        self._divider = divider
        self._input_is_valid = False  # after the first reading of the input
        self._unfinished_line = True  # the board may hold an unfinished line

    def identify(self) -> Mapping[int, str]:
        """Queries the board; without an answer, sends nothing until a restarting board is ready, then tries again."""
        for silence in (0.0, BOOT_TIME_S, 0.0, 0.0):
            if silence:
                self._wire.listen(silence)
            self._unfinished_line = True
            reply = self._wire.ask(self._frame(query_moving()), 1, TRY_TIMEOUT_S)
            if reply in (b".", b"+"):
                self.counters.received += 1
                return dict.fromkeys(self.ids, "hobby servo on an SSC-32")
            self.counters.bad += bool(reply)
            if reply:  # discard the rest of it, which may end like a reply
                self._wire.drain()
        raise self._wire.refusal(
            query_moving(),
            [query_moving()],
            f"no SSC-32 answers at {self._wire.port.baud} baud: check power, the VL jumper and the baud "
            "(factory setting of an SSC-32U: 9600; firmware/ssc32_mega: 115200)",
        )

    def _frame(self, frame: bytes) -> bytes:
        """The frame, preceded by ESC if the board may hold an unfinished line."""
        unfinished_line = self._unfinished_line
        self._unfinished_line = False
        return ESC + frame if unfinished_line else frame

    def write_goals(self, goals: Mapping[int, int], duration: float) -> None:
        """Sends the goals of servos with torque; stages the others."""
        sent = {i: pulse for i, pulse in self._staging.stage(goals).items() if i in self._staging.on}
        if sent:
            self._wire.send(self._frame(move(sent, duration)))

    def torque(self, ids: Sequence[int], on: bool) -> None:
        """Starts the staged pulses of these servos, or stops them. Raises BusError if one has no goal."""
        if not ids:
            return
        if not on:
            self._staging.on.difference_update(ids)
            self._wire.send(self._frame(off(ids)))
            return
        self._staging.check(ids)
        fresh = {i: self._staging.goals[i] for i in ids if i not in self._staging.on}
        self._staging.on.update(ids)
        if fresh:
            self._wire.send(self._frame(move(fresh)))

    def relax(self) -> None:
        """Stops the pulses of all servos; sent three times."""
        self._staging.clear()
        for _ in range(RELAX_REPEATS):
            self._unfinished_line = True
            self._wire.send(self._frame(off(self.ids)))

    def read(self, ids: Sequence[int], quantities: ServoQuantity) -> dict[int, ServoReading]:
        """The pulses that are sent [us, steps of 10]; servos without a pulse are missing. One reply for all."""
        if not ids or ServoQuantity.POSITION not in quantities or not self._wire.settled():
            return {}
        reply = self._wire.ask(self._frame(query_pulses(ids)), len(ids))
        sent = pulses(reply)
        if not self._wire.accepts(ids, sent):
            self._unfinished_line = True
            return {}
        return {i: ServoReading(position=p, fault=ServoFault.NONE) for i, p in zip(ids, sent, strict=True) if p}

    def torques(self, ids: Sequence[int]) -> dict[int, bool]:
        """Whether these servos get pulses; empty if the board does not answer."""
        if not ids or not self._wire.settled():
            return {}
        sent = pulses(self._wire.ask(self._frame(query_pulses(ids)), len(ids)))
        good = self._wire.accepts(ids, sent)
        self._unfinished_line |= not good
        return dict(zip(ids, map(bool, sent), strict=True)) if good else {}

    def supply(self) -> tuple[float | None, float | None]:
        """The battery [V], where an input is wired to it; the first reading of an input is not valid."""
        if not self._battery or not self._wire.settled():
            return None, None
        request = query_analog(self._battery)
        if not self._input_is_valid:
            self._input_is_valid = len(self._wire.ask(self._frame(request), 1)) == 1
            if not self._input_is_valid:
                self._unfinished_line = True
                return None, None
        reply = self._wire.ask(self._frame(request), 1)
        if not reply:
            self._unfinished_line = True
            return None, None
        self.counters.received += 1
        return reply[0] * VOLT * self._divider, None

    def answers(self) -> bool | None:
        """Queries the board. Returns whether it answers; None if it cannot be queried now."""
        if not self._wire.settled():
            return None
        reply = self._wire.ask(self._frame(query_moving()), 1)
        good = reply in (b".", b"+")
        self.counters.received += good
        self.counters.bad += bool(reply) and not good
        self._unfinished_line |= not good
        return good

    def timing(self, count: int, quantities: ServoQuantity = ServoQuantity.POSITION) -> BusTiming:
        """Wire time of `count` servos, for lines with T20 and four-digit pulses."""
        write = len(move(dict.fromkeys(range(count), SCALE.center), 0.02))
        read = len(query_pulses(range(count))) + count
        return BusTiming(self._wire.seconds(write), self._wire.seconds(read), 1)

    def close(self) -> None:
        """Closes the port."""
        self._wire.port.close()


def probe(port: Port) -> str:
    """What answers like this board, with the protocol to use; empty if nothing does."""
    return "the port answers like an SSC-32: use protocol ssc32" if Ssc32Bus(port, [0]).answers() else ""
