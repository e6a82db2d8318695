# SPDX-License-Identifier: Apache-2.0
"""Emulated LX-16A servos: moves, settings, motor mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hexapod_control.servos.bus.ff_frames import FFPacket
from hexapod_control.servos.bus.registers import Register, RegisterRole
from hexapod_control.servos.emulator.device import DelayedReply, EmulatedDevice, FrameStream, at_once, bytes_on_line
from hexapod_control.servos.emulator.devices.servo_memory import spin
from hexapod_control.servos.emulator.servo_world import ServoWorld
from hexapod_control.servos.protocols import lx16a as codec
from hexapod_control.servos.protocols.lx16a import Lx16aCommand

MOVES = (Lx16aCommand.MOVE, Lx16aCommand.MOVE_WAIT)
MOVE_READS: dict[int, int] = {
    Lx16aCommand.MOVE_READ: Lx16aCommand.MOVE,
    Lx16aCommand.MOVE_WAIT_READ: Lx16aCommand.MOVE_WAIT,
}
MOTOR_SPEED = 260.0  # [steps/s] in motor mode at full speed
MOTOR = 1
FULL_SPEED = 1000


@dataclass(frozen=True, slots=True)
class LxSetting:
    """The values that one command writes, and another one reads."""

    values: tuple[Register, ...]  # by their place in the parameters

    @property
    def read(self) -> int:
        """The read command."""
        return int(self.values[0])

    @property
    def persistent(self) -> bool:
        """Whether it is stored without power."""
        return self.values[0].stored

    @property
    def default(self) -> bytes:
        """The parameters of a new servo."""
        return b"".join(each.default.to_bytes(each.size, "little") for each in self.values)

    def accepts(self, data: bytes) -> bool:
        """Whether these parameters are valid; of two limits the first must be below the second."""
        if len(data) != self.values[0].reply:
            return False
        numbers = self.numbers(data)
        limits = len(numbers) > 1 and self.values[0].role is not RegisterRole.MODE
        inside = all(each.permits(number) for each, number in zip(self.values, numbers, strict=True))
        return inside and (not limits or numbers[0] < numbers[1])

    def numbers(self, data: bytes) -> list[int]:
        """The numbers in the parameters."""
        return [codec.TABLE.value(each, data) for each in self.values]


def _settings() -> dict[int, LxSetting]:
    values: dict[int, list[Register]] = {}
    for register in codec.TABLE.registers:
        if register.writable:
            values.setdefault(register, []).append(register)
    offset = {Lx16aCommand.OFFSET_READ: Lx16aCommand.OFFSET}
    return {offset.get(Lx16aCommand(read), read - 1): LxSetting(tuple(each)) for read, each in values.items()}


LX_SETTINGS: Mapping[int, LxSetting] = _settings()
"""By write command."""
READS: Mapping[int, int] = {setting.read: write for write, setting in LX_SETTINGS.items()}


class Lx16aDevice(EmulatedDevice):
    """All servos of a bus."""

    def __init__(self, world: ServoWorld, ids: Sequence[int], delay: float = 0.0) -> None:
        """Servo `ids[i]` is number i of the world; a reply starts after `delay` [s]."""
        self.world = world
        self.ids = list(ids)
        self._delay = delay
        self._waiting: dict[int, tuple[int, float]] = {}  # index -> goal and duration of a MOVE_WAIT
        self._moves: dict[tuple[int, int], bytes] = {}  # (index, command) -> parameters of the last move
        self._settings = [{write: setting.default for write, setting in LX_SETTINGS.items()} for _ in ids]
        self._stored_offsets = [LX_SETTINGS[Lx16aCommand.OFFSET].default for _ in ids]
        self._power_cycles = [world.power_cycles(i) for i in range(len(ids))]
        self._stream = FrameStream(codec.Lx16aDecoder())

    def receive(self, data: bytes, now: float) -> list[DelayedReply]:
        """Executes every complete frame."""
        self.world.step(now)
        replies: list[DelayedReply] = []
        for packet in self._stream.feed(data, now):
            answers: list[DelayedReply] = []
            for index, servo in enumerate(self.ids):
                if packet.id in (servo, codec.BROADCAST) and self._has_power(index):
                    self._execute(index, packet)
                    answer = b"" if packet.data else self._answer(index, packet.code)
                    if answer and (packet.id == servo or packet.code == Lx16aCommand.ID_READ):
                        reply = codec.build(self.ids[index], packet.code, answer)
                        answers.append((self._delay, bytes_on_line(self.world, index, reply)))
            replies += answers if packet.id == codec.BROADCAST else at_once(answers)
        return replies

    def rename(self, index: int, servo: int) -> None:
        """Gives a servo another id."""
        self.ids[index] = servo

    def _has_power(self, index: int) -> bool:
        """Whether the servo has power; after an interruption, settings that are not stored are reset."""
        if not self.world.answers(index):
            return False
        if self.world.power_cycles(index) != self._power_cycles[index]:
            self._power_cycles[index] = self.world.power_cycles(index)
            fresh = {write: setting.default for write, setting in LX_SETTINGS.items() if not setting.persistent}
            self._settings[index] |= fresh | {Lx16aCommand.OFFSET: self._stored_offsets[index]}
            self._waiting.pop(index, None)
        return True

    def _execute(self, index: int, packet: FFPacket) -> None:
        data = packet.data
        if packet.code in LX_SETTINGS:
            self._set(index, packet.code, data)
        elif packet.code in MOVES and len(data) == 4:
            self._move(index, packet.code, data)
        elif packet.code == Lx16aCommand.START and not data and index in self._waiting:
            self._go(index, *self._waiting.pop(index))
        elif packet.code == Lx16aCommand.STOP and not data:
            self.world.goal(index, self.world.position(index), 0.0)
        elif packet.code == Lx16aCommand.TORQUE_WRITE and len(data) == 1:
            self._switch(index, bool(data[0]))
        elif packet.code == Lx16aCommand.ID_WRITE and len(data) == 1 and data[0] <= codec.LAST_ID:
            self.ids[index] = data[0]
        elif packet.code == Lx16aCommand.OFFSET_SAVE and not data:
            self._stored_offsets[index] = self._settings[index][Lx16aCommand.OFFSET]

    def _switch(self, index: int, on: bool) -> None:
        """Torque on holds the present position, or turns in motor mode."""
        if not on and self.world.fault(index):
            self.world.reboot(index)  # torque off ends the protection
        if on and not self.world.has_torque(index) and not self._is_motor(index):
            self.world.goal(index, self.world.position(index), 0.0)
        self.world.torque(index, on)

    def _move(self, index: int, command: int, data: bytes) -> None:
        """Goals are clamped to the angle limits."""
        self._moves[index, command] = data
        low, high = self._numbers(index, Lx16aCommand.LIMITS_WRITE)
        goal = min(max(int.from_bytes(data[:2], "little"), low), high)
        duration = min(int.from_bytes(data[2:], "little"), codec.MAX_MOVE_MS) / 1000.0
        if command == Lx16aCommand.MOVE:
            self._go(index, goal, duration)
        else:
            self._waiting[index] = goal, duration

    def _go(self, index: int, goal: int, duration: float) -> None:
        """A move switches the torque on; in motor mode it is ignored."""
        if not self._is_motor(index):
            self.world.goal(index, goal - self._offset(index), duration)
            self.world.torque(index, True)

    def _set(self, index: int, command: int, data: bytes) -> None:
        if not LX_SETTINGS[command].accepts(data):
            return
        self._settings[index][command] = data
        mode, speed = self._numbers(index, Lx16aCommand.MODE_WRITE)
        if command == Lx16aCommand.MODE_WRITE:
            spin(self.world, index, MOTOR_SPEED * speed / FULL_SPEED if mode == MOTOR else 0.0)

    def _is_motor(self, index: int) -> bool:
        return self._numbers(index, Lx16aCommand.MODE_WRITE)[0] == MOTOR

    def _numbers(self, index: int, command: int) -> list[int]:
        return LX_SETTINGS[command].numbers(self._settings[index][command])

    def _offset(self, index: int) -> int:
        return self._numbers(index, Lx16aCommand.OFFSET)[0]

    def _answer(self, index: int, command: int) -> bytes:
        if command in READS:
            return self._settings[index][READS[command]]
        if command in MOVE_READS:
            return self._moves.get((index, MOVE_READS[command]), bytes(4))
        if command == Lx16aCommand.POSITION:
            return (round(self.world.position(index)) + self._offset(index)).to_bytes(2, "little", signed=True)
        if command == Lx16aCommand.VOLTAGE:
            return round(self.world.voltage(index) * 1000).to_bytes(2, "little")
        if command == Lx16aCommand.TEMPERATURE:
            return bytes((round(self.world.temperature(index)) & 0xFF,))
        if command == Lx16aCommand.TORQUE_READ:
            return bytes((self.world.has_torque(index),))
        return bytes((self.ids[index],)) if command == Lx16aCommand.ID_READ else b""


DEVICES = {"lx16a": Lx16aDevice}
