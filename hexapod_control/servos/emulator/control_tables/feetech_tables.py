"""STS3215 and SCS0009. Sources: Feetech's SDK and memory tables. Feetech servos ignore invalid writes."""

from __future__ import annotations

from hexapod_control.servos.emulator.control_tables.control_table import ControlRegister, ControlTable, status

_BOTH = (
    status(0, 1, 3),  # firmware
    status(1, 1, 10),
    ControlRegister(5, 1, 1, 0, 253),  # id
    ControlRegister(6, 1, 0, 0, 7),  # baud
    ControlRegister(8, 1, 1, 0, 1),  # response level
    ControlRegister(13, 1, 70, 0, 100),  # maximum temperature
    ControlRegister(14, 1, 140, 0, 254),  # maximum voltage
    ControlRegister(15, 1, 40, 0, 254),  # minimum voltage
    ControlRegister(16, 2, 1000, 0, 1000),  # maximum torque
    ControlRegister(19, 1, 44),  # faults that switch off
    ControlRegister(20, 1, 47),  # faults that light the LED
    ControlRegister(21, 1, 32),  # gains: P, D, I
    ControlRegister(22, 1, 32),
    ControlRegister(23),
    ControlRegister(24, 2, 16, 0, 1000),  # minimum force
    ControlRegister(26, 1, 1),  # dead zones
    ControlRegister(27, 1, 1),
    ControlRegister(44, 2),  # time
    ControlRegister(46, 2),  # speed
    status(56, 2),  # position
    status(58, 2),  # speed
    status(60, 2),  # load
    status(62),  # voltage
    status(63),  # temperature
    status(64),  # a REG_WRITE waits
    status(65),  # faults
    status(66),  # moving
    status(69, 2),  # current
)

ST_TABLE = ControlTable(
    (
        *_BOTH,
        status(3, 2, 777),  # model
        ControlRegister(7, 1, 250, 0, 254),  # return delay
        ControlRegister(9, 2, 0, 0, 4095),  # minimum position
        ControlRegister(11, 2, 4095, 0, 4095),  # maximum position
        ControlRegister(18, 1, 12),  # phase
        ControlRegister(28, 2, 500, 0, 511),  # protection current
        ControlRegister(30, 1, 1, 1, 100),  # resolution
        ControlRegister(31, 2, 0, 0, 4095),  # offset, sign bit 11
        ControlRegister(33, 1, 0, 0, 3),  # mode
        ControlRegister(34, 1, 20, 0, 100),  # protection: torque, time, overload torque
        ControlRegister(35, 1, 200, 0, 254),
        ControlRegister(36, 1, 80, 0, 100),
        ControlRegister(37, 1, 10),
        ControlRegister(38, 1, 200),
        ControlRegister(39, 1, 10),
        ControlRegister(40, 1, 0, 0, 128),  # torque; 128: the present position becomes the middle
        ControlRegister(41, 1, 0, 0, 254),  # acceleration
        ControlRegister(42, 2, 0),  # goal
        ControlRegister(48, 2, 1000, 0, 1000, copies=16),  # torque limit
        ControlRegister(55, 1, 1, 0, 1),  # lock of the EEPROM
    ),
    size=128,
    eeprom=40,
    byteorder="little",
)

SC_TABLE = ControlTable(
    (
        *_BOTH,
        status(3, 2, 0x0504),  # model
        ControlRegister(7, 1, 0, 0, 254),  # return delay
        ControlRegister(18),  # phase
        ControlRegister(9, 2, 0, 0, 1023),  # minimum position
        ControlRegister(11, 2, 1023, 0, 1023),  # maximum position
        ControlRegister(40, 1, 0, 0, 1),  # torque
        ControlRegister(42, 2, 0, 0, 1023),  # goal
        ControlRegister(48, 1, 1, 0, 1),  # lock of the EEPROM
    ),
    size=128,
    eeprom=40,
    byteorder="big",
)
