"""Checked values of one section by dotted key, with their position in the file for messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hexapod_control.config import schema
from hexapod_control.config.document import DocumentEntry
from hexapod_control.core.robot import Vector


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
