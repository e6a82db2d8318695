"""AX-12A. Source: Robotis e-manual, AX-12A control table."""

from __future__ import annotations

from hexapod_control.servos.emulator.control_tables.control_table import ControlRegister, ControlTable, status

AX_TABLE = ControlTable(
    (
        status(0, 2, 12),  # model
        status(2, 1, 24),  # firmware
        ControlRegister(3, 1, 1, 0, 253),  # id
        ControlRegister(4, 1, 1, 0, 254),  # baud
        ControlRegister(5, 1, 250, 0, 254),  # return delay
        ControlRegister(6, 2, 0, 0, 1023),  # clockwise limit
        ControlRegister(8, 2, 1023, 0, 1023),  # counter-clockwise limit
        ControlRegister(11, 1, 70, 0, 99),  # maximum temperature
        ControlRegister(12, 1, 60, 50, 160),  # minimum voltage
        ControlRegister(13, 1, 140, 50, 160),  # maximum voltage
        ControlRegister(14, 2, 1023, 0, 1023),  # maximum torque
        ControlRegister(16, 1, 2, 0, 2),  # status return level
        ControlRegister(17, 1, 36, 0, 127),  # faults that light the LED
        ControlRegister(18, 1, 36, 0, 127),  # faults that switch off
        ControlRegister(24, 1, 0, 0, 1),  # torque
        ControlRegister(25, 1, 0, 0, 1),  # LED
        ControlRegister(26, 1, 1, 0, 255),  # compliance margins and slopes
        ControlRegister(27, 1, 1, 0, 255),
        ControlRegister(28, 1, 32, 0, 255),
        ControlRegister(29, 1, 32, 0, 255),
        ControlRegister(30, 2, 512, 0, 1023),  # goal
        ControlRegister(32, 2, 0, 0, 2047),  # speed; bit 10 is the direction in wheel mode
        ControlRegister(34, 2, 1023, 0, 1023, copies=14),  # torque limit
        status(36, 2),  # position
        status(38, 2),  # speed
        status(40, 2),  # load
        status(42),  # voltage
        status(43),  # temperature
        status(44),  # a REG_WRITE waits
        status(46),  # moving
        ControlRegister(47, 1, 0, 0, 1),  # lock of the EEPROM
        ControlRegister(48, 2, 32, 32, 1023),  # punch
    ),
    size=50,
    eeprom=24,
    byteorder="little",
)
