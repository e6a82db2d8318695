# SPDX-License-Identifier: Apache-2.0
"""Torque on and off: the emergency stop and its latch, arming leg by leg, the bus on lease."""

from collections import deque
from dataclasses import fields

import numpy as np
import pytest
from support import scripted_bus
from support.phantomx import lying
from support.scripted_bus import ScriptedBus, ScriptedDriver

from hexapod_control.servos.bus.bus_interface import BusError, PortGoneError, ServoQuantity
from hexapod_control.servos.driver.bus_connection import BusConnection
from hexapod_control.servos.driver.bus_thread import BusRequest
from hexapod_control.servos.driver.telemetry import TorqueState
from hexapod_control.servos.driver.torque_switch import EmergencyStop
from hexapod_control.servos.protocols.loopback import LoopbackBus


@pytest.fixture
def rig():
    return ScriptedDriver()


# --- the latch ----------------------------------------------------------------------------------------------


def test_the_latch_is_cleared_by_release_and_reset_in_this_order_only():
    estop = EmergencyStop()
    assert not estop.latched
    assert estop.reset() is None
    estop.press()
    assert estop.latched
    assert "still pressed" in str(estop.reset())
    assert estop.latched
    estop.release()
    assert estop.latched
    assert estop.reset() is None
    assert not estop.latched


def test_a_release_without_a_press_latches_nothing():
    estop = EmergencyStop()
    estop.release()
    assert not estop.latched


# --- states -------------------------------------------------------------------------------------------------


def test_a_driver_without_a_port_counts_as_unplugged_and_refuses_torque(rig):
    assert rig.driver.snapshot.torque is TorqueState.UNPLUGGED
    found = {item.name: getattr(rig.driver.snapshot, item.name) for item in fields(rig.driver.snapshot)}
    known = {name: value for name, value in found.items() if name not in ("torque", "counters", "planner_request")}
    assert {name: value for name, value in known.items() if value} == {"speed_share": 1.0}
    assert not rig.driver.armed
    rig.refuses = True
    assert str(rig.driver.arm()) == "the servos are not connected: no such port"


def test_before_the_first_attempt_to_open_the_port_the_reason_is_that_it_is_not_open_yet(rig):
    connection = BusConnection(rig.settings, LoopbackBus, rig.clock)
    assert str(connection.refusal) == "the servos are not connected: the port is not open yet"


def test_arming_goes_leg_by_leg_with_every_servo_in_place(rig):
    rig.armed()
    assert rig.driver.snapshot.torque is TorqueState.ON
    switched = [ids for what, ids in rig.bus.sent if what == "on"]
    assert switched == [tuple(rig.settings.ids[3 * leg : 3 * leg + 3]) for leg in range(6)]
    assert [what for what, _ in rig.bus.sent[:2]] == ["goals", "on"]
    joints = rig.driver.snapshot.joints
    assert np.abs(joints - lying()).max() < 0.002  # half a step of the servo


def test_disarming_switches_all_off_and_a_second_arming_starts_where_the_joints_are(rig):
    rig.armed()
    assert rig.driver.disarm() is None
    assert rig.bus.sent[-1][0] == "relax"
    assert rig.driver.snapshot.torque is TorqueState.OFF
    rig.armed()


def test_a_goal_takes_a_quarter_longer_than_a_cycle_so_that_servos_do_not_stop_before_the_next_one(rig):
    rig.armed().run(0.1)
    assert rig.bus.duration == pytest.approx(1.25 * 0.02, rel=0.03)
    rig.clock.now += 0.03
    rig.run(0.02)
    assert rig.bus.duration == pytest.approx(1.25 * 0.05, rel=0.03)
    rig.clock.now += 1.0
    rig.run(0.02)
    assert rig.bus.duration == pytest.approx(1.25 * 0.1, rel=0.03)  # a pause is not made up for


# --- the emergency stop -------------------------------------------------------------------------------------


def test_an_emergency_stop_is_the_last_thing_that_is_sent(rig):
    rig.armed()
    assert rig.driver.press_estop() is None
    sent = len(rig.bus.sent)
    assert rig.bus.sent[-1][0] == "relax"
    rig.driver.take(lying() - 0.2, None, rig.clock())
    rig.run(1.0)
    assert len(rig.bus.sent) == sent
    assert "latched" in str(rig.driver.arm())


def test_an_emergency_stop_overtakes_all_other_requests(rig):
    rig.armed()
    rig.driver.hold()
    rig.driver.note_seated()
    sent = len(rig.bus.sent)
    rig.driver.press_estop()
    assert rig.bus.sent[sent][0] == "relax"


def test_an_emergency_stop_whose_torque_off_cannot_be_sent_latches_and_returns_why(rig):
    rig.armed()
    rig.bus.gone = True
    rig.refuses = True
    assert "gone" in str(rig.driver.press_estop())
    assert rig.driver.latched
    assert rig.driver.snapshot.torque is TorqueState.UNPLUGGED
    assert "not connected" in str(rig.driver.press_estop())  # nor while there is no port
    assert "not connected" in str(rig.driver.disarm())


def test_a_port_that_comes_back_after_an_emergency_stop_is_without_torque_until_all_three_steps(rig):
    rig.armed()
    rig.bus.gone = True
    rig.driver.press_estop()
    rig.run(3.0)
    assert len(rig.buses) == 2
    assert [what for what, _ in rig.bus.sent] == ["relax"]
    assert rig.driver.snapshot.reconnections == 1
    assert "latched" in str(rig.driver.arm())
    rig.driver.release_estop()
    assert rig.driver.reset_fault() is None
    rig.clock.tick = 1e-3
    assert rig.driver.arm() is None


@pytest.mark.parametrize("how", ["disarmed", "reconnected"])
def test_torque_that_something_else_switches_on_is_switched_off_again_and_reported(rig, how):
    rig.armed()
    if how == "disarmed":
        rig.driver.disarm()
    else:
        rig.bus.gone = True
        rig.run(1.0)
    LoopbackBus.torque(rig.bus, [rig.settings.ids[4]], True)
    rig.run(0.5)
    assert rig.bus.sent[-1] == ("relax", rig.settings.ids)
    assert not any(rig.bus.torques(rig.settings.ids).values())
    (text,) = [text for text in rig.texts() if "has torque although it was switched off" in text]
    assert text.startswith("left_middle_femur_joint (id 5) ")


def test_torque_that_was_never_switched_off_is_left_on(rig):
    rig.driver.connect()
    LoopbackBus.torque(rig.bus, rig.settings.ids, True)
    rig.run(0.5)
    assert all(rig.bus.torques(rig.settings.ids).values())


def test_a_port_that_was_lost_for_long_is_sought_soon_again_when_it_is_lost_again(rig):
    rig.armed()
    rig.bus.gone = rig.refuses = True
    rig.run(6.0)
    rig.refuses = False
    rig.run(2.1)  # the longest pause between attempts
    assert len(rig.buses) == 2
    rig.bus.gone = True
    rig.run(0.1)
    assert len(rig.buses) == 3


def test_a_port_that_is_back_is_reported_by_its_name(rig):
    rig.armed()
    rig.driver.disarm()
    rig.bus.gone = True
    rig.run(0.1)
    back = [event for event in rig.driver.events if "is back" in event.text]
    assert [(event.kind, event.text) for event in back] == [
        ("port", "/dev/none is back, torque is off: run hexapod arm")
    ]
    assert "relax" in [what for what, _ in rig.bus.sent]


def test_late_replies_are_waited_for_again_once_an_urgent_request_was_served(rig):
    rig.armed()
    rig.driver.disarm()
    rig.run(0.02)
    assert not rig.bus.urgent.is_set()


# --- the bus on lease ---------------------------------------------------------------------------------------


def test_the_bus_is_lent_without_torque_only_and_arming_is_refused_meanwhile(rig):
    rig.armed()
    with pytest.raises(BusError, match="the servos hold"):
        rig.driver.lend()
    rig.driver.disarm()
    lease = rig.driver.lend()
    assert lease.identify()
    assert "a calibration is running" in str(rig.driver.arm())
    with pytest.raises(BusError, match="a calibration is running"):
        rig.driver.lend()
    rig.driver.give_back(lease)
    rig.run(0.1)
    with pytest.raises(BusError, match="given back"):
        lease.identify()
    rig.clock.tick = 1e-3
    assert rig.driver.arm() is None


def test_no_bus_is_lent_while_the_emergency_stop_is_latched(rig):
    rig.driver.connect()
    rig.driver.press_estop()
    with pytest.raises(BusError, match="emergency stop is latched"):
        rig.driver.lend()


def test_no_bus_is_lent_without_a_port(rig):
    rig.refuses = True
    with pytest.raises(BusError, match="not connected"):
        rig.driver.lend()


def test_an_emergency_stop_ends_a_lease(rig):
    rig.driver.connect()
    lease = rig.driver.lend()
    rig.driver.press_estop()
    with pytest.raises(BusError, match="emergency stop is latched"):
        lease.torque(rig.settings.ids, True)
    assert not any(what == "on" for what, _ in rig.bus.sent)


def test_calibrations_are_changed_without_torque_only(rig):
    rig.armed()
    assert "restart the driver" in str(rig.driver.recalibrate(rig.settings))
    rig.driver.disarm()
    assert rig.driver.recalibrate(rig.settings) is None


def test_errors_of_the_borrower_are_its_own_and_a_lost_port_ends_the_lease(rig, monkeypatch):
    rig.driver.connect()
    lease = rig.driver.lend()
    assert lease.timing(18) == rig.bus.timing(18)
    assert lease.supply() == (None, None)
    assert lease.registers(1, 0, 2) is None  # these servos have none
    rig.bus.registers = lambda servo, address, length: bytes((servo, address, length))
    assert lease.registers(1, 5, 2) == bytes((1, 5, 2))

    def garbled():
        raise BusError("wrong baud")

    monkeypatch.setattr(rig.bus, "identify", garbled)
    with pytest.raises(BusError, match="wrong baud"):
        lease.identify()
    assert len(lease.read(rig.settings.ids, ServoQuantity.POSITION)) == 18
    assert rig.driver.events == deque()
    rig.bus.gone = rig.refuses = True
    with pytest.raises(PortGoneError, match="the port is gone"):
        lease.read(rig.settings.ids, ServoQuantity.POSITION)
    assert rig.driver.snapshot.torque is TorqueState.UNPLUGGED
    for _ in range(2):
        with pytest.raises(BusError, match="the port is gone"):
            lease.write_goals({1: 2048}, 0.0)
        lease.relax()  # the torque is off already
        rig.driver.give_back(lease)
        rig.run(0.02)


def test_a_servo_that_does_not_answer_keeps_the_torque_off(rig):
    rig.driver.connect()
    rig.bus.silent, rig.clock.tick = {5}, 1e-3
    refusal = rig.driver.arm()
    assert str(refusal) == "no answer from left_middle_femur_joint (id 5): check its cable and power, then arm again"
    assert not any(what == "on" for what, _ in rig.bus.sent)
    assert rig.driver.snapshot.torque is TorqueState.OFF


@pytest.mark.parametrize(("rate", "share"), [(59.0, 1.0), (60.0, 0.25)])
def test_a_fast_driver_moves_evenly_between_targets_and_servos_do_so_at_lower_rates(rate, share):
    rig = ScriptedDriver(rate=rate).armed()
    rig.run(1.2)
    for offset in (0.0, 0.0, 0.02):
        rig.driver.take(lying() - offset, None, rig.clock())
        rig.clock.now += 0.005  # a quarter of the period of the targets
        rig.driver.cycle()
        sent = dict(rig.bus.goals)
        rig.clock.now += 0.015
        rig.driver.cycle()
    joint = rig.settings.joints[4]
    assert lying()[1, 1] - joint.angle(sent[joint.id]) == pytest.approx(0.02 * share, abs=0.002)


@pytest.mark.parametrize(("can_read", "pause"), [(~ServoQuantity.NONE, 0.05), (ServoQuantity.NONE, 0.2)])
def test_legs_get_their_torque_one_after_the_other_and_later_where_they_move(monkeypatch, can_read, pause):
    class TimedBus(ScriptedBus):
        def torque(self, ids, on):
            super().torque(ids, on)
            times.append(rig.clock.now)

    times = []
    TimedBus.can_read = can_read
    monkeypatch.setattr(scripted_bus, "ScriptedBus", TimedBus)
    rig = ScriptedDriver()
    rig.armed()
    assert len(times) == 6
    pauses = np.diff(times)
    assert (pauses > pause - 0.005).all() and (pauses < pause + 0.06).all()  # a cycle of this clock takes 0.05 s


def test_a_request_is_not_urgent_unless_it_says_so():
    assert not BusRequest(lambda request: None).urgent
    assert BusRequest(lambda request: None, urgent=True).urgent
