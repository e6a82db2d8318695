# SPDX-License-Identifier: Apache-2.0
"""Emulated IMUs by the figures of their register maps."""

import math
import struct

import numpy as np
import pytest

from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.servos.emulator.chips.io_chips import (
    ACCELERATION_NOISE,
    RATE_NOISE,
    EmulatedBno055,
    EmulatedIcm20948,
    EmulatedMpu,
    ImuMotion,
)

POWER, IDENTITY, RATE_RANGE, ACCELERATION_RANGE, READINGS = 0x6B, 0x75, 0x1B, 0x1C, 0x3B
DEVIATIONS = 5  # standard deviations of the noise


def test_bit_7_resets_an_mpu_and_its_identity_cannot_be_written():
    chip = EmulatedMpu(0x68, ImuMotion())
    for register, value in ((POWER, 0), (RATE_RANGE, 0x18), (IDENTITY, 1)):
        chip.write(0x68, bytes((register, value)))
    assert chip.registers == {POWER: 0, RATE_RANGE: 0x18, IDENTITY: 0x68}
    chip.write(0x68, bytes((POWER, 0x80)))
    assert chip.registers == {POWER: 0x40, IDENTITY: 0x68}


@pytest.mark.parametrize("number", range(4))
def test_counts_of_an_mpu_follow_its_ranges(number):
    """16384 counts per g and 131 per degree per second in range 0, half of it in each further one."""
    turning = math.radians(100.0)
    chip = EmulatedMpu(0x68, ImuMotion(rate=(turning, 0.0, 0.0), bias=(0.0, 0.0, 0.0)))
    for register, value in ((POWER, 0), (RATE_RANGE, number << 3), (ACCELERATION_RANGE, number << 3)):
        chip.write(0x68, bytes((register, value)))
    chip.write(0x68, bytes((READINGS,)))
    _, _, up, _, rate, _, _ = struct.unpack(">7h", chip.read(14))
    per_g, per_degree = 16384 / 2**number, 131.0 / 2**number
    assert up == pytest.approx(per_g, abs=DEVIATIONS * ACCELERATION_NOISE * per_g / GRAVITY + 0.5)
    assert rate == pytest.approx(100 * per_degree, abs=DEVIATIONS * math.degrees(RATE_NOISE) * per_degree + 0.5)


def registers(chip, first, count):
    chip.write(chip.address, bytes((first,)))
    return chip.read(count)


def test_a_bno055_shows_the_identities_of_its_parts_and_moves_only_while_it_fuses():
    motion = ImuMotion(acceleration=(1.0, -2.0, 9.0), rate=(0.5, 0.0, -0.5), orientation=(0.5, -0.5, 0.5, 0.5))
    chip = EmulatedBno055(0x28, motion)
    assert registers(chip, 0, 4) == bytes.fromhex("A0 FB 32 0F")
    assert (registers(chip, 0, 1), chip.read(2), chip.read(1)) == (b"\xa0", b"\xfb\x32", b"\x0f")  # where it ended
    assert registers(chip, 8, 32) == bytes(32)
    for mode, moves in ((0x07, False), (0x08, True)):  # 07: sensors without fusion
        chip.write(0x28, bytes((0x3D, mode)))
        assert any(registers(chip, 8, 32)) == moves
    shown = struct.unpack("<3h6x3h6x4h", registers(chip, 8, 32))
    assert shown[:3] == pytest.approx((100, -200, 900), abs=100 * DEVIATIONS * ACCELERATION_NOISE + 0.5)
    assert shown[3:6] == tuple(round(math.degrees(rate) * 16) for rate in motion.rate)
    assert shown[6:] == (8192, -8192, 8192, 8192)
    motion.orientation = (-1.0, 0.0, 0.0, 0.0)
    shown = struct.unpack("<3h6x3h6x4h", registers(chip, 8, 32))
    assert shown[6:] == (-16384, 0, 0, 0)
    motion.frozen, motion.rate = True, (0.0, 0.0, 0.0)
    assert struct.unpack("<3h6x3h6x4h", registers(chip, 8, 32)) == shown


def test_the_ranges_of_an_icm20948_are_in_its_third_bank_and_it_sleeps_until_it_is_woken():
    chip = EmulatedIcm20948(0x68, ImuMotion(rate=(math.radians(100.0), 0.0, 0.0), bias=(0.0, 0.0, 0.0)))
    assert registers(chip, 0x2D, 12) == bytes(12)
    chip.write(0x68, bytes((0x00, 0x11)))  # the identity cannot be written
    assert registers(chip, 0, 1) == b"\xea"
    chip.write(0x68, bytes((0x06, 0x01)))
    for gyro, acceleration in ((0, 0), (1, 2), (3, 1)):
        for register, value in ((0x7F, 0x20), (0x01, gyro << 1), (0x14, acceleration << 1), (0x7F, 0x00)):
            chip.write(0x68, bytes((register, value)))
        _, _, up, rate, _, _ = struct.unpack(">6h", registers(chip, 0x2D, 12))
        per_g, per_degree = 16384 / 2**acceleration, 131.0 / 2**gyro
        assert up == pytest.approx(per_g, abs=DEVIATIONS * ACCELERATION_NOISE * per_g / GRAVITY + 0.5)
        assert rate == pytest.approx(100 * per_degree, abs=DEVIATIONS * math.degrees(RATE_NOISE) * per_degree + 0.5)
    chip.write(0x68, bytes((0x06, 0x80)))
    assert chip.registers == {0x00: 0xEA, 0x06: 0x41}


def test_an_emulated_imu_lies_level_and_has_a_noise_and_a_bias_of_about_a_degree_per_second():
    chip = EmulatedMpu(0x68, ImuMotion())
    chip.write(0x68, bytes((POWER, 0)))
    rows = [struct.unpack(">7h", registers(chip, READINGS, 14)) for _ in range(400)]
    mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0)
    assert mean[:3] * GRAVITY / 16384 == pytest.approx((0.0, 0.0, GRAVITY), abs=0.01)
    assert np.radians(mean[4:] / 131.0) == pytest.approx((0.02, -0.01, 0.015), abs=5e-4)
    assert spread[:3] * GRAVITY / 16384 == pytest.approx([ACCELERATION_NOISE] * 3, rel=0.2)
    assert np.radians(spread[4:] / 131.0) == pytest.approx([RATE_NOISE] * 3, rel=0.2)
    assert mean[3] == 0.0
