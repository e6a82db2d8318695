# SPDX-License-Identifier: Apache-2.0
"""imu_driver over an emulated I2C bus on real DDS: messages, bias, lost and frozen chips, processor time."""

import contextlib
import math
import re
import threading
import time

import numpy as np
import pytest
from sensor_msgs.msg import Imu
from support.phantomx import narrow_file
from support.real_time.ros_bench import overrides

from hexapod_control.core.sensing.imu_estimator import from_roll_pitch_yaw, inverse, rotated
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.nodes.imu_driver.imu_driver import RATE_VARIANCE, THREAD, UNKNOWN_BIAS_VARIANCE, ImuDriverNode
from hexapod_control.ros import messages
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.ros.qos import LATCHED, SENSOR
from hexapod_control.servos.emulator.chips.io_chips import EmulatedMpu, ImuMotion
from hexapod_control.servos.emulator.devices.i2c_adapter import I2cAdapter
from hexapod_control.servos.emulator.pseudo_terminal import PseudoTerminal
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.i2c.i2c_bus import open_i2c
from hexapod_control.servos.i2c.i2c_port import TransferError
from hexapod_control.servos.i2c.imu_chips import IMU_CHIPS, ImuDevice
from hexapod_control.servos.protocol_registry import PROTOCOLS

BIAS = (0.02, -0.01, 0.015)
MOUNTING_DEG = (0.0, 0.0, 90.0)
READINGS, MAX_RATIO = 200, 2.0  # readings measured; the estimator takes no more processor time than the bus


class Rig:
    """An emulated MPU6050, the node, and what it publishes."""

    def __init__(self, bench, path, rate=100.0, **parameters):
        self.bench, self.motion = bench, ImuMotion(bias=BIAS)
        self.device = I2cAdapter(LagWorld(PROTOCOLS["pca9685"].scale, 0), ())
        self.device.wire.chips[:] = [EmulatedMpu(0x68, self.motion)]
        self.pty = PseudoTerminal(self.device, 400_000, link=path / "bus")
        file = narrow_file(path / "robot.yaml")
        section = f"io:\n  bus: {path}/bus\n  imu: {{chip: mpu6050, mounting_deg: {list(MOUNTING_DEG)}}}\n"
        file.write_text(f"{file.read_text()}\n{section}")
        self.heard, self.frames = bench.listen(Imu, "imu/data", SENSOR), bench.listen(TFMessage, "/tf_static", LATCHED)
        self.node = bench.add(ImuDriverNode(parameter_overrides=overrides(robot=str(file), rate=rate, **parameters)))

    def tilt(self, roll, pitch):
        """Lays the body at rest with this attitude [rad]; the chip is mounted by MOUNTING_DEG."""
        body = rotated(inverse(from_roll_pitch_yaw((roll, pitch, 0.0))), (0.0, 0.0, GRAVITY))
        turn = inverse(from_roll_pitch_yaw(tuple(map(math.radians, MOUNTING_DEG))))
        self.motion.acceleration = rotated(turn, body)

    def newest(self):
        return messages.inertial(self.heard[-1])


@pytest.fixture
def rig(bench, tmp_path):
    made = Rig(bench, tmp_path)
    yield made
    made.pty.close()


def test_attitude_and_rates_are_those_of_the_body_and_the_bias_is_taken_off_at_rest(rig):
    rig.tilt(0.2, -0.1)
    rig.bench.until(lambda: rig.heard, 5.0, "messages")
    rig.bench.until(lambda: rig.frames, 5.0, "its frame")
    (place,) = rig.frames[0].transforms
    assert (place.header.frame_id, place.child_frame_id) == ("base_link", rig.heard[-1].header.frame_id)
    assert place.child_frame_id == "imu_link"
    assert rig.heard[-1].angular_velocity_covariance[0] == pytest.approx(UNKNOWN_BIAS_VARIANCE)
    rig.bench.until(lambda: rig.node.status()["gyro bias known"], 5.0, "bias")
    rig.bench.until(lambda: rig.heard[-1].angular_velocity_covariance[0] == pytest.approx(RATE_VARIANCE), 3.0)
    assert not rig.node.last_report("bias")
    roll, pitch, _ = rig.newest().orientation
    assert (roll, pitch) == pytest.approx((0.2, -0.1), abs=0.02)
    tilt, heading, rate = (math.radians(degrees) ** 2 for degrees in (1.0, 5.0, 0.3))
    for found, expected in (
        (rig.heard[-1].orientation_covariance, (tilt, tilt, heading)),
        (rig.heard[-1].angular_velocity_covariance, (rate,) * 3),
        (rig.heard[-1].linear_acceleration_covariance, (0.01,) * 3),
    ):
        assert np.reshape(found, (3, 3)) == pytest.approx(np.diag(expected))
    assert rig.heard[0].angular_velocity_covariance[4] == pytest.approx(math.radians(10.0) ** 2)
    times = [messages.nanoseconds(message.header.stamp) for message in rig.heard[-50:]]
    assert np.median(np.diff(times)) == pytest.approx(1e7, rel=0.4)
    age = rig.bench.probe.get_clock().now().nanoseconds - messages.nanoseconds(rig.heard[-1].header.stamp)
    assert 0 <= age < 1e9  # [ns] stamped within the last second
    status = rig.node.status()
    assert re.fullmatch(r".*6050.* at 0x68 on .*/bus", status["chip"]) and status["readings"] >= len(rig.heard)
    recent = [messages.inertial(each).angular_velocity for each in rig.heard[-50:]]
    assert [sum(rates[i] for rates in recent) / 50 for i in range(3)] == pytest.approx((0.0, 0.0, 0.0), abs=0.003)
    bias = [float(value) for value in rig.node.status()["gyro bias [rad/s]"].split()]
    assert bias == pytest.approx((-BIAS[1], BIAS[0], BIAS[2]), abs=0.002)  # in axes of the body
    rig.motion.rate = (0.0, 0.0, 0.5)
    rig.bench.until(lambda: rig.newest().orientation[2] > 0.2, 3.0, "turned to the left")


def test_a_chip_that_is_lost_or_frozen_is_reported_and_used_again_once_it_works(rig):
    rig.bench.until(lambda: rig.heard, 5.0, "messages")
    rig.device.wire.unplug(0x68)
    rig.bench.until(lambda: "the IMU is lost: " in rig.node.last_report("imu"), 2.0, "lost")
    assert "no chip answers at address 0x68: check its power" in rig.node.last_report("imu")
    silent = len(rig.heard)
    rig.device.wire.plug(0x68)
    rig.bench.until(lambda: len(rig.heard) > silent + 20, 4.0, "back")
    rig.motion.frozen = True
    rig.bench.until(lambda: "do not change: it is configured again; if they stay" in rig.node.last_report("imu"), 3.0)
    silent = len(rig.heard)
    rig.motion.frozen = False
    rig.bench.until(lambda: len(rig.heard) > silent + 20, 4.0, "back")


def test_a_bus_that_is_unplugged_while_it_is_read_is_opened_again(rig):
    rig.bench.until(lambda: rig.heard, 5.0, "messages")
    rig.pty.hang_up()
    rig.bench.until(lambda: "the IMU is lost: " in rig.node.last_report("imu"), 2.0, "lost")
    assert rig.node.status()["bus errors"] == 1  # a port that is gone does not come back by another try
    rig.pty.come_back()
    count = len(rig.heard)
    rig.bench.until(lambda: len(rig.heard) > count + 5, 4.0, "back")


def test_a_bus_and_a_chip_that_appear_later_are_used_then(bench, tmp_path):
    made = Rig(bench, tmp_path, bus=str(tmp_path / "later"))
    made.device.wire.unplug(0x68)
    bench.until(lambda: "later" in made.node.last_report("imu"), 3.0, "no bus")
    assert made.node.status()["readings"] == 0 and not made.heard
    (tmp_path / "later").symlink_to(tmp_path / "bus")
    bench.until(lambda: "no chip answers at address 0x68" in made.node.last_report("imu"), 3.0, "no chip")
    made.device.wire.plug(0x68)
    bench.until(lambda: made.heard, 3.0, "the chip")
    assert made.node.last_report("found").endswith(f"at 0x68 on {tmp_path}/later answers")
    made.pty.close()


def test_a_robot_file_without_an_imu_is_refused(bench):
    with pytest.raises(ParameterError, match=r"has no IMU: add io\.imu, e\.g\. \{chip: mpu6050\}"):
        ImuDriverNode()


def test_a_hundred_readings_a_second_take_little_processor_time(rig):
    """Compared with a thread that only reads the chip and publishes a message."""
    rig.bench.until(lambda: len(rig.heard) > 20, 5.0, "messages")
    (thread,) = (each for each in threading.enumerate() if each.name == THREAD)
    clock = time.pthread_getcpuclockid(thread.ident)
    before, count = time.clock_gettime(clock), rig.node.status()["readings"]
    rig.bench.until(lambda: rig.node.status()["readings"] >= count + READINGS, 10.0, "readings")
    spent = (time.clock_gettime(clock) - before) / (rig.node.status()["readings"] - count)  # [s]
    rig.bench.remove(rig.node)
    least = processor_time_of_reading(rig)
    assert spent < MAX_RATIO * least, f"{1e6 * spent:.0f} us for each, {1e6 * least:.0f} us without an estimator"


def processor_time_of_reading(rig):
    """Processor time [s] for one of READINGS at 100 Hz that are read and published as they are."""
    publisher = rig.bench.probe.create_publisher(Imu, "imu/data", SENSOR)
    port, spent = open_i2c(rig.pty.path), []

    def read():
        device, message = ImuDevice(port, IMU_CHIPS["mpu6050"], 0x68), Imu()
        device.configure()
        before = time.thread_time()
        for _ in range(READINGS):
            with contextlib.suppress(TransferError):  # the emulator replies late on a busy machine
                device.read()
            publisher.publish(message)
            time.sleep(0.01)
        spent.append((time.thread_time() - before) / READINGS)

    thread = threading.Thread(target=read)
    thread.start()
    rig.bench.until(lambda: spent, 10.0, "readings")
    thread.join()
    port.close()
    return spent[0]
