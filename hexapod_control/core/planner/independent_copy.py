"""Deep copies of planner objects that share their immutable parts.

A planner, a walk or a limiter is a graph of plain Python objects. A copy must share no mutable part with the original,
else a step of one of them would change the other. Instead of a copy method in every class, which could omit an
attribute, the graph is traversed: immutable parts (numbers, texts, enumerations, frozen dataclasses, read-only arrays,
tuples of these) are shared, and every other object is rebuilt from its attributes. An object that is referenced twice
is copied once. Frozen dataclasses must have immutable parts only, which a test checks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import Enum
from operator import is_
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from hexapod_control.core.workspace.speed_envelope import SpeedEnvelope
from hexapod_control.core.workspace.stance_regions import StanceRegionTable
from hexapod_control.core.workspace.strides.stride_table import StrideTable

Copied = TypeVar("Copied")
# Any: a copier is for objects of one class, which is known at run time only.
Memo = dict[int, Any]  # id of an original: its copy
Copier = Callable[[Any, Memo], Any]

TABLES = {StanceRegionTable, StrideTable, SpeedEnvelope}  # classes that do not change after their construction

_shared: set[type] = {type(None), bool, int, float, complex, str, bytes, frozenset, type, *TABLES}


def independent_copy(original: Copied) -> Copied:
    """Returns a copy that shares no mutable state with the original.

    Raises TypeError for an object that cannot be copied, such as a generator or an open file.
    """
    return cast(Copied, _copiers[type(original)](original, {}))


class _Copiers(dict[type, Copier]):
    """The copier of each class, created when an object of the class is first copied."""

    def __missing__(self, kind: type) -> Copier:
        self[kind] = copier = _copier(kind)
        if copier is _share:
            _shared.add(kind)
        return copier


_copiers = _Copiers()


def _copier(kind: type) -> Copier:
    """Returns the function that copies objects of a class."""
    if _is_shared(kind):
        return _share
    if issubclass(kind, tuple):
        return _copy_tuple
    if kind is list:
        return _copy_list
    if kind is dict:
        return _once(lambda value, memo: {key: _copiers[type(part)](part, memo) for key, part in value.items()})
    if issubclass(kind, np.ndarray):
        return _once(lambda value, memo: value.copy() if value.flags.writeable else value)
    if kind.__module__.startswith(__name__.partition(".")[0]):
        return _object_copier(kind)
    raise TypeError(f"an object of {kind.__module__}.{kind.__qualname__} cannot be copied")


def _is_shared(kind: type) -> bool:
    """True if objects of a class are immutable, so that original and copy share them."""
    return kind in _shared or issubclass(kind, Enum | np.generic) or _is_frozen(kind) or _is_immutable_record(kind)


def _is_frozen(kind: type) -> bool:
    """True for a frozen dataclass."""
    return dataclasses.is_dataclass(kind) and bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]


def _is_immutable_record(kind: type) -> bool:
    """True if a class is a named tuple of immutable fields."""
    fields = getattr(kind, "_fields", ())
    return bool(fields) and all(map(_is_immutable, map(get_type_hints(kind).get, fields)))


def _is_immutable(annotation: Any) -> bool:
    """True if all values of an annotation are immutable: a shared class, or a tuple or union of these."""
    if get_origin(annotation) in (tuple, Union, UnionType):
        return all(map(_is_immutable, get_args(annotation)))
    return annotation is Ellipsis or (isinstance(annotation, type) and _is_shared(annotation))


def _share(value: Any, memo: Memo) -> Any:
    """The copier of immutable objects."""
    return value


def _once(copy: Copier) -> Copier:
    """Wraps a copier so that an object that is referenced twice is copied only once."""

    def copy_once(value: Any, memo: Memo) -> Any:
        key = id(value)
        if key not in memo:
            memo[key] = copy(value, memo)
        return memo[key]

    return copy_once


@_once
def _copy_list(value: list[Any], memo: Memo) -> list[Any]:
    if _shared.issuperset(map(type, value)):
        return value.copy()
    return [_copiers[type(part)](part, memo) for part in value]


def _copy_tuple(value: tuple[Any, ...], memo: Memo) -> tuple[Any, ...]:
    if _shared.issuperset(map(type, value)):
        return value
    parts = [_copiers[type(part)](part, memo) for part in value]
    if all(map(is_, parts, value)):
        return value
    make = getattr(type(value), "_make", tuple)  # named tuples take their fields one by one
    return cast(tuple[Any, ...], make(parts))


def _object_copier(kind: type) -> Copier:
    """Returns a function that copies an object attribute by attribute, from slots and dictionary.

    The function is generated for the slots of the class, as dataclasses generate their methods, because every tick
    copies the walk. For the walk of a six-legged robot it takes about half the time of a loop over the names of the
    slots; copy.deepcopy takes 200 times as long, 20 ms, as it copies immutable parts, too. The classes of a walk
    have slots because these are faster to copy and to read than a dictionary.
    """
    slots = [name for base in kind.__mro__ for name in getattr(base, "__slots__", ()) if name != "__weakref__"]
    lines = [
        "def copy_object(value, memo):",
        "    key = id(value)",
        "    if key in memo:",
        "        return memo[key]",
        "    memo[key] = copied = new(kind)",
    ]
    hints = get_type_hints(kind)
    for name in slots:
        if _is_immutable(hints.get(name)):
            lines.append(f"    copied.{name} = value.{name}")
            continue
        lines.append(f"    part = value.{name}")
        lines.append(f"    copied.{name} = part if type(part) in shared else copiers[type(part)](part, memo)")
    if kind.__dictoffset__:
        lines.append("    copied.__dict__ = attributes = value.__dict__.copy()")
        lines.append("    for name, part in value.__dict__.items():")
        lines.append("        if type(part) not in shared:")
        lines.append("            attributes[name] = copiers[type(part)](part, memo)")
    lines.append("    return copied")
    names = {"new": object.__new__, "kind": kind, "shared": _shared, "copiers": _copiers}
    exec("\n".join(lines), names)
    return cast(Copier, names["copy_object"])
