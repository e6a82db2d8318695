# SPDX-License-Identifier: Apache-2.0
"""The sensors of gait_planner: subscribed only while something needs them, and their faults only if it matters."""

import numpy as np
import pytest
from sensor_msgs.msg import Imu
from support.drives import DT, standing_planner
from support.kits.plain_node import PlainNode
from support.phantomx import robot

from hexapod_control.core.sensing.sensor_inputs import Adaptation, MishapDetection
from hexapod_control.nodes.gait_planner.sensor_input import SensorInput
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import ReportLevel
from hexapod_control.ros.row_messages import FootStates

FEET, IMU = "foot_states", "imu/data"


def adapted(touch_down=False, levelling=False, falls=False, legs=False):
    node, planner = PlainNode(), standing_planner("phantomx")
    sensors = SensorInput(node, planner)
    sensors.adapt(Adaptation(touch_down, levelling), MishapDetection(falls, legs))
    return node, planner, sensors


def loads(values):
    return FootStates(robot()).message(np.array(values), messages.time(1))


def tilted(roll, pitch):
    inertial = messages.Inertial((roll, pitch, 1.0), (0.01, 0.02, 0.03), (0.1, 0.2, 9.8))
    return messages.inertial_message(inertial, messages.time(1))


@pytest.mark.parametrize(
    ("wishes", "topics"),
    [
        ({}, set()),
        ({"touch_down": True}, {FEET}),
        ({"levelling": True}, {IMU}),
        ({"falls": True}, {FEET, IMU}),
        ({"legs": True}, {IMU}),
    ],
)
def test_a_sensor_is_subscribed_to_while_an_adaptation_or_a_detection_needs_it(wishes, topics):
    node, planner, sensors = adapted(**wishes)
    assert set(node.callbacks) == topics
    assert planner.sensors.adaptation == Adaptation(wishes.get("touch_down", False), wishes.get("levelling", False))
    assert planner.sensors.mishap_detection == MishapDetection(wishes.get("falls", False), wishes.get("legs", False))
    sensors.adapt(Adaptation(True, True), MishapDetection(True, True))
    sensors.adapt(Adaptation(True, True), MishapDetection(True, True))
    assert set(node.callbacks) == {FEET, IMU} and all(options["polled"] for options in node.options.values())
    sensors.adapt(Adaptation(False, False), MishapDetection(False, False))
    sensors.adapt(Adaptation(False, False), MishapDetection(False, False))
    assert not node.callbacks


def test_forces_and_tilt_reach_the_planner():
    node, planner, _ = adapted(touch_down=True, levelling=True)
    node.deliver(FEET, loads([5.0, 0.0, 5.0, 0.0, 5.0, 0.0]))
    node.deliver(IMU, tilted(0.03, -0.05))
    planner.step(DT)
    assert planner.sensors.touching == (True, False) * 3
    assert planner.sensors.body_tilt == pytest.approx((0.03, -0.05))
    assert planner.sensors.imu.sample == pytest.approx((0.03, -0.05, 0.01, 0.02, 0.03, 0.1, 0.2, 9.8))
    unknown = Imu()
    unknown.orientation_covariance[0] = -1.0
    node.deliver(IMU, unknown)
    assert planner.sensors.imu.sample[0] == pytest.approx(0.03)


def test_levelling_needs_every_sample_of_the_imu_and_the_detection_of_mishaps_one_per_tick():
    node, planner, sensors = adapted(falls=True)
    needed = node.options[IMU]["needed"]
    assert needed()
    node.deliver(IMU, tilted(0.0, 0.0))
    assert not needed()
    planner.step(DT)
    assert needed()
    node.deliver(IMU, tilted(0.0, 0.0))
    sensors.adapt(Adaptation(False, True), MishapDetection(True, True))
    assert needed()


def test_an_imu_that_detects_falls_is_reported_once_it_is_lost_and_not_before_it_was_there():
    node, planner, sensors = adapted(falls=True)
    planner.step(DT)
    sensors.watch()
    assert not node.reports and sensors.status() == {FEET: "off", IMU: "off"}
    node.deliver(IMU, tilted(0.0, 0.0))
    sensors.watch()
    assert not node.reports and sensors.status()[IMU] == "used"
    for _ in range(8):
        planner.step(DT)
    sensors.watch()
    text = (
        "imu/data is silent: falls are not detected; is the IMU's driver running, and does it publish an orientation?"
    )
    assert node.report_of(IMU) == (ReportLevel.WARNING, text) and sensors.status()[IMU] == "silent"
    sensors.adapt(Adaptation(False, True), MishapDetection(True, False))
    sensors.watch()
    assert node.report_of(IMU)[1].startswith(
        "imu/data is silent: the body is not kept level and falls are not detected;"
    )
    sensors.adapt(Adaptation(False, False), MishapDetection(False, True))
    assert sensors.status()[IMU] == "off"


def test_the_fault_of_a_sensor_is_reported_with_its_effect_if_an_adaptation_uses_it():
    node, planner, sensors = adapted(touch_down=True, falls=True)
    assert sensors.status() == {FEET: "silent", IMU: "off"}
    sensors.watch()
    assert set(node.reports) == {FEET}
    level, text = node.report_of(FEET)
    assert level is ReportLevel.WARNING
    effect, remedy = (
        "the feet come down as on flat ground",
        "does a contact sensor, servo_driver or mujoco_sim send it?",
    )
    assert text == f"foot_states is silent: {effect}; {remedy}"
    sensors.adapt(Adaptation(False, True), MishapDetection(True, True))
    node.reports.clear()
    sensors.watch()
    remedy = "is the IMU's driver running, and does it publish an orientation?"
    assert set(node.reports) == {IMU} and node.report_of(IMU)[1].endswith(f"the body is not kept level; {remedy}")
    node.deliver(IMU, tilted(0.0, 0.0))
    planner.step(DT)
    node.reports.clear()
    sensors.watch()
    assert not node.reports and sensors.status() == {FEET: "off", IMU: "used"}
