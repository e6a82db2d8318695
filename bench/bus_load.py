# SPDX-License-Identifier: Apache-2.0
"""Measures the bus cycle of every servo protocol: write 18 goals, read 18 positions, with emulated servos.

The servos run in their own process, with the timing of a real bus. The limit is the time of the bytes and turnarounds
alone. Both processes have real-time priority if the user is allowed to set it: an emulated servo that has to wait for
a CPU would be slower than a real one.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hexapod_control.config.missing_modules import missing_module
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.servos.bus.bus_interface import Bus, BusError, PortGoneError, ServoQuantity
from hexapod_control.servos.bus.bus_timing import TURNAROUND_S
from hexapod_control.servos.bus.transaction import ReplyTiming
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import LOOPBACK, ServoSettings, servo_settings

MEASURED_TIME_S = 2.0  # per protocol
MIN_LOOPS = 10  # per protocol, however slow it is
END_S = 20.0  # time limit for the emulated servos to end
REPLY_MARGIN_S = 0.05  # extra time for a reply, which may be late on a busy computer
REAL_TIME_PRIORITY = 10  # of 1 to 99
MAX_RATIO = 1.15  # of the median over the limit
FASTER_BAUDS = {"dynamixel2": 1_000_000}  # measured in addition to the default baud


def measure(file: RobotFile, progress: Callable[[str], None]) -> dict[str, object]:
    """Returns `bus`: by protocol and baud, limit and median of a bus cycle [ms], their ratio and its CPU time [ms].

    `bus_walk` has the figures of walks in physics over feetech_st, with limits twice as wide as without a bus.
    """
    return {"bus": wires(file, progress), "bus_walk": walks(file, progress)}


def walks(file: RobotFile, progress: Callable[[str], None]) -> list[dict[str, object]] | dict[str, object]:
    """Returns the figures of walks in physics over an emulated bus."""
    try:
        import bus_replay
        import flat_ground
    except ModuleNotFoundError as error:
        reason = missing_module(error)
        if reason is None:
            raise
        return {"skipped": reason}
    found: list[dict[str, object]] = []
    for case, quality in bus_replay.rows(file):
        progress(f"bus walk: {flat_ground.line(case, quality)}")
        entry: dict[str, object] = {"gait": case.course.gait, "twist": list(case.course.twist)}
        if isinstance(quality, Exception):
            found.append(entry | {"failed": str(quality)})
            continue
        broken = list(case.limits.broken_by(quality))
        entry |= {"ratios": list(quality.ratios), "slip": quality.slip, "roll_deg": quality.roll}
        entry |= {"pitch_deg": quality.pitch, "height_m": quality.height_variation, "ripple": quality.ripple}
        found.append(entry | {"limits_kept": not broken, "limits_broken": broken})
    return found


def wires(file: RobotFile, progress: Callable[[str], None]) -> dict[str, object]:
    """Measures the bus cycle of every protocol."""
    found: dict[str, object] = {}
    for name, row in PROTOCOLS.items():
        for baud in (row.baud, FASTER_BAUDS.get(name)) if name != LOOPBACK else ():
            if baud is None:
                continue
            try:
                with real_time() as priority:  # inherited by the servos
                    entry = _measured(file, name, baud) | {"real_time": priority}
            except BusError as error:  # a library of the protocol is not installed
                entry = {"skipped": str(error)}
            found[f"{name} {baud}"] = entry
            progress(f"bus: {name:10s} {baud:8d} baud: {_summary(entry)}")
    return found


def _summary(entry: dict[str, Any]) -> str:
    if "skipped" in entry:
        return str(entry["skipped"])
    return (
        f"limit {entry['limit_ms']:5.2f} ms, median {entry['median_ms']:5.2f} ms "
        f"({entry['quickest_ms']:.2f} to {entry['slowest_ms']:.2f}), {entry['ratio']:.2f} times, "
        f"CPU {entry['cpu_ms']:.2f} ms, {entry['lost']} lost"
    )


def _measured(file: RobotFile, name: str, baud: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="hexapod_") as folder:
        link = str(Path(folder, "bus"))
        settings = servo_settings(file, name, link)
        with emulated(file.path, name, link, baud):
            row = PROTOCOLS[name]
            options: dict[str, Any] = {"wait": ReplyTiming(margin=REPLY_MARGIN_S)} if "wait" in row.options else {}
            bus = row.open(row.connect(link, baud), settings.ids, **options)
            try:
                bus.identify()
                return loops(bus, settings)
            finally:
                bus.close()


def loops(bus: Bus, settings: ServoSettings) -> dict[str, Any]:
    """Runs bus cycles for the measured time and returns their figures."""
    timing = bus.timing(len(settings.ids))
    limit = timing.write + timing.read + timing.turnarounds * TURNAROUND_S
    goals = {joint.id: round(joint.center) for joint in settings.joints}
    bus.write_goals(goals, 0.0)
    bus.torque(settings.ids, True)
    spans: list[float] = []
    begin = time.monotonic()
    cpu = time.thread_time()
    lost = bus.counters.timeouts
    while len(spans) < MIN_LOOPS or time.monotonic() < begin + MEASURED_TIME_S:
        start = time.monotonic()
        bus.write_goals(goals, 0.02)
        if bus.can_read & ServoQuantity.POSITION:
            bus.read(settings.ids, ServoQuantity.POSITION)
        elif settings.protocol == "servo2040":
            bus.supply()  # the only value that this board reports
        elif timing.turnarounds:
            bus.read(settings.ids, ServoQuantity.POSITION)
        spans.append(time.monotonic() - start)
    used = (time.thread_time() - cpu) / len(spans)
    bus.relax()
    median = statistics.median(spans)
    return {
        "limit_ms": round(1000.0 * limit, 3),
        "median_ms": round(1000.0 * median, 3),
        "quickest_ms": round(1000.0 * sorted(spans)[len(spans) // 20], 3),  # 5th percentile
        "slowest_ms": round(1000.0 * sorted(spans)[-1 - len(spans) // 20], 3),  # 95th percentile
        "ratio": round(median / limit, 3),
        "kept": median <= MAX_RATIO * limit,
        "cpu_ms": round(1000.0 * used, 3),
        "turnarounds": timing.turnarounds,
        "loops": len(spans),
        "lost": bus.counters.timeouts - lost,
    }


@contextlib.contextmanager
def real_time() -> Iterator[bool]:
    """Gives this block and its child processes real-time priority; yields False if the user is not allowed to."""
    before, usual = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REAL_TIME_PRIORITY))
    except PermissionError:
        yield False
        return
    try:
        yield True
    finally:
        os.sched_setscheduler(0, before, usual)


@contextlib.contextmanager
def emulated(robot: Path, protocol: str, link: str, baud: int) -> Iterator[None]:
    """Emulates the servos of a robot in another process, with `link` as port. Raises BusError or PortGoneError."""
    words = ["--robot", str(robot), "--protocol", protocol, "--link", link, "--baud", str(baud)]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "hexapod_control.cli.main", "emulate", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None and process.stderr is not None
        if not process.stdout.readline():
            raise BusError(process.stderr.read().strip() or "the emulated servos did not start")
        if not Path(link).exists():
            raise PortGoneError(f"{link}: the emulated servos made no link")
        yield
    finally:
        process.terminate()
        try:
            process.communicate(timeout=END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
