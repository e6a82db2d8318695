# SPDX-License-Identifier: Apache-2.0
"""Requests to emulated smart servos: which are executed, answered, refused and ignored."""

import math

import pytest
from support.kits.emulated_servo import Servo, lx

from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.emulator.device import at_once, bytes_on_line, collided
from hexapod_control.servos.emulator.devices.lx16a_device import Lx16aDevice
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.protocols import dynamixel2, lx16a
from hexapod_control.servos.protocols.dynamixel2 import Dynamixel2Instruction as X
from hexapod_control.servos.protocols.lx16a import Lx16aCommand

BROADCAST = 0xFE
PING, READ, WRITE, REG_WRITE, ACTION, RESET, SYNC_READ, SYNC_WRITE = 1, 2, 3, 4, 5, 6, 0x82, 0x83
TORQUE = {"dynamixel1": 24, "dynamixel2": 64, "feetech_st": 40, "feetech_sc": 40}
SERIES = list(TORQUE)
series = pytest.mark.parametrize("protocol", SERIES)


def address(servo, register):
    return register.to_bytes(2 if servo.two else 1, "little")


def request(servo, code, data=b"", to=1):
    return servo.frames.build(to, code, data)


# --- which requests are answered ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "register", "read_from", "write_from"),
    [("dynamixel1", 16, 1, 2), ("dynamixel2", 68, 1, 2), ("feetech_st", 8, 0, 1), ("feetech_sc", 8, 0, 1)],
)
def test_the_status_level_decides_whether_reads_and_writes_are_answered_and_a_ping_always_is(
    protocol, register, read_from, write_from
):
    for level in range(write_from + 1):
        servo = Servo(protocol)
        servo.ask(servo.frames.write_request(1, register, bytes((level,))))
        confirmed = level >= write_from
        assert len(servo.ask(servo.frames.write_request(1, TORQUE[protocol], b"\x01"))) == confirmed
        assert servo.world.has_torque(0)
        assert len(servo.ask(servo.frames.read_request(1, register, 1))) == (level >= read_from)
        assert len(servo.ask(request(servo, PING))) == 1
        damaged = len(servo.ask(b"".join((request(servo, PING)[:-1], b"\x00"))))
        assert damaged == (confirmed and protocol.startswith("dynamixel"))


@series
def test_a_broadcast_reaches_all_servos_with_power_and_only_a_ping_of_all_is_answered(protocol):
    servo = Servo(protocol, 4)
    servo.world.unplug(2)
    assert servo.ask(servo.frames.write_request(BROADCAST, TORQUE[protocol], b"\x01")) == []
    assert list(servo.world.torques) == [True, True, False, True]
    assert servo.ask(servo.frames.read_request(BROADCAST, TORQUE[protocol], 1)) == []
    place = 4 if servo.two else 2
    assert [reply[place] for reply in servo.ask(request(servo, PING, to=BROADCAST))] == [1, 2, 4]
    assert servo.ask(request(servo, PING, to=9)) == []


def test_a_ping_of_an_x_servo_is_answered_with_its_model_and_its_firmware():
    for servo_id in (1, BROADCAST):
        servo = Servo("dynamixel2")
        status = dynamixel2.build(1, X.STATUS, b"\x00" + (1060).to_bytes(2, "little") + bytes((46,)))
        assert servo.ask(request(servo, PING, to=servo_id)) == [status]


# Instruction, then data with which it is not valid, for protocol 1 and for protocol 2.
MALFORMED = [
    (READ, [b"", b"\x18", b"\x18\x01\x01"], [b"", b"\x40\x00\x01", b"\x40\x00\x01\x00\x01"]),
    (WRITE, [b"", b"\x18"], [b"", b"\x40", b"\x40\x00"]),
    (REG_WRITE, [b"", b"\x18"], [b"", b"\x40", b"\x40\x00"]),
    (ACTION, [b"\x01"], [b"\x01"]),
    (RESET, [b"\x01"], [b"", b"\x01\x01"]),
    (X.REBOOT, [], [b"\x01"]),
    (X.SYNC_WRITE, [], [b"\x40\x00\x01\x00\x01\x01"]),  # to a single servo
    (X.SYNC_READ, [], [b"\x40\x00\x01\x00\x01"]),
]


@series
@pytest.mark.parametrize(("code", "first", "second"), MALFORMED)
def test_a_malformed_instruction_changes_nothing_and_is_an_error_or_ignored(protocol, code, first, second):
    servo = Servo(protocol)
    servo.world.torque(0, True)
    expected = {"dynamixel1": 0x40, "dynamixel2": 2}.get(protocol)
    for data in second if servo.two else first:
        assert servo.error(request(servo, code, data)) == expected
        assert servo.world.has_torque(0)


def test_a_ping_of_protocol_1_has_no_data():
    servo = Servo("dynamixel1")
    assert servo.error(request(servo, PING)) == 0
    assert servo.error(request(servo, PING, b"\x01")) == 0x40


def test_only_st_servos_can_be_read_in_one_frame_and_each_answers_in_its_turn():
    for protocol, ids in (("feetech_st", [3, 1]), ("feetech_sc", []), ("dynamixel1", [])):
        servo = Servo(protocol, 3)
        servo.world.unplug(1)
        servo.world.positions[:] = (500, 501, 502)
        replies = servo.ask(request(servo, SYNC_READ, b"\x38\x02\x03\x02\x01", BROADCAST))
        assert [reply[2] for reply in replies] == ids
        assert servo.ask(request(servo, SYNC_READ, b"\x38\x02\x01")) == []
    st = Servo("feetech_st", 3)
    assert [reply[5:7] for reply in st.ask(request(st, SYNC_READ, b"\x38\x02\x01", BROADCAST))] == [b"\x00\x08"]


@series
def test_a_write_to_several_servos_reaches_those_that_it_names_and_is_ignored_if_its_size_is_wrong(protocol):
    servo = Servo(protocol, 3)
    one = address(servo, 1)
    start = address(servo, TORQUE[protocol])
    for wrong in (b"", start, start + one, start + address(servo, 0) + b"\x01", start + one + b"\x01\x01\x02"):
        assert servo.ask(request(servo, SYNC_WRITE, wrong, BROADCAST)) == []
        assert not servo.world.torques.any()
    assert servo.ask(request(servo, SYNC_WRITE, start + one + b"\x01\x01\x03\x01", BROADCAST)) == []
    assert list(servo.world.torques) == [True, False, True]


def test_bytes_after_the_last_complete_row_of_a_bulk_write_are_ignored():
    servo = Servo("dynamixel2", 2)
    rows = bytes((1, 64, 0, 1, 0, 1)) + bytes((2, 64, 0, 1))
    servo.ask(request(servo, X.BULK_WRITE, rows, BROADCAST))
    assert list(servo.world.torques) == [True, False]
    assert servo.ask(request(servo, X.BULK_READ, bytes((1, 64, 0, 1, 0, 2)), BROADCAST)) == []


def test_a_status_that_several_x_servos_make_together_ends_at_the_first_missing_one():
    servo = Servo("dynamixel2", 3)
    ask = dynamixel2.fast_sync_read_request(132, 4, [1, 2, 3])
    (whole,) = servo.ask(ask)
    assert len(whole) == dynamixel2.fast_size(4, 3) == 7 + int.from_bytes(whole[5:7], "little")
    servo.world.unplug(1)
    (cut,) = servo.ask(ask)
    assert cut == whole[: 8 + 8]
    servo.world.unplug(0)
    assert servo.ask(ask) == []
    assert Servo("dynamixel2").ask(dynamixel2.fast_sync_read_request(660, 4, [1])) == []


@series
def test_servos_with_one_id_answer_at_the_same_time_and_spoil_each_others_replies(protocol):
    servo = Servo(protocol, 3)
    (alone,) = servo.ask(request(servo, PING))
    servo.device.rename(2, 1)
    ((delay, reply),) = servo.device.receive(request(servo, PING), 0.0)
    assert (delay, len(reply)) == (0.0, len(alone)) and reply != alone
    (reply,) = servo.ask(servo.frames.read_request(1, TORQUE[protocol], 1))
    servo.device.rename(2, 3)
    assert reply != servo.ask(servo.frames.read_request(1, TORQUE[protocol], 1))[0]


@pytest.mark.parametrize("reply", [b"\x00", b"\xff\xff\x01\x02\x00\xfc", bytes(7), bytes(range(9))])
def test_colliding_replies_begin_alike_and_are_never_valid(reply):
    spoilt = collided(reply)
    assert len(spoilt) == len(reply) and spoilt != reply
    assert spoilt[: len(reply) // 2] == reply[: len(reply) // 2]
    assert at_once([]) == [] and at_once([(0.1, reply)]) == [(0.1, reply)]
    assert at_once([(0.1, reply), (0.2, b"other")]) == [(0.1, spoilt)]
    world = LagWorld(lx16a.SCALE, 3)
    world.unplug(0)
    world.duplicate_id(2)
    assert [bytes_on_line(world, index, reply) for index in range(3)] == [b"", reply, spoilt]


# --- ids, resets and registered writes ---------------------------------------------------------------


# A reset of protocol 1 makes the id 1, that of Feetech servos keeps it, and that of protocol 2 is told to keep it.
@series
def test_an_id_is_kept_without_power_and_a_reset_restores_the_factory_values_without_torque(protocol):
    servo = Servo(protocol, 2)
    servo.device.rename(0, 7)
    servo.power_cycle()
    delay = 9 if servo.two else 5 if protocol == "dynamixel1" else 7
    baud, default, factory = delay - 1, int(not protocol.startswith("feetech")), 0 if protocol == "feetech_sc" else 250
    for each, after in ((7, 1),) if protocol == "dynamixel1" else ((7, 7), (2, 2)):
        servo.write(delay, 1, 50, each)
        servo.write(baud, 1, 3, each)
        servo.write(TORQUE[protocol], 1, 1, each)
        assert servo.error(request(servo, RESET, b"\x01" if servo.two else b"", each)) == 0
        assert (servo.read(delay, 1, after) & 0xFF, servo.read(baud, 1, after)) == (factory, default)
        assert not servo.world.torques.any()
        servo.power_cycle()
        assert servo.read(delay, 1, after) & 0xFF == factory


@series
def test_a_reply_to_a_write_of_an_id_has_the_old_one(protocol):
    servo = Servo(protocol)
    register = {"dynamixel1": 3, "dynamixel2": 7}.get(protocol, 5)
    (reply,) = servo.ask(servo.frames.write_request(1, register, b"\x09"))
    assert reply[4 if servo.two else 2] == 1
    assert servo.read(register, 1, 9) == 9


@pytest.mark.parametrize(
    ("protocol", "flag", "refused", "error", "nothing"),
    [("dynamixel1", 44, 700, 0x02, 0x40), ("dynamixel2", 69, 3000, 6, 2), ("feetech_st", 64, None, None, 0)],
)
def test_a_registered_write_is_executed_once_and_a_refused_one_is_not_registered(
    protocol, flag, refused, error, nothing
):
    servo = Servo(protocol)
    goal, size, limit = {"dynamixel1": (30, 2, (8, 2)), "dynamixel2": (116, 4, (48, 4))}.get(protocol, (42, 2, None))
    act = request(servo, ACTION)
    assert servo.error(act) == nothing
    if refused:
        servo.write(*limit, 650)
        assert servo.error(request(servo, REG_WRITE, address(servo, goal) + refused.to_bytes(size, "little"))) == error
        assert servo.read(flag, 1) == 0 and servo.error(act) == nothing
    assert servo.error(request(servo, REG_WRITE, address(servo, goal) + (600).to_bytes(size, "little"))) == 0
    assert servo.read(flag, 1) == 1 and servo.world.target(0) == servo.world.scale.center
    assert servo.error(act) == 0 and servo.world.target(0) == 600 and servo.read(flag, 1) == 0
    servo.write(goal, size, 610)
    assert servo.error(act) == nothing and servo.world.target(0) == 610
    assert servo.error(request(servo, REG_WRITE, address(servo, TORQUE[protocol]) + b"\x00")) == 0
    assert servo.error(act) == 0 and not servo.world.has_torque(0)
    assert servo.error(request(servo, REG_WRITE, address(servo, goal) + (620).to_bytes(size, "little"))) == 0
    servo.power_cycle()
    assert servo.error(act) == nothing and servo.world.target(0) != 620


# --- what the registers show -------------------------------------------------------------------------


@series
def test_a_servo_counts_as_moving_from_a_degree_per_second_on(protocol):
    servo = Servo(protocol)
    register = {"dynamixel1": 46, "dynamixel2": 122}.get(protocol, 66)
    for degrees, shown in ((0.9, 0), (1.1, 1), (-0.9, 0), (-1.1, 1)):
        servo.world.speeds[0] = degrees * servo.world.scale.per_rad / 57.2958
        assert servo.read(register, 1) == shown


@series
def test_the_torque_register_shows_the_torque_and_an_unknown_fault_sets_no_bit(protocol):
    servo = Servo(protocol)
    servo.write(TORQUE[protocol], 1, 1)
    assert servo.read(TORQUE[protocol], 1) == 1
    servo.world.latch(0, ServoFault.OTHER)
    assert servo.error(servo.frames.read_request(1, TORQUE[protocol], 1)) == (0x80 if servo.two else 0)
    servo.world.latch(0, ServoFault.OVERLOAD)
    assert servo.read(TORQUE[protocol], 1) == 0
    if not servo.two:
        assert servo.error(request(servo, PING)) == 0x20
    if protocol.startswith("feetech"):
        assert servo.read(65, 1) == 0x20


@pytest.mark.parametrize(("pushed", "shown"), [(-5.0, 0), (400.0, 400), (1100.0, 1023)])
def test_a_servo_beyond_an_end_shows_the_end_and_an_ax_servo_holds_where_it_is(pushed, shown):
    sc, servo = Servo("feetech_sc"), Servo("dynamixel1")
    sc.world.positions[0] = servo.world.positions[0] = pushed
    assert sc.read(56, 2) == servo.read(36, 2) == shown
    servo.write(24, 1, 1)
    assert (servo.read(30, 2), servo.world.target(0)) == (shown, pushed)


@series
def test_the_model_of_a_servo_cannot_be_written(protocol):
    servo = Servo(protocol)
    model = 3 if protocol.startswith("feetech") else 0
    before = servo.read(model, 2)
    assert servo.write(model, 2, before + 1) == {"dynamixel1": 0x08, "dynamixel2": 7}.get(protocol, 0)
    assert servo.read(model, 2) == before


@pytest.mark.parametrize(
    ("protocol", "writes"),
    [
        ("dynamixel1", [(24, 1, 1)]),
        ("dynamixel2", [(64, 1, 1)]),
        ("feetech_st", [(33, 1, 1), (40, 1, 1), (46, 2, 300), (46, 2, 0)]),  # a wheel that is stopped
        ("feetech_sc", [(11, 2, 0), (40, 1, 1), (44, 2, 300), (44, 2, 0)]),
    ],
)
def test_a_servo_that_holds_goes_back_when_it_is_pushed(protocol, writes):
    servo = Servo(protocol)
    for write in writes:
        servo.write(*write)
    servo.run(1.0)
    servo.world.positions[0] += 50
    servo.run(1.0)
    assert servo.world.position(0) == pytest.approx(servo.world.scale.center, abs=0.01)


def test_switching_an_ax_servo_changes_no_other_register():
    servo = Servo("dynamixel1")
    servo.write(24, 1, 1)
    servo.world.latch(0, ServoFault.OVERLOAD)
    shown = [servo.read(register, 1) for register in (30, 31, 32, 33, 34, 35, 36, 37, 47, 48, 49)]
    assert shown == [0, 2, 0, 0, 0, 0, 0, 2, 0, 32, 0]
    assert len(servo.device.memories[0]) == 50


@pytest.mark.parametrize(("protocol", "goal", "size"), [("dynamixel1", 30, 2), ("dynamixel2", 116, 4)])
def test_torque_that_is_on_already_leaves_the_goal_as_it_is(protocol, goal, size):
    servo = Servo(protocol)
    servo.write(TORQUE[protocol], 1, 1)
    servo.write(goal, size, 700)
    servo.write(TORQUE[protocol], 1, 1)
    assert servo.read(goal, size) == servo.world.target(0) == 700


# Registers from one before the goal on; limits 600 to 900; goal, error.
@pytest.mark.parametrize(("goal", "error"), [(599, 1), (600, 0), (900, 0), (901, 1)])
def test_a_goal_is_checked_wherever_a_write_begins(goal, error):
    ax = Servo("dynamixel1")
    assert ax.write(6, 2, 600) == ax.write(8, 2, 900) == 0
    assert ax.write(28, 4, 0x2020 | goal << 16) == 0x02 * error
    assert ax.write(30, 2, goal) == 0x02 * error
    assert ax.world.target(0) == (512 if error else goal)
    assert ax.write(30, 1, 0) == 0  # the low byte alone is not a goal
    x = Servo("dynamixel2")
    assert x.write(52, 4, 600) == x.write(48, 4, 900) == 0
    assert x.write(112, 8, 100 | goal << 32) == 6 * error
    assert x.write(116, 4, goal) == 6 * error
    assert x.world.target(0) == (2048 if error else goal)
    assert x.write(11, 1, 4) == x.write(116, 4, goal) == 0  # without limits in extended position mode


def test_the_eeprom_of_a_servo_ends_where_its_manual_says():
    x = Servo("dynamixel2")
    x.write(64, 1, 1)
    assert (x.write(63, 1, 0), x.write(65, 1, 1)) == (7, 0)
    ax = Servo("dynamixel1")
    ax.write(47, 1, 1)
    assert (ax.write(18, 1, 0), ax.write(25, 1, 1)) == (0x08, 0)
    assert x.write(117, 1, 0) == x.write(116, 3, 0) == 5  # inside a register


@pytest.mark.parametrize(
    ("protocol", "limits", "speed", "refused"), [("dynamixel1", (6, 8), 32, 0x02), ("feetech_sc", (9, 11), 44, 0)]
)
def test_a_servo_with_only_one_limit_0_is_no_wheel(protocol, limits, speed, refused):
    for low, high in ((0, 256), (256, 0), (1, 0), (0, 1)):
        servo = Servo(protocol)
        assert servo.write(limits[0], 2, low) == servo.write(limits[1], 2, high) == 0
        servo.write(TORQUE[protocol], 1, 1)
        servo.write(speed, 2, 100)
        servo.run(1.0)
        assert servo.world.speed(0) == 0.0 and servo.write(30, 2, 700) == refused


def test_an_ax_servo_takes_the_torque_of_a_goal_from_either_byte_of_its_torque_limit():
    for limit, torque in ((0, False), (1, True), (256, True)):
        servo = Servo("dynamixel1")
        servo.world.positions[0] = 511
        assert servo.read(36, 2) == 511
        servo.write(34, 2, limit)
        servo.write(30, 2, 700)
        assert servo.world.has_torque(0) == torque


@pytest.mark.parametrize(("speed", "rpm"), [(100, 11.1), (0x400 | 100, 11.1), (200, 22.2), (0, 6.0 * 60 / math.tau)])
def test_an_ax_servo_moves_with_the_speed_of_its_register_and_at_0_as_fast_as_it_can(speed, rpm):
    servo = Servo("dynamixel1")
    servo.write(32, 2, speed)
    servo.write(30, 2, 1000)
    servo.run(0.1)
    assert servo.world.speed(0) == pytest.approx(rpm * 6 * 1024 / 300)


# --- Feetech -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "low", "high", "goal", "target"),
    [
        ("feetech_st", 0, 0, 5000, 5000),
        ("feetech_st", 0, 2500, 3000, 2500),
        ("feetech_st", 1500, 4095, 1000, 1500),
        ("feetech_st", 1500, 2500, 2000, 2000),
        ("feetech_sc", 100, 900, 950, 900),
        ("feetech_sc", 100, 900, 50, 100),
        ("feetech_sc", 100, 900, 500, 500),
    ],
)
def test_feetech_goals_have_no_limits_if_both_are_0(protocol, low, high, goal, target):
    servo = Servo(protocol)
    assert servo.write(9, 2, low) == servo.write(11, 2, high) == servo.write(42, 2, goal) == 0
    assert servo.world.target(0) == target


@pytest.mark.parametrize(("position", "offset"), [(2148, 100), (1948, 0x800 | 100), (2048, 0)])
def test_the_present_position_of_an_st_servo_becomes_its_middle(position, offset):
    servo = Servo("feetech_st")
    servo.world.positions[0] = position
    servo.write(33, 1, 2)
    servo.write(40, 1, 128)
    assert (servo.read(31, 2), servo.read(56, 2), servo.read(40, 1), servo.read(33, 1)) == (offset, 2048, 0, 2)
    servo.write(33, 1, 0)
    assert not servo.world.has_torque(0)
    servo.write(42, 2, 2000)
    assert servo.world.target(0) == 2000 + position - 2048


def test_goals_in_step_mode_are_relative_and_have_the_speed_of_the_register():
    for goal, target in ((1000, 3048), (0x8000 | 1000, 1048)):
        servo = Servo("feetech_st")
        servo.write(33, 1, 3)
        servo.write(40, 1, 1)
        servo.write(46, 2, 800)
        servo.write(42, 2, goal)
        assert servo.world.target(0) == target
        servo.run(0.1)
        assert abs(servo.world.speed(0)) == pytest.approx(800)


@pytest.mark.parametrize(("milliseconds", "seconds"), [(500, 0.5), (2000, 2.0), (9999, 9.999), (30000, 9.999)])
def test_an_sc_servo_moves_in_the_time_of_its_register_of_ten_seconds_at_most(milliseconds, seconds):
    servo = Servo("feetech_sc")
    servo.write(40, 1, 1)
    servo.write(44, 2, milliseconds)
    servo.write(42, 2, 712)
    servo.run(0.1)
    assert servo.world.speed(0) == pytest.approx(200 / seconds)


def test_a_rotation_without_a_new_command_ends_after_a_thousand_seconds():
    servo = Servo("feetech_st")
    servo.write(33, 1, 1)
    servo.write(40, 1, 1)
    servo.write(46, 2, 100)
    servo.run(990.0)
    assert servo.world.speed(0) == pytest.approx(100)
    servo.run(100.0)
    assert servo.world.position(0) == pytest.approx(2048 + 100_000)


# --- Dynamixel X -------------------------------------------------------------------------------------


def test_a_reboot_of_an_x_servo_takes_torque_faults_and_all_turns():
    servo = Servo("dynamixel2", 2)
    servo.write(11, 1, 4, 2)
    servo.world.positions[:] = 5000
    clear = request(servo, X.CLEAR, b"\x01DXL\x22", 2)
    assert servo.error(clear) == 0 and servo.read(132, 4, 2) == 904
    assert servo.read(132, 4, 1) == 5000
    servo.write(64, 1, 1, 2)
    servo.write(116, 4, 1000, 2)
    assert servo.world.target(1) == 5096
    servo.world.latch(1, ServoFault.OVERLOAD)
    assert servo.error(request(servo, X.REBOOT, to=2)) == 0
    assert (servo.world.fault(1), servo.world.has_torque(1)) == (ServoFault.NONE, False)
    assert servo.read(132, 4, 2) == 904
    servo.world.positions[1] = -100 - 4096
    assert servo.error(clear) == 0 and servo.read(132, 4, 2) == 3996


@pytest.mark.parametrize("forgets", ["power", "reboot", "mode", "torque"])
def test_an_x_servo_knows_its_position_within_one_turn_after_a_start_and_in_position_mode(forgets):
    servo = Servo("dynamixel2")
    servo.write(11, 1, 4)
    servo.world.positions[0] = 2 * 4096 + 100
    assert servo.read(132, 4) == 8292
    if forgets == "power":
        servo.power_cycle()
    elif forgets == "reboot":
        servo.ask(request(servo, X.REBOOT))
    else:
        servo.write(11, 1, 3)
        servo.world.positions[0] += 4096 * (forgets == "torque")
        servo.write(64, 1, forgets == "torque")
    assert servo.read(132, 4) == 100
    servo.write(64, 1, 1)
    servo.write(116, 4, 150)
    servo.run(1.0)
    assert servo.read(132, 4) == 150 and servo.world.position(0) % 4096 == pytest.approx(150, abs=0.01)


def test_turns_are_cleared_while_an_x_servo_stands_still_also_under_torque_and_its_goal_with_them():
    servo = Servo("dynamixel2")
    servo.write(11, 1, 4)
    servo.write(64, 1, 1)
    servo.write(116, 4, 9000)
    clear = request(servo, X.CLEAR, b"\x01DXL\x22")
    servo.run(0.3)
    assert servo.error(clear) == 1  # moves
    servo.run(3.0)
    assert servo.error(clear) == 0 and servo.read(132, 4) == servo.read(116, 4) == 808
    assert servo.world.target(0) == 9000


@pytest.mark.parametrize(("mode", "moves"), [(0, True), (1, False), (3, True), (4, True), (5, True), (16, False)])
def test_goals_move_an_x_servo_in_every_mode_but_velocity_and_pwm(mode, moves):
    servo = Servo("dynamixel2")
    servo.write(11, 1, mode)
    servo.write(64, 1, 1)
    servo.write(116, 4, 2500)
    assert servo.world.target(0) == (2500 if moves else 2048)


# --- LX-16A ------------------------------------------------------------------------------------------


def test_only_the_id_of_lx_servos_can_be_asked_of_all():
    servo = Servo("lx16a", 3)
    servo.world.unplug(1)
    replies = servo.ask(lx16a.build(BROADCAST, Lx16aCommand.ID_READ))
    assert replies == [lx16a.build(each, Lx16aCommand.ID_READ, bytes((each,))) for each in (1, 3)]
    assert servo.ask(lx16a.build(BROADCAST, Lx16aCommand.POSITION)) == []
    assert servo.ask(lx16a.build(1, Lx16aCommand.POSITION, b"\x00")) == []
    servo.ask(lx16a.build(BROADCAST, Lx16aCommand.TORQUE_WRITE, b"\x01"))
    assert list(servo.world.torques) == [True, False, True]


def test_lx_commands_of_a_wrong_size_are_ignored():
    servo = Servo("lx16a")
    for command, data in (
        (Lx16aCommand.MOVE, "F4 01 00"),
        (Lx16aCommand.MOVE, "F4 01 00 00 00"),
        (Lx16aCommand.TORQUE_WRITE, ""),
        (Lx16aCommand.TORQUE_WRITE, "01 01"),
        (Lx16aCommand.ID_WRITE, ""),
        (Lx16aCommand.ID_WRITE, "05 05"),
        (Lx16aCommand.ID_WRITE, "FE"),
    ):
        assert lx(servo, command, bytes.fromhex(data)) is None
        assert lx(servo, Lx16aCommand.ID_READ) == b"\x01"
        assert lx(servo, Lx16aCommand.MOVE_READ) == bytes(4) and not servo.world.has_torque(0)
    lx(servo, Lx16aCommand.MOVE_WAIT, bytes.fromhex("BC 02 00 00"))
    lx(servo, Lx16aCommand.START, b"\x00")
    assert servo.world.target(0) == 500
    lx(servo, Lx16aCommand.MOVE, bytes.fromhex("00 00 00 00"))
    lx(servo, Lx16aCommand.STOP, b"\x00")
    assert servo.world.target(0) == 0
    lx(servo, Lx16aCommand.ID_WRITE, b"\xfd")
    assert servo.ask(lx16a.build(0xFD, Lx16aCommand.ID_READ)) == [lx16a.build(0xFD, Lx16aCommand.ID_READ, b"\xfd")]


def test_an_lx_offset_is_kept_without_power_only_if_it_is_saved_and_other_settings_always():
    servo = Servo("lx16a")
    lx(servo, Lx16aCommand.LED, b"\x01")
    lx(servo, Lx16aCommand.LIMITS_WRITE, bytes.fromhex("90 01 58 02"))
    lx(servo, Lx16aCommand.OFFSET, b"\x14")
    lx(servo, Lx16aCommand.OFFSET_SAVE, b"\x00")  # of a wrong size
    servo.power_cycle()
    assert lx(servo, Lx16aCommand.OFFSET_READ) == b"\x00"
    lx(servo, Lx16aCommand.OFFSET, b"\x14")
    lx(servo, Lx16aCommand.OFFSET_SAVE)
    lx(servo, Lx16aCommand.OFFSET, b"\x15")
    assert lx(servo, Lx16aCommand.OFFSET_READ) == b"\x15"
    servo.power_cycle()
    assert lx(servo, Lx16aCommand.OFFSET_READ) == b"\x14"
    assert lx(servo, Lx16aCommand.LED_READ) == b"\x01"
    assert lx(servo, Lx16aCommand.LIMITS_READ) == bytes.fromhex("90 01 58 02")


@pytest.mark.parametrize(("milliseconds", "seconds"), [(500, 0.5), (30000, 30.0), (65535, 30.0)])
def test_an_lx_servo_moves_in_the_time_of_the_command_of_half_a_minute_at_most(milliseconds, seconds):
    servo = Servo("lx16a")
    lx(servo, Lx16aCommand.TORQUE_WRITE, b"\x01")
    lx(servo, Lx16aCommand.MOVE, (700).to_bytes(2, "little") + milliseconds.to_bytes(2, "little"))
    servo.run(0.1)
    assert servo.world.speed(0) == pytest.approx(200 / seconds)


def test_lx_goals_are_clamped_to_the_limits_and_shifted_by_the_offset():
    servo = Servo("lx16a")
    lx(servo, Lx16aCommand.LIMITS_WRITE, bytes.fromhex("90 01 58 02"))  # 400 to 600
    lx(servo, Lx16aCommand.OFFSET, b"\xec")  # -20
    for goal, target in ((100, 420), (500, 520), (900, 620)):
        lx(servo, Lx16aCommand.MOVE, goal.to_bytes(2, "little") + bytes(2))
        assert servo.world.target(0) == target
    servo.world.voltages[:], servo.world.temperatures[:] = 7.4, 47.0
    assert int.from_bytes(lx(servo, Lx16aCommand.VOLTAGE), "little") == 7400
    assert lx(servo, Lx16aCommand.TEMPERATURE) == b"\x2f"


def test_lx_servos_with_one_id_answer_at_the_same_time_after_the_delay():
    world = LagWorld(lx16a.SCALE, 3)
    device = Lx16aDevice(world, [1, 2, 3], delay=0.002)
    ask = lx16a.build(1, Lx16aCommand.TORQUE_READ)
    assert Servo("lx16a").device.receive(ask, 0.0)[0][0] == 0.0
    assert device.receive(ask, 0.0) == [(0.002, lx16a.build(1, Lx16aCommand.TORQUE_READ, b"\x00"))]
    device.rename(2, 1)
    ((delay, reply),) = device.receive(ask, 0.0)
    assert delay == 0.002 and reply == collided(lx16a.build(1, Lx16aCommand.TORQUE_READ, b"\x00"))
