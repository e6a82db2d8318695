"""The validator of all YAML files: one table row per key, and the check of a value against its row.

Every error names file, line, key, value, bound and remedy.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import NamedTuple

from ruamel.yaml.scalarbool import ScalarBoolean
from ruamel.yaml.scalarint import HexCapsInt, HexInt, ScalarInt
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, SingleQuotedScalarString

from hexapod_control.config.document import DocumentEntry
from hexapod_control.core.names import MAX_NAME, MAX_QUOTED, shortened
from hexapod_control.core.negligible import without_negligible

MAX_SPELLED_INTEGER = 10**18  # Python refuses to print integers of thousands of digits
YamlValue = float | str | tuple[float, ...]
REQUIRED = "required"
MAX_TEXT = 400  # characters of a text that is no name
NAME = r"[A-Za-z][A-Za-z0-9_]*"
NAME_BOUND = "a name of letters, digits and _"


@dataclass(frozen=True, slots=True)
class NumberRow:
    """A row for a number, or a list of `count` numbers, each within [lower, upper]."""

    key: str
    count: int  # 1 is a plain number
    lower: float
    upper: float
    unit: str
    hint: str
    whole: bool = False  # integers only
    hexadecimal: bool = False  # also as 0x40
    meaning: str = ""  # for the reference, like `default`
    default: str = REQUIRED  # value without the key

    def below(self, name: str) -> NumberRow:
        """The same row for a key below this one."""
        return replace(self, key=f"{self.key}.{name}")


@dataclass(frozen=True, slots=True)
class TextRow:
    """A row for a text that matches the whole of a pattern."""

    key: str
    pattern: str
    bound: str
    hint: str
    meaning: str = ""
    default: str = REQUIRED


@dataclass(frozen=True, slots=True)
class ChoiceRow:
    """A row for one of several words."""

    key: str
    words: tuple[str, ...]
    hint: str
    meaning: str = ""
    default: str = REQUIRED


KeyRow = NumberRow | TextRow | ChoiceRow


def bound(row: KeyRow) -> str:
    """The bound of a row as text, for messages and reference tables."""
    if isinstance(row, TextRow):
        return f"must be {row.bound}"
    if isinstance(row, ChoiceRow):
        return f"must be one of {', '.join(row.words)}"
    kind = "whole number" if row.whole else "number"
    each = f"a {kind} within" if row.count == 1 else f"a list of {row.count} {kind}s, each within"
    return f"must be {each} {row.lower:g} and {row.upper:g} {row.unit}".rstrip()


class SchemaLine(NamedTuple):
    """A key of a file in the reference."""

    key: str
    kind: str
    unit: str
    bound: str
    default: str
    meaning: str
    hint: str


def line(row: KeyRow, prefix: str = "") -> SchemaLine:
    """The reference line of a row whose key is below `prefix`."""
    if isinstance(row, NumberRow):
        number = "whole number" if row.whole else "number"
        kind = number if row.count == 1 else f"{row.count} {number}s"
        unit, allowed = row.unit, f"{row.lower:g} to {row.upper:g}"
    elif isinstance(row, ChoiceRow):
        kind, unit, allowed = "word", "", ", ".join(row.words)
    else:
        kind, unit, allowed = "text", "", row.bound
    return SchemaLine(prefix + row.key, kind, unit, allowed, row.default, row.meaning, row.hint)


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
        raise section.error(f"is {yaml_text(section.value)}", f"must be a section with {', '.join(known)}")
    for name, child in section.children.items():
        if name not in known:
            hint = did_you_mean(name, list(known)) or "remove it"
            raise child.error("is unknown", f"known here: {', '.join(known)}", hint)
        below = known[name]
        if isinstance(below, Mapping):
            refuse_unknown(child, below)


def checked_section(entry: DocumentEntry, hint: str = "") -> DocumentEntry:
    """The entry itself. Raises unless it is a section."""
    if not entry.is_section:
        raise entry.error(f"is {yaml_text(entry.value)}", "must be a section", hint)
    return entry


def refuse_name(entry: DocumentEntry, name: str, what: str, example: str) -> None:
    """Raises for a key that is no name in lower case; `what` says of what it is the name."""
    if len(name) > MAX_NAME:
        raise entry.error(f"has {len(name)} characters", f"must have at most {MAX_NAME}")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        bound = "must be lower-case letters, digits and _, starting with a letter"
        raise entry.error(f"is not a valid {what} name", bound, f"e.g. {example}")


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """A hint with the most similar known word; empty if there is none."""
    if len(name) > MAX_QUOTED:  # comparing long texts is slow
        return ""
    near = get_close_matches(name, known, n=1) or [word for word in known if word == f"{name}_deg"]
    return f"did you mean {near[0]}?" if near else ""


def require(section: DocumentEntry, row: KeyRow) -> DocumentEntry:
    """The row's entry below a section. Raises for a missing one, at the deepest section that exists."""
    entry = section
    names = row.key.split(".")
    for depth, name in enumerate(names):
        if name not in entry.children:
            raise entry.error("is missing", bound(row), "every key is required", below=".".join(names[depth:]))
        entry = entry.children[name]
    return entry


def number(section: DocumentEntry, row: NumberRow, default: float | None = None) -> float:
    """A checked number below a section; `default`, if given, for a missing key."""
    if default is not None and row.key not in section.children:
        return default
    entry = require(section, row)
    return _number(entry, row, entry.value, "")


def value(entry: DocumentEntry, row: KeyRow) -> YamlValue:
    """The value of an entry, checked against its row."""
    if isinstance(row, TextRow):
        if not isinstance(entry.value, str) or not re.fullmatch(row.pattern, entry.value):
            raise entry.error(f"is {yaml_text(entry.value)}", bound(row), row.hint)
        most = MAX_NAME if row.pattern == NAME else MAX_TEXT
        if len(entry.value) > most or not entry.value.replace("\n", " ").isprintable():
            raise entry.error(f"is {yaml_text(entry.value)}", f"must have at most {most} printable characters")
        return str(entry.value)
    if isinstance(row, ChoiceRow):
        if entry.value not in row.words:
            near = did_you_mean(entry.value, row.words) if isinstance(entry.value, str) else ""
            raise entry.error(f"is {yaml_text(entry.value)}", bound(row), near or row.hint)
        return str(entry.value)
    if row.count == 1:
        return _number(entry, row, entry.value, "")
    if not isinstance(entry.value, list) or len(entry.value) != row.count:
        raise entry.error(f"is {yaml_text(entry.value)}", bound(row), _list_hint(row))
    return tuple(_number(entry, row, item, f"[{i}]") for i, item in enumerate(entry.value))


def _number(entry: DocumentEntry, row: NumberRow, item: object, index: str) -> float:
    what = f"is {yaml_text(item)}" if not index else f"has {yaml_text(item)} at {index}"
    if isinstance(item, str):
        raise entry.error(what, bound(row), _text_hint(item))
    if row.hexadecimal and isinstance(item, HexInt | HexCapsInt):
        item = int(item)
    if isinstance(item, ScalarInt) and (type(item) is not ScalarInt or (getattr(item, "_width", 0) or 0) > 1):
        raise entry.error(what, bound(row), "write a decimal number without leading zeros")
    if isinstance(item, (bool, ScalarBoolean)) or not isinstance(item, (int, float)):
        raise entry.error(what, bound(row), "write the number alone")
    if not row.lower <= item <= row.upper:
        raise entry.error(what, bound(row), row.hint if abs(item) < math.inf else "")
    if row.whole and item != int(item):
        raise entry.error(what, bound(row), "remove the fraction")
    return without_negligible(float(item))


def _list_hint(row: NumberRow) -> str:
    return f"e.g. [{', '.join(['0.1'] * row.count)}]"


def _text_hint(text: str) -> str:
    if isinstance(text, (DoubleQuotedScalarString, SingleQuotedScalarString)):
        return "remove the quotes"
    return "a decimal point, not a comma" if re.fullmatch(r"[-+]?\d+,\d+", text) else "write the number alone, no unit"


def yaml_text(item: object) -> str:
    """A value in YAML notation, shortened if it is long."""
    return shortened(_spelled(item))


def _spelled(item: object) -> str:
    if isinstance(item, dict):
        return "a section"
    if isinstance(item, list):
        return f"[{', '.join(map(yaml_text, item[:MAX_QUOTED]))}]"
    if item is None:
        return "empty"
    if isinstance(item, (bool, ScalarBoolean)):
        return "true" if item else "false"
    if isinstance(item, float):
        return f"{float(item):.12g}"
    if isinstance(item, int):
        sign = "-" if item < 0 else ""
        return str(int(item)) if abs(item) < MAX_SPELLED_INTEGER else f"{sign}1e18 or more"
    return f'"{item}"' if isinstance(item, str) else str(item)
