"""What gait_planner takes from its sensors: foot_states and imu/data, listened to while they are wanted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sensor_msgs.msg import Imu, MultiDOFJointState

from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.sensing.sensor_inputs import Adaptation
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import COMMAND

WITHOUT = {
    "foot_states": "the feet come down as on flat ground; does mujoco_sim, servo_driver or a node for contact send it?",
    "imu/data": "the body is not kept level; is the IMU's driver alive, and does it send an orientation?",
}


class SensorInput:
    """Subscriptions that come and go with the settings, and a word about a source that is lost."""

    def __init__(self, node: GuardedNode, planner: Planner) -> None:
        """Listens to nothing yet."""
        self._node, self._senses = node, planner.senses
        self._feet = messages.FootLayout(planner.robot)
        self._subscriptions: dict[str, Any] = {}

    def adapt(self, adaptation: Adaptation) -> None:
        """Sets what is made of the sensors."""
        self._senses.adaptation = adaptation
        self._listen("foot_states", MultiDOFJointState, self.on_foot_states, wanted=adaptation.touch_down)
        self._listen("imu/data", Imu, self.on_imu, wanted=adaptation.levelling)

    def _listen(self, topic: str, kind: Any, callback: Any, *, wanted: bool) -> None:
        if wanted and topic not in self._subscriptions:
            self._subscriptions[topic] = self._node.create_subscription(kind, topic, callback, COMMAND)
        elif not wanted and topic in self._subscriptions:
            self._node.destroy_subscription(self._subscriptions.pop(topic))

    def on_foot_states(self, message: Any) -> None:
        """The loads of the feet."""
        self._senses.contacts.take(self._feet.forces(message).tolist())

    def on_imu(self, message: Any) -> None:
        """Roll and pitch of the body; the rest tells that the IMU is alive."""
        told = messages.inertial(message)
        if told.orientation is not None:
            self._senses.tilt.take((*told.orientation, *told.angular_velocity, *told.acceleration))

    @property
    def _troubles(self) -> dict[str, str]:
        """Why a source that is wanted is not believed."""
        sources = {"foot_states": self._senses.contacts.trouble, "imu/data": self._senses.tilt.trouble}
        return {topic: trouble for topic, trouble in sources.items() if trouble and topic in self._subscriptions}

    def watch(self) -> None:
        """Says which source is lost."""
        for topic, trouble in self._troubles.items():
            self._node.report(topic, ReportLevel.WARNING, f"{topic} is {trouble}: {WITHOUT[topic]}")

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        troubles = self._troubles
        return {topic: troubles.get(topic, "used") if topic in self._subscriptions else "off" for topic in WITHOUT}
