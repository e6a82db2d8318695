"""The bus of servos with Dynamixel protocol 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hexapod_control.servos.bus.bus_interface import RELAX_REPEATS, TRIES, BusTiming, ServoQuantity, ServoReading
from hexapod_control.servos.bus.id_addressing import SmartServoBus, decode_faults
from hexapod_control.servos.bus.model_numbers import robotis_model
from hexapod_control.servos.bus.registers import Register
from hexapod_control.servos.bus.serial_port import Port
from hexapod_control.servos.bus.transaction import ReplyTiming
from hexapod_control.servos.protocols import dynamixel2_frames as codec
from hexapod_control.servos.protocols.dynamixel2_frames import Dynamixel2Register

RegisterRows = dict[int, bytes]
"""Servo id -> error byte and registers."""

MOTION = ServoQuantity.POSITION | ServoQuantity.SPEED | ServoQuantity.LOAD
HEALTH = ServoQuantity.VOLTAGE | ServoQuantity.TEMPERATURE


class Dynamixel2Bus(SmartServoBus):
    """An open bus of X servos.

    Their profiles are not changed. If all are time-based, the duration of goals is sent whenever it changes; otherwise
    they move to each goal as fast as their profile allows, which suits frequent goals.
    """

    last_id = codec.LAST_ID
    protocol = "dynamixel2"
    features = replace(SmartServoBus.features, registers=codec.TABLE, jumps=True)
    scale = codec.SCALE
    can_read = ~ServoQuantity.NONE

    def __init__(
        self,
        port: Port,
        ids: Sequence[int],
        wait: ReplyTiming | None = None,
        read: str = "sync",
        force_model: bool = False,
    ) -> None:
        """Servos with these ids on a port; `read` is "sync" or "fast" (recent firmware).

        `force_model` accepts any model. Raises ValueError for invalid ids.
        """
        if read not in ("sync", "fast"):
            raise ValueError(f"read must be sync or fast, is {read}")
        super().__init__(port, ids, wait, force_model=force_model)
        self._fast = read == "fast"
        self._timed = False  # the profiles are time-based
        self._duration = -1  # [ms] last duration sent

    def identify(self) -> Mapping[int, str]:
        """As in Bus; also finds out whether the servos jump to their goals: all but those with time-based profiles."""
        found = super().identify()
        modes = self._sync(Dynamixel2Register.DRIVE_MODE, 1, list(found))
        time_based = [i for i in modes if modes[i][1] & codec.TIME_BASED]
        self._timed = bool(found) and set(found) <= set(time_based)
        self.features = replace(self.features, jumps=not self._timed)
        self._duration = -1
        return found

    def _ask_model(self, servo: int) -> str | None:
        row = self._ask_blocking(servo, codec.build(servo, codec.Dynamixel2Instruction.PING), 3)
        return None if row is None else self.models.note(servo, robotis_model(int.from_bytes(row[1:3], "little")))

    def registers(self, servo: int, address: int, length: int) -> bytes | None:
        """Registers of a servo, None if it does not answer."""
        row = self._ask_blocking(servo, codec.read_request(servo, address, length), length)
        return None if row is None else row[1:]

    def write_registers(self, servo: int, address: int, data: bytes) -> None:
        """Writes registers of a servo, also in its EEPROM; the torque should be off."""
        self._confirm(servo, codec.write_request(servo, address, data))

    def write_goals(self, goals: Mapping[int, int], duration: float) -> None:
        """Sends goals in one frame, preceded by the duration if the profiles are time-based and it has changed."""
        if not goals:
            return
        milliseconds = max(round(duration * 1000), 0)
        if self._timed and milliseconds != self._duration:
            profile = milliseconds.to_bytes(4, "little")
            self.exchange.send(codec.write_request(codec.BROADCAST, Dynamixel2Register.PROFILE_VELOCITY, profile))
            self._duration = milliseconds
        rows = {servo: codec.goal_row(self.scale.clamp_goal(raw)) for servo, raw in goals.items()}
        self.exchange.send(codec.sync_write_request(Dynamixel2Register.GOAL, rows))

    def torque(self, ids: Sequence[int], on: bool) -> None:
        """Switches torque in one frame."""
        if ids:
            self.exchange.send(
                codec.sync_write_request(Dynamixel2Register.TORQUE, {servo: bytes((on,)) for servo in ids})
            )

    def received_goals(self, ids: Sequence[int]) -> dict[int, int]:
        """Raw goals as the servos have received them; silent servos are missing from the result."""
        rows = self._sync(Dynamixel2Register.GOAL, 4, ids)
        return {servo: int.from_bytes(row[1:], "little", signed=True) for servo, row in rows.items()}

    def torques(self, ids: Sequence[int]) -> dict[int, bool]:
        """Whether the torque of these servos is on; silent servos are missing from the result."""
        return {servo: bool(row[1]) for servo, row in self._sync(Dynamixel2Register.TORQUE, 1, ids).items()}

    def relax(self) -> None:
        """Switches the torque of all servos off by broadcast."""
        for _ in range(RELAX_REPEATS):
            self.exchange.send(codec.write_request(codec.BROADCAST, Dynamixel2Register.TORQUE, b"\x00"))

    def read(self, ids: Sequence[int], quantities: ServoQuantity) -> dict[int, ServoReading]:
        """One transaction for motion, one for voltage and temperature, one for the faults of servos that report any."""
        alert: set[int] = set() if quantities & (MOTION | HEALTH) else set(ids)
        readings: dict[int, ServoReading] = {}
        if quantities & MOTION:
            address, length = _motion_block(quantities)
            for servo, row in self._sync(address, length, ids).items():
                readings[servo] = _motion(row[1:])
                alert |= {servo} if row[0] & codec.ALERT else set()
        if quantities & HEALTH:
            for servo, row in self._sync(
                Dynamixel2Register.VOLTAGE, 3, list(readings) if quantities & MOTION else ids
            ).items():
                volts = int.from_bytes(row[1:3], "little") * codec.VOLT
                readings[servo] = replace(readings.get(servo, ServoReading()), voltage=volts, temperature=row[3])
                alert |= {servo} if row[0] & codec.ALERT else set()
        if quantities & ServoQuantity.FAULT:
            for servo, row in self._sync(Dynamixel2Register.HARDWARE_ERROR, 1, sorted(alert)).items():
                readings[servo] = replace(
                    readings.get(servo, ServoReading()), fault=decode_faults(row[1], codec.FAULT_BITS)
                )
        return readings

    def timing(self, count: int, quantities: ServoQuantity = ServoQuantity.POSITION) -> BusTiming:
        """Wire time of goals and readings of `count` servos."""
        blocks = [_motion_block(quantities)[1]] if quantities & MOTION else []
        blocks += [3] if quantities & HEALTH else []
        replies = [codec.fast_size(n, count) if self._fast else count * (codec.OVERHEAD + n) for n in blocks]
        return BusTiming(
            write=self.exchange.seconds(14 + 5 * count),
            read=self.exchange.seconds(sum(replies) + (14 + count) * len(blocks))
            + count * len(blocks) * self.exchange.wait.return_delay,
            turnarounds=len(blocks),
        )

    def _write_id(self, old: int, new: int) -> None:
        self.write_registers(old, Dynamixel2Register.TORQUE, b"\x00")  # the EEPROM is locked under torque
        self.write_registers(old, Dynamixel2Register.ID, bytes((new,)))

    def recover(self, servo: int) -> None:
        """Reboots a servo, which clears a latched fault; its torque is off and its profile reset afterwards."""
        self._confirm(servo, codec.build(servo, codec.Dynamixel2Instruction.REBOOT))
        self._duration = -1

    def _sync(self, address: int, length: int, ids: Sequence[int]) -> RegisterRows:
        if not ids:
            return {}
        if self._fast:
            rows = self._fast_sync(address, length, ids)
            if len(rows) == len(ids) or self.exchange.awaited:
                return rows
            self._fast = False  # a missing servo breaks the common status: individual replies from now on
        return self._ask(codec.sync_read_request(address, length, ids), ids, length)

    def _fast_sync(self, address: int, length: int, ids: Sequence[int]) -> RegisterRows:
        size = codec.fast_size(length, len(ids))
        decoder = codec.Dynamixel2Decoder([codec.BROADCAST], size - 10)
        packet = self.exchange.ask_once(codec.fast_sync_read_request(address, length, ids), size, decoder)
        rows = codec.fast_rows(packet.data, length) if packet else {}
        if self.exchange.awaited:
            self.exchange.awaited = frozenset(ids)
        return {servo: row for servo, row in rows.items() if servo in ids}

    def _ask(self, frame: bytes, ids: Sequence[int], length: int) -> RegisterRows:
        decoder = codec.Dynamixel2Decoder(ids, length + 1)
        answers = self.exchange.ask(frame, ids, length + codec.OVERHEAD, decoder)
        return {servo: packet.data for servo, packet in answers.items()}

    def _confirm(self, servo: int, frame: bytes) -> None:
        """Sends a request to one servo and waits for its status; again if the servo reports that it arrived damaged."""
        for _ in range(TRIES):
            row = self._ask_blocking(servo, frame, 0)
            if row is None or row[0] & ~codec.ALERT != codec.CRC_ERROR:
                return

    def _ask_blocking(self, servo: int, frame: bytes, length: int) -> bytes | None:
        decoder = codec.Dynamixel2Decoder([servo], length + 1)
        packet = self.exchange.ask_blocking(frame, [servo], length + codec.OVERHEAD, decoder).get(servo)
        return None if packet is None else packet.data


def _motion_block(quantities: ServoQuantity) -> tuple[int, int]:
    """Address and length of a block with the requested ones of position, velocity and load."""
    start = Dynamixel2Register.POSITION
    if quantities & ServoQuantity.LOAD:
        start = Dynamixel2Register.LOAD
    elif quantities & ServoQuantity.SPEED:
        start = Dynamixel2Register.VELOCITY
    return start, Dynamixel2Register.POSITION + 4 - start


def _motion(data: bytes) -> ServoReading:
    """Decodes registers that end with the position."""

    def number(register: Register, size: int) -> int | None:
        at = len(data) - 4 - (Dynamixel2Register.POSITION - register)
        return int.from_bytes(data[at : at + size], "little", signed=True) if at >= 0 else None

    load = number(Dynamixel2Register.LOAD, 2)
    velocity = number(Dynamixel2Register.VELOCITY, 4)
    return ServoReading(
        position=number(Dynamixel2Register.POSITION, 4),
        speed=None if velocity is None else velocity * codec.STEPS_PER_SECOND,
        load=None if load is None else load / codec.FULL_LOAD,
    )


def open_bus(
    port: Port, ids: Sequence[int], wait: ReplyTiming | None = None, read: str = "sync", force_model: bool = False
) -> Dynamixel2Bus:
    """A bus of X servos."""
    return Dynamixel2Bus(port, ids, wait, read, force_model)
