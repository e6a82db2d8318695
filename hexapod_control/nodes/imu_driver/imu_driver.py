# SPDX-License-Identifier: Apache-2.0
"""Node imu_driver: publishes the attitude, rates and accelerations of an IMU on I2C on `imu/data`, in axes of the body.

A chip that does not respond, or whose readings are frozen, is configured again every second. Meanwhile nothing is
published, and the subscribers of `imu/data` work without an IMU.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sensor_msgs.msg import Imu
from std_msgs.msg import String

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.sensing.imu_estimator import BodyReading, Freshness, ImuEstimator
from hexapod_control.nodes.imu_driver.settings import ImuDriverSettings
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.node_process import run
from hexapod_control.ros.parameters import ParameterError, declare
from hexapod_control.ros.qos import COMMAND, LATCHED
from hexapod_control.ros.started_files import started_robot
from hexapod_control.ros.static_frames import publish_mounting
from hexapod_control.servos.bus.bus_interface import PortGoneError
from hexapod_control.servos.i2c.i2c_bus import open_i2c
from hexapod_control.servos.i2c.i2c_port import I2cPort, TransferError
from hexapod_control.servos.i2c.imu_chips import IMU_CHIPS, ImuDevice, ImuSample
from hexapod_control.servos.settings.io_section import ImuSection, IoSettings, io_settings

THREAD = "imu"
SECOND_NS = 1_000_000_000
RETRY_PERIOD_S = 1.0
MAX_MISSES = 3  # consecutive
AT_REST = tuple(  # values of gait_state
    state.value for state in (RobotState.UNKNOWN, RobotState.SITTING, RobotState.STANDING, RobotState.FAULT)
)
TILT_VARIANCE, HEADING_VARIANCE = math.radians(1.0) ** 2, math.radians(5.0) ** 2  # [rad^2]
RATE_VARIANCE = math.radians(0.3) ** 2  # [rad^2/s^2]
UNKNOWN_BIAS_VARIANCE = math.radians(10.0) ** 2  # [rad^2/s^2]
ACCELERATION_VARIANCE = 0.1**2  # [m^2/s^4]


class ImuDriverNode(GuardedNode):
    """Reads the IMU in a thread and publishes every reading."""

    def __init__(self, sensors: IoSettings | None = None, **options: Any) -> None:
        """`sensors` default to those of the robot file; `options` are those of rclpy's Node.

        Raises RobotFileError or ParameterError for unusable input.
        """
        super().__init__("imu_driver", **options)
        settings = declare(self, ImuDriverSettings)
        file = started_robot(settings.robot)
        io = sensors or io_settings(file)
        if io.imu is None:
            raise ParameterError(f"robot: {file.path} has no IMU: add io.imu, e.g. {{chip: mpu6050}}")
        self._section: ImuSection = io.imu
        self._bus = settings.bus or io.bus
        self._title = f"{IMU_CHIPS[io.imu.chip].title} at 0x{io.imu.address:02X} on {self._bus}"
        self._estimator = ImuEstimator(io.imu.mounting)
        self._freshness = Freshness(1.0 / settings.rate)
        self._port: I2cPort | None = None
        self._device: ImuDevice | None = None
        self._retry = -math.inf  # [s] steady time
        self._last = math.nan  # [s] of the last reading
        self._misses = 0
        self._errors = 0
        self._readings = 0
        self._moves = False  # the robot is commanded to move
        self._system_time = False  # the node's clock is the system clock; reading that directly is ten times faster
        x, y, z = file.robot.imu
        self._message = _message(publish_mounting(self, settings.tf_frame_prefix, "imu_link", BodyPose(x=x, y=y, z=z)))
        self._imu = self.create_publisher(Imu, "imu/data", COMMAND)
        self.create_subscription(String, "gait_state", self.on_gait_state, LATCHED)
        self._period = 1.0 / settings.rate
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=THREAD, daemon=True)
        self._thread.start()
        self.closing.callback(self._end)

    def on_gait_state(self, message: String) -> None:
        """Records whether the robot is commanded to move."""
        self._moves = message.data.split(" ")[0] not in AT_REST

    def _run(self) -> None:
        """Reads the chip periodically. A thread needs a third of the CPU time of an executor timer."""
        due = time.monotonic()
        while not self._ending.is_set():
            try:
                self._tick()
            except Exception as error:
                self.run_in_executor(partial(self.failed, "imu", error))
                self._ending.wait(RETRY_PERIOD_S)
            now = time.monotonic()
            due = max(due + self._period, now)
            time.sleep(due - now)  # cheaper than waiting for an event; the end is noticed one period later

    def _report_later(self, kind: str, level: ReportLevel, text: str) -> None:
        self.run_in_executor(partial(self.report, kind, level, text))

    def _tick(self) -> None:
        """Reads and publishes; opens the chip again when a retry is due."""
        now = time.monotonic()
        if self._device is None:
            if now >= self._retry:
                self._open(now)
            return
        try:
            sample = self._device.read()
        except (TransferError, PortGoneError) as error:
            self._missed(error)
            return
        self._misses = 0
        self._readings += 1
        dt = now - self._last
        self._last = now
        if not math.isnan(dt):
            self._take(sample, dt)

    def _take(self, sample: ImuSample, dt: float) -> None:
        late = self._freshness.late
        self._freshness.take(sample.raw, dt)
        if self._freshness.late > late:
            text = f"a reading of the IMU came after {1000.0 * dt:.0f} ms: end other programs, or set rate lower"
            self._report_later("late", ReportLevel.WARNING, text)
        if self._freshness.frozen:
            text = f"the readings of the {self._title} do not change: it is configured again; if they stay, replace it"
            self._lose(text)
            return
        at_rest = not self._moves
        self._publish(self._estimator.update(sample.acceleration, sample.rate, sample.orientation, dt, at_rest))

    def _publish(self, motion: BodyReading) -> None:
        message = self._message
        stamp = message.header.stamp
        stamp.sec, stamp.nanosec = divmod(time.time_ns() if self._system_time else self._ros_time(), SECOND_NS)
        q, rate, acceleration = message.orientation, message.angular_velocity, message.linear_acceleration
        q.w, q.x, q.y, q.z = motion.attitude
        rate.x, rate.y, rate.z = motion.rate
        acceleration.x, acceleration.y, acceleration.z = motion.acceleration
        self._imu.publish(message)

    def _ros_time(self) -> int:
        return self.get_clock().now().nanoseconds

    # --- the chip -------------------------------------------------------------------------------------------

    def _open(self, now: float) -> None:
        self._retry = now + RETRY_PERIOD_S
        try:
            self._port = self._port or open_i2c(self._bus)
            device = ImuDevice(self._port, IMU_CHIPS[self._section.chip], self._section.address)
            device.configure()
        except PortGoneError as error:
            self._close()
            self._report_later("imu", ReportLevel.ERROR, str(error))
        except TransferError as error:
            self._report_later("imu", ReportLevel.ERROR, str(error))
        else:
            self._device = device
            self._last = math.nan
            self._misses = 0
            self._freshness = Freshness(self._period)
            self._report_later("found", ReportLevel.OK, f"{self._title} answers")

    def _missed(self, error: TransferError | PortGoneError) -> None:
        self._misses += 1
        self._errors += 1
        if isinstance(error, PortGoneError):
            self._close()
        if self._misses >= MAX_MISSES or self._port is None:
            self._lose(f"the IMU is lost: {error}")

    def _lose(self, text: str) -> None:
        self._device = None
        self._retry = time.monotonic() + RETRY_PERIOD_S
        self._report_later("imu", ReportLevel.ERROR, text)

    def _close(self) -> None:
        if self._port is not None:
            self._port.close()
        self._port = self._device = None

    # --- reports --------------------------------------------------------------------------------------------

    def every_second(self) -> None:
        """Updates the rate covariance from the bias estimate, and reports an unknown bias."""
        self._system_time = not self.get_parameter("use_sim_time").value
        known = self._estimator.gyro.known or IMU_CHIPS[self._section.chip].orientation is not None
        self._message.angular_velocity_covariance[0::4] = RATE_VARIANCE if known else UNKNOWN_BIAS_VARIANCE
        if not known and self._device is not None and time.monotonic() - self.started > 2.0 * RETRY_PERIOD_S:
            text = "the bias of the gyro is not known yet, the heading drifts: keep the robot still for a second"
            self.report("bias", ReportLevel.WARNING, text)

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        return {
            "chip": self._title,
            "readings": self._readings,
            "bus errors": self._errors,
            "late readings": self._freshness.late,
            "gyro bias [rad/s]": " ".join(f"{value:.4f}" for value in self._estimator.gyro.bias),
            "gyro bias known": self._estimator.gyro.known,
        }

    def _end(self) -> None:
        """Ends the thread and closes the bus."""
        self._ending.set()
        self._thread.join()
        self._close()


def _message(frame: str) -> Imu:
    message = Imu()
    message.header.frame_id = frame
    message.orientation_covariance[0::4] = (TILT_VARIANCE, TILT_VARIANCE, HEADING_VARIANCE)
    message.angular_velocity_covariance[0::4] = UNKNOWN_BIAS_VARIANCE
    message.linear_acceleration_covariance[0::4] = ACCELERATION_VARIANCE
    return message


def main(args: Sequence[str] | None = None) -> int:
    """Runs the node. Returns the exit code."""
    return run(ImuDriverNode, args)


if __name__ == "__main__":
    sys.exit(main())
