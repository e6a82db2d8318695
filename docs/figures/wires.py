# SPDX-License-Identifier: Apache-2.0
"""The table of docs/servos.md, from the table of protocols: `python docs/figures/wires.py` prints it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from hexapod_control.evaluation.robot_check.checks import idle_bus
from hexapod_control.servos.bus.bus_interface import Bus, BusError, ServoQuantity
from hexapod_control.servos.bus.bus_timing import TURNAROUND_S, budget
from hexapod_control.servos.protocol_registry import PROTOCOLS, ServoProtocol
from hexapod_control.servos.settings.servo_section import LOOPBACK

COUNT, RATE = 18, 50.0  # servos, [Hz] default of a robot file
FASTER = {"dynamixel2": 1_000_000}  # baud worth setting
HEAD = ("protocol", "baud", "ids", "positions are", "write, read", "loops", "at 50 Hz the driver")


def rows() -> Iterator[tuple[str, ...]]:
    """One row per protocol and baud."""
    for row in PROTOCOLS.values():
        if row.name != LOOPBACK:
            for baud in filter(None, (row.baud, FASTER.get(row.name))):
                yield _row(row, baud)


def _row(row: ServoProtocol, baud: int) -> tuple[str, ...]:
    ids = [i for i in row.ids if i or row.ids.stop > COUNT][:COUNT]
    bus = idle_bus(row, baud, ids)
    timing, reads = bus.timing(COUNT), bool(row.can_read & ServoQuantity.POSITION)
    read = timing.read + timing.turnarounds * TURNAROUND_S if reads else 0.0
    return (
        f"`{row.name}`",
        str(baud),
        f"{row.ids[0]} to {row.ids[-1]}",
        "measured" if reads else "an estimate",
        f"{1000 * timing.write:.1f} ms" + (f", {1000 * read:.1f} ms" if reads else ""),
        f"{1.0 / (timing.write + read):.0f} Hz",
        _plan(bus, reads),
    )


def _plan(bus: Bus, reads: bool) -> str:
    try:
        plan = budget(bus.timing, COUNT, RATE, reads)
    except BusError:
        return "refuses: too slow to walk"
    rate = f"sends at {plan.rate:.0f} Hz"
    return (
        rate if not reads else f"{rate}, reads {plan.reads} in a cycle" if plan.reads < COUNT else f"{rate}, reads all"
    )


def table() -> str:
    """The table in Markdown."""
    first, *others = ("| " + " | ".join(line) + " |" for line in (HEAD, *rows()))
    return "\n".join((first, "|" + "---|" * len(HEAD), *others))


if __name__ == "__main__":
    print(table())
