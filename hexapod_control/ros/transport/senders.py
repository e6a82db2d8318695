# SPDX-License-Identifier: Apache-2.0
"""Takes messages together with the identity of their publisher, which rclpy drops.

The C library below rclpy returns the global id (GID) of the publisher with every message, and discovery names the node
of each GID (`TopicEndpointInfo.endpoint_gid`). So a subscription can be limited to certain publishers.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NamedTuple

from rclpy.impl.implementation_singleton import rclpy_implementation

GID_LENGTH = 16  # bytes, of RMW_GID_STORAGE_SIZE
GID_OFFSET = 40  # bytes, in rmw_message_info_t: after four numbers of 64 bits and a pointer
INFO_LENGTH = 256  # bytes, more than rmw_message_info_t has
LOCAL = b""
"""In place of a GID: a node of this process."""


class SentMessage(NamedTuple):
    """The bytes of a message, and the GID of its publisher."""

    data: bytes
    sender: bytes


class _Allocator(ctypes.Structure):
    """The struct rcutils_allocator_t."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("allocate", "deallocate", "reallocate", "zero", "state"))


class _Bytes(ctypes.Structure):
    """The struct rcl_serialized_message_t."""

    _fields_ = (
        ("buffer", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("capacity", ctypes.c_size_t),
        ("allocator", _Allocator),
    )


class SenderTaker:
    """Takes messages of subscriptions with their sender. Its buffer is used again for the next message."""

    def __init__(self) -> None:
        library = ctypes.CDLL(rclpy_implementation.__file__)  # the names are found in the libraries that it has loaded
        self._take = library.rcl_take_serialized_message
        self._take.argtypes = (ctypes.c_void_p,) * 4
        library.rcutils_get_default_allocator.restype = _Allocator
        allocator = library.rcutils_get_default_allocator()
        self._bytes = _Bytes()
        self._info = ctypes.create_string_buffer(INFO_LENGTH)
        library.rcutils_uint8_array_init(ctypes.byref(self._bytes), ctypes.c_size_t(0), ctypes.byref(allocator))

    def take(self, subscription: Any) -> SentMessage | None:
        """Returns the next message of a subscription; None if there is none."""
        with subscription.handle:
            if self._take(subscription.handle.pointer, ctypes.byref(self._bytes), self._info, None) != 0:
                return None
        gid = self._info.raw[GID_OFFSET : GID_OFFSET + GID_LENGTH]
        return SentMessage(ctypes.string_at(self._bytes.buffer, self._bytes.length), gid)


@cache
def sender_taker() -> SenderTaker | None:
    """Returns the taker of this process, for the thread that spins; None where this ROS has no such call."""
    try:
        return SenderTaker()
    except (OSError, AttributeError):
        return None
