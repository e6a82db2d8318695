"""XL430-W250. Source: Robotis e-manual, XL430-W250 control table. MX servos with protocol 2 have the same addresses."""

from __future__ import annotations

from collections.abc import Iterator

from hexapod_control.servos.emulator.control_tables.control_table import ControlRegister, ControlTable, status

FIRMWARE = 46
LARGE = 2**31 - 1
INDIRECT = ((168, 224, 28), (578, 634, 28))  # addresses of the first indirect address and of its data byte, and count
LAST = 661  # address

X_TABLE = ControlTable(
    (
        status(0, 2, 1060),  # model
        status(2, 4),  # model information
        status(6, 1, FIRMWARE),
        ControlRegister(7, 1, 1, 0, 252),  # id
        ControlRegister(8, 1, 1, 0, 7),  # baud
        ControlRegister(9, 1, 250, 0, 254),  # return delay
        ControlRegister(10, 1, 0, 0, 13),  # drive mode
        ControlRegister(11, 1, 3, 0, 16, values=(1, 3, 4, 16)),  # operating mode
        ControlRegister(12, 1, 255, 0, 255),  # second id
        ControlRegister(13, 1, 2, 1, 2),  # protocol
        ControlRegister(20, 4, 0, -1_044_479, 1_044_479, signed=True),  # homing offset
        ControlRegister(24, 4, 10, 0, 1023),  # moving threshold
        ControlRegister(31, 1, 72, 0, 100),  # maximum temperature
        ControlRegister(32, 2, 140, 60, 140),  # maximum voltage
        ControlRegister(34, 2, 60, 60, 140),  # minimum voltage
        ControlRegister(36, 2, 885, 0, 885),  # PWM limit
        ControlRegister(44, 4, 265, 0, 1023),  # velocity limit
        ControlRegister(48, 4, 4095, 0, 4095),  # maximum position
        ControlRegister(52, 4, 0, 0, 4095),  # minimum position
        ControlRegister(60, 1, 0, 0, 3),  # what happens at power-on
        ControlRegister(63, 1, 52, 0, 63),  # faults that switch off
        ControlRegister(64, 1, 0, 0, 1),  # torque
        ControlRegister(65, 1, 0, 0, 1),  # LED
        ControlRegister(68, 1, 2, 0, 2),  # status return level
        status(69),  # a REG_WRITE waits
        status(70),  # hardware error
        ControlRegister(76, 2, 1000, 0, 16383),  # gains: velocity I and P, position D, I and P, feed-forward
        ControlRegister(78, 2, 100, 0, 16383),
        ControlRegister(80, 2, 4000, 0, 16383),
        ControlRegister(82, 2, 0, 0, 16383),
        ControlRegister(84, 2, 640, 0, 16383),
        ControlRegister(88, 2, 0, 0, 16383),
        ControlRegister(90, 2, 0, 0, 16383),
        ControlRegister(98, 1, 0, 0, 127, signed=True),  # bus watchdog
        ControlRegister(100, 2, 885, signed=True, copies=36),  # goal PWM
        ControlRegister(104, 4, 0, signed=True),  # goal velocity
        ControlRegister(108, 4, 0, 0, 32767),  # profile acceleration
        ControlRegister(112, 4, 0, 0, 32767),  # profile velocity
        ControlRegister(116, 4, 2048, -LARGE, LARGE, signed=True),  # goal
        status(120, 2),  # clock
        status(122),  # moving
        status(123),  # how it moves
        status(124, 2),  # PWM
        status(126, 2),  # load
        status(128, 4),  # velocity
        status(132, 4),  # position
        status(136, 4),  # velocity and position of the trajectory
        status(140, 4),
        status(144, 2),  # voltage
        status(146),  # temperature
        status(147),  # a backup exists
        *(ControlRegister(at + 2 * i, 2, data + i, 64, LAST) for at, data, count in INDIRECT for i in range(count)),
        *(ControlRegister(data + i) for _, data, count in INDIRECT for i in range(count)),
    ),
    size=LAST + 1,
    eeprom=64,
    byteorder="little",
)


def direct_addresses(memory: bytes | bytearray, address: int, length: int) -> list[int]:
    """The address of each of `length` bytes from an address on; of an indirect one, the address behind it."""
    addresses = list(range(address, address + length))
    for at, data, count in INDIRECT:
        for indirect in range(max(address, data), min(address + length, data + count)):
            addresses[indirect - address] = X_TABLE.number(memory, at + 2 * (indirect - data), 2)
    return addresses


def direct_writes(memory: bytes | bytearray, address: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """The writes to neighbouring registers, as address and bytes, that a write with indirect addresses makes."""
    addresses, begin = direct_addresses(memory, address, len(data)), 0
    for end in range(1, len(data) + 1):
        if end == len(data) or addresses[end] != addresses[end - 1] + 1:
            yield addresses[begin], data[begin:end]
            begin = end
