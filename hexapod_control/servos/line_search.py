# SPDX-License-Identifier: Apache-2.0
"""Searches a port with all baud rates and protocols for servos and boards, with read-only requests.

A quick search follows a failure to open a bus; a sweep finds all that answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hexapod_control.servos.bus.bus_interface import BusError, NoAnswerError, PortGoneError
from hexapod_control.servos.bus.id_addressing import SmartServoBus, duplicate_ids
from hexapod_control.servos.bus.model_numbers import WrongModelError
from hexapod_control.servos.bus.serial_port import Port, SerialPort
from hexapod_control.servos.bus.transaction import ReplyTiming
from hexapod_control.servos.protocol_registry import PROTOCOLS, ServoProtocol

QUICK_TIME_S = 1.5  # after which a quick search sends no request
QUICK_IDS = 3  # queried with each protocol at each baud
QUICK_WAIT = ReplyTiming(margin=0.02)  # an adapter may hold bytes back for 16 ms
SWEEP_WAIT = ReplyTiming(margin=0.012)
MAX_GARBLED = 3  # ids with corrupt replies; more mean another baud

# Boards before servos, and a Maestro before other boards: frames that are not for it could move its hobby servos.
BOARDS = sorted((row for row in PROTOCOLS.values() if row.probe), key=lambda row: row.name != "maestro")
SERVOS = tuple(row for row in PROTOCOLS.values() if row.searched and not row.probe)
TURNS = range(max(len(row.likely) for row in SERVOS))
QUICK: Sequence[tuple[ServoProtocol, int]] = (
    *((board, baud) for board in BOARDS for baud in board.searched),
    *((row, row.likely[turn]) for turn in TURNS for row in SERVOS if turn < len(row.likely)),
)


def with_findings(error: BusError, protocol: str, path: str, baud: int, ids: Sequence[int]) -> str:
    """The text of an error of the bus, which is closed; if nothing answered, with what answers another protocol."""
    serial = PROTOCOLS[protocol].connect is SerialPort
    found = find_other_protocol(protocol, path, baud, ids) if serial and isinstance(error, NoAnswerError) else ""
    return f"{found}; nothing answers to {protocol} at {baud} baud" if found else str(error)


def find_other_protocol(protocol: str, path: str, baud: int, ids: Sequence[int]) -> str:
    """Describes what responds on this port with another protocol or baud; empty if nothing does."""
    end = time.monotonic() + QUICK_TIME_S
    for row, other in QUICK:
        if (row.name, other) == (protocol, baud) or time.monotonic() >= end:
            continue
        try:
            port = SerialPort(path, other)
        except PortGoneError:  # this adapter does not support the baud
            continue
        if found := _answer(row, port, ids):
            return f"{found} at {other} baud"
    return ""


def _answer(row: ServoProtocol, port: Port, ids: Sequence[int]) -> str:
    """What answers on an open port, which is closed then; empty if nothing does."""
    try:
        if row.probe is not None:
            return row.probe(port)
        bus = _open_servos(row, port, ids, QUICK_WAIT)
        return next((bus.models.description(servo) for servo in bus.scan(ids[:QUICK_IDS], 1)), "")
    except WrongModelError as error:  # a Maestro, which every bus with servo frames probes for
        return str(error)
    except (BusError, PortGoneError):
        return ""
    finally:
        port.close()


def _open_servos(row: ServoProtocol, port: Port, ids: Sequence[int], wait: ReplyTiming) -> SmartServoBus:
    bus = row.open(port, ids, wait=wait)
    assert isinstance(bus, SmartServoBus)
    return bus


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
            parts.append(f"{len(self.servos)} servos ({models}), ids {ranges(self.servos)}")
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
    wait: ReplyTiming = SWEEP_WAIT,
) -> Iterator[LineFinding]:
    """Yields a finding for each answer; `protocols` and `bauds` limit the search, `tried` is called for each attempt.

    Raises PortGoneError if no baud rate can be opened.
    """
    for board in BOARDS:
        for baud in board.searched:
            if (protocols and board.name not in protocols) or (bauds and baud not in bauds):
                continue
            tried(f"{board.name} at {baud} baud")
            if text := _answer(board, connect(baud), ids):
                yield LineFinding(baud, board.name, board=text.partition(":")[0])
                return
    for row in SERVOS:
        family = (row.name, *(other.name for other in PROTOCOLS.values() if other.found_with == row.name))
        if protocols and not set(family) & set(protocols):
            continue
        for baud in bauds or row.searched:
            tried(f"{' or '.join(family)} at {baud} baud")
            yield from _servos(connect, row, family, baud, ids, wait)


def _servos(
    connect: Callable[[int], Port],
    row: ServoProtocol,
    family: Sequence[str],
    baud: int,
    ids: Sequence[int],
    wait: ReplyTiming,
) -> Iterator[LineFinding]:
    try:
        port = connect(baud)
    except PortGoneError:  # this adapter does not support the baud
        return
    try:
        bus = _open_servos(row, port, ids, wait)
        found, shared = scan_with_duplicates(bus, ids)
    except BusError:
        return
    finally:
        port.close()
    by_protocol: dict[str, LineFinding] = {}
    for servo, model in found.items():
        protocol = bus.models.protocol_of(servo)
        by_protocol.setdefault(protocol, LineFinding(baud, protocol)).servos[servo] = model
    if shared:
        name = next(iter(by_protocol), family[0] if len(family) == 1 else "")
        by_protocol.setdefault(name, LineFinding(baud, name)).shared = shared
    yield from by_protocol.values()


def scan_with_duplicates(bus: SmartServoBus, ids: Iterable[int]) -> tuple[dict[int, str], list[int]]:
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


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as a text such as `1-6, 9`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
