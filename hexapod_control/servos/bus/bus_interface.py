"""What every servo bus can do, whatever its protocol: the one type between the driver and the wire.

A bus speaks raw units (ticks or microseconds) of servo ids; radians exist only outside, in servos.calibration.
Reads are partial by design: a servo that does not answer is missing from the answer, never an exception. The
port being gone is the one error a transaction raises (`PortGone`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Flag, auto
from typing import Protocol


class PortGone(OSError):  # noqa: N818 - a condition of the port, named as one
    """The port cannot be opened, or vanished: the text names it, says what happened and what to do."""


class BoardSilent(PortGone):
    """The port is there, but the board behind it has stopped to answer: no better than a port that is gone."""


class BusError(RuntimeError):
    """The bus answers, but not as it must: wrong baud, echo, duplicate ids; the text says the cure."""


class ServoFault(Flag):
    """What a servo reports about itself."""

    NONE = 0
    VOLTAGE = auto()
    ENCODER = auto()
    HEAT = auto()
    CURRENT = auto()
    OVERLOAD = auto()
    ANGLE = auto()
    OTHER = auto()


class ServoQuantity(Flag):
    """What a bus can tell about a servo."""

    NONE = 0
    POSITION = auto()
    SPEED = auto()
    LOAD = auto()
    VOLTAGE = auto()
    TEMPERATURE = auto()
    FAULT = auto()


@dataclass(frozen=True, slots=True)
class ServoReading:
    """What one servo told; None where it was not asked or cannot tell."""

    position: int | None = None  # raw units
    speed: float | None = None  # raw units / s
    load: float | None = None  # share of full load, -1 to 1, + in the direction of growing raw position
    voltage: float | None = None  # [V]
    temperature: float | None = None  # [degC]
    fault: ServoFault = ServoFault.NONE


@dataclass(frozen=True, slots=True)
class RawScale:
    """The raw units of a kind of servo."""

    unit: str  # "tick" or "us"
    low: int  # least raw goal the servo takes
    high: int
    center: int
    per_rad: float


@dataclass(frozen=True, slots=True)
class BusTiming:
    """How long the wire is busy, from bytes on it; no processing included."""

    write: float  # [s] goals of all servos
    read: float  # [s] what is wanted of all servos, replies and return delays included; 0 if it cannot read
    turnarounds: int  # of the line in one read of all servos


@dataclass(slots=True)
class BusCounters:
    """What went wrong on the wire since the start."""

    sent: int = 0  # frames
    received: int = 0  # good frames
    bad: int = 0  # frames with a wrong checksum, length or id
    timeouts: int = 0  # replies that never came
    echoes: int = 0  # requests that came back as they were sent
    misses: dict[int, int] = field(default_factory=dict)  # servo id -> consecutive missing replies


class Bus(Protocol):
    """An open servo bus. Not thread-safe: one thread owns it."""

    ids: tuple[int, ...]
    scale: RawScale
    can_read: ServoQuantity
    counters: BusCounters

    def identify(self) -> Mapping[int, str]:
        """Asks who is there: id -> model; on buses without identity the ids of the robot file. Raises BusError."""

    def write_goals(self, goals: Mapping[int, int], duration: float) -> None:
        """Sends raw goals of any number of servos, to be reached in `duration` [s]; in ONE frame where that can be."""

    def torque(self, ids: Sequence[int], on: bool) -> None:
        """Switches torque of servos."""

    def relax(self) -> None:
        """Takes the torque of ALL servos, by broadcast or relay where there is one; sent three times."""

    def read(self, ids: Sequence[int], what: ServoQuantity) -> dict[int, ServoReading]:
        """What these servos tell within the protocol's own deadline; who does not answer is missing."""

    def supply(self) -> tuple[float | None, float | None]:
        """(voltage [V], current [A]) of the board, None where it cannot tell."""

    def timing(self, count: int, what: ServoQuantity = ServoQuantity.POSITION) -> BusTiming:
        """Wire time for this many servos at this baud; boards are always asked for the same, whatever is wanted."""

    def close(self) -> None:
        """Closes the port; torque stays as it is."""
