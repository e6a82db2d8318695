# SPDX-License-Identifier: Apache-2.0
"""Emulated chips of an I2C bus by the tables of their data sheets, the bus that they share, and its adapter."""

import errno
import math
import random
import struct

import pytest

from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.servos.bus.pulse_board import SCALE
from hexapod_control.servos.emulated_robot.robot_sensors import RobotSensors
from hexapod_control.servos.emulator.chips.i2c_wire import I2cWire, RegisterChip
from hexapod_control.servos.emulator.chips.io_chips import (
    EmulatedAds7830,
    EmulatedSupply,
    ImuMotion,
    ads1115,
    imu_chip,
    ina219,
    ina226,
)
from hexapod_control.servos.emulator.devices.i2c_adapter import I2cAdapter
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.i2c.adapter_frames import REPLY, REQUEST, encode_messages, frame
from hexapod_control.servos.i2c.foot_switches import FootSwitchSection
from hexapod_control.servos.i2c.i2c_port import I2cRead, I2cWrite
from hexapod_control.servos.settings.io_section import IoSettings

ADDRESS = 0x44


def word(chip, register):
    chip.write(ADDRESS, bytes((register,)))
    return int.from_bytes(chip.read(2), "big")


# --- registers ---------------------------------------------------------------------------------------


def test_narrow_registers_are_written_and_read_one_after_the_other():
    chip = RegisterChip(0x20, {1: 7}, lambda chip: {9: 0x1FF})
    assert chip.acknowledges(0x20) and not chip.acknowledges(0x21)
    chip.write(0x20, bytes((3, 10, 11)))
    chip.write(0x20, b"")
    chip.write(0x20, b"\x01")
    assert (chip.read(2), chip.read(3)) == (b"\x07\x00", b"\x0a\x0b\x00")
    chip.write(0x20, b"\x09")
    assert chip.read(1) == b"\xff"
    chip.power_on()
    assert chip.registers == {1: 7} and chip.read(2) == b"\x00\x07"


def test_wide_registers_have_their_high_byte_first_and_are_repeated():
    chip = RegisterChip(0x20, {0: 0x1234}, lambda chip: {9: chip.registers[5] + 1}, width=2)
    chip.write(0x20, bytes.fromhex("05 AA BB CC DD EE"))  # half a word more
    assert chip.registers == {0: 0x1234, 5: 0xAABB, 6: 0xCCDD}
    for register, data in ((5, "AA BB AA BB AA"), (9, "AA BC"), (0, "12 34 12"), (7, "00 00")):
        chip.write(0x20, bytes((register,)))
        assert chip.read(len(bytes.fromhex(data))) == bytes.fromhex(data)


# --- sensors of the supply ---------------------------------------------------------------------------


def test_sensors_of_the_supply_have_the_registers_of_their_data_sheets_after_power_on():
    supply = EmulatedSupply()
    assert (supply.volts, supply.shunt) == (11.98, 0.02)
    assert ina219(ADDRESS, supply).registers == {0: 0x399F}
    assert ina226(ADDRESS, supply).registers == {0: 0x4127, 0xFE: 0x5449, 0xFF: 0x2260}
    assert ads1115(ADDRESS, supply).registers == {1: 0x8583, 2: 0x8000, 3: 0x7FFF}
    assert word(ads1115(ADDRESS, supply), 0) == 0  # a single conversion that was not started


@pytest.mark.parametrize(
    ("make", "shunt", "volts", "counts"),
    [
        (ina219, 0.02, 12.0, (2000, 3000 << 3 | 2)),
        (ina219, -0.02, 12.0, (0x10000 - 2000, 3000 << 3 | 2)),
        (ina219, 1.0, 0.0, (0x7FFF, 2)),
        (ina226, 0.02, 12.0, (8000, 9600)),
        (ina226, -1.0, 12.0, (0x8000, 9600)),
        (ina226, 1.0, 50.0, (0x7FFF, 0x7FFF)),
    ],
)
def test_current_monitors_have_the_units_and_ends_of_their_data_sheets(make, shunt, volts, counts):
    chip = make(ADDRESS, EmulatedSupply(volts, shunt))
    assert (word(chip, 1), word(chip, 2)) == counts


@pytest.mark.parametrize("channel", range(4))
@pytest.mark.parametrize(("gain", "full"), list(enumerate((6.144, 4.096, 2.048, 1.024, 0.512, 0.256, 0.256, 0.256))))
def test_an_ads1115_converts_its_wired_input_in_the_range_that_is_set(channel, gain, full):
    chip = ads1115(ADDRESS, EmulatedSupply(0.1), channel)
    for multiplexer in range(8):
        chip.write(ADDRESS, b"\x01" + (multiplexer << 12 | gain << 9 | 0x83).to_bytes(2, "big"))
        assert word(chip, 0) == (round(0.1 / full * 32768) if multiplexer == 4 + channel else 0)
    chip.write(ADDRESS, b"\x01" + ((4 + channel) << 12 | gain << 9 | 0x100).to_bytes(2, "big"))
    assert word(chip, 0) == 0  # no conversion is running


CHANNELS_OF_CODES = [0, 2, 4, 6, 1, 3, 5, 7]  # of an ADS7830, by bits 6 to 4 of its command


@pytest.mark.parametrize(("volts", "count"), [(2.5, 128), (5.0, 255), (7.0, 255), (-1.0, 0)])
def test_an_ads7830_converts_the_channel_of_its_command_against_ground(volts, count):
    for code, channel in enumerate(CHANNELS_OF_CODES):
        chip = EmulatedAds7830(ADDRESS, EmulatedSupply(volts), channel)
        assert chip.acknowledges(ADDRESS) and not chip.acknowledges(ADDRESS + 1)
        assert chip.read(1) == b"\x00"  # no command yet
        for other in range(8):
            chip.write(ADDRESS, bytes((0x84 | other << 4,)))
            assert chip.read(2) == bytes([count if other == code else 0] * 2)
        chip.write(ADDRESS, bytes((0x84 | code << 4,)))
        chip.write(ADDRESS, b"")
        assert chip.read(1) == bytes([count])
        chip.write(ADDRESS, bytes((0x04 | code << 4,)))  # a difference
        assert chip.read(1) == b"\x00"
    chip = EmulatedAds7830(ADDRESS, EmulatedSupply(1.0), 0, reference=2.0)
    chip.write(ADDRESS, b"\x84")
    assert chip.read(1) == b"\x80"
    chip.power_on()
    assert chip.read(1) == b"\x00"


# --- other chips -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "register", "value"), [("mpu6050", 0x75, 0x68), ("mpu9250", 0x75, 0x71), ("icm20948", 0, 0xEA)]
)
def test_every_imu_has_the_identity_of_its_data_sheet(name, register, value):
    chip = imu_chip(name, 0x68, ImuMotion())
    chip.write(0x68, bytes((register,)))
    assert chip.read(1) == bytes((value,))


def test_the_counts_of_an_imu_end_at_16_bits_and_its_ranges_at_the_fourth():
    motion = ImuMotion(acceleration=(1e6, -1e6, 0.0), rate=(1e6, -1e6, 0.0), noise=random.Random(1))
    chip = imu_chip("mpu6050", 0x68, motion)
    chip.write(0x68, b"\x6b\x00")
    chip.write(0x68, b"\x3b")
    shown = struct.unpack(">7h", chip.read(14))
    assert (shown[:2], shown[4:6]) == ((32767, -32768), (32767, -32768))
    motion.acceleration = (GRAVITY, 0.0, 0.0)
    chip.write(0x68, b"\x1c\xff")  # other bits do not matter
    chip.write(0x68, b"\x3b")
    assert struct.unpack(">h", chip.read(2))[0] == pytest.approx(2048, abs=50)


def test_foot_switches_are_released_and_their_pins_are_inputs_after_power_on():
    feet = FootSwitchSection("mcp23017", 0x21, "", (1, 2), "low", 0.0)
    (chip,) = RobotSensors(IoSettings(feet=feet)).chips
    assert chip.acknowledges(0x21)
    chip.write(0x21, b"\x00")
    assert chip.read(4) == b"\xff\xff\x00\x00"
    chip.write(0x21, b"\x11")
    assert chip.read(4) == b"\x00\xff\xff\x00"


# --- the bus -----------------------------------------------------------------------------------------


class Chip:
    """Records what is written to it, and replies with its number."""

    def __init__(self, address, number):
        self.address, self.number, self.heard = address, number, []

    def acknowledges(self, address):
        return address in (self.address, 0x70)

    def write(self, address, data):
        self.heard.append((address, data))

    def read(self, count):
        self.heard.append(count)
        return bytes([self.number] * count)

    def stop(self):
        self.heard.append("stop")

    def power_on(self):
        self.heard.append("power")


def heard(wire):
    found = [chip.heard[:] for chip in wire.chips]
    for chip in wire.chips:
        chip.heard.clear()
    return found


def test_a_transfer_reaches_the_chips_that_acknowledge_and_ends_once_for_each():
    wire = I2cWire([Chip(0x40, 0x0F), Chip(0x41, 0x3C)])
    assert wire.transfer([I2cWrite(0x40, b"a"), I2cRead(0x40, 2), I2cRead(0x41, 1)]) == (0, b"\x0f\x0f\x3c")
    assert heard(wire) == [[(0x40, b"a"), 2, "stop"], [1, "stop"]]
    assert wire.transfer([I2cWrite(0x70, b"b"), I2cRead(0x70, 1)]) == (0, b"\x0c")  # low levels win
    assert heard(wire) == [[(0x70, b"b"), 1, "stop"]] * 2


def test_a_transfer_ends_at_the_first_message_that_fails_and_then_reads_nothing():
    wire = I2cWire([Chip(0x40, 1), Chip(0x41, 2)])
    messages = [I2cRead(0x40, 1), I2cRead(0x42, 1), I2cRead(0x41, 1)]
    assert wire.transfer(messages) == (errno.EREMOTEIO, b"")
    assert heard(wire) == [[1, "stop"], []]
    wire.faulty[0x41] = errno.EIO
    assert wire.transfer([I2cRead(0x41, 1)]) == (errno.EIO, b"")
    wire.unplug(0x40)
    assert wire.transfer([I2cRead(0x40, 1)]) == (errno.EREMOTEIO, b"")
    wire.stuck = True
    assert wire.transfer([I2cRead(0x70, 1)]) == (errno.ETIMEDOUT, b"")
    assert heard(wire) == [[], []]
    wire.clear_faults()
    assert wire.transfer(messages[::2]) == (0, b"\x01\x02")


def test_the_power_and_the_plug_of_one_chip_are_those_with_its_address():
    wire = I2cWire([Chip(0x40, 1), Chip(0x41, 2)])
    wire.restart(0x41)
    assert heard(wire) == [[], ["power"]]
    wire.unplug(0x41)
    assert wire.transfer([I2cRead(0x70, 1)]) == (0, b"\x01")
    wire.plug(0x41)
    assert wire.transfer([I2cRead(0x41, 1)]) == (0, b"\x02")
    for act in (wire.unplug, wire.plug, wire.restart):
        with pytest.raises(ValueError, match="one of 0x40, 0x41, is 0x0A"):
            act(0x0A)


# --- servos behind the adapter -----------------------------------------------------------------------


class Rig:
    """Servos on PCA9685 boards; `send` sets the steps of a channel."""

    def __init__(self, ids=range(16), prescaler=121, **options):
        self.world = LagWorld(SCALE, len(ids))
        self.adapter = I2cAdapter(self.world, ids, **options)
        for chip in self.adapter.wire.chips:
            for data in (b"\x00\x11", bytes((0xFE, prescaler)), b"\x00\x21"):
                self.write(chip.address, data)

    def write(self, address, data):
        assert self.adapter.wire.transfer([I2cWrite(address, data)]) == (0, b"")

    def send(self, channel, steps, address=0x40, high=0):
        self.write(address, bytes((6 + 4 * channel, 0, high, steps & 0xFF, steps >> 8)))


STEP_US = 122 / 25.0  # with prescaler 121 and 25 MHz


def test_a_servo_follows_pulses_of_half_its_shortest_to_twice_its_longest():
    rig = Rig()
    for width, followed in ((248, False), (252, True), (1500, True), (4990, True), (5010, False)):
        rig.write(0x40, b"\x0e\x00\x00\x00\x10")  # off
        assert not rig.world.has_torque(2)
        steps = round(width / STEP_US)
        rig.send(2, steps)
        assert rig.world.has_torque(2) == followed
        if followed:
            assert rig.world.target(2) == pytest.approx(steps * STEP_US)
    rig.send(2, 300)
    rig.send(2, 0, high=0x10)  # always high: no pulse that a servo understands
    assert rig.world.has_torque(2) and rig.world.target(2) == pytest.approx(300 * STEP_US)
    rig.send(2, 0)
    assert not rig.world.has_torque(2)


@pytest.mark.parametrize(("prescaler", "followed"), [(151, True), (152, False)])
def test_a_servo_follows_pulses_every_25_ms_at_least(prescaler, followed):
    rig = Rig(prescaler=prescaler)  # 24.9 ms, 25.07 ms
    rig.send(0, 240)
    assert rig.world.has_torque(0) == followed


def test_every_board_has_sixteen_ids_an_address_and_an_oscillator():
    rig = Rig(ids=(3, 17, 40), addresses=(0x41, 0x45, 0x50), oscillator=(25.0, 24.0, 26.0))
    for address, channel in ((0x41, 3), (0x45, 1), (0x50, 8)):
        rig.send(channel, 300, address)
    assert [rig.world.target(i) for i in range(3)] == pytest.approx([300 * 122 / mhz for mhz in (25.0, 24.0, 26.0)])
    rig = Rig(ids=(0, 16), oscillator=(24.0,))
    assert [chip.address for chip in rig.adapter.wire.chips] == [0x40, 0x41]
    rig.send(0, 300, 0x41)
    assert [rig.world.target(i) for i in range(2)] == pytest.approx([1500, 300 * 122 / 24.0])


def test_replies_of_the_adapter_are_of_a_fixed_length_and_an_unfinished_request_is_dropped_after_50_ms():
    adapter = I2cAdapter(LagWorld(SCALE), range(18))
    ask = frame(REQUEST, 9, encode_messages((I2cWrite(0x40, b"\x02"), I2cRead(0x40, 1), I2cRead(0x40, 2))))
    assert adapter.receive(ask, 1.0) == [(0.0, frame(REPLY, 9, b"\x00\xe2\xe2\xe2"))]
    lost = frame(REQUEST, 7, encode_messages((I2cRead(0x50, 3), I2cRead(0x40, 2))))
    assert adapter.receive(lost, 1.0) == [(0.0, frame(REPLY, 7, bytes((errno.EREMOTEIO, 0, 0, 0, 0, 0))))]
    for pause, replies in ((0.049, 1), (0.051, 0)):
        adapter.receive(ask[:6], 2.0)
        assert len(adapter.receive(ask[6:], 2.0 + pause)) == replies
        adapter.receive(b"", 3.0)
    assert math.isfinite(adapter.world.position(0))
