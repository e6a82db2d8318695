# SPDX-License-Identifier: Apache-2.0
"""Emulated servos follow their manuals wherever safety depends on it: torque, modes, limits, offsets, errors."""

import pytest
from support.kits.emulated_servo import Servo, lx

from hexapod_control.servos.bus import ff_frames
from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.protocols import dynamixel2, lx16a
from hexapod_control.servos.protocols.dynamixel2 import Dynamixel2Instruction as X
from hexapod_control.servos.protocols.lx16a import Lx16aCommand

RANGE, ANGLE, INSTRUCTION = 0x08, 0x02, 0x40  # error bits of protocol 1


@pytest.mark.parametrize("protocol", ["dynamixel1", "dynamixel2", "feetech_st", "feetech_sc"])
def test_the_registers_of_a_table_do_not_overlap_and_take_their_defaults(protocol):
    table = PROTOCOLS[protocol].registers
    taken = [a for r in table.registers for a in range(r, r + r.size)]
    assert len(taken) == len(set(taken)) and max(taken) < table.size
    assert all(r.high is None or r.low <= r.default <= r.high for r in table.registers)


# --- Dynamixel AX ------------------------------------------------------------------------------------


def test_a_goal_switches_the_torque_of_an_ax_servo_on():
    servo = Servo("dynamixel1")
    assert servo.write(30, 2, 700) == 0
    assert servo.world.has_torque(0) and servo.read(24, 1) == 1 and servo.read(46, 1) == 0
    servo.run(0.05)
    assert servo.read(46, 1) == 1  # moving
    servo.run(2.0)
    assert (servo.read(36, 2), servo.read(46, 1)) == (700, 0)


def test_the_protection_of_an_ax_servo_ends_when_its_torque_limit_is_restored_and_by_nothing_else():
    servo = Servo("dynamixel1")
    servo.world.latch(0, ServoFault.OVERLOAD)
    assert servo.read(34, 2) == 0
    for address, size, value in ((24, 1, 0), (24, 1, 1), (32, 2, 100), (25, 1, 1)):
        servo.write(address, size, value)
        assert servo.world.fault(0) is ServoFault.OVERLOAD
    servo.write(34, 2, 1023)
    assert servo.world.fault(0) is ServoFault.NONE
    assert servo.read(34, 2) == 1023 and not servo.world.has_torque(0)


def test_ax_errors_are_those_of_the_manual():
    servo = Servo("dynamixel1")
    assert servo.write(6, 2, 400) == servo.write(8, 2, 600) == 0
    assert servo.write(30, 2, 700) == ANGLE and servo.world.target(0) == 512
    assert servo.write(36, 2, 1) == servo.write(3, 1, 254) == servo.write(8, 2, 2000) == RANGE
    assert servo.ask(ff_frames.build(1, 0x05))[0][4] == INSTRUCTION  # nothing was registered
    assert servo.ask(ff_frames.build(1, 0x77))[0][4] == INSTRUCTION
    assert servo.write(47, 1, 1) == 0 and servo.write(8, 2, 1023) == servo.write(47, 1, 0) == RANGE
    servo.power_cycle()
    assert servo.write(8, 2, 1023) == 0 and servo.read(6, 2) == 400


# --- Dynamixel X -------------------------------------------------------------------------------------


def test_torque_on_makes_the_position_of_an_x_servo_its_goal():
    servo = Servo("dynamixel2")
    assert servo.write(116, 4, 3000) == 0 and not servo.world.has_torque(0)
    servo.write(64, 1, 1)
    assert servo.read(116, 4) == servo.world.target(0) == 2048


def test_x_errors_are_those_of_the_manual():
    servo = Servo("dynamixel2")
    assert servo.write(48, 4, 2500) == 0
    assert servo.write(132, 4, 0) == 7  # read only
    assert servo.write(64, 1, 2) == 4  # range
    assert servo.write(116, 2, 0) == 5  # length
    assert servo.write(116, 4, 3000) == 6 and servo.world.target(0) == 2048  # limit
    servo.write(64, 1, 1)
    assert servo.write(48, 4, 4095) == 7  # EEPROM under torque
    assert servo.ask(dynamixel2.build(1, 0x77))[0][8] == 2
    for nothing in (14, 71, 252, 1000):  # between registers, and beyond the last one
        assert servo.error(dynamixel2.read_request(1, nothing, 2)) == servo.write(nothing, 1, 0) == 7


def test_an_x_offset_shifts_position_and_goal():
    servo = Servo("dynamixel2")
    servo.write(20, 4, -100)
    assert servo.read(132, 4) == 1948
    servo.write(64, 1, 1)
    servo.write(116, 4, 2000)
    assert servo.world.target(0) == 2100


def test_only_the_order_of_the_manual_clears_turns():
    servo = Servo("dynamixel2")
    clear = dynamixel2.build(1, X.CLEAR, b"\x01DXL\x22")
    assert servo.ask(clear)[0][8] == 0 and servo.read(132, 4) == 2048
    servo.write(11, 1, 4)
    servo.world.positions[0] = 5000
    for refused in (
        dynamixel2.build(1, X.CLEAR, b"\x02DXL\x22"),
        dynamixel2.build(1, 119, b"\x01DXL\x22"),
    ):
        assert servo.ask(refused)[0][8] == 2 and servo.read(132, 4) == 5000
    assert servo.ask(clear)[0][8] == 0 and servo.read(132, 4) == 904


def test_bulk_frames_read_and_write_different_registers_of_several_servos():
    servo = Servo("dynamixel2", 3)
    rows = b"".join((bytes((1, 65, 0, 1, 0, 1)), bytes((2, 116, 0, 4, 0)), (2100).to_bytes(4, "little")))
    assert servo.ask(dynamixel2.build(0xFE, X.BULK_WRITE, rows)) == []
    assert (servo.read(65, 1), servo.read(116, 4, 2)) == (1, 2100)
    wanted = bytes((3, 144, 0, 2, 0, 1, 7, 0, 1, 0))
    replies = servo.ask(dynamixel2.build(0xFE, X.BULK_READ, wanted))
    assert [reply[4] for reply in replies] == [3, 1] and replies[1][9] == 1
    (fast,) = servo.ask(dynamixel2.build(0xFE, X.FAST_BULK_READ, wanted))
    assert (fast[4], fast[9], fast[9 + 6]) == (0xFE, 3, 1) and len(fast) == 8 + 6 + 5


def test_a_reboot_forgets_what_is_not_in_the_eeprom_and_a_factory_reset_the_rest():
    servo = Servo("dynamixel2")
    servo.write(36, 2, 100)
    servo.write(112, 4, 50)
    servo.ask(dynamixel2.build(1, X.REBOOT))
    assert (servo.read(36, 2), servo.read(112, 4)) == (100, 0)
    servo.ask(dynamixel2.build(1, X.FACTORY_RESET, b"\x01"))
    assert servo.read(36, 2) == 885
    servo.power_cycle()
    assert servo.read(36, 2) == 885


# --- Feetech -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "lock"), [("feetech_st", 55), ("feetech_sc", 48)])
def test_a_locked_feetech_eeprom_takes_values_until_power_off(protocol, lock):
    servo = Servo(protocol)
    servo.write(9, 2, 100)
    servo.power_cycle()
    assert servo.read(9, 2) == 0
    servo.write(lock, 1, 0)
    servo.write(9, 2, 100)
    servo.power_cycle()
    assert (servo.read(9, 2), servo.read(lock, 1)) == (100, 1)


def test_feetech_goals_are_clamped_to_the_limits_and_shifted_by_the_offset():
    servo = Servo("feetech_st")
    servo.write(9, 2, 1500)
    servo.write(11, 2, 2500)
    servo.write(31, 2, 0x800 | 100)  # -100
    assert servo.read(56, 2) == 2148
    servo.write(42, 2, 3000)
    assert servo.world.target(0) == 2400
    assert servo.write(56, 2, 0) == 0 and servo.read(56, 2) == 2148  # ignored
    servo.write(40, 1, 128)
    assert servo.read(56, 2) == 2048


@pytest.mark.parametrize(("speed", "reached"), [(0, True), (1000, True), (500, False)])
def test_an_st_servo_moves_with_the_speed_of_its_register_and_at_0_as_fast_as_it_can(speed, reached):
    servo = Servo("feetech_st")
    servo.write(40, 1, 1)
    servo.write(46, 2, speed)
    servo.write(42, 2, 2448)
    servo.run(0.6)
    assert (servo.world.position(0) > 2440) == reached


@pytest.mark.parametrize(
    ("mode", "address", "value", "least"), [(1, 46, 500, 6000), (2, 44, 500, 6000), (3, 42, 1000, 3000)]
)
def test_feetech_modes_other_than_position_turn_further_than_any_limit(mode, address, value, least):
    servo = Servo("feetech_st")
    servo.write(11, 2, 2500)
    servo.write(33, 1, mode)
    servo.write(40, 1, 1)
    servo.write(address, 2, value)
    servo.run(20.0)
    assert servo.world.position(0) > least


# Continuous rotation: writes of (address, size, value), then the speed [steps/s].
@pytest.mark.parametrize(
    ("protocol", "writes", "speed"),
    [
        ("feetech_st", [(33, 1, 1), (46, 2, 500)], 500),
        ("feetech_st", [(33, 1, 1), (46, 2, 0x8000 | 500)], -500),
        ("feetech_st", [(33, 1, 2), (44, 2, 500)], 1700),
        ("feetech_st", [(33, 1, 2), (44, 2, 0x400 | 250)], -850),
        ("feetech_sc", [(11, 2, 0), (44, 2, 0x400 | 100)], -340),
        ("dynamixel1", [(8, 2, 0), (32, 2, 100)], 100 * 0.111 * 6 * 1024 / 300),
        ("dynamixel1", [(8, 2, 0), (32, 2, 0x400 | 100)], -100 * 0.111 * 6 * 1024 / 300),
        ("dynamixel2", [(11, 1, 1), (104, 4, -100)], -100 * 0.229 / 60 * 4096),
        ("dynamixel2", [(11, 1, 16), (100, 2, 177)], 860),
    ],
)
def test_a_servo_that_turns_without_end_has_the_speed_of_its_register_and_0_stops_it(protocol, writes, speed):
    servo = Servo(protocol)
    torque = {"dynamixel1": 24, "dynamixel2": 64}.get(protocol, 40)
    for address, size, value in (*writes[:-1], (torque, 1, 1), writes[-1]):
        assert servo.write(address, size, value) == 0
    servo.run(0.5)
    assert servo.world.speed(0) == pytest.approx(speed, rel=1e-6)
    address, size, _ = writes[-1]
    servo.write(address, size, 0)
    servo.run(0.5)
    servo.run(0.1)
    assert servo.world.speed(0) == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize(("speed", "expected"), [(500, 130.0), (-1000, -260.0), (0, 0.0)])
def test_an_lx_servo_in_motor_mode_has_the_speed_of_its_setting(speed, expected):
    servo = Servo("lx16a")
    lx(servo, Lx16aCommand.TORQUE_WRITE, b"\x01")
    lx(servo, Lx16aCommand.MODE_WRITE, b"\x01\x00" + speed.to_bytes(2, "little", signed=True))
    servo.run(0.5)
    assert servo.world.speed(0) == pytest.approx(expected, rel=1e-6)
    lx(servo, Lx16aCommand.MODE_WRITE, bytes(4))
    servo.run(0.5)
    servo.run(0.1)
    assert servo.world.speed(0) == pytest.approx(0.0, abs=1e-3)
    lx(servo, Lx16aCommand.MODE_WRITE, b"\x01\x00\xe8\x03")
    servo.power_cycle()
    assert lx(servo, Lx16aCommand.MODE_READ) == bytes(4)


def test_a_goal_for_ax_registers_changes_the_mode_of_an_st_servo():
    """What a wrong protocol does, which is why models are checked before the first write."""
    servo = Servo("feetech_st")
    servo.ask(ff_frames.sync_write_request(30, {1: (512).to_bytes(2, "little") + (800).to_bytes(2, "little")}))
    assert (servo.read(31, 2), servo.read(33, 1)) == (0x2002, 3)


# --- LX-16A ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("write", "read", "data"),
    [
        (1, 2, "F4 01 E8 03"),
        (7, 8, "F4 01 E8 03"),
        (17, 19, "9C"),
        (20, 21, "64 00 84 03"),
        (22, 23, "70 17 E0 2E"),
        (24, 25, "50"),
        (29, 30, "01 00 18 FC"),
        (33, 34, "01"),
        (35, 36, "05"),
    ],
)
def test_an_lx_servo_answers_its_read_commands(write, read, data):
    servo = Servo("lx16a")
    assert lx(servo, read) is not None
    assert lx(servo, write, bytes.fromhex(data)) is None
    assert lx(servo, read) == bytes.fromhex(data)


@pytest.mark.parametrize(
    ("write", "read", "refused"),
    [
        (20, 21, ["F4 01 F4 01", "F5 01 F4 01", "00 00 E9 03", "00 00"]),  # limits 500, 501 to 500; beyond 1000; one
        (22, 23, ["93 11 E0 2E", "94 11 B1 36", "E0 2E 94 11"]),  # 4499 mV, 14001 mV; exchanged
        (24, 25, ["31", "65", "32 00"]),  # 49, 101 degC
        (17, 19, ["7E", "82"]),  # 126, -126
        (29, 30, ["02 00 00 00", "01 00 E9 03", "01 00 17 FC"]),  # no such mode; 1001, -1001
    ],
)
def test_an_lx_servo_ignores_settings_beyond_its_bounds(write, read, refused):
    servo = Servo("lx16a")
    before = lx(servo, read)
    for data in refused:
        assert lx(servo, write, bytes.fromhex(data)) is None
        assert lx(servo, read) == before


def test_an_lx_move_that_waits_begins_with_the_start_and_stop_ends_any_move():
    servo = Servo("lx16a")
    lx(servo, Lx16aCommand.TORQUE_WRITE, b"\x01")
    lx(servo, Lx16aCommand.MOVE_WAIT, bytes.fromhex("BC 02 00 00"))
    assert servo.world.target(0) == 500
    lx(servo, Lx16aCommand.START)
    assert servo.world.target(0) == 700
    lx(servo, Lx16aCommand.MOVE, bytes.fromhex("00 00 10 27"))  # to 0 in 10 s
    servo.run(1.0)
    lx(servo, Lx16aCommand.START)  # nothing waits
    lx(servo, Lx16aCommand.STOP)
    assert servo.world.target(0) == servo.world.position(0) > 400
    lx(servo, Lx16aCommand.MOVE_WAIT, bytes.fromhex("BC 02 00 00"))
    servo.power_cycle()
    lx(servo, Lx16aCommand.START)
    assert servo.world.target(0) == servo.world.position(0)


def test_the_protection_of_an_lx_servo_ends_when_the_torque_goes_off_and_not_when_it_goes_on():
    servo = Servo("lx16a")
    servo.world.latch(0, ServoFault.OVERLOAD)
    lx(servo, Lx16aCommand.TORQUE_WRITE, b"\x01")
    assert servo.world.fault(0) is ServoFault.OVERLOAD
    lx(servo, Lx16aCommand.TORQUE_WRITE, b"\x00")
    assert servo.world.fault(0) is ServoFault.NONE


def test_an_x_servo_moves_with_the_velocity_of_its_profile_and_at_0_as_fast_as_it_can():
    servo = Servo("dynamixel2")
    servo.write(64, 1, 1)
    for velocity, speed in ((32, 32 * 0.229 / 60 * 4096), (0, 6.0 * 4096 / (2.0 * 3.14159265))):
        servo.write(112, 4, velocity)
        servo.write(116, 4, 4000)
        servo.run(0.1)
        assert servo.world.speed(0) == pytest.approx(speed, rel=1e-6)


def test_frames_of_protocol_2_that_fit_no_register_are_refused():
    servo = Servo("dynamixel2")
    assert servo.write(661, 2, 0) == 7  # beyond the last register
    assert servo.ask(dynamixel2.build(1, X.FACTORY_RESET, b"\x07"))[0][8] == 4
    assert servo.ask(dynamixel2.build(1, X.STATUS, b"\x00")) == []  # the status of another servo
    assert len(servo.ask(dynamixel2.sync_read_request(145, 2, [1]))) == 1
    assert servo.error(dynamixel2.sync_read_request(661, 2, [1])) == 7
    assert Servo("feetech_st").ask(ff_frames.build(0xFE, 0x82, b"\x38\x02")) == []


@pytest.mark.parametrize("protocol", ["feetech_st", "dynamixel1", "dynamixel2", "lx16a"])
@pytest.mark.parametrize(("pause", "replies"), [(0.049, 1), (0.051, 0)])
def test_servos_drop_an_unfinished_frame_after_50_ms(protocol, pause, replies):
    servo = Servo(protocol)
    frames = {"dynamixel2": dynamixel2.read_request(1, 132, 4), "lx16a": lx16a.build(1, Lx16aCommand.POSITION)}
    frame = frames.get(protocol, ff_frames.read_request(1, 36, 2))
    servo.run(1.0)
    assert servo.ask(frame[:5]) == []
    servo.run(pause)
    assert len(servo.ask(frame[5:])) == replies
    servo.run(0.06)
    assert len(servo.ask(frame)) == 1


@pytest.mark.parametrize(("kept", "servo_id", "baud"), [(0xFF, 1, 1), (0x01, 9, 1), (0x02, 9, 3)])
def test_a_factory_reset_of_an_x_servo_keeps_what_it_is_told_to(kept, servo_id, baud):
    servo = Servo("dynamixel2")
    assert servo.write(8, 1, 3) == servo.write(31, 1, 50) == servo.write(7, 1, 9) == 0
    servo.ask(dynamixel2.build(9, X.FACTORY_RESET, bytes((kept,))))
    assert (servo.read(7, 1, servo_id), servo.read(8, 1, servo_id), servo.read(31, 1, servo_id)) == (servo_id, baud, 72)


@pytest.mark.parametrize("protocol", ["feetech_st", "feetech_sc", "dynamixel1", "dynamixel2"])
def test_replies_come_after_the_return_delay_in_units_of_two_microseconds(protocol):
    servo = Servo(protocol, 2)
    register = {"dynamixel1": 5, "dynamixel2": 9}.get(protocol, 7)
    assert servo.write(register, 1, 50) == 0
    frames = dynamixel2 if servo.two else ff_frames
    asked = [(frames.read_request(1, 36, 2), 1e-4), (frames.read_request(2, 36, 2), 0.0), (frames.build(1, 1), 1e-4)]
    if servo.two:
        asked.append((dynamixel2.fast_sync_read_request(132, 4, [1, 2]), 1e-4))
    for frame, delay in asked:
        ((found, reply),) = servo.device.receive(frame, 0.0)
        assert found == pytest.approx(delay) and reply
