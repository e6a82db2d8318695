"""Rated supply of servo models. Sources: Robotis e-manual; data sheets of Feetech and Hiwonder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

RATED: Mapping[str, float] = {  # prefix of the model -> [V]; the first match counts
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
LOW_VERSION_LIMIT = 9.0  # [V] maximum voltage up to which an STS3215 is its version for LOW_VERSION
LOW_VERSION = 7.4  # [V]


@runtime_checkable
class ReportsVoltageLimit(Protocol):
    """A bus whose servos report the maximum voltage that they tolerate."""

    def max_voltage(self, servo: int) -> float | None:
        """Maximum voltage [V] of a servo; None if it is not known."""


def rated_voltage(model: str, maximum: float | None) -> float | None:
    """Rated supply [V] of a model whose maximum voltage is set to `maximum` [V]; None if it is not known."""
    if maximum is not None and maximum <= LOW_VERSION_LIMIT and model.startswith("STS3215"):
        return LOW_VERSION
    return next((volts for start, volts in RATED.items() if model.startswith(start)), None)
