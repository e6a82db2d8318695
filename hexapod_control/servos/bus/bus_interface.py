# SPDX-License-Identifier: Apache-2.0
"""The interface of a servo bus, common to all protocols: the one type between driver and wire.

Goals and readings are in raw units (ticks or microseconds), by servo id; settings.joint_calibration converts them to
radians. A read may be partial: a servo that does not respond is missing from the result, which is not an error. A lost
port is the only error that a transaction raises (`PortGoneError`). What only some servos or boards can do is in
`Bus.features`; on the others its method returns what means "nothing".
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Flag, auto
from typing import NamedTuple

from hexapod_control.servos.bus.registers import RegisterTable

TRIES = 3  # of a transaction that must survive one corrupt byte
RELAX_REPEATS = 3  # times that `Bus.relax` sends torque-off


class PortGoneError(OSError):
    """The port cannot be opened, or has vanished; the text names the port, the cause and the remedy."""


class BusError(RuntimeError):
    """An operation on the bus failed or is refused; the message has the remedy."""


class NoAnswerError(BusError):
    """No servo responds: no power, or another protocol or baud rate."""


class ServoFault(Flag):
    """Faults that a servo reports."""

    NONE = 0
    VOLTAGE = auto()
    ENCODER = auto()
    HEAT = auto()
    CURRENT = auto()
    OVERLOAD = auto()
    ANGLE = auto()
    OTHER = auto()


OFF_FAULTS = ServoFault.OVERLOAD | ServoFault.HEAT
"""Faults with which servos switch themselves off."""


class ServoQuantity(Flag):
    """Quantities that can be read from a servo."""

    NONE = 0
    POSITION = auto()
    SPEED = auto()
    LOAD = auto()
    VOLTAGE = auto()
    TEMPERATURE = auto()
    FAULT = auto()


class ServoReading(NamedTuple):
    """A reading of one servo; None for quantities that were not read or that it does not report."""

    position: int | None = None  # raw units
    speed: float | None = None  # raw units / s
    load: float | None = None  # share of full load, -1 to 1, + in the direction of growing raw position
    voltage: float | None = None  # [V]
    temperature: float | None = None  # [degC]
    fault: ServoFault = ServoFault.NONE


@dataclass(frozen=True, slots=True)
class RawScale:
    """The raw units of a servo type, and the range of its goals."""

    unit: str  # "tick" or "us"
    low: int  # minimum raw goal
    high: int  # maximum raw goal
    center: int
    per_rad: float  # raw units per radian

    def clamp_goal(self, raw: int) -> int:
        """A raw goal clamped to the range of the servo."""
        return min(max(raw, self.low), self.high)


BITS_PER_BYTE = 10  # on a serial wire: 8N1


def transmission_time(size: int, baud: int) -> float:
    """Time of `size` bytes on the wire [s]."""
    return size * BITS_PER_BYTE / baud


@dataclass(frozen=True, slots=True)
class BusTiming:
    """Time for which the line is busy, computed from the number of bytes, without processing time."""

    write: float  # [s] goals of all servos
    read: float  # [s] reading all servos, with replies and return delays; 0 if the bus cannot read
    turnarounds: int  # changes of direction of the line in one read of all servos


@dataclass(slots=True)
class BusCounters:
    """Statistics of a line since it was opened."""

    sent: int = 0  # frames
    received: int = 0  # good frames
    bad: int = 0  # frames with a wrong checksum, length or id
    timeouts: int = 0  # missing replies
    wrong_goals: int = 0  # goals received by a servo with a wrong value
    late: int = 0  # good frames after their deadline
    lateness: float = 0.0  # [s] by which replies are late at present; 0 if none is
    waited: float = 0.0  # [s] spent waiting for replies
    echoes: int = 0  # requests echoed by the line
    misses: dict[int, int] = field(default_factory=dict)  # servo id -> consecutive missing replies


@dataclass(frozen=True, slots=True)
class BusFeatures:
    """What the servos or the boards of a bus can do, beside `Bus.can_read`."""

    servo_ids: bool = False  # servos store their own ids: `scan`, `ping`, `set_id`
    registers: RegisterTable | None = None  # of the servos: `registers`, `write_registers`
    torque: bool = False  # servos report whether they have torque: `torques`
    board: bool = False  # a board answers for its servos: `answers`; it knows which get pulses: `torques`
    single_boards: bool = False  # boards are lost one by one: `lost_boards`
    jumps: bool = False  # servos may move to a goal at full speed instead of in its duration; known after `identify`


class Bus(ABC):
    """An open servo bus. Not thread-safe: one thread owns it."""

    ids: tuple[int, ...]
    scale: RawScale
    can_read: ServoQuantity
    counters: BusCounters
    urgent: threading.Event  # set by any thread to end waits for late replies, because a request is pending
    features = BusFeatures()

    @property
    def awaited(self) -> frozenset[int]:
        """Servo ids whose replies to the last request may still arrive: late, not missing. Always empty on boards."""
        return frozenset()

    @abstractmethod
    def identify(self) -> Mapping[int, str]:
        """Ids and models of the servos that answer; for boards, the ids in the robot file. Raises BusError."""

    @abstractmethod
    def write_goals(self, goals: Mapping[int, int], duration: float) -> None:
        """Sends raw goals by servo id, to be reached in `duration` [s]; in one frame where possible."""

    @abstractmethod
    def torque(self, ids: Sequence[int], on: bool) -> None:
        """Switches the torque of these servos on or off."""

    @abstractmethod
    def relax(self) -> None:
        """Switches the torque of all servos off, by broadcast or relay where there is one; sent RELAX_REPEATS times."""

    @abstractmethod
    def read(self, ids: Sequence[int], quantities: ServoQuantity) -> dict[int, ServoReading]:
        """Readings of these servos within the protocol's deadline; silent servos are missing from the result."""

    @abstractmethod
    def timing(self, count: int, quantities: ServoQuantity = ServoQuantity.POSITION) -> BusTiming:
        """Time on the line for `count` servos at this baud; boards ignore `quantities`."""

    @abstractmethod
    def close(self) -> None:
        """Closes the port; torque stays as it is."""

    def place(self, servo: int) -> tuple[str, int]:
        """Board and channel of a servo, as printed on them; the board is empty where it is the only one."""
        return "", servo

    # --- what not every bus can do ------------------------------------------------------------------

    def supply(self) -> tuple[float | None, float | None]:
        """(voltage [V], current [A]) of the board, None where unknown."""
        return None, None

    def torques(self, ids: Sequence[int]) -> dict[int, bool]:
        """Whether the torque of these servos is on, or on a board, whether they get pulses; silent ones are missing.

        Pulses are no proof of torque, but a board that has restarted sends none.
        """
        return {}

    def received_goals(self, ids: Sequence[int]) -> dict[int, int]:
        """Raw goals as the servos have received them; silent servos are missing from the result."""
        return {}

    def recover(self, servo: int) -> None:
        """Clears a latched overload; the torque of the servo is off afterwards."""
        self.torque([servo], False)

    def max_voltage(self, servo: int) -> float | None:
        """Maximum voltage [V] that a servo is set to tolerate; None if it is not known."""
        return None

    def registers(self, servo: int, address: int, length: int) -> bytes | None:
        """Registers of a servo, None if it does not answer."""
        return None

    def write_registers(self, servo: int, address: int, data: bytes) -> None:
        """Writes registers of a servo, also in its EEPROM; the torque should be off."""
        raise BusError("these servos have no registers")

    @property
    def model_warning(self) -> str:
        """A servo that is used although the protocol is not that of its model; empty if there is none."""
        return ""

    def check_models(self, servos: Iterable[int]) -> str:
        """Returns the `model_warning` about these servos. Raises WrongModelError unless that is forced."""
        return self.model_warning

    def scan(self, ids: Iterable[int], tries: int = TRIES) -> dict[int, str]:
        """Pings each id up to `tries` times. Returns the models by the ids that answer."""
        return {}

    def ping(self, servo: int, tries: int = TRIES) -> str | None:
        """The model of a servo, None if it does not answer."""
        return None

    def set_id(self, old: int, new: int) -> None:
        """Writes a new id into a servo, and checks the result. Raises BusError; ValueError if `new` is no id."""
        raise BusError("these servos are channels of a board: plug the servo in elsewhere")

    def answers(self) -> bool | None:
        """Queries the board. Returns whether it answers; None if it cannot be queried now."""
        return None

    def lost_boards(self) -> Mapping[str, tuple[int, ...]]:
        """Silent boards by name, with the ids of their servos."""
        return {}

    def input_levels(self) -> tuple[bool, ...] | None:
        """Whether each digital input of the board is high; None if they are not read."""
        return None
