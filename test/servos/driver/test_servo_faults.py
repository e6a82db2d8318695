# SPDX-License-Identifier: Apache-2.0
"""Failures of the line, a servo or the port, on an emulated line: the reaction, its delay and its report.

All faults: no goal is farther from the previous one than the joint's speed allows (checked by the fixtures `armed` and
`simulated`), and every report contains what, where and what to do.
"""

import re

import numpy as np
import pytest
from support.kits.recorded_servos import FAULT, FEMUR, HOLD, LOST, SLACK, kinds, reported

from hexapod_control.servos.bus import ff_frames
from hexapod_control.servos.driver import driver
from hexapod_control.servos.driver.bus_connection import MAX_BACK_OFF_S
from hexapod_control.servos.driver.presence import PING_PERIOD_S
from hexapod_control.servos.driver.telemetry import PlannerRequest, TorqueState
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.protocols import dynamixel2, lx16a

MAX_ROUNDS = 15  # until neither of the best seconds is disturbed
UNNOTICED_S = 0.6  # until a servo is quarantined after three misses, where servos are read in turn


def _error(measured, true):
    """The greatest error of measured joint angles [rad], infinite without any."""
    return np.inf if measured is None else np.abs(measured - true).max()


# --- lost and disturbed frames ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "faults",
    [
        {"drop": 0.05},
        {"flip": 0.05},
        {"truncate": 0.05},
        {"double": 0.2},
        {"glue": True},
        {"split": True},
        {"echo": True},
        {"noise": b"\xff\xff\x01"},
        {"slow": 0.0001},
    ],
    ids=lambda faults: next(iter(faults)),
)
def test_disturbed_replies_are_counted_and_neither_stop_the_loop_nor_move_a_joint_wrongly(simulated, faults):
    bench = simulated()
    assert_undisturbed(bench, bench.line.faults, faults)


def test_replies_in_pieces_on_a_terminal_neither_stop_the_loop_nor_move_a_joint_wrongly(armed):
    bench = armed()
    assert_undisturbed(bench, bench.pty.faults, {"split": True, "glue": True, "noise": b"\xff\xff\x01"})


def assert_undisturbed(bench, line, faults):
    bench.during(0.5)
    before = bench.driver.snapshot.rate
    for name, value in faults.items():
        setattr(line, name, value)
    bench.during(1.5)
    # The rate of one run: how fast the machine is does not matter, but other programs may delay some cycles.
    bench.until(lambda: bench.driver.snapshot.rate > 0.6 * before, SLACK, "most of the rate")
    assert bench.driver.armed
    # If other programs hold up the emulator for longer than the servos may be silent, its torque is asked for.
    bench.until(lambda: bench.driver.snapshot.torque is TorqueState.ON, SLACK, "torque")
    assert not bench.troubles("brown-out")
    counters = bench.driver.snapshot.counters
    if set(faults) & {"flip", "truncate"}:
        assert counters.bad + counters.timeouts > 0
    if "drop" in faults:
        assert counters.timeouts > 0
        assert sum(bench.driver.snapshot.misses) > 0
    bench.assert_no_leap()
    # A snapshot is as old as its cycle, which other programs may delay, and without angles if no servo answered in it.
    bench.until(lambda: _error(bench.driver.snapshot.joints, bench.world.angles()) < 0.1, SLACK, "joints")
    assert bench.driver.armed


def test_a_line_recovers_completely_after_a_minute_of_disturbances(simulated):
    bench = simulated()
    bench.line.faults.flip = bench.line.faults.drop = 0.2
    bench.during(1.0)
    bench.line.faults.flip = bench.line.faults.drop = 0.0
    bench.until(lambda: not bench.driver.snapshot.diagnoses, PING_PERIOD_S + SLACK, "all troubles gone")

    def undisturbed():
        misses = sum(bench.driver.snapshot.misses)
        bench.during(0.5)
        return sum(bench.driver.snapshot.misses) == misses

    bench.until(undisturbed, what="half a second without a missed reply")
    bench.assert_no_leap()


@kinds
def test_noise_is_reported_goals_are_read_back_and_above_a_limit_the_robot_stops(simulated, protocol):
    bench = simulated(protocol)
    bench.line.faults.flip = 0.04
    bench.until(lambda: reported(bench, "% of the replies are corrupt: goals are read back, 0 were wrong"), 10.0)
    receive, servo = bench.device.receive, bench.settings.ids[4]

    def disturbed(data, now):
        """The goal of one servo becomes another one, with a correct checksum, before its next frame arrives."""
        replies = []
        for byte in data:
            known = len(bench.world.received_goals)
            replies += receive(bytes((byte,)), now)
            if any(index == 4 for _, index, *_ in bench.world.received_goals[known:]):
                write_goal(receive, protocol, servo, now)
        return replies

    bench.device.receive = disturbed
    bench.until(lambda: bench.driver.snapshot.counters.wrong_goals > 2, 10.0, "wrong goals")
    bench.device.receive = receive
    bench.line.faults.flip = 0.3
    bench.until(lambda: reported(bench, "% of the replies are corrupt, the robot stops: goals are"), 3.0, "stop")
    assert bench.driver.snapshot.planner_request is PlannerRequest.STOP
    assert bench.driver.armed
    bench.line.faults.flip = 0.0
    bench.until(lambda: bench.driver.snapshot.planner_request is PlannerRequest.NOTHING, 4.0, "walks again")
    bench.device.receive = receive
    bench.world.received_goals.clear()  # the disturbed goals leap
    bench.during(0.1)


def write_goal(receive, protocol, servo, now):
    """Writes the center into the goal register of a servo at a steady time [s]."""
    center = PROTOCOLS[protocol].scale.center
    if protocol == "dynamixel2":
        frame = dynamixel2.write_request(servo, dynamixel2.Dynamixel2Register.GOAL, center.to_bytes(4, "little"))
    elif protocol == "lx16a":
        frame = lx16a.move(servo, center, 0.02)
    else:
        address, order = {"dynamixel1": (30, "little"), "feetech_sc": (42, "big")}.get(protocol, (42, "little"))
        frame = ff_frames.write_request(servo, address, center.to_bytes(2, order))
    receive(frame, now)


# --- late replies and a dead line -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "fault"),
    [("feetech_st", "late"), ("feetech_st", "slow"), ("dynamixel1", "late"), ("dynamixel2", "late"), ("lx16a", "late")],
)
def test_late_replies_are_counted_and_reported_and_the_robot_stops_with_its_torque_on(simulated, protocol, fault):
    bench = simulated(protocol)
    assert_late(bench, bench.line.faults, fault)


def test_replies_that_come_late_through_a_terminal_are_reported_and_the_robot_stops_with_its_torque_on(armed):
    bench = armed()
    assert_late(bench, bench.pty.faults, "late")


def assert_late(bench, line, fault):
    setattr(line, fault, 0.02)
    bench.until(lambda: reported(bench, "replies are ", " ms late: computer or adapter too slow: the robot stops"), 2.0)
    assert bench.driver.snapshot.planner_request is PlannerRequest.STOP

    def counted():
        counters = bench.driver.snapshot.counters
        return np.array((counters.late, counters.received, counters.timeouts))

    for _ in range(MAX_ROUNDS):  # other programs may delay replies so much more that they count as lost
        before = counted()
        bench.during(0.6)
        late, received, lost = counted() - before
        if late > 0.9 * received > 2 and lost < 0.1 * received:
            break
    else:
        raise AssertionError(f"of {received} replies {late} were late, and {lost} were lost")
    assert bench.driver.armed
    assert bench.world.torques.all()
    assert not bench.troubles("brown-out")
    setattr(line, fault, 0.0)
    bench.until(lambda: bench.driver.snapshot.planner_request is PlannerRequest.NOTHING, 4.0, "walks again")
    bench.assert_no_leap()


@kinds
def test_a_dead_line_is_reported_at_once_and_the_torque_stays_on_if_it_returns(simulated, protocol):
    bench = simulated(protocol)
    bench.during(0.3)
    bench.line.faults.mute = True
    bench.until(lambda: bench.driver.snapshot.planner_request is PlannerRequest.STOP, HOLD + SLACK, "hold")
    bench.until(lambda: reported(bench, "all servos have been silent for 0.", "the robot holds"), SLACK, "report")
    goals = len(bench.world.received_goals)
    bench.during(0.6)
    assert len(bench.world.received_goals) == goals
    bench.line.faults.mute = False
    bench.until(lambda: len(bench.world.received_goals) > goals + 18, 2.0, "goals")
    assert bench.driver.armed
    bench.until(lambda: not bench.troubles("silent"), 1.5, "all answer")
    bench.assert_no_leap()


@pytest.mark.parametrize("protocol", ["feetech_st", "dynamixel1", "lx16a"])
def test_servos_that_were_silent_answer_again_on_a_line_on_which_all_replies_are_late(simulated, protocol):
    """Later than a cycle waits for them: each is used in a later cycle. No goal is sent before all have answered."""
    bench = simulated(protocol)
    bench.line.faults.mute = True
    bench.until(lambda: bench.troubles("silent"), HOLD + SLACK, "silence")
    bench.during(0.3)
    bench.line.faults.mute, bench.line.faults.late = False, 0.15
    bench.until(lambda: not bench.troubles("silent"), 9.0, "all answer")  # 18 servos, some in three reads of 0.15 s
    assert bench.driver.armed
    assert bench.world.torques.all()
    bench.until(lambda: bench.driver.snapshot.counters.lateness > 0.1, SLACK, "lateness")
    bench.line.faults.late = 0.0
    bench.until(lambda: bench.driver.snapshot.planner_request is PlannerRequest.NOTHING, 6.0, "walks again")
    bench.assert_no_leap()


@pytest.mark.parametrize(("protocol", "late"), [("dynamixel1", 0.04), ("lx16a", 0.03), ("feetech_st", 0.1)])
def test_servos_are_armed_where_they_are_on_a_line_on_which_all_replies_are_late(simulated, protocol, late):
    bench = simulated(protocol)
    assert bench.driver.disarm() is None
    bench.line.faults.late = late
    bench.until(lambda: bench.driver.snapshot.counters.lateness > 0.99 * late, 4.0, "late replies")
    assert bench.driver.arm() is None
    bench.until(bench.world.torques.all, SLACK, "torque on")


def test_an_arming_that_took_too_long_does_not_switch_the_torque_on_afterwards(armed, monkeypatch):
    bench = armed("lx16a")
    assert bench.driver.disarm() is None
    monkeypatch.setattr(driver, "ANSWER_TIMEOUT_S", 0.3)
    bench.pty.faults.late = 0.12
    bench.until(lambda: bench.driver.snapshot.counters.lateness > 0.05, 4.0, "late replies")
    assert "does not answer" in str(bench.driver.arm())
    bench.during(3.0)  # longer than it takes
    assert not bench.world.torques.any()
    bench.pty.faults.late = 0.0
    monkeypatch.undo()
    bench.until(lambda: bench.driver.arm() is None, 4.0, "arming")


# --- a silent servo -----------------------------------------------------------------------------------------


@kinds
def test_a_servo_that_falls_silent_is_warned_of_named_and_the_planner_stopped(simulated, protocol):
    bench = simulated(protocol)
    bench.world.unplug(4)
    bench.until(lambda: bench.troubles("silent"), UNNOTICED_S + SLACK, "warning")
    first = bench.driver.snapshot
    (silent,) = (each for each in first.diagnoses if each.kind.startswith("silent"))
    if silent.serious:  # a slow bus, on which three misses took that long
        assert float(re.search(r"silent for ([\d.]+) s", silent.text)[1]) > LOST - 0.1
    else:
        assert first.planner_request is PlannerRequest.NOTHING
    bench.until(lambda: bench.driver.snapshot.planner_request is PlannerRequest.STOP, LOST + SLACK, "fault")
    words = f"{FEMUR} has been silent for", "the robot stops", "check its cable and id"
    bench.until(lambda: reported(bench, *words), SLACK, "report")
    assert bench.driver.armed
    bench.assert_no_leap()


@pytest.mark.parametrize("protocol", ["feetech_st", "dynamixel1", "dynamixel2"])
def test_one_missing_servo_leaves_the_others_their_rate(simulated, protocol):
    bench = simulated(protocol)

    def counted():
        """Numbers of cycles and of replies in a second with one ping."""
        begin, before = bench.time.now, bench.driver.snapshot.counters.received
        bench.during(PING_PERIOD_S)
        received, end = bench.driver.snapshot.counters.received - before, bench.time.now
        cycles = sum(index == 5 and begin < now < end for now, index, *_ in bench.world.received_goals)
        return np.array((cycles, received)) / (end - begin)

    of_18 = counted()
    bench.world.unplug(4)
    bench.until(lambda: bench.troubles("silent"), 2.0)
    of_17 = counted()
    assert (of_17 / (1, 17) >= 0.95 * of_18 / (1, 18)).all(), (of_17, of_18)
    bench.world.plug(4)
    bench.until(lambda: not bench.troubles("silent"), 3.0)


@kinds
def test_a_servo_that_returns_at_another_angle_moves_back_without_a_jump(simulated, protocol):
    bench = simulated(protocol)
    bench.publishing.clear()
    bench.world.unplug(4)
    bench.until(lambda: bench.troubles("silent"), UNNOTICED_S + SLACK)
    bench.world.positions[4] -= 0.45 * bench.world.scale.per_rad  # moved while it had no torque
    bench.world.plug(4)
    bench.until(lambda: bench.world.torques[4], PING_PERIOD_S + SLACK, "torque of the servo")
    index, goal, position = bench.world.switched[-1]
    assert index == 4 and abs(goal - position) < 0.02
    bench.until(lambda: abs(bench.driver.snapshot.joints - bench.driver.snapshot.joints[0])[1, 1] < 0.02, 4.0)
    bench.until(lambda: not [each for each in bench.driver.snapshot.diagnoses if each.kind != "budget"], SLACK, "end")
    bench.assert_no_leap()


# --- the port -----------------------------------------------------------------------------------------------


def test_behind_an_unplugged_port_the_robot_holds_and_goes_on_from_where_it_is_without_old_targets(armed):
    bench = armed()
    bench.pty.hang_up()
    bench.until(lambda: bench.driver.snapshot.torque is TorqueState.UNKNOWN, FAULT, "fault")
    assert bench.driver.snapshot.planner_request is PlannerRequest.STOP
    bench.until(lambda: bench.driver.snapshot.joints is None, FAULT, "pose unknown")
    assert "not connected" in str(bench.driver.arm())
    bench.until(lambda: reported(bench, "whether the servos have torque is unknown; reopening the port"), 0.3)
    bench.publishing.clear()
    bench.world.positions += 100  # the robot is moved by hand meanwhile
    bench.world.goals += 100
    sent = len(bench.world.received_goals)
    bench.pty.come_back()
    bench.until(lambda: bench.driver.snapshot.torque is TorqueState.ON, MAX_BACK_OFF_S + 1.0, "reconnected")
    bench.until(lambda: reported(bench, "is back, the servos are asked whether they have kept their torque"), 0.5)
    assert bench.world.torques.all()
    bench.until(lambda: len(bench.world.received_goals) >= sent + 18, 0.5, "goals")
    for _, _, goal, where, _ in bench.world.received_goals[sent : sent + 18]:
        assert abs(goal - where) < 0.02  # [rad] the first goals are where the servos are
    bench.publishing.set()
    bench.during(0.5)
    bench.assert_no_leap()
    assert bench.driver.snapshot.reconnections == 1
