# SPDX-License-Identifier: Apache-2.0
"""The configuration of the servos is checked over a real port each time before their torque is switched on."""

import pytest
from support.kits.recorded_servos import FEMUR, reported
from support.real_time.servo_bench import ServoBench

from hexapod_control.servos.driver.telemetry import TorqueState
from hexapod_control.servos.protocols.feetech_st import FeetechMode, FeetechStRegister


@pytest.fixture
def bench(tmp_path):
    bench = ServoBench(tmp_path)
    yield bench
    bench.close()


def test_a_servo_in_wheel_mode_keeps_the_torque_of_all_off_until_it_is_repaired(bench):
    memory = bench.device.memories[4]
    memory[FeetechStRegister.MODE] = FeetechMode.WHEEL
    refusal = bench.driver.arm()
    assert str(refusal) == (
        f"{FEMUR}: mode is 1: wheel mode, the servo turns without end: hexapod servos repair restores it"
    )
    assert bench.driver.snapshot.torque is TorqueState.OFF and not bench.world.torques.any()
    memory[FeetechStRegister.MODE] = FeetechMode.POSITION
    bench.arm()
    bench.until(bench.world.torques.all, what="torque")


def test_a_weak_or_slow_servo_is_reported_and_used(bench):
    bench.device.memories[4][FeetechStRegister.TORQUE_LIMIT : FeetechStRegister.TORQUE_LIMIT + 2] = b"\x64\x00"
    bench.device.memories[7][FeetechStRegister.RETURN_DELAY] = 50
    bench.arm()
    bench.until(
        lambda: reported(
            bench,
            f"{FEMUR}: torque limit is 100: the servo does not have its full torque: hexapod servos repair restores it",
            "left_rear_femur_joint (id 8): return delay is 50: its replies are late by 2 us per unit",
        )
    )
    assert all(event.kind == "preflight" for event in bench.driver.snapshot.diagnoses)
