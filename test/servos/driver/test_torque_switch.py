"""Torque on and off: the emergency stop and its latch, arming leg by leg, the bus on lease."""

import numpy as np
import pytest
from support.phantomx import lying
from support.scripted_bus import ScriptedDriver

from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.driver.telemetry import TorqueState
from hexapod_control.servos.driver.torque_switch import EmergencyStop


@pytest.fixture
def rig():
    return ScriptedDriver()


# --- the latch ----------------------------------------------------------------------------------------------


def test_the_latch_is_cleared_by_release_and_reset_in_this_order_only():
    estop = EmergencyStop()
    assert not estop.latched
    assert estop.reset() == ""
    estop.press()
    assert estop.latched
    assert "still true" in estop.reset()
    assert estop.latched
    estop.release()
    assert estop.latched
    assert estop.reset() == ""
    assert not estop.latched


def test_a_release_without_a_press_latches_nothing():
    estop = EmergencyStop()
    estop.release()
    assert not estop.latched


# --- states -------------------------------------------------------------------------------------------------


def test_a_driver_without_a_port_counts_as_unplugged_and_refuses_torque(rig):
    assert rig.driver.snapshot.power is TorqueState.UNPLUGGED
    assert not rig.driver.armed
    rig.refuses = True
    assert rig.driver.arm().startswith("the servos are not connected")


def test_arming_goes_leg_by_leg_with_every_servo_in_place(rig):
    rig.armed()
    assert rig.driver.snapshot.power is TorqueState.ON
    switched = [ids for what, ids in rig.bus.sent if what == "on"]
    assert switched == [tuple(rig.settings.ids[3 * leg : 3 * leg + 3]) for leg in range(6)]
    assert [what for what, _ in rig.bus.sent[:2]] == ["goals", "on"]
    joints = rig.driver.snapshot.joints
    assert np.abs(joints - lying()).max() < 0.002  # half a step of the servo


def test_disarming_switches_all_off_and_a_second_arming_starts_where_the_joints_are(rig):
    rig.armed()
    assert rig.driver.disarm() == ""
    assert rig.bus.sent[-1][0] == "relax"
    assert rig.driver.snapshot.power is TorqueState.OFF
    rig.armed()


# --- the emergency stop -------------------------------------------------------------------------------------


def test_an_emergency_stop_is_the_last_thing_that_is_sent(rig):
    rig.armed()
    assert rig.driver.press_estop() == ""
    sent = len(rig.bus.sent)
    assert rig.bus.sent[-1][0] == "relax"
    rig.driver.take(lying() - 0.2, None, rig.clock())
    rig.run(1.0)
    assert len(rig.bus.sent) == sent
    assert "latched" in rig.driver.arm()


def test_an_emergency_stop_overtakes_all_other_requests(rig):
    rig.armed()
    rig.driver.hold()
    rig.driver.seated()
    sent = len(rig.bus.sent)
    rig.driver.press_estop()
    assert rig.bus.sent[sent][0] == "relax"


def test_an_emergency_stop_whose_torque_off_cannot_be_sent_latches_and_returns_why(rig):
    rig.armed()
    rig.bus.gone = True
    rig.refuses = True
    assert "gone" in rig.driver.press_estop()
    assert rig.driver.latched
    assert rig.driver.snapshot.power is TorqueState.UNPLUGGED
    assert "not connected" in rig.driver.press_estop()  # nor while there is no port
    assert "not connected" in rig.driver.disarm()


def test_a_port_that_comes_back_after_an_emergency_stop_is_without_torque_until_all_three_steps(rig):
    rig.armed()
    rig.bus.gone = True
    rig.driver.press_estop()
    rig.run(3.0)
    assert len(rig.buses) == 2
    assert [what for what, _ in rig.bus.sent] == ["relax"]
    assert rig.driver.snapshot.reconnections == 1
    assert "latched" in rig.driver.arm()
    rig.driver.release_estop()
    assert rig.driver.reset_fault() == ""
    rig.clock.tick = 1e-3
    assert rig.driver.arm() == ""


# --- the bus on lease ---------------------------------------------------------------------------------------


def test_the_bus_is_lent_without_torque_only_and_arming_is_refused_meanwhile(rig):
    rig.armed()
    with pytest.raises(BusError, match="the servos hold"):
        rig.driver.lend()
    rig.driver.disarm()
    lease = rig.driver.lend()
    assert lease.identify()
    assert "a calibration is running" in rig.driver.arm()
    with pytest.raises(BusError, match="a calibration is running"):
        rig.driver.lend()
    rig.driver.give_back(lease)
    rig.run(0.1)
    with pytest.raises(BusError, match="given back"):
        lease.identify()
    rig.clock.tick = 1e-3
    assert rig.driver.arm() == ""


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
    assert "restart the driver" in rig.driver.recalibrate(rig.settings)
    rig.driver.disarm()
    assert rig.driver.recalibrate(rig.settings) == ""
