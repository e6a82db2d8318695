"""Checks whether the servo line is fast enough, from bytes and turnarounds per cycle, without a port."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from hexapod_control.config.robots.servo_table import versions
from hexapod_control.evaluation.robot_check.remark import Remark, Seriousness
from hexapod_control.evaluation.robot_check.subject import Subject
from hexapod_control.servos.bus.bus_interface import Bus, BusError, ServoQuantity
from hexapod_control.servos.bus.bus_timing import budget
from hexapod_control.servos.driver.read_schedule import MOTION
from hexapod_control.servos.protocol_registry import PROTOCOLS, ServoProtocol
from hexapod_control.servos.settings.servo_section import LOOPBACK, servo_settings

USUAL_RATE_HZ = 50.0  # of a robot file


class IdlePort(NamedTuple):
    """A port without traffic."""

    baud: int


def idle_bus(row: ServoProtocol, baud: int, ids: Sequence[int]) -> Bus:
    """A bus that is only used for its timing."""
    return row.open(IdlePort(baud), ids)


def wire(subject: Subject) -> Iterator[Remark]:
    """Goals and reads per cycle on the line, with the section `servos` or the usual protocol of the servo."""
    count = 3 * len(subject.robot.legs)
    if subject.file.servos is not None:
        settings = servo_settings(subject.file)
        name, baud, rate = settings.protocol, settings.baud, settings.rate
    else:
        known = versions(subject.file.servo_model)
        name, baud, rate = (known[0].protocol if known else "", 0, USUAL_RATE_HZ)
    if name not in PROTOCOLS or name == LOOPBACK:
        return
    row = PROTOCOLS[name]
    baud = baud or row.baud
    ids = [each for each in row.ids if each or row.ids.stop > count][:count]
    where = f"With {name} at {baud} baud"
    figures: dict[str, object] = {"protocol": name, "baud": baud}
    try:
        bus = idle_bus(row, baud, ids)
        reads = bool(bus.can_read & ServoQuantity.POSITION)
        found = budget(partial(bus.timing, quantities=bus.can_read & MOTION), count, rate, reads)
    except BusError as error:
        yield Remark(Seriousness.PROBLEM, "wire", f"{where} {error}", "a higher baud, or two buses", figures)
        return
    read = f", and {found.reads} of {count} positions are read each time" if reads else ""
    text = f"{where} goals are sent {found.rate:.0f} times a second{read}"
    figures |= {"rate_hz": round(found.rate, 1), "reads": found.reads}
    change = "a higher baud, or a smaller servos.rate" if found.limitation else ""
    seriousness = Seriousness.NOTE if found.limitation else Seriousness.FIGURE
    yield Remark(seriousness, "wire", text, change, figures)
