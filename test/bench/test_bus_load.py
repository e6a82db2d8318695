# SPDX-License-Identifier: Apache-2.0
"""`make bench ARGS=bus`: the limit is the transfer time of the bytes, and no loop is faster."""

import os

import bus_load
import pytest

from hexapod_control.config.robots.robot_file import load
from hexapod_control.servos.protocol_registry import PROTOCOLS

LIMITS = {  # [ms] bytes out and in at 10 bits each, and 1 ms for every turnaround
    "ssc32 115200": 19.0 + 1,
    "feetech_sc 1000000": 4.2 + 18,
    "dynamixel2 57600": 70.5 + 1,
    "dynamixel2 1000000": 4.1 + 1,
}


@pytest.fixture(scope="module")
def found():
    patch = pytest.MonkeyPatch()
    names = {key.split()[0] for key in LIMITS}
    patch.setattr(bus_load, "PROTOCOLS", {name: row for name, row in PROTOCOLS.items() if name in names})
    patch.setattr(bus_load, "MEASURED_TIME_S", 0.3)
    before = os.sched_getscheduler(0)
    yield bus_load.wires(load("phantomx"), lambda text: None)
    assert os.sched_getscheduler(0) == before
    patch.undo()


@pytest.mark.heavy
@pytest.mark.parametrize("line", LIMITS)
def test_a_loop_is_compared_with_the_transfer_time_of_its_bytes(found, line):
    entry = found[line]
    assert entry["limit_ms"] == pytest.approx(LIMITS[line], abs=0.07)
    assert entry["loops"] >= bus_load.MIN_LOOPS
    assert entry["quickest_ms"] <= entry["median_ms"] <= entry["slowest_ms"]
    assert entry["quickest_ms"] > entry["limit_ms"]  # no servo is faster than its wire
    assert 0.0 < entry["cpu_ms"] < entry["slowest_ms"]
    assert entry["kept"] is (entry["median_ms"] <= bus_load.MAX_RATIO * entry["limit_ms"])


def test_without_permission_for_real_time_scheduling_the_loop_runs_normally(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    with bus_load.real_time() as granted:
        assert granted is False
