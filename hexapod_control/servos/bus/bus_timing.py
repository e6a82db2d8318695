"""Bus budget: servos read per cycle and cycle rate that the bandwidth of the line allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hexapod_control.servos.bus.bus_interface import BusError, BusTiming

TURNAROUND_S = 0.001  # [s] of the line over USB
MAX_LINE_SHARE = 0.85  # of a cycle for which the line may be busy
MIN_RATE = 10.0  # [Hz] needed to walk
MIN_REFRESH = 4.0  # [Hz] for the position of every servo


@dataclass(frozen=True, slots=True)
class BusBudget:
    """Rate and reads of a cycle."""

    rate: float  # [Hz]
    reads: int  # servos per cycle; 0 where nothing can be read
    limitation: str  # message if the line is too slow; empty if not


def duration(timing: Callable[[int], BusTiming], count: int, reads: int) -> float:
    """Time [s] the line is busy with goals of `count` servos and positions of `reads`."""
    write = timing(count).write
    if not reads:
        return write
    read = timing(reads)
    return write + read.read + read.turnarounds * TURNAROUND_S


def budget(timing: Callable[[int], BusTiming], count: int, rate: float, reads: bool) -> BusBudget:
    """The best cycle for `count` servos at a wanted rate [Hz]. Raises BusError if the bus is too slow to walk."""
    least = 1 if reads else 0
    fastest = MAX_LINE_SHARE / max(duration(timing, count, least), 1e-6)
    if fastest < MIN_RATE:
        milliseconds = 1000.0 * duration(timing, count, least)
        raise BusError(
            f"one cycle takes {milliseconds:.0f} ms on this line, which is {fastest:.1f} Hz at most and too slow to "
            f"walk ({MIN_RATE:g} Hz): set the servos to a higher baud"
        )
    slower = min(rate, fastest)
    if not reads:
        return BusBudget(slower, 0, _lowered_text(rate, slower))
    most = _max_reads(timing, count, slower)
    while most * slower < count * MIN_REFRESH and slower > MIN_RATE:  # fewer goals, to keep positions recent
        slower = max(MIN_RATE, 0.9 * slower)
        most = _max_reads(timing, count, slower)
    limitation = _lowered_text(rate, slower)
    if not limitation and most < count:
        each = most * slower / count
        limitation = f"the line is slow: {most} of {count} servos are read per cycle, each {each:.1f} times per second"
    return BusBudget(slower, most, limitation)


def _max_reads(timing: Callable[[int], BusTiming], count: int, rate: float) -> int:
    for reads in range(count, 1, -1):
        if duration(timing, count, reads) * rate <= MAX_LINE_SHARE:
            return reads
    return 1


def _lowered_text(rate: float, slower: float) -> str:
    if slower >= rate * 0.999:
        return ""
    return (
        f"the rate is lowered from {rate:g} to {slower:.1f} Hz because the line is too slow: "
        "set the servos to a higher baud, or servos.rate lower"
    )
