# SPDX-License-Identifier: Apache-2.0
"""IMU chips: what is written and read, against the register maps, and refusals."""

import math
import struct
from types import SimpleNamespace

import pytest

from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.servos.emulator.chips.i2c_wire import I2cWire
from hexapod_control.servos.emulator.chips.io_chips import EmulatedMpu, ImuMotion, imu_chip
from hexapod_control.servos.i2c import imu_chips
from hexapod_control.servos.i2c.i2c_port import I2cRead, TransferError, failure
from hexapod_control.servos.i2c.imu_chips import IMU_CHIPS, ImuDevice


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    """The pauses in which a chip starts take no time."""
    monkeypatch.setattr(imu_chips, "time", SimpleNamespace(sleep=lambda seconds: None))


class Line:
    """A bus with one emulated IMU; records what is written, and pauses afterwards."""

    path, baud = "/dev/i2c-1", 400_000

    def __init__(self, chip):
        self.wire, self.written, self.paused = I2cWire([chip]), [], 0.0

    def transfer(self, *messages):
        self.written += [each.data.hex(" ").upper() for each in messages if not isinstance(each, I2cRead)]
        number, data = self.wire.transfer(messages)
        if number:
            raise failure(self.path, messages[0].address, number)
        return data

    def pause(self, seconds):
        self.paused += seconds
        self.written[-1] += f" @{1000.0 * seconds:g}" if seconds else ""


def device(name, motion=None, chip=""):
    row = IMU_CHIPS[name]
    line = Line(imu_chip(chip or name, row.address, motion or ImuMotion()))
    return ImuDevice(line, row, row.address), line


@pytest.mark.parametrize("name", IMU_CHIPS)
def test_every_chip_measures_in_si_units(name):
    motion = ImuMotion((1.0, -2.0, 9.0), (0.3, -0.4, 0.5), (0.0, 0.0, 0.0), (0.5, 0.5, -0.5, 0.5))
    imu, _ = device(name, motion)
    imu.configure()
    samples = [imu.read() for _ in range(50)]
    for quantity, expected, tolerance in (("acceleration", (1.0, -2.0, 9.0), 0.05), ("rate", (0.3, -0.4, 0.5), 0.005)):
        mean = [sum(getattr(s, quantity)[i] for s in samples) / 50 for i in range(3)]
        assert mean == pytest.approx(expected, abs=tolerance)
    if name == "bno055":
        assert samples[0].orientation == pytest.approx((0.5, 0.5, -0.5, 0.5), abs=1e-4)
    else:
        assert samples[0].orientation is None


# Identity; reset; clock of the gyro; 44 Hz; 1 kHz / 5; 500 deg/s; 4 g; readings. @: pause afterwards [ms].
MPU = ["75", "6B 80 @100", "6B 01 @30", "1A 03", "19 04", "1B 08"]
WRITTEN = {
    "mpu6050": [*MPU, "1C 08 @50", "3B"],
    "mpu9250": [*MPU, "1C 08 @50", "1D 03", "3B"],  # 45 Hz of the acceleration
    # Identity; bank 0: reset, clock; bank 2: 1.1 kHz / 5, 500 deg/s, 1.1 kHz / 5, 4 g; bank 0: readings.
    "icm20948": [
        *("00", "7F 00", "06 80 @100", "06 01 @30", "7F 20", "00 04", "01 1B", "11 04", "14 1B", "7F 00 @50", "2D")
    ],
    "bno055": ["00", "3D 00 @25", "3B 00", "3D 08 @25", "08"],  # identity; configuration; SI units; fusion; readings
}


@pytest.mark.parametrize("name", IMU_CHIPS)
def test_a_chip_is_woken_and_set_to_the_registers_of_its_map_in_a_fifth_of_a_second(monkeypatch, name):
    imu, line = device(name)
    monkeypatch.setattr(imu_chips.time, "sleep", line.pause)
    imu.configure()
    imu.read()
    assert line.written == WRITTEN[name]
    assert line.paused <= 0.2


def test_the_counts_of_an_mpu6050_are_those_of_its_data_sheet():
    """At 4 g there are 8192 counts per g, at 500 deg/s there are 65.5 per deg/s."""
    still = ImuMotion()
    imu, line = device("mpu6050", still)
    imu.configure()
    still.frozen = True
    line.wire.chips[0].registers[0x6B] = 0x40
    data = struct.pack(">7h", 8192, -4096, 16384, 0, 655, -1310, 0)

    class Given(Line):
        def transfer(self, *messages):
            return data

    sample = ImuDevice(Given(None), IMU_CHIPS["mpu6050"], 0x68).read()
    assert sample.acceleration == pytest.approx((GRAVITY, -0.5 * GRAVITY, 2.0 * GRAVITY))
    assert sample.rate == pytest.approx((math.radians(10.0), math.radians(-20.0), 0.0))


def test_the_quaternion_of_a_bno055_has_2_to_the_14_counts_low_byte_first():
    data = bytes(24) + struct.pack("<4h", 0, 16384, 0, 0)

    class Given(Line):
        def transfer(self, *messages):
            return data

    assert ImuDevice(Given(None), IMU_CHIPS["bno055"], 0x28).read().orientation == (0.0, 1.0, 0.0, 0.0)
    data = bytes(24) + struct.pack("<4h", 3000, 0, 0, -4000)
    assert ImuDevice(Given(None), IMU_CHIPS["bno055"], 0x28).read().orientation == pytest.approx((0.6, 0, 0, -0.8))
    data = bytes(32)  # before the fusion has begun
    assert ImuDevice(Given(None), IMU_CHIPS["bno055"], 0x28).read().orientation is None


def test_an_emulated_mpu6050_sleeps_after_power_on_and_does_not_change_its_readings_then():
    chip = EmulatedMpu(0x68, ImuMotion())
    wire = I2cWire([chip])
    assert wire.transfer([I2cRead(0x68, 1)])[0] == 0
    chip.write(0x68, b"\x3b")
    asleep = chip.read(14)
    chip.write(0x68, b"\x3b")
    assert chip.read(14) == asleep == bytes(14)
    chip.write(0x68, b"\x6b\x01")
    chip.write(0x68, b"\x3b")
    assert struct.unpack(">7h", chip.read(14))[2] == pytest.approx(16384, abs=400)  # 2 g after power-on
    chip.write(0x68, b"\x75\x00")
    chip.write(0x68, b"\x75")
    assert chip.read(1) == b"\x68"


def test_another_chip_at_the_address_is_named():
    imu, line = device("mpu6050", chip="mpu9250")
    with pytest.raises(TransferError, match=r"at address 0x68 is no MPU6050, its identity is 0x71 instead of 0x68"):
        imu.configure()
    assert line.written == ["75"]  # nothing is written
    with pytest.raises(TransferError, match=r"correct io\.imu\.chip to mpu9250"):
        imu.configure()
    line.wire.chips[0].registers[0x75] = 0x70
    with pytest.raises(TransferError, match=r"is 0x70 instead of 0x68: correct io\.imu\.chip or the address"):
        imu.configure()
