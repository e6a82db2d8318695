# SPDX-License-Identifier: Apache-2.0
"""Type description, hash and members of tf2_msgs/msg/TFMessage as C structs of rosidl (Jazzy and later).

The description of the element, geometry_msgs/TransformStamped, comes from its wheel. `Any` stands for ctypes objects,
which have no useful common type.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import geometry_msgs

TYPE_NAME = "tf2_msgs/msg/TFMessage"
TYPE_HASH = "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"
DEFINITION = "geometry_msgs/TransformStamped[] transforms\n"
NESTED_UNBOUNDED_SEQUENCE = 145  # type_description_interfaces/msg/FieldType
MESSAGE = 18  # rosidl_typesupport_introspection_c/field_types.h
ELEMENT = "geometry_msgs__msg__TransformStamped"


class CString(ctypes.Structure):
    """rosidl_runtime_c__String."""

    _fields_ = (("data", ctypes.c_char_p), ("size", ctypes.c_size_t), ("capacity", ctypes.c_size_t))


class CSequence(ctypes.Structure):
    """Any rosidl sequence."""

    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("capacity", ctypes.c_size_t))


class TypeField(ctypes.Structure):
    """rosidl_runtime_c__type_description__Field."""

    _fields_ = (
        ("name", CString),
        ("type_id", ctypes.c_uint8),
        ("capacity", ctypes.c_uint64),
        ("string_capacity", ctypes.c_uint64),
        ("nested_type_name", CString),
        ("default_value", CString),
    )


class IndividualType(ctypes.Structure):
    """rosidl_runtime_c__type_description__IndividualTypeDescription."""

    _fields_ = (("type_name", CString), ("fields", CSequence))


class TypeDescription(ctypes.Structure):
    """rosidl_runtime_c__type_description__TypeDescription."""

    _fields_ = (("top", IndividualType), ("referenced", CSequence))


class TypeSource(ctypes.Structure):
    """rosidl_runtime_c__type_description__TypeSource."""

    _fields_ = (("type_name", CString), ("encoding", CString), ("contents", CString))


class TypeHash(ctypes.Structure):
    """rosidl_type_hash_t."""

    _fields_ = (("version", ctypes.c_uint8), ("value", ctypes.c_uint8 * 32))


class Member(ctypes.Structure):
    """rosidl_typesupport_introspection_c__MessageMember."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type_id", ctypes.c_uint8),
        ("string_upper_bound", ctypes.c_size_t),
        ("members", ctypes.c_void_p),
        ("is_key", ctypes.c_bool),
        ("is_array", ctypes.c_bool),
        ("array_size", ctypes.c_size_t),
        ("is_upper_bound", ctypes.c_bool),
        ("offset", ctypes.c_uint32),
        ("default_value", ctypes.c_void_p),
        ("functions", ctypes.c_void_p * 6),
    )


class Members(ctypes.Structure):
    """rosidl_typesupport_introspection_c__MessageMembers."""

    _fields_ = (
        ("message_namespace", ctypes.c_char_p),
        ("message_name", ctypes.c_char_p),
        ("member_count", ctypes.c_uint32),
        ("size_of", ctypes.c_size_t),
        ("has_any_key_member", ctypes.c_bool),
        ("members", ctypes.c_void_p),
        ("init_and_fini", ctypes.c_void_p * 2),
    )


ALIVE: list[object] = []
"""Objects that C holds pointers to: never freed, not even at interpreter exit."""
ctypes.pythonapi.Py_IncRef(ctypes.py_object(ALIVE))


def keep_alive(thing: Any) -> Any:
    """Returns the object, and prevents it from being freed."""
    ALIVE.append(thing)
    return thing


def library(name: str) -> ctypes.CDLL:
    """Loads a library of the ROS wheels, by name or from `lib/` next to site-packages."""
    try:
        return ctypes.CDLL(name)
    except OSError:
        return ctypes.CDLL(str(Path(geometry_msgs.__file__).parents[3] / name))


def function(restype: Any, *argtypes: Any) -> Callable[[Callable[..., Any]], int]:
    """Decorator that replaces a Python function by its C address."""

    def wrap(python: Callable[..., Any]) -> int:
        pointer = keep_alive(ctypes.CFUNCTYPE(restype, *argtypes)(python))
        return int(ctypes.cast(pointer, ctypes.c_void_p).value or 0)

    return wrap


def string(text: str) -> CString:
    """Returns a rosidl string."""
    raw = text.encode()
    return CString(raw, len(raw), len(raw) + 1)


def sequence(items: Sequence[ctypes.Structure]) -> CSequence:
    """Returns a rosidl sequence of the items."""
    array = keep_alive((type(items[0]) * len(items))(*items))
    return CSequence(ctypes.addressof(array), len(items), len(items))


def entries(found: CSequence, kind: type[ctypes.Structure]) -> list[Any]:
    """Returns the items of a rosidl sequence."""
    return list((kind * found.size).from_address(found.data)) if found.size else []


def element_call(name: str, kind: type[ctypes.Structure]) -> Any:
    """Calls `geometry_msgs__msg__TransformStamped__<name>(NULL)` and returns the struct it points to."""
    call = library("libgeometry_msgs__rosidl_generator_c.so")[f"{ELEMENT}__{name}"]
    call.restype = ctypes.POINTER(kind)
    call.argtypes = (ctypes.c_void_p,)
    return call(None).contents


def type_hash() -> TypeHash:
    """Returns the RIHS01 type hash."""
    return TypeHash(1, (ctypes.c_uint8 * 32)(*bytes.fromhex(TYPE_HASH)))


def description() -> TypeDescription:
    """Returns the description of the type and, sorted by name, of all types it contains."""
    element = element_call("get_type_description", TypeDescription)
    empty = string("")
    nested = string("geometry_msgs/msg/TransformStamped")
    field = TypeField(string("transforms"), NESTED_UNBOUNDED_SEQUENCE, 0, 0, nested, empty)
    referenced = [element.top, *entries(element.referenced, IndividualType)]
    referenced.sort(key=lambda individual: individual.type_name.data)
    return TypeDescription(IndividualType(string(TYPE_NAME), sequence([field])), sequence(referenced))


def sources() -> CSequence:
    """Returns the definition texts of the type and of all types it contains."""
    own = TypeSource(string(TYPE_NAME), string("msg"), string(DEFINITION))
    return sequence([own, *entries(element_call("get_type_description_sources", CSequence), TypeSource)])


def members() -> Members:
    """Returns the only member of the type, from which Fast DDS announces its structure."""
    lookup = library("libgeometry_msgs__rosidl_typesupport_introspection_c.so")[
        f"rosidl_typesupport_introspection_c__get_message_type_support_handle__{ELEMENT}"
    ]
    lookup.restype = ctypes.c_void_p
    lookup.argtypes = ()
    member = keep_alive(Member(name=b"transforms", type_id=MESSAGE, members=lookup(), is_array=True))
    size = ctypes.sizeof(CSequence)
    return Members(b"tf2_msgs__msg", b"TFMessage", 1, size, False, ctypes.addressof(member))
