# SPDX-License-Identifier: Apache-2.0
"""Servos with ids: scanning and changing ids, fault bits, the speed register that replaces a move's duration."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from hexapod_control.servos.bus.bus_interface import TRIES, Bus, BusError, BusFeatures, ServoFault, ServoQuantity
from hexapod_control.servos.bus.model_numbers import ModelCheck
from hexapod_control.servos.bus.pulse_board import BoardProbe
from hexapod_control.servos.bus.serial_port import Port
from hexapod_control.servos.bus.transaction import ReplyTiming, Transaction

FaultBits = Mapping[int, ServoFault]
"""Bit of an error byte -> fault."""


def checked_ids(ids: Sequence[int], last: int) -> tuple[int, ...]:
    """The ids as a tuple. Raises ValueError unless they are unique and from 0 to `last`."""
    wrong = sorted({i for i in ids if not 0 <= i <= last or list(ids).count(i) > 1})
    if wrong:
        raise ValueError(f"servo ids {wrong}: every servo needs its own id from 0 to {last}")
    return tuple(ids)


def duplicate_ids(bus: Bus, ids: Iterable[int]) -> list[int]:
    """Ids whose replies are always corrupt: probably two servos share the id."""
    found = []
    for servo in ids:
        before = bus.counters.bad
        answers = [bus.read([servo], ServoQuantity.POSITION) for _ in range(TRIES)]
        if not any(answers) and bus.counters.bad - before >= TRIES:
            found.append(servo)
    return found


def decode_faults(error: int, bits: FaultBits) -> ServoFault:
    """The faults in an error byte."""
    faults = ServoFault.NONE
    for bit, fault in bits.items() if error else ():
        if error >> bit & 1:
            faults |= fault
    return faults


class SmartServoBus(Bus):
    """Common parts of the buses of servos with ids: one port, the scan for ids, their models, the change of an id."""

    last_id: int
    protocol: str  # key in protocol_registry.PROTOCOLS
    features = BusFeatures(servo_ids=True, torque=True)

    def __init__(
        self, port: Port, ids: Sequence[int], wait: ReplyTiming | None = None, *, force_model: bool = False
    ) -> None:
        """A bus of these servo ids on this port; `force_model` accepts any model. Raises ValueError for invalid ids."""
        self.ids = checked_ids(ids, self.last_id)
        self.exchange = Transaction(port, wait)
        self.counters = self.exchange.counters
        self.urgent = self.exchange.urgent
        self.models = ModelCheck(self.protocol, force_model)
        self._probe = BoardProbe(port)

    @property
    def awaited(self) -> frozenset[int]:
        """Servo ids whose replies to the last request may still come."""
        return self.exchange.awaited

    @abstractmethod
    def _ask_model(self, servo: int) -> str | None:
        """The model of a servo, None if it does not answer one request."""

    @abstractmethod
    def _write_id(self, old: int, new: int) -> None:
        """Writes an id into the EEPROM of a servo."""

    def identify(self) -> Mapping[int, str]:
        """The models of the servos that answer. Raises BusError if none does, or if one is of another kind."""
        found = self.scan(self.ids)
        if self.ids and not found:
            raise self.exchange.no_answer()
        self.models.check(found)
        return found

    @property
    def model_warning(self) -> str:
        """A servo that is used although the protocol is not that of its model; empty if there is none."""
        return self.models.warning

    def check_models(self, servos: Iterable[int]) -> str:
        """Returns the `model_warning` about these servos. Raises WrongModelError unless that is forced."""
        self.models.check(servos)
        return self.models.warning

    def scan(self, ids: Iterable[int], tries: int = TRIES) -> dict[int, str]:
        """Ids that answer, and their models."""
        models = {servo: self.ping(servo, tries) for servo in ids}
        return {servo: model for servo, model in models.items() if model is not None}

    def ping(self, servo: int, tries: int = TRIES) -> str | None:
        """The model of a servo, None if it does not answer. Raises WrongModelError if a board answers instead."""
        self._probe.check()
        answers = (self._ask_model(servo) for _ in range(tries))
        return next((model for model in answers if model is not None), None)

    def set_id(self, old: int, new: int) -> None:
        """Changes the id of a servo, which should be alone on the line, in its EEPROM, and checks the result.

        Raises BusError; ValueError if `new` is no id.
        """
        checked_ids([new], self.last_id)
        if self.ping(new) is not None:
            raise BusError(f"a servo with id {new} already exists: connect only the one to change")
        if self.ping(old) is None:
            raise BusError(f"no servo answers with id {old}: scan for the ids that do")
        self._write_id(old, new)
        if self.ping(new) is None:
            raise BusError(f"the servo with id {old} did not accept id {new}: switch its power off and on, then scan")

    def close(self) -> None:
        """Closes the port."""
        self.exchange.port.close()
