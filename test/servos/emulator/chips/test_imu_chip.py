"""Emulated IMUs by the figures of their register maps."""

import math
import struct

import pytest

from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.servos.emulator.chips.imu_chip import ACCELERATION_NOISE, RATE_NOISE, EmulatedMpu, ImuMotion

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
