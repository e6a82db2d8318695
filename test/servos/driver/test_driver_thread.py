"""The servo driver: its ladders and budgets without a wire, and its loop over an emulated bus."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.phantomx import lying, robot
from support.real_time.servo_bench import SMART, SPEED, ServoBench, said

from hexapod_control.servos.bus.bus_interface import BusError, BusTiming, PortGone
from hexapod_control.servos.bus.bus_timing import MAX_LINE_SHARE, MIN_RATE, budget, duration
from hexapod_control.servos.driver.command_limiter import REJOIN_TIME, CommandLimiter
from hexapod_control.servos.driver.fault_timers import BackOff, EscalationLadder, Presence, RetryBudget, Severity
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import LOOPBACK


@pytest.fixture
def bench(tmp_path):
    benches = []

    def make(*args, **changes):
        benches.append(ServoBench(tmp_path, *args, **changes))
        return benches[-1]

    yield make
    for bench in benches:
        bench.close()


# --- ladders ------------------------------------------------------------------------------------------------


def test_a_ladder_warns_sits_once_and_ends_off():
    ladder = EscalationLadder(warn=60.0, limit=70.0, patience=0.0, back=5.0, sitting=10.0)
    values = [(0, 50), (1, 61), (2, 57), (3, 54), (4, 65), (5, 70), (6, 50), (14.9, 50), (15, 50), (99, 20)]
    rungs = [ladder.update(value, now).name for now, value in values]
    assert rungs == ["OK", "WARN", "WARN", "OK", "WARN", "SIT", "SIT", "SIT", "OFF", "OFF"]


def test_a_sag_shorter_than_the_patience_is_ignored():
    ladder = EscalationLadder(warn=-10.5, limit=-9.9, patience=2.0, back=0.3)
    for sag in range(20):  # 0.4 s of every second
        assert ladder.update(-9.0, sag) is Severity.OK
        assert ladder.update(-9.0, sag + 0.4) is Severity.OK
        assert ladder.update(-11.0, sag + 0.45) is Severity.OK


def test_who_sits_already_is_off_at_once():
    ladder = EscalationLadder(warn=60.0, limit=70.0, patience=0.0, back=5.0)
    ladder.update(80.0, 0.0)
    ladder.seated()
    assert ladder.rung is Severity.OFF
    assert not ladder.reset(80.0)
    assert ladder.rung is Severity.OFF
    assert ladder.reset(40.0)
    assert ladder.rung is Severity.OK


@given(st.lists(st.tuples(st.floats(0.01, 3.0), st.floats(0.0, 100.0)), max_size=60))
def test_no_sequence_of_values_climbs_back_from_sit(values):
    ladder, now, worst = EscalationLadder(60.0, 70.0, 1.0, 5.0), 0.0, Severity.OK
    for dt, value in values:
        now += dt
        rung = ladder.update(value, now)
        assert worst < Severity.SIT or rung >= worst
        worst = max(worst, rung)


def test_three_misses_quarantine_and_only_a_ping_a_second_is_left():
    presence = Presence(3, 0.5, 0.0)
    assert [presence.missed(1) for _ in range(3)] == [False, False, True]
    assert [presence.quarantined(i) for i in range(3)] == [False, True, False]
    assert not presence.lost(1, 0.4)
    assert presence.lost(1, 0.5)
    assert [presence.ping(now) for now in (0.1, 0.2, 1.0, 1.1, 2.0)] == [1, None, None, 1, None]
    assert presence.answered(1, 2.1)
    assert presence.ping(9.0) is None


def test_the_port_is_tried_after_a_quarter_second_and_then_less_often():
    back_off, waits = BackOff(), []
    for _ in range(6):
        waits.append(back_off.failed(0.0))
    assert waits == [0.25, 0.5, 1.0, 2.0, 2.0, 2.0]
    back_off.reset()
    assert back_off.failed(5.0) == 5.25


def test_an_overload_is_recovered_three_times_in_five_minutes():
    allowance = RetryBudget()
    assert [allowance.take(now) for now in (0, 10, 20, 30, 299, 300.1, 301)] == [True] * 3 + [False] * 2 + [True, False]


# --- budget -------------------------------------------------------------------------------------------------


def line(baud, per_servo, turnarounds=None):
    def timing(count):
        return BusTiming(140 * 10 / baud, per_servo * count * 10 / baud, count if turnarounds is None else turnarounds)

    return timing


def test_a_fast_line_reads_everybody_in_every_cycle():
    found = budget(line(1_000_000, 14, 1), 18, 50.0, True)
    assert (found.rate, found.reads, found.sentence) == (50.0, 18, "")


def test_a_line_of_many_turnarounds_reads_some_in_turn_and_says_so():
    found = budget(line(1_000_000, 22), 18, 50.0, True)
    assert 10 <= found.reads < 18
    assert duration(line(1_000_000, 22), 18, found.reads) * found.rate <= MAX_LINE_SHARE
    assert f"{found.reads} of 18 servos are read per cycle" in found.sentence


def test_a_slow_line_has_its_rate_lowered_in_a_sentence():
    found = budget(line(38_400, 14, 1), 18, 50.0, False)
    assert found.rate < 50.0
    assert f"lowered from 50 to {found.rate:.1f} Hz" in found.sentence


def test_a_line_too_slow_to_walk_is_refused():
    with pytest.raises(BusError, match="set the servos to a higher baud"):
        budget(line(9_600, 14, 1), 18, 50.0, True)


@given(st.sampled_from((9600, 57600, 115200, 1000000)), st.integers(2, 40), st.floats(10, 300), st.booleans())
def test_a_budget_never_asks_for_more_than_the_line_has(baud, size, rate, reads):
    try:
        found = budget(line(baud, size), 18, rate, reads)
    except BusError:
        assert MAX_LINE_SHARE / duration(line(baud, size), 18, int(reads)) < MIN_RATE
        return
    assert found.rate <= rate
    assert found.reads <= 1 or duration(line(baud, size), 18, found.reads) * found.rate <= MAX_LINE_SHARE + 1e-9


# --- the gate before the servos -----------------------------------------------------------------------------


@given(st.lists(st.tuples(st.floats(0.001, 0.3), st.integers(0, 17), st.floats(-3, 3)), min_size=1, max_size=40))
def test_no_setpoint_however_wild_makes_a_joint_faster_than_it_can_be(steps):
    motion, speed = CommandLimiter(robot()), SPEED.reshape(-1, 3)
    motion.start(lying() + 0.3, lying())
    goal = np.array(lying())
    for dt, index, angle in steps:
        goal[divmod(index, 3)] = angle
        before = motion.command
        assert (np.abs(motion.step(goal, dt) - before) <= 1.05 * speed * dt + 1e-12).all()


def test_a_joint_that_came_back_goes_from_where_it_is_to_its_place_in_a_second():
    motion = CommandLimiter(robot())
    motion.start(lying(), lying())
    motion.rejoin(4, lying()[1, 1] - 0.5, lying())
    ways = [motion.step(lying(), 0.02)[1, 1] - lying()[1, 1] for _ in range(round(REJOIN_TIME / 0.02) + 30)]
    assert ways[0] == pytest.approx(-0.5, abs=0.01)
    assert np.abs(np.diff(ways)).max() < 1.05 * SPEED[4] * 0.02
    assert abs(ways[10]) > 0.3
    assert ways[-1] == pytest.approx(0.0, abs=1e-9)


# --- the loop over an emulated bus --------------------------------------------------------------------------


def test_a_driver_that_was_just_started_reads_the_pose_and_leaves_the_torque_off(bench):
    bench = bench()
    snapshot = bench.driver.snapshot
    assert snapshot.measured
    assert np.abs(snapshot.joints - bench.start).max() < 0.005
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


def test_targets_are_followed_at_the_full_rate_with_everybody_read_in_every_cycle(bench):
    bench = bench(start=lying() - 0.3)
    bench.arm()
    bench.until(lambda: bench.driver.snapshot.rate > 0, 3.0)
    bench.during(1.2)
    snapshot = bench.driver.snapshot
    assert snapshot.rate == pytest.approx(50.0, rel=0.05)
    assert sum(snapshot.misses) <= 0.1 * snapshot.counters.received  # late ones, on a busy machine
    assert snapshot.voltage == pytest.approx(11.1, abs=0.1)
    assert np.nanmax(snapshot.temperatures) == pytest.approx(35.0, abs=1.0)
    bench.assert_no_leap()


def test_servos_that_cannot_tell_are_staged_and_switched_on_leg_by_leg(bench):
    bench = bench("ssc32")
    assert bench.driver.snapshot.joints is None
    begin = time.monotonic()
    bench.arm()
    assert time.monotonic() - begin > 5 * 0.2
    assert not bench.driver.snapshot.measured
    bench.until(lambda: bench.driver.snapshot.joints is not None, 1.0)
    bench.until(lambda: len(bench.world.told) >= 18, 0.5)
    legs = [index // 3 for _, index, *_ in bench.world.told[:18]]
    assert legs == sorted(legs)
    firsts = {leg: min(now for now, index, *_ in bench.world.told if index // 3 == leg) for leg in range(6)}
    assert min(np.diff([firsts[leg] for leg in range(6)])) > 0.15
    bench.driver.disarm()
    bench.until(lambda: bench.driver.snapshot.joints is None, 1.0)


def test_the_newest_targets_win(bench):
    bench = bench(start=lying() - 0.3)
    assert bench.driver.arm() == ""
    for count in range(500):
        bench.driver.take(bench.start + 1e-4 * count, None, time.monotonic())
    bench.until(lambda: np.abs(bench.driver.snapshot.joints - bench.start - 0.0499).max() < 0.005, 3.0)


def test_a_servo_that_is_missing_at_the_start_is_named_before_any_torque(bench):
    bench = bench(connect=False)
    bench.world.unplug(7)
    with pytest.raises(BusError, match=r"no answer from 1 of 18 servos: left_rear_femur_joint \(id 8\)"):
        bench.driver.connect()
    assert not bench.world.torques.any()


@pytest.mark.parametrize("protocol", SMART)
def test_two_servos_with_one_id_are_named_before_any_torque(bench, protocol):
    bench = bench(protocol, connect=False)
    bench.world.twin(7)
    words = r"left_rear_femur_joint \(id 8\) answers garbled, likely two servos have this id: connect one alone"
    with pytest.raises(BusError, match=words):
        bench.driver.connect()
    assert not bench.world.torques.any()


@pytest.mark.parametrize("protocol", ["ssc32", "maestro", "servo2040"])
def test_a_line_that_echoes_is_refused_where_replies_could_not_be_told_from_it(bench, protocol):
    bench = bench(protocol, connect=False)
    bench.pty.faults.echo = True
    with pytest.raises(BusError, match=r"gives back what is sent at 115200 baud.*: separate TX from RX"):
        bench.driver.connect()
    assert not bench.world.torques.any()


def test_a_line_that_echoes_is_told_where_the_echo_is_dropped(bench):
    bench = bench(connect=False)
    bench.pty.faults.echo = True
    bench.driver.connect()
    bench.driver.start()
    bench.until(lambda: bench.troubles("echo"), 1.0, "the sentence")
    assert not bench.troubles("echo")[0].serious


def test_a_port_that_is_absent_is_named_with_a_cure(bench):
    bench = bench(connect=False)
    bench.pty.hang_up()
    with pytest.raises(PortGone, match="no such port"):
        bench.driver.connect()


def test_a_wrong_baud_is_said_before_any_torque(bench):
    bench = bench(connect=False, baud=500_000)
    bench.pty.baud = 1_000_000
    with pytest.raises(BusError, match="baud"):
        bench.driver.connect()
    assert not bench.world.torques.any()


def test_the_end_takes_the_torque_unless_it_is_to_hold(bench):
    bench = bench()
    bench.arm()
    assert bench.driver.close(False) == ""
    assert bench.world.torques.all()
    again = bench.new_driver()
    again.connect()
    again.close(True)
    bench.until(lambda: not bench.world.torques.any(), 1.0)


@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name != LOOPBACK])
def test_every_protocol_arms_follows_and_lets_go_without_a_leap(bench, protocol):
    bench = bench(protocol, start=lying() - 0.3)
    assert not bench.driver.armed
    bench.arm()
    bench.until(lambda: bench.driver.snapshot.rate > 0, 3.0)
    bench.during(1.0)
    snapshot = bench.driver.snapshot
    assert snapshot.rate > 10.0
    assert bench.driver.armed
    assert not [trouble for trouble in snapshot.diagnoses if trouble.kind != "budget"]
    bench.until(lambda: np.abs(bench.world.angles() - bench.start).max() > 0.05, 3.0)
    assert np.abs(bench.driver.snapshot.joints - bench.world.angles()).max() < 0.25
    bench.assert_no_leap()
    bench.driver.press_estop()
    bench.until(lambda: not bench.world.torques.any(), 0.3)


def test_who_fails_at_the_news_does_not_stop_the_servos(bench):
    bench = bench()
    bench.arm()

    def fail():
        raise RuntimeError("nobody there")

    bench.driver.after_cycle = fail
    bench.until(lambda: said(bench, "nobody there"))
    then = bench.driver.snapshot.time
    bench.until(lambda: bench.driver.snapshot.time > then + 0.2)
    assert bench.driver.armed
    assert sum("nobody there" in text for text in bench.texts()) == 1
