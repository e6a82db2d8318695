"""An emulated device: bytes in, delayed bytes out, around a world of servos; no I/O, no clock, no threads."""

from __future__ import annotations

from typing import Protocol

from hexapod_control.servos.emulator.servo_world import ServoWorld

DelayedReply = tuple[float, bytes]
"""Delay [s] from the line being free (end of the request or of the reply before) to the first byte, and the bytes."""


class EmulatedDevice(Protocol):
    """The far end of the wire: one board, or all servos of a bus, that speak one protocol."""

    world: ServoWorld

    def receive(self, data: bytes, now: float) -> list[DelayedReply]:
        """Takes bytes, split anywhere, at a steady time [s]; steps the world to then first. Returns its replies."""


def voice(world: ServoWorld, index: int, reply: bytes) -> bytes:
    """Bytes on the line when servo `index` replies: none if it is absent, garble if two servos share its id."""
    count = world.answers(index)
    if count <= 1:
        return reply if count else b""
    half = len(reply) // 2  # both begin alike; then a low bit wins on the line
    mixed = bytes(a & b for a, b in zip(reply[half:], reply[half - 1 :], strict=False))
    return reply[:half] + (mixed if mixed != reply[half:] else bytes(byte ^ 1 for byte in mixed))
