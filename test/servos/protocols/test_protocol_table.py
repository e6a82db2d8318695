# SPDX-License-Identifier: Apache-2.0
"""The table of servo protocols against the datasheets, and the loopback bus."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hexapod_control.servos.bus.bus_interface import RawScale, ServoQuantity
from hexapod_control.servos.protocol_registry import PROTOCOLS, scale
from hexapod_control.servos.protocols.loopback import LoopbackBus

STEPS_4096 = RawScale("tick", 0, 4095, 2048, 4096 / 2 / math.pi)
STEPS_1024 = RawScale("tick", 0, 1023, 512, 1024 / math.radians(300.0))
PULSES = RawScale("us", 500, 2500, 1500, 2000 / math.pi)
ALL = ~ServoQuantity.NONE
TABLE = {  # baud, raw units, ids, what the servos report
    "feetech_st": (1_000_000, STEPS_4096, range(254), ALL),
    "feetech_sc": (1_000_000, STEPS_1024, range(254), ALL),
    "dynamixel1": (1_000_000, STEPS_1024, range(254), ALL),
    "dynamixel2": (57_600, STEPS_4096, range(253), ALL),
    "lx16a": (
        115_200,
        RawScale("tick", 0, 1000, 500, 1000 / math.radians(240.0)),
        range(254),
        ServoQuantity.POSITION | ServoQuantity.VOLTAGE | ServoQuantity.TEMPERATURE,
    ),
    "servo2040": (115_200, PULSES, range(18), ServoQuantity.NONE),
    "ssc32": (115_200, PULSES, range(32), ServoQuantity.NONE),
    "maestro": (115_200, PULSES, range(24), ServoQuantity.FAULT),
    "pca9685": (100_000, PULSES, range(64), ServoQuantity.NONE),
    "loopback": (1_000_000, STEPS_4096, range(254), ServoQuantity.POSITION | ServoQuantity.SPEED),
}


def test_baud_raw_units_ids_and_readings_are_those_of_the_datasheets():
    found = {name: PROTOCOLS[name] for name in TABLE}
    assert {name: (row.baud, row.scale, row.ids, row.can_read) for name, row in found.items()} == {
        name: (baud, RawScale(u.unit, u.low, u.high, u.center, pytest.approx(u.per_rad, rel=1e-12)), ids, readings)
        for name, (baud, u, ids, readings) in TABLE.items()
    }


@pytest.mark.parametrize("degrees", [90.0, 180.0, 300.0])
def test_the_range_of_a_feetech_sc_sets_its_units_per_radian(degrees):
    found = scale("feetech_sc", (("degrees", degrees),))
    assert found.per_rad * math.radians(degrees) == pytest.approx(1024.0)
    assert scale("feetech_sc") == PROTOCOLS["feetech_sc"].scale
    assert scale("feetech_st", (("acceleration", 50),)) == PROTOCOLS["feetech_st"].scale


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@settings(max_examples=40)
@given(
    st.integers(-100, 4200),
    st.floats(0.0, 2.0),
    st.floats(0.5, 8.0),
    st.lists(st.floats(1e-3, 0.5), min_size=1, max_size=5),
)
def test_a_servo_without_a_wire_goes_evenly_to_its_goal_no_faster_than_it_can_and_stays_there(
    goal, duration, speed, steps
):
    clock = Clock()
    bus = LoopbackBus((4, 7), positions={7: 1000.0}, speed=speed, clock=clock)
    bus.torque((7,), True)
    bus.write_goals({4: goal, 7: goal}, duration)
    end = min(max(goal, 0), 4095)
    distance = abs(end - 1000.0)
    rate = speed * STEPS_4096.per_rad
    if duration > 0.0:
        rate = min(rate, distance / duration)
    for step in steps:
        before = min(rate * clock.now, distance)
        clock.now += step
        moved = min(rate * clock.now, distance)
        found = bus.read((4, 7, 9), ServoQuantity.POSITION | ServoQuantity.SPEED)
        assert set(found) == {4, 7}
        assert (found[4].position, found[4].speed) == (2048, 0.0)  # no torque
        assert found[7].position == pytest.approx(1000.0 + math.copysign(moved, end - 1000.0), abs=0.5 + 1e-6)
        assert found[7].speed == pytest.approx(math.copysign((moved - before) / step, end - 1000.0), abs=1e-6)


def test_a_servo_without_a_wire_turns_by_6_radians_per_second():
    clock = Clock()
    bus = LoopbackBus((1,), positions={1: 0.0}, clock=clock)
    bus.torque((1,), True)
    bus.write_goals({1: 4095}, 0.0)
    clock.now += 0.5
    assert bus.read((1,), ServoQuantity.POSITION)[1].position == round(3.0 * STEPS_4096.per_rad)


def test_a_bus_without_a_wire_counts_frames_and_refuses_what_no_bus_has():
    bus = LoopbackBus((1, 2), clock=Clock())
    assert set(bus.identify()) == {1, 2}
    bus.write_goals({1: 2048}, 0.0)
    reading = bus.read((1,), ServoQuantity.SPEED)[1]
    assert (reading.position, reading.speed) == (None, 0.0)
    assert bus.read((1,), ServoQuantity.POSITION)[1].speed is None
    assert (bus.counters.sent, bus.counters.received) == (1, 2)
    assert bus.supply() == (None, None)
    timing = bus.timing(18)
    assert (timing.write, timing.read, timing.turnarounds) == (0.0, 0.0, 0)
    with pytest.raises(ValueError, match=r"ids \[3\] are not on this bus"):
        bus.write_goals({1: 0, 3: 0}, 0.0)
    for wrong in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="above 0 rad/s"):
            LoopbackBus((1,), speed=wrong)
    with pytest.raises(ValueError, match="must differ"):
        LoopbackBus((1, 1))


def test_torque_of_all_servos_without_a_wire_is_taken_at_once():
    clock = Clock()
    bus = LoopbackBus((1, 2), clock=clock)
    bus.torque((1, 2), True)
    bus.relax()
    bus.write_goals({1: 0, 2: 0}, 0.0)
    clock.now += 1.0
    assert {reading.position for reading in bus.read((1, 2), ServoQuantity.POSITION).values()} == {2048}
