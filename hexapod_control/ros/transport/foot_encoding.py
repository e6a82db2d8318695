"""Encodes and decodes sensor_msgs/MultiDOFJointState as CDR (XCDR1, little-endian) with one call of `struct`.

rclpy converts a message field by field: for six feet 0.2 ms to write and 0.5 ms to read, here a tenth of it.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from operator import attrgetter

from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import MultiDOFJointState

ENCAPSULATION = b"\0\1\0\0"
STAMP = struct.Struct("<iI")
START = len(ENCAPSULATION) + STAMP.size  # of what follows the stamp
WIDTHS = (7, 6, 6)  # numbers in a transform, a twist, a wrench
_TRANSFORM = attrgetter(
    *(f"translation.{axis}" for axis in "xyz"),
    *(f"rotation.{axis}" for axis in "xyzw"),
)
_TWIST = attrgetter(*(f"{part}.{axis}" for part in ("linear", "angular") for axis in "xyz"))
_WRENCH = attrgetter(*(f"{part}.{axis}" for part in ("force", "torque") for axis in "xyz"))


def encode(message: MultiDOFJointState) -> bytes:
    """Returns the bytes; padding is zero, so that equal messages have equal bytes."""
    header = message.header
    head = _head(header.frame_id, tuple(message.joint_names))
    counts = (len(message.transforms), len(message.twist), len(message.wrench))
    body = _body(START + len(head), counts)
    values: list[float] = []
    for get, parts in ((_TRANSFORM, message.transforms), (_TWIST, message.twist), (_WRENCH, message.wrench)):
        values.append(len(parts))
        for part in parts:
            values += get(part)
    return ENCAPSULATION + STAMP.pack(header.stamp.sec, header.stamp.nanosec) + head + body.pack(*values)


@lru_cache(maxsize=16)
def _head(frame: str, names: tuple[str, ...]) -> bytes:
    """Frame and names."""
    data = bytearray()
    _add_text(data, frame)
    data += bytes(-len(data) % 4) + struct.pack("<I", len(names))
    for name in names:
        _add_text(data, name)
    return bytes(data)


def _add_text(data: bytearray, text: str) -> None:
    raw = text.encode() + b"\0"
    data += bytes(-len(data) % 4) + struct.pack("<I", len(raw)) + raw


@lru_cache(maxsize=16)
def _body(start: int, counts: tuple[int, int, int]) -> struct.Struct:
    """The three sequences of numbers, each after its count; CDR aligns them to the end of the encapsulation."""
    layout, end = "<", start - len(ENCAPSULATION)
    for count, width in zip(counts, WIDTHS, strict=True):
        layout += f"{-end % 4}xI"
        end += -end % 4 + 4
        if count:
            layout += f"{-end % 8}x{count * width}d"
            end += -end % 8 + 8 * count * width
    return struct.Struct(layout)


class FootDecoder:
    """Decodes the messages of one subscription; the next call reuses the message that it returned."""

    def __init__(self) -> None:
        self._message = MultiDOFJointState()
        self._head = b""  # of the last message whose frame, names and counts differed from those before
        self._counts = (0, 0, 0)
        self._body = struct.Struct("<")

    def __call__(self, data: bytes) -> MultiDOFJointState:
        """Returns the message. Raises what rclpy raises for bytes that are none."""
        body = START + len(self._head)
        known = self._head and len(data) == body + self._body.size and data[START:body] == self._head
        if not (known and data.startswith(ENCAPSULATION) and self._take(data, body)):
            self._learn(data)
        return self._message

    def _take(self, data: bytes, body: int) -> bool:
        """Fills the message if the bytes have the known counts."""
        values = self._body.unpack_from(data, body)
        message, (transforms, twists, _) = self._message, self._counts
        at = (0, 1 + WIDTHS[0] * transforms, 2 + WIDTHS[0] * transforms + WIDTHS[1] * twists)
        if (values[at[0]], values[at[1]], values[at[2]]) != self._counts:
            return False
        message.header.stamp = Time()
        message.header.stamp.sec, message.header.stamp.nanosec = STAMP.unpack_from(data, len(ENCAPSULATION))
        for k, transform in enumerate(message.transforms):
            place, turn, i = transform.translation, transform.rotation, at[0] + 1 + WIDTHS[0] * k
            place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w = values[i : i + WIDTHS[0]]
        for k, twist in enumerate(message.twist):
            linear, angular, i = twist.linear, twist.angular, at[1] + 1 + WIDTHS[1] * k
            linear.x, linear.y, linear.z, angular.x, angular.y, angular.z = values[i : i + WIDTHS[1]]
        for k, wrench in enumerate(message.wrench):
            force, torque, i = wrench.force, wrench.torque, at[2] + 1 + WIDTHS[2] * k
            force.x, force.y, force.z, torque.x, torque.y, torque.z = values[i : i + WIDTHS[2]]
        return True

    def _learn(self, data: bytes) -> None:
        """Decodes by rclpy, and keeps the layout of bytes that are encoded as here."""
        self._message = message = deserialize_message(data, MultiDOFJointState)
        self._head = b""
        head = _head(message.header.frame_id, tuple(message.joint_names))
        if data[START : START + len(head)] == head:
            self._head = head
            self._counts = (len(message.transforms), len(message.twist), len(message.wrench))
            self._body = _body(START + len(head), self._counts)
