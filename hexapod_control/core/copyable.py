"""Objects that change from tick to tick, and whose copies continue independently of them."""

from __future__ import annotations

from typing import Any, Self


class Copyable:
    """Base class of an object that changes; the tick limiter tries a tick on a copy of the motion, up to five times.

    An attribute is either a value that does not change (a number, a tuple, a frozen dataclass, a table of the robot),
    which the copy shares; or a list, or a `Copyable` that belongs to this object alone, of which the copy gets its own.
    There are no dictionaries, no sets and no arrays that are written to: they are replaced by new values.
    """

    def copy(self) -> Self:
        """Returns an object in the same state that shares nothing with this one that can change."""
        copied = object.__new__(type(self))
        attributes = self.__dict__.copy()
        for name, value in attributes.items():
            if isinstance(value, Copyable):
                attributes[name] = value.copy()
            elif type(value) is list:
                attributes[name] = [_copy(part) for part in value]
        copied.__dict__ = attributes
        return copied


def _copy(part: Any) -> Any:
    return part.copy() if isinstance(part, Copyable) else part
