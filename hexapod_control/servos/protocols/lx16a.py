# SPDX-License-Identifier: Apache-2.0
"""LewanSoul/Hiwonder LX-16A and LX-224: `55 55 ID LEN CMD P... CHECKSUM`, 115200 baud. Raw units: 1000 over 240 deg.

LEN counts LEN, CMD, P and CHECKSUM; CHECKSUM = ~(sum of everything from ID on); words are little-endian.
A reply has the form of its request, with parameters; there is no error byte and no reply to a write.
Source: Hiwonder, "LX-16A bus servo communication protocol".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import IntEnum

from hexapod_control.config.servo_models import KnownModel
from hexapod_control.servos.bus.bus_interface import RELAX_REPEATS, BusTiming, RawScale, ServoQuantity, ServoReading
from hexapod_control.servos.bus.ff_frames import FFPacket, PacketDecoder, checksum
from hexapod_control.servos.bus.id_addressing import SmartServoBus
from hexapod_control.servos.bus.registers import Register, RegisterRole, RegisterTable
from hexapod_control.servos.bus.serial_port import Port
from hexapod_control.servos.bus.transaction import ReplyTiming

SCALE = RawScale(unit="tick", low=0, high=1000, center=500, per_rad=1000 / math.radians(240.0))
BAUD = 115200
HEADER = b"\x55\x55"
BROADCAST = 0xFE
LAST_ID = 0xFD
OVERHEAD = 6  # bytes of a frame without its parameters
MAX_MOVE_MS = 30000  # [ms] of a move
MODEL = KnownModel("LX-16A or similar", "lx16a")  # not reported


class Lx16aCommand(IntEnum):
    """Command of a frame; its parameters in the comment."""

    MOVE = 1  # position 2, time 2 [ms]
    MOVE_READ = 2  # -> as MOVE
    MOVE_WAIT = 7  # the same, waits for START
    MOVE_WAIT_READ = 8  # -> as MOVE_WAIT
    START = 11
    STOP = 12
    ID_WRITE = 13  # 1
    ID_READ = 14  # -> 1
    OFFSET = 17  # int8
    OFFSET_SAVE = 18
    OFFSET_READ = 19  # -> int8
    LIMITS_WRITE = 20  # low 2, high 2
    LIMITS_READ = 21
    VOLTAGE_LIMITS_WRITE = 22  # low 2, high 2 [mV]
    VOLTAGE_LIMITS_READ = 23
    TEMPERATURE_LIMIT_WRITE = 24  # 1 [degC]
    TEMPERATURE_LIMIT_READ = 25
    TEMPERATURE = 26  # -> 1 [degC]
    VOLTAGE = 27  # -> 2 [mV]
    POSITION = 28  # -> 2, with sign
    MODE_WRITE = 29  # mode 1 (0 servo, 1 motor), 0, speed 2
    MODE_READ = 30  # -> the same
    TORQUE_WRITE = 31  # 1
    TORQUE_READ = 32  # -> 1
    LED = 33  # 1: 1 is off
    LED_READ = 34  # -> 1
    FAULT_MASK_WRITE = 35  # bits: 0 temperature, 1 voltage, 2 stall; faults that the LED shows, not present faults
    FAULT_MASK_READ = 36


class Lx16aSetting:
    """Values behind the read commands; the command before a read command writes them, OFFSET is also to be saved."""

    OFFSET = Register(
        Lx16aCommand.OFFSET_READ, 1, 0, -125, 125, signed=True, reply=1, stored=False, role=RegisterRole.OFFSET
    )
    LOW_LIMIT = Register(
        Lx16aCommand.LIMITS_READ, 2, 0, 0, 1000, reply=4, role=RegisterRole.LOW_LIMIT, title="minimum position"
    )
    HIGH_LIMIT = Register(
        Lx16aCommand.LIMITS_READ,
        2,
        1000,
        0,
        1000,
        at=2,
        reply=4,
        role=RegisterRole.HIGH_LIMIT,
        title="maximum position",
    )
    MIN_VOLTAGE = Register(Lx16aCommand.VOLTAGE_LIMITS_READ, 2, 4500, 4500, 14000, reply=4)  # mV
    MAX_VOLTAGE = Register(Lx16aCommand.VOLTAGE_LIMITS_READ, 2, 12000, 4500, 14000, at=2, reply=4)  # mV
    MAX_TEMPERATURE = Register(Lx16aCommand.TEMPERATURE_LIMIT_READ, 1, 85, 50, 100, reply=1)  # degC
    MODE = Register(Lx16aCommand.MODE_READ, 2, 0, 0, 1, reply=4, stored=False, role=RegisterRole.MODE)
    MOTOR_SPEED = Register(Lx16aCommand.MODE_READ, 2, 0, -1000, 1000, signed=True, at=2, reply=4, stored=False)
    LED = Register(Lx16aCommand.LED_READ, 1, 0, 0, 1, reply=1)
    FAULT_MASK = Register(Lx16aCommand.FAULT_MASK_READ, 1, 7, 0, 7, reply=1)
    TORQUE = Register(Lx16aCommand.TORQUE_READ, 1, reply=1, writable=False, role=RegisterRole.TORQUE)


TABLE = RegisterTable(Lx16aSetting, modes="motor mode, the servo turns without end")
ANSWERS = {  # quantity -> command and bytes of its answer
    ServoQuantity.POSITION: (Lx16aCommand.POSITION, 2),
    ServoQuantity.VOLTAGE: (Lx16aCommand.VOLTAGE, 2),
    ServoQuantity.TEMPERATURE: (Lx16aCommand.TEMPERATURE, 1),
}


def build(servo: int, command: int, data: bytes = b"") -> bytes:
    """The frame of a command."""
    body = bytes((servo, len(data) + 3, command)) + data
    return HEADER + body + bytes((checksum(body),))


def move(servo: int, goal: int, duration: float) -> bytes:
    """The frame that moves a servo to a goal [raw] within `duration` [s]."""
    milliseconds = min(max(round(duration * 1000), 0), MAX_MOVE_MS)
    return build(servo, Lx16aCommand.MOVE, goal.to_bytes(2, "little") + milliseconds.to_bytes(2, "little"))


def torque(servo: int, state: int) -> bytes:
    """The frame that switches the torque on (1) or off (0)."""
    return build(servo, Lx16aCommand.TORQUE_WRITE, bytes((state,)))


class Lx16aDecoder(PacketDecoder):
    """Finds `55 55` frames."""

    header = HEADER
    head = 5

    def __init__(self, servo: int | None = None, command: int | None = None, size: int | None = None) -> None:
        """Accepts only frames of this servo and command with `size` bytes of parameters (None: any)."""
        super().__init__()
        self._servo = servo
        self._command = command
        self._size = size

    def _decode(self, frame: bytes) -> FFPacket | None:
        return FFPacket(frame[2], frame[4], frame[5:-1]) if checksum(frame[2:-1]) == frame[-1] else None

    def _frame_size(self, head: bytes) -> int:
        servo, length, command = head[2:]
        plausible = (
            servo <= BROADCAST
            and length >= 3
            and self._servo in (None, servo)
            and self._command in (None, command)
            and self._size in (None, length - 3)
        )
        return 3 + length if plausible else 0


class Lx16aBus(SmartServoBus):
    """An open bus of LX servos."""

    last_id = LAST_ID
    protocol = "lx16a"
    features = replace(SmartServoBus.features, registers=TABLE)
    scale = SCALE
    can_read = ServoQuantity.POSITION | ServoQuantity.VOLTAGE | ServoQuantity.TEMPERATURE

    def _ask_model(self, servo: int) -> str | None:
        answer = self.registers(servo, Lx16aCommand.ID_READ, 1)
        return None if answer is None else self.models.note(servo, MODEL)

    def registers(self, servo: int, address: int, length: int) -> bytes | None:
        """The answer to a read command, here called address; None if the servo does not answer."""
        command = Lx16aCommand(address)
        decoder = Lx16aDecoder(servo, command, length)
        answer = self.exchange.ask_blocking(build(servo, command), [servo], OVERHEAD + length, decoder).get(servo)
        return answer.data if answer else None

    def write_registers(self, servo: int, address: int, data: bytes) -> None:
        """Writes the setting of a read command: the write command is one less; an offset is also saved."""
        if address == Lx16aCommand.OFFSET_READ:
            frames = [build(servo, Lx16aCommand.OFFSET, data), build(servo, Lx16aCommand.OFFSET_SAVE)]
        else:
            frames = [build(servo, address - 1, data)]
        for frame in frames:
            self.exchange.send(frame)

    def write_goals(self, goals: Mapping[int, int], duration: float) -> None:
        """Sends all moves in one write; there is no frame for several servos."""
        if goals:
            moves = [move(servo, SCALE.clamp_goal(raw), duration) for servo, raw in goals.items()]
            self.exchange.send(b"".join(moves), len(moves))

    def torque(self, ids: Sequence[int], on: bool) -> None:
        """Switches torque in one write."""
        if ids:
            self.exchange.send(b"".join(torque(servo, int(on)) for servo in ids), len(ids))

    def received_goals(self, ids: Sequence[int]) -> dict[int, int]:
        """Raw goals as the servos have received them; silent servos are missing from the result."""
        answers = self._ask_all(ids, Lx16aCommand.MOVE_READ, 4)
        return {servo: int.from_bytes(data[:2], "little") for servo, data in answers.items()}

    def torques(self, ids: Sequence[int]) -> dict[int, bool]:
        """Whether the torque of these servos is on; silent servos are missing from the result."""
        return {servo: bool(data[0]) for servo, data in self._ask_all(ids, Lx16aCommand.TORQUE_READ, 1).items()}

    def relax(self) -> None:
        """Switches the torque of all servos off by broadcast."""
        for _ in range(RELAX_REPEATS):
            self.exchange.send(torque(BROADCAST, 0))

    def read(self, ids: Sequence[int], quantities: ServoQuantity) -> dict[int, ServoReading]:
        """Reads servo by servo, a transaction per quantity; after a missing reply the servo is skipped.

        Reading stops at the first servo whose reply is late; it is `awaited`.
        """
        readings: dict[int, ServoReading] = {}
        for servo in ids:
            values: dict[ServoQuantity, int] = {}
            for quantity, (command, size) in ANSWERS.items():
                if not quantities & quantity:
                    continue
                data = self._ask(servo, command, size)
                if data is None:
                    break
                values[quantity] = int.from_bytes(data, "little", signed=quantity is ServoQuantity.POSITION)
            if values:
                millivolts = values.get(ServoQuantity.VOLTAGE)
                readings[servo] = ServoReading(
                    position=values.get(ServoQuantity.POSITION),
                    voltage=None if millivolts is None else millivolts / 1000,
                    temperature=values.get(ServoQuantity.TEMPERATURE),
                )
            if self.exchange.awaited:
                break
        return readings

    def timing(self, count: int, quantities: ServoQuantity = ServoQuantity.POSITION) -> BusTiming:
        """Wire time of goals and readings of `count` servos."""
        sizes = [size for quantity, (_, size) in ANSWERS.items() if quantities & quantity]
        return BusTiming(
            write=self.exchange.seconds(count * len(move(0, 0, 0.0))),
            read=self.exchange.seconds(count * sum(2 * OVERHEAD + size for size in sizes))
            + count * len(sizes) * self.exchange.wait.return_delay,
            turnarounds=count * len(sizes),
        )

    def _write_id(self, old: int, new: int) -> None:
        self.exchange.send(build(old, Lx16aCommand.ID_WRITE, bytes((new,))))

    def recover(self, servo: int) -> None:
        """Switches the torque off, which ends an overload."""
        self.exchange.send(torque(servo, 0))

    def _ask_all(self, ids: Sequence[int], command: Lx16aCommand, size: int) -> dict[int, bytes]:
        """Answers by servo id. It stops at the first servo whose reply is late, which is `awaited`."""
        answers: dict[int, bytes] = {}
        for servo in ids:
            data = self._ask(servo, command, size)
            if data is not None:
                answers[servo] = data
            if self.exchange.awaited:
                break
        return answers

    def _ask(self, servo: int, command: Lx16aCommand, size: int) -> bytes | None:
        decoder = Lx16aDecoder(servo, command, size)
        answer = self.exchange.ask(build(servo, command), [servo], OVERHEAD + size, decoder).get(servo)
        return answer.data if answer else None


def open_bus(port: Port, ids: Sequence[int], wait: ReplyTiming | None = None) -> Lx16aBus:
    """A bus of LX servos."""
    return Lx16aBus(port, ids, wait)
