"""What happens when things go wrong between the driver and its servos, over a pty: what, how soon, said how.

Over all faults: no goal is further from the one before than the joint's speed allows (`assert_no_leap`), and every
one has a sentence that says what, where and what to do.
"""

import time

import numpy as np
import pytest
from servo_bench import ServoBench, lying

from hexapod_control.servos import watch
from hexapod_control.servos.bus import Fault, PortGone
from hexapod_control.servos.port import SerialPort
from hexapod_control.servos.settings import Battery, OnLost, OnSilence
from hexapod_control.servos.telemetry import Power, Wish

FAULT = 0.2  # [s] from an unplugged cable to the fault
LOST = 0.5  # [s] from the last answer to a lost servo
SLACK = 0.3  # [s] for a busy machine
PERIOD = 0.02  # [s]
FEMUR = "left_middle_femur_joint (id 5)"
HIGH = lying() - 0.3  # a pose away from the joint limits


@pytest.fixture
def armed(tmp_path):
    """Makes a bench whose servos hold and follow a wave of targets."""
    benches = []

    def make(*args, **changes):
        benches.append(ServoBench(tmp_path, *args, start=HIGH, **changes))
        benches[-1].arm()
        return benches[-1]

    yield make
    for bench in benches:
        bench.close()
        bench.assert_no_leap()  # whatever the fault was


def said(bench, *words):
    texts = bench.texts()
    return all(any(word in text for text in texts) for word in words)


# --- lost and disturbed frames ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "faults",
    [
        {"drop": 0.05},
        {"flip": 0.05},
        {"truncate": 0.05},
        {"double": 0.2},
        {"glue": True},
        {"split": True},
        {"echo": True},
        {"noise": b"\xff\xff\x01"},
        {"slow": 0.0001},
    ],
    ids=lambda faults: next(iter(faults)),
)
def test_disturbed_replies_are_counted_and_neither_stop_the_loop_nor_move_a_joint_wrongly(armed, faults):
    bench = armed()
    bench.during(0.5)
    before = bench.driver.snapshot.rate
    for name, value in faults.items():
        setattr(bench.pty.faults, name, value)
    bench.during(1.5)
    rate = bench.driver.snapshot.rate
    assert bench.driver.armed
    assert bench.driver.snapshot.power is Power.ON
    assert not bench.troubles("brown-out")
    assert rate > 0.6 * before  # of one run: how fast the machine is does not matter
    counters = bench.driver.snapshot.counters
    if set(faults) & {"flip", "truncate"}:
        assert counters.bad + counters.timeouts > 0
    if "drop" in faults:
        assert counters.timeouts > 0
        assert sum(bench.driver.snapshot.misses) > 0
    bench.assert_no_leap()
    assert np.abs(bench.driver.snapshot.joints - bench.world.angles()).max() < 0.1


def test_after_a_bad_minute_the_line_is_as_good_as_before(armed):
    bench = armed()
    bench.pty.faults.flip = bench.pty.faults.drop = 0.2
    bench.during(1.0)
    bench.pty.faults.flip = bench.pty.faults.drop = 0.0
    bench.until(lambda: not bench.driver.snapshot.troubles, watch.PING_PERIOD + SLACK, "all troubles gone")
    misses = sum(bench.driver.snapshot.misses)
    bench.during(0.5)
    assert sum(bench.driver.snapshot.misses) == misses
    bench.assert_no_leap()


# --- a silent servo -----------------------------------------------------------------------------------------


def test_a_servo_that_falls_silent_is_warned_of_named_and_the_planner_stopped(armed):
    bench = armed()
    bench.world.unplug(4)
    bench.until(lambda: bench.troubles("silent"), 3 * PERIOD + SLACK, "warning")
    assert not bench.troubles("silent")[0].serious
    assert bench.driver.snapshot.wish is Wish.NOTHING
    bench.until(lambda: bench.driver.snapshot.wish is Wish.STOP, LOST + SLACK, "fault")
    words = f"{FEMUR} is silent for", "the robot stops", "check its cable and id"
    bench.until(lambda: said(bench, *words), 0.3, "the sentence")
    assert bench.driver.armed
    bench.assert_no_leap()


def test_one_missing_servo_leaves_the_others_their_rate(armed):
    """All counts are of one run, per cycle or against the rate before: how fast the machine is does not matter."""
    bench = armed()
    bench.during(1.0)
    rate = bench.driver.snapshot.rate
    bench.world.unplug(4)
    bench.until(lambda: bench.troubles("silent"), 1.0)
    before, begin = bench.driver.snapshot.counters.received, time.monotonic()
    bench.during(3.0)
    received, end = bench.driver.snapshot.counters.received - before, time.monotonic()
    cycles = [now for now, index, *_ in bench.world.told if index == 5 and begin < now < end]
    assert received >= 0.95 * 17 * (len(cycles) - 1)
    assert bench.driver.snapshot.rate >= 0.9 * rate


def test_a_lost_servo_lets_the_robot_sit_or_takes_the_torque_if_that_is_set(armed):
    bench = armed(on_lost=OnLost.SIT)
    bench.world.unplug(4)
    bench.until(lambda: bench.driver.snapshot.wish is Wish.SIT, LOST + SLACK)
    assert bench.driver.armed
    bench.driver.seated()
    bench.until(lambda: not bench.world.torques.any(), 0.2, "torque off once it sits")
    assert "call reset_fault, then arm" in bench.driver.arm()


def test_a_lost_servo_takes_the_torque_if_that_is_set(armed):
    bench = armed(on_lost=OnLost.OFF)
    bench.world.unplug(4)
    took = bench.until(lambda: not bench.world.torques.any(), LOST + SLACK)
    assert took > LOST - 0.1
    bench.until(lambda: said(bench, f"torque is off: {FEMUR} lost"), 0.5, "the sentence")
    bench.world.plug(4)
    assert bench.driver.reset_fault() == ""
    assert bench.driver.arm() == ""


def test_a_servo_that_comes_back_elsewhere_is_brought_to_its_place_without_a_leap(armed):
    bench = armed()
    bench.publishing.clear()
    bench.world.unplug(4)
    bench.until(lambda: bench.troubles("silent"), 1.0)
    bench.world.positions[4] -= 300  # it hung down meanwhile
    bench.world.plug(4)
    bench.until(lambda: bench.world.torques[4], watch.PING_PERIOD + SLACK, "torque of the servo")
    goals = [goal for *_, index, goal, where, torque in bench.world.told if index == 4 and not torque]
    assert abs(goals[-1] - bench.driver.snapshot.joints[1, 1]) < 0.02
    bench.until(lambda: abs(bench.driver.snapshot.joints - bench.driver.snapshot.joints[0])[1, 1] < 0.02, 4.0)
    assert not bench.driver.snapshot.troubles
    bench.assert_no_leap()


def test_a_servo_with_a_twin_is_called_a_likely_duplicate(armed):
    bench = armed()
    bench.world.twin(4)
    bench.until(lambda: said(bench, f"{FEMUR} answers garbled, likely two servos have this id"), 6.0)
    bench.assert_no_leap()


# --- the port -----------------------------------------------------------------------------------------------


def test_an_unplugged_port_is_a_fault_at_once_and_comes_back_without_torque_and_without_old_targets(armed):
    bench = armed()
    bench.pty.hang_up()
    bench.until(lambda: not bench.driver.armed, FAULT, "fault")
    bench.until(lambda: bench.driver.snapshot.joints is None, FAULT, "pose unknown")
    assert "not connected" in bench.driver.arm()
    bench.until(lambda: said(bench, "torque counts as off, the port is tried again"), 0.3)
    bench.world.positions += 100  # somebody moves the robot meanwhile
    bench.pty.come_back()
    bench.until(lambda: bench.driver.snapshot.power is Power.OFF, watch.BACK_OFF[1] + 1.0, "reconnected")
    bench.until(lambda: not bench.world.torques.any(), 0.1, "torque off")
    assert np.abs(bench.driver.snapshot.joints - bench.world.angles()).max() < 0.01
    bench.until(lambda: said(bench, "is back, torque is off: call arm"), 0.5, "the sentence")
    told = len(bench.world.told)
    bench.during(0.3)
    assert len(bench.world.told) == told  # targets come, nothing is sent
    assert bench.driver.arm() == ""
    first = [goal for *_, index, goal, where, _ in bench.world.told[told:] if abs(goal - where) > 0.01]
    bench.during(0.1)
    assert not first
    bench.during(1.2)
    bench.assert_no_leap()
    assert bench.driver.snapshot.reconnections == 1


def test_a_port_in_use_is_refused_by_name(armed):
    bench = armed()
    with pytest.raises(PortGone, match=r"bus: .*(use|busy)"):
        SerialPort(bench.settings.port, bench.settings.baud)


# --- power --------------------------------------------------------------------------------------------------


def test_a_brown_out_is_detected_and_the_servos_stay_off_until_armed_leg_by_leg(armed):
    bench = armed()
    bench.world.power(4.0)
    bench.until(lambda: not bench.driver.armed, 0.8, "detected")
    bench.until(lambda: said(bench, "most servos fell silent at once, as in a brown-out"), 0.5, "the sentence")
    bench.until(lambda: bench.driver.snapshot.joints is None, 0.2)
    bench.during(3.0)
    bench.world.power(11.1)
    bench.until(lambda: not bench.driver.snapshot.troubles, 3.0, "all answer again")
    assert not bench.world.torques.any()
    told = len(bench.world.told)
    assert bench.driver.arm() == ""
    bench.until(bench.world.torques.all, 0.2)
    energised = {}
    for now, index, goal, where, torque in bench.world.told[told:]:
        if not torque:
            energised.setdefault(index // 3, now)
            assert abs(goal - where) < 0.01
    times = [energised[leg] for leg in range(6)]
    assert min(np.diff(times)) > 0.03
    bench.during(1.2)
    bench.assert_no_leap()


def test_a_low_battery_warns_sits_once_and_switches_off_and_never_climbs_back(armed):
    bench = armed(battery=Battery(10.5, 9.9, 0.5))
    bench.world.voltages[:] = 10.2
    bench.until(lambda: bench.troubles("battery"), 2.5, "warning")
    bench.until(lambda: said(bench, "the battery has", "warning at 10.5 V, critical at 9.9 V"), 0.5, "the sentence")
    assert bench.driver.snapshot.wish is Wish.NOTHING
    bench.world.voltages[:] = 9.5
    bench.until(lambda: bench.driver.snapshot.wish is Wish.SIT, 3.0, "sit")
    bench.world.voltages[:] = 11.0  # the load is gone, the voltage recovers
    bench.during(1.0)
    assert bench.driver.snapshot.wish is Wish.SIT
    bench.driver.seated()
    bench.until(lambda: not bench.world.torques.any(), 0.3, "off")
    assert "the battery is empty" in bench.driver.arm()
    bench.world.voltages[:] = 10.0
    bench.during(1.5)
    assert "charge" in bench.driver.reset_fault()
    bench.world.voltages[:] = 12.2
    bench.until(lambda: bench.driver.reset_fault() == "", 3.0)
    assert bench.driver.arm() == ""


def test_a_sag_of_less_than_half_a_second_is_ignored(armed):
    bench = armed(battery=Battery(10.5, 9.9, 0.5))
    bench.during(0.5)
    for _ in range(3):
        bench.world.voltages[:] = 8.5
        bench.during(0.25)
        bench.world.voltages[:] = 11.5
        bench.during(0.8)
    assert bench.driver.snapshot.wish is Wish.NOTHING
    assert not any("critical" in text for text in bench.texts() if "sits" in text)


# --- heat and overload --------------------------------------------------------------------------------------


def test_a_hot_servo_is_warned_of_slowed_and_at_its_limit_the_robot_sits_then_off(armed):
    bench = armed(max_temperature=70.0)
    bench.world.temperatures[4] = 62.0
    bench.until(lambda: bench.troubles("heat"), 1.5, "warning")
    bench.until(lambda: said(bench, f"{FEMUR} has 62 degC of 70: slower now"), 0.5, "the sentence")
    assert bench.driver.snapshot.wish is Wish.NOTHING
    bench.world.temperatures[4] = 71.0
    bench.until(lambda: bench.driver.snapshot.wish is Wish.SIT, 1.5, "sit")
    bench.world.temperatures[4] = 50.0
    bench.during(0.8)
    assert bench.driver.snapshot.wish is Wish.SIT
    bench.driver.seated()
    bench.until(lambda: not bench.world.torques.any(), 0.3, "off")
    bench.until(lambda: bench.driver.reset_fault() == "", 2.0)
    assert bench.driver.arm() == ""
    bench.assert_no_leap()


def test_an_overloaded_servo_is_said_and_started_again_where_it_is_three_times_only(armed):
    bench = armed()
    for count in range(3):
        bench.world.latch(4, Fault.OVERLOAD)
        bench.world.positions[4] -= 100
        bench.until(lambda: bench.world.torques[4] and not bench.world.faults[4], 2.5, f"recovery {count}")
    bench.until(lambda: said(bench, f"{FEMUR} was overloaded: started again"), 0.5, "the sentence")
    assert bench.driver.armed
    bench.during(0.5)
    bench.world.latch(4, Fault.OVERLOAD)
    bench.until(lambda: said(bench, f"{FEMUR} was overloaded too often"), 1.5)
    assert not bench.world.torques[4]
    bench.until(lambda: bench.driver.snapshot.wish is Wish.STOP, 0.2)
    bench.assert_no_leap()


# --- the emergency stop, and nobody to follow ---------------------------------------------------------------


def test_an_emergency_stop_takes_all_torque_at_once_three_times_over_and_latches(armed):
    bench = armed()
    frames = []
    bench.pty.listener = frames.append
    begin = time.monotonic()
    bench.driver.press_estop()
    bench.until(lambda: not bench.world.torques.any(), 0.1)
    assert time.monotonic() - begin < 0.1
    off = bytes.fromhex("FF FF FE 04 03 28 00 D2")
    bench.until(lambda: b"".join(frames).count(off) == 3, 0.1)
    assert "latched" in bench.driver.arm()
    assert "still true" in bench.driver.reset_fault()
    bench.driver.release_estop()
    assert "latched" in bench.driver.arm()
    assert bench.driver.reset_fault() == ""
    bench.during(0.2)
    assert not bench.world.torques.any()
    assert bench.driver.arm() == ""
    bench.during(0.5)
    bench.assert_no_leap()


def test_an_emergency_stop_waits_for_no_servo_that_does_not_answer(armed):
    bench = armed("dynamixel1")
    bench.pty.faults.mute = True
    bench.during(0.05)
    begin = time.monotonic()
    bench.driver.press_estop()
    bench.until(lambda: not bench.world.torques.any(), 0.2)
    assert time.monotonic() - begin < 0.2


def test_an_emergency_stop_while_the_torque_comes_on_stops_that(armed):
    bench = armed()
    bench.driver.disarm()
    bench.until(lambda: not bench.world.torques.any(), 0.2)
    bench.driver._requests.append(request := _arming(bench))
    bench.until(bench.world.torques.any, 0.5)
    bench.driver.press_estop()
    bench.until(lambda: not bench.world.torques.any(), 0.1)
    assert "latched" in request.answer
    bench.during(0.4)
    assert not bench.world.torques.any()


def _arming(bench):
    from hexapod_control.servos.control import Request

    return Request(bench.driver._control.begin_arming)


def test_targets_that_stop_are_held_within_a_fifth_of_a_second(armed):
    bench = armed()
    bench.during(1.2)
    bench.publishing.clear()
    bench.until(lambda: bench.driver.holding, FAULT + SLACK, "hold")
    told = len(bench.world.told)
    bench.during(0.5)
    goals = np.array([goal for _, index, goal, *_ in bench.world.told[told + 18 :] if index == 4])
    assert len(goals) > 10
    assert np.ptp(goals) < 0.005
    bench.until(
        lambda: said(bench, "no joint_targets for 0.2 s while moving: holding the last row"), 0.5, "the sentence"
    )
    assert bench.driver.armed


def test_targets_that_stay_away_take_the_torque_if_that_is_set(armed):
    bench = armed(on_silence=OnSilence.OFF, silence_time=0.5)
    bench.during(1.2)
    bench.publishing.clear()
    bench.until(lambda: not bench.world.torques.any(), FAULT + 0.5 + SLACK)
    bench.until(lambda: said(bench, "no joint_targets for 0.5 s: torque off; call arm"), 0.5, "the sentence")


def test_a_driver_that_is_started_again_reads_the_pose_and_ramps_from_there(armed):
    bench = armed()
    bench.during(1.0)
    bench.driver.close(False)  # killed: the servos hold
    told = len(bench.world.told)
    bench.driver = bench.new_driver()
    bench.driver.connect()
    bench.driver.start()
    bench.row = HIGH + 0.2
    assert bench.driver.arm() == ""
    bench.during(1.5)
    for _, _, goal, where, _ in bench.world.told[told : told + 18]:
        assert abs(goal - where) < 0.02
    bench.assert_no_leap()


def test_a_defect_in_the_driver_ends_neither_the_thread_nor_the_robot(armed, monkeypatch):
    bench = armed()
    step = bench.driver._setpoints.step
    monkeypatch.setattr(bench.driver._setpoints, "step", lambda dt: 1 / 0)
    bench.until(lambda: not bench.driver.armed, 0.2)
    bench.until(lambda: said(bench, "ZeroDivisionError"), 0.5, "the sentence")
    monkeypatch.setattr(bench.driver._setpoints, "step", step)
    bench.until(lambda: bench.driver.snapshot.power is Power.OFF, 2.0)
    bench.until(lambda: not bench.world.torques.any(), 0.2)
    assert bench.driver.arm() == ""
