# SPDX-License-Identifier: Apache-2.0
"""What servo_driver does with the snapshots of its driver, at times that the test sets: start, ticks, status, end."""

from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from support.kits.plain_node import Moment
from support.phantomx import lying, robot, standing_joints
from support.real_time.ros_bench import overrides

from hexapod_control.core.refusal import Refusal
from hexapod_control.nodes.servo_driver import servo_driver
from hexapod_control.nodes.servo_driver.servo_driver import TARGET_SILENCE_S, ServoDriverNode
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import ReportLevel
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.ros.row_messages import JointLayout
from hexapod_control.servos.bus.bus_interface import BusCounters, BusError, PortGoneError
from hexapod_control.servos.driver.telemetry import Diagnosis, PlannerRequest, Snapshot, TorqueState
from hexapod_control.servos.settings.servo_section import OnExit

HOT = Diagnosis("temperature", True, "servo 3 is hot")
LATE = Diagnosis("late", False, "replies are late")


class Notes:
    """Records its calls."""

    def __init__(self):
        self.asked = []

    def __getattr__(self, name):
        return lambda *values: self.asked.append((name, *values))

    def times(self, name):
        """The arguments of the calls of a method."""
        return [values for called, *values in self.asked if called == name]


class ScriptedDriver(Notes):
    """Stands in for the driver of the servos."""

    def __init__(self, fault):
        super().__init__()
        self.snapshot = Snapshot(torque=TorqueState.OFF, time=50.0, measured=True)
        self.events, self.latched, self.armed = deque(), False, False
        self.fault, self.refusal, self.failure = fault, None, None

    def connect(self):
        if self.fault is not None:
            raise self.fault

    def arm(self):
        self.asked.append(("arm",))
        return self.refusal

    def close(self, off):
        self.asked.append(("close", off))
        return self.failure

    def now(self, seconds, **fields):
        """The snapshot so many seconds later."""
        self.snapshot = replace(self.snapshot, time=self.snapshot.time + seconds, **fields)


class Planner(Notes):
    """Stands in for the requests to the planner."""

    reachable, down_time = True, 0.0


class Driving:
    """The node with scripted parts."""

    def __init__(
        self, bench, monkeypatch, fault=None, *, on_exit=OnExit.SIT, measured=True, refusal=None, **parameters
    ):
        self.time, self.driver, self.output, self.planner = Moment(), ScriptedDriver(fault), Notes(), Planner()
        self.driver.now(0.0, measured=measured)
        self.driver.refusal = refusal
        settings = servo_driver.servo_settings
        monkeypatch.setattr(servo_driver, "time", self.time)
        monkeypatch.setattr(servo_driver, "Driver", lambda *what, **options: self._built(what, options))
        monkeypatch.setattr(servo_driver, "DriverOutput", lambda *what, **options: self.output)
        monkeypatch.setattr(servo_driver, "PlannerRequests", lambda *what: self.planner)
        monkeypatch.setattr(servo_driver, "CalibrationServices", lambda *what: Notes())
        monkeypatch.setattr(servo_driver, "servo_settings", lambda *what: replace(settings(*what), on_exit=on_exit))
        self.node = bench.add(ServoDriverNode(parameter_overrides=overrides(**parameters)))

    def _built(self, what, options):
        self.start, self.battery = what[3], options["battery"]
        return self.driver

    def report(self, kind):
        found = self.node.sent_reports.get(kind)
        return found and (found.level, found.text)

    def requests(self):
        """The requests to the planner in the last tick."""
        return self.planner.times("request")[-1]


@pytest.fixture
def make(bench, monkeypatch):
    return lambda *what, **options: Driving(bench, monkeypatch, *what, **options)


# --- the start ------------------------------------------------------------------------------------------------


def test_servos_that_report_their_positions_are_armed_at_the_start_if_wanted(make):
    made = make()
    assert made.driver.times("arm") == [[]] and not made.report("start")
    assert made.start == pytest.approx(lying()) and made.battery is None
    assert made.driver.times("start") == [[]] and len(made.driver.times("call_after_cycle")) == 1
    made.node.tick()
    assert len(made.driver.times("arm")) == 1


def test_a_driver_that_shall_not_arm_does_not(make):
    made = make(arm_on_start=False)
    made.node.tick()
    assert not made.driver.times("arm") and not made.report("start")


def test_servos_without_positions_are_armed_only_if_the_robot_is_said_to_lie(make):
    made = make(measured=False)
    text = "these servos report no positions: put the robot on its belly, feet beside it, then run hexapod arm"
    assert made.report("start") == (ReportLevel.WARNING, text) and not made.driver.times("arm")


def test_servos_without_positions_are_armed_if_the_robot_is_said_to_lie(make):
    made = make(measured=False, assume_lying=True)
    assert made.driver.times("arm") == [[]] and not made.report("start")


def test_a_refusal_to_arm_at_the_start_is_an_error(make):
    assert make(refusal=Refusal("hot", "it is hot")).report("start") == (ReportLevel.ERROR, "not armed: it is hot")


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("fault", [BusError("nobody answers"), ValueError("wrong"), PortGoneError("no port")], ids=repr)
def test_servos_that_cannot_be_reached_are_refused_unless_their_port_may_come_later(make, monkeypatch, fault, wait):
    monkeypatch.setattr(servo_driver, "with_findings", lambda error, *servos: f"{error}, but others do")
    if wait and isinstance(fault, PortGoneError):
        made = make(fault, wait_for_port=True)
        assert made.report("start")[1].startswith("waits for ")
        return
    found = ", but others do" if isinstance(fault, BusError) else ""
    with pytest.raises(ParameterError, match=f"^servos: {fault}{found}$"):
        make(fault, wait_for_port=wait)


def test_a_port_that_comes_later_is_armed_once_and_nothing_is_reported_before(make):
    made = make(PortGoneError("no port"), wait_for_port=True)
    made.driver.now(1.0, torque=TorqueState.UNPLUGGED, diagnoses=(HOT,))
    made.node.tick()
    made.node.every_second()
    assert not made.driver.times("arm") and not made.report("temperature")
    for _ in range(2):
        made.driver.now(1.0, torque=TorqueState.OFF)
        made.node.tick()
    made.node.every_second()
    assert made.driver.times("arm") == [[]] and made.report("temperature") == (ReportLevel.ERROR, HOT.text)


def test_a_port_that_comes_later_is_not_armed_if_that_is_not_wanted(make):
    made = make(PortGoneError("no port"), wait_for_port=True, arm_on_start=False)
    made.driver.now(1.0, diagnoses=(LATE,))
    made.node.tick()
    assert not made.driver.times("arm") and made.report("late") == (ReportLevel.WARNING, LATE.text)


# --- running --------------------------------------------------------------------------------------------------


def test_targets_are_passed_on_with_their_speeds_and_the_time_of_their_arrival(make):
    made, speeds = make(), np.full((6, 3), 0.25)
    made.time.now += 7.0
    made.node.on_joint_targets(JointLayout(robot()).message(standing_joints(), speeds, messages.time(1)))
    ((joints, velocities, when),) = made.driver.times("take")
    assert joints == pytest.approx(standing_joints()) and velocities == pytest.approx(speeds)
    assert when == made.time.now


def test_readings_are_published_once_and_no_faster_than_asked_for(make):
    made, published = make(control_rate=50.0), []
    for seconds in (0.013, 0.002, 0.02, 0.0, 0.0139, 0.0002):
        made.driver.now(seconds)
        made.node.tick()
        published.append(len(made.output.times("state")))
    assert published == [0, 1, 2, 2, 2, 3] and len(made.output.times("latched")) == 6
    assert made.output.times("state")[-1][0] is made.driver.snapshot


def test_faults_are_reported_when_they_change_and_every_second_while_they_last(make):
    made = make()
    made.driver.now(1.0, diagnoses=(HOT, LATE))
    made.node.tick()
    assert made.report("temperature") == (ReportLevel.ERROR, HOT.text)
    assert made.report("late") == (ReportLevel.WARNING, LATE.text)
    before = made.node.sent_reports["late"]
    made.driver.now(1.0)
    made.node.tick()
    assert made.node.sent_reports["late"] is before
    made.node.every_second()
    assert made.node.sent_reports["late"] is not before


def test_events_are_reported_once_with_the_cause_of_missing_targets(make, monkeypatch):
    made = make()
    monkeypatch.setattr(made.node.clock_monitor, "cause", lambda question, now: "the clock has stopped")
    made.driver.events.extend(
        [Diagnosis("silence", False, "no targets", "does anything run?"), Diagnosis("a", False, "b")]
    )
    made.node.tick()
    assert made.report("silence") == (ReportLevel.WARNING, "no targets; the clock has stopped")
    assert made.report("a") == (ReportLevel.WARNING, "b") and not made.driver.events


def test_torque_that_stays_off_is_reported_every_second_and_an_emergency_stop_as_an_error(make):
    made = make()
    for _ in range(3):  # a program that has started the driver arms it by then
        made.node.every_second()
    assert not made.report("torque")
    for _ in range(12):
        made.node.every_second()
    assert made.report("torque") == (ReportLevel.WARNING, "torque is off: run hexapod arm")
    made.driver.latched = True
    made.node.every_second()
    assert made.report("torque")[0] is ReportLevel.ERROR
    assert len(made.output.times("battery")) == 16
    made.driver.latched = False
    made.node.withdraw("torque")
    for power in (TorqueState.ON, TorqueState.ARMING, TorqueState.UNPLUGGED):
        made.driver.now(0.0, torque=power)
        made.node.every_second()
    assert not made.report("torque")


def test_a_failed_callback_holds_the_joints(make):
    made = make()
    made.node.safe_stop("tick")
    assert made.driver.times("hold") == [[]]


def test_the_status_has_all_values_of_a_snapshot_and_what_is_unknown(make):
    made = make()
    unknown = made.node.status()
    assert (unknown["bus"], unknown["feedback"], unknown["torque"], unknown["power"]) == (
        "loopback",
        "measured",
        False,
        "off",
    )
    assert [unknown[name] for name in ("voltage [V]", "current [A]", "temperatures [degC]", "loads")] == ["unknown"] * 4
    assert (unknown["battery limits [V]"], unknown["misses"], unknown["emergency stop"]) == ("unknown", "none", "no")
    assert unknown["reset"] == "no"
    made.driver.latched = True
    made.driver.now(
        1.0,
        diagnoses=(Diagnosis("overload 4", True, "it is off", reset=True),),
        torque=TorqueState.ON,
        measured=False,
        temperatures=np.full((6, 3), 31.25),
        loads=np.full((6, 3), -0.125),
        misses=(0, 7, *[0] * 16),
        clamps=(3, *[0] * 16, 2),
        voltage=11.256,
        current=2.5,
        battery_limits=(10.5, 9.0),
        rate=49.96,
        overruns=4,
        reconnections=5,
        counters=BusCounters(sent=100, bad=1, timeouts=2, late=3, wrong_goals=6),
    )
    known = made.node.status()
    first, second, *_, last = JointLayout(robot()).names
    expected = {
        "feedback": "estimated",
        "torque": True,
        "power": "on",
        "emergency stop": "latched",
        "reset": "needed",
        "loop Hz": "50.0",
        "overruns": 4,
        "bus errors": "1 bad frames, 2 lost replies, 100 frames sent",
        "late replies": 3,
        "wrong goals": 6,
        "reconnections": 5,
        "voltage [V]": "11.26",
        "battery limits [V]": "10.5 9.0",
        "current [A]": "2.50",
        "misses": f"{second} 7",
        "clamps": f"{first} 3, {last} 2",
        "temperatures [degC]": " ".join(["31"] * 18),
        "loads": " ".join(["-0.12"] * 18),
    }
    assert {name: known[name] for name in expected} == expected and set(known) == set(unknown)


# --- the end --------------------------------------------------------------------------------------------------


def test_the_planner_is_requested_what_the_servos_need_and_at_the_end_to_sit_down(make):
    made = make()
    for request, leg in ((PlannerRequest.NOTHING, None), (PlannerRequest.STOP, None), (PlannerRequest.LOSE_LEG, 2)):
        made.driver.now(0.02, planner_request=request, lost_leg=leg)
        made.node.tick()
        assert made.requests()[:2] == [request, leg]
    made.node.request_stop()
    made.node.tick()
    assert made.requests()[:2] == [PlannerRequest.LOSE_LEG, 2]  # a robot without torque need not sit down
    made.driver.armed = True
    made.node.tick()
    assert made.requests()[0] is PlannerRequest.SIT


def test_an_armed_robot_has_to_sit_for_a_moment_before_the_driver_ends(make):
    made = make()
    made.driver.armed = True
    assert made.node.stopped()  # no stop is requested yet
    made.node.request_stop()
    for down, stopped in ((0.0, False), (TARGET_SILENCE_S, False), (TARGET_SILENCE_S + 0.01, True)):
        made.planner.down_time = down
        assert made.node.stopped() is stopped
    made.planner.reachable = False
    made.node.on_joint_targets(JointLayout(robot()).message(standing_joints(), None, messages.time(1)))
    for seconds, stopped in ((0.24, False), (0.02, True)):
        made.time.now += seconds
        assert made.node.stopped() is stopped
    made.planner.reachable, made.planner.down_time = True, 0.0
    made.driver.armed = False
    assert made.node.stopped() and TARGET_SILENCE_S == 0.25


def test_a_robot_whose_servos_hold_or_go_off_at_once_needs_not_sit_down(make):
    for on_exit in OnExit:
        made = make(on_exit=on_exit)
        made.driver.armed = True
        made.node.request_stop()
        assert made.node.stopped() is (on_exit is not OnExit.SIT)


@pytest.mark.parametrize("on_exit", list(OnExit))
def test_at_the_end_the_torque_goes_off_unless_it_shall_hold_and_nothing_is_published_after_it(make, on_exit):
    made = make(on_exit=on_exit)
    off = on_exit is not OnExit.HOLD
    made.driver.failure = Refusal("port", "no port")
    made.node.publish_final_state()
    assert made.driver.times("close") == [[off]] and made.output.times("armed") == ([[False]] if off else [])
    assert made.report("exit") == (ReportLevel.ERROR, "no port")
    made.driver.now(1.0)
    made.node.tick()
    assert not made.output.times("latched")
