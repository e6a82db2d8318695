# SPDX-License-Identifier: Apache-2.0
"""Subscriptions of the page: messages are stored as they arrive and decoded only when a page needs them.

Topics that only drawings need are subscribed to while a page is open.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Pose as PoseMessage
from geometry_msgs.msg import Twist as TwistMessage
from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from sensor_msgs.msg import BatteryState, Imu, JointState, MultiDOFJointState
from std_msgs.msg import Bool, Float64, String
from visualization_msgs.msg import Marker, MarkerArray

from hexapod_control.config.robots.urdf_import.joint_mapping import JointMapping
from hexapod_control.core.kinematics.se2 import ZERO, Pose, Twist
from hexapod_control.core.motions.motion_approval import MAX_AGE_S as MAX_REQUEST_AGE_S
from hexapod_control.core.motions.motion_approval import REQUEST_TOPIC, MotionRequest
from hexapod_control.core.motions.motion_topics import END_PHASES, REFUSED, MotionState
from hexapod_control.core.names import HARDWARE_NODES, WALKS_WITHOUT, joint_names
from hexapod_control.core.robot import Robot
from hexapod_control.nodes.joint_state_input import TOPIC, JointStateInput
from hexapod_control.nodes.web.diagnostics_summary import (
    MAX_TEXT,
    NEVER_FORGOTTEN,
    PLANNER,
    Health,
    NodeStatus,
    RecentStatuses,
    errors,
    hindrance,
    short_name,
    statements,
    summary,
)
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import SAID, GuardedNode
from hexapod_control.ros.monitoring.endpoints import UNKNOWN_CALLER
from hexapod_control.ros.qos import DISPLAY, EVENTS, LATCHED, SENSOR
from hexapod_control.ros.row_messages import FootLayout, MessageError
from hexapod_control.web.page_state import DrawnState, drawing
from hexapod_control.web.robot_condition import (
    KINEMATICS,
    MAX_CHAIN_SILENCE_S,
    OFF_ITS_FEET,
    PressedStop,
    RobotFacts,
    RouteProgress,
    condition,
    hung_node,
)

MAX_AGE_S = 0.3  # of messages with feet, velocities and poses
MAX_STALL_S = 0.7  # for which inverse_kinematics may convert nothing while it gets targets
MAX_SILENCE_S = 1.0  # time without joint_states after which the robot counts as disconnected
MAX_BATTERY_AGE_S = 5.0
DIAGNOSTICS_DEPTH = 20
LATCHED_TEXTS = ("gait_state", "gait_active", "gait_selected", "gaits", "lost_legs", "motions", "command_source")
ESTOP_REPORT_S = 2.0  # from an E-STOP of a page until the hardware node reports it
SOLID = (Marker.CUBE, Marker.CUBE_LIST, Marker.CYLINDER)
MAX_BOXES = 5000
MAX_SAID = 300  # statements
URGENT: tuple[Callable[[NodeStatus], Any], ...] = (  # what pages get at once when it changes
    lambda status: status.level,
    lambda status: status.values.get("torque"),
    lambda status: status.values.get("emergency stop"),
    lambda status: status.values.get("calibration"),
)


class NewestMessage:
    """The newest message of a topic whose rate is higher than that of the page: decoded only when read.

    `Any`: message classes have no common base.
    """

    def __init__(
        self,
        node: GuardedNode,
        kind: Any,
        topic: str,
        convert: Callable[[Any], Any],
        qos: QoSProfile = DISPLAY,
        **options: Any,
    ) -> None:
        """Call `watch` to subscribe; `options` of the subscription: see GuardedNode.

        `convert` is called once per message that is read; it raises MessageError for one that cannot be used.
        """
        self._qos = qos
        self._options = options
        self._node = node
        self._kind = kind
        self._topic = topic
        self._convert = convert
        self._subscription: Subscription | None = None
        self._decode = messages.decoder(kind)
        self._value: Any = None
        self._bytes: bytes | None = None  # of the newest message
        self._decoded: bytes | None = None  # of self._value
        self._at = -math.inf  # [s] steady time

    def watch(self, *, wanted: bool) -> None:
        """Subscribes while the messages are wanted."""
        if wanted and self._subscription is None:
            self._subscription = self._node.create_subscription(
                self._kind, self._topic, self._take, self._qos, raw=True, **self._options
            )
        elif not wanted and self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = self._bytes = self._value = None
            self._at = -math.inf

    def _take(self, data: bytes) -> None:
        self._bytes = messages.bounded(data)
        self._at = time.monotonic()

    @property
    def watched(self) -> bool:
        """Whether the messages are wanted."""
        return self._subscription is not None

    @property
    def age(self) -> float:
        """Seconds since the newest message arrived."""
        return time.monotonic() - self._at

    def read(self, within: float) -> Any:
        """Returns the value of the newest message; None if it is older than `within` [s] or was refused.

        Only one thread may call it.
        """
        if self.age > within:
            return None
        data = self._bytes
        if data is not None and data is not self._decoded:
            self._value = None
            self._decoded = data
            try:
                self._value = self._convert(self._decode(data))
            except MessageError as error:
                self._node.refused(self._topic, error)
        return self._value


class RobotFeed:
    """The subscriptions of the node; `state` and `status` return the data that the page shows."""

    def __init__(
        self,
        node: GuardedNode,
        robot: Robot,
        stamped: bool,
        refused: Callable[[str, str], None],
        mapping: JointMapping | None = None,
        restartable: Callable[[str], bool] = lambda node: False,
    ) -> None:
        """`refused(motion, reason)` is called when a motion cannot be played.

        `restartable(node)` says whether a silent node, given by its short name, can be restarted.
        """
        self._robot = robot
        measured = JointStateInput(node, robot, mapping)
        self._drawn = DrawnState()
        self._node = node
        self.limits: Twist = ZERO
        self._texts = dict.fromkeys(LATCHED_TEXTS, "")
        self._refused = refused
        self._restartable = restartable
        self._motion: dict[str, Any] | None = None
        self._pose: list[float] | None = None
        self._diagnostics = RecentStatuses()
        self._joint_names = joint_names(robot.leg_names)
        self._facts = RobotFacts(full_height=robot.walk.height)  # those that change slowly
        self._torque: bool | None = None
        self._switched_at = -math.inf  # [s] steady time of the last change of the torque
        self.statuses: dict[str, NodeStatus] = {}  # of all nodes, by their short name
        self._summary = summary({}, self._joint_names)
        self._request: tuple[MotionRequest, float] | None = None  # of an assistant, and when it came [s]
        self._estop: tuple[str, float] | None = None  # who has pressed it, and when [s]
        self._hung = "", False  # the silent node, and whether it can be restarted
        self._heard: dict[str, float] = {}  # [s] steady times of the newest status of the nodes of the robot
        self.terrain: list[list[float]] = []
        self.on_terrain: Callable[[], None] = lambda: None
        self.said: dict[str, dict[str, Any]] = {}  # statements of the nodes, as JSON, by the begin of their text
        self.on_said: Callable[[dict[str, Any]], None] = lambda said: None
        self.stops = 0  # calls of the service stop
        self.stopped_by: list[str] = []  # nodes that may have made the last one; empty if unknown
        self.route: RouteProgress | None = None  # of the present walk along a route
        self.why = "why_unknown"  # key of the reason why the robot cannot be driven; empty: it can
        self.why_values: Mapping[str, Any] = {}  # of that text
        self.silent = True  # nothing reaches the robot, which may be so for a moment only
        self._watched = -math.inf  # [s] steady time since which pages are open
        self.ended: dict[str, Any] | None = None  # how the last walk along a route ended, until the person acts
        self.asked_at = -math.inf  # [s] steady time of the last state
        self._prepare(node, robot, measured, stamped)
        self._subscribe(node)

    def _prepare(self, node: GuardedNode, robot: Robot, measured: JointStateInput, stamped: bool) -> None:
        """Creates what keeps the newest message of each topic with a high rate."""
        self._joints = NewestMessage(
            node,
            JointState,
            TOPIC,
            lambda message: measured.accept(message).joints,
            SENSOR,
            admit=measured.priority.admits,
        )
        self._targets = NewestMessage(node, MultiDOFJointState, "foot_targets", FootLayout(robot).forces)
        self._converted = NewestMessage(node, JointState, "joint_targets", lambda message: None)  # only its age
        self._states = NewestMessage(node, MultiDOFJointState, "foot_states", FootLayout(robot).forces)
        self._imu = NewestMessage(node, Imu, "imu/data", _tilt, SENSOR)
        self._odometry = NewestMessage(node, Odometry, "odom", _planar)
        self._truth = NewestMessage(node, Odometry, "simulator/floating_base_state", _planar)
        kind = TwistStamped if stamped else TwistMessage
        self._command = NewestMessage(node, kind, "cmd_vel", _velocity)
        self._margin = NewestMessage(node, Float64, "stability_margin", lambda message: message.data)
        self._battery = NewestMessage(node, BatteryState, "battery_state", _battery)

    def watch(self, *, wanted: bool) -> None:
        """Subscribes to the topics that only drawings need, while a page is open."""
        measured = (self._joints, self._targets, self._converted, self._states, self._imu, self._odometry, self._truth)
        if wanted and not self._joints.watched:
            self._watched = time.monotonic()
        for each in (*measured, self._command, self._margin):
            each.watch(wanted=wanted)

    def _subscribe(self, node: GuardedNode) -> None:
        """Subscribes to the topics that are received even without a page."""
        self._battery.watch(wanted=True)
        for topic in LATCHED_TEXTS:
            node.create_subscription(String, topic, self._storing(topic), LATCHED)
        node.create_subscription(String, "motion_state", self._take_motion, LATCHED)
        node.create_subscription(TwistMessage, "velocity_limits", self._take_limits, LATCHED)
        node.create_subscription(PoseMessage, "body_pose_achieved", self._take_pose, LATCHED)
        node.create_subscription(Bool, "armed", self._take_torque, LATCHED)
        node.create_subscription(String, "stopped_by", self._take_stop, LATCHED)
        node.create_subscription(MarkerArray, "terrain", self._take_terrain, LATCHED)
        node.create_subscription(DiagnosticArray, "/diagnostics", self._take_diagnostics, DIAGNOSTICS_DEPTH)
        node.create_subscription(String, REQUEST_TOPIC, self._take_request, EVENTS)

    def _storing(self, topic: str) -> Callable[[String], None]:
        def store(message: String) -> None:
            self._texts[topic] = message.data

        return store

    def _take_motion(self, message: String) -> None:
        state = MotionState.parse(message.data)
        motion = {"name": state.name, "phase": state.phase, "percent": state.percent}
        self._motion = motion if state.has_motion else None
        if state.has_motion and state.phase == REFUSED:
            self._refused(state.name, state.reason)

    @property
    def motions(self) -> list[str]:
        """Names of the motions that the planner knows."""
        return _names(self._texts["motions"])

    def _take_torque(self, message: Bool) -> None:
        if self._torque is not message.data:
            self._switched_at = time.monotonic()
        self._torque = message.data

    def _take_request(self, message: String) -> None:
        request = MotionRequest.parse(message.data)
        if request is None:
            self._node.refused(REQUEST_TOPIC, MessageError("it is no request of a motion"))
        else:
            self._request = request, time.monotonic()

    def _waiting_request(self) -> dict[str, Any] | None:
        """The motion for which an assistant waits now."""
        if self._request is None or time.monotonic() - self._request[1] > MAX_REQUEST_AGE_S:
            return None
        return asdict(self._request[0])

    def _take_stop(self, message: String) -> None:
        if message.data:
            self.stops += 1
            mine = self._node.get_fully_qualified_name()
            self.stopped_by = [short_name(name) for name in _names(message.data) if name not in (mine, UNKNOWN_CALLER)]

    def _take_terrain(self, message: MarkerArray) -> None:
        self.terrain = boxes(message)
        self.on_terrain()

    def _take_limits(self, message: TwistMessage) -> None:
        limits = messages.twist(message)
        if all(map(math.isfinite, limits)):
            self.limits = limits

    def _take_pose(self, message: PoseMessage) -> None:
        self._pose = [round(value, 4) for value in messages.body_pose(message)]

    def _take_diagnostics(self, message: DiagnosticArray) -> None:
        now = time.monotonic()
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            self._take_statements(values.pop(SAID, ""))
            new = NodeStatus(status.level[0], status.message, values)
            old = self.statuses.get(short_name(status.name), new)
            self._diagnostics.take(status.name, new, now)
            if short_name(status.name) in NEVER_FORGOTTEN:
                self._heard[short_name(status.name)] = now
            if any(mark(old) != mark(new) for mark in URGENT):
                self.evaluate_diagnostics()

    def _take_statements(self, text: str) -> None:
        """Keeps what a node has said with kind and values, for pages in other languages."""
        for said in statements(text):
            key = said["text"][:MAX_TEXT]
            if key not in self.said:
                self.said[key] = said
                if len(self.said) > MAX_SAID:
                    del self.said[next(iter(self.said))]
                self.on_said(said)

    def note_estop(self, by: str) -> None:
        """Records which page has pressed E-STOP."""
        self._estop = by, time.monotonic()

    # --- state: in the server's thread, the only one that reads these messages ------------------------------------

    def state(self) -> dict[str, Any]:
        """The fields of a `state` message."""
        drawn = self._drawn
        joints = self._joints.read(MAX_SILENCE_S)
        if joints is not None:
            drawn.joints = joints
        drawn.support, drawn.forces = self._targets.read(MAX_AGE_S), self._states.read(MAX_AGE_S)
        drawn.commanded = self._command.read(MAX_AGE_S) or ZERO
        odometry = self._odometry.read(MAX_AGE_S)
        if odometry is not None:
            drawn.odometry, drawn.achieved = odometry
        drawn.margin = self._margin.read(MAX_AGE_S)
        # Off its feet, only the IMU knows how the body lies; it may be mounted with an error, so the feet go first.
        off_its_feet = self._texts["gait_state"] in OFF_ITS_FEET
        drawn.locate_body(self._robot, self._imu.read(MAX_SILENCE_S) if off_its_feet else None)
        now = condition(self._present())
        self.why, self.why_values, self.silent = now.why, now.values, now.silent
        self.asked_at = time.monotonic()
        return {
            **drawing(self._robot, drawn),
            "state": self._texts["gait_state"],
            "gait": self._texts["gait_active"],
            "motion": self._motion,
            "pose": self._pose,
            "forces": None if drawn.forces is None else [round(float(force), 1) for force in drawn.forces],
            "truth": self._true_pose(),
            "now": now.fields(),
            "silent": self._joints.age > MAX_SILENCE_S,
        }

    def _true_pose(self) -> list[float] | None:
        """Position [m] and heading [rad] in the simulated world, the frame of the terrain; None if unknown."""
        truth = self._truth.read(MAX_AGE_S)
        return None if truth is None else [round(value, 4) for value in truth[0]]

    def _present(self) -> RobotFacts:
        """All facts about the robot, including those that change quickly."""
        facts, drawn = self._facts, self._drawn
        torque = facts.torque if self._torque is None else self._torque
        latched = facts.latched
        stop = None
        if self._estop is not None:
            by, at = self._estop
            stop = PressedStop(by, time.monotonic() - at)
            latched = latched or (torque is False and stop.age < ESTOP_REPORT_S)
        motion = ""
        if self._motion is not None and self._motion["phase"] not in END_PHASES:
            motion = self._motion["name"]
        begun = time.monotonic() - self._watched
        hung = self.hung
        if hung != self._hung[0]:
            self._hung = hung, bool(hung) and self._restartable(hung)
        return replace(
            facts,
            state=self._texts["gait_state"],
            node_ages=self._node_ages(),
            stalled=self._stalled,
            restartable=self._hung[1],
            torque=torque,
            unexplained=torque is False
            and facts.torque is True
            and time.monotonic() - self._switched_at < MAX_CHAIN_SILENCE_S,
            latched=latched,
            height=None if drawn.joints is None else drawn.height,
            joints_age=min(self._joints.age, begun) if begun < MAX_CHAIN_SILENCE_S else self._joints.age,
            speed=math.hypot(*drawn.achieved[:2]) if drawn.achieved else 0.0,
            commanded=drawn.commanded or ZERO,
            motion=motion,
            lost_legs=self._texts["lost_legs"],
            route=self.route,
            stop=stop,
        )

    # --- status: twice a second -----------------------------------------------------------------------------------

    def evaluate_diagnostics(self) -> None:
        """Updates `statuses`, and the values in `status` and `state` that come from /diagnostics."""
        nodes = self._diagnostics.at(time.monotonic())
        values = self._summary = summary(nodes, self._joint_names)
        battery = self._battery.read(MAX_BATTERY_AGE_S)
        limits = values["battery_limits"]
        self._facts = replace(
            self._facts,
            low_battery=battery["volts"] if battery and limits and battery["volts"] <= limits[0] else None,
            torque=values["torque"],
            latched=values["estop"],
            found=values["found"],
            way_out=values["way_out"],
            reset=values["reset"],
            calibrating=values["calibrating"],
            unplugged=values["unplugged"],
            hindrance=self._hindrance(nodes),
            errors=errors(nodes),
        )
        self.statuses = {short_name(name): status for name, status in nodes.items()}

    def _hindrance(self, nodes: dict[str, NodeStatus]) -> str:
        """What the planner warns of now, but for lost legs: `lost_legs` says more."""
        text = hindrance(nodes)
        return "" if self.said.get(text, {}).get("kind") == WALKS_WITHOUT else text

    @property
    def health(self) -> Health:
        """What the usage and health of the robot by weeks is made of."""
        values = self._summary
        return Health(values["usage"], self._joint_names, values["temperatures"], self._facts.errors)

    @property
    def hung(self) -> str:
        """The node that is silent now, of the control chain first; empty if there is none."""
        return KINEMATICS if self._stalled else hung_node(self._node_ages())

    @property
    def _stalled(self) -> float:
        """Seconds for which inverse_kinematics, which has converted targets, does so no more while it gets them."""
        stalled = self._targets.age < MAX_AGE_S and MAX_STALL_S < self._converted.age < math.inf
        return self._converted.age if stalled else 0.0

    def _node_ages(self) -> dict[str, float]:
        """Seconds since each node of the robot was heard: by its status, or by what it sends in every tick."""
        now = time.monotonic()
        ages = {node: now - at for node in NEVER_FORGOTTEN if (at := self._heard.get(node)) is not None}
        streams = {PLANNER: self._targets.age, KINEMATICS: self._converted.age}
        hardware = [node for node in HARDWARE_NODES if node in ages]
        if len(hardware) == 1:
            streams[hardware[0]] = self._joints.age
        live = {node: age for node, age in streams.items() if age <= MAX_SILENCE_S}
        return {node: min(age, live.get(node, math.inf)) for node, age in ages.items()}

    @property
    def posture(self) -> str:
        """The state of the planner; empty if unknown."""
        return self._texts["gait_state"]

    @property
    def place(self) -> tuple[float, float] | None:
        """Where the last state has drawn the robot, in odom [m]."""
        return self._drawn.odometry[:2] if self._drawn.odometry else None

    @property
    def source(self) -> str:
        """The command source that drives."""
        return self._texts["command_source"]

    @property
    def simulated(self) -> bool:
        """Whether a simulator runs."""
        return bool(self._node.count_publishers("simulator/floating_base_state"))

    def status(self) -> dict[str, Any]:
        """The fields of a `status` message."""
        return {
            "state": self._texts["gait_state"],
            "gait": self._texts["gait_active"],
            "selected_gait": self._texts["gait_selected"],
            "gaits": _names(self._texts["gaits"]),
            "lost_legs": _names(self._texts["lost_legs"]),
            "motions": self.motions,
            "limits": [round(value, 4) for value in self.limits],
            "pose": self._pose,
            "source": self.source,
            "permission": self._waiting_request(),
            "simulated": self.simulated,
            "battery": self._battery.read(MAX_BATTERY_AGE_S),
            **self._summary,
        }


def _velocity(message: Any) -> Twist:
    """The velocity of a Twist or TwistStamped."""
    return messages.twist(getattr(message, "twist", message))


def _battery(message: BatteryState) -> dict[str, float | None] | None:
    """Voltage and charge; None if they are not measured, which the message says by NaN."""
    if not math.isfinite(message.voltage):
        return None
    share = message.percentage if math.isfinite(message.percentage) else None
    return {"volts": message.voltage, "share": share}


def _tilt(message: Imu) -> tuple[float, float] | None:
    """Roll and pitch [rad]; None if the IMU gives no orientation."""
    if message.orientation_covariance[0] < 0.0:
        return None
    roll, pitch, _ = messages.roll_pitch_yaw(message.orientation)
    return (roll, pitch) if math.isfinite(roll + pitch) else None


def _planar(message: Odometry) -> tuple[Pose, Twist]:
    """Pose and velocity of the body."""
    return messages.planar_pose(message.pose.pose), messages.twist(message.twist.twist)


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def boxes(message: MarkerArray) -> list[list[float]]:
    """The boxes of a message: center x, y, z [m], yaw, pitch [rad], half sizes [m]; a cylinder becomes its box."""
    found: list[list[float]] = []
    for marker in message.markers:
        if marker.action != Marker.ADD or marker.type not in SOLID:
            continue
        _, pitch, yaw = messages.roll_pitch_yaw(marker.pose.orientation)
        half = (marker.scale.x / 2, marker.scale.y / 2, marker.scale.z / 2)
        center = marker.pose.position
        points = marker.points if marker.type == Marker.CUBE_LIST else [center]
        found += [[round(v, 4) for v in (p.x, p.y, p.z, yaw, pitch, *half)] for p in points[:MAX_BOXES]]
    return found[:MAX_BOXES]
