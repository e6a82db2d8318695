# SPDX-License-Identifier: Apache-2.0
"""Servos with too little power, too much heat or load, on an emulated line: the reaction, its delay and its report.

All faults: no goal is farther from the previous one than the joint's speed allows (checked by the fixtures `armed` and
`simulated`), and every report contains what, where and what to do.
"""

import numpy as np
import pytest
from support.kits.recorded_servos import FAULT, FEMUR, SLACK, kinds, reported

from hexapod_control.servos.bus import ff_frames
from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.driver.bus_connection import MAX_BACK_OFF_S
from hexapod_control.servos.driver.presence import PING_PERIOD_S
from hexapod_control.servos.driver.telemetry import PlannerRequest, TorqueState
from hexapod_control.servos.protocols import dynamixel2, lx16a
from hexapod_control.servos.settings.servo_section import Battery


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


# --- heat and overload --------------------------------------------------------------------------------------


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
