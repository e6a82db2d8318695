"""Publishers of gait_planner: the targets of a tick first, then the state of the robot and of a motion."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose, TwistStamped
from geometry_msgs.msg import Twist as TwistMessage
from rclpy.duration import Duration
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Float64, String
from visualization_msgs.msg import MarkerArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.motions.motion_state import own_activity, percent_in_steps
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.nodes.gait_planner.planner_output import foot_markers
from hexapod_control.nodes.gait_planner.settings import PlannerSettings
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import COMMAND, LATCHED
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
            text = f"foot of {leg}: the target is {reason.describe(excess)}; "
            remedy = "the robot holds; command a smaller motion, or a pose nearer to neutral"
            self._node.report("unreached", ReportLevel.WARNING, text + remedy)
        if plan.blocked is not None and plan.blocked.legs is not None:
            first, second = (self._planner.robot.leg_names[leg] for leg in plan.blocked.legs)
            text = f"{first} and {second} are {1000 * plan.blocked.distance:.0f} mm apart and would touch; "
            self._node.report(
                "blocked",
                ReportLevel.WARNING,
                f"{text}the robot waits; command another direction, or a smaller pose",
            )

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
