"""Sentences for people. Programs read the kind and the values of a sentence, never its text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import Any

TEXTS: Mapping[str, Mapping[str, str]] = {  # by language and kind; values in braces, as for str.format
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (Path(__file__).parent / "sentences").iterdir()
}


class Sentence:
    """A sentence for people; `str()` is its English text.

    `kind` names it for programs, and its text in each language; a kind without one is a name, and says itself.
    A value may be a sentence itself.
    """

    __slots__ = ("kind", "text", "values")

    def __init__(self, kind: str, text: str | None = None, /, **values: object) -> None:
        """`text` is that of a sentence which has come from elsewhere."""
        self.kind = kind
        self.text = TEXTS["en"].get(kind, kind) if text is None else text
        self.values: Mapping[str, object] = values

    @classmethod
    def of(cls, said: object) -> Sentence:
        """What an error says: the sentence with which it was raised, else its text."""
        if isinstance(said, BaseException) and said.args and isinstance(said.args[0], Sentence):
            return said.args[0]
        return cls("", "{text}", text=str(said))

    @classmethod
    def from_json(cls, said: Any) -> Sentence:
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
        return isinstance(other, Sentence) and (self.kind, str(self)) == (other.kind, str(other))

    def __hash__(self) -> int:
        return hash(self.kind)

    def with_values(self, **values: object) -> Sentence:
        """The same sentence with other values."""
        return type(self)(self.kind, self.text, **{**self.values, **values})

    def as_json(self) -> dict[str, Any]:
        """The sentence for a program that says it in another language: kind, English text, and values as texts."""
        forms = {key: form for _, key, form, _ in Formatter().parse(self.text)}
        values = {
            key: value.as_json() if isinstance(value, Sentence) else format(value, forms.get(key) or "")
            for key, value in self.values.items()
        }
        return {"kind": self.kind, "text": str(self).strip(), "values": values}


class Refusal(Sentence):
    """Why something was not done, with the remedy. Functions return None if nothing was refused."""
