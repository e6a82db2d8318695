# SPDX-License-Identifier: Apache-2.0
"""The bus of all servos with `FF FF` frames (Dynamixel 1, Feetech); an FFDialect has the differences between them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hexapod_control.servos.bus import ff_frames
from hexapod_control.servos.bus.bus_interface import (
    RELAX_REPEATS,
    TRIES,
    BusTiming,
    RawScale,
    ServoQuantity,
    ServoReading,
)
from hexapod_control.servos.bus.id_addressing import SmartServoBus
from hexapod_control.servos.bus.model_numbers import HEAD, ff_model
from hexapod_control.servos.bus.registers import RegisterRole, RegisterTable
from hexapod_control.servos.bus.serial_port import Port
from hexapod_control.servos.bus.transaction import ReplyTiming


@dataclass(frozen=True, slots=True)
class SpeedRegister:
    """The speed register of servos that have no register for the duration of a move."""

    unit: float  # [steps/s] per count
    fastest: int  # maximum register value; 0 is maximum speed
    unknown: int  # register value for a servo of unknown position: slow, because it may be far from its goal

    def register(self, travel: int | None, duration: float) -> int:
        """Register value to travel a distance [steps] within `duration` [s]; 0 s is maximum speed."""
        if duration <= 0.0:
            return 0
        if travel is None:
            return self.unknown
        return min(max(math.ceil(travel / duration / self.unit), 1), self.fastest)


class FFDialect(ABC):
    """The registers of a servo type, and the encoding of goals and readings in them."""

    scale: RawScale
    can_read: ServoQuantity
    protocol: str  # key in protocol_registry.PROTOCOLS
    table: RegisterTable
    sync_read: bool
    checksum_error = 0  # bit of the error byte after a request that arrived damaged; 0: the servo is silent

    @abstractmethod
    def block(self, quantities: ServoQuantity) -> tuple[int, int]:
        """Address and length [bytes] of the registers that hold these quantities."""

    @abstractmethod
    def reading(self, error: int, data: bytes) -> ServoReading:
        """Decodes such a block and the error bits of its status."""

    @abstractmethod
    def goals(self, goals: Mapping[int, int], travels: Mapping[int, int | None], duration: float) -> bytes:
        """The frame that sends all goals; `travels` [raw] are the distances to the goals, None if unknown."""

    def recovery(self, servo: int) -> list[bytes]:
        """The frames that clear a latched overload: torque off, which ends the protection of Feetech servos †."""
        return [ff_frames.write_request(servo, self.table[RegisterRole.TORQUE], b"\x00")]


class FFTravel:
    """Distance to new goals: from the last goal or the last position, whichever is farther."""

    def __init__(self) -> None:
        self._goals: dict[int, int] = {}
        self._positions: dict[int, int] = {}

    def note_position(self, servo: int, position: int) -> None:
        """Records a measured position [raw]."""
        self._positions[servo] = position

    def to(self, goals: Mapping[int, int]) -> dict[int, int | None]:
        """Travel [raw] to these goals, which become the last ones; None if unknown."""
        travels: dict[int, int | None] = {}
        for servo, goal in goals.items():
            last = self._goals.get(servo, self._positions.get(servo))
            if last is None:
                travels[servo] = None
            else:
                travels[servo] = max(abs(goal - last), abs(goal - self._positions.get(servo, last)))
        self._goals.update(goals)
        return travels

    def forget(self, servos: Iterable[int]) -> None:
        """Forgets the last goals of servos without torque."""
        for servo in servos:
            self._goals.pop(servo, None)


class FFBus(SmartServoBus):
    """An open bus of servos whose frames begin with `FF FF`: Feetech ST and SC, Dynamixel protocol 1."""

    last_id = ff_frames.LAST_ID

    def __init__(
        self,
        port: Port,
        ids: Sequence[int],
        dialect: FFDialect,
        wait: ReplyTiming | None = None,
        force_model: bool = False,
    ) -> None:
        """A bus of these servo ids on this port; `force_model` accepts any model. Raises ValueError for invalid ids."""
        self.protocol = dialect.protocol
        super().__init__(port, ids, wait, force_model=force_model)
        self.dialect = dialect
        self.scale = dialect.scale
        self.can_read = dialect.can_read
        self.features = replace(self.features, registers=dialect.table)
        self._torque = dialect.table[RegisterRole.TORQUE]
        self._goal = dialect.table[RegisterRole.GOAL]
        self._lock = dialect.table.get(RegisterRole.LOCK)
        self._travel = FFTravel()

    def _ask_model(self, servo: int) -> str | None:
        head = self.registers(servo, *HEAD)
        if head is None or len(head) != HEAD[1]:  # a late reply to another request may be shorter
            return None
        return self.models.note(servo, ff_model(servo, head, self.dialect.table.byteorder))

    def registers(self, servo: int, address: int, length: int) -> bytes | None:
        """Registers of a servo, None if it does not answer."""
        answer = self._ask_blocking(servo, ff_frames.read_request(servo, address, length), length)
        return answer.data if answer else None

    def write_registers(self, servo: int, address: int, data: bytes) -> None:
        """Writes registers of a servo, also in its EEPROM; the torque should be off."""
        frames = [ff_frames.write_request(servo, address, data)]
        if self._lock is not None:
            frames = [
                ff_frames.write_request(servo, self._lock, b"\x00"),
                *frames,
                ff_frames.write_request(servo, self._lock, b"\x01"),
            ]
        for frame in frames:
            self._send_and_confirm(servo, frame)

    def write_goals(self, goals: Mapping[int, int], duration: float) -> None:
        """Sends goals in one frame."""
        if not goals:
            return
        safe = {servo: self.scale.clamp_goal(raw) for servo, raw in goals.items()}
        self.exchange.send(self.dialect.goals(safe, self._travel.to(safe), duration))

    def torque(self, ids: Sequence[int], on: bool) -> None:
        """Switches torque in one frame."""
        if ids:
            rows = {servo: bytes((on,)) for servo in ids}
            self.exchange.send(ff_frames.sync_write_request(self._torque, rows))
            self._travel.forget(ids)

    def received_goals(self, ids: Sequence[int]) -> dict[int, int]:
        """Raw goals as the servos have received them; silent servos are missing from the result."""
        answers = self._registers(ids, self._goal, 2)
        return {servo: int.from_bytes(packet.data, self.dialect.table.byteorder) for servo, packet in answers.items()}

    def max_voltage(self, servo: int) -> float | None:
        """Maximum voltage [V] that a servo is set to tolerate; None if it is not known."""
        register = self.dialect.table.get(RegisterRole.MAX_VOLTAGE)
        data = None if register is None else self.registers(servo, register, 1)
        return data[0] / 10.0 if data else None

    def torques(self, ids: Sequence[int]) -> dict[int, bool]:
        """Whether the torque of these servos is on; silent servos are missing from the result."""
        answers = self._registers(ids, self._torque, 1)
        return {servo: bool(packet.data[0]) for servo, packet in answers.items()}

    def relax(self) -> None:
        """Switches the torque of all servos off by broadcast."""
        for _ in range(RELAX_REPEATS):
            self.exchange.send(ff_frames.write_request(ff_frames.BROADCAST, self._torque, b"\x00"))
        self._travel.forget(self.ids)

    def read(self, ids: Sequence[int], quantities: ServoQuantity) -> dict[int, ServoReading]:
        """Reads one block of registers of each servo, in one transaction if the servos support it."""
        if not ids:
            return {}
        address, length = self.dialect.block(quantities)
        answers = self._registers(ids, address, length)
        readings = {servo: self.dialect.reading(packet.code, packet.data) for servo, packet in answers.items()}
        for servo, reading in readings.items():
            if reading.position is not None:
                self._travel.note_position(servo, reading.position)
        return readings

    def timing(self, count: int, quantities: ServoQuantity = ServoQuantity.POSITION) -> BusTiming:
        """Wire time of goals and readings of `count` servos."""
        servos = range(count)
        goals = dict.fromkeys(servos, self.scale.center)
        _, length = self.dialect.block(quantities)
        read = count * (length + ff_frames.OVERHEAD)
        if self.dialect.sync_read:
            read += len(ff_frames.sync_read_request(0, length, servos))
        else:
            read += count * len(ff_frames.read_request(0, 0, length))
        return BusTiming(
            write=self.exchange.seconds(len(self.dialect.goals(goals, dict.fromkeys(servos, 0), 0.02)))
            if count
            else 0.0,
            read=self.exchange.seconds(read) + count * self.exchange.wait.return_delay,
            turnarounds=1 if self.dialect.sync_read else count,
        )

    def _write_id(self, old: int, new: int) -> None:
        if self._lock is not None:
            self._send_and_confirm(old, ff_frames.write_request(old, self._lock, b"\x00"))
        self._send_and_confirm(old, ff_frames.write_request(old, self.dialect.table[RegisterRole.ID], bytes((new,))))
        if self._lock is not None:
            self._send_and_confirm(new, ff_frames.write_request(new, self._lock, b"\x01"))

    def recover(self, servo: int) -> None:
        """Clears a latched overload; the torque of the servo is off afterwards."""
        for frame in self.dialect.recovery(servo):
            self._send_and_confirm(servo, frame)
        self._travel.forget([servo])

    def _send_and_confirm(self, servo: int, frame: bytes) -> None:
        """Sends a write to one servo and waits for its status, so that no other frame collides with it.

        It is sent again if the servo reports that it arrived damaged.
        """
        for _ in range(TRIES):
            answer = self._ask_blocking(servo, frame, 0)
            if answer is None or not answer.code & self.dialect.checksum_error:
                return

    def _registers(self, ids: Sequence[int], address: int, length: int) -> dict[int, ff_frames.FFPacket]:
        """The same registers of several servos, in one transaction if the servos support it.

        Otherwise reading stops at the first servo whose reply is late; it is `awaited`.
        """
        if self.dialect.sync_read:
            return self._ask(ff_frames.sync_read_request(address, length, ids), ids, length)
        answers: dict[int, ff_frames.FFPacket] = {}
        for servo in ids:
            answers.update(self._ask(ff_frames.read_request(servo, address, length), [servo], length))
            if self.exchange.awaited:
                break
        return answers

    def _ask(self, frame: bytes, ids: Sequence[int], length: int) -> dict[int, ff_frames.FFPacket]:
        decoder = ff_frames.FFDecoder(ids, length, echo=frame)
        return self.exchange.ask(frame, ids, length + ff_frames.OVERHEAD, decoder)

    def _ask_blocking(self, servo: int, frame: bytes, length: int) -> ff_frames.FFPacket | None:
        decoder = ff_frames.FFDecoder([servo], length, echo=frame)
        return self.exchange.ask_blocking(frame, [servo], length + ff_frames.OVERHEAD, decoder).get(servo)
