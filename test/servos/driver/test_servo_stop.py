# SPDX-License-Identifier: Apache-2.0
"""Stop requests, missing targets, failures of the driver, on an emulated line: the reaction, its delay and its report.

All faults: no goal is farther from the previous one than the joint's speed allows (checked by the fixtures `armed` and
`simulated`), and every report contains what, where and what to do.
"""

import threading
import time

import numpy as np
import pytest
from support.kits.recorded_servos import FAULT, FEMUR, SLACK, kinds, reported

from hexapod_control.servos.bus.ff_bus import FFBus
from hexapod_control.servos.driver.telemetry import TorqueState

UNORDERED_S = 0.8  # until torque that was not ordered is off: one servo is asked per cycle
MAX_STOP_DELAY_S = 0.05  # from the request to torque-off on the wire, also while the bus waits for replies

# --- the emergency stop, and missing targets ---------------------------------------------------------------


def test_an_emergency_stop_sends_torque_off_three_times_and_latches(armed):
    bench = armed()
    frames = []
    bench.pty.listener = frames.append
    begin = time.monotonic()
    bench.driver.press_estop()
    bench.until(lambda: not bench.world.torques.any(), 0.1)
    assert time.monotonic() - begin < 0.1  # [s] at once, on a busy machine
    off = bytes.fromhex("FF FF FE 04 03 28 00 D2")
    bench.until(lambda: b"".join(frames).count(off) == 3, 0.1)
    assert "the emergency stop is latched: run hexapod reset" in str(bench.driver.arm())
    assert "still pressed" in str(bench.driver.reset_fault())
    bench.driver.release_estop()
    assert "latched" in str(bench.driver.arm())
    assert bench.driver.reset_fault() is None
    bench.during(0.2)
    assert not bench.world.torques.any()
    assert bench.driver.arm() is None
    bench.during(0.5)
    bench.assert_no_leap()


def test_an_emergency_stop_waits_for_no_servo_that_does_not_answer(armed):
    bench = armed("dynamixel1")
    bench.pty.faults.mute = True
    bench.during(0.05)
    begin = time.monotonic()
    bench.driver.press_estop()
    bench.until(lambda: not bench.world.torques.any(), 0.2)
    assert time.monotonic() - begin < 0.2


@pytest.mark.parametrize("protocol", ["feetech_st", "dynamixel1", "lx16a"])
def test_an_emergency_stop_does_not_wait_for_late_replies(armed, protocol):
    """From the request until torque-off is on the wire, at any phase of the wait for a late reply."""
    bench = armed(protocol)
    bench.pty.faults.late = 0.2
    bench.until(lambda: bench.driver.snapshot.counters.lateness > bench.pty.faults.late, 4.0, "late replies")
    delays = []
    for phase in range(6):
        bench.during(0.05 + 0.037 * phase)
        begin = time.monotonic()
        assert bench.driver.press_estop() is None
        delays.append(time.monotonic() - begin)
        if not phase:
            bench.until(lambda: not bench.world.torques.any(), 0.1, "torque off")
    assert np.median(delays) < MAX_STOP_DELAY_S, delays
    assert sum(delay > MAX_STOP_DELAY_S for delay in delays) < 2, delays  # one, if the machine is busy


@kinds
def test_unrequested_torque_is_switched_off_again_and_reported(simulated, protocol):
    bench = simulated(protocol)
    bench.driver.press_estop()
    bench.until(lambda: not bench.world.torques.any(), 0.2, "torque off")
    bench.during(0.1)  # torque-off is sent three times
    bench.world.torque(4, True)  # as by the goal of another program
    bench.until(lambda: not bench.world.torques.any(), UNORDERED_S + SLACK, "torque off again")
    bench.until(lambda: reported(bench, f"{FEMUR} has torque although it was switched off: switched off again"), 0.5)
    bench.during(0.2)
    assert len(bench.texts()) < 10


def test_an_emergency_stop_while_the_torque_comes_on_stops_that(armed):
    bench = armed()
    bench.driver.disarm()
    bench.until(lambda: not bench.world.torques.any(), 0.2)
    answers = []
    arming = threading.Thread(target=lambda: answers.append(bench.driver.arm()))
    arming.start()
    bench.until(bench.world.torques.any, 0.5)
    bench.driver.press_estop()
    bench.until(lambda: not bench.world.torques.any(), 0.1)
    arming.join(5.0)
    assert "latched" in answers[0].text
    bench.during(0.4)
    assert not bench.world.torques.any()


def test_targets_that_stop_are_held_within_a_fifth_of_a_second(simulated):
    bench = simulated()
    bench.during(1.2)
    bench.publishing.clear()
    bench.until(lambda: bench.driver.holding, FAULT + SLACK, "hold")
    sent = len(bench.world.received_goals)
    bench.during(0.5)
    goals = np.array([goal for _, index, goal, *_ in bench.world.received_goals[sent + 18 :] if index == 4])
    assert len(goals) > 10
    assert np.ptp(goals) < 0.005  # [rad] the joints hold
    bench.until(
        lambda: reported(bench, "no joint_targets for 0.2 s while moving: holding the last joint angles"),
        0.5,
        "the sentence",
    )
    assert bench.driver.armed


def test_a_defect_in_the_driver_ends_neither_the_thread_nor_the_robot(armed, monkeypatch):
    bench = armed()
    write = FFBus.write_goals
    monkeypatch.setattr(FFBus, "write_goals", lambda *_: 1 / 0)
    bench.until(lambda: not bench.driver.armed, 0.2)
    bench.until(lambda: reported(bench, "the driver failed with ZeroDivisionError"), 0.5, "report")
    monkeypatch.setattr(FFBus, "write_goals", write)
    bench.until(lambda: bench.driver.snapshot.torque is TorqueState.OFF, 2.0)
    bench.until(lambda: reported(bench, "is back, its servos are left as they are: run hexapod arm"), 0.5, "return")
    assert bench.world.torques.all()  # the robot stands on its last goals
    assert bench.driver.arm() is None
