"""Registers, commands and codes of every protocol are those of the makers' manuals."""

from functools import reduce
from operator import or_

import pytest

from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.bus.ff_frames import FFInstruction
from hexapod_control.servos.bus.id_addressing import decode_faults
from hexapod_control.servos.emulator.control_tables.ax_table import AX_TABLE
from hexapod_control.servos.emulator.control_tables.feetech_tables import SC_TABLE, ST_TABLE
from hexapod_control.servos.emulator.control_tables.lx16a_table import LX_SETTINGS
from hexapod_control.servos.emulator.control_tables.x_table import X_TABLE
from hexapod_control.servos.preflight.check_tables import CHECKS
from hexapod_control.servos.protocols import dynamixel1, dynamixel2_frames, feetech_st
from hexapod_control.servos.protocols.dynamixel1 import Dynamixel1Register
from hexapod_control.servos.protocols.dynamixel2_frames import Dynamixel2Instruction, Dynamixel2Mode, Dynamixel2Register
from hexapod_control.servos.protocols.feetech_sc import FeetechScRegister
from hexapod_control.servos.protocols.feetech_st import FeetechMode, FeetechStRegister
from hexapod_control.servos.protocols.lx16a import Lx16aCommand
from hexapod_control.servos.protocols.maestro import MaestroError

MANUALS = {
    Dynamixel1Register: """
        MODEL=0 ID=3 BAUD=4 RETURN_DELAY=5 CW_LIMIT=6 CCW_LIMIT=8 MAX_TEMPERATURE=11 MIN_VOLTAGE=12
        MAX_VOLTAGE=13 MAX_TORQUE=14 STATUS_LEVEL=16 SHUTDOWN=18 TORQUE=24 GOAL=30 SPEED=32 TORQUE_LIMIT=34
        POSITION=36 PRESENT_SPEED=38 LOAD=40 VOLTAGE=42 TEMPERATURE=43 REGISTERED=44 MOVING=46 LOCK=47
    """,
    Dynamixel2Instruction: """
        PING=1 READ=2 WRITE=3 REG_WRITE=4 ACTION=5 FACTORY_RESET=6 REBOOT=8 CLEAR=16 BACKUP=32 STATUS=85 SYNC_READ=130
        SYNC_WRITE=131 FAST_SYNC_READ=138 BULK_READ=146 BULK_WRITE=147 FAST_BULK_READ=154
    """,
    Dynamixel2Mode: """
        CURRENT=0 VELOCITY=1 POSITION=3 EXTENDED_POSITION=4 CURRENT_POSITION=5 PWM=16
    """,
    Dynamixel2Register: """
        MODEL=0 ID=7 BAUD=8 RETURN_DELAY=9 DRIVE_MODE=10 OPERATING_MODE=11 SECOND_ID=12 HOMING_OFFSET=20
        MAX_TEMPERATURE=31 MAX_VOLTAGE=32 MIN_VOLTAGE=34 PWM_LIMIT=36 VELOCITY_LIMIT=44 HIGH_LIMIT=48 LOW_LIMIT=52
        SHUTDOWN=63 TORQUE=64 STATUS_LEVEL=68 REGISTERED=69 HARDWARE_ERROR=70 BUS_WATCHDOG=98 GOAL_PWM=100
        GOAL_VELOCITY=104 PROFILE_ACCELERATION=108 PROFILE_VELOCITY=112 GOAL=116 TICK=120 MOVING=122 PWM=124 LOAD=126
        VELOCITY=128 POSITION=132 TRAJECTORY_VELOCITY=136 TRAJECTORY_POSITION=140 VOLTAGE=144 TEMPERATURE=146
        BACKUP_READY=147
    """,
    FFInstruction: """
        PING=1 READ=2 WRITE=3 REG_WRITE=4 ACTION=5 SYNC_READ=130 SYNC_WRITE=131
    """,
    FeetechMode: """
        POSITION=0 WHEEL=1 PWM=2 STEP=3
    """,
    FeetechScRegister: """
        MODEL=3 ID=5 BAUD=6 RETURN_DELAY=7 RESPONSE_LEVEL=8 LOW_LIMIT=9 HIGH_LIMIT=11 MAX_TORQUE=16 TORQUE=40 GOAL=42
        TIME=44 SPEED=46 LOCK=48 POSITION=56 PRESENT_SPEED=58 LOAD=60 VOLTAGE=62 TEMPERATURE=63
    """,
    FeetechStRegister: """
        MODEL=3 ID=5 BAUD=6 RETURN_DELAY=7 RESPONSE_LEVEL=8 LOW_LIMIT=9 HIGH_LIMIT=11 MAX_TEMPERATURE=13
        MAX_VOLTAGE=14 MIN_VOLTAGE=15 MAX_TORQUE=16 OFFSET=31 MODE=33 PROTECTIVE_TORQUE=34 PROTECTION_TIME=35
        OVERLOAD_TORQUE=36 TORQUE=40 ACCELERATION=41 GOAL=42 TIME=44 SPEED=46 TORQUE_LIMIT=48 LOCK=55
        POSITION=56 PRESENT_SPEED=58 LOAD=60 VOLTAGE=62 TEMPERATURE=63 REGISTERED=64 STATUS=65 MOVING=66 CURRENT=69
    """,
    Lx16aCommand: """
        MOVE=1 MOVE_READ=2 MOVE_WAIT=7 MOVE_WAIT_READ=8 START=11 STOP=12 ID_WRITE=13 ID_READ=14 OFFSET=17
        OFFSET_SAVE=18 OFFSET_READ=19 LIMITS_WRITE=20 LIMITS_READ=21 VOLTAGE_LIMITS_WRITE=22
        VOLTAGE_LIMITS_READ=23 TEMPERATURE_LIMIT_WRITE=24 TEMPERATURE_LIMIT_READ=25 TEMPERATURE=26 VOLTAGE=27
        POSITION=28 MODE_WRITE=29 MODE_READ=30 TORQUE_WRITE=31 TORQUE_READ=32 LED=33 LED_READ=34
        FAULT_MASK_WRITE=35 FAULT_MASK_READ=36
    """,
    MaestroError: """
        SIGNAL=1 OVERRUN=2 BUFFER_FULL=4 CRC=8 PROTOCOL=16 TIMEOUT=32
    """,
}


@pytest.mark.parametrize("table", MANUALS, ids=lambda table: table.__name__)
def test_every_code_matches_the_manual(table):
    assert " ".join(f"{code.name}={code.value}" for code in table) == " ".join(MANUALS[table].split())


# Of the emulated servos: address:bytes=default[least,maximum], r: can only be read. Then: bytes, those of the EEPROM.
CONTROL_TABLES = [
    (
        AX_TABLE,
        50,
        24,
        "little",
        """
        0:2r=12 2:1r=24 3:1=1[0,253] 4:1=1[0,254] 5:1=250[0,254] 6:2=0[0,1023] 8:2=1023[0,1023] 11:1=70[0,99]
        12:1=60[50,160] 13:1=140[50,160] 14:2=1023[0,1023] 16:1=2[0,2] 17:1=36[0,127] 18:1=36[0,127]
        24:1=0[0,1] 25:1=0[0,1] 26:1=1[0,255] 27:1=1[0,255] 28:1=32[0,255] 29:1=32[0,255] 30:2=512[0,1023]
        32:2=0[0,2047] 34:2=1023[0,1023] 36:2r=0 38:2r=0 40:2r=0 42:1r=0 43:1r=0 44:1r=0 46:1r=0 47:1=0[0,1]
        48:2=32[32,1023]
    """,
    ),
    (
        X_TABLE,
        662,
        64,
        "little",
        """
        0:2r=1060 2:4r=0 6:1r=46 7:1=1[0,252] 8:1=1[0,7] 9:1=250[0,254] 10:1=0[0,13] 11:1=3[0,16] 12:1=255[0,255]
        13:1=2[1,2] 20:4=0[-1044479,1044479] 24:4=10[0,1023] 31:1=72[0,100] 32:2=140[60,140] 34:2=60[60,140]
        36:2=885[0,885] 44:4=265[0,1023] 48:4=4095[0,4095] 52:4=0[0,4095] 60:1=0[0,3] 63:1=52[0,63] 64:1=0[0,1]
        65:1=0[0,1] 68:1=2[0,2] 69:1r=0 70:1r=0 76:2=1000[0,16383] 78:2=100[0,16383] 80:2=4000[0,16383]
        82:2=0[0,16383] 84:2=640[0,16383] 88:2=0[0,16383] 90:2=0[0,16383] 98:1=0[0,127] 100:2=885
        104:4=0 108:4=0[0,32767] 112:4=0[0,32767] 116:4=2048[-2147483647,2147483647] 120:2r=0
        122:1r=0 123:1r=0 124:2r=0 126:2r=0 128:4r=0 132:4r=0 136:4r=0 140:4r=0 144:2r=0 146:1r=0 147:1r=0
    """
        + " ".join(f"{168 + 2 * i}:2={224 + i}[64,661]" for i in range(28))
        + " "
        + " ".join(f"{224 + i}:1=0" for i in range(28))
        + " "
        + " ".join(f"{578 + 2 * i}:2={634 + i}[64,661]" for i in range(28))
        + " "
        + " ".join(f"{634 + i}:1=0" for i in range(28)),
    ),
    (
        ST_TABLE,
        128,
        40,
        "little",
        """
        0:1r=3 1:1r=10 3:2r=777 5:1=1[0,253] 6:1=0[0,7] 7:1=250[0,254] 8:1=1[0,1] 9:2=0[0,4095] 11:2=4095[0,4095]
        13:1=70[0,100] 14:1=140[0,254] 15:1=40[0,254] 16:2=1000[0,1000] 18:1=12 19:1=44 20:1=47 21:1=32 22:1=32
        23:1=0 24:2=16[0,1000] 26:1=1 27:1=1 28:2=500[0,511] 30:1=1[1,100] 31:2=0[0,4095] 33:1=0[0,3]
        34:1=20[0,100] 35:1=200[0,254] 36:1=80[0,100] 37:1=10 38:1=200 39:1=10 40:1=0[0,128] 41:1=0[0,254]
        42:2=0 44:2=0 46:2=0 48:2=1000[0,1000] 55:1=1[0,1] 56:2r=0 58:2r=0 60:2r=0 62:1r=0 63:1r=0 64:1r=0
        65:1r=0 66:1r=0 69:2r=0
    """,
    ),
    (
        SC_TABLE,
        128,
        40,
        "big",
        """
        0:1r=3 1:1r=10 3:2r=1284 5:1=1[0,253] 6:1=0[0,7] 7:1=0[0,254] 8:1=1[0,1] 9:2=0[0,1023]
        11:2=1023[0,1023] 13:1=70[0,100] 14:1=140[0,254] 15:1=40[0,254] 16:2=1000[0,1000] 18:1=0 19:1=44
        20:1=47 21:1=32 22:1=32 23:1=0 24:2=16[0,1000] 26:1=1 27:1=1 40:1=0[0,1] 42:2=0[0,1023] 44:2=0 46:2=0
        48:1=1[0,1] 56:2r=0 58:2r=0 60:2r=0 62:1r=0 63:1r=0 64:1r=0 65:1r=0 66:1r=0 69:2r=0
    """,
    ),
]


def shown(register):
    bounds = "" if register.high is None else f"[{register.low},{register.high}]"
    return f"{register.address}:{register.size}{'' if register.writable else 'r'}={register.default}{bounds}"


@pytest.mark.parametrize(("table", "size", "eeprom", "order", "manual"), CONTROL_TABLES, ids=["AX", "X", "ST", "SC"])
def test_every_register_of_an_emulated_servo_matches_the_manual(table, size, eeprom, order, manual):
    assert (table.size, table.eeprom, table.byteorder) == (size, eeprom, order)
    assert " ".join(map(shown, sorted(table.registers))) == " ".join(manual.split())
    goals = {100, 104} if table is X_TABLE else set()  # between two limits of either sign
    for register in table.registers:
        assert register.signed == (register.low < 0 or register.address in goals or register.address == 98)
    copied = {(AX_TABLE, 34): 14, (ST_TABLE, 48): 16, (X_TABLE, 100): 36}
    assert all(register.copies == copied.get((table, register.address)) for register in table.registers)
    assert [r.values for r in table.registers if r.values] == ([(1, 3, 4, 16)] if table is X_TABLE else [])


# Registers of a protocol that its driver and its checks use, and the control table of the servos with that protocol.
USED = {
    "dynamixel1": (Dynamixel1Register, AX_TABLE),
    "dynamixel2": (Dynamixel2Register, X_TABLE),
    "feetech_st": (FeetechStRegister, ST_TABLE),
    "feetech_sc": (FeetechScRegister, SC_TABLE),
}


@pytest.mark.parametrize("protocol", USED)
def test_every_register_that_is_used_or_checked_is_one_of_the_control_table(protocol):
    registers, table = USED[protocol]
    sizes = {each.address: each.size for each in table.registers}
    assert {int(register) for register in registers} <= sizes.keys()
    for check in CHECKS[protocol]:
        register = check.register
        assert register.size == sizes[register.address], register.name
        assert register.size == 1 or register.byteorder == table.byteorder, register.name


# Command to write : command to read : parameters of a new servo : bytes of each number [least,maximum].
LX_MANUAL = """
    17:19:00:1[-125,125] 20:21:0000e803:2[0,1000][0,1000] 22:23:9411e02e:2[4500,14000][4500,14000]
    24:25:55:1[50,100] 29:30:00000000:2[0,1][-1000,1000] 33:34:00:1[0,1] 35:36:07:1[0,7]
"""


def test_every_setting_of_an_emulated_lx_servo_matches_the_manual():
    rows = [
        f"{write:d}:{s.read:d}:{s.default.hex()}:{s.size}" + "".join(f"[{low},{high}]" for low, high in s.bounds)
        for write, s in LX_SETTINGS.items()
    ]
    assert " ".join(rows) == " ".join(LX_MANUAL.split())
    assert [write for write, s in LX_SETTINGS.items() if s.signed] == [Lx16aCommand.OFFSET, Lx16aCommand.MODE_WRITE]
    assert [write for write, s in LX_SETTINGS.items() if not s.persistent] == [
        Lx16aCommand.OFFSET,
        Lx16aCommand.MODE_WRITE,
    ]


# Bits of the error byte, or of HARDWARE_ERROR: voltage, angle, encoder, heat, current, overload; x: others.
FAULTS = {"dynamixel1": "v a h x x o x -", "dynamixel2": "v - h e x o - -", "feetech_st": "v e h c - o - -"}
LETTERS = {
    "v": ServoFault.VOLTAGE,
    "a": ServoFault.ANGLE,
    "e": ServoFault.ENCODER,
    "h": ServoFault.HEAT,
    "c": ServoFault.CURRENT,
    "o": ServoFault.OVERLOAD,
    "x": ServoFault.OTHER,
    "-": ServoFault.NONE,
}


@pytest.mark.parametrize("module", [dynamixel1, dynamixel2_frames, feetech_st], ids=list(FAULTS))
def test_every_fault_bit_matches_the_manual(module):
    name = module.__name__.rpartition(".")[2].removesuffix("_frames")
    letters = FAULTS[name].split()
    assert [decode_faults(1 << bit, module.FAULT_BITS) for bit in range(8)] == [LETTERS[each] for each in letters]
    assert decode_faults(0xFF, module.FAULT_BITS) == reduce(or_, (LETTERS[each] for each in letters))
