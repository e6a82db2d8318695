"""`servos.options` of a robot file: the options of a protocol, one table row per key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from hexapod_control.config import schema
from hexapod_control.config.document import DocumentEntry
from hexapod_control.config.schema import ChoiceRow, NumberRow, SchemaLine, did_you_mean, refuse_unknown, yaml_text

OF_PROTOCOL = "as the protocol does without it"


@dataclass(frozen=True, slots=True)
class ChoiceOption:
    """An option with a fixed set of words, each with its value for the bus."""

    key: str
    words: Mapping[str, object]
    meaning: str

    @property
    def bound(self) -> str:
        """The allowed values, as a text."""
        return f"must be one of {', '.join(self.words)}"

    @property
    def line(self) -> SchemaLine:
        """The key for the reference."""
        return schema.line(ChoiceRow(self.key, tuple(self.words), "", self.meaning, OF_PROTOCOL))

    def value(self, entry: DocumentEntry) -> object:
        """The value for the bus. Raises RobotFileError."""
        word = entry.value if isinstance(entry.value, str) else yaml_text(entry.value)
        if word not in self.words:
            raise entry.error(
                f"is {yaml_text(entry.value)}", self.bound, did_you_mean(word, list(self.words)) or self.meaning
            )
        return self.words[word]


@dataclass(frozen=True, slots=True)
class MeasureOption:
    """A number within [lower, upper]."""

    key: str
    lower: float
    upper: float
    unit: str
    meaning: str
    whole: ClassVar[bool] = False

    @property
    def _row(self) -> NumberRow:
        measure = (self.key, 1, self.lower, self.upper, self.unit, self.meaning)
        return NumberRow(*measure, whole=self.whole, hexadecimal=self.unit == "")

    @property
    def bound(self) -> str:
        """The allowed values, as a text."""
        return schema.bound(self._row).rstrip()

    @property
    def line(self) -> SchemaLine:
        """The key for the reference."""
        return schema.line(replace(self._row, hint="", meaning=self.meaning, default=OF_PROTOCOL))

    def value(self, entry: DocumentEntry) -> object:
        """The number. Raises RobotFileError."""
        return schema.value(entry, self._row)


@dataclass(frozen=True, slots=True)
class RegisterOption(MeasureOption):
    """A whole number."""

    whole: ClassVar[bool] = True

    def value(self, entry: DocumentEntry) -> object:
        """The number. Raises RobotFileError."""
        number = MeasureOption.value(self, entry)
        assert isinstance(number, float)
        return int(number)


@dataclass(frozen=True, slots=True)
class ListOption:
    """One number, or a list of up to `most` numbers."""

    each: MeasureOption  # of one number
    most: int
    unique: bool  # whether the numbers must differ

    @property
    def key(self) -> str:
        """The key in the file."""
        return self.each.key

    @property
    def meaning(self) -> str:
        """Meaning of the numbers."""
        return self.each.meaning

    @property
    def bound(self) -> str:
        """The allowed values, as a text."""
        return f"{self.each.bound}, or a list of 1 to {self.most} of them"

    @property
    def line(self) -> SchemaLine:
        """The key for the reference."""
        each = self.each.line
        return each._replace(kind=f"{each.kind}, or a list of up to {self.most}")

    def value(self, entry: DocumentEntry) -> object:
        """The numbers. Raises RobotFileError."""
        items = entry.items or (entry,)
        if len(items) > self.most:
            raise entry.error(f"has {len(items)} values", self.bound, self.meaning)
        numbers = tuple(self.each.value(item) for item in items)
        twice = next((n for n, number in enumerate(numbers) if number in numbers[:n]), None) if self.unique else None
        if twice is not None:
            raise items[twice].error(
                f"is {yaml_text(items[twice].value)} again", "must differ from the others", self.meaning
            )
        return numbers


ProtocolOption = ChoiceOption | MeasureOption | ListOption
SWITCH: Mapping[str, object] = {"true": True, "false": False}


def values(entry: DocumentEntry, known: Sequence[ProtocolOption]) -> dict[str, object]:
    """The options in the file, with the values for the bus. Raises RobotFileError."""
    if not known:
        raise entry.error("is unknown", "this protocol has no options", "remove it")
    rows = {row.key: row for row in known}
    refuse_unknown(entry, dict.fromkeys(rows))
    return {name: rows[name].value(child) for name, child in entry.children.items()}
