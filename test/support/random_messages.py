# SPDX-License-Identifier: Apache-2.0
"""Random messages and requests of any ROS type: extremes, NaN, empty, huge, wrong lengths, wrong names."""

from __future__ import annotations

import importlib
import random
import re
from collections.abc import Callable
from functools import cache
from typing import Any

FLOATS = (0.0, -0.0, 1e-320, -1e-200, 0.05, -1.0, 100.0, -1e5, 1e154, -1e308, float("nan"), float("inf"), -float("inf"))
INTEGER_BITS = re.compile(r"u?int(\d+)")
MAX_FLOAT32 = 3.4e38
ARRAY = re.compile(r"(?:sequence<(?P<item>[^,>]+)(?:, (?P<bound>\d+))?>|(?P<fixed>.+)\[(?P<count>\d+)\])")
LENGTHS = (0, 1, 3, 17, 18, 19, 500)
INNER_LENGTHS = (0, 1, 3)  # of an array within the messages of another one
LONG_TEXT, LONG_TEXT_SHARE = 1_000_000, 0.003  # characters, and share of the messages that have one such text
NAMES = (
    "",
    " ",
    "a" * 300,
    "../../etc/passwd",
    "/dev/zero",
    "[" * 3000,
    "\x1b[2J\n\x00",
    "ünbekannt",
    "{'a': 1}",
    "nan",
)
Maker = tuple[Callable[..., Any], Any]


def interface(name: str) -> Any:
    """The class of a message or service, e.g. "std_msgs/msg/String", or of one that carries an action.

    Raises ImportError or AttributeError.
    """
    package, kind, title = name.split("/")
    title, _, part = title.partition("_") if kind == "action" else (title, "", "")
    found = getattr(importlib.import_module(f"{package}.{kind}"), title)
    return getattr(found.Impl, f"{part}Service") if part in ("SendGoal", "GetResult") else found


@cache
def _fields(kind: Any) -> tuple[tuple[str, Maker], ...]:
    """Name of each field of a class of messages, and what makes its values."""
    return tuple((field, _maker(name)) for field, name in kind.get_fields_and_field_types().items())


@cache
def _maker(type_name: str) -> Maker:
    """The method that makes values of a type, and its argument."""
    if array := ARRAY.fullmatch(type_name):
        return RandomMessages.array, array
    if type_name.startswith(("string", "wstring")):
        return RandomMessages.text, None
    if type_name == "boolean":
        return RandomMessages.boolean, None
    if type_name in ("double", "float"):
        return RandomMessages.number, type_name
    if bits := INTEGER_BITS.fullmatch(type_name):
        return RandomMessages.integer, (int(bits[1]), not type_name.startswith("u"))
    if type_name in ("octet", "char"):
        return RandomMessages.byte, type_name
    package, title = type_name.split("/")
    return RandomMessages.filled, interface(f"{package}/msg/{title}")


class RandomMessages:
    """Makes random messages; `words` are names that are valid on the robot."""

    def __init__(self, rng: random.Random, words: tuple[str, ...]) -> None:
        self._rng, self._words = rng, words
        self._depth = 0  # of arrays within arrays
        self._long_text = False

    def message(self, kind: Any, long_text_share: float = LONG_TEXT_SHARE) -> Any:
        """A message of a class with random values in all fields; one text in it may be very long."""
        self._long_text = self._rng.random() < long_text_share
        return self.filled(kind)

    def filled(self, kind: Any) -> Any:
        made = kind()
        for field, (make, details) in _fields(kind):
            setattr(made, field, make(self, details))
        return made

    def text(self, details: None = None) -> str:
        """A valid name, an invalid one, or a very long text."""
        if self._long_text:
            self._long_text = False
            return "x" * LONG_TEXT
        return self._rng.choice(self._words if self._words and self._rng.random() < 0.5 else NAMES)

    def _value(self, type_name: str) -> Any:
        make, details = _maker(type_name)
        return make(self, details)

    def boolean(self, details: None) -> bool:
        return self._rng.random() < 0.5

    def byte(self, type_name: str) -> bytes | int:
        value = self._rng.randrange(256)
        return bytes([value]) if type_name == "octet" else value

    def array(self, array: re.Match[str]) -> list[Any]:
        if array["fixed"]:
            return [self._value(array["fixed"]) for _ in range(int(array["count"]))]
        length = self._rng.choice(INNER_LENGTHS if self._depth else LENGTHS)
        length = min(length, int(array["bound"])) if array["bound"] else length
        if array["item"] == "string" and self._rng.random() < 0.7:
            return list(self._words[:length])  # names in the right order
        self._depth += 1
        make, details = _maker(array["item"])
        items = [make(self, details) for _ in range(length)]
        self._depth -= 1
        return items

    def number(self, type_name: str) -> float:
        value = self._rng.choice(FLOATS) if self._rng.random() < 0.7 else self._rng.gauss(0.0, 1.0)
        return value if type_name == "double" or not MAX_FLOAT32 < abs(value) < float("inf") else MAX_FLOAT32

    def integer(self, size: tuple[int, bool]) -> int:
        bits, signed = size
        least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        return self._rng.choice((least, most, 0, 1, self._rng.randint(least, most)))
