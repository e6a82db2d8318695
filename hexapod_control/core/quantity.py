# SPDX-License-Identifier: Apache-2.0
"""Numbers from outside: in a file, as a parameter, an option, a field of a message or an answer.

A `Quantity` has everything about one of them; what reads it there finds the key, and help, reference and refusal come
from the quantity. A dataclass of settings declares its fields with `number` and `choice`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hexapod_control.core.names import MAX_QUOTED, shortened
from hexapod_control.core.refusal import Statement

NEGLIGIBLE = 1e-9
"""Smaller magnitudes count as 0: no quantity is that small, in any of its units, and its inverse could overflow."""
MAX_SPELLED_INTEGER = 10**18  # Python refuses to print integers of thousands of digits
UNIT_HINTS: Mapping[str, str] = {
    "m": "metres, not millimetres?",
    "m/s": "metres per second",
    "kg": "kilograms, not grams?",
    "s": "seconds, not milliseconds?",
    "deg": "degrees",
    "deg/s": "degrees per second",
    "rad": "radians, not degrees?",
    "rad/s": "radians per second",
}


class QuantityError(ValueError):
    """A number that is refused, with bounds, value and remedy; who reads the number puts its key first."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number within [lower, upper]."""

    unit: str  # empty: none
    lower: float
    upper: float
    meaning: str
    default: float | str | None = None  # in words if it depends on something else; None: the number must be given
    hint: str = ""  # remedy for a number out of bounds; empty: that of the unit
    whole: bool = False  # integers only

    @property
    def bounds(self) -> str:
        """Bounds and unit, e.g. `[0, 20] kg`."""
        return f"[{self.lower:.10g}, {self.upper:.10g}] {self.unit}".rstrip()

    @property
    def remedy(self) -> str:
        """What to do if a number is out of bounds; may be empty."""
        return self.hint or UNIT_HINTS.get(self.unit, "")

    def checked(self, given: object) -> float:
        """The number, an integer if it must be whole. Raises QuantityError."""
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise QuantityError(self.refusal(given, _notation(given)))
        if not self.lower <= given <= self.upper:  # also NaN
            raise QuantityError(self.refusal(given))
        if not self.whole:
            number = float(given)
            return number if abs(number) >= NEGLIGIBLE else 0.0
        if given != int(given):
            raise QuantityError(self.refusal(given, Statement("number_whole", "write a whole number")))
        return int(given)

    def read(self, text: str) -> float:
        """As `checked`, for a number that is written as text."""
        given: object = text
        with contextlib.suppress(ValueError):
            given = float(text)
            given = int(text)  # exact, if it is one
        return self.checked(given)

    def metadata(self, **more: Any) -> Mapping[str, Any]:
        """The metadata of a field of a dataclass for this quantity."""
        return {"quantity": self, "meaning": self.meaning, **more}

    # `Any`: as `dataclasses.field`, whose result is assigned to fields of every type.
    def field(self, **more: Any) -> Any:
        """A field of a dataclass for this quantity, with its default."""
        return dataclasses.field(default=self.default, metadata=self.metadata(**more))

    def refusal(self, given: object, remedy: str | Statement | None = None) -> Statement:
        """The sentence with which a value is refused; `remedy` replaces that of the quantity."""
        if remedy is None:
            # A value that is no finite number is not one in the wrong unit.
            remedy = (
                self.remedy or self.meaning if isinstance(given, int | float) and abs(given) < math.inf else self.hint
            )
        if isinstance(remedy, str) and remedy:
            remedy = Statement.listed(remedy)
        text = "must be in {bounds}, is {given}" + (", {remedy}" if str(remedy) else "")
        kind = "out_of_bounds_remedy" if str(remedy) else "out_of_bounds"
        return Statement(kind, text, bounds=self.bounds, given=spelled(given), remedy=remedy)


def _notation(given: object) -> Statement:
    """The remedy for a value that is no number."""
    if not isinstance(given, str):
        return Statement("number_alone", "write the number alone")
    if re.fullmatch(r"[-+]?\d+,\d+", given):
        return Statement("number_point", "a decimal point, not a comma")
    return Statement("number_no_unit", "write the number alone, no unit")


def spelled(given: object) -> str:
    """A given value as YAML writes it, in one short line."""
    return shortened(_spelled(given))


def _spelled(given: object) -> str:
    if isinstance(given, str):
        return f'"{given[: MAX_QUOTED + 1]}"'
    if isinstance(given, Mapping):
        return "a section"
    if isinstance(given, list | tuple):
        return f"[{', '.join(map(spelled, given[:MAX_QUOTED]))}]"
    if isinstance(given, bool) or given is None:
        return "empty" if given is None else str(given).lower()
    if isinstance(given, int):
        return str(int(given)) if abs(given) < MAX_SPELLED_INTEGER else f"{'-' * (given < 0)}1e18 or more"
    return f"{float(given):.12g}" if isinstance(given, float) else str(given)


def number(default: float, unit: str, lower: float, upper: float, meaning: str, hint: str = "", **more: Any) -> Any:
    """A field of a dataclass for a number in [lower, upper], an integer if the default is one."""
    return Quantity(unit, lower, upper, meaning, default, hint, type(default) is int).field(**more)


def choice(default: str | bool, meaning: str, **more: Any) -> Any:
    """A field of a dataclass for a text or a boolean."""
    return dataclasses.field(default=default, metadata={"meaning": meaning, **more})


def quantities(kind: Any) -> Iterator[tuple[str, Quantity]]:
    """Name and quantity of the fields of a dataclass that have one."""
    return ((item.name, item.metadata["quantity"]) for item in dataclasses.fields(kind) if "quantity" in item.metadata)


def check_fields(settings: Any) -> None:
    """Raises QuantityError, which names the field, if a field of a dataclass is out of bounds."""
    for name, quantity in quantities(settings):
        try:
            quantity.checked(getattr(settings, name))
        except QuantityError as error:
            raise QuantityError(f"{name} {error}") from None
