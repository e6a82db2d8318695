"""Model numbers of servos and the protocol of each model, checked before the first write.

A wrong protocol writes into registers with another meaning, so a servo whose model does not match is refused.
Sources: Robotis e-manual (model numbers of the control tables); Feetech's numbers as the servos report them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from hexapod_control.servos.bus.bus_interface import BusError

HEAD = (0, 6)  # address and length of the registers that identify a servo with `FF FF` frames
FORCE = "--force-model (servo_driver: force_model:=true) uses them as they are"


class WrongModelError(BusError):
    """The model of a servo or board does not match the protocol; the message names it and the remedy."""


class KnownModel(NamedTuple):
    """A servo model and its protocol."""

    name: str
    protocol: str  # empty if unsupported
    maker: str = ""

    @property
    def title(self) -> str:
        """Maker and name."""
        return f"{self.maker} {self.name}".strip()


def _rows(maker: str, protocol: str, names: Mapping[int, str]) -> dict[int, KnownModel]:
    return {number: KnownModel(name, protocol, maker) for number, name in names.items()}


ROBOTIS: Mapping[int, KnownModel] = {
    **_rows("Robotis", "dynamixel1", {12: "AX-12A", 18: "AX-18A"}),
    **_rows(
        "Robotis",
        "dynamixel2",
        {
            1000: "XH430-W350",
            1010: "XH430-W210",
            1020: "XM430-W350",
            1030: "XM430-W210",
            1040: "XH430-V350",
            1050: "XH430-V210",
            1060: "XL430-W250",
            1070: "XC430-W150",
            1080: "XC430-W240",
            1090: "2XL430-W250",
            1100: "XH540-W270",
            1110: "XH540-W150",
            1120: "XM540-W270",
            1130: "XM540-W150",
            1140: "XH540-V270",
            1150: "XH540-V150",
            1160: "2XC430-W250",
            1170: "XW540-T260",
            1180: "XW540-T140",
            1190: "XL330-M077",
            1200: "XL330-M288",
            1210: "XC330-T181",
            1220: "XC330-T288",
            1230: "XC330-M181",
            1240: "XC330-M288",
            1270: "XW430-T333",
            1280: "XW430-T200",
        },
    ),
    **_rows(
        "Robotis",
        "",
        {
            10: "RX-10",
            24: "RX-24F",
            28: "RX-28",
            29: "MX-28",
            30: "MX-28 (2.0)",
            64: "RX-64",
            107: "EX-106",
            300: "AX-12W",
            310: "MX-64",
            311: "MX-64 (2.0)",
            320: "MX-106",
            321: "MX-106 (2.0)",
            350: "XL-320",
            360: "MX-12W",
        },
    ),
}
FEETECH: Mapping[tuple[int, int], KnownModel] = {  # by the bytes at addresses 3 and 4: series and model
    (9, 3): KnownModel("STS3215", "feetech_st", "Feetech"),
    (9, 10): KnownModel("STS3095", "feetech_st", "Feetech"),
    (9, 11): KnownModel("STS3250", "feetech_st", "Feetech"),
    (8, 44): KnownModel("SM8512BL", "feetech_st", "Feetech"),
    (5, 4): KnownModel("SCS0009", "feetech_sc", "Feetech"),
}
FEETECH_SERIES = {  # by the byte at address 3; all models of a series have the same registers
    5: ("SC", "feetech_sc"),
    8: ("SM", "feetech_st"),
    9: ("STS", "feetech_st"),
    10: ("HLS", ""),
}


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


@runtime_checkable
class KnowsModels(Protocol):
    """A bus whose servos report their models."""

    models: ModelCheck


class ModelCheck:
    """The models found on a bus, compared with its protocol."""

    def __init__(self, protocol: str, forced: bool) -> None:
        """`forced` accepts any model, with a `warning`."""
        self.warning = ""
        self._protocol, self._forced = protocol, forced
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
        return f"servo {servo} answers like a {model.title}{remedy}"
