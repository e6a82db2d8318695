# SPDX-License-Identifier: Apache-2.0
"""Node inverse_kinematics: publishes joint targets for each message of foot targets or joint motion.

It is the only publisher of joint_targets.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState, MultiDOFJointState

from hexapod_control.core.refusal import Statement
from hexapod_control.nodes.announcements.graph_presence import create_exclusive_node
from hexapod_control.nodes.inverse_kinematics.joint_target_filter import FilteredTargets, JointTargetFilter
from hexapod_control.nodes.joint_state_input import JointStateInput, MeasuredSample
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import DISCOVERY_TIME_S, GuardedNode, ReportLevel
from hexapod_control.ros.node_process import run
from hexapod_control.ros.parameters import RobotSettings, declare
from hexapod_control.ros.qos import COMMAND, EVENTS
from hexapod_control.ros.row_messages import FootLayout, JointLayout
from hexapod_control.ros.started_files import started_mapping, started_robot
from hexapod_control.servos.driver.target_follower import TARGET_TIMEOUT_S

MAX_PAUSE_S = 0.5  # between two targets, after which the next ones start from measured joints
FLOWING_S = 0.1  # maximum time between two targets of a motion
MIN_MOVING_SPEED_RAD_S = 1e-3  # of a joint target; below it the motion ends, and targets may stop
WATCH_PERIOD_S = 0.05
SILENCE_S = 0.25  # without targets, after which this node may end after the planner
MAX_SILENCE_S = 2.0  # without targets, after which the planner counts as ended even if it is still discovered


class InverseKinematicsNode(GuardedNode):
    """Converts foot targets and joint motions of the planner to joint targets."""

    def __init__(self, **options: Any) -> None:
        """Raises RobotFileError or ParameterError."""
        super().__init__("inverse_kinematics", **options)
        settings = declare(self, RobotSettings)
        robot = started_robot(settings.robot).robot
        mapping = started_mapping(settings.joint_mapping, robot)
        self._filter = JointTargetFilter(robot)
        self._feet = FootLayout(robot)
        self._motions = JointLayout(robot)
        self._joints = JointLayout(robot, mapping)
        self._measured = np.zeros((len(robot.legs), 3))  # [rad] of the newest joint_states
        self._measured_at = -math.inf  # [s] steady time
        self._last_targets_at = time.monotonic()  # [s] steady time
        self._unseeded_since = math.inf  # [s] steady time of the first targets without a seed
        self._last_targets_time = 0.0  # [s] of the node's clock, which stops with a simulation
        self._moving = False  # whether the last targets move a joint
        # number of messages
        self._sent = 0
        self._changed = 0
        self._targets = self.create_publisher(JointState, "joint_targets", COMMAND)
        self.create_subscription(MultiDOFJointState, "foot_targets", self.on_foot_targets, COMMAND)
        self.create_subscription(JointState, "joint_motion", self.on_joint_motion, COMMAND)
        self._input = JointStateInput(self, robot, mapping)
        self._input.subscribe(self.on_measured_joints, EVENTS, needed=self._needs_measured_joints, polled=True)
        self.create_timer(WATCH_PERIOD_S, self.watch, clock=self.steady)

    def on_measured_joints(self, sample: MeasuredSample) -> None:
        """Stores the measured joint angles."""
        self._measured = sample.joints
        self._measured_at = time.monotonic()

    def _needs_measured_joints(self) -> bool:
        """Whether measured joints are needed: not while targets arrive, as they continue from the last ones."""
        return not self._flowing

    @property
    def _flowing(self) -> bool:
        return self._filter.seeded and self._silence() < FLOWING_S

    def on_foot_targets(self, message: MultiDOFJointState) -> None:
        """Publishes the joint targets for the positions of all feet."""
        feet = self._feet.feet(message)
        if self._ready():
            stamp = message.header.stamp
            self._send(self._filter.feet(feet.positions, feet.velocities, _seconds(stamp)), stamp, "foot_targets")

    def on_joint_motion(self, message: JointState) -> None:
        """Publishes the joint targets for a motion in joint space."""
        joints, velocities = self._motions.joints(message), self._motions.velocities(message)
        if self._ready():
            stamp = message.header.stamp
            self._send(self._filter.joints(joints, velocities, _seconds(stamp)), stamp, "joint_motion")

    def _ready(self) -> bool:
        """Whether the joint angles at the start of the motion are known; after a pause they are the measured ones."""
        now = time.monotonic()
        if not self._flowing:
            self.take_polled()
        fresh = now - self._measured_at < MAX_PAUSE_S
        if fresh and (not self._filter.seeded or self._silence() > MAX_PAUSE_S):
            self._filter.seed(self._measured)
        self._last_targets_at, self._last_targets_time = now, self.control_time
        if self._filter.seeded:
            self._input.restart()  # measured joints are skipped from now on
            return True
        self._unseeded_since = min(self._unseeded_since, now)
        if now - self._unseeded_since > DISCOVERY_TIME_S:
            text = "no joint_states yet, so no joint_targets are published: start the driver or the simulator, or arm "
            text += "it"
            self.report("seed", ReportLevel.WARNING, Statement("no_joint_states_yet", text))
        return False

    def _silence(self) -> float:
        """Time [s] since the last targets: the minimum of both clocks, which stops in a paused simulation."""
        return min(time.monotonic() - self._last_targets_at, abs(self.control_time - self._last_targets_time))

    def _send(self, targets: FilteredTargets, stamp: Time, topic: str) -> None:
        self._targets.publish(self._joints.message(targets.joints, targets.velocities, stamp))
        self._sent += 1
        self._moving = bool(np.abs(targets.velocities).max() > MIN_MOVING_SPEED_RAD_S)
        if targets.deviation:
            self._changed += 1
            said = Statement("of_topic", "{topic}: {said}", topic=topic, said=targets.deviation)
            self.report("targets", ReportLevel.WARNING, said)

    def watch(self) -> None:
        """Processes measured joints, and reports targets that are late while the robot moves."""
        self.take_polled()
        if self._moving and self._silence() > TARGET_TIMEOUT_S:
            self._moving = False
            text = "no foot_targets for {seconds:g} s while moving: the robot holds; has gait_planner ended, or is the "
            text += "computer overloaded?"
            self.report("late", ReportLevel.WARNING, Statement("foot_targets_silent", text, seconds=TARGET_TIMEOUT_S))

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        deviation = self.last_report("targets") or "none"
        return {"targets": self._sent, "targets changed": self._changed, "last deviation": deviation}

    def stopped(self) -> bool:
        """Whether the planner has set the feet down and stopped publishing."""
        silence = time.monotonic() - self._last_targets_at
        return silence > (MAX_SILENCE_S if self.count_publishers("foot_targets") else SILENCE_S)


def _seconds(stamp: Time) -> float:
    return messages.nanoseconds(stamp) * 1e-9


def main(args: Sequence[str] | None = None) -> int:
    """Runs the node. Returns the exit code."""
    return run(lambda: create_exclusive_node("inverse_kinematics", InverseKinematicsNode), args)


if __name__ == "__main__":
    sys.exit(main())
