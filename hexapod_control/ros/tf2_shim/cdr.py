"""Encodes and decodes tf2_msgs/msg/TFMessage as CDR (XCDR1, little-endian, without the 4-byte encapsulation header)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable

from geometry_msgs.msg import TransformStamped

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
