# SPDX-License-Identifier: Apache-2.0
"""What is said to people: statements, and refusals. Programs read the kind and the values, never the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from string import Formatter
from typing import Any, Self


class Statement:
    """A sentence for people; `str()` is its English text.

    `kind` names it for programs and translators; `text` has the names of its values in braces, as for `str.format`.
    A value may be a statement itself.
    """

    __slots__ = ("kind", "text", "values")

    def __init__(self, kind: str, text: str, /, **values: object) -> None:
        self.kind = kind
        self.text = text
        self.values: Mapping[str, object] = values

    @classmethod
    def of(cls, said: object) -> Self:
        """What an error says: the sentence with which it was raised, else its text."""
        if isinstance(said, BaseException) and said.args and isinstance(said.args[0], Statement):
            said = said.args[0]
        if isinstance(said, Statement):
            return said if isinstance(said, cls) else cls(said.kind, said.text, **said.values)
        return cls("", "{text}", text=str(said))

    @classmethod
    def listed(cls, text: str) -> Self:
        """A text that stands in a table of keys: it is its own kind, by which translators know it."""
        return cls(text, "{text}", text=text)

    @classmethod
    def joined(cls, kind: str, text: str, parts: Sequence[Statement]) -> Statement:
        """One sentence of several; `text` has the places {first} and {second} and joins two of them."""
        return reduce(lambda first, second: cls(kind, text, first=first, second=second), parts)

    @classmethod
    def from_json(cls, said: Any) -> Self:
        """The sentence that `as_json` has described; any other value is a text. Raises KeyError for other objects."""
        if not isinstance(said, dict):
            return cls.of(said)
        values = {
            key: cls.from_json(value) if isinstance(value, dict) else value for key, value in said["values"].items()
        }
        return cls(said["kind"], "{text}", **{**values, "text": said["text"]})

    def __str__(self) -> str:
        return self.text.format(**self.values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kind!r}, {str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Statement) and (self.kind, str(self)) == (other.kind, str(other))

    def __hash__(self) -> int:
        return hash(self.kind)

    def with_values(self, **values: object) -> Self:
        """The same sentence with other values."""
        return type(self)(self.kind, self.text, **{**self.values, **values})

    def as_json(self) -> dict[str, Any]:
        """The sentence for a program that says it in another language: kind, English text, and values as texts."""
        forms = {key: form for _, key, form, _ in Formatter().parse(self.text)}
        values = {
            key: value.as_json() if isinstance(value, Statement) else format(value, forms.get(key) or "")
            for key, value in self.values.items()
        }
        return {"kind": self.kind, "text": str(self).strip(), "values": values}


class Refusal(Statement):
    """Why something was not done, with the remedy. Functions return None if nothing was refused."""
