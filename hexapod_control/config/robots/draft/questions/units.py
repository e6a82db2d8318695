# SPDX-License-Identifier: Apache-2.0
"""Answers in everyday units: "8.5 cm", "24 x 12 x 5 cm", "17 kg cm, 59 rpm"."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hexapod_control.config.robots.plausibility.servo_rules import OZ_IN, SECONDS_PER_60_DEG
from hexapod_control.config.robots.servo_table import KG_CM, RPM
from hexapod_control.config.schema import NumberRow
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.names import quoted
from hexapod_control.core.quantity import QuantityError

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)"
_SEPARATORS = r"[\s,;:×]+|\b(?:x|to|and)\b"
SHOWN_DIGITS = 3  # decimals of a value in its usual unit
_PER_60_DEG = r"s\s*/\s*60\s*(?:°|deg)?"
_DECIMAL_COMMA = r"[-+]?\d+,\d+\D*"


class AnswerError(ValueError):
    """An invalid answer, with a sentence that has value, bound and remedy."""

    def __init__(self, said: Sentence) -> None:
        super().__init__(said)


class DoubtfulAnswerError(AnswerError):
    """A valid but implausible answer."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """A kind of number with its units, the usual one first; values are in the units of a robot file."""

    factors: Mapping[str, float]
    reciprocal: Mapping[str, float]  # value = factor / number

    @property
    def usual(self) -> str:
        """The unit of a number that is written without a unit."""
        return next(iter(self.factors))

    def shown(self, value: float) -> str:
        """A value as text in the usual unit."""
        return f"{round(value / self.factors[self.usual], SHOWN_DIGITS) + 0.0:.10g}"  # + 0.0 turns -0.0 into 0.0

    @property
    def units(self) -> tuple[str, ...]:
        """All units, the usual one first."""
        return (*self.factors, *self.reciprocal)

    def unit(self, written: str) -> str | None:
        """The unit for what was written; empty: the usual one. None if it has no such unit."""
        return next((name for name in self.units if _normalised(name) == _normalised(written or self.usual)), None)

    def value(self, number: float, written: str) -> float | None:
        """The value of a number with a unit; None if it has no such unit."""
        unit = self.unit(written)
        if unit is None or unit in self.factors:
            return None if unit is None else number * self.factors[unit]
        return self.reciprocal[unit] / number if number else None


LENGTH = Dimension({"mm": 0.001, "cm": 0.01, "m": 1.0, "in": 0.0254}, {})
ANGLE = Dimension({"deg": 1.0, "°": 1.0, "rad": math.degrees(1.0)}, {})
MASS = Dimension({"g": 0.001, "kg": 1.0, "oz": 0.0283495, "lb": 0.453592}, {})
VOLTAGE = Dimension({"V": 1.0, "mV": 0.001}, {})
TORQUE = Dimension({"kg cm": KG_CM, "kgf cm": KG_CM, "N m": 1.0, "N cm": 0.01, "oz in": OZ_IN}, {})
SPEED = Dimension({"rpm": RPM, "rad/s": 1.0, "deg/s": math.radians(1.0)}, {"s": SECONDS_PER_60_DEG})


@dataclass(frozen=True, slots=True)
class Part:
    """One number of an answer; the row of the robot file has its quantity."""

    name: str
    dimension: Dimension
    row: NumberRow

    @property
    def label(self) -> str:
        """Name and usual unit."""
        return f"{self.name} [{self.dimension.usual}]"

    def checked(self, value: float) -> float:
        """The value. Raises AnswerError if it is out of bounds."""
        quantity = self.row.quantity
        unit = self.dimension.usual
        try:
            return quantity.checked(value)
        except QuantityError:
            lower, upper = (float(self.dimension.shown(end)) for end in (quantity.lower, quantity.upper))
            bounds = replace(quantity, unit=unit, lower=lower, upper=upper).bounds
            given = float(self.dimension.shown(value))
            said = Sentence("answer_out_of_bounds", part=Sentence(self.name), bounds=bounds, value=given, unit=unit)
            raise AnswerError(said) from None


def numbers(text: str, parts: Sequence[Part]) -> tuple[float, ...]:
    """The values of an answer. Raises AnswerError."""
    found = split(text, parts)
    return tuple(
        part.checked(_value(part, float(number), unit)) for part, (number, unit) in zip(parts, found, strict=True)
    )


def split(text: str, parts: Sequence[Part]) -> list[tuple[str, str]]:
    """The numbers of an answer and their units; a unit also applies to earlier numbers of the same dimension.

    Raises AnswerError for another count of numbers.
    """
    if len(parts) == 1 and re.fullmatch(_DECIMAL_COMMA, text.strip()):
        raise AnswerError(Sentence("decimal_comma", part=Sentence(parts[0].name), answer=quoted(text)))
    found = list(re.finditer(_NUMBER, re.sub(_PER_60_DEG, "s", text.replace("\u2212", "-"))))
    wanted = ", ".join(part.label for part in parts)
    before = found[0].string[: found[0].start()].strip() if found else ""  # text before the first number
    if len(found) != len(parts) or before:
        kind = "other_count" if len(parts) > 1 else "no_number"
        raise AnswerError(Sentence(kind, answer=quoted(text), count=len(parts), parts=wanted))
    ends = [match.start() for match in found[1:]] + [len(found[0].string)]
    units = ["".join(re.split(_SEPARATORS, m.string[m.end() : end])) for m, end in zip(found, ends, strict=True)]
    for i in range(len(parts) - 2, -1, -1):
        if not units[i] and parts[i].dimension is parts[i + 1].dimension:
            units[i] = units[i + 1]
    return [(match[0], unit) for match, unit in zip(found, units, strict=True)]


def shown(values: Sequence[float], parts: Sequence[Part]) -> str:
    """Values as an answer in the usual units."""
    return " ".join(part.dimension.shown(value) for value, part in zip(values, parts, strict=True))


def _value(part: Part, number: float, unit: str) -> float:
    value = part.dimension.value(number, unit)
    if value is None:
        known = ", ".join(part.dimension.units)
        raise AnswerError(Sentence("unknown_unit", part=Sentence(part.name), number=number, unit=unit, known=known))
    return value


def _normalised(unit: str) -> str:
    """A unit in normalised spelling."""
    return re.sub(r"[\s·*.\-_]", "", unit).lower()
