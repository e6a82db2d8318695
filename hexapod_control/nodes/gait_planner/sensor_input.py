# SPDX-License-Identifier: Apache-2.0
"""Sensor inputs of gait_planner: foot_states and imu/data, with subscriptions only while the settings need them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from sensor_msgs.msg import Imu, MultiDOFJointState

from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.refusal import Statement
from hexapod_control.core.sensing.sensor_inputs import Adaptation, MishapDetection
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import COMMAND, NEWEST_SENSOR
from hexapod_control.ros.row_messages import FootLayout

REMEDIES = {  # for the loss of a topic
    "foot_states": Statement("feet_lost", "does a contact sensor, servo_driver or mujoco_sim send it?"),
    "imu/data": Statement("imu_lost", "is the IMU's driver running, and does it publish an orientation?"),
}
NO_TOUCH_DOWN = Statement("no_touch_down", "the feet come down as on flat ground")
NO_LEVEL = Statement("no_levelling", "the body is not kept level")
NO_FALLS = Statement("no_falls", "falls are not detected")


class SensorInput:
    """Subscribes to the sensors that the settings need, and reports the loss of one."""

    def __init__(self, node: GuardedNode, planner: Planner) -> None:
        """Creates no subscriptions yet; see `adapt`."""
        self._node = node
        self._sensors = planner.sensors
        self._feet = FootLayout(planner.robot)
        self._subscriptions: dict[str, Subscription] = {}

    def adapt(self, adaptation: Adaptation, mishap_detection: MishapDetection) -> None:
        """Sets the adaptations that use the sensors and the mishaps to detect; subscribes accordingly."""
        self._sensors.adaptation = adaptation
        self._sensors.mishap_detection = mishap_detection
        # Course control and load sharing use what these bring.
        feet = adaptation.touch_down or mishap_detection.falls
        imu = adaptation.levelling or mishap_detection.falls or mishap_detection.legs
        decode = messages.forces_decoder()
        self._subscribe("foot_states", MultiDOFJointState, self.on_foot_states, COMMAND, wanted=feet, decode=decode)
        self._subscribe("imu/data", Imu, self.on_imu, NEWEST_SENSOR, wanted=imu, needed=self._imu_needed)

    def _imu_needed(self) -> bool:
        """Whether the next sample is needed: for levelling every one, to detect a fall one per tick."""
        return self._sensors.adaptation.levelling or self._sensors.imu.stepped

    def _subscribe(
        self, topic: str, kind: type, callback: Callable[[Any], None], qos: QoSProfile, *, wanted: bool, **options: Any
    ) -> None:
        if wanted and topic not in self._subscriptions:
            self._subscriptions[topic] = self._node.create_subscription(
                kind, topic, callback, qos, polled=True, **options
            )
        elif not wanted and topic in self._subscriptions:
            self._node.destroy_subscription(self._subscriptions.pop(topic))

    def on_foot_states(self, message: MultiDOFJointState) -> None:
        """Passes the forces of the feet on."""
        self._sensors.contacts.take(self._feet.forces(message).tolist())

    def on_imu(self, message: Imu) -> None:
        """Passes roll and pitch of the body on, and rates and accelerations, which show that the IMU works."""
        reading = messages.inertial(message)
        if reading.orientation is not None:
            rates, acceleration = reading.angular_velocity or (), reading.acceleration or ()
            self._sensors.imu.take_reading(reading.orientation[:2], rates, acceleration, reading.orientation[2])

    @property
    def _effects(self) -> dict[str, Statement | None]:
        """The effect of the loss of each topic; None if the topic is not used.

        A robot may have no IMU, so its use for the detection of falls counts only after a first sample.
        """
        adaptation = self._sensors.adaptation
        sensors = self._sensors
        level = (NO_LEVEL,) if adaptation.levelling else ()
        falls = (NO_FALLS,) if sensors.mishap_detection.falls and sensors.imu.sample else ()
        attitude = level + falls
        imu = Statement.joined("and", "{first} and {second}", attitude) if attitude else None
        return {"foot_states": NO_TOUCH_DOWN if adaptation.touch_down else None, "imu/data": imu}

    @property
    def _faults(self) -> dict[str, str]:
        """Faults of the topics that are used."""
        sources = {"foot_states": self._sensors.contacts.fault, "imu/data": self._sensors.imu.fault}
        return {topic: fault.value for topic, fault in sources.items() if fault and self._effects[topic]}

    def watch(self) -> None:
        """Reports faults of sensors in use."""
        effects = self._effects
        for topic, fault in self._faults.items():
            text = f"{{topic}} is {fault}: {{effect}}; {{remedy}}"
            values = {"topic": topic, "effect": effects[topic], "remedy": REMEDIES[topic]}
            self._node.report(topic, ReportLevel.WARNING, Statement(f"sensor_{fault}", text, **values))

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        faults = self._faults
        return {topic: faults.get(topic, "used") if effect else "off" for topic, effect in self._effects.items()}
