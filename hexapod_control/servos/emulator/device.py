# SPDX-License-Identifier: Apache-2.0
"""The interface of emulated devices: they receive bytes, move the servos of a world, and return delayed replies.

No I/O, no clock, no threads.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from hexapod_control.servos.bus.ff_frames import FFPacket, PacketDecoder
from hexapod_control.servos.emulator.servo_world import ServoWorld

FRAME_TIMEOUT_S = 0.05  # without bytes, after which servos drop an unfinished frame
DelayedReply = tuple[float, bytes]
"""Delay [s] from the end of the request or of the previous reply to the first byte, and the bytes."""


class EmulatedDevice(ABC):
    """The far end of the line: one board, or all servos of a bus, with one protocol."""

    world: ServoWorld
    ignores_baud = False  # it is itself the USB serial port, so that any baud works
    baud = 0  # of its line, which some devices show in a register

    @abstractmethod
    def receive(self, data: bytes, now: float) -> list[DelayedReply]:
        """Steps the world to a steady time [s], then processes bytes, which may be split anywhere. Returns replies."""

    def rename(self, index: int, servo: int) -> None:
        """Gives a servo another id. Raises ValueError for channels of a board, which have none of their own."""
        raise ValueError("needs servos with ids: these are channels of a board")


class FrameStream:
    """Decodes the bytes that servos receive; an unfinished frame is dropped after a pause on the line.

    A frame with a wrong checksum is a packet DAMAGED.
    """

    def __init__(self, decoder: PacketDecoder) -> None:
        """Starts at time 0 [s] without an unfinished frame."""
        self._decoder = decoder
        decoder.reports_damage = True
        self._received_at = 0.0  # [s] time of the last bytes

    def feed(self, data: bytes, now: float) -> list[FFPacket]:
        """The packets that bytes received at a steady time [s] complete."""
        if now - self._received_at > FRAME_TIMEOUT_S:
            self._decoder.forget()
        self._received_at = now
        return self._decoder.feed(data)


def at_once(replies: list[DelayedReply]) -> list[DelayedReply]:
    """The reply on the line when servos that share an id answer at the same time."""
    return replies if len(replies) < 2 else [(replies[0][0], collided(replies[0][1]))]


def bytes_on_line(world: ServoWorld, index: int, reply: bytes) -> bytes:
    """Bytes on the line for a reply of servo `index`: none if absent, corrupt if two servos share its id."""
    count = world.answers(index)
    if count == 0:
        return b""
    return reply if count == 1 else collided(reply)


def collided(reply: bytes) -> bytes:
    """A reply corrupted by a simultaneous one."""
    half = len(reply) // 2  # the same beginning; then low bits dominate on the line
    mixed = bytes(a & b for a, b in zip(reply[half:], reply[half - 1 :], strict=False))
    return reply[:half] + (mixed if mixed != reply[half:] else bytes(byte ^ 1 for byte in mixed))
