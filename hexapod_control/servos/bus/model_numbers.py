# SPDX-License-Identifier: Apache-2.0
"""The models that servos report, checked before the first write, and their rated supply.

A wrong protocol writes into registers with another meaning, so a servo whose model does not match is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from hexapod_control.config.servo_models import FEETECH, FEETECH_SERIES, ROBOTIS, KnownModel
from hexapod_control.servos.bus.bus_interface import BusError

HEAD = (0, 6)  # address and length of the registers that identify a servo with `FF FF` frames
FORCE = "--force-model (servo_driver: force_model:=true) uses them as they are"


class WrongModelError(BusError):
    """The model of a servo or board does not match the protocol; the message names it and the remedy."""


def robotis_model(number: int) -> KnownModel:
    """The model with this number."""
    return ROBOTIS.get(number, KnownModel(f"model {number}", ""))


def ff_model(servo: int, head: bytes, byteorder: Literal["little", "big"]) -> KnownModel:
    """The model of a servo with `FF FF` frames, from its first registers.

    AX servos have model, firmware and id there, Feetech servos firmware, model and id. The id must be at the maker's
    address, so that an id or a baud is not taken for a model.
    """
    robotis = ROBOTIS.get(int.from_bytes(head[:2], "little"))
    if robotis is not None and head[3] == servo:
        return robotis
    if head[5] == servo and (head[3], head[4]) in FEETECH:
        return FEETECH[head[3], head[4]]
    if head[5] == servo and head[3] in FEETECH_SERIES:
        series, protocol = FEETECH_SERIES[head[3]]
        return KnownModel(f"{series} model {head[4]}", protocol, "Feetech")
    return KnownModel(f"model {int.from_bytes(head[3:5], byteorder)}", "")


class ModelCheck:
    """The models found on a bus, compared with its protocol."""

    def __init__(self, protocol: str, forced: bool) -> None:
        """`forced` accepts any model, with a `warning`."""
        self.warning = ""
        self._protocol = protocol
        self._forced = forced
        self._found: dict[int, KnownModel] = {}

    def note(self, servo: int, model: KnownModel) -> str:
        """Records the model of a servo. Returns its name."""
        self._found[servo] = model
        return model.name if model.protocol == self._protocol else model.title

    def check(self, servos: Iterable[int]) -> None:
        """Raises WrongModelError if the model of one of these servos has another protocol, unless that is forced."""
        text = self._mismatch([i for i in servos if i in self._found and not self._matches(self._found[i])])
        self.warning = f"used although {text}" if text else ""
        if text and not self._forced:
            raise WrongModelError(text)

    def _matches(self, model: KnownModel) -> bool:
        return model.protocol == self._protocol

    def _mismatch(self, wrong: list[int]) -> str:
        if not wrong:
            return ""
        others = f" ({len(wrong) - 1} other servos do not match either)" if len(wrong) > 1 else ""
        found = self.description(wrong[0])
        if self._found[wrong[0]].protocol:
            return f"{found}{others}"
        return f"{found}, which {self._protocol} does not control: connect a model that it controls; {FORCE}{others}"

    def protocol_of(self, servo: int) -> str:
        """The protocol that controls a servo that was found; empty if none does."""
        return self._found[servo].protocol

    def description(self, servo: int) -> str:
        """One clause with the model of a servo that was found, and the protocol to use if there is one."""
        model = self._found[servo]
        remedy = f": use protocol {model.protocol}" if model.protocol else ""
        if model.title.startswith("LX"):
            return f"servo {servo} answers like an {model.title}{remedy}"
        return f"servo {servo} answers like a {model.title}{remedy}"


RATED_VOLTAGES: Mapping[str, float] = {  # prefix of the model -> [V]; the first match counts
    "XL330": 5.0,
    "XC330-M": 5.0,
    "XH430-V": 24.0,
    "XH540-V": 24.0,
    "X": 12.0,
    "2X": 12.0,
    "AX": 12.0,
    "MX": 12.0,
    "STS3215": 12.0,
    "STS3250": 12.0,
    "SCS0009": 6.0,
    "LX": 7.4,
}
LOW_VOLTAGE_STS3215 = 7.4  # [V] rated voltage of the low-voltage version of this servo
LOW_VOLTAGE_STS3215_LIMIT = 9.0  # [V] the voltage limit set in that version is at most this


def rated_voltage(model: str, maximum: float | None) -> float | None:
    """Rated supply [V] of a model whose voltage limit is set to `maximum` [V]; None if it is not known."""
    if maximum is not None and maximum <= LOW_VOLTAGE_STS3215_LIMIT and model.startswith("STS3215"):
        return LOW_VOLTAGE_STS3215
    return next((volts for prefix, volts in RATED_VOLTAGES.items() if model.startswith(prefix)), None)
