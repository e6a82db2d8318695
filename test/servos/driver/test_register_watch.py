"""Registers that change while the robot walks: found, named and answered within two seconds, at the same loop rate."""

import numpy as np
import pytest
from support.kits.recorded_servos import FEMUR, kinds, reported

from hexapod_control.servos.driver.telemetry import PlannerRequest, TorqueState

FOUND_S = 2.0
SERVO = 4  # index of FEMUR


def loop(bench, seconds=2.0):
    """Goals per second of one servo."""
    begin, sent = bench.time.now, len(bench.world.received_goals)
    bench.during(seconds)
    count = sum(index == 0 for _, index, *_ in bench.world.received_goals[sent:])
    return count / (bench.time.now - begin)

@kinds
def test_rate(simulated, protocol):
    bench = simulated(protocol)
    bench.during(1.0)
    c=bench.driver.snapshot.counters.received
    print("RATE", protocol, round(loop(bench), 2), (bench.driver.snapshot.counters.received-c)/2, bench.driver._connection.group.budget, bench.settings.baud, bench.driver.snapshot.overruns)
    print([x for x in bench.texts() if "joint_targets" not in x])
    bench.world.torque(4, False)
    t = bench.time.now
    try:
        bench.until(lambda: bench.world.torques[4], 3.0)
        print("TORQUE", bench.time.now-t, [x for x in bench.texts() if "torque" in x])
    except AssertionError: print("NOT BACK")
