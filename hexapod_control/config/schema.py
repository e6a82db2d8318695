# SPDX-License-Identifier: Apache-2.0
"""The validator of all YAML files: one table row per key, and the check of a value against its row.

Every error names file, line, key, value, bound and remedy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import NamedTuple

from ruamel.yaml.scalarbool import ScalarBoolean
from ruamel.yaml.scalarint import HexCapsInt, HexInt, ScalarInt
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, SingleQuotedScalarString

from hexapod_control.config import schema
from hexapod_control.config.document import DocumentEntry
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.names import MAX_NAME, MAX_QUOTED
from hexapod_control.core.quantity import Quantity, QuantityError, quantities, spelled
from hexapod_control.core.robot import Vector

Hexadecimal = HexInt | HexCapsInt
YamlValue = float | str | tuple[float, ...]
REQUIRED = "required"
MAX_TEXT = 400  # characters of a text that is no name
NAME = r"[A-Za-z][A-Za-z0-9_]*"
NAME_BOUND = "a name of letters, digits and _"


class SchemaLine(NamedTuple):
    """A key of a file in the reference."""

    key: str
    kind: str
    unit: str
    bound: str
    default: str
    meaning: str
    hint: str


@dataclass(frozen=True, slots=True)
class NumberRow:
    """A row for a number, or a list of `count` numbers."""

    key: str
    quantity: Quantity
    count: int = 1  # 1 is a plain number
    hexadecimal: bool = False  # also as 0x40

    def below(self, name: str) -> NumberRow:
        """The same row for a key below this one."""
        return replace(self, key=f"{self.key}.{name}")

    @property
    def bound(self) -> Sentence:
        """The bound, for messages."""
        bounds = self.quantity.bounds
        return Sentence("bound" if self.count == 1 else "bound_list", count=self.count, bounds=bounds)

    def line(self, prefix: str = "") -> SchemaLine:
        """The line of the reference for this key below `prefix`."""
        quantity = self.quantity
        default = self.quantity.default
        kind = "whole number" if quantity.whole else "number"
        return SchemaLine(
            key=prefix + self.key,
            kind=kind if self.count == 1 else f"{self.count} {kind}s",
            unit=quantity.unit,
            bound=f"{quantity.lower:g} to {quantity.upper:g}",
            default=REQUIRED if default is None else default if isinstance(default, str) else f"{default:g}",
            meaning=quantity.meaning,
            hint=quantity.remedy,
        )

    def number(self, section: DocumentEntry) -> float:
        """The checked number below a section; the default, if it is a number, for a missing key."""
        default = self.quantity.default
        if isinstance(default, float | int) and self.key not in section.children:
            return default
        return self._checked(require(section, self))

    def value(self, entry: DocumentEntry) -> YamlValue:
        """The value of an entry, checked."""
        if self.count == 1:
            return self._checked(entry)
        if len(entry.items) != self.count:
            raise entry.error(
                _value(entry), self.bound, Sentence("file_example", example=f"[{', '.join(['0.1'] * self.count)}]")
            )
        return tuple(map(self._checked, entry.items))

    def _checked(self, entry: DocumentEntry) -> float:
        item = entry.value
        remedy = ""
        decimal = type(item) is ScalarInt and (getattr(item, "_width", 0) or 0) < 2  # not 0x10, 0o17, 007
        if isinstance(item, DoubleQuotedScalarString | SingleQuotedScalarString):
            remedy = "number_quotes"
        elif isinstance(item, ScalarInt) and not (decimal or (self.hexadecimal and isinstance(item, Hexadecimal))):
            remedy = "number_decimal"
        if remedy:
            raise entry.error(self.quantity.refusal(item, Sentence(remedy)))
        try:
            return self.quantity.checked(bool(item) if isinstance(item, ScalarBoolean) else item)
        except QuantityError as error:
            raise entry.error(Sentence.of(error)) from None


@dataclass(frozen=True, slots=True)
class TextRow:
    """A row for a text that matches the whole of a pattern."""

    key: str
    pattern: str
    allowed: str
    hint: str
    meaning: str = ""
    default: str = REQUIRED

    @property
    def bound(self) -> Sentence:
        """The bound, for messages."""
        return Sentence("bound_text", allowed=Sentence.listed(self.allowed))

    def line(self, prefix: str = "") -> SchemaLine:
        """The line of the reference for this key below `prefix`."""
        return SchemaLine(prefix + self.key, "text", "", self.allowed, self.default, self.meaning, self.hint)

    def value(self, entry: DocumentEntry) -> str:
        """The value of an entry, checked."""
        if not isinstance(entry.value, str) or not re.fullmatch(self.pattern, entry.value):
            raise entry.error(_value(entry), self.bound, self.hint)
        most = MAX_NAME if self.pattern == NAME else MAX_TEXT
        if len(entry.value) > most or not entry.value.replace("\n", " ").isprintable():
            raise entry.error(_value(entry), Sentence("bound_printable", most=most))
        return str(entry.value)


@dataclass(frozen=True, slots=True)
class ChoiceRow:
    """A row for one of several words."""

    key: str
    words: tuple[str, ...]
    hint: str
    meaning: str = ""
    default: str = REQUIRED

    @property
    def bound(self) -> Sentence:
        """The bound, for messages."""
        return Sentence("bound_words", words=", ".join(self.words))

    def line(self, prefix: str = "") -> SchemaLine:
        """The line of the reference for this key below `prefix`."""
        return SchemaLine(prefix + self.key, "word", "", ", ".join(self.words), self.default, self.meaning, self.hint)

    def value(self, entry: DocumentEntry) -> str:
        """The value of an entry, checked."""
        if entry.value not in self.words:
            near = nearest_word(entry.value, self.words) if isinstance(entry.value, str) else None
            raise entry.error(_value(entry), self.bound, near or self.hint)
        return str(entry.value)


@dataclass(frozen=True, slots=True)
class FlagRow:
    """A row for an optional true or false, by default false."""

    key: str
    meaning: str

    def line(self, prefix: str = "") -> SchemaLine:
        """The line of the reference for this key below `prefix`."""
        return SchemaLine(prefix + self.key, "word", "", "true, false", "false", self.meaning, "")

    def flag(self, section: DocumentEntry) -> bool:
        """The checked value below a section."""
        entry = section.children.get(self.key)
        if entry is not None and not isinstance(entry.value, bool | ScalarBoolean):
            raise entry.error(
                _value(entry), Sentence("bound_flag"), Sentence("file_example", example=f"{self.key}: true")
            )
        return entry is not None and bool(entry.value)


KeyRow = NumberRow | TextRow | ChoiceRow


def rows_of(kind: type) -> tuple[NumberRow, ...]:
    """A row for each quantity of a dataclass, with the name of its field."""
    return tuple(NumberRow(name, quantity) for name, quantity in quantities(kind))


def known_keys(keys: Iterable[str]) -> dict[str, object]:
    """Dotted keys as a tree of sections; a leaf is None."""
    below: dict[str, list[str]] = {}
    for key in keys:
        name, _, rest = key.partition(".")
        below.setdefault(name, []).extend([rest] if rest else [])
    return {name: known_keys(rest) if rest else None for name, rest in below.items()}


def refuse_unknown(section: DocumentEntry, known: Mapping[str, object]) -> None:
    """Raises for a key that no row has, and for a value where a section must be."""
    if not section.is_section:
        raise section.error(_value(section), Sentence("bound_section_with", names=", ".join(known)))
    for name, child in section.children.items():
        if name not in known:
            hint = nearest_word(name, list(known)) or Sentence("file_remove")
            raise child.error(Sentence("file_unknown"), Sentence("file_known", names=", ".join(known)), hint)
        below = known[name]
        if isinstance(below, Mapping):
            refuse_unknown(child, below)


def checked_section(entry: DocumentEntry, hint: str = "") -> DocumentEntry:
    """The entry itself. Raises unless it is a section."""
    if not entry.is_section:
        raise entry.error(_value(entry), Sentence("bound_section"), hint)
    return entry


def refuse_name(entry: DocumentEntry, name: str, what: str, example: str) -> None:
    """Raises for a key that is no name in lower case; `what` says of what it is the name."""
    if len(name) > MAX_NAME:
        raise entry.error(Sentence("file_characters", count=len(name)), Sentence("bound_characters", most=MAX_NAME))
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise entry.error(
            Sentence("file_name", what=what), Sentence("bound_name"), Sentence("file_example", example=example)
        )


def _value(entry: DocumentEntry) -> Sentence:
    return Sentence("file_value", value=yaml_text(entry.value))


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """A hint with the most similar known word; empty if there is none."""
    return str(nearest_word(name, known) or "")


def nearest_word(name: str, known: Sequence[str]) -> Sentence | None:
    """A hint with the most similar known word; None if there is none."""
    if len(name) > MAX_QUOTED:  # comparing long texts is slow
        return None
    near = get_close_matches(name, known, n=1) or [word for word in known if word == f"{name}_deg"]
    return Sentence("file_mean", name=near[0]) if near else None


def require(section: DocumentEntry, row: KeyRow) -> DocumentEntry:
    """The row's entry below a section. Raises for a missing one, at the deepest section that exists."""
    entry = section
    names = row.key.split(".")
    for depth, name in enumerate(names):
        if name not in entry.children:
            needed = row.bound, Sentence("file_every_key")
            raise entry.error(Sentence("file_missing"), *needed, below=".".join(names[depth:]))
        entry = entry.children[name]
    return entry


def yaml_text(item: object) -> str:
    """A value in YAML notation, shortened if it is long."""
    return spelled(bool(item) if isinstance(item, ScalarBoolean) else item)


@dataclass(frozen=True, slots=True)
class CheckedValues:
    """Entries and their values, both by the dotted key of their row."""

    entries: dict[str, DocumentEntry]
    values: dict[str, schema.YamlValue]

    @classmethod
    def checked(cls, section: DocumentEntry, rows: Sequence[schema.KeyRow]) -> CheckedValues:
        """Reads all rows below a section. Raises RobotFileError for a missing or invalid value."""
        entries = {row.key: schema.require(section, row) for row in rows}
        return cls(entries, {row.key: row.value(entries[row.key]) for row in rows})

    def joined(self, other: CheckedValues) -> CheckedValues:
        """These values together with others, which take precedence."""
        return CheckedValues({**self.entries, **other.entries}, {**self.values, **other.values})

    def number(self, key: str) -> float:
        """The value of a row for one number."""
        value = self.values[key]
        assert isinstance(value, float)
        return value

    def text(self, key: str) -> str:
        """The value of a row for a text or a choice."""
        value = self.values[key]
        assert isinstance(value, str)
        return value

    def point(self, key: str) -> tuple[float, float]:
        """The value of a row for two numbers."""
        value = self.values[key]
        assert isinstance(value, tuple)
        x, y = value
        return x, y

    def vector(self, key: str) -> Vector:
        """The value of a row for three numbers."""
        value = self.values[key]
        assert isinstance(value, tuple)
        x, y, z = value
        return x, y, z
