# SPDX-License-Identifier: Apache-2.0
"""Objects that change from tick to tick, and whose copies continue independently of them."""

from __future__ import annotations

from typing import Self

_CHANGING: set[type] = {list}  # classes of which a copy gets objects of its own


class Copyable:
    """Base class of an object that changes; the tick limiter tries a tick on a copy of the motion, up to five times.

    An attribute is either a value that does not change (a number, a tuple, a frozen dataclass, a table of the robot),
    which the copy shares; or a list, or a `Copyable` that belongs to this object alone, of which the copy gets its own.
    There are no dictionaries, no sets and no arrays that are written to: they are replaced by new values.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _CHANGING.add(cls)

    def copy(self) -> Self:
        """Returns an object in the same state that shares nothing with this one that can change."""
        copied = object.__new__(type(self))
        for name, value in self.__dict__.items():  # a copy whose __dict__ is set at once is slower to read
            if type(value) is list:
                value = [part.copy() if type(part) in _CHANGING else part for part in value]
            elif type(value) in _CHANGING:
                value = value.copy()
            setattr(copied, name, value)
        return copied
