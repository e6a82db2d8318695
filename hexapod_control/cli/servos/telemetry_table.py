"""The table of `hexapod servos watch`: one row per servo with its readings."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence

from hexapod_control.servos.bus.bus_interface import Bus, ServoFault, ServoQuantity, ServoReading
from hexapod_control.servos.settings.joint_calibration import JointCalibration
from hexapod_control.servos.settings.servo_section import ServoSettings


class TelemetryScreen:
    """Prints tables: on a terminal each over the previous one, else one after the other."""

    def __init__(self) -> None:
        self.shown = 0

    def show(self, lines: Sequence[str]) -> None:
        """Shows a table."""
        if self.shown and sys.stdout.isatty():  # over the last table
            print(f"\x1b[{len(lines)}A" + "\n".join(f"{line}\x1b[K" for line in lines))
        else:
            print("\n".join(lines))
        sys.stdout.flush()
        self.shown += 1


def telemetry_table(bus: Bus, settings: ServoSettings) -> tuple[list[str], int]:
    """Reads all servos once. Returns the table of their readings, one string per line, and how many have answered."""
    answers = bus.read(settings.ids, bus.can_read or ServoQuantity.POSITION)
    head = f"{'joint':22s} {'id':>3s} {'raw':>6s} {'deg':>7s} {'load':>5s} {'V':>5s} {'degC':>4s}  faults"
    volts, amperes = bus.supply()
    rows = [_row(joint, answers.get(joint.id)) for joint in settings.joints]
    counters = bus.counters
    foot = [f"{len(answers)} of {len(rows)} answer", f"{counters.bad} bad frames", f"{counters.timeouts} timeouts"]
    if volts is not None:
        foot.append(f"board {volts:.1f} V" + (f" {amperes:.2f} A" if amperes is not None else ""))
    if not bus.can_read & ServoQuantity.POSITION:
        foot.append("raw is the last goal: these servos report no position")
    return [head, *rows, ", ".join(foot)], len(answers)


def _row(joint: JointCalibration, reading: ServoReading | None) -> str:
    """The row of one servo; a dash stands for a value that it does not report."""
    name = joint.short_name
    if reading is None:
        return f"{name:22s} {joint.id:3d}      -"
    raw = reading.position
    cells = (
        _cell("6d", raw),
        _cell("7.1f", None if raw is None else math.degrees(joint.angle(raw))),
        _cell("5.2f", reading.load),
        _cell("5.1f", reading.voltage),
        _cell("4.0f", reading.temperature),
    )
    return f"{name:22s} {joint.id:3d} {' '.join(cells)}  {_faults(reading.fault)}".rstrip()


def _cell(form: str, value: float | None) -> str:
    return "-".rjust(int(form.split(".")[0].rstrip("d"))) if value is None else format(value, form)


def _faults(fault: ServoFault) -> str:
    names: Iterable[str] = (item.name.lower() for item in ServoFault if item in fault and item.name)
    return " ".join(names)
