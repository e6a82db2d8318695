"""Registers, commands and codes of every protocol are those of the makers' manuals."""

import pytest

from hexapod_control.servos.bus.ff_frames import FFInstruction
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
        POSITION=36 PRESENT_SPEED=38 LOAD=40 VOLTAGE=42 TEMPERATURE=43 MOVING=46 LOCK=47
    """,
    Dynamixel2Instruction: """
        PING=1 READ=2 WRITE=3 REG_WRITE=4 ACTION=5 FACTORY_RESET=6 REBOOT=8 CLEAR=16 STATUS=85 SYNC_READ=130
        SYNC_WRITE=131 FAST_SYNC_READ=138 BULK_READ=146 BULK_WRITE=147 FAST_BULK_READ=154
    """,
    Dynamixel2Mode: """
        CURRENT=0 VELOCITY=1 POSITION=3 EXTENDED_POSITION=4 CURRENT_POSITION=5 PWM=16
    """,
    Dynamixel2Register: """
        MODEL=0 ID=7 BAUD=8 RETURN_DELAY=9 DRIVE_MODE=10 OPERATING_MODE=11 HOMING_OFFSET=20 MAX_TEMPERATURE=31
        MAX_VOLTAGE=32 MIN_VOLTAGE=34 PWM_LIMIT=36 HIGH_LIMIT=48 LOW_LIMIT=52 SHUTDOWN=63 TORQUE=64
        STATUS_LEVEL=68 HARDWARE_ERROR=70 GOAL_PWM=100 GOAL_VELOCITY=104 PROFILE_ACCELERATION=108
        PROFILE_VELOCITY=112 GOAL=116 MOVING=122 LOAD=126 VELOCITY=128 POSITION=132 VOLTAGE=144 TEMPERATURE=146
    """,
    FFInstruction: """
        PING=1 READ=2 WRITE=3 REG_WRITE=4 ACTION=5 SYNC_READ=130 SYNC_WRITE=131
    """,
    FeetechMode: """
        POSITION=0 WHEEL=1 PWM=2 STEP=3
    """,
    FeetechScRegister: """
        MODEL=3 ID=5 BAUD=6 RETURN_DELAY=7 RESPONSE_LEVEL=8 LOW_LIMIT=9 HIGH_LIMIT=11 TORQUE=40 GOAL=42 TIME=44
        SPEED=46 LOCK=48 POSITION=56 PRESENT_SPEED=58 LOAD=60 VOLTAGE=62 TEMPERATURE=63
    """,
    FeetechStRegister: """
        MODEL=3 ID=5 BAUD=6 RETURN_DELAY=7 RESPONSE_LEVEL=8 LOW_LIMIT=9 HIGH_LIMIT=11 MAX_TEMPERATURE=13
        MAX_VOLTAGE=14 MIN_VOLTAGE=15 MAX_TORQUE=16 OFFSET=31 MODE=33 PROTECTIVE_TORQUE=34 PROTECTION_TIME=35
        OVERLOAD_TORQUE=36 TORQUE=40 ACCELERATION=41 GOAL=42 TIME=44 SPEED=46 TORQUE_LIMIT=48 LOCK=55
        POSITION=56 PRESENT_SPEED=58 LOAD=60 VOLTAGE=62 TEMPERATURE=63 STATUS=65 MOVING=66 CURRENT=69
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
def test_every_code_is_that_of_the_manual(table):
    assert " ".join(f"{code.name}={code.value}" for code in table) == " ".join(MANUALS[table].split())
