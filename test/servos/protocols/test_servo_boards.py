# SPDX-License-Identifier: Apache-2.0
"""Boards for hobby servos when their replies are late, or they are silent behind a port that is still there."""

import time

import numpy as np
import pytest
from support.kits.recorded_servos import HIGH, SLACK, reported
from support.kits.simulated_bench import SimulatedLine

from hexapod_control.servos.bus import pulse_board
from hexapod_control.servos.bus.bus_interface import ServoQuantity
from hexapod_control.servos.driver.boards import MIN_SILENCE_S
from hexapod_control.servos.driver.telemetry import PlannerRequest, TorqueState
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.protocol_registry import PROTOCOLS

BOARDS = ("ssc32", "maestro", "servo2040")
boards = pytest.mark.parametrize("protocol", BOARDS)
IDS = tuple(range(18))
VERY_LATE = 0.2  # [s]
RETRY_S = 0.001  # between readings that are tried again
LATE_S = 0.06  # more than a request waits, less than a late reply is waited for


@pytest.fixture(params=BOARDS)
def board(request, simulated_time):
    """A bus with an emulated board at the other end, in simulated time: (line, bus), the servos on."""
    row = PROTOCOLS[request.param]
    line = SimulatedLine(emulated_device(request.param, LagWorld(row.scale), IDS), row.baud, simulated_time)
    bus = row.open(line, IDS)
    bus.identify()
    bus.write_goals(dict.fromkeys(IDS, 1500), 0.0)
    bus.torque(IDS, True)
    return line, bus


def first_reading(read, clock, seconds=2.0):
    """The first reading that is not empty."""
    end = clock.now + seconds
    while clock.now < end:
        if answer := read():
            return answer
        clock.wait(clock.now + RETRY_S)
    raise AssertionError(f"nothing was read within {seconds} s")


def pulses(bus):
    return {i: reading.position for i, reading in bus.read(IDS, ServoQuantity.POSITION).items()}


# --- late replies -------------------------------------------------------------------------------------------


def test_an_old_reply_of_a_slow_board_is_never_accepted(board, simulated_time):
    line, bus = board
    line.faults.slow = LATE_S
    for pulse in range(1000, 2000, 50):
        bus.write_goals(dict.fromkeys(IDS, pulse), 0.0)
        assert set(pulses(bus).values()) <= {pulse}
    line.faults.slow = 0.0
    assert set(first_reading(lambda: pulses(bus), simulated_time).values()) == {pulse}


def test_after_a_missing_reply_the_bus_waits_until_it_cannot_arrive_any_more(board, simulated_time):
    line, bus = board
    received = []
    line.faults.mute = True
    assert bus.answers() is False
    line.listener = received.append
    assert bus.answers() is None
    assert bus.supply() == (None, None)
    assert pulses(bus) == {}
    assert not received
    line.faults.mute = False
    begun = simulated_time.now
    assert first_reading(bus.answers, simulated_time) is True
    assert simulated_time.now - begun < pulse_board.LATE_WINDOW_S + SLACK


@boards
def test_a_board_whose_replies_are_late_is_not_dead_and_an_emergency_stop_does_not_wait_for_them(armed, protocol):
    bench = armed(protocol)
    bench.pty.faults.late = VERY_LATE
    bench.until(lambda: reported(bench, "replies are ", " ms late: computer or adapter too slow: the robot stops"), 2.0)
    bench.until(lambda: bench.driver.snapshot.planner_request is PlannerRequest.STOP, 0.5, "stop")
    bench.during(MIN_SILENCE_S + 0.3)
    assert bench.driver.snapshot.counters.late > 3
    bench.until(lambda: abs(bench.driver.snapshot.counters.lateness - VERY_LATE) < 0.1, SLACK, "lateness")
    assert bench.driver.armed
    assert bench.world.torques.all()
    begin = time.monotonic()
    assert bench.driver.press_estop() is None
    assert time.monotonic() - begin < 0.1
    bench.until(lambda: not bench.world.torques.any(), 0.1, "torque off")
    bench.pty.faults.late = 0.0
    bench.until(lambda: bench.driver.snapshot.planner_request is PlannerRequest.NOTHING, 4.0, "walks again")
    bench.assert_no_leap()


# --- silent boards ------------------------------------------------------------------------------------------


@boards
def test_behind_a_board_that_falls_silent_the_robot_holds_and_goes_on_when_it_answers(simulated, protocol):
    bench = simulated(protocol)
    bench.during(0.5)
    bench.line.faults.mute = True

    def torque():
        return bench.driver.snapshot.torque

    took = bench.until(lambda: torque() is TorqueState.UNKNOWN, MIN_SILENCE_S + SLACK, "fault")
    assert took > MIN_SILENCE_S - 0.2  # not for a reply or two
    bench.until(lambda: bench.driver.snapshot.joints is None, 0.2, "pose unknown")
    words = bench.settings.port, "its board has been silent for", "the robot holds", "check the board's power"
    bench.until(lambda: reported(bench, *words), 0.5, "report")
    assert bench.driver.snapshot.planner_request is PlannerRequest.STOP
    assert "whether they have torque is unknown" in str(bench.driver.arm())
    sent = len(bench.world.received_goals)
    bench.during(3.0)
    assert len(bench.world.received_goals) == sent  # targets come, nothing is sent
    assert bench.world.torques.all()
    bench.line.faults.mute = False
    bench.until(lambda: torque() is TorqueState.ON, 2.0, "asked")
    assert bench.world.torques.all()
    bench.during(1.5)
    assert np.abs(bench.driver.snapshot.joints - HIGH).max() < 0.15
    bench.assert_no_leap()


@boards
def test_an_emergency_stop_while_a_board_is_silent_is_not_held_up_by_looking_for_it(armed, protocol):
    bench = armed(protocol)
    bench.pty.faults.mute = True
    bench.until(lambda: bench.driver.snapshot.torque is TorqueState.UNKNOWN, MIN_SILENCE_S + SLACK, "fault")
    begun = time.monotonic()
    bench.driver.press_estop()
    bench.until(lambda: not bench.world.torques.any(), 0.2, "torque off: it receives, though it sends nothing")
    assert bench.driver.arm()  # refused, for one reason or the other
    assert bench.driver.reset_fault()
    assert time.monotonic() - begun < 3.0
    bench.pty.faults.mute = False
    assert "latched" in str(bench.driver.arm())


@boards
def test_a_board_that_misses_an_answer_now_and_then_goes_on(simulated, protocol):
    bench = simulated(protocol)
    bench.line.faults.drop = 0.05
    bench.during(3.0)
    assert bench.driver.armed
    assert not bench.troubles("port")
    bench.assert_no_leap()
