"""Independent copies of the planner's objects, complete by construction.

A planner, a walk or a limiter is a graph of plain Python objects. A copy must share no mutable part with the original:
else stepping one of them changes the other. Instead of one copy method per class, the graph is walked: what cannot
change (numbers, texts, enumerations, frozen dataclasses, read-only arrays, tuples of these) is shared, every other
object is rebuilt from its attributes. An object that occurs twice occurs twice in the copy, too. A new attribute is
therefore copied without a further line of code. Frozen dataclasses hold immutable parts only; test_copies.py checks
it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import Enum
from operator import attrgetter
from typing import Any, TypeVar, cast

import numpy as np

from hexapod_control.core.workspace.stance_regions import StanceRegionTable

Copied = TypeVar("Copied")
# Any: a copier takes and returns objects of the class it was made for, which is known at run time only.
Memo = dict[int, Any]
Copier = Callable[[Any, Memo], Any]

# StanceRegionTable: a table that never changes after its construction.
_shared: set[type] = {type(None), bool, int, float, complex, str, bytes, frozenset, type, StanceRegionTable}
_copiers: dict[type, Copier] = {}


def independent_copy(original: Copied) -> Copied:
    """A copy that shares no mutable state with the original.

    Raises TypeError for an object that cannot be copied, such as a generator or an open file.
    """
    return cast(Copied, _copy(original, {}))


def _copy(value: Any, memo: Memo) -> Any:
    kind = type(value)
    if kind in _shared:
        return value
    copier = _copiers.get(kind)
    if copier is None:
        copier = _copier(kind)
        if copier is None:
            _shared.add(kind)
            return value
        _copiers[kind] = copier
    return copier(value, memo)


def _copier(kind: type) -> Copier | None:
    """How objects of a class are copied; None: they are shared."""
    if issubclass(kind, Enum | np.generic) or (dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen):  # type: ignore[attr-defined]
        return None
    if issubclass(kind, tuple):
        return _copy_tuple
    if kind is list:
        return _copy_list
    if kind is set:
        return lambda value, memo: _remember(value, {_copy(part, memo) for part in value}, memo)
    if kind is dict:
        return lambda value, memo: _remember(value, {key: _copy(part, memo) for key, part in value.items()}, memo)
    if issubclass(kind, np.ndarray):
        return lambda value, memo: _remember(value, value.copy(), memo) if value.flags.writeable else value
    if kind.__module__.startswith(__name__.partition(".")[0]):
        return _object_copier(kind)
    raise TypeError(f"an object of {kind.__module__}.{kind.__qualname__} cannot be copied")


def _copy_list(value: list[Any], memo: Memo) -> list[Any]:
    return cast(
        list[Any],
        _remember(value, [part if type(part) in _shared else _copy(part, memo) for part in value], memo),
    )


def _copy_tuple(value: tuple[Any, ...], memo: Memo) -> tuple[Any, ...]:
    for part in value:
        if type(part) not in _shared:
            break
    else:
        return value
    parts = [_copy(part, memo) for part in value]
    if all(new is old for new, old in zip(parts, value, strict=True)):
        return value
    make = getattr(type(value), "_make", tuple)  # named tuples take their fields one by one
    return cast(tuple[Any, ...], make(parts))


def _remember(original: Any, copied: Any, memo: Memo) -> Any:
    """Keeps a copy for the next occurrence of its original, and the original itself: its id must stay in use."""
    memo[id(original)] = copied, original
    return copied


def _object_copier(kind: type) -> Copier:
    """Copies an object attribute by attribute, whether it keeps them in slots or in a dictionary."""
    slots = tuple(name for base in kind.__mro__ for name in getattr(base, "__slots__", ()) if name != "__weakref__")
    values_of = attrgetter(*slots) if len(slots) > 1 else lambda value: tuple(getattr(value, name) for name in slots)

    has_dictionary = kind.__dictoffset__ != 0

    def copy_object(value: Any, memo: Memo) -> Any:
        known = memo.get(id(value))
        if known is not None:
            return known[0]
        copied = _remember(value, object.__new__(kind), memo)
        for name, part in zip(slots, values_of(value), strict=True):
            setattr(copied, name, part if type(part) in _shared else _copy(part, memo))
        if has_dictionary:
            copied.__dict__.update(
                {name: part if type(part) in _shared else _copy(part, memo) for name, part in vars(value).items()}
            )
        return copied

    return copy_object
