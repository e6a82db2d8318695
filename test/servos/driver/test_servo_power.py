# SPDX-License-Identifier: Apache-2.0
"""Servos with too little power, too much heat or load, on an emulated line: the reaction, its delay and its report.

All faults: no goal is farther from the previous one than the joint's speed allows (checked by the fixtures `armed` and
`simulated`), and every report contains what, where and what to do.
"""

import numpy as np
import pytest
from support.kits.recorded_servos import FAULT, FEMUR, HOLD, SLACK, kinds, reported

from hexapod_control.servos.bus import ff_frames
from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.driver.bus_connection import MAX_BACK_OFF_S
from hexapod_control.servos.driver.presence import PING_PERIOD_S
from hexapod_control.servos.driver.telemetry import PlannerRequest, TorqueState
from hexapod_control.servos.protocols import dynamixel2, lx16a
from hexapod_control.servos.settings.servo_section import Battery

# --- power --------------------------------------------------------------------------------------------------


def test_a_brown_out_is_detected_and_the_servos_stay_off_until_armed_leg_by_leg(armed):
    bench = armed()
    bench.world.power(4.0)
    bench.until(lambda: reported(bench, "all servos have been silent for 0.", "the robot holds"), HOLD + SLACK, "hold")
    assert bench.driver.snapshot.planner_request is PlannerRequest.STOP
    bench.until(lambda: bench.driver.snapshot.joints is None, 0.2)
    bench.during(0.5)
    assert bench.driver.snapshot.torque is TorqueState.UNKNOWN
    bench.world.power(11.1)
    bench.until(lambda: not bench.driver.armed, 1.0 + SLACK, "torque off")
    bench.until(lambda: reported(bench, "the servos have restarted without torque, as in a brown-out"), 0.5, "report")
    bench.until(lambda: not bench.driver.snapshot.diagnoses, 3.0, "all answer again")
    assert not bench.world.torques.any()
    sent = len(bench.world.received_goals)
    assert bench.driver.arm() is None
    bench.until(bench.world.torques.all, 0.2)
    energised = {}
    for now, index, goal, where, torque in bench.world.received_goals[sent:]:
        if not torque:
            energised.setdefault(index // 3, now)
            assert abs(goal - where) < 0.01  # [rad] the first goals are where the servos are
    times = [energised[leg] for leg in range(6)]
    assert min(np.diff(times)) > 0.03  # [s] leg by leg
    bench.during(0.5)
    bench.assert_no_leap()


@pytest.mark.parametrize("outage", [0.4, 1.5])
@kinds
def test_after_a_short_brown_out_no_goal_switches_the_torque_on_again(simulated, protocol, outage):
    bench = simulated(protocol)
    bench.world.power(4.0)
    bench.during(outage)
    switched = len(bench.world.switched)
    bench.world.positions -= 0.3 * bench.world.scale.per_rad  # the robot sinks
    bench.world.power(11.1)
    bench.until(lambda: not bench.driver.armed, 2.0, "detected")
    bench.until(lambda: reported(bench, "the servos have restarted without torque, as in a brown-out"), 0.5, "report")
    assert len(bench.world.switched) == switched
    assert bench.driver.arm() is None
    bench.assert_no_leap()


@kinds
def test_every_kind_of_servo_reports_temperature_and_voltage(simulated, protocol):
    bench = simulated(protocol, battery=Battery(10.5, 9.9, 0.5))
    bench.until(lambda: np.isfinite(np.ravel(bench.driver.snapshot.temperatures).astype(float)).all(), 10.0, "heat")
    bench.world.voltages[:] = 10.2
    bench.until(lambda: bench.troubles("battery"), 4.0, "warning")
    bench.world.temperatures[4] = 62.0
    bench.until(lambda: reported(bench, f"{FEMUR} is at 62 degC"), 3.0, "report")
    assert bench.driver.armed


def test_a_low_battery_warns_sits_once_and_switches_off_and_never_climbs_back(simulated):
    bench = simulated(battery=Battery(10.5, 9.9, 0.5))
    bench.world.voltages[:] = 10.2
    bench.until(lambda: bench.troubles("battery"), 2.5, "warning")
    bench.until(lambda: reported(bench, "the battery is at", "warning at 10.5 V, critical at 9.9 V"), 0.5, "report")
    assert bench.driver.snapshot.planner_request is PlannerRequest.NOTHING
    bench.world.voltages[:] = 9.5
    bench.until(lambda: bench.driver.snapshot.planner_request is PlannerRequest.SIT, 3.0, "sit")
    bench.world.voltages[:] = 11.0  # the load is gone, the voltage recovers
    bench.during(1.0)
    assert bench.driver.snapshot.planner_request is PlannerRequest.SIT
    bench.driver.note_seated()
    bench.until(lambda: not bench.world.torques.any(), 0.3, "off")
    assert "the battery is empty" in str(bench.driver.arm())
    bench.world.voltages[:] = 10.0
    bench.during(1.5)
    assert "charge" in str(bench.driver.reset_fault())
    bench.world.voltages[:] = 12.2
    bench.until(lambda: bench.driver.reset_fault() is None, 3.0)
    assert bench.driver.arm() is None


def test_a_sag_of_less_than_half_a_second_is_ignored(simulated):
    bench = simulated(battery=Battery(10.5, 9.9, 0.5))
    bench.during(0.5)
    for _ in range(3):
        bench.world.voltages[:] = 8.5
        bench.during(0.25)
        bench.world.voltages[:] = 11.5
        bench.during(0.8)
    assert bench.driver.snapshot.planner_request is PlannerRequest.NOTHING
    assert not any("critical" in text for text in bench.texts() if "sits" in text)


# --- heat and overload --------------------------------------------------------------------------------------


def test_a_hot_servo_is_warned_of_slowed_and_at_its_limit_the_robot_sits_then_off(simulated):
    bench = simulated(max_temperature=70.0)
    bench.world.temperatures[4] = 62.0
    bench.until(lambda: bench.troubles("heat"), 1.5, "warning")
    bench.until(lambda: reported(bench, f"{FEMUR} is at 62 degC, limit 70: slower now"), 0.5, "report")
    assert bench.driver.snapshot.planner_request is PlannerRequest.NOTHING
    bench.world.temperatures[4] = 71.0
    bench.until(lambda: bench.driver.snapshot.planner_request is PlannerRequest.SIT, 1.5, "sit")
    bench.world.temperatures[4] = 50.0
    bench.during(0.8)
    assert bench.driver.snapshot.planner_request is PlannerRequest.SIT
    bench.driver.note_seated()
    bench.until(lambda: not bench.world.torques.any(), 0.3, "off")
    bench.until(lambda: bench.driver.reset_fault() is None, 2.0)
    assert bench.driver.arm() is None
    bench.assert_no_leap()


@pytest.mark.parametrize("protocol", ["feetech_st", "feetech_sc", "dynamixel1", "dynamixel2"])
def test_an_overloaded_servo_is_reported_and_restarted_in_place_three_times_only(simulated, protocol):
    bench = simulated(protocol)
    for count in range(3):
        bench.world.latch(4, ServoFault.OVERLOAD)
        bench.world.positions[4] -= 100
        bench.until(lambda: bench.world.torques[4] and not bench.world.faults[4], 2.5, f"recovery {count}")
    bench.until(lambda: reported(bench, f"{FEMUR} was overloaded: restarted"), 0.5, "report")
    assert bench.driver.armed
    bench.during(0.5)
    bench.world.latch(4, ServoFault.OVERLOAD)
    bench.until(
        lambda: reported(bench, f"{FEMUR} was overloaded too often and is off: free the joint, then run hexapod reset"),
        1.5,
    )
    assert not bench.world.torques[4]
    bench.until(lambda: bench.driver.snapshot.planner_request is PlannerRequest.STOP, 0.2)
    bench.assert_no_leap()


# --- what wears out -----------------------------------------------------------------------------------------

EEPROM = {  # registers below this are in it; where it is opened first, above, that register is 0 then
    "feetech_st": (40, 55),
    "feetech_sc": (40, 48),
    "dynamixel1": (24, None),
    "dynamixel2": (64, None),
}


def written(protocol, frames_sent):
    """Addresses that are written in what was sent, by any kind of write."""
    if protocol == "dynamixel2":
        packets, writes = dynamixel2.Dynamixel2Decoder().feed(frames_sent), (3, 4, 0x83)
        return [int.from_bytes(p.data[:2], "little") for p in packets if p.code in writes]
    packets, writes = ff_frames.FFDecoder().feed(frames_sent), (3, 4, 0x83)
    return [p.data[0] for p in packets if p.code in writes]


@pytest.mark.parametrize("protocol", EEPROM)
def test_the_driver_writes_to_no_eeprom_whatever_happens(simulated, protocol):
    bench = simulated(protocol)
    sent, goals = [], len(bench.world.received_goals)
    bench.line.listener = sent.append
    bench.world.latch(4, ServoFault.OVERLOAD)
    bench.until(lambda: bench.world.torques[4] and not bench.world.faults[4], 3.0, "recovery")
    bench.world.unplug(7)
    bench.until(lambda: bench.troubles("silent 7"), 2.0)
    bench.world.plug(7)
    bench.until(lambda: bench.world.torques[7], PING_PERIOD_S + SLACK, "torque of the servo")
    bench.line.hang_up()
    bench.until(lambda: bench.driver.snapshot.torque is TorqueState.UNKNOWN, FAULT + SLACK, "fault")
    bench.line.come_back()
    bench.until(lambda: bench.driver.snapshot.torque is TorqueState.ON, MAX_BACK_OFF_S + 2.0, "reconnected")
    bench.until(lambda: len(bench.world.received_goals) - goals > 60 * 18, 5.0, "sixty frames of goals")
    bench.driver.press_estop()
    addresses = written(protocol, b"".join(sent))
    first, lock = EEPROM[protocol]
    assert len(addresses) > 50
    assert min(addresses) >= first
    assert lock not in addresses


def test_no_lx_servo_gets_a_command_that_changes_its_memory(simulated):
    bench = simulated("lx16a")
    sent = []
    bench.line.listener = sent.append
    bench.during(1.0)
    bench.driver.press_estop()
    kind = lx16a.Lx16aCommand
    passing = {kind.MOVE, kind.TORQUE_WRITE, kind.POSITION, kind.VOLTAGE, kind.TEMPERATURE}
    passing |= {each for each in kind if each.name.endswith("_READ")}
    assert {packet.code for packet in lx16a.Lx16aDecoder().feed(b"".join(sent))} <= passing
