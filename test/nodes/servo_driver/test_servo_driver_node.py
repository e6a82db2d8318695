# SPDX-License-Identifier: Apache-2.0
"""servo_driver as a node over an emulated bus: its topics and its requests to the planner."""

import os
import re
import signal
import sys
import time

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import QoSProfile
from sensor_msgs.msg import BatteryState, JointState, MultiDOFJointState
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool, Trigger
from support.phantomx import robot, standing_joints
from support.real_time.ros_bench import Stream, assert_sound, overrides, twist

from hexapod_control.config.errors import ArgumentError
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.nodes.inverse_kinematics.inverse_kinematics import InverseKinematicsNode
from hexapod_control.nodes.servo_driver import servo_driver
from hexapod_control.nodes.servo_driver.servo_driver import ServoDriverNode
from hexapod_control.ros import messages
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.ros.qos import LATCHED
from hexapod_control.servos.bus import serial_port


def chain(bench, wire, rate=25.0):
    """Planner, kinematics and driver on emulated servos, standing; joint targets and states come at a rate [Hz]."""
    driver, kinematics, planner = (
        wire.driver(bench, control_rate=rate),
        bench.add(InverseKinematicsNode()),
        bench.planner(False, control_rate=rate),
    )
    bench.until(lambda: planner.planner.state in (RobotState.SITTING, RobotState.STANDING), 8.0, "a known pose")
    if planner.planner.state is RobotState.SITTING:
        assert bench.call(Trigger, "stand").success
        bench.until(lambda: planner.planner.state is RobotState.STANDING, 12.0, "standing")
    return driver, kinematics, planner


def test_the_chain_stands_and_walks_on_emulated_servos(bench, wire):
    wire = wire()
    rows = bench.listen(JointState, "joint_targets")
    driver, _, planner = chain(bench, wire, rate=50.0)
    Stream(bench, lambda: twist(0.08))
    bench.until(lambda: planner.output.last.twist.vx > 0.07)
    planned = planner.output.last.joint_angles
    bench.until(lambda: np.abs(planner.output.last.joint_angles - planned).max() > 0.2)
    assert np.abs(wire.world.angles() - planner.output.last.joint_angles).max() < 0.5
    assert_sound(rows)
    assert driver.status()["feedback"] == "measured"


def test_battery_and_diagnostics_report_the_readings_of_the_bus(bench, wire, tmp_path, monkeypatch):
    wire = wire()
    monkeypatch.setattr(serial_port, "BY_ID", tmp_path / "by-id")
    serial_port.BY_ID.mkdir()
    (serial_port.BY_ID / "usb-FTDI_FT232R_A50285BI-if00-port0").symlink_to(os.path.realpath(wire.parameters["port"]))
    wire.driver(bench)
    received, batteries = bench.listen(DiagnosticArray, "/diagnostics"), bench.listen(BatteryState, "battery_state")
    bench.until(lambda: batteries, 4.0)
    assert batteries[-1].voltage == pytest.approx(11.1, abs=0.1)
    bench.until(lambda: any(s.values and _values(s).get("loop Hz", "0.0") != "0.0" for m in received for s in m.status))
    assert received[-1].status[0].hardware_id == "usb-FTDI_FT232R_A50285BI-if00-port0"
    values = _values(received[-1].status[0])
    assert values["feedback"] == "measured"
    assert 10.0 < float(values["loop Hz"]) < 55.0  # 50, or less on a loaded machine


def _values(status):
    return {item.key: item.value for item in status.values}


@pytest.mark.parametrize("let_go", ["disarm", "estop"])
def test_after_torque_off_the_pose_is_unknown_to_the_planner_until_arming(bench, wire, let_go):
    wire = wire(start=standing_joints())
    _, _, planner = chain(bench, wire)
    holds = bench.listen(Bool, "armed", LATCHED)
    bench.until(lambda: holds and holds[-1].data)
    if let_go == "disarm":
        assert bench.call(Trigger, "disarm").success
    else:
        assert bench.call(SetBool, "estop", SetBool.Request(data=True)).success
        assert bench.call(SetBool, "estop", SetBool.Request(data=False)).success
        assert not bench.call(Trigger, "arm").success
        assert bench.call(Trigger, "reset_fault").success
    bench.until(lambda: not holds[-1].data, 0.5, "armed is false")
    bench.until(lambda: planner.planner.state is RobotState.UNKNOWN, 0.5, "the planner knows")
    assert not bench.call(Trigger, "stand").success
    wire.world.positions[1::3] += 100  # the legs are moved by hand
    assert planner.planner.state is RobotState.UNKNOWN
    assert bench.call(Trigger, "arm").success
    bench.until(lambda: planner.planner.state is not RobotState.UNKNOWN, 1.0)
    bench.until(wire.world.torques.all, 1.0)


@pytest.mark.parametrize("fault", ["mute", "late", "unplug"])
def test_a_steady_stream_is_followed_again_once_the_cause_of_the_driver_s_pause_has_ended(bench, wire, fault):
    """A person who holds the stick, Nav2 or the demonstration does not send the zero that answers a stop."""
    wire = wire(start=standing_joints())
    driver, _, planner = chain(bench, wire)
    holds = bench.listen(Bool, "armed", LATCHED)
    stream = Stream(bench, lambda: twist(0.08))
    bench.until(lambda: planner.output.last.twist.vx > 0.07)
    if fault == "unplug":
        wire.pty.hang_up()
    else:
        setattr(wire.pty.faults, fault, True if fault == "mute" else 0.02)
    bench.until(lambda: "the robot pauses until this has ended: " in planner.last_report("pause"), 4.0, "pause")
    bench.until(lambda: planner.output.last.twist.is_zero and all(planner.output.last.planted), 4.0, "stop")
    if fault == "unplug":
        wire.pty.come_back()
    else:
        setattr(wire.pty.faults, fault, 0)
    bench.until(lambda: planner.output.last.twist.vx > 0.07, 6.0, "it walks on")
    assert planner.last_report("pause end") == "the pause has ended: velocities are followed again"
    assert wire.world.torques.all()
    assert {message.data for message in holds} == {True}
    assert driver.driver.armed
    stream.stop()


def test_nothing_is_published_while_the_pose_is_unknown(bench, wire):
    wire = wire("ssc32")
    node = wire.driver(bench)
    states, holds = bench.listen(JointState, "joint_states"), bench.listen(Bool, "armed", LATCHED)
    planner, _ = bench.planner(False), bench.add(InverseKinematicsNode())
    bench.until(lambda: holds)
    assert not holds[-1].data
    assert "put the robot on its belly" in node.last_report("start")
    assert not bench.call(Trigger, "stand").success
    assert not states
    assert bench.call(Trigger, "arm").success
    bench.until(lambda: states)
    bench.until(lambda: planner.planner.state is RobotState.SITTING)
    assert node.status()["feedback"] == "estimated"


def test_a_silent_servo_stops_the_walk_and_is_named_and_its_leg_is_folded_and_returns_on_request(bench, wire):
    # Computed now and stored: later the emulator, which shares this process, would be silent meanwhile.
    WalkingLegs.without(robot(), frozenset({robot().leg_names.index("left_middle")}))
    wire = wire(start=standing_joints())
    driver, _, planner = chain(bench, wire)
    ticks = bench.listen(MultiDOFJointState, "foot_targets", QoSProfile(depth=50))
    vx = 0.08
    stream = Stream(bench, lambda: twist(vx))
    bench.until(lambda: planner.output.last.twist.vx > 0.07)
    wire.world.unplug(4)
    begin = len(ticks)
    bench.until(lambda: planner.output.last.twist.is_zero, 10.0, "stop")
    # In ticks: a busy computer delays them as it does the driver, which excludes such pauses from the silence.
    assert len(ticks) - begin <= (0.5 + 0.6 + 0.5 + 0.5) * planner.settings.control_rate
    bench.until(lambda: all(planner.output.last.planted), 1.5)
    bench.until(
        lambda: any("left_middle_femur_joint (id 5) has been silent" in text for text in driver.recent_reports()), 1.0
    )
    assert re.search(r"\bleft_middle_femur_joint \d+", driver.status()["misses"])
    bench.until(lambda: planner.planner.view.lost_legs == ("left_middle",), 60.0, "the leg is lost")
    bench.until(lambda: any("walks without its leg" in text for text in driver.recent_reports()), 2.0)
    vx = 0.5 * planner.planner.view.maxima().vx
    bench.until(lambda: planner.output.last.twist.vx > 0.8 * vx, 3.0, "it walks on")
    vx = 0.0
    wire.world.plug(4)
    bench.until(lambda: not driver.driver.snapshot.diagnoses, 3.0, "the servo answers")
    stream.stop()
    bench.publisher(String, "return_leg").publish(String(data="left_middle"))
    bench.until(lambda: planner.planner.view.lost_legs == () and not planner.planner.view.changing_legs, 12.0)


def test_a_driver_that_is_started_again_ramps_from_where_the_servos_are(bench, wire):
    wire = wire(start=standing_joints())
    driver, _, planner = chain(bench, wire)
    driver.driver.close(False)
    bench.remove(driver)
    sent = len(wire.world.received_goals)
    wire.driver(bench)
    bench.until(lambda: len(wire.world.received_goals) > sent + 18 * 60, 5.0)
    assert planner.planner.state is RobotState.STANDING
    last = {}
    for _, index, goal, where, _ in wire.world.received_goals[sent:]:
        assert abs(goal - last.setdefault(index, where)) < 0.02
        last[index] = goal


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"protocol": "feetech_stt", "port": "/dev/null"}, 'protocol: is "feetech_stt", must be one of feetech_st, '),
        ({"protocol": "feetech_st"}, "port: must be given with feetech_st, which"),
        ({"protocol": "feetech_st", "port": "/dev/none"}, "there is no such port"),
    ],
)
def test_unreachable_servos_are_refused_with_a_remedy(bench, parameters, words):
    with pytest.raises((ParameterError, ArgumentError), match=words):
        ServoDriverNode(parameter_overrides=overrides(**parameters))


@pytest.mark.process
def test_servos_of_another_model_are_refused_before_any_write_unless_that_is_forced(bench, wire):
    wire = wire("dynamixel1")
    memories = wire.pty.device.memories
    memories[4][0] = 29
    before = [bytes(memory[:36]) for memory in memories]
    with pytest.raises(ParameterError, match="servo 5 answers like a Robotis MX-28, which dynamixel1 does not control"):
        wire.driver(bench, arm_on_start=False)
    assert [bytes(memory[:36]) for memory in memories] == before
    driver = wire.driver(bench, arm_on_start=False, force_model=True)
    bench.until(lambda: "used although servo 5 answers like" in driver.last_report("model"))


def test_the_process_refuses_missing_servos_with_exit_code_2_before_any_torque(wire):
    wire = wire()
    wire.world.unplug(4, 5)
    process = wire.process()
    _, errors = process.communicate(timeout=30.0)
    assert process.returncode == 2
    assert "left_middle_femur_joint (id 5), left_middle_tibia_joint (id 6)" in errors
    assert errors.count("\n") == 1
    assert not wire.world.torques.any()


@pytest.mark.process
def test_a_driver_that_the_computer_stops_for_seconds_or_that_gets_late_replies_keeps_the_torque_until_terminated(
    bench, wire
):
    wire = wire()
    process = wire.process()
    try:
        bench.until(wire.world.torques.all, 20.0)
        holds = bench.listen(Bool, "armed", LATCHED)
        bench.until(lambda: holds and holds[-1].data, 10.0)
        holds.clear()
        process.send_signal(signal.SIGSTOP)
        resume = time.monotonic() + 3.5
        bench.until(lambda: time.monotonic() > resume, 8.0)
        process.send_signal(signal.SIGCONT)
        wire.pty.faults.late = 0.02
        resume += 1.0
        bench.until(lambda: time.monotonic() > resume, 5.0)
        assert wire.world.torques.all()
        assert not holds
        process.send_signal(signal.SIGTERM)
        bench.until(lambda: not wire.world.torques.any(), 10.0)
        _, errors = process.communicate(timeout=20.0)
    finally:
        process.kill()
    assert process.returncode == 0
    assert "Traceback" not in errors
    assert "the computer did not run the driver for " in errors
    assert " ms late: computer or adapter too slow: the robot stops; " in errors


@pytest.mark.parametrize("rate", [50.0, 25.0])
def test_joints_are_published_after_every_cycle_of_the_bus_but_no_faster_than_asked_for(bench, rate):
    states = bench.listen(JointState, "joint_states", 50)
    bench.driver(standing_joints(), control_rate=rate)
    bench.until(lambda: len(states) >= 20)
    times = [messages.nanoseconds(message.header.stamp) for message in states]
    assert np.median(np.diff(times)) == pytest.approx(1e9 / rate, rel=0.3)
    assert sys.getswitchinterval() == pytest.approx(0.001)  # the thread of the bus waits no longer for others


def test_an_adapter_that_holds_bytes_back_is_reported(bench, wire, monkeypatch):
    monkeypatch.setattr(servo_driver, "latency", lambda port: 0.016)
    wire = wire()
    node = wire.driver(bench, arm_on_start=False)
    assert node.last_report("latency").startswith(f"{wire.parameters['port']} holds bytes back for 16 ms: ")


def test_an_emergency_stop_whose_torque_off_cannot_be_sent_is_no_success(bench, wire):
    wire = wire(start=standing_joints())
    node = wire.driver(bench)
    bench.until(lambda: node.driver.armed)
    wire.pty.hang_up()
    answer = bench.call(SetBool, "estop", SetBool.Request(data=True))
    assert not answer.success
    assert answer.message.startswith("latched, but torque-off could not be sent: ")
    assert node.driver.latched
    assert bench.call(SetBool, "estop", SetBool.Request(data=False)).success
    assert not bench.call(Trigger, "arm").success
