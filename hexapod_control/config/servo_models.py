# SPDX-License-Identifier: Apache-2.0
"""Servo models that report who they are: numbers, and the protocol that controls each model.

The servo table and the check before the first write take the protocol of a model from here.
Sources: Robotis e-manual (model numbers of the control tables); Feetech's numbers as the servos report them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

NEW_FIRMWARE = " (2.0)"  # ends the name of an MX servo whose firmware is for protocol 2, not 1


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
        "dynamixel2",  # MX servos with the firmware for it have the registers of the X series
        {
            30: "MX-28 (2.0)",
            311: "MX-64 (2.0)",
            321: "MX-106 (2.0)",
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
            64: "RX-64",
            107: "EX-106",
            300: "AX-12W",
            310: "MX-64",
            320: "MX-106",
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


def controlling_protocol(model: str) -> str:
    """The protocol that controls a model with this name on its case; empty if none does, or if it is not listed."""
    known = (each for each in (*ROBOTIS.values(), *FEETECH.values()) if each.protocol)
    return next((each.protocol for each in known if each.name.removesuffix(NEW_FIRMWARE) == model), "")
