# SPDX-License-Identifier: Apache-2.0
"""Type support of tf2_msgs/msg/TFMessage for Fast DDS, built with ctypes on the geometry_msgs wheel.

A type support is a C struct of function pointers (rosidl_runtime_c/message_type_support_struct.h and
rosidl_typesupport_fastrtps_cpp/message_type_support.h of Jazzy); here they point to functions of this file. Only these
functions read a C message, so it is only a handle, and the message itself stays in Python as CDR bytes. C++ exceptions
must not pass through Python: only the functions of Fast CDR for jumps and the position are used, which never throw.
Python exceptions must not pass through C: every callback returns false instead.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable
from typing import Any

from geometry_msgs.msg import TransformStamped

from hexapod_control.ros.tf2_shim import type_description
from hexapod_control.ros.tf2_shim.type_description import function, keep_alive, library

POSE = struct.Struct("<7d")


class MalformedError(ValueError):
    """Bytes that are not a TFMessage."""


def encode(transforms: Iterable[TransformStamped]) -> bytes:
    """Encodes a sequence of transforms as a CDR body."""
    transforms = list(transforms)
    data = bytearray(struct.pack("<I", len(transforms)))
    for item in transforms:
        data += bytes(-len(data) % 4) + struct.pack("<iI", item.header.stamp.sec, item.header.stamp.nanosec)
        for text in (item.header.frame_id, item.child_frame_id):
            raw = text.encode() + b"\0"
            data += bytes(-len(data) % 4) + struct.pack("<I", len(raw)) + raw
        move, turn = item.transform.translation, item.transform.rotation
        data += bytes(-len(data) % 8) + POSE.pack(move.x, move.y, move.z, turn.x, turn.y, turn.z, turn.w)
    return bytes(data)


class Reader:
    """Reads a CDR body; `take(n)` returns the next n bytes, or None at the end of the data."""

    def __init__(self, take: Callable[[int], bytes | None]) -> None:
        self._take = take
        self.data = bytearray()

    def next(self, size: int, alignment: int) -> bytes:
        """Returns the next `size` bytes after padding to `alignment`. Raises MalformedError at the end of the data."""
        padding = -len(self.data) % alignment
        raw = self._take(padding + size)
        if raw is None:
            raise MalformedError("the message ends too early")
        self.data += raw
        return raw[padding:]

    def number(self) -> int:
        """Reads an unsigned 32-bit integer."""
        return int.from_bytes(self.next(4, 4), "little")

    def text(self) -> str:
        """Reads a zero-terminated string."""
        return self.next(self.number(), 1).rstrip(b"\0").decode("utf-8", "replace")

    def transform(self) -> TransformStamped:
        """Reads one TransformStamped."""
        item = TransformStamped()
        item.header.stamp.sec, item.header.stamp.nanosec = struct.unpack("<iI", self.next(8, 4))
        item.header.frame_id, item.child_frame_id = self.text(), self.text()
        move, turn = item.transform.translation, item.transform.rotation
        move.x, move.y, move.z, turn.x, turn.y, turn.z, turn.w = POSE.unpack(self.next(POSE.size, 8))
        return item

    def skip_transforms(self) -> None:
        """Reads the whole sequence into `data` without creating objects."""
        for _ in range(self.number()):
            self.next(8, 4)
            for _ in range(2):
                self.next(self.number(), 1)
            self.next(POSE.size, 8)

    def transforms(self) -> list[TransformStamped]:
        """Reads the whole sequence."""
        return [self.transform() for _ in range(self.number())]


def decode(data: bytes) -> list[TransformStamped]:
    """Decodes the transforms of a CDR body. Raises MalformedError."""
    position = 0

    def take(size: int) -> bytes | None:
        nonlocal position
        position += size
        return data[position - size : position] if position <= len(data) else None

    return Reader(take).transforms()


FAST_DDS = b"rosidl_typesupport_fastrtps_c"
INTROSPECTION = b"rosidl_typesupport_introspection_c"
EMPTY = encode(())


class Callbacks(ctypes.Structure):
    """message_type_support_callbacks_t."""

    _fields_ = (
        ("message_namespace", ctypes.c_char_p),
        ("message_name", ctypes.c_char_p),
        ("cdr_serialize", ctypes.c_void_p),
        ("cdr_deserialize", ctypes.c_void_p),
        ("get_serialized_size", ctypes.c_void_p),
        ("max_serialized_size", ctypes.c_void_p),
        ("key_callbacks", ctypes.c_void_p),
    )


class TypeSupport(ctypes.Structure):
    """rosidl_message_type_support_t."""

    _fields_ = (
        ("identifier", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("handle_function", ctypes.c_void_p),
        ("get_type_hash", ctypes.c_void_p),
        ("get_description", ctypes.c_void_p),
        ("get_sources", ctypes.c_void_p),
    )


def capsule(address: int) -> object:
    """Returns an unnamed PyCapsule, as rclpy expects them on the metaclass of a message."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(address, None, None)


class Cdr:
    """The two functions of eprosima::fastcdr::Cdr that never throw."""

    def __init__(self) -> None:
        fastcdr = library("libfastcdr.so.2")
        self._jump = fastcdr["_ZN8eprosima7fastcdr3Cdr4jumpEm"]
        self._jump.restype = ctypes.c_bool
        self._jump.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
        self._position = fastcdr["_ZN8eprosima7fastcdr3Cdr20get_current_positionEv"]
        self._position.restype = ctypes.c_void_p
        self._position.argtypes = (ctypes.c_void_p,)

    def advance(self, cdr: int, size: int) -> int | None:
        """Skips `size` bytes and returns their address; None if there are fewer."""
        return self._position(cdr) - size if self._jump(cdr, size) else None


def pointer_function(thing: ctypes.Structure) -> int:
    """Returns the C address of a function that returns the address of a struct."""
    address = ctypes.addressof(keep_alive(thing))
    return function(ctypes.c_void_p, ctypes.c_void_p)(lambda _: address)


class Messages:
    """The messages that C code refers to: for each handle of 8 bytes the CDR bytes of its message."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[object, bytes]] = {}

    def create(self) -> int:
        """Returns the handle of a new message without transforms."""
        buffer = ctypes.create_string_buffer(8)
        address = ctypes.addressof(buffer)
        self._held[address] = (buffer, EMPTY)
        return address

    def destroy(self, handle: int) -> None:
        """Frees a handle."""
        self._held.pop(handle, None)

    def __len__(self) -> int:
        return len(self._held)

    def __getitem__(self, handle: int) -> bytes:
        return self._held[handle][1]

    def __setitem__(self, handle: int, data: bytes) -> None:
        self._held[handle] = (self._held[handle][0], data)


def wire_functions(messages: Messages, stream_functions: Cdr) -> Callbacks:
    """Returns the callbacks for Fast DDS: serialize, deserialize, size."""

    @function(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)
    def serialize(handle: int, stream: int) -> bool:
        data = messages[handle]
        target = stream_functions.advance(stream, len(data))
        if target is None:
            return False
        ctypes.memmove(target, data, len(data))
        return True

    @function(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)
    def deserialize(stream: int, handle: int) -> bool:
        def take(size: int) -> bytes | None:
            source = stream_functions.advance(stream, size)
            return None if source is None else ctypes.string_at(source, size)

        reader = Reader(take)
        try:
            reader.skip_transforms()
        except MalformedError:
            return False
        messages[handle] = bytes(reader.data)
        return True

    @function(ctypes.c_uint32, ctypes.c_void_p)
    def size(handle: int) -> int:
        return len(messages[handle])

    @function(ctypes.c_size_t, ctypes.POINTER(ctypes.c_char))
    def maximum_size(bounds: Any) -> int:
        bounds[0] = 0  # unbounded
        return len(EMPTY)

    return Callbacks(b"tf2_msgs::msg", b"TFMessage", serialize, deserialize, size, maximum_size, None)


def type_support(callbacks: Callbacks) -> TypeSupport:
    """Returns the struct that rcl and rmw_fastrtps_cpp read."""
    answers = [
        pointer_function(type_description.type_hash()),
        pointer_function(type_description.description()),
        pointer_function(type_description.sources()),
    ]
    supports: dict[bytes, int] = {}

    @function(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
    def find(_: int, identifier: bytes) -> int | None:
        return supports.get(identifier)

    for identifier, data in ((FAST_DDS, callbacks), (INTROSPECTION, type_description.members())):
        support = keep_alive(TypeSupport(identifier, ctypes.addressof(keep_alive(data)), find, *answers))
        supports[identifier] = ctypes.addressof(support)
    return TypeSupport.from_address(supports[FAST_DDS])


def capsules(create: Callable[[list[TransformStamped]], object]) -> dict[str, object]:
    """Returns the attributes that rclpy reads from the metaclass of a message; `create` builds a message."""
    messages = keep_alive(Messages())

    @function(ctypes.c_bool, ctypes.py_object, ctypes.c_void_p)
    def from_python(message: Any, handle: int) -> bool:
        try:
            messages[handle] = encode(message.transforms)
        except (AttributeError, TypeError, ValueError, struct.error):
            return False
        return True

    @function(ctypes.py_object, ctypes.c_void_p)
    def to_python(handle: int) -> object:
        # Cannot fail: deserialize has checked these bytes.
        return create(decode(messages[handle]))

    support = keep_alive(type_support(wire_functions(messages, keep_alive(Cdr()))))
    return {
        "_CREATE_ROS_MESSAGE": capsule(function(ctypes.c_void_p)(messages.create)),
        "_DESTROY_ROS_MESSAGE": capsule(function(None, ctypes.c_void_p)(messages.destroy)),
        "_CONVERT_FROM_PY": capsule(from_python),
        "_CONVERT_TO_PY": capsule(to_python),
        "_TYPE_SUPPORT": capsule(ctypes.addressof(support)),
    }
