"""Parts shared by the servo protocols: checking, scanning and changing ids, the speed register, fault bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from hexapod_control.servos.bus.bus_interface import Bus, BusError, ServoFault, ServoQuantity

TRIES = 3  # of a transaction that must survive one corrupt byte
RELAX_REPEATS = 3  # times torque-off is sent

FaultBits = Mapping[int, ServoFault]
"""Bit of an error byte -> fault."""


def checked_ids(ids: Sequence[int], last: int) -> tuple[int, ...]:
    """The ids as a tuple. Raises ValueError unless they are unique and from 0 to `last`."""
    wrong = sorted({i for i in ids if not 0 <= i <= last or list(ids).count(i) > 1})
    if wrong:
        raise ValueError(f"servo ids {wrong}: every servo needs its own id from 0 to {last}")
    return tuple(ids)


def scan_ids(ping: Callable[[int], str | None], ids: Iterable[int]) -> dict[int, str]:
    """Ids that answer a ping, and their models."""
    models = {servo: ping(servo) for servo in ids}
    return {servo: model for servo, model in models.items() if model is not None}


def answering(
    scan: Callable[[Sequence[int]], dict[int, str]], ids: Sequence[int], no_answer: Callable[[], BusError]
) -> dict[int, str]:
    """The ids of a robot that answer a scan, with their models. Raises `no_answer` if none does."""
    found = scan(ids)
    if ids and not found:
        raise no_answer()
    return found


def duplicate_ids(bus: Bus, ids: Iterable[int]) -> list[int]:
    """Ids whose replies are always corrupt: probably two servos share the id."""
    found = []
    for servo in ids:
        before = bus.counters.bad
        answers = [bus.read([servo], ServoQuantity.POSITION) for _ in range(TRIES)]
        if not any(answers) and bus.counters.bad - before >= TRIES:
            found.append(servo)
    return found


@dataclass(frozen=True, slots=True)
class SpeedRegister:
    """The speed register of servos that have no register for the duration of a move."""

    unit: float  # [steps/s] per count
    fastest: int  # maximum register value; 0 is maximum speed
    unknown: int  # register value for a servo of unknown position: slow, because it may be far from its goal

    def register(self, travel: int | None, duration: float) -> int:
        """Register value to travel a distance [steps] within `duration` [s]; 0 s is maximum speed."""
        if duration <= 0.0:
            return 0
        if travel is None:
            return self.unknown
        return min(max(math.ceil(travel / duration / self.unit), 1), self.fastest)


def decode_faults(error: int, bits: FaultBits) -> ServoFault:
    """The faults in an error byte."""
    faults = ServoFault.NONE
    for bit, fault in bits.items():
        if error >> bit & 1:
            faults |= fault
    return faults


def change_id(ping: Callable[[int], str | None], write: Callable[[], None], old: int, new: int, last: int) -> None:
    """Changes an id by calling `write`, and checks the result. Raises BusError; ValueError if `new` is above `last`."""
    checked_ids([new], last)
    if ping(new) is not None:
        raise BusError(f"a servo with id {new} already exists: connect only the one to change")
    if ping(old) is None:
        raise BusError(f"no servo answers with id {old}: scan for the ids that do")
    write()
    if ping(new) is None:
        raise BusError(f"the servo with id {old} did not accept id {new}: switch its power off and on, then scan")
