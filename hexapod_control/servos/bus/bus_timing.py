# SPDX-License-Identifier: Apache-2.0
"""Bus budget: the cycle rate, and the servos read per cycle, that the bandwidth of the line allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hexapod_control.servos.bus.bus_interface import BusError, BusTiming

TURNAROUND_S = 0.001  # for the line to change direction over USB
MAX_LINE_SHARE = 0.85  # of a cycle for which the line may be busy
MIN_RATE_HZ = 10.0  # needed to walk
MIN_REFRESH_HZ = 4.0  # of the position of every servo


@dataclass(frozen=True, slots=True)
class BusBudget:
    """Cycle rate and reads that fit on the line."""

    rate: float  # [Hz]
    reads: int  # servos read per cycle; 0 on a bus without reads
    limitation: str  # message if the line is too slow; empty if not


def duration(timing: Callable[[int], BusTiming], count: int, reads: int) -> float:
    """Time [s] for which the line is busy with goals of `count` servos and positions of `reads` servos."""
    write = timing(count).write
    if not reads:
        return write
    read = timing(reads)
    return write + read.read + read.turnarounds * TURNAROUND_S


def budget(timing: Callable[[int], BusTiming], count: int, rate: float, reads: bool) -> BusBudget:
    """The budget of `count` servos at a requested rate [Hz]; `reads`: the bus reads positions.

    Raises BusError if the line is too slow to walk.
    """
    shortest = duration(timing, count, 1 if reads else 0)
    fastest = MAX_LINE_SHARE / max(shortest, 1e-6)
    if fastest < MIN_RATE_HZ:
        raise BusError(
            f"one cycle takes {1000.0 * shortest:.0f} ms on this line, which is {fastest:.1f} Hz at most and too slow "
            f"to walk ({MIN_RATE_HZ:g} Hz): set the servos to a higher baud"
        )
    feasible = min(rate, fastest)
    if not reads:
        return BusBudget(feasible, 0, _lowered_text(rate, feasible))
    most = _max_reads(timing, count, feasible)
    while most * feasible < count * MIN_REFRESH_HZ and feasible > MIN_RATE_HZ:  # fewer goals: positions stay recent
        feasible = max(MIN_RATE_HZ, 0.9 * feasible)
        most = _max_reads(timing, count, feasible)
    limitation = _lowered_text(rate, feasible)
    if not limitation and most < count:
        each = most * feasible / count
        limitation = f"the line is slow: {most} of {count} servos are read per cycle, each {each:.1f} times per second"
    return BusBudget(feasible, most, limitation)


def _max_reads(timing: Callable[[int], BusTiming], count: int, rate: float) -> int:
    for reads in range(count, 1, -1):
        if duration(timing, count, reads) * rate <= MAX_LINE_SHARE:
            return reads
    return 1


def _lowered_text(rate: float, feasible: float) -> str:
    if feasible >= rate * 0.999:
        return ""
    return (
        f"the rate is lowered from {rate:g} to {feasible:.1f} Hz because the line is too slow: "
        "set the servos to a higher baud, or servos.rate lower"
    )
