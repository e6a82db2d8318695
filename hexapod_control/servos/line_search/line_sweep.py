"""Searches a port with all baud rates and protocols for servos and boards, with read-only requests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hexapod_control.servos.bus.bus_interface import BusError, PortGoneError
from hexapod_control.servos.bus.ff_bus import FFBus
from hexapod_control.servos.bus.id_addressing import duplicate_ids
from hexapod_control.servos.bus.model_numbers import WrongModelError
from hexapod_control.servos.bus.serial_port import Port
from hexapod_control.servos.bus.transaction import ReplyTiming
from hexapod_control.servos.line_search.line_probe import BOARD_PROBES
from hexapod_control.servos.protocols import dynamixel2_bus, feetech_st, lx16a
from hexapod_control.servos.protocols.dynamixel2_bus import Dynamixel2Bus
from hexapod_control.servos.protocols.lx16a import Lx16aBus

WAIT = ReplyTiming(margin=0.012)
MAX_GARBLED = 3  # ids with corrupt replies; more mean another baud
FF = ("feetech_st", "feetech_sc", "dynamixel1")  # same frames: one probe finds all of them
SweptBus = FFBus | Dynamixel2Bus | Lx16aBus


class SweepFamily(NamedTuple):
    """Protocols found by one probe, and the baud rates of their servos, the usual ones first."""

    protocols: tuple[str, ...]
    bauds: tuple[int, ...]
    open: Callable[[Port, Sequence[int], ReplyTiming], SweptBus]


FAMILIES = (
    SweepFamily(FF, (1_000_000, 500_000, 250_000, 128_000, 115_200, 76_800, 57_600, 38_400), feetech_st.open_bus),
    SweepFamily(
        ("dynamixel2",),
        (57_600, 1_000_000, 115_200, 2_000_000, 3_000_000, 4_000_000, 9_600),
        dynamixel2_bus.open_bus,
    ),
    SweepFamily(("lx16a",), (115_200,), lx16a.open_bus),
)


@dataclass(slots=True)
class LineFinding:
    """The servos or the board that respond at one baud."""

    baud: int
    protocol: str  # that controls them; empty if none does
    servos: dict[int, str] = field(default_factory=dict)  # models by id
    shared: list[int] = field(default_factory=list)  # ids that several servos have
    board: str = ""  # description of a board

    @property
    def text(self) -> str:
        """Description, with a remedy if there is something to do."""
        if self.board:
            return f"{self.board} at {self.baud} baud"
        parts = []
        if self.servos:
            models = ", ".join(sorted(set(self.servos.values())))
            parts.append(f"{len(self.servos)} servos ({models}), ids {_ranges(self.servos)}")
        if self.shared:
            parts.append(shared_text(self.shared))
        use = f", protocol {self.protocol}" if self.protocol else ""
        unsupported = ", which no protocol here controls" if self.servos and not self.protocol else ""
        return f"at {self.baud} baud{use}: {'; '.join(parts)}{unsupported}"


def shared_text(ids: Collection[int]) -> str:
    """Message about ids that several servos share, with the remedy."""
    named = ", ".join(map(str, ids))
    new = " as new servos do" if set(ids) == {1} else ""
    return (
        f"several servos answer at once to id {named}{new}: give each its own id, one after the other, "
        "with hexapod servos set-id"
    )


def sweep(
    connect: Callable[[int], Port],
    ids: Sequence[int],
    protocols: Collection[str] = (),
    bauds: Collection[int] = (),
    tried: Callable[[str], None] = lambda text: None,
    wait: ReplyTiming = WAIT,
) -> Iterator[LineFinding]:
    """Yields a finding for each answer; `protocols` and `bauds` limit the search, `tried` is called for each attempt.

    Boards come first: frames for servos could move the hobby servos of a Maestro.
    Raises PortGoneError if no baud rate can be opened.
    """
    for probe in BOARD_PROBES:
        if _wanted((probe.protocol,), protocols) and (not bauds or probe.baud in bauds):
            tried(f"{probe.protocol} at {probe.baud} baud")
            if finding := _board(connect, probe.baud, probe.protocol, probe.ask, ids):
                yield finding
                return
    for family in FAMILIES:
        if not _wanted(family.protocols, protocols):
            continue
        for baud in [b for b in bauds or family.bauds]:
            tried(f"{' or '.join(family.protocols)} at {baud} baud")
            yield from _servos(connect, family, baud, ids, wait)


def _wanted(family: Iterable[str], protocols: Collection[str]) -> bool:
    return not protocols or bool(set(family) & set(protocols))


def _board(
    connect: Callable[[int], Port],
    baud: int,
    protocol: str,
    ask: Callable[[Port, Sequence[int]], str],
    ids: Sequence[int],
) -> LineFinding | None:
    port = connect(baud)
    try:
        text = ask(port, ids)
    except WrongModelError as error:  # a Maestro
        text = str(error)
    except BusError:
        text = ""
    finally:
        port.close()
    return LineFinding(baud, protocol, board=text.partition(":")[0]) if text else None


def _servos(
    connect: Callable[[int], Port], family: SweepFamily, baud: int, ids: Sequence[int], wait: ReplyTiming
) -> Iterator[LineFinding]:
    try:
        port = connect(baud)
    except PortGoneError:  # this adapter does not support the baud
        return
    try:
        bus = family.open(port, ids, wait)
        found, shared = scan_with_duplicates(bus, ids)
        by_protocol: dict[str, LineFinding] = {}
        for servo, model in found.items():
            protocol = family.protocols[0] if isinstance(bus, Lx16aBus) else bus.models.protocol_of(servo)
            by_protocol.setdefault(protocol, LineFinding(baud, protocol)).servos[servo] = model
        if shared:
            name = next(iter(by_protocol), family.protocols[0] if len(family.protocols) == 1 else "")
            by_protocol.setdefault(name, LineFinding(baud, name)).shared = shared
    except BusError:
        return
    finally:
        port.close()
    yield from by_protocol.values()


def scan_with_duplicates(bus: SweptBus, ids: Iterable[int]) -> tuple[dict[int, str], list[int]]:
    """Pings ids. Returns the models by the ids that answer, and the ids that several servos share."""
    found: dict[int, str] = {}
    garbled = []
    for servo in ids:
        before = bus.counters.bad
        model = bus.ping(servo, 1)
        if model is not None:
            found[servo] = model
        elif bus.counters.bad > before:
            garbled.append(servo)
    return found, duplicate_ids(bus, garbled) if len(garbled) <= MAX_GARBLED else []


def _ranges(ids: Iterable[int]) -> str:
    """1-6, 9."""
    runs: list[list[int]] = []
    for servo in sorted(ids):
        if runs and servo == runs[-1][-1] + 1:
            runs[-1].append(servo)
        else:
            runs.append([servo])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
