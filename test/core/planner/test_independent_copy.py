"""What a copy of an object shares with its original: only what cannot change."""

import dataclasses
from enum import Enum
from typing import NamedTuple

import numpy as np
import pytest

from hexapod_control.core.kinematics.arrays import read_only
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.planner.independent_copy import independent_copy


class Colour(Enum):
    RED = 1


@dataclasses.dataclass(frozen=True)
class Fixed:
    numbers: tuple[float, ...]


class Pair(NamedTuple):
    left: list[int]
    right: object


class Slotted:
    __slots__ = ("data", "number")


class Both(Slotted):
    pass


@pytest.fixture(autouse=True)
def copied_like_objects_of_the_package(monkeypatch):
    for kind in (Colour, Fixed, Pair, Slotted, Both):
        monkeypatch.setattr(kind, "__module__", "hexapod_control.test")


UNCHANGEABLE = (
    None,
    True,
    3,
    2.5,
    1j,
    "text",
    b"bytes",
    frozenset({1}),
    int,
    Colour.RED,
    Fixed((1.0,)),
    Pose(1.0, 2.0, 3.0),
    (1, (2, "three")),
    np.float64(2.0),
    read_only([1.0, 2.0]),
)


@pytest.mark.parametrize("value", UNCHANGEABLE, ids=lambda value: type(value).__name__)
def test_immutable_objects_are_shared(value):
    assert independent_copy(value) is value
    (copied,) = independent_copy([value])
    assert copied is value


@pytest.mark.parametrize(
    "value",
    [[1, 2], {"a": 1}, [[1], [2]], {"a": [1]}, ([1], 2), Pair([1], 2), Pair([1], [2]), [([1],)]],
    ids=repr,
)
def test_containers_are_equal_and_of_the_same_type_but_share_no_part(value):
    copied = independent_copy(value)
    assert copied == value and type(copied) is type(value) and copied is not value

    def lists(part):
        if isinstance(part, list):
            yield id(part)
        for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list | tuple) else ():
            yield from lists(inner)

    assert not set(lists(copied)) & set(lists(value))


def test_an_array_that_can_be_written_is_copied():
    original = np.array([1.0, 2.0])
    copied = independent_copy([original])[0]
    copied[0] = 5.0
    assert original.tolist() == [1.0, 2.0] and copied.tolist() == [5.0, 2.0]


@pytest.mark.parametrize("kind", [Slotted, Both])
def test_an_object_is_copied_with_the_attributes_of_its_slots_and_of_its_dictionary(kind):
    original = kind()
    original.number, original.data = 3, [1, 2]
    if kind is Both:
        original.more, original.name = {"a": [1]}, "text"
    copied = independent_copy(original)
    assert type(copied) is kind and copied is not original
    assert (copied.number, copied.data) == (3, [1, 2]) and copied.data is not original.data
    if kind is Both:
        assert vars(copied) == vars(original) and copied.more["a"] is not original.more["a"]


def test_an_object_that_is_referenced_twice_is_copied_once_also_in_a_circle():
    part, array, table = [1], np.array([1.0]), {"a": 1}
    original = Both()
    original.number, original.data = part, [part, array, array, table, table]
    original.itself = original
    copied = independent_copy(original)
    assert copied.itself is copied and copied.number is copied.data[0] is not part
    assert copied.data[1] is copied.data[2] is not array and copied.data[3] is copied.data[4] is not table


def test_two_copies_share_nothing():
    original = [[1]]
    first, second = independent_copy(original), independent_copy(original)
    first[0].append(2)
    assert second == original == [[1]]


def test_objects_of_other_packages_cannot_be_copied():
    class Foreign:
        pass

    with pytest.raises(TypeError, match=r"an object of .*Foreign cannot be copied"):
        independent_copy([Foreign()])
