# SPDX-License-Identifier: Apache-2.0
"""PCA9685 boards that are missing, lost or restarted, over an emulated I2C bus: the reaction and its report."""

from dataclasses import replace

import numpy as np
import pytest
from support.kits.recorded_servos import HIGH, LOST, SLACK, reported
from support.phantomx import robot
from support.real_time.servo_bench import ServoBench

from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.driver.boards import MIN_SILENCE_S, PAUSE_S, SERVOS_AT_ONCE
from hexapod_control.servos.driver.telemetry import PlannerRequest, TorqueState
from hexapod_control.servos.settings.servo_section import standard

COUNT = 9  # servos on each of two boards: those of the left legs, and of the right ones
IDS = tuple(16 * board + channel for board in (0, 1) for channel in range(COUNT))
RETURN = COUNT / SERVOS_AT_ONCE * PAUSE_S + SLACK  # [s] for all servos of a board
RETRY_DELAY_S = 0.1 + SLACK  # until a board that answers again is asked


@pytest.fixture
def bench(tmp_path):
    usual = standard(robot(), "pca9685", "/dev/none").joints
    joints = tuple(replace(joint, id=i) for joint, i in zip(usual, IDS, strict=True))
    made = ServoBench(tmp_path, "pca9685", start=HIGH, connect=False, joints=joints, baud=400_000)
    yield made
    made.close()


def start(bench):
    bench.driver.connect()
    bench.driver.start()
    bench.arm()
    bench.during(0.3)
    return bench.device.wire


def request(bench):
    return bench.driver.snapshot.planner_request


def test_a_lost_board_stops_the_robot_is_named_and_its_servos_return_from_where_they_were(bench):
    wire = start(bench)
    wire.unplug(0x41)
    bench.until(lambda: request(bench) is PlannerRequest.STOP, LOST + SLACK, "stop")
    text = "the PCA9685 at 0x41 does not answer, the robot stops: check its power and its cable; on it: right_front"
    bench.until(lambda: reported(bench, text), SLACK, "report")
    assert not any("0x40" in each for each in bench.texts())
    bench.during(0.5)
    assert bench.driver.armed
    assert bench.world.torques.all()  # the board has gone on with its last pulses
    wire.plug(0x41)
    bench.until(lambda: request(bench) is PlannerRequest.NOTHING, RETRY_DELAY_S + RETURN, "walks again")
    bench.until(lambda: not bench.troubles("board"), SLACK, "no report")
    bench.during(1.0)
    assert np.abs(bench.driver.snapshot.joints - bench.world.angles()).max() < 0.15
    bench.assert_no_leap()


def test_a_board_that_restarts_gets_its_pulses_back_a_few_at_a_time(bench):
    wire = start(bench)
    bench.world.switched.clear()
    wire.restart(0x41)
    assert not bench.world.torques[COUNT:].any()
    bench.until(lambda: bench.world.torques[COUNT:].any(), 0.2 + SLACK, "first servos")
    assert bench.world.torques[COUNT:].sum() <= SERVOS_AT_ONCE
    bench.until(bench.world.torques.all, RETURN, "all servos")
    assert [index for index, _, _ in bench.world.switched] == list(range(COUNT, 2 * COUNT))
    assert bench.driver.armed
    bench.assert_no_leap()


@pytest.mark.parametrize("restarts", [False, True])
def test_if_all_boards_are_lost_the_robot_holds_and_goes_on_unless_they_have_restarted(bench, restarts):
    wire = start(bench)
    wire.stuck = True
    bench.until(lambda: bench.driver.snapshot.torque is TorqueState.UNKNOWN, MIN_SILENCE_S + 2 * SLACK, "fault")
    text = "the port is open, but none of its boards (PCA9685 at 0x40, PCA9685 at 0x41) has answered for"
    bench.until(lambda: reported(bench, text, "the robot holds, whether the servos have torque is unknown"), SLACK)
    assert request(bench) is PlannerRequest.STOP
    assert bench.world.torques.all()
    if restarts:
        wire.restart(0x40)
        wire.restart(0x41)
    wire.stuck = False
    if restarts:
        bench.until(lambda: not bench.driver.armed, RETRY_DELAY_S + RETURN, "evidence")
        bench.until(lambda: reported(bench, "the servos have restarted without torque"), SLACK, "report")
        bench.arm()
    bench.until(lambda: request(bench) is PlannerRequest.NOTHING, RETRY_DELAY_S + RETURN, "walks again")
    bench.until(bench.world.torques.all, SLACK, "torque")
    bench.during(0.3)
    bench.assert_no_leap()


def test_an_emergency_stop_with_a_lost_board_reaches_it_as_soon_as_it_is_back(bench):
    wire = start(bench)
    wire.unplug(0x41)
    bench.during(0.2)
    bench.driver.press_estop()
    assert not bench.world.torques[:COUNT].any()
    assert bench.world.torques[COUNT:].all()
    wire.plug(0x41)
    bench.until(lambda: not bench.world.torques.any(), RETRY_DELAY_S, "torque off")


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (lambda wire: wire.unplug(0x41), "no PCA9685 answers at address 0x41; found: 0x40"),
        (lambda wire: wire.chips[1].registers.__setitem__(2, 0x00), "the chip at address 0x41 is no PCA9685"),
        (lambda wire: setattr(wire, "stuck", True), "the I2C bus is stuck, SDA or SCL is held low"),
    ],
    ids=["missing", "another chip", "stuck"],
)
def test_no_servo_gets_torque_until_all_boards_work(bench, fault, text):
    fault(bench.device.wire)
    with pytest.raises(BusError, match=text):
        bench.driver.connect()
    bench.device.wire.clear_faults()
    bench.device.wire.restart(0x41)
    start(bench)


def test_a_board_that_is_lost_while_the_torque_comes_on_takes_it_from_all(bench):
    bench.driver.connect()
    bench.driver.start()
    bench.world.torque, switch = (
        (lambda index, on: (switch(index, on), bench.device.wire.unplug(0x41))),
        bench.world.torque,
    )
    assert "the PCA9685 at 0x41 does not answer: check its power and its cable, then arm again" in str(
        bench.driver.arm()
    )
    assert not bench.driver.armed
    bench.until(lambda: not bench.world.torques[:COUNT].any(), SLACK, "torque off")
