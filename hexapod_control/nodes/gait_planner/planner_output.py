# SPDX-License-Identifier: Apache-2.0
"""What gait_planner publishes and reports: targets and state in every tick, mishaps, markers, command source, stops."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point as PointMessage
from geometry_msgs.msg import Pose, TwistStamped
from geometry_msgs.msg import Twist as TwistMessage
from rclpy.duration import Duration
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import ColorRGBA, Float64, String
from visualization_msgs.msg import Marker, MarkerArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import Placement
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.motions.motion_topics import own_activity, percent_in_steps
from hexapod_control.core.motions.operator_commands import OperatorCommands
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.refusal import Statement
from hexapod_control.core.robot import Robot, Vector
from hexapod_control.core.sensing.mishap_watch import MishapKind
from hexapod_control.core.statics.static_stability import convex_hull
from hexapod_control.core.steering.command_priorities import ANNOUNCEMENT_TIMEOUT_S, SOURCES, highest_priority
from hexapod_control.core.steering.course_control import CourseControl
from hexapod_control.core.workspace.stance_regions import StanceRegionTable
from hexapod_control.nodes.gait_planner.settings import PlannerSettings
from hexapod_control.nodes.gait_planner.velocity_filter import Ignored, VelocityFilter
from hexapod_control.nodes.gait_planner.velocity_input import VelocityInput
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import DISCOVERY_TIME_S, GuardedNode, ReportLevel
from hexapod_control.ros.monitoring.endpoints import UNKNOWN_NAME
from hexapod_control.ros.qos import COMMAND, EVENTS, LATCHED
from hexapod_control.ros.row_messages import FootLayout, JointLayout

MAX_DELIVERY_S = 0.5  # for the delivery of the last messages to all subscribers
MARKER_RATE_HZ = 10.0
LIMITS_RATE_HZ = 5.0  # at which the velocity limits are checked for changes
PERCENT_STEP = 10  # resolution of the progress in motion_state [%]
LIMITS_DECIMALS = 4  # of velocity_limits


class LatchedValue:
    """A latched topic that is published when its value changes."""

    def __init__(self, node: GuardedNode, kind: Any, topic: str) -> None:
        self.publisher = node.create_publisher(kind, topic, LATCHED)
        self._last: Any = None

    def show(self, value: Any, message: Any) -> None:
        """Publishes `message(value)` if the value has changed."""
        if value != self._last:
            self._last = value
            self.publisher.publish(message(value))


class PlannerOutput:
    """All publishers of gait_planner."""

    def __init__(self, node: GuardedNode, planner: Planner, settings: PlannerSettings) -> None:
        """Publishes the state at once."""
        self._node = node
        self._planner = planner
        self._settings = settings
        self._feet = FootLayout(planner.robot)
        self._joints = JointLayout(planner.robot)
        self._foot_targets = node.create_publisher(MultiDOFJointState, "foot_targets", COMMAND)
        self._joint_motion = node.create_publisher(JointState, "joint_motion", COMMAND)
        self._margin = node.create_publisher(Float64, "stability_margin", COMMAND)
        self._markers = node.create_publisher(MarkerArray, "foot_markers", COMMAND)
        self._executed = None
        if settings.publish_limited_velocity:
            kind = TwistStamped if settings.enable_stamped_cmd_vel else TwistMessage
            self._executed = node.create_publisher(kind, "cmd_vel_out", COMMAND)
        self._pose = LatchedValue(node, Pose, "body_pose_achieved")
        self._state = LatchedValue(node, String, "gait_state")
        self._gait = LatchedValue(node, String, "gait_active")
        self._selected = LatchedValue(node, String, "gait_selected")
        self._motion = LatchedValue(node, String, "motion_state")
        self._limits = LatchedValue(node, TwistMessage, "velocity_limits")
        self._gaits = LatchedValue(node, String, "gaits")
        self._ticks = 0
        self.last: TickPlan | None = None
        self.show_state()

    @property
    def has_target_subscribers(self) -> bool:
        """Whether a node subscribes to the targets of feet and of joints."""
        return all(topic.get_subscription_count() for topic in (self._foot_targets, self._joint_motion))

    def publish_targets(self, plan: TickPlan, stamp: Time, moving: bool = True) -> None:
        """Publishes the targets of a plan, if it has any; with zero velocities unless `moving`."""
        still = np.zeros_like(plan.joint_velocity)
        if plan.feet is not None:
            velocity = plan.feet_velocity if moving else still
            self._foot_targets.publish(self._feet.message(plan.feet, velocity, plan.support, stamp))
        elif plan.joint_motion is not None:
            velocity = plan.joint_velocity if moving else still
            self._joint_motion.publish(self._joints.message(plan.joint_motion, velocity, stamp))

    def publish_joint_motion(self, joints: Array, stamp: Time) -> None:
        """Publishes joint angles (n, 3) [rad] of a robot at rest as targets."""
        self._joint_motion.publish(self._joints.message(joints, np.zeros_like(joints), stamp))

    def publish(self, plan: TickPlan, stamp: Time, motion: str = "") -> None:
        """Publishes everything about one tick; `motion` is the state of the motion being played."""
        self.publish_targets(plan, stamp)
        self.last = plan
        if math.isfinite(plan.margin):
            self._margin.publish(messages.number(plan.margin))
        self.publish_executed_twist(plan.twist, stamp)
        self._pose.show(plan.pose, messages.body_pose_message)
        self.show_state(motion)
        self._report_obstruction(plan)
        self._ticks += 1
        if self._due(LIMITS_RATE_HZ):
            limits = Twist(*(round(value, LIMITS_DECIMALS) for value in self._planner.view.maxima()))
            self._limits.show(limits, messages.twist_message)
        if self._due(MARKER_RATE_HZ) and self._markers.is_received:
            frame = f"{self._settings.tf_frame_prefix}base_link"
            capabilities = self._planner.capabilities
            self._markers.publish(foot_markers(capabilities.robot, capabilities.stances, plan, frame, stamp))

    def _report_obstruction(self, plan: TickPlan) -> None:
        """Reports what prevents the robot from moving as commanded."""
        if plan.unreached is not None:
            leg, reason, excess = plan.unreached
            text = "foot of {leg}: the target is {where}; the robot holds; command a smaller motion, or a body pose "
            text += "closer to neutral"
            said = Statement("foot_unreached", text, leg=leg, where=reason.describe(excess))
            self._node.report("unreached", ReportLevel.WARNING, said)
        if plan.blocked is not None and plan.blocked.legs is not None:
            first, second = (self._planner.robot.leg_names[leg] for leg in plan.blocked.legs)
            text = "{first} and {second} are {distance:.0f} mm apart and would touch; the robot waits; command another "
            text += "direction, or a body pose closer to neutral"
            values = {"first": first, "second": second, "distance": 1000 * plan.blocked.distance}
            self._node.report("blocked", ReportLevel.WARNING, Statement("legs_would_touch", text, **values))

    def _due(self, rate: float) -> bool:
        return self._ticks % max(1, round(self._settings.control_rate / rate)) == 0

    def publish_executed_twist(self, twist: Twist, stamp: Time) -> None:
        """Publishes cmd_vel_out if publish_limited_velocity is set."""
        if self._executed is not None:
            stamped = self._settings.enable_stamped_cmd_vel
            message = messages.twist_stamped_message(twist, stamp) if stamped else messages.twist_message(twist)
            self._executed.publish(message)

    def show_state(self, motion: str = "") -> None:
        """Publishes gait_state, gait_active and motion_state on change; empty `motion`: from the robot state."""
        state, view = self._planner.state, self._planner.view
        self._state.show(state.value, messages.text)
        self._gait.show(view.active_gait, messages.text)
        self._selected.show(view.selected_gait, messages.text)
        self._gaits.show(",".join(self._planner.capabilities.gait_names), messages.text)
        walks = state is RobotState.WALKING
        percent = percent_in_steps(view.gait_phase if walks else view.progress, PERCENT_STEP)
        phase = view.active_gait if walks else state.value
        self._motion.show(motion or own_activity(state, phase, percent).text, messages.text)

    def publish_last_targets(self, stamp: Time) -> None:
        """Publishes a zero velocity and the last targets at rest, and waits for their delivery."""
        self.publish_executed_twist(ZERO, stamp)
        if self.last is not None:
            self.publish_targets(self.last, stamp, moving=False)
        for publisher in (self._executed, self._foot_targets, self._joint_motion, self._state.publisher):
            if publisher is not None:
                publisher.wait_for_all_acked(Duration(seconds=MAX_DELIVERY_S))


PLANTED = ColorRGBA(r=0.15, g=0.65, b=0.25, a=1.0)
SWINGING = ColorRGBA(r=0.95, g=0.6, b=0.1, a=1.0)
POLYGON = ColorRGBA(r=0.2, g=0.45, b=0.9, a=0.9)
FOOTHOLD = ColorRGBA(r=0.6, g=0.6, b=0.6, a=0.7)
LINE_WIDTH_M = 0.004
MARKER_LIFETIME_S = 0.5  # after which markers disappear if the planner stops publishing


def foot_markers(robot: Robot, stances: StanceRegionTable, plan: TickPlan, frame: str, stamp: Time) -> MarkerArray:
    """Markers of a plan; empty for a plan without feet."""
    if plan.feet is None:
        return MarkerArray()
    placement = Placement(plan.pose, robot.walk.height)
    regions = stances.at(robot.walk.height + plan.pose.z)
    planted = [tuple(xy) for xy, down in zip(plan.contacts.tolist(), plan.planted, strict=True) if down]
    corners = [placement.to_base(x, y, 0.0) for x, y in convex_hull(planted)]
    feet = _marker("feet", Marker.SPHERE_LIST, 2 * robot.foot_radius, plan.feet.tolist())
    feet.colors = [PLANTED if down else SWINGING for down in plan.planted]
    feet.color = PLANTED
    polygon = _marker("support", Marker.LINE_STRIP, LINE_WIDTH_M, [*corners, *corners[:1]])
    polygon.color = POLYGON
    footholds = [placement.to_base(x, y, 0.0) for x, y in regions.footholds]
    neutral = _marker("footholds", Marker.SPHERE_LIST, robot.foot_radius, footholds)
    neutral.color = FOOTHOLD
    for marker in (feet, polygon, neutral):
        marker.header.frame_id = frame
        marker.header.stamp = stamp
    return MarkerArray(markers=[feet, polygon, neutral] if len(corners) > 1 else [feet, neutral])


def _marker(namespace: str, kind: int, size: float, points: Sequence[Vector]) -> Marker:
    marker = Marker(ns=namespace, type=kind, action=Marker.ADD)
    marker.scale.x = marker.scale.y = marker.scale.z = size
    marker.lifetime.nanosec = int(MARKER_LIFETIME_S * 1e9)
    marker.points = [PointMessage(x=x, y=y, z=z) for x, y, z in points]
    return marker


TOPIC = "joint_targets"
KINEMATICS = "inverse_kinematics"  # the node that publishes TOPIC
ANSWERING = {KINEMATICS, UNKNOWN_NAME}  # nodes that answer, or are not discovered completely yet
# Nodes that receive targets without moving the robot: nodes of this package, recorders, displays, and the command ros2.
OBSERVERS = {"odometry", "recorder", "web", "rosbag2_recorder", "rosbag2_transport", "foxglove_bridge", "rviz", "rviz2"}
COMMAND_LINE = "_ros2cli"
MAX_STAMPS = 1000  # stored ones: 20 s
REPORT_AFTER_S = 2.0 * DISCOVERY_TIME_S  # without an answer
MAX_WAIT_S = 10.0  # for an answer: another node in place of KINEMATICS may not repeat the stamps


class StartPermission:
    """Permission of the planner to move the robot. Call `is_granted` with every sample until the pose is known."""

    def __init__(self, node: GuardedNode, output: PlannerOutput) -> None:
        """Subscribes to joint_targets."""
        self._node = node
        self._output = output
        self._subscription: Any = None  # None: the permission is granted. Any: rclpy's subscriptions have no types
        self.reset()

    def reset(self) -> None:
        """Withdraws the permission while the torque is off: nodes may end, and the robot may be moved by hand."""
        self._joints: Array | None = None  # (n, 3) [rad] the target
        self._stamps: deque[tuple[int, int]] = deque(maxlen=MAX_STAMPS)  # of the target, one for each message
        self._first = 0.0  # [s] steady time of its first message
        self._is_answered = False
        if self._subscription is None:
            self._subscription = self._node.create_subscription(JointState, TOPIC, self._on_joint_targets, COMMAND)

    def is_granted(self, joints: Array) -> bool:
        """Whether the planner may move the robot: a target was answered, or another program than KINEMATICS moves it.

        Until then it publishes the first measured joints (n, 3) [rad] as a target. It does not use newer ones: a robot
        that follows its measured joints sinks under load.
        """
        if self._subscription is None:
            return True
        now = time.monotonic()
        if self._joints is None:
            self._joints = joints
            self._first = now
        if self._is_answered or not self._awaits_answer(now - self._first):
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
            return True
        if now - self._first > REPORT_AFTER_S:
            text = "no joint_targets follow joint_motion, so the robot stays as it is: start {node}"
            self._node.report("unheard", ReportLevel.WARNING, Statement("motion_unanswered", text, node=KINEMATICS))
        stamp = self._node.get_clock().now().to_msg()
        self._stamps.append((stamp.sec, stamp.nanosec))
        self._output.publish_joint_motion(self._joints, stamp)
        return False

    def _awaits_answer(self, waited: float) -> bool:
        """Whether a node may still answer, after `waited` [s]; if not, another program moves the robot."""
        names = {info.node_name for info in self._node.get_subscriptions_info_by_topic("foot_targets")}
        receivers = {name for name in names - OBSERVERS if not name.startswith(COMMAND_LINE)}
        may_answer = self._subscription.get_publisher_count() > 0 or not receivers.isdisjoint(ANSWERING)
        return not receivers or (may_answer and waited <= MAX_WAIT_S)

    def _on_joint_targets(self, message: JointState) -> None:
        stamp = message.header.stamp
        self._is_answered = self._is_answered or (stamp.sec, stamp.nanosec) in self._stamps


LEVELS: Mapping[MishapKind, ReportLevel] = {
    MishapKind.FALLEN: ReportLevel.ERROR,  # after an error, the recorder saves the last minute
    MishapKind.CARRIED: ReportLevel.WARNING,
    MishapKind.STUCK: ReportLevel.ERROR,
    MishapKind.HINDERED: ReportLevel.WARNING,
    MishapKind.NO_FOOTHOLD: ReportLevel.WARNING,
    MishapKind.SLOWED: ReportLevel.WARNING,
}
STUCK_PAUSE_S = 4.0  # until the robot tries whether a leg that was stuck is free


class MishapReports:
    """Reports the mishaps that the planner detects. Life cycle: `watch` in every tick, `repeat` every second."""

    def __init__(
        self,
        node: GuardedNode,
        commands: OperatorCommands,
        planner: Planner,
        block: Callable[[], None],
        pause: Callable[[str, Statement, float], None],
    ) -> None:
        """`block` makes the node ignore velocity commands until a zero or a silence, `pause` until its cause has ended.

        The arguments of `pause` are the cause, the reason to report, and for how long [s].
        """
        self._node = node
        self._commands = commands
        self._planner = planner
        self._block = block
        self._pause = pause
        self._last: MishapKind | None = None

    def watch(self) -> None:
        """Reports a new mishap; one that stops the robot also ends motions and velocity commands."""
        mishap = self._planner.view.mishap
        kind = mishap.kind if mishap is not None else None
        if kind is self._last:
            return
        if self._last is not None:
            self._node.withdraw(self._last.value)
        self._last = kind
        if mishap is None:
            return
        if mishap.kind in (MishapKind.HINDERED, MishapKind.NO_FOOTHOLD):  # the planner refuses only the same course
            self._commands.end_motion()
        elif mishap.kind is MishapKind.STUCK:
            self._pause(mishap.kind.value, mishap.said, STUCK_PAUSE_S)
        elif mishap.kind is not MishapKind.SLOWED:  # a person has to put the robot on its feet
            self._block()
            self._commands.end_motion()
        self.repeat()

    def repeat(self) -> None:
        """Reports the present mishap again, so that /diagnostics shows it as long as it lasts."""
        mishap = self._planner.view.mishap
        if mishap is not None:
            self._node.report(mishap.kind.value, LEVELS[mishap.kind], mishap.said)


def course_text(course: CourseControl) -> str:
    """What keeps the course, and its correction."""
    if course.shares == ZERO:
        return course.state.value
    vx, vy, wz = course.shares
    return f"{course.state.value}: {100 * vx:+.1f} % ahead, {100 * vy:+.1f} % left, {math.degrees(wz):+.1f} deg/m"


NO_SOURCE = "none"
WATCH_PERIOD_S = 0.2
MAX_NAME_LENGTH = 40
MAX_NAMES = 16  # stored in addition to the names of the table


class CommandSourceDisplay:
    """Publishes the latched topic `command_source`. Lives as long as its node."""

    def __init__(self, node: GuardedNode, velocity: VelocityInput) -> None:
        self._velocity = velocity
        self.announced: dict[str, float] = {}  # [s] steady time by name
        self._shown = ""
        self._publisher = node.create_publisher(String, "command_source", LATCHED)
        node.create_subscription(String, "driving", self.on_driving, EVENTS)
        node.create_timer(WATCH_PERIOD_S, self.show, clock=node.steady)
        self.show()

    def on_driving(self, message: String) -> None:
        """Records a source that is in use."""
        name = "".join(filter(str.isprintable, message.data[:MAX_NAME_LENGTH]))
        if name and (name in SOURCES or name in self.announced or len(self.announced) < MAX_NAMES):
            self.announced[name] = time.monotonic()
            self.show()

    @property
    def name(self) -> str:
        """The announced source with the highest priority; without one, the nodes that publish cmd_vel."""
        now = time.monotonic()
        self.announced = {name: when for name, when in self.announced.items() if now - when <= ANNOUNCEMENT_TIMEOUT_S}
        if self.announced:
            return highest_priority(self.announced)
        return NO_SOURCE if self._velocity.filter.twist.is_zero else ", ".join(self._velocity.sources) or NO_SOURCE

    def show(self) -> None:
        """Publishes the name if it has changed."""
        name = self.name
        if name != self._shown:
            self._shown = name
            self._publisher.publish(messages.text(name))


class StopDisplay:
    """Publishes the latched topic `stopped_by`. Lives as long as its node."""

    def __init__(self, node: GuardedNode, velocities: VelocityFilter) -> None:
        """`velocities` are ignored from a stop until a zero or a silence."""
        self._filter = velocities
        self._by = ""
        self._topic = LatchedValue(node, String, "stopped_by")
        node.create_timer(WATCH_PERIOD_S, self.show, clock=node.steady)
        self.show()

    def note(self, by: str) -> None:
        """Shows who has stopped the robot just now."""
        self._by = by
        self.show()

    def show(self) -> None:
        """Publishes a change."""
        if Ignored.STOP not in self._filter.ignored:
            self._by = ""
        self._topic.show(self._by, messages.text)
