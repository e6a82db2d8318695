"""Emulated LX-16A servos."""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_control.servos.bus.ff_frames import FFPacket
from hexapod_control.servos.emulator.device import DelayedReply, FrameStream, bytes_on_line
from hexapod_control.servos.emulator.servo_world import ServoWorld
from hexapod_control.servos.protocols import lx16a as codec
from hexapod_control.servos.protocols.lx16a import Lx16aCommand

MOVES = (Lx16aCommand.MOVE, Lx16aCommand.MOVE_WAIT)


class Lx16aDevice:
    """All servos of a bus."""

    def __init__(self, world: ServoWorld, ids: Sequence[int], delay: float = 0.0) -> None:
        """Servo `ids[i]` is number i of the world; a reply starts after `delay` [s]."""
        self.world, self.ids, self._delay = world, list(ids), delay
        self._waiting: dict[int, tuple[int, float]] = {}  # index -> goal and duration of a MOVE_WAIT
        self._stream = FrameStream(codec.Lx16aDecoder())

    def receive(self, data: bytes, now: float) -> list[DelayedReply]:
        """Executes every complete frame."""
        self.world.step(now)
        replies: list[DelayedReply] = []
        for packet in self._stream.feed(data, now):
            for index, servo in enumerate(self.ids):
                if packet.id in (servo, codec.BROADCAST) and self.world.answers(index):
                    self._execute(index, packet)
                    answer = b"" if packet.data else self._answer(index, packet.code)
                    if answer and (packet.id == servo or packet.code == Lx16aCommand.ID_READ):
                        reply = codec.build(self.ids[index], packet.code, answer)
                        replies.append((self._delay, bytes_on_line(self.world, index, reply)))
        return replies

    def _execute(self, index: int, packet: FFPacket) -> None:
        data = packet.data
        if packet.code in MOVES and len(data) == 4:
            goal = min(int.from_bytes(data[:2], "little"), codec.SCALE.high)
            duration = min(int.from_bytes(data[2:], "little"), codec.MAX_MOVE_MS) / 1000.0
            if packet.code == Lx16aCommand.MOVE:
                self.world.goal(index, goal, duration)
            else:
                self._waiting[index] = goal, duration
        elif packet.code == Lx16aCommand.START and not data and index in self._waiting:
            self.world.goal(index, *self._waiting.pop(index))
        elif packet.code == Lx16aCommand.STOP and not data:
            self.world.goal(index, self.world.position(index), 0.0)
        elif packet.code == Lx16aCommand.TORQUE_WRITE and len(data) == 1:
            if not data[0] and self.world.fault(index):
                self.world.reboot(index)  # torque off ends the protection
            self.world.torque(index, bool(data[0]))
        elif packet.code == Lx16aCommand.ID_WRITE and len(data) == 1 and data[0] <= codec.LAST_ID:
            self.ids[index] = data[0]

    def _answer(self, index: int, command: int) -> bytes:
        if command == Lx16aCommand.POSITION:
            return round(self.world.position(index)).to_bytes(2, "little", signed=True)
        if command == Lx16aCommand.VOLTAGE:
            return round(self.world.voltage(index) * 1000).to_bytes(2, "little")
        if command == Lx16aCommand.TEMPERATURE:
            return bytes((round(self.world.temperature(index)) & 0xFF,))
        if command == Lx16aCommand.TORQUE_READ:
            return bytes((self.world.has_torque(index),))
        return bytes((self.ids[index],)) if command == Lx16aCommand.ID_READ else b""


def device(world: ServoWorld, ids: Sequence[int]) -> Lx16aDevice:
    """A bus of LX servos."""
    return Lx16aDevice(world, ids)
