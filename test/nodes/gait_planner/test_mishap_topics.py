# SPDX-License-Identifier: Apache-2.0
"""Falls and lifts through the topics of gait_planner: what it publishes, reports and refuses, and how it continues."""

import itertools
import math
import subprocess

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Imu, MultiDOFJointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.phantomx import robot
from support.real_time.programs import HEXAPOD
from support.real_time.ros_bench import Stream, twist

from hexapod_control.ros import messages
from hexapod_control.ros.qos import LATCHED
from hexapod_control.ros.row_messages import FootStates

PERIOD_S = 0.02
ERROR = bytes([2])
START_S = 30.0  # of a command on a busy machine


class Sensors:
    """Publishes attitude and foot loads periodically."""

    def __init__(self, bench):
        self.roll, self.force = 0.0, 3.0
        self._imu = bench.publisher(Imu, "imu/data")
        self._feet, self._layout = bench.publisher(MultiDOFJointState, "foot_states"), FootStates(robot())
        self._shiver = itertools.cycle((0.0, 1e-4, 2e-4))
        bench.probe.create_timer(PERIOD_S, self._publish)

    def _publish(self):
        shiver, stamp = next(self._shiver), messages.time(1)
        reading = messages.Inertial((self.roll + shiver, 0.0, 0.0), (0.0, 0.0, shiver), (0.0, 0.0, 9.81))
        self._imu.publish(messages.inertial_message(reading, stamp, "imu_link"))
        force = self.force + shiver if self.force else 0.0
        self._feet.publish(self._layout.message(np.full(len(robot().legs), force), stamp))


def test_a_fall_and_a_lift_are_published_and_reported_and_end_only_as_they_should(bench):
    node = bench.planner()
    sensors, states = Sensors(bench), bench.listen(String, "gait_state", LATCHED)
    reports = bench.listen(DiagnosticArray, "/diagnostics", QoSProfile(depth=50))
    drive = Stream(bench, lambda: twist(0.08))
    bench.until(lambda: states and states[-1].data == "walking")
    sensors.force = 0.0
    bench.until(lambda: states[-1].data == "carried")
    assert "no foot bears load" in node.last_report("carried")
    sensors.force = 3.0
    bench.spin(0.5)
    assert states[-1].data == "carried", "the old commands do not count"
    assert bench.call(Trigger, "recover").success
    bench.until(lambda: states[-1].data == "standing")
    sensors.roll = math.radians(120.0)
    bench.until(lambda: states[-1].data == "fallen")
    error = bytes([2])
    bench.until(
        lambda: any(s.level == error and "has fallen (roll 120" in s.message for r in reports for s in r.status)
    )
    answer = bench.call(Trigger, "recover")
    assert not answer.success and answer.message.startswith("the robot lies upside down (roll 120 deg")
    assert not bench.call(Trigger, "stand").success
    sensors.roll = 0.0
    bench.spin(0.3)
    assert bench.call(Trigger, "recover").success
    bench.until(lambda: states[-1].data == "standing", 15.0)
    drive.stop()


@pytest.mark.process
@pytest.mark.parametrize(("roll_deg", "code"), [(0.0, 0), (60.0, 1)])
def test_the_command_recover_ends_when_the_robot_stands_and_fails_if_it_stays_tilted(bench, roll_deg, code):
    bench.planner()
    sensors, states = Sensors(bench), bench.listen(String, "gait_state", LATCHED)
    bench.until(lambda: states and states[-1].data == "standing")
    sensors.roll = math.radians(60.0)
    bench.until(lambda: states[-1].data == "fallen")
    sensors.roll = math.radians(roll_deg)
    bench.spin(0.3)
    process = subprocess.Popen([*HEXAPOD, "recover"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        bench.until(lambda: process.poll() is not None, START_S, "the end of hexapod recover")
        told = process.stdout.read()
    finally:
        process.kill()
        process.wait()
    assert process.returncode == code, [s.data for s in states]
    assert ("the robot stands again" if code == 0 else "does not stand (gait_state: ") in told
    assert (states[-1].data == "standing") == (code == 0)


def test_without_detection_the_planner_does_not_listen_to_the_sensors(bench):
    node = bench.planner(fall_detection=False, stuck_detection=False)
    topics = {subscription.topic_name for subscription in node.all_subscriptions}
    assert not topics & {"/imu/data", "/foot_states"}
