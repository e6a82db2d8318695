# SPDX-License-Identifier: Apache-2.0
"""`servos.options` of a robot file: the options of a protocol, one table row per key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hexapod_control.config.document import DocumentEntry
from hexapod_control.config.schema import ChoiceRow, NumberRow, SchemaLine, did_you_mean, refuse_unknown, yaml_text
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.quantity import Quantity

OF_PROTOCOL = "that of the protocol"


def number_option(key: str, unit: str, lower: float, upper: float, meaning: str, *, whole: bool = False) -> NumberRow:
    """A number; without a unit it may be hexadecimal."""
    return NumberRow(key, Quantity(unit, lower, upper, meaning, OF_PROTOCOL, whole=whole), hexadecimal=not unit)


@dataclass(frozen=True, slots=True)
class ChoiceOption:
    """An option with a fixed set of words, each with its value for the bus."""

    key: str
    words: Mapping[str, object]
    meaning: str

    def line(self, prefix: str) -> SchemaLine:
        """The line of the reference for this key below `prefix`."""
        return ChoiceRow(self.key, tuple(self.words), "", self.meaning, OF_PROTOCOL).line(prefix)

    def value(self, entry: DocumentEntry) -> object:
        """The value for the bus. Raises RobotFileError."""
        word = entry.value if isinstance(entry.value, str) else yaml_text(entry.value)
        if word not in self.words:
            bound = Sentence("bound_words", words=", ".join(self.words))
            hint = did_you_mean(word, list(self.words)) or self.meaning
            raise entry.error(Sentence("file_value", value=yaml_text(entry.value)), bound, hint)
        return self.words[word]


@dataclass(frozen=True, slots=True)
class ListOption:
    """One number, or a list of up to `most` numbers."""

    each: NumberRow  # of one number
    most: int
    unique: bool  # whether the numbers must differ

    @property
    def key(self) -> str:
        """The key in the file."""
        return self.each.key

    def line(self, prefix: str) -> SchemaLine:
        """The line of the reference for this key below `prefix`."""
        each = self.each.line(prefix)
        return each._replace(kind=f"{each.kind}, or a list of up to {self.most}")

    def value(self, entry: DocumentEntry) -> object:
        """The numbers. Raises RobotFileError."""
        items = entry.items or (entry,)
        meaning = self.each.quantity.meaning
        if len(items) > self.most:
            bound = Sentence("bound_or_list", bound=self.each.bound, most=self.most)
            raise entry.error(Sentence("file_values", count=len(items)), bound, meaning)
        numbers = tuple(self.each.value(item) for item in items)
        twice = next((n for n, number in enumerate(numbers) if number in numbers[:n]), None) if self.unique else None
        if twice is not None:
            what = Sentence("file_again", value=yaml_text(items[twice].value))
            raise items[twice].error(what, Sentence("file_differ"), meaning)
        return numbers


ProtocolOption = NumberRow | ChoiceOption | ListOption
SWITCH: Mapping[str, object] = {"true": True, "false": False}


def values(entry: DocumentEntry, known: Sequence[ProtocolOption]) -> dict[str, object]:
    """The options in the file, with the values for the bus. Raises RobotFileError."""
    if not known:
        raise entry.error(Sentence("file_unknown"), Sentence("protocol_no_options"), Sentence("file_remove"))
    rows = {row.key: row for row in known}
    refuse_unknown(entry, dict.fromkeys(rows))
    return {name: rows[name].value(child) for name, child in entry.children.items()}
