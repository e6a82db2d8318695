"""Identifies the servos or the board on a port where the chosen protocol gets no reply, with read-only requests.

Boards are probed first: frames for servos could move the hobby servos of a Maestro.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hexapod_control.servos.bus.board_probe import BoardProbe
from hexapod_control.servos.bus.bus_interface import BusError, NoAnswerError, PortGoneError
from hexapod_control.servos.bus.ff_bus import FFBus
from hexapod_control.servos.bus.model_numbers import WrongModelError
from hexapod_control.servos.bus.serial_port import Port, SerialPort
from hexapod_control.servos.bus.transaction import ReplyTiming
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.protocols import dynamixel2_bus, feetech_st, lx16a
from hexapod_control.servos.protocols.dynamixel2_bus import Dynamixel2Bus
from hexapod_control.servos.protocols.servo2040 import Servo2040Bus, Servo2040Dialect
from hexapod_control.servos.protocols.ssc32 import Ssc32Bus
from hexapod_control.servos.settings.servo_section import ServoSettings

MAX_TIME_S = 1.5  # after which no request is sent
MAX_IDS = 3  # queried with each protocol at each baud
WAIT = ReplyTiming(margin=0.02)  # an adapter may hold bytes back for 16 ms

ProbeFunction = Callable[[Port, Sequence[int]], str]
"""Takes an open port and the ids of the robot's servos. Returns a description of what responds; empty if nothing."""


def _maestro(port: Port, ids: Sequence[int]) -> str:
    BoardProbe(port).check()  # raises if there is one
    return ""


def _ssc32(port: Port, ids: Sequence[int]) -> str:
    return "the port answers like an SSC-32: use protocol ssc32" if Ssc32Bus(port, [0]).answers() else ""


def _servo2040(port: Port, ids: Sequence[int]) -> str:
    board = Servo2040Bus(port, [0], dialect=Servo2040Dialect.ORIGINAL)  # the fork's replies have the same beginning
    return "the port answers like a Servo2040: use protocol servo2040" if board.answers() else ""


def _servos(open_bus: Callable[..., FFBus | Dynamixel2Bus]) -> ProbeFunction:
    def ask(port: Port, ids: Sequence[int]) -> str:
        bus = open_bus(port, ids, WAIT)
        return next((bus.models.description(servo) for servo in bus.scan(ids[:MAX_IDS], 1)), "")

    return ask


def _lx16a(port: Port, ids: Sequence[int]) -> str:
    found = lx16a.open_bus(port, ids, WAIT).scan(ids[:MAX_IDS], 1)
    return next((f"servo {servo} answers like an {model}: use protocol lx16a" for servo, model in found.items()), "")


class ProtocolProbe(NamedTuple):
    """A protocol with the baud at which it is probed."""

    protocol: str
    baud: int
    ask: ProbeFunction


_FF = _servos(feetech_st.open_bus)  # the model number distinguishes all servos with these frames
_X = _servos(dynamixel2_bus.open_bus)
BOARD_PROBES = (
    ProtocolProbe("maestro", 115_200, _maestro),
    ProtocolProbe("servo2040", 115_200, _servo2040),
    ProtocolProbe("ssc32", 115_200, _ssc32),
    ProtocolProbe("ssc32", 9_600, _ssc32),
)
PROBES = (
    *BOARD_PROBES,
    ProtocolProbe("feetech_st", 1_000_000, _FF),
    ProtocolProbe("dynamixel2", 1_000_000, _X),
    ProtocolProbe("lx16a", 115_200, _lx16a),
    ProtocolProbe("dynamixel2", 57_600, _X),
    ProtocolProbe("feetech_st", 115_200, _FF),
    ProtocolProbe("feetech_st", 500_000, _FF),
    ProtocolProbe("dynamixel2", 115_200, _X),
    ProtocolProbe("feetech_st", 57_600, _FF),
)


def with_findings(error: BusError, settings: ServoSettings) -> str:
    """The text of an error of the bus, which is closed; if nothing answered, with what answers another protocol."""
    serial = PROTOCOLS[settings.protocol].connect is SerialPort
    found = find_other_protocol(settings) if serial and isinstance(error, NoAnswerError) else ""
    return f"{found}; nothing answers to {settings.protocol} at {settings.baud} baud" if found else str(error)


def find_other_protocol(settings: ServoSettings) -> str:
    """Describes what responds on this port with another protocol or baud; empty if nothing does."""
    end = time.monotonic() + MAX_TIME_S
    for probe in PROBES:
        same = (probe.protocol, probe.baud) == (settings.protocol, settings.baud)
        if same or time.monotonic() >= end:
            continue
        found = _answer(settings, probe)
        if found:
            return f"{found} at {probe.baud} baud"
    return ""


def _answer(settings: ServoSettings, probe: ProtocolProbe) -> str:
    try:
        port = SerialPort(settings.port, probe.baud)
    except PortGoneError:  # this adapter does not support the baud
        return ""
    try:
        return probe.ask(port, settings.ids)
    except WrongModelError as error:  # a Maestro, which every bus with servo frames probes for
        return str(error)
    except (BusError, PortGoneError):
        return ""
    finally:
        port.close()
