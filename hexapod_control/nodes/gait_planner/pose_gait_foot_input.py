"""Wishes for the body, the gait and single feet; each of them ends a motion that is played."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import Pose
from sensor_msgs.msg import MultiDOFJointState
from std_msgs.msg import String

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.robot import Vector
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import COMMAND


class PoseGaitFootInput:
    """The topics `body_pose`, `gait` and `foot_command`."""

    def __init__(self, node: GuardedNode, planner: Planner, end: Callable[[], None], frame: str) -> None:
        """`end` ends a motion; `frame` is the name of base_link."""
        self._node, self._planner, self._end, self._frame = node, planner, end, frame
        self._feet = messages.FootLayout(planner.robot)
        node.create_subscription(Pose, "body_pose", self.on_body_pose, COMMAND)
        node.create_subscription(String, "gait", self.on_gait, COMMAND)
        node.create_subscription(MultiDOFJointState, "foot_command", self.on_foot_command, COMMAND)

    def on_body_pose(self, message: Any) -> None:
        """A wish for the body's pose, clamped to what the legs reach."""
        pose = messages.body_pose(message)
        self._end()
        refusal = self._planner.pose(pose)
        if refusal:
            self._node.report("pose", ReportLevel.WARNING, f"body_pose {_spelt(pose)} is {refusal}")

    def on_gait(self, message: Any) -> None:
        """Another gait by name."""
        self._end()
        refusal = self._planner.gait(message.data)
        if refusal:
            self._node.report("gait", ReportLevel.WARNING, f"gait refused: {refusal}")

    def on_foot_command(self, message: Any) -> None:
        """Points for single feet, all of them or none; without any the feet in the air come down."""
        if message.header.frame_id not in ("", self._frame):
            text = f"its frame is {message.header.frame_id!r}; send points in {self._frame}"
            raise messages.MessageError(text)
        points = self._feet.positions(message)
        self._end()
        if not points:
            self._planner.release()
            return
        refusal = _led(self._planner.copy(), points) or _led(self._planner, points)
        if refusal:
            self._node.report("foot", ReportLevel.WARNING, f"foot_command refused: {refusal}")


def _led(planner: Planner, points: dict[str, Vector]) -> str:
    """Leads feet of legs to points [m, base_link]. Returns the first refusal, or nothing."""
    return next(filter(None, (planner.reach(leg, point) for leg, point in points.items())), "")


def _spelt(pose: BodyPose) -> str:
    return "(" + ", ".join(f"{name} {value:.3g}" for name, value in pose._asdict().items() if value) + ")"
