# SPDX-License-Identifier: Apache-2.0
"""Registers that change while the robot walks: found, named and answered within two seconds, at the same loop rate."""

import pytest
from support.kits.recorded_servos import FEMUR, kinds, reported

from hexapod_control.servos.driver.monitors import MAX_RETRIES
from hexapod_control.servos.driver.telemetry import PlannerRequest, TorqueState
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.protocols import lx16a

FOUND_S = 2.0  # from the change to the report
REPORT_S = 0.15  # from the report of the driver to its diagnosis
SERVO = 4  # index of FEMUR
GOALS_SWITCH_ON = ("dynamixel1", "lx16a")  # servos whose next goal switches the torque on
RATES = {"feetech_st": 50.0, "feetech_sc": 50.0, "dynamixel1": 50.0, "dynamixel2": 24.4, "lx16a": 38.5}  # [Hz]


def write(bench, name, value, index=SERVO):
    """Writes a register of a servo whatever it does at present. Returns what it held."""
    table = PROTOCOLS[bench.settings.protocol].registers
    register = next(each for each in table.registers if each.name == name)
    if bench.settings.protocol == "lx16a":
        (_, reply), *_ = bench.device.receive(lx16a.build(bench.settings.ids[index], register), bench.time.now)
        data = lx16a.Lx16aDecoder().feed(reply)[0].data
        frame = lx16a.build(bench.settings.ids[index], register - 1, table.replaced(register, data, value))
        bench.device.receive(frame, bench.time.now)
        return table.value(register, data)
    memory, place = bench.device.memories[index], slice(register, register + register.size)
    before = bytes(memory[place])
    memory[place] = table.replaced(register, before, value)
    return table.value(register, before)


def request(bench):
    return bench.driver.snapshot.planner_request


@pytest.mark.parametrize(
    ("protocol", "name", "value"),
    [
        ("feetech_st", "mode", 2),
        ("feetech_st", "maximum position", 2048),
        ("feetech_st", "torque limit", 100),
        ("feetech_sc", "minimum position", 512),
        ("feetech_sc", "maximum torque", 0),
        ("dynamixel1", "clockwise limit", 512),
        ("dynamixel1", "torque limit", 0),
        ("dynamixel2", "operating mode", 16),
        ("dynamixel2", "minimum position", 2048),
        ("dynamixel2", "PWM limit", 0),
        ("lx16a", "mode", 1),
        ("lx16a", "maximum position", 500),
    ],
)
def test_a_register_that_changes_while_the_robot_walks_stops_it_and_is_named_with_both_values(
    simulated, protocol, name, value
):
    bench = simulated(protocol)
    bench.during(1.0)
    assert request(bench) is PlannerRequest.NOTHING
    before = write(bench, name, value)
    bench.until(lambda: request(bench) is PlannerRequest.STOP, FOUND_S, "stop")
    words = (
        f"{FEMUR}: {name} has changed to {value}, expected ",
        "the robot stops; let it sit, run hexapod disarm, then",
    )
    bench.until(lambda: reported(bench, *words), REPORT_S, "report")
    assert bench.world.torques.all() and bench.driver.snapshot.torque is TorqueState.ON
    write(bench, name, before)
    bench.until(lambda: request(bench) is PlannerRequest.NOTHING, FOUND_S, "the register is right again")
    bench.world.received_goals.clear()  # the servo has clamped some to its new limit
    bench.during(0.1)


@kinds
def test_a_servo_that_loses_only_its_torque_gets_it_again_where_it_is(simulated, protocol):
    bench = simulated(protocol)
    bench.during(1.0)
    bench.world.torque(SERVO, False)
    bench.until(lambda: bench.world.torques[SERVO], FOUND_S, "torque")
    if protocol in GOALS_SWITCH_ON:
        bench.world.switched.clear()  # at the goal of this cycle, which is near
    else:
        bench.until(lambda: reported(bench, f"{FEMUR} had lost the torque: it is switched on again"), 0.1, "report")
    bench.until(lambda: bench.driver.snapshot.torque is TorqueState.ON, 0.5, "it goes on")
    bench.during(0.5)
    assert request(bench) is PlannerRequest.NOTHING
    bench.assert_no_leap()


def test_a_servo_that_loses_its_torque_again_and_again_is_given_up(simulated):
    bench = simulated("dynamixel2")
    for _ in range(MAX_RETRIES):
        bench.world.torque(SERVO, False)
        bench.until(lambda: bench.world.torques[SERVO], FOUND_S, "torque")
        bench.during(0.3)
    bench.world.torque(SERVO, False)
    bench.until(
        lambda: reported(
            bench, f"{FEMUR} has lost its torque too often and is off: free the joint, then run hexapod reset"
        ),
        3.0,
    )
    bench.during(FOUND_S)
    assert not bench.world.torques[SERVO]
    assert request(bench) is PlannerRequest.STOP
    assert bench.world.torques.sum() == 17


def test_if_most_servos_lose_their_torque_that_is_evidence_and_all_are_off(simulated):
    bench = simulated("dynamixel2")
    for index in range(12):
        bench.world.torque(index, False)
    bench.until(lambda: bench.driver.snapshot.torque is TorqueState.OFF, FOUND_S, "torque off")
    bench.until(lambda: reported(bench, "without torque, as in a brown-out"), 0.5, "report")


@kinds
def test_reading_registers_again_does_not_slow_the_loop(simulated, protocol):
    bench = simulated(protocol)
    bench.during(1.0)
    begin, sent = bench.time.now, len(bench.world.received_goals)
    bench.during(3.0)
    cycles = sum(index == 0 for _, index, *_ in bench.world.received_goals[sent:])
    assert cycles / (bench.time.now - begin) > 0.99 * RATES[protocol]
    assert bench.driver.snapshot.overruns == 0


def test_values_that_the_preflight_has_warned_of_are_no_change(simulated):
    bench = simulated("feetech_st")
    bench.driver.disarm()
    write(bench, "return delay", 10)
    bench.arm()
    bench.during(FOUND_S + 0.5)
    assert request(bench) is PlannerRequest.NOTHING
    assert reported(bench, "return delay is 10: its replies are late")
