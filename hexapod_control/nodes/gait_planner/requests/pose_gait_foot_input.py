"""Requests for the body pose, the gait and single feet: the topics `body_pose`, `gait` and `foot_command`."""

from __future__ import annotations

from geometry_msgs.msg import Pose
from sensor_msgs.msg import MultiDOFJointState
from std_msgs.msg import String

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.motions.operator_commands import OperatorCommands
from hexapod_control.core.names import quoted
from hexapod_control.core.robot import Robot
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import COMMAND
from hexapod_control.ros.row_messages import FootLayout, MessageError


class PoseGaitFootInput:
    """Passes messages on to the operator commands and reports refusals. Lives as long as its node."""

    def __init__(self, node: GuardedNode, commands: OperatorCommands, robot: Robot, frame: str) -> None:
        """`frame` is the frame id of base_link, with its prefix."""
        self._node, self._commands, self._frame = node, commands, frame
        self._feet = FootLayout(robot)
        node.create_subscription(Pose, "body_pose", self.on_body_pose, COMMAND)
        node.create_subscription(String, "gait", self.on_gait, COMMAND)
        node.create_subscription(MultiDOFJointState, "foot_command", self.on_foot_command, COMMAND)

    def on_body_pose(self, message: Pose) -> None:
        """Requests a body pose, clamped to the reach of the legs."""
        pose = messages.body_pose(message)
        refusal = self._commands.request_pose(pose)
        if refusal:
            self._node.report("pose", ReportLevel.WARNING, f"body_pose {_pose_text(pose)}: {refusal}")

    def on_gait(self, message: String) -> None:
        """Requests a gait by name."""
        refusal = self._commands.change_gait(message.data)
        if refusal:
            self._node.report("gait", ReportLevel.WARNING, f"gait refused: {refusal}")

    def on_foot_command(self, message: MultiDOFJointState) -> None:
        """Requests positions of single feet; if one is refused, none moves. Without any, guided feet come down."""
        if message.header.frame_id not in ("", self._frame):
            text = f"its frame is {quoted(message.header.frame_id)}; send points in {self._frame}"
            raise MessageError(text)
        refusal = self._commands.guide_feet(self._feet.positions(message))
        if refusal:
            self._node.report("foot", ReportLevel.WARNING, f"foot_command refused: {refusal}")


def _pose_text(pose: BodyPose) -> str:
    return "(" + ", ".join(f"{name} {value:.3g}" for name, value in pose._asdict().items() if value) + ")"
