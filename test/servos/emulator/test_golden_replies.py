# SPDX-License-Identifier: Apache-2.0
"""Bytes that servos and boards answer, as their manuals print them or computed from their rules, in the order sent."""

import pytest
from support.kits.emulated_servo import Servo, lx
from support.kits.memory_wire import AT_ONCE, MemoryPort

from hexapod_control.servos.bus import ff_frames
from hexapod_control.servos.bus.bus_interface import ServoFault, ServoQuantity
from hexapod_control.servos.bus.pulse_board import SCALE
from hexapod_control.servos.emulator.devices.ssc32_device import Ssc32Device
from hexapod_control.servos.emulator.pseudo_terminal import PseudoTerminal
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.protocols import dynamixel2
from hexapod_control.servos.protocols.lx16a import Lx16aCommand

SILENCE = ""
X_OK = "FF FF FD 00 01 04 00 55 00 A1 0C"
GOLDEN = {
    "AX: a damaged request": ("dynamixel1", [("FF FF 01 04 02 24 08 CD", "FF FF 01 02 10 EC")]),
    "AX: a damaged request to all": ("dynamixel1", [("FF FF FE 02 01 FD", SILENCE)]),
    "AX: a damaged request at level 1": (
        "dynamixel1",
        [("FF FF 01 04 03 10 01 E6", SILENCE), ("FF FF 01 04 02 24 08 CD", SILENCE)],
    ),
    "AX: ping and read at level 0": (
        "dynamixel1",
        [
            ("FF FF 01 04 03 10 00 E7", SILENCE),
            ("FF FF 01 04 02 24 02 D2", SILENCE),
            ("FF FF 01 02 01 FB", "FF FF 01 02 00 FC"),
        ],
    ),
    "AX: a read beyond the last register": ("dynamixel1", [("FF FF 01 04 02 31 02 C5", "FF FF 01 02 08 F4")]),
    "STS: a damaged request": ("feetech_st", [("FF FF 01 04 02 38 02 BF", SILENCE)]),
    "LX: a damaged request": ("lx16a", [("55 55 01 03 1C DE", SILENCE)]),
    "X: a damaged request": (
        "dynamixel2",
        [("FF FF FD 00 01 07 00 02 84 00 04 00 1D 16", "FF FF FD 00 01 04 00 55 03 AB 0C")],
    ),
    "X: a damaged request to all": ("dynamixel2", [("FF FF FD 00 FE 03 00 01 31 43", SILENCE)]),
    "X: clear, standing still": ("dynamixel2", [("FF FF FD 00 01 08 00 10 01 44 58 4C 22 B1 DC", X_OK)]),
    "X: action without a registered write": (
        "dynamixel2",
        [("FF FF FD 00 01 03 00 05 02 CE", "FF FF FD 00 01 04 00 55 02 AE 8C")],
    ),
    "X: backup, then restore": (
        "dynamixel2",
        [
            ("FF FF FD 00 01 08 00 20 02 43 54 52 4C 9E F5", "FF FF FD 00 01 04 00 55 01 A4 8C"),
            ("FF FF FD 00 01 08 00 20 01 43 54 52 4C 16 F5", X_OK),
            ("FF FF FD 00 01 08 00 20 02 43 54 52 4C 9E F5", X_OK),
        ],
    ),
    "X: factory reset, except the id": ("dynamixel2", [("FF FF FD 00 01 04 00 06 01 A1 E6", X_OK)]),
    "X: reset of all values of all servos": ("dynamixel2", [("FF FF FD 00 FE 04 00 06 FF 8E 4C", SILENCE)]),
}


@pytest.mark.parametrize("case", GOLDEN)
def test_a_request_is_answered_with_the_bytes_of_the_manual(case):
    protocol, exchanges = GOLDEN[case]
    servo = Servo(protocol)
    for request, reply in exchanges:
        assert b"".join(servo.ask(bytes.fromhex(request))).hex(" ").upper() == reply


@pytest.mark.parametrize(
    ("protocol", "reply"),
    [
        ("dynamixel1", "FF FF 01 02 20 DC"),
        ("feetech_st", "FF FF 01 02 20 DC"),
        ("feetech_sc", "FF FF 01 02 20 DC"),
        ("dynamixel2", "FF FF FD 00 01 07 00 55 80 24 04 2E C1 5F"),
    ],
)
def test_a_ping_of_an_overloaded_servo_tells_the_fault(protocol, reply):
    servo = Servo(protocol)
    servo.world.latch(0, ServoFault.OVERLOAD)
    (found,) = servo.ask(servo.frames.build(1, 1))
    assert found == bytes.fromhex(reply)


# --- Dynamixel X -------------------------------------------------------------------------------------


def wait(servo, seconds):
    """Time passes, in which the servos receive nothing."""
    servo.now += seconds
    servo.device.receive(b"", servo.now)


def test_the_watchdog_of_an_x_servo_stops_it_at_its_time_and_refuses_goals_until_it_is_cleared():
    servo = Servo("dynamixel2")
    servo.write(11, 1, 1)
    assert servo.write(64, 1, 1) == servo.write(112, 4, 90) == servo.write(104, 4, 50) == 0
    wait(servo, 1.0)
    assert servo.write(98, 1, 5) == 0  # 100 ms
    start = servo.world.position(0)
    wait(servo, 0.09)
    assert servo.read(98, 1) == 5
    wait(servo, 1.0)
    assert (servo.read(98, 1), servo.read(112, 4)) == (-1, 0)
    wait(servo, 1.0)
    assert servo.read(128, 4) == 0 and 0 < servo.world.position(0) - start < 0.3 * 50 * 0.229 / 60 * 4096
    for register, size in ((100, 2), (104, 4), (116, 4)):
        assert servo.write(register, size, 40) == 4
    assert servo.write(98, 1, -1) == servo.write(98, 1, 128) == 4
    assert servo.write(98, 1, 0) == servo.write(104, 4, 150) == 0
    wait(servo, 0.5)
    assert servo.read(128, 4) == 150


def test_the_watchdog_waits_for_any_instruction_on_the_bus_and_only_under_torque():
    servo = Servo("dynamixel2", 2)
    servo.write(98, 1, 5)
    wait(servo, 1.0)
    assert servo.read(98, 1) == 5
    servo.write(64, 1, 1)
    for _ in range(5):
        wait(servo, 0.08)
        servo.read(64, 1, 2)
    assert servo.read(98, 1) == 5
    wait(servo, 0.11)
    assert servo.read(98, 1) == -1 and servo.world.has_torque(0)


def test_goals_beyond_the_limits_of_an_x_servo_are_refused():
    servo = Servo("dynamixel2")
    assert servo.write(36, 2, 400) == servo.write(44, 4, 100) == 0
    for register, size, limit in ((100, 2, 400), (104, 4, 100)):
        for goal in (limit, -limit):
            assert servo.write(register, size, goal) == 0
        for goal in (limit + 1, -limit - 1):
            assert servo.write(register, size, goal) == 6
    servo.write(11, 1, 4)
    assert (servo.write(116, 4, 1_048_575), servo.write(116, 4, -1_048_576)) == (0, 4)
    assert [servo.write(11, 1, mode) for mode in (0, 1, 2, 5, 16, 17)] == [4, 0, 4, 4, 0, 4]
    assert servo.read(100, 2) == 400  # at each change of the mode


def test_indirect_registers_of_an_x_servo_reach_the_registers_behind_them():
    servo = Servo("dynamixel2")
    assert servo.read(224, 1) == 0 and servo.write(224, 1, 77) == 0 and servo.read(224, 1) == 77
    for at, behind in enumerate((65, 116, 117, 118, 119, 132, 133, 134, 135)):
        assert servo.write(168 + 2 * at, 2, behind) == 0
    servo.write(64, 1, 1)
    assert servo.write(224, 5, 1 | 2100 << 8) == 0
    assert (servo.read(65, 1), servo.world.target(0)) == (1, 2100)
    servo.run(1.0)
    assert servo.read(229, 4) == 2100
    assert servo.write(229, 4, 0) == 7 and servo.write(225, 3, 0) == 5 and servo.write(225, 4, 5000) == 6
    assert servo.write(168, 2, 63) == 4


def test_a_second_id_moves_servos_together_without_a_status_and_never_writes_their_eeprom():
    servo = Servo("dynamixel2", 3)
    for each in (1, 2):
        servo.write(12, 1, 3, each)
    assert [reply[4] for reply in servo.ask(dynamixel2.write_request(3, 65, b"\x01"))] == [3]
    assert [servo.read(65, 1, each) for each in (1, 2, 3)] == [1, 1, 1]
    assert servo.write(31, 1, 50, 3) == 0
    assert [servo.read(31, 1, each) for each in (1, 2, 3)] == [72, 72, 50]
    servo.write(12, 1, 100, 1)
    assert servo.ask(dynamixel2.write_request(100, 65, b"\x00")) == []
    assert [servo.read(65, 1, each) for each in (1, 2, 3)] == [0, 1, 1]


def test_a_backup_is_refused_under_torque_and_restores_the_eeprom():
    servo = Servo("dynamixel2")
    store, restore = (dynamixel2.build(1, 0x20, bytes((order,)) + b"CTRL") for order in (1, 2))
    servo.write(31, 1, 60)
    assert (servo.read(147, 1), servo.error(store), servo.read(147, 1)) == (0, 0, 1)
    servo.write(31, 1, 40)
    servo.write(64, 1, 1)
    assert servo.error(store) == servo.error(restore) == 1
    servo.write(64, 1, 0)
    assert servo.error(restore) == 0 and servo.read(31, 1) == 60


def test_a_homing_offset_of_more_than_a_quarter_turn_is_ignored_in_position_mode():
    servo = Servo("dynamixel2")
    for offset, shown in ((1024, 3072), (1025, 2048), (-1024, 1024), (-1025, 2048)):
        servo.write(20, 4, offset)
        assert servo.read(132, 4) == shown
    servo.write(11, 1, 4)
    assert servo.read(132, 4) == 2048 - 1025


# --- others ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "limit", "maximum"), [("dynamixel1", 34, 14), ("feetech_st", 48, 16)])
def test_the_torque_limit_of_a_servo_is_its_maximum_torque_after_power_on(protocol, limit, maximum):
    servo = Servo(protocol)
    if protocol == "feetech_st":
        servo.write(55, 1, 0)  # unlocks the EEPROM
    servo.write(maximum, 2, 600)
    assert servo.read(limit, 2) > 600
    servo.power_cycle()
    assert servo.read(limit, 2) == 600


@pytest.mark.parametrize(("load", "counts"), [(0.0, 8), (0.5, 85), (-0.5, 0x8000 | 85)])
@pytest.mark.parametrize("protocol", ["feetech_st", "feetech_sc"])
def test_a_feetech_servo_shows_its_current_under_torque(protocol, load, counts):
    servo = Servo(protocol)
    servo.world.loads[0] = load
    assert servo.read(69, 2) == 0
    servo.write(40, 1, 1)
    assert servo.read(69, 2) == counts  # 6.5 mA


def test_a_move_switches_the_torque_of_an_lx_servo_on_and_torque_on_holds_where_it_is():
    servo = Servo("lx16a")
    lx(servo, Lx16aCommand.MOVE, bytes.fromhex("58 02 00 00"))
    servo.run(1.0)
    assert lx(servo, Lx16aCommand.TORQUE_READ) == b"\x01" and lx(servo, Lx16aCommand.POSITION) == b"\x58\x02"
    lx(servo, Lx16aCommand.TORQUE_WRITE, b"\x00")
    servo.world.positions[0] = 300
    lx(servo, Lx16aCommand.TORQUE_WRITE, b"\x01")
    servo.run(1.0)
    assert servo.world.position(0) == 300
    servo.world.latch(0, ServoFault.OVERLOAD)
    lx(servo, Lx16aCommand.MOVE, bytes.fromhex("58 02 00 00"))
    assert lx(servo, Lx16aCommand.TORQUE_READ) == b"\x00"


def board(*lines):
    device = Ssc32Device(LagWorld(SCALE))
    return [b"".join(reply for _, reply in device.receive(line, 0.0)) for line in lines], device


def test_the_registers_of_an_ssc32_hold_what_is_written():
    replies, _ = board(b"R4\r", b"R 32 = -50\r", b"R32\r", b"R0=1023\r", b"R0\r", b"RDFLT\r", b"R32\r", b"R256\r")
    assert replies == [b"960\r", b"", b"-50\r", b"", b"1023\r", b"OK\r", b"0\r", b""]


def test_register_4_of_an_ssc32_is_a_tenth_of_the_baud_of_its_line():
    device = Ssc32Device(LagWorld(SCALE))
    with PseudoTerminal(device, 115_200):
        assert device.receive(b"R4\r", 0.0)[0][1] == b"11520\r"


def test_offsets_and_levels_of_an_ssc32():
    _, device = board(b"#4PO-50#5PO100\r", b"#4P1500#5P1500#9P1500\r", b"#4PO101\r")
    assert [device.pulse(channel, 1.0) for channel in (4, 5, 9)] == [1450, 1600, 1500]
    device.receive(b"#4H#5L\r#1:3\r", 1.0)
    assert [device.pulse(channel, 1.0) for channel in (4, 5, 9)] == [0, 0, 0]


# --- the driver --------------------------------------------------------------------------------------


def test_frames_with_a_wrong_checksum_are_reported_by_servos_and_only_counted_by_the_host():
    for decoder, frame, at in (
        (ff_frames.FFDecoder(), ff_frames.read_request(7, 36, 2), 5),
        (dynamixel2.Dynamixel2Decoder(), dynamixel2.read_request(7, 36, 2), 8),
    ):
        damaged = frame[:at] + b"\x00" + frame[at + 1 :]
        assert decoder.feed(damaged) == [] and decoder.bad == 1
        decoder.reports_damage = True
        assert decoder.feed(damaged) == [ff_frames.FFPacket(7, ff_frames.DAMAGED, b"")]


class DamagingPort(MemoryPort):
    """Damages the last byte of the next `damages` requests."""

    def __init__(self, device, damages):
        super().__init__(device, 1_000_000)
        self.damages, self.sent = damages, []

    def write(self, data):
        self.sent.append(data)
        damaged = self.damages > 0
        self.damages -= damaged
        super().write(data[:-1] + bytes((data[-1] ^ damaged,)))


@pytest.mark.usefixtures("memory_time")
@pytest.mark.parametrize("protocol", ["dynamixel1", "dynamixel2"])
def test_a_write_that_reaches_a_servo_damaged_is_sent_again_and_a_read_is_not_taken_for_data(protocol):
    servo = Servo(protocol, 2)
    port = DamagingPort(servo.device, 0)
    bus = PROTOCOLS[protocol].open(port, (1, 2), wait=AT_ONCE)
    limit = 31 if servo.two else 11  # maximum temperature
    for damages, written in ((1, True), (2, True), (3, False)):
        port.damages = damages
        bus.write_registers(1, limit, bytes((60 + damages,)))
        assert (servo.read(limit, 1) == 60 + damages) == written
    port.damages = 1
    assert bus.registers(1, limit, 1) is None and bus.counters.bad > 0
    port.damages = 1
    assert bus.read([2], ServoQuantity.POSITION).keys() <= {2}
    assert bus.read([1, 2], ServoQuantity.POSITION).keys() == {1, 2}
    port.damages = 1
    servo.world.latch(0, ServoFault.OVERLOAD)
    bus.recover(1)
    assert servo.world.fault(0) is ServoFault.NONE
    port.damages = 1
    bus.set_id(2, 9)
    assert bus.ping(9) is not None
