# SPDX-License-Identifier: Apache-2.0
"""Registers, commands and codes of every protocol are those of the makers' manuals."""

from functools import reduce
from operator import or_

import pytest

from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.bus.ff_frames import FFInstruction
from hexapod_control.servos.bus.id_addressing import decode_faults
from hexapod_control.servos.bus.registers import Register
from hexapod_control.servos.emulator.devices.lx16a_device import LX_SETTINGS
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.protocols import dynamixel1, dynamixel2, feetech_st
from hexapod_control.servos.protocols.dynamixel1 import Dynamixel1Register
from hexapod_control.servos.protocols.dynamixel2 import Dynamixel2Instruction, Dynamixel2Mode, Dynamixel2Register
from hexapod_control.servos.protocols.feetech_sc import FeetechScRegister
from hexapod_control.servos.protocols.feetech_st import FeetechMode, FeetechStRegister
from hexapod_control.servos.protocols.lx16a import Lx16aCommand
from hexapod_control.servos.protocols.maestro import MaestroError

MANUALS = {
    Dynamixel2Instruction: """
        PING=1 READ=2 WRITE=3 REG_WRITE=4 ACTION=5 FACTORY_RESET=6 REBOOT=8 CLEAR=16 BACKUP=32 STATUS=85 SYNC_READ=130
        SYNC_WRITE=131 FAST_SYNC_READ=138 BULK_READ=146 BULK_WRITE=147 FAST_BULK_READ=154
    """,
    Dynamixel2Mode: """
        CURRENT=0 VELOCITY=1 POSITION=3 EXTENDED_POSITION=4 CURRENT_POSITION=5 PWM=16
    """,
    FFInstruction: """
        PING=1 READ=2 WRITE=3 REG_WRITE=4 ACTION=5 SYNC_READ=130 SYNC_WRITE=131
    """,
    FeetechMode: """
        POSITION=0 WHEEL=1 PWM=2 STEP=3
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


# NAME=address:bytes=default[least,maximum], r: can only be read. Before: bytes, those of the EEPROM, order of bytes.
REGISTERS = {
    Dynamixel1Register: """
        50 24 little
        MODEL=0:2r=12 FIRMWARE=2:1r=24 ID=3:1=1[0,253] BAUD=4:1=1[0,254] RETURN_DELAY=5:1=250[0,254]
        CW_LIMIT=6:2=0[0,1023] CCW_LIMIT=8:2=1023[0,1023] MAX_TEMPERATURE=11:1=70[0,99] MIN_VOLTAGE=12:1=60[50,160]
        MAX_VOLTAGE=13:1=140[50,160] MAX_TORQUE=14:2=1023[0,1023] STATUS_LEVEL=16:1=2[0,2] LED_ALARM=17:1=36[0,127]
        SHUTDOWN=18:1=36[0,127] TORQUE=24:1=0[0,1] LED=25:1=0[0,1] CW_MARGIN=26:1=1[0,255] CCW_MARGIN=27:1=1[0,255]
        CW_SLOPE=28:1=32[0,255] CCW_SLOPE=29:1=32[0,255] GOAL=30:2=512[0,1023] SPEED=32:2=0[0,2047]
        TORQUE_LIMIT=34:2=1023[0,1023] POSITION=36:2r=0 PRESENT_SPEED=38:2r=0 LOAD=40:2r=0 VOLTAGE=42:1r=0
        TEMPERATURE=43:1r=0 REGISTERED=44:1r=0 MOVING=46:1r=0 LOCK=47:1=0[0,1] PUNCH=48:2=32[32,1023]
    """,
    Dynamixel2Register: """
        662 64 little
        MODEL=0:2r=1060 MODEL_INFORMATION=2:4r=0 FIRMWARE=6:1r=46 ID=7:1=1[0,252] BAUD=8:1=1[0,7]
        RETURN_DELAY=9:1=250[0,254] DRIVE_MODE=10:1=0[0,13] OPERATING_MODE=11:1=3[0,16] SECOND_ID=12:1=255[0,255]
        PROTOCOL=13:1=2[1,2] HOMING_OFFSET=20:4=0[-1044479,1044479] MOVING_THRESHOLD=24:4=10[0,1023]
        MAX_TEMPERATURE=31:1=72[0,100] MAX_VOLTAGE=32:2=140[60,140] MIN_VOLTAGE=34:2=60[60,140]
        PWM_LIMIT=36:2=885[0,885] VELOCITY_LIMIT=44:4=265[0,1023] HIGH_LIMIT=48:4=4095[0,4095]
        LOW_LIMIT=52:4=0[0,4095] STARTUP=60:1=0[0,3] SHUTDOWN=63:1=52[0,63] TORQUE=64:1=0[0,1] LED=65:1=0[0,1]
        STATUS_LEVEL=68:1=2[0,2] REGISTERED=69:1r=0 HARDWARE_ERROR=70:1r=0 VELOCITY_I=76:2=1000[0,16383]
        VELOCITY_P=78:2=100[0,16383] POSITION_D=80:2=4000[0,16383] POSITION_I=82:2=0[0,16383]
        POSITION_P=84:2=640[0,16383] FEED_FORWARD_2=88:2=0[0,16383] FEED_FORWARD_1=90:2=0[0,16383]
        BUS_WATCHDOG=98:1=0[0,127] GOAL_PWM=100:2=885 GOAL_VELOCITY=104:4=0 PROFILE_ACCELERATION=108:4=0[0,32767]
        PROFILE_VELOCITY=112:4=0[0,32767] GOAL=116:4=2048[-2147483647,2147483647] TICK=120:2r=0 MOVING=122:1r=0
        MOVING_STATUS=123:1r=0 PWM=124:2r=0 LOAD=126:2r=0 VELOCITY=128:4r=0 POSITION=132:4r=0
        TRAJECTORY_VELOCITY=136:4r=0 TRAJECTORY_POSITION=140:4r=0 VOLTAGE=144:2r=0 TEMPERATURE=146:1r=0
        BACKUP_READY=147:1r=0
    """
    + " ".join(f"{168 + 2 * i}:2={224 + i}[64,661]" for i in range(28))
    + " "
    + " ".join(f"{224 + i}:1=0" for i in range(28))
    + " "
    + " ".join(f"{578 + 2 * i}:2={634 + i}[64,661]" for i in range(28))
    + " "
    + " ".join(f"{634 + i}:1=0" for i in range(28)),
    FeetechStRegister: """
        128 40 little
        FIRMWARE=0:1r=3 FIRMWARE_MINOR=1:1r=10 MODEL=3:2r=777 ID=5:1=1[0,253] BAUD=6:1=0[0,7]
        RETURN_DELAY=7:1=250[0,254] RESPONSE_LEVEL=8:1=1[0,1] LOW_LIMIT=9:2=0[0,4095] HIGH_LIMIT=11:2=4095[0,4095]
        MAX_TEMPERATURE=13:1=70[0,100] MAX_VOLTAGE=14:1=140[0,254] MIN_VOLTAGE=15:1=40[0,254]
        MAX_TORQUE=16:2=1000[0,1000] PHASE=18:1=12 SHUTDOWN=19:1=44 LED_ALARM=20:1=47 GAIN_P=21:1=32 GAIN_D=22:1=32
        GAIN_I=23:1=0 MIN_FORCE=24:2=16[0,1000] DEAD_ZONE_CW=26:1=1 DEAD_ZONE_CCW=27:1=1
        PROTECTION_CURRENT=28:2=500[0,511] RESOLUTION=30:1=1[1,100] OFFSET=31:2=0[0,4095] MODE=33:1=0[0,3]
        PROTECTIVE_TORQUE=34:1=20[0,100] PROTECTION_TIME=35:1=200[0,254] OVERLOAD_TORQUE=36:1=80[0,100]
        SPEED_GAIN_P=37:1=10 OVERCURRENT_TIME=38:1=200 SPEED_GAIN_I=39:1=10 TORQUE=40:1=0[0,128]
        ACCELERATION=41:1=0[0,254] GOAL=42:2=0 TIME=44:2=0 SPEED=46:2=0 TORQUE_LIMIT=48:2=1000[0,1000]
        LOCK=55:1=1[0,1] POSITION=56:2r=0 PRESENT_SPEED=58:2r=0 LOAD=60:2r=0 VOLTAGE=62:1r=0 TEMPERATURE=63:1r=0
        REGISTERED=64:1r=0 STATUS=65:1r=0 MOVING=66:1r=0 CURRENT=69:2r=0
    """,
    FeetechScRegister: """
        128 40 big
        FIRMWARE=0:1r=3 FIRMWARE_MINOR=1:1r=10 MODEL=3:2r=1284 ID=5:1=1[0,253] BAUD=6:1=0[0,7]
        RETURN_DELAY=7:1=0[0,254] RESPONSE_LEVEL=8:1=1[0,1] LOW_LIMIT=9:2=0[0,1023] HIGH_LIMIT=11:2=1023[0,1023]
        MAX_TEMPERATURE=13:1=70[0,100] MAX_VOLTAGE=14:1=140[0,254] MIN_VOLTAGE=15:1=40[0,254]
        MAX_TORQUE=16:2=1000[0,1000] PHASE=18:1=0 SHUTDOWN=19:1=44 LED_ALARM=20:1=47 GAIN_P=21:1=32 GAIN_D=22:1=32
        GAIN_I=23:1=0 MIN_FORCE=24:2=16[0,1000] DEAD_ZONE_CW=26:1=1 DEAD_ZONE_CCW=27:1=1 TORQUE=40:1=0[0,1]
        GOAL=42:2=0[0,1023] TIME=44:2=0 SPEED=46:2=0 LOCK=48:1=1[0,1] POSITION=56:2r=0 PRESENT_SPEED=58:2r=0
        LOAD=60:2r=0 VOLTAGE=62:1r=0 TEMPERATURE=63:1r=0 REGISTERED=64:1r=0 STATUS=65:1r=0 MOVING=66:1r=0
        CURRENT=69:2r=0
    """,
}
TABLES = dict(zip(REGISTERS, map(PROTOCOLS.get, ("dynamixel1", "dynamixel2", "feetech_st", "feetech_sc")), strict=True))


def shown(register, names):
    name = next((f"{name}=" for name, each in names.items() if each is register), "")
    bounds = "" if register.high is None else f"[{register.low},{register.high}]"
    return f"{name}{register:d}:{register.size}{'' if register.writable else 'r'}={register.default:d}{bounds}"


@pytest.mark.parametrize("kind", REGISTERS, ids=lambda kind: kind.__name__)
def test_every_register_matches_the_manual(kind):
    table = TABLES[kind].registers
    names = {name: getattr(kind, name) for name in dir(kind) if isinstance(getattr(kind, name), Register)}
    found = [shown(register, names) for register in sorted(table.registers)]
    assert " ".join([f"{table.size} {table.eeprom} {table.byteorder}", *found]) == " ".join(REGISTERS[kind].split())
    goals = {100, 104} if kind is Dynamixel2Register else set()  # between two limits of either sign
    for register in table.registers:
        assert register.signed == (register.low < 0 or register in goals or register == 98)
    copied = {(Dynamixel1Register, 34): 14, (FeetechStRegister, 48): 16, (Dynamixel2Register, 100): 36}
    assert all(register.copies == copied.get((kind, register)) for register in table.registers)
    assert [r.values for r in table.registers if r.values] == ([(1, 3, 4, 16)] if kind is Dynamixel2Register else [])


# Command to write : command to read : parameters of a new servo : bytes of each number [least,maximum].
LX_MANUAL = """
    17:19:00:1[-125,125] 20:21:0000e803:2[0,1000][0,1000] 22:23:9411e02e:2[4500,14000][4500,14000]
    24:25:55:1[50,100] 29:30:00000000:2[0,1][-1000,1000] 33:34:00:1[0,1] 35:36:07:1[0,7]
"""


def test_every_setting_of_an_emulated_lx_servo_matches_the_manual():
    rows = [
        f"{write:d}:{s.read:d}:{s.default.hex()}:{s.values[0].size}" + "".join(f"[{v.low},{v.high}]" for v in s.values)
        for write, s in LX_SETTINGS.items()
    ]
    assert " ".join(rows) == " ".join(LX_MANUAL.split())
    assert [write for write, s in LX_SETTINGS.items() if any(each.signed for each in s.values)] == [
        Lx16aCommand.OFFSET,
        Lx16aCommand.MODE_WRITE,
    ]
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


@pytest.mark.parametrize("module", [dynamixel1, dynamixel2, feetech_st], ids=list(FAULTS))
def test_every_fault_bit_matches_the_manual(module):
    name = module.__name__.rpartition(".")[2].removesuffix("_frames")
    letters = FAULTS[name].split()
    assert [decode_faults(1 << bit, module.FAULT_BITS) for bit in range(8)] == [LETTERS[each] for each in letters]
    assert decode_faults(0xFF, module.FAULT_BITS) == reduce(or_, (LETTERS[each] for each in letters))
