"""Rated supply of servo models. Sources: Robotis e-manual; data sheets of Feetech and Hiwonder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

RATED: Mapping[str, float] = {  # start of the model's name -> [V]; the first match counts
    "XL330": 5.0,
    "XC330-M": 5.0,
    "XH430-V": 24.0,
    "XH540-V": 24.0,
    "X": 12.0,
    "2X": 12.0,
    "AX": 12.0,
    "STS3215": 12.0,
    "STS3250": 12.0,
    "SCS0009": 6.0,
    "LX": 7.4,
}
LOW_VERSION_LIMIT = 9.0  # [V] greatest voltage up to which an STS3215 is its version for LOW_VERSION
LOW_VERSION = 7.4  # [V]


@runtime_checkable
class ReportsVoltageLimit(Protocol):
    """A bus whose servos report the greatest voltage that they tolerate."""

    def greatest_voltage(self, servo: int) -> float | None:
        """Greatest voltage [V] of a servo; None if it is not known."""


def rated_voltage(model: str, greatest: float | None) -> float | None:
    """Rated supply [V] of a model whose greatest voltage is set to `greatest` [V]; None if it is not known."""
    if greatest is not None and greatest <= LOW_VERSION_LIMIT and model.startswith("STS3215"):
        return LOW_VERSION
    return next((volts for start, volts in RATED.items() if model.startswith(start)), None)
