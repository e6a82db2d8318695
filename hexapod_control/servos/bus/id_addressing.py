"""What all buses of servos with ids share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from hexapod_control.servos.bus.bus_interface import Bus, BusError, RawScale, ServoFault, ServoQuantity

TRIES = 3  # of what must not fail because of one disturbed byte
RELAX_REPEATS = 3  # times torque off is sent

FaultBits = Mapping[int, ServoFault]
"""Bit of an error byte -> what it says."""


def checked_ids(ids: Sequence[int], last: int) -> tuple[int, ...]:
    """The ids. Raises ValueError unless they are unique and from 0 to `last`."""
    wrong = sorted({i for i in ids if not 0 <= i <= last or list(ids).count(i) > 1})
    if wrong:
        raise ValueError(f"servo ids {wrong}: every servo needs an id of its own from 0 to {last}")
    return tuple(ids)


def duplicate_ids(bus: Bus, ids: Iterable[int]) -> list[int]:
    """Those of these ids that are answered by rubbish every time: likely two servos have one."""
    found = []
    for servo in ids:
        before = bus.counters.bad
        answers = [bus.read([servo], ServoQuantity.POSITION) for _ in range(TRIES)]
        if not any(answers) and bus.counters.bad - before >= TRIES:
            found.append(servo)
    return found


def clamp_goal(raw: int, scale: RawScale) -> int:
    """A goal the servo takes."""
    return min(max(raw, scale.low), scale.high)


@dataclass(frozen=True, slots=True)
class SpeedRegister:
    """The register of a servo's speed that takes the place of a move's time, which the servo does not know."""

    unit: float  # [steps/s]
    fastest: int  # register value; 0 is as fast as the servo can
    unknown: int  # register value for a servo whose position nobody knows: slow, it may be far from its goal

    def register(self, travel: int | None, duration: float) -> int:
        """Value that takes a servo over this way [steps] within `duration` [s]; 0 [s] is as fast as it can."""
        if duration <= 0.0:
            return 0
        if travel is None:
            return self.unknown
        return min(max(math.ceil(travel / duration / self.unit), 1), self.fastest)


def decode_faults(error: int, bits: FaultBits) -> ServoFault:
    """What an error byte says."""
    found = ServoFault.NONE
    for bit, fault in bits.items():
        if error >> bit & 1:
            found |= fault
    return found


def change_id(ping: Callable[[int], str | None], write: Callable[[], None], old: int, new: int, last: int) -> None:
    """Lets `write` change an id and looks whether it did. Raises BusError; ValueError if `new` is above `last`."""
    checked_ids([new], last)
    if ping(new) is not None:
        raise BusError(f"a servo with id {new} is there already: connect only the one to change")
    if ping(old) is None:
        raise BusError(f"no servo answers with id {old}: scan for the ids that do")
    write()
    if ping(new) is None:
        raise BusError(f"the servo with id {old} did not take id {new}: switch its power off and on, then scan")
