"""The keys of a robot file: one table row per key, and how a value is checked against its row."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from ruamel.yaml.scalarbool import ScalarBoolean
from ruamel.yaml.scalarint import ScalarInt
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, SingleQuotedScalarString

from hexapod_control.config.document import DocumentEntry

YamlValue = float | str | tuple[float, ...]


@dataclass(frozen=True, slots=True)
class NumberRow:
    """A row for a number, or a list of `count` numbers, each within [lower, upper]."""

    key: str
    count: int  # 1 is a plain number
    lower: float
    upper: float
    unit: str
    hint: str


@dataclass(frozen=True, slots=True)
class TextRow:
    """A row for a text that matches the whole of a pattern."""

    key: str
    pattern: str
    bound: str
    hint: str


KeyRow = NumberRow | TextRow
_METRES = "metres, not millimetres?"
_KILOGRAMS = "kilograms, not grams?"
_DEGREES = "degrees"
_NAME = r"[A-Za-z][A-Za-z0-9_]*"
_A_NAME = "a name of letters, digits and _"

ROBOT: tuple[KeyRow, ...] = (
    TextRow("name", _NAME, _A_NAME, "it becomes the name of the URDF"),
    NumberRow("body.size", 3, 0.001, 2.0, "m", _METRES),
    NumberRow("body.center", 3, -1.0, 1.0, "m", _METRES),
    NumberRow("body.mass", 1, 0.001, 100.0, "kg", _KILOGRAMS),
    NumberRow("body.center_of_mass", 3, -1.0, 1.0, "m", _METRES),
    NumberRow("foot.radius", 1, 0.0005, 0.2, "m", _METRES),
    NumberRow("imu.position", 3, -2.0, 2.0, "m", _METRES),
    TextRow("walk.gait", _NAME, "the name of a gait", "tripod is the usual one"),
    NumberRow("walk.height", 1, 0.001, 2.0, "m", _METRES),
    NumberRow("walk.swing_time", 1, 0.05, 10.0, "s", "seconds, not milliseconds?"),
    NumberRow("walk.lift_height", 1, 0.001, 1.0, "m", _METRES),
    NumberRow("walk.preload", 1, 0.0, 0.02, "m", "0 unless the feet of a soft robot must press"),
)
COMMON: tuple[KeyRow, ...] = (  # stand under `leg`, or under one leg's name to override
    NumberRow("coxa.length", 1, 0.001, 1.0, "m", _METRES),
    NumberRow("coxa.mass", 1, 1e-4, 20.0, "kg", _KILOGRAMS),
    NumberRow("coxa.radius", 1, 0.001, 0.2, "m", _METRES),
    NumberRow("femur.length", 1, 0.001, 1.0, "m", _METRES),
    NumberRow("femur.mass", 1, 1e-4, 20.0, "kg", _KILOGRAMS),
    NumberRow("femur.radius", 1, 0.001, 0.2, "m", _METRES),
    NumberRow("femur.lateral_offset", 1, -0.5, 0.5, "m", _METRES),
    NumberRow("femur.vertical_offset", 1, -0.5, 0.5, "m", _METRES),
    NumberRow("tibia.length", 1, 0.001, 1.0, "m", _METRES),
    NumberRow("tibia.mass", 1, 1e-4, 20.0, "kg", _KILOGRAMS),
    NumberRow("tibia.radius", 1, 0.001, 0.2, "m", _METRES),
    *(
        NumberRow(f"joints.{joint}.{side}_deg", 1, -180.0, 180.0, "deg", _DEGREES)
        for joint in ("coxa", "femur", "tibia")
        for side in ("lower", "upper")
    ),
    TextRow("servo.model", r"(?s).*\S.*", "a text", "the servo's name"),
    NumberRow("servo.no_load_speed", 1, 0.1, 100.0, "rad/s", "rpm / 9.549"),
    NumberRow("servo.stall_torque", 1, 0.001, 500.0, "N m", "kgf cm / 10.2"),
    NumberRow("servo.stiffness", 1, 0.01, 100000.0, "N m/rad", "torque per position error"),
    TextRow("servo.source", r"(?s).*\S.*", "a text", "where the servo's figures come from"),
)
PLACE: tuple[KeyRow, ...] = (  # stand under each leg's name
    NumberRow("hip", 3, -2.0, 2.0, "m", _METRES),
    NumberRow("yaw_deg", 1, -180.0, 180.0, "deg", _DEGREES),
    NumberRow("foothold", 2, -3.0, 3.0, "m", _METRES),
)
RAW = ("servos", "odometry_scale")  # optional, interpreted by others


def bound(row: KeyRow) -> str:
    """What a row demands, in words."""
    if isinstance(row, TextRow):
        return f"must be {row.bound}"
    each = "a number within" if row.count == 1 else f"a list of {row.count} numbers, each within"
    return f"must be {each} {row.lower:g} and {row.upper:g} {row.unit}"


def known_keys(keys: Iterable[str]) -> dict[str, object]:
    """Dotted keys as a tree of sections; a leaf is None."""
    below: dict[str, list[str]] = {}
    for key in keys:
        name, _, rest = key.partition(".")
        below.setdefault(name, []).extend([rest] if rest else [])
    return {name: known_keys(rest) if rest else None for name, rest in below.items()}


def refuse_unknown(section: DocumentEntry, known: Mapping[str, object]) -> None:
    """Raise for a key that no row has, and for a value where a section must be."""
    if not section.is_section:
        raise section.error(f"is {spell(section.value)}", f"must be a section with {', '.join(known)}")
    for name, child in section.children.items():
        if name not in known:
            raise child.error("is unknown", f"known here: {', '.join(known)}", did_you_mean(name, list(known)))
        below = known[name]
        if isinstance(below, Mapping):
            refuse_unknown(child, below)


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """A hint that names the nearest known word, or nothing."""
    near = get_close_matches(name, known, n=1) or [word for word in known if word == f"{name}_deg"]
    return f"did you mean {near[0]}?" if near else ""


def require(section: DocumentEntry, row: KeyRow) -> DocumentEntry:
    """The row's entry below a section. Raises for a missing one at the deepest section there is."""
    entry = section
    names = row.key.split(".")
    for depth, name in enumerate(names):
        if name not in entry.children:
            raise entry.error("is missing", bound(row), "every key is required", below=".".join(names[depth:]))
        entry = entry.children[name]
    return entry


def value(entry: DocumentEntry, row: KeyRow) -> YamlValue:
    """The checked value of an entry."""
    if isinstance(row, TextRow):
        if not isinstance(entry.value, str) or not re.fullmatch(row.pattern, entry.value):
            raise entry.error(f"is {spell(entry.value)}", bound(row), row.hint)
        return str(entry.value)
    if row.count == 1:
        return _number(entry, row, entry.value, "")
    if not isinstance(entry.value, list) or len(entry.value) != row.count:
        raise entry.error(f"is {spell(entry.value)}", bound(row))
    return tuple(_number(entry, row, item, f"[{i}]") for i, item in enumerate(entry.value))


def _number(entry: DocumentEntry, row: NumberRow, item: object, index: str) -> float:
    what = f"is {spell(item)}" if not index else f"has {spell(item)} at {index}"
    if isinstance(item, str):
        raise entry.error(what, bound(row), _text_hint(item))
    if isinstance(item, ScalarInt) and (type(item) is not ScalarInt or (getattr(item, "_width", 0) or 0) > 1):
        raise entry.error(what, bound(row), "write a decimal number without leading zeros")
    if isinstance(item, (bool, ScalarBoolean)) or not isinstance(item, (int, float)):
        raise entry.error(what, bound(row))
    number = float(item)
    if not math.isfinite(number):
        raise entry.error(what, bound(row), "a finite number")
    if not row.lower <= number <= row.upper:
        raise entry.error(what, bound(row), row.hint)
    return number


def _text_hint(text: str) -> str:
    if isinstance(text, (DoubleQuotedScalarString, SingleQuotedScalarString)):
        return "remove the quotes"
    return "a decimal point, not a comma" if re.fullmatch(r"[-+]?\d+,\d+", text) else "write the number alone, no unit"


def spell(item: object) -> str:
    """A value as its author wrote it."""
    if isinstance(item, dict):
        return "a section"
    if isinstance(item, list):
        return f"[{', '.join(spell(part) for part in item)}]"
    if item is None:
        return "empty"
    if isinstance(item, (bool, ScalarBoolean)):
        return "true" if item else "false"
    if isinstance(item, (int, float)):
        return f"{float(item):.12g}" if isinstance(item, float) else str(int(item))
    return f'"{item}"' if isinstance(item, str) else str(item)
