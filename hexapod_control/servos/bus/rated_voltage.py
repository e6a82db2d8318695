"""Rated supply voltage of servo models. Sources: Robotis e-manual; data sheets of Feetech and Hiwonder."""

from __future__ import annotations

from collections.abc import Mapping

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
