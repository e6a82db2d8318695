# SPDX-License-Identifier: Apache-2.0
"""The servo driver over an emulated bus on a pseudo-terminal."""

import time

import numpy as np
import pytest
from support.kits.recorded_servos import SMART
from support.phantomx import lying
from support.real_time.servo_bench import ServoBench

from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import LOOPBACK

LEG_PAUSE_S = 0.2  # between legs whose servos are switched on without known positions


@pytest.fixture
def bench(tmp_path):
    benches = []

    def make(*args, **changes):
        benches.append(ServoBench(tmp_path, *args, **changes))
        return benches[-1]

    yield make
    for bench in benches:
        bench.close()


def test_a_driver_that_was_just_started_reads_the_pose_and_leaves_the_torque_off(bench):
    bench = bench()
    snapshot = bench.driver.snapshot
    assert snapshot.measured
    assert np.abs(snapshot.joints - bench.start).max() < 0.005  # [rad]
    assert not bench.driver.armed
    assert not bench.world.torques.any()


def test_arming_holds_every_servo_where_it_is_and_ramps_to_the_targets_in_a_second(bench):
    bench = bench(start=lying() - 0.4)
    bench.row = lying() - 0.1
    bench.arm()
    begin = time.monotonic()
    bench.until(bench.world.torques.all, 0.1)
    bench.until(lambda: np.abs(bench.world.angles() - bench.row).max() < 0.15, 4.0)
    assert time.monotonic() - begin > 0.5  # half of the ramp at least
    bench.assert_no_leap()


def test_targets_are_followed_at_the_full_rate_with_every_servo_read_in_every_cycle(bench):
    bench = bench(start=lying() - 0.3)
    bench.arm()
    full = pytest.approx(50.0, rel=0.05)  # in the best of some seconds: other programs may slow one down
    bench.until(lambda: bench.driver.snapshot.rate == full, 8.0, "full rate")
    snapshot = bench.driver.snapshot
    assert sum(snapshot.misses) <= 0.1 * snapshot.counters.received  # late ones, on a busy machine
    assert snapshot.voltage == pytest.approx(11.1, abs=0.1)
    assert np.nanmax(snapshot.temperatures) == pytest.approx(35.0, abs=1.0)
    bench.assert_no_leap()


def test_servos_without_position_readings_are_switched_on_leg_by_leg(bench):
    bench = bench("ssc32")
    assert bench.driver.snapshot.joints is None
    begin = time.monotonic()
    bench.arm()
    assert time.monotonic() - begin > 5 * LEG_PAUSE_S
    assert not bench.driver.snapshot.measured
    bench.until(lambda: bench.driver.snapshot.joints is not None, 1.0)
    bench.until(lambda: len(bench.world.received_goals) >= 18, 0.5)
    legs = [index // 3 for _, index, *_ in bench.world.received_goals[:18]]
    assert legs == sorted(legs)
    firsts = {leg: min(now for now, index, *_ in bench.world.received_goals if index // 3 == leg) for leg in range(6)}
    assert min(np.diff([firsts[leg] for leg in range(6)])) > 0.75 * LEG_PAUSE_S
    bench.driver.disarm()
    bench.until(lambda: bench.driver.snapshot.joints is None, 1.0)


def test_the_newest_targets_win(bench):
    bench = bench(start=lying() - 0.3)
    assert bench.driver.arm() is None
    for count in range(500):
        bench.driver.take(bench.start + 1e-4 * count, None, time.monotonic())
    bench.until(lambda: np.abs(bench.driver.snapshot.joints - bench.start - 0.0499).max() < 0.005, 3.0)


@pytest.mark.parametrize("protocol", SMART)
def test_two_servos_with_one_id_are_named_before_any_torque(bench, protocol):
    bench = bench(protocol, connect=False)
    bench.world.duplicate_id(7)
    words = r"left_rear_femur_joint \(id 8\) gives corrupt replies, probably two servos have this id: connect only one"
    with pytest.raises(BusError, match=words):
        bench.driver.connect()
    assert not bench.world.torques.any()


def test_shutdown_switches_the_torque_off_unless_set_to_hold(bench):
    bench = bench()
    bench.arm()
    assert bench.driver.close(False) is None
    assert bench.world.torques.all()
    again = bench.new_driver()
    again.connect()
    again.close(True)
    bench.until(lambda: not bench.world.torques.any(), 1.0)


@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name != LOOPBACK])
def test_every_protocol_arms_follows_and_disarms_without_a_jump(bench, protocol):
    bench = bench(protocol, start=lying() - 0.3)
    assert not bench.driver.armed
    bench.arm()
    bench.until(lambda: bench.driver.snapshot.rate > 10.0, 4.0, "the rate of a second")
    assert bench.driver.armed
    bench.until(lambda: not [each for each in bench.driver.snapshot.diagnoses if each.kind != "budget"], what="health")
    bench.until(lambda: np.abs(bench.world.angles() - bench.start).max() > 0.05, 3.0)
    assert np.abs(bench.driver.snapshot.joints - bench.world.angles()).max() < 0.25
    bench.assert_no_leap()
    bench.driver.press_estop()
    bench.until(lambda: not bench.world.torques.any(), 0.2)
    sent = len(bench.world.received_goals)
    bench.during(0.2)
    assert len(bench.world.received_goals) == sent  # targets come, nothing is sent
    assert "latched" in str(bench.driver.arm())
