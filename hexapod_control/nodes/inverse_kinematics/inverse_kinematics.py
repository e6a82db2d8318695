"""inverse_kinematics: feet or joints in, joint targets out, one for one; the only publisher of joint_targets."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from sensor_msgs.msg import JointState, MultiDOFJointState

from hexapod_control.config.robots.robot_file import load
from hexapod_control.nodes.inverse_kinematics.joint_target_filter import FilteredRow, JointTargetFilter
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.node_process import run
from hexapod_control.ros.parameters import RobotSettings, declare
from hexapod_control.ros.qos import COMMAND

PAUSE = 0.5  # [s] without a row after which the next one starts from measured joints
DISCOVERY = 2.0  # [s] from the start in which joint_states may still be on their way
SILENT = 0.25  # [s] without a row: if the planner has gone, this node may too
GONE = 2.0  # [s] without a row: whatever discovery says, the planner has gone


class InverseKinematics(GuardedNode):
    """The node."""

    def __init__(self, **options: Any) -> None:
        """Raises RobotFileError or ParameterError for input it cannot work with."""
        super().__init__("inverse_kinematics", **options)
        robot = load(declare(self, RobotSettings).robot).robot
        self._guard = JointTargetFilter(robot)
        self._feet = messages.FootLayout(robot)
        self._joints = messages.JointLayout(robot)
        self._measured: Any = None  # the newest joint_states, not read before it is needed
        self._measured_at = -math.inf  # [s]
        self._heard = time.monotonic()
        self._rows = self._refused = 0
        self._targets = self.create_publisher(JointState, "joint_targets", COMMAND)
        self.create_subscription(MultiDOFJointState, "foot_targets", self.on_foot_targets, COMMAND)
        self.create_subscription(JointState, "joint_motion", self.on_joint_motion, COMMAND)
        self.create_subscription(JointState, "joint_states", self.on_joint_states, COMMAND)

    def on_joint_states(self, message: Any) -> None:
        """Keeps where the joints are."""
        self._measured, self._measured_at = message, time.monotonic()

    def on_foot_targets(self, message: Any) -> None:
        """A row of feet."""
        feet = self._feet.feet(message)
        if self._ready():
            stamp = message.header.stamp
            self._send(self._guard.feet(feet.positions, feet.velocities, _seconds(stamp)), stamp, "foot_targets")

    def on_joint_motion(self, message: Any) -> None:
        """A row of joints."""
        joints, velocities = self._joints.joints(message), self._joints.velocities(message)
        if self._ready():
            stamp = message.header.stamp
            self._send(self._guard.joints(joints, velocities, _seconds(stamp)), stamp, "joint_motion")

    def _ready(self) -> bool:
        """True if it is known where the joints come from; after a pause they are looked up again."""
        now = time.monotonic()
        fresh = now - self._measured_at < PAUSE
        if fresh and (not self._guard.seeded or now - self._heard > PAUSE):
            self._guard.seed(self._joints.joints(self._measured))
        self._heard = now
        if not self._guard.seeded and now - self.started > DISCOVERY:
            text = "no joint_states yet, so no joint_targets go out: start the driver or the simulator, or arm it"
            self.report("seed", ReportLevel.WARNING, text)
        return self._guard.seeded

    def _send(self, row: FilteredRow, stamp: Any, topic: str) -> None:
        self._targets.publish(self._joints.message(row.joints, row.velocities, stamp))
        self._rows += 1
        if row.complaint:
            self._refused += 1
            self.report("row", ReportLevel.WARNING, f"{topic}: {row.complaint}")

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        complaint = self.last_report("row") or "none"
        return {"rows": self._rows, "rows not followed": self._refused, "last complaint": complaint}

    def stopped(self) -> bool:
        """True when the planner has put the feet down and fallen silent."""
        silence = time.monotonic() - self._heard
        return silence > (GONE if self.count_publishers("foot_targets") else SILENT)


def _seconds(stamp: Any) -> float:
    return messages.nanoseconds(stamp) * 1e-9


def main(args: Sequence[str] | None = None) -> int:
    """Runs the node; returns the exit code."""
    return run(InverseKinematics, args)


if __name__ == "__main__":
    sys.exit(main())
