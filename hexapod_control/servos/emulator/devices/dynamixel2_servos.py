"""The registers of emulated Dynamixel X servos and their effects: modes, limits, offset, torque."""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_control.servos.emulator.control_tables.x_table import X_TABLE
from hexapod_control.servos.emulator.devices.servo_memory import ServoMemories, error_bits, moving, spin
from hexapod_control.servos.emulator.servo_world import ServoWorld
from hexapod_control.servos.protocols import dynamixel2_frames as codec
from hexapod_control.servos.protocols.dynamixel2_frames import Dynamixel2Mode, Dynamixel2Register

SIZE = X_TABLE.size
OK, RESULT_FAIL, BAD_INSTRUCTION, BAD_RANGE, BAD_LENGTH, BAD_LIMIT, NO_ACCESS = 0, 1, 2, 4, 5, 6, 7  # errors
TURN = 4096  # [steps] per revolution
FULL_PWM = 885
PWM_SPEED = 4300  # [steps/s] at full PWM
KEEP_NOTHING, KEEP_ID, KEEP_ID_AND_BAUD = 0xFF, 0x01, 0x02  # of a factory reset
KEPT = {
    KEEP_NOTHING: range(0),
    KEEP_ID: range(Dynamixel2Register.ID, Dynamixel2Register.ID + 1),
    KEEP_ID_AND_BAUD: range(Dynamixel2Register.ID, Dynamixel2Register.BAUD + 1),
}


class XServos:
    """All servos of a bus."""

    def __init__(self, world: ServoWorld, ids: Sequence[int]) -> None:
        """Servo `ids[i]` is number i of the world."""
        self.world = world
        self.all = ServoMemories(world, ids, X_TABLE, Dynamixel2Register.ID)
        self._cleared = [0] * len(ids)  # [steps] by which `clear_turns` has changed positions

    @property
    def memories(self) -> list[bytearray]:
        """Registers, by index."""
        return self.all.memories

    def _number(self, index: int, address: int, size: int = 4) -> int:
        return X_TABLE.number(self.memories[index], address, size, signed=True)

    def _position(self, index: int) -> int:
        offset = self._number(index, Dynamixel2Register.HOMING_OFFSET)
        return round(self.world.position(index)) + offset + self._cleared[index]

    # --- writes -------------------------------------------------------------------------------------

    def refusal(self, index: int, address: int, data: bytes) -> int:
        """The error code for a write; OK if the servo accepts it."""
        memory = self.memories[index]
        if address + len(data) > SIZE:
            return BAD_RANGE
        span = X_TABLE.span(address, len(data))
        if span.read_only or (span.stored and memory[Dynamixel2Register.TORQUE]):
            return NO_ACCESS
        if span.cut:
            return BAD_LENGTH
        if X_TABLE.beyond_limits(span, address, data):
            return BAD_RANGE
        if address <= Dynamixel2Register.GOAL < address + len(data):
            goal = X_TABLE.number(data, Dynamixel2Register.GOAL - address, 4, signed=True)
            return self._goal_refusal(index, goal)
        return OK

    def _goal_refusal(self, index: int, goal: int) -> int:
        if self.memories[index][Dynamixel2Register.OPERATING_MODE] != Dynamixel2Mode.POSITION:
            return OK
        low, high = (self._number(index, a) for a in (Dynamixel2Register.LOW_LIMIT, Dynamixel2Register.HIGH_LIMIT))
        return OK if low <= goal <= high else BAD_LIMIT

    def write(self, index: int, address: int, data: bytes) -> int:
        """Writes registers and executes them; returns the error code."""
        error = self.refusal(index, address, data)
        if error != OK:
            return error
        self.all.write(index, address, data, persists=True)
        written = range(address, address + len(data))
        if Dynamixel2Register.TORQUE in written:
            self._switch(index)
        self._drive(index, written)
        return OK

    def _switch(self, index: int) -> None:
        """Torque on makes the present position the goal."""
        world, memory = self.world, self.memories[index]
        on = bool(memory[Dynamixel2Register.TORQUE])
        if on and not world.has_torque(index):
            X_TABLE.put(memory, Dynamixel2Register.GOAL, 4, self._position(index))
            world.goal(index, world.position(index), 0.0)
        world.torque(index, on)
        memory[Dynamixel2Register.TORQUE] = world.has_torque(index)

    def _drive(self, index: int, written: range) -> None:
        mode = self.memories[index][Dynamixel2Register.OPERATING_MODE]
        if mode == Dynamixel2Mode.VELOCITY:
            if Dynamixel2Register.GOAL_VELOCITY in written:
                units = self._number(index, Dynamixel2Register.GOAL_VELOCITY)
                spin(self.world, index, units * codec.STEPS_PER_SECOND)
        elif mode == Dynamixel2Mode.PWM:
            if Dynamixel2Register.GOAL_PWM in written:
                spin(self.world, index, PWM_SPEED * self._number(index, Dynamixel2Register.GOAL_PWM, 2) / FULL_PWM)
        elif Dynamixel2Register.GOAL in written:
            goal = self._number(index, Dynamixel2Register.GOAL)
            raw = goal - self._number(index, Dynamixel2Register.HOMING_OFFSET) - self._cleared[index]
            self.world.goal(index, raw, self._duration(index, raw))

    def _duration(self, index: int, raw: int) -> float:
        """Duration [s] of a move with the servo's profile; 0 is at maximum speed."""
        velocity = self._number(index, Dynamixel2Register.PROFILE_VELOCITY)
        if not velocity or self.memories[index][Dynamixel2Register.DRIVE_MODE] & codec.TIME_BASED:
            return velocity / 1000.0
        return abs(raw - self.world.position(index)) / (velocity * codec.STEPS_PER_SECOND)

    # --- other instructions -------------------------------------------------------------------------

    def reboot(self, index: int) -> int:
        """Clears faults and resets the registers outside the EEPROM. Returns the error code."""
        self.world.reboot(index)
        self.all.restart(index)
        self._cleared[index] = 0
        return OK

    def factory_reset(self, index: int, kept: int) -> int:
        """Resets all registers except those of a KEEP_* value. Returns the error code."""
        if kept not in KEPT:
            return BAD_RANGE
        self.world.torque(index, False)
        self.all.reset(index, KEPT[kept])
        return OK

    def clear_turns(self, index: int) -> int:
        """Reduces the position to one turn, in extended position mode without torque. Returns the error code."""
        mode = self.memories[index][Dynamixel2Register.OPERATING_MODE]
        if mode != Dynamixel2Mode.EXTENDED_POSITION or self.world.has_torque(index):
            return RESULT_FAIL
        position = self._position(index)
        self._cleared[index] += position % TURN - position
        return OK

    # --- reads --------------------------------------------------------------------------------------

    def registers(self, index: int, address: int, length: int) -> bytes:
        """Registers, updated from the world."""
        world, memory = self.world, self.memories[index]
        memory[Dynamixel2Register.TORQUE] = world.has_torque(index)
        memory[Dynamixel2Register.HARDWARE_ERROR] = error_bits(world.fault(index), codec.FAULT_BITS)
        memory[Dynamixel2Register.MOVING] = moving(world, index)
        values = (
            (Dynamixel2Register.LOAD, 2, world.load(index) * codec.FULL_LOAD),
            (Dynamixel2Register.VELOCITY, 4, world.speed(index) / codec.STEPS_PER_SECOND),
            (Dynamixel2Register.POSITION, 4, self._position(index)),
            (Dynamixel2Register.VOLTAGE, 2, world.voltage(index) / codec.VOLT),
            (Dynamixel2Register.TEMPERATURE, 1, world.temperature(index)),
        )
        for register, size, value in values:
            X_TABLE.put(memory, register, size, round(value))
        return bytes(memory[address : address + length])
