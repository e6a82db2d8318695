"""What the page shows of the robot: subscriptions, kept as they come and read when a page wants to see them."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Pose, TwistStamped
from geometry_msgs.msg import Twist as TwistMessage
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import BatteryState, JointState, MultiDOFJointState
from std_msgs.msg import Float64, String

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.motions.motion_state import REFUSED, MotionState
from hexapod_control.core.robot import Robot
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import DISPLAY, LATCHED
from hexapod_control.web.page_state import RobotShape, drawing

FRESH = 0.3  # [s] feet and velocities count so long
SILENT = 1.0  # [s] without joint_states: the robot is not heard
OLD = 5.0  # [s] a diagnostic or a voltage counts so long
NUMBER = re.compile(r"-?\d+(\.\d+)?")
LATCHED_TEXTS = ("gait_state", "gait_active", "gaits", "motions", "command_source")


class NewestMessage:
    """The newest message of a topic that comes more often than anybody looks: it is only read when it is asked for."""

    def __init__(self, node: GuardedNode, kind: Any, topic: str) -> None:
        self._kind = kind
        self._message: Any = None
        self._bytes: bytes | None = None  # of the newest
        self._read: bytes | None = None  # of the message
        self._at = -math.inf  # [s] steady time
        node.create_subscription(kind, topic, self._take, DISPLAY, raw=True)

    def _take(self, data: bytes) -> None:
        self._at = time.monotonic()
        self._bytes = data

    @property
    def age(self) -> float:
        """Seconds since the newest message came."""
        return time.monotonic() - self._at

    def read(self, within: float) -> Any:
        """The newest message if it is not older than this [s], else None. To be called by one thread only."""
        if self.age > within:
            return None
        data = self._bytes
        if data is not None and data is not self._read:
            self._message, self._read = deserialize_message(data, self._kind), data
        return self._message


class RobotFeed:
    """All subscriptions of the node."""

    def __init__(self, node: GuardedNode, robot: Robot, stamped: bool, refused: Callable[[str, str], None]) -> None:
        """`refused(motion, reason)` is called when a motion cannot be played."""
        self._robot = robot
        self._joint_layout = messages.JointLayout(robot)
        self._target_layout, self._force_layout = messages.FootLayout(robot), messages.FootLayout(robot)
        self._picture = RobotShape()
        self._node = node
        self._stamped = stamped
        self.limits: Twist = ZERO
        self._texts = dict.fromkeys(LATCHED_TEXTS, "")
        self._refused = refused
        self._playing: dict[str, Any] | None = None
        self._pose: list[float] | None = None
        self._said: dict[str, tuple[Any, float]] = {}
        self._joints = NewestMessage(node, JointState, "joint_states")
        self._targets = NewestMessage(node, MultiDOFJointState, "foot_targets")
        self._states = NewestMessage(node, MultiDOFJointState, "foot_states")
        self._odometry = NewestMessage(node, Odometry, "odom")
        self._command = NewestMessage(node, TwistStamped if stamped else TwistMessage, "cmd_vel")
        self._margin = NewestMessage(node, Float64, "stability_margin")
        self._battery = NewestMessage(node, BatteryState, "battery_state")
        for topic in LATCHED_TEXTS:
            node.create_subscription(String, topic, self._keeper(topic), LATCHED)
        node.create_subscription(String, "motion_state", self._take_motion, LATCHED)
        node.create_subscription(TwistMessage, "velocity_limits", self._take_limits, LATCHED)
        node.create_subscription(Pose, "body_pose_achieved", self._take_pose, LATCHED)
        node.create_subscription(DiagnosticArray, "/diagnostics", self._take_diagnostics, 20)

    def _keeper(self, topic: str) -> Callable[[Any], None]:
        def keep(message: Any) -> None:
            self._texts[topic] = message.data

        return keep

    def _take_motion(self, message: Any) -> None:
        state = MotionState.parse(message.data)
        playing = {"name": state.name, "phase": state.phase, "percent": state.percent}
        self._playing = playing if state.has_motion else None
        if state.has_motion and state.phase == REFUSED:
            self._refused(state.name, state.reason)

    def _take_limits(self, message: Any) -> None:
        self.limits = messages.twist(message)

    def _take_pose(self, message: Any) -> None:
        self._pose = [round(value, 4) for value in messages.body_pose(message)]

    def _take_diagnostics(self, message: Any) -> None:
        now = time.monotonic()
        for status in message.status:
            self._said[status.name] = status, now

    # --- thirty times a second, in the server's thread, the only one that takes from these subscriptions ---------

    def state(self) -> dict[str, Any]:
        """The fields of a `state` message."""
        picture = self._picture
        joints = self._joints.read(SILENT)
        if joints is not None:
            picture.joints = self._joint_layout.joints(joints)
        picture.support = self._forces(self._targets, self._target_layout)
        if picture.support is None:  # else the planner says which feet stand
            picture.forces = self._forces(self._states, self._force_layout)
        command = self._command.read(FRESH)
        if command is not None:
            command = messages.twist(command.twist if self._stamped else command)
        picture.commanded = command or ZERO
        odometry = self._odometry.read(FRESH)
        if odometry is not None:
            pose, twist = odometry.pose.pose, odometry.twist.twist
            yaw = messages.roll_pitch_yaw(pose.orientation)[2]
            picture.odometry = (pose.position.x, pose.position.y, yaw)
            picture.achieved = messages.twist(twist)
        margin = self._margin.read(FRESH)
        picture.margin = margin.data if margin is not None else None
        return {
            **drawing(self._robot, picture),
            "state": self._texts["gait_state"],
            "gait": self._texts["gait_active"],
            "motion": self._playing,
            "silent": self._joints.age > SILENT,
        }

    @staticmethod
    def _forces(topic: NewestMessage, layout: messages.FootLayout) -> Array | None:
        message = topic.read(FRESH)
        return None if message is None else layout.forces(message)

    # --- twice a second -------------------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """The fields of a `status` message."""
        now = time.monotonic()
        recent = {name: status for name, (status, at) in list(self._said.items()) if now - at < OLD}
        values = {name: {pair.key: pair.value for pair in status.values} for name, status in recent.items()}
        flat = {key: value for pairs in values.values() for key, value in pairs.items()}
        battery = self._battery.read(OLD)
        return {
            "state": self._texts["gait_state"],
            "gait": self._texts["gait_active"],
            "gaits": [name for name in self._texts["gaits"].split(",") if name],
            "motions": [name for name in self._texts["motions"].split(",") if name],
            "leg_gap": _number(flat.get("leg gap m", "")),
            "limits": [round(value, 4) for value in self.limits],
            "pose": self._pose,
            "source": self._texts["command_source"],
            "feedback": flat.get("feedback", ""),
            "estop": flat.get("emergency stop", "") == "latched",
            "torque": flat.get("torque", "True").lower() == "true",
            "simulated": bool(self._node.count_publishers("simulator/floating_base_state")),
            "world": self._world(values),
            "loops": {_short(name): rate for name, pairs in values.items() if (rate := _loop(pairs)) is not None},
            "temperatures": {key: value for pairs in values.values() for key, value in _temperatures(pairs).items()},
            "battery": None if battery is None else {"volts": battery.voltage, "share": battery.percentage},
            "diagnostics": [
                {"name": _short(name), "level": status.level[0], "text": status.message}
                for name, status in sorted(recent.items())
            ],
        }

    @staticmethod
    def _world(values: dict[str, dict[str, str]]) -> dict[str, str]:
        pairs = next((pairs for name, pairs in values.items() if _short(name) == "mujoco_sim"), {})
        wanted = {"world": "world", "friction": "friction", "payload [kg]": "payload"}
        return {name: pairs[key] for key, name in wanted.items() if key in pairs}


def _short(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _loop(pairs: dict[str, str]) -> float | None:
    """The loop rate [Hz] of a node, if it tells one."""
    text = next((value for key, value in pairs.items() if key.lower().startswith("loop")), "")
    return _number(text)


def _temperatures(pairs: dict[str, str]) -> dict[str, float]:
    """Temperatures [deg C] by joint."""
    found = {key: _number(value) for key, value in pairs.items() if "temperature" in key.lower()}
    return {_stripped(key): value for key, value in found.items() if value is not None}


def _stripped(key: str) -> str:
    return re.sub(r"\s*(temperature|\[.*?\])\s*", " ", key, flags=re.IGNORECASE).strip() or "servos"


def _number(text: str) -> float | None:
    match = NUMBER.search(text)
    return float(match[0]) if match else None
