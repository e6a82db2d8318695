# SPDX-License-Identifier: Apache-2.0
"""Joint targets of a learned policy, on the topic policy_targets; how a policy has ended is shown in motion_state."""

from __future__ import annotations

from sensor_msgs.msg import JointState

from hexapod_control.core.motions.motion_player import MotionEnd, MotionOutcome
from hexapod_control.core.motions.motion_topics import as_word
from hexapod_control.core.motions.operator_commands import OperatorCommands
from hexapod_control.core.planner.joint_stream import ENDED
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.refusal import Refusal
from hexapod_control.nodes.gait_planner.motion_input import MotionInput
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import COMMAND
from hexapod_control.ros.row_messages import JointLayout

WATCH_PERIOD_S = 0.1


class PolicyInput:
    """Passes joint targets on to the planner. One run of a policy, named by frame_id, begins and ends once."""

    def __init__(self, node: GuardedNode, commands: OperatorCommands, planner: Planner, motions: MotionInput) -> None:
        """`motions` shows and reports the end of a run."""
        self._commands = commands
        self._planner = planner
        self._motions = motions
        self._layout = JointLayout(planner.robot)
        self._run = ""  # that is followed
        self._over = ""  # that has ended: its targets are ignored
        node.create_subscription(JointState, "policy_targets", self.on_targets, COMMAND)
        node.create_timer(WATCH_PERIOD_S, self.watch, clock=node.steady)

    def on_targets(self, message: JointState) -> None:
        """Follows the targets of a run. Raises MessageError."""
        run = as_word(message.header.frame_id)
        joints = self._layout.joints(message)
        self.watch()
        if run == self._over:
            return
        refusal = self._commands.follow_joints(joints, begins=run != self._run)
        self._run = run
        if refusal:
            self._end(refusal)

    def watch(self) -> None:
        """Notices that the run has ended."""
        view = self._planner.view
        if self._run and (view.why_joints_ended or not view.whole_body_move_active):
            self._end(view.why_joints_ended or ENDED)

    def _end(self, refusal: Refusal) -> None:
        self._over, self._run = self._run, ""
        if refusal is ENDED:
            self._motions.show(MotionOutcome(self._over, MotionEnd.CANCELLED, 0.0, refusal))
        else:
            self._motions.refuse(self._over, refusal)
