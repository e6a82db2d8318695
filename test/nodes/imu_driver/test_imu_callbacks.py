# SPDX-License-Identifier: Apache-2.0
"""imu_driver in steps of its thread that the test runs: what is read, reported, lost and opened again, and when."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from std_msgs.msg import String
from support.kits.direct_topics import DirectTopics
from support.kits.plain_node import Moment
from support.real_time.ros_bench import overrides

from hexapod_control.core.sensing.imu_estimator import BodyReading
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.nodes.imu_driver import imu_driver
from hexapod_control.nodes.imu_driver.imu_driver import THREAD, ImuDriverNode
from hexapod_control.ros.guarded_node import ReportLevel
from hexapod_control.ros.row_messages import xyz
from hexapod_control.servos.bus.bus_interface import PortGoneError
from hexapod_control.servos.i2c.i2c_port import TransferError
from hexapod_control.servos.i2c.imu_chips import ImuSample
from hexapod_control.servos.settings.io_section import ImuSection, IoSettings

PERIOD_S = 0.01  # at 100 Hz
READING = BodyReading((0.9, 0.1, 0.2, 0.3), (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))


class Thread:
    """Stands in for the thread of the node; the test runs it."""

    def __init__(self, target, name, daemon):
        assert (name, daemon) == (THREAD, True)
        self.target, self.started, self.joined = target, False, False

    def start(self):
        self.started = True

    def join(self):
        self.joined = True


class Ending:
    """Stands in for the event at which the thread ends: after so many turns."""

    def __init__(self, moment):
        self.moment, self.turns, self.ended = moment, 0, False

    def is_set(self):
        self.turns -= 1
        return self.turns < 0

    def set(self):
        self.ended = True

    def wait(self, seconds):
        self.moment.now += seconds


class Sleeping(Moment):
    """A time in which sleeping takes no time of the test."""

    def sleep(self, seconds):
        assert seconds >= 0.0
        self.now += seconds

    def time_ns(self):
        return self.monotonic_ns()


class Port:
    """An open bus."""

    open = True

    def close(self):
        self.open = False


class Estimate:
    """Stands in for the estimate of the attitude."""

    def __init__(self, mounting):
        self.gyro, self.taken = SimpleNamespace(known=False, bias=(0.01, -0.02, 0.03)), []

    def update(self, *values):
        self.taken.append(values)
        return READING


class Chip:
    """The chip on its bus, and the node that reads it."""

    def __init__(self, bench, monkeypatch, chip="mpu6050", **parameters):
        self.time, self.topics, self.ports = Sleeping(), DirectTopics(monkeypatch), []
        self.fault = self.absent = self.gone = None  # of a reading, of the configuration, of the bus
        self.count, self.changes, self.slow, self.configured = 0, True, 0.0, 0
        ending, chip_section = Ending(self.time), ImuSection(chip, 0x68, (0.0, 0.0, 0.0))
        monkeypatch.setattr(imu_driver, "threading", SimpleNamespace(Thread=self._thread, Event=lambda: ending))
        monkeypatch.setattr(imu_driver, "time", self.time)
        monkeypatch.setattr(imu_driver, "open_i2c", self._open)
        monkeypatch.setattr(imu_driver, "ImuDevice", lambda *what: self)
        monkeypatch.setattr(imu_driver, "ImuEstimator", self._estimator)
        monkeypatch.setattr(ImuDriverNode, "run_in_executor", lambda node, callback: callback())
        self.ending = ending
        io = IoSettings("/dev/i2c-7", chip_section, None, None)
        self.node = bench.add(ImuDriverNode(io, parameter_overrides=overrides(rate=100.0, **parameters)))

    def _thread(self, **options):
        self.thread = Thread(**options)
        return self.thread

    def _estimator(self, mounting):
        self.estimate = Estimate(mounting)
        return self.estimate

    def _open(self, bus):
        assert bus == "/dev/i2c-7"
        if self.gone:
            raise self.gone
        self.ports.append(Port())
        return self.ports[-1]

    def configure(self):
        self.configured += 1
        if self.absent:
            raise self.absent

    def read(self):
        self.time.now += self.slow
        if self.fault:
            raise self.fault
        self.count += 1
        raw = self.count.to_bytes(4, "big") if self.changes else b"same"
        return ImuSample((0.1, 0.2, GRAVITY), (0.01, 0.02, 0.03), None, raw)

    def turn(self, count=1):
        """Runs the thread for so many turns. Returns how many messages that publishes."""
        before = len(self.topics.sent["imu/data"])
        self.ending.turns = count
        self.thread.target()
        return len(self.topics.sent["imu/data"]) - before

    def report(self, kind):
        found = self.node.sent_reports.get(kind)
        return found and (found.level, found.text)


@pytest.fixture
def chip(bench, monkeypatch):
    return Chip(bench, monkeypatch)


def test_a_reading_is_published_every_period_from_the_second_one_on(chip):
    assert chip.thread.started and chip.turn() == 0 and chip.configured == 1
    assert chip.report("found") == (ReportLevel.OK, f"{chip.node.status()['chip']} answers")
    assert chip.node.status()["chip"].endswith(" at 0x68 on /dev/i2c-7")
    assert chip.turn() == 0  # the time since the reading before is not known
    begin = chip.time.now
    assert chip.turn(10) == 10 and chip.time.now - begin == pytest.approx(10 * PERIOD_S)
    assert chip.node.status()["readings"] == 11 and chip.node.status()["bus errors"] == 0
    acceleration, rate, orientation, dt, at_rest = chip.estimate.taken[-1]
    assert (acceleration, rate, orientation, at_rest) == ((0.1, 0.2, GRAVITY), (0.01, 0.02, 0.03), None, True)
    assert dt == pytest.approx(PERIOD_S)


def test_a_message_has_the_reading_its_stamp_and_its_covariances(chip):
    chip.turn(3)
    (message,) = chip.topics.sent["imu/data"]
    q = message.orientation
    assert (q.w, q.x, q.y, q.z) == READING.attitude
    assert xyz(message.angular_velocity) == READING.rate
    assert xyz(message.linear_acceleration) == READING.acceleration
    assert message.header.frame_id == "imu_link"
    tilt, heading, bias = (math.radians(degrees) ** 2 for degrees in (1.0, 5.0, 10.0))
    for found, expected in (
        (message.orientation_covariance, (tilt, tilt, heading)),
        (message.angular_velocity_covariance, (bias,) * 3),
        (message.linear_acceleration_covariance, (0.01,) * 3),
    ):
        assert np.reshape(found, (3, 3)) == pytest.approx(np.diag(expected))
    chip.node.every_second()  # from now on the stamp is read from the system clock
    chip.time.now = 5000.25
    chip.turn(1)
    stamp = chip.topics.sent["imu/data"][-1].header.stamp
    assert (stamp.sec, stamp.nanosec) == (5000, 250_000_000)


@pytest.mark.parametrize(
    "state", ["unknown", "sitting", "standing", "fault", "walking", "rising", "standing 0.3", "moving"]
)
def test_the_estimate_knows_when_the_robot_is_at_rest(chip, state):
    chip.topics.deliver("gait_state", String(data=state))
    chip.turn(3)
    assert chip.estimate.taken[-1][-1] is (state.split()[0] in ("unknown", "sitting", "standing", "fault"))


def test_readings_that_were_late_are_counted_and_reported_with_their_delay(chip):
    chip.turn(5)
    assert not chip.report("late") and chip.node.status()["late readings"] == 0
    chip.time.now += 0.05  # more than the period
    chip.turn(2)
    assert chip.node.status()["late readings"] == 1
    level, text = chip.report("late")
    assert level is ReportLevel.WARNING
    assert text == "a reading of the IMU came after 60 ms: end other programs, or set rate lower"


def test_a_reading_that_takes_too_long_shifts_the_next_ones(chip):
    chip.turn(3)
    chip.slow, begin = 0.015, chip.time.now
    chip.turn(4)
    assert chip.time.now - begin == pytest.approx(4 * 0.015)
    chip.slow = 0.0
    begin = chip.time.now
    chip.turn(4)
    assert chip.time.now - begin == pytest.approx(4 * PERIOD_S)


def test_a_chip_is_lost_after_three_failures_in_a_row_and_tried_again_every_second(chip):
    chip.turn(3)
    for fault in (TransferError("no chip answers"), None, TransferError("no chip answers")):
        chip.fault = fault
        chip.turn(2)
        assert not chip.report("imu")
    assert chip.node.status()["bus errors"] == 4
    chip.turn(1)
    assert chip.report("imu") == (ReportLevel.ERROR, "the IMU is lost: no chip answers")
    assert chip.ports == [chip.ports[0]] and chip.ports[0].open
    configured, begin = chip.configured, chip.time.now
    chip.absent = TransferError("no chip at 0x68")
    while chip.configured == configured:
        chip.turn(1)
    assert chip.time.now - begin == pytest.approx(1.0, abs=3 * PERIOD_S)
    assert chip.report("imu") == (ReportLevel.ERROR, "no chip at 0x68")
    configured, begin, chip.absent, chip.fault = chip.configured, chip.time.now, None, None
    while chip.configured == configured:
        chip.turn(1)
    assert chip.time.now - begin == pytest.approx(1.0, abs=3 * PERIOD_S)
    assert len(chip.ports) == 1 and chip.turn(3) == 2


def test_a_bus_that_is_gone_is_closed_at_once_and_opened_again(chip):
    chip.turn(3)
    chip.fault = PortGoneError("the adapter is unplugged")
    chip.turn(1)
    assert chip.report("imu") == (ReportLevel.ERROR, "the IMU is lost: the adapter is unplugged")
    assert not chip.ports[0].open and chip.node.status()["bus errors"] == 1
    chip.gone, chip.fault = PortGoneError("there is no such bus"), None
    chip.turn(101)
    assert chip.report("imu") == (ReportLevel.ERROR, "there is no such bus") and len(chip.ports) == 1
    chip.gone = None
    chip.turn(101)
    assert len(chip.ports) == 2 and chip.turn(3) >= 1


def test_a_bus_that_is_gone_while_the_chip_is_configured_is_closed(chip):
    chip.absent = PortGoneError("the adapter is unplugged")
    chip.turn(1)
    assert not chip.ports[0].open and chip.report("imu") == (ReportLevel.ERROR, "the adapter is unplugged")


def test_readings_that_do_not_change_are_reported_and_the_chip_is_configured_again(chip):
    chip.turn(3)
    chip.changes = False
    while not chip.report("imu"):
        published = chip.turn(1)
    level, text = chip.report("imu")
    assert level is ReportLevel.ERROR and published == 0
    assert " do not change: it is configured again; if they stay, replace it" in text
    chip.changes, configured = True, chip.configured
    chip.turn(110)
    assert chip.configured == configured + 1 and chip.turn(3) == 3


def test_an_unexpected_error_is_reported_and_tried_again_after_a_second(chip):
    chip.turn(3)
    chip.fault, begin = ZeroDivisionError("by zero"), chip.time.now
    chip.turn(1)
    assert 1.0 <= chip.time.now - begin < 1.1
    assert "callback imu failed with ZeroDivisionError" in chip.node.last_report("failed imu")
    chip.fault = None
    assert chip.turn(3) == 3


@pytest.mark.parametrize(("known", "own"), [(False, False), (True, False), (False, True)])
def test_an_unknown_bias_is_reported_and_widens_the_covariance_of_the_rates(bench, monkeypatch, known, own):
    chip = Chip(bench, monkeypatch, "bno055" if own else "mpu6050")
    chip.turn(3)
    chip.estimate.gyro.known = known
    chip.node.started = chip.time.now - 1.9
    chip.node.every_second()
    assert not chip.report("bias")
    chip.time.now += 0.2
    chip.node.every_second()
    text = "the bias of the gyro is not known yet, the heading drifts: keep the robot still"
    assert (text in str(chip.report("bias"))) is not (known or own)
    chip.turn(1)
    covariance = chip.topics.sent["imu/data"][-1].angular_velocity_covariance
    expected = math.radians(0.3 if known or own else 10.0) ** 2
    assert np.reshape(covariance, (3, 3)) == pytest.approx(np.diag([expected] * 3))
    status = chip.node.status()
    assert (status["gyro bias [rad/s]"], status["gyro bias known"]) == ("0.0100 -0.0200 0.0300", known)


def test_a_chip_that_has_not_answered_has_no_bias_to_be_reported(chip):
    chip.node.started = chip.time.now - 100.0
    chip.node.every_second()
    assert not chip.report("bias")


def test_at_its_end_the_thread_ends_before_the_bus_is_closed(chip):
    chip.turn(3)
    chip.node.closing.close()
    assert chip.ending.ended and chip.thread.joined and not chip.ports[0].open
