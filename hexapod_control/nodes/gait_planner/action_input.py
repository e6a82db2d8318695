# SPDX-License-Identifier: Apache-2.0
"""Actions: postures, guided feet and motions, with feedback, result and cancel.

They are offered where the package hexapod_msgs is installed. Each action has one goal at a time, which a newer one
replaces. A goal that the robot refuses is accepted and aborted at once, as only a result can say why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from geometry_msgs.msg import Transform, Vector3
from rclpy.action.server import ActionServer, CancelResponse
from rclpy.task import Future
from sensor_msgs.msg import MultiDOFJointState

from hexapod_control.core.motions.motion_player import MotionEnd, MotionPlayer
from hexapod_control.core.motions.motion_steps import MotionError
from hexapod_control.core.motions.motion_topics import REHEARSE, MotionRequest
from hexapod_control.core.motions.operator_commands import OperatorCommands
from hexapod_control.core.motions.operator_goals import FeetGoal, GoalEnd, OperatorGoal, PostureGoal
from hexapod_control.core.names import quoted
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import TickPlan
from hexapod_control.core.refusal import Refusal
from hexapod_control.nodes.gait_planner.motion_input import MotionInput
from hexapod_control.nodes.gait_planner.request_input import ENDS, PostureServices
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.message_types import action_class
from hexapod_control.ros.row_messages import FootLayout, MessageError

FEEDBACK_PERIOD_S = 0.2
RESULT_TIME_S = 60  # for which the result of a goal can be asked for
REPLACED = Refusal("goal_replaced", "a newer goal of this action has replaced it")
ENDING = Refusal("goal_ending", "gait_planner ends")

Begun = tuple[OperatorGoal, Callable[[TickPlan], Mapping[str, object]]]
"""A goal, and the fields of its feedback after a tick."""


class MotionGoal:
    """A motion that is read, rehearsed, waits and plays, to its end."""

    def __init__(self, motions: MotionInput, commands: OperatorCommands, player: MotionPlayer, title: str) -> None:
        """Follows a request that has been accepted; `title` is that of the request."""
        self._motions = motions
        self._commands = commands
        self._player = player
        self._title = title

    @property
    def _names(self) -> tuple[str, ...]:
        """The names that it has before and after its file is read."""
        title, name = self._motions.read_as
        return (self._title, name) if title == self._title else (self._title,)

    def end(self, plan: TickPlan, dt: float) -> GoalEnd | None:
        """A motion that neither plays nor waits, and has no outcome, was replaced by another one."""
        names = self._names
        for outcome in self._motions.ended:
            if outcome.name in names:
                cancelled = Refusal("motion_cancelled", "another request, a stop or a fault has ended the motion")
                return GoalEnd(None if outcome.end is MotionEnd.DONE else outcome.reason or cancelled)
        present = (self._player.name, self._player.waiting, self._commands.rehearsing)
        return None if any(name in present for name in names) else GoalEnd(REPLACED)

    def cancel(self) -> None:
        """Ends the present motion, as the service cancel_motion does."""
        self._commands.end_motion()

    def feedback(self, plan: TickPlan) -> Mapping[str, object]:
        """The step that plays now."""
        if self._player.name in self._names:
            return {"phase": self._player.phase, "progress": self._player.progress}
        return {"phase": REHEARSE, "progress": 0.0}


class _Server:
    """Serves one action."""

    def __init__(self, node: GuardedNode, kind: Any, name: str, begin: Callable[[Any], Begun | Refusal]) -> None:
        self._type = kind
        self._node = node
        self._begin = begin
        self._handle: Any = None  # of the present goal
        self._result: Future | None = None
        self._goal: Begun | None = None  # None: none, or one that the robot gives up
        self._time = 0.0  # [s] since the last feedback
        self._cancelled = False
        self._server = ActionServer(
            node,
            self._type,
            name,
            self._execute,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
            result_timeout=RESULT_TIME_S,
        )
        node.closing.callback(self._server.destroy)

    async def _execute(self, handle: Any) -> Any:
        begun = self._begun(handle.request)
        if isinstance(begun, Refusal):
            handle.abort()
            return self._type.Result(message=str(begun))
        self.abandon(REPLACED)
        self._handle = handle
        self._goal = begun
        self._cancelled = False
        self._time = FEEDBACK_PERIOD_S
        self._result = Future()
        return await self._result

    def _begun(self, request: Any) -> Begun | Refusal:
        try:
            self._node.catch_up()
            return self._begin(request)
        except (MessageError, MotionError) as error:
            return Refusal.of(error)
        except Exception as error:
            self._node.failed("goal", error)
            return Refusal("failed", "{error}", error=str(error))

    def watch(self, plan: TickPlan, dt: float) -> None:
        """Ends the present goal, or publishes its feedback; call it after a tick of `dt` [s]."""
        if self._goal is None:
            return
        goal, feedback = self._goal
        if self._handle.is_cancel_requested and not self._cancelled:
            self._cancelled = True
            goal.cancel()
        end = goal.end(plan, dt)
        if self._cancelled:
            if plan.at_rest:
                self._finish(self._handle.canceled, "cancelled")
        elif end is not None:
            self._finish(self._handle.abort if end.reason else self._handle.succeed, str(end.reason or ""))
        else:
            self._time += dt
            if self._time >= FEEDBACK_PERIOD_S:
                self._time = 0.0
                self._handle.publish_feedback(self._type.Feedback(**feedback(plan)))

    def abandon(self, reason: Refusal) -> None:
        """Aborts the present goal, if there is one, without a request to the robot."""
        if self._goal is not None:
            self._finish(self._handle.canceled if self._cancelled else self._handle.abort, str(reason))

    def _finish(self, change_state: Callable[[], None], message: str) -> None:
        change_state()
        result, self._result, self._goal = self._result, None, None
        if result is not None:
            result.set_result(self._type.Result(message=message))


class ActionInput:
    """Serves the actions, if their types are installed. Lives as long as its node."""

    def __init__(
        self,
        node: GuardedNode,
        commands: OperatorCommands,
        player: MotionPlayer,
        motions: MotionInput,
        posture: PostureServices,
    ) -> None:
        self._commands = commands
        self._planner: Planner = player.planner
        self._player = player
        self._motions = motions
        self._posture = posture
        self._feet = FootLayout(self._planner.robot)
        rows = (
            (action_class("ChangePosture"), "change_posture", self._change_posture),
            (action_class("GuideFeet"), "guide_feet", self._guide_feet),
            (action_class("PlayMotion"), "play_motion", self._play_motion),
        )
        self._servers = tuple(_Server(node, *row) for row in rows if row[0] is not None)

    def watch(self, plan: TickPlan, dt: float) -> None:
        """Follows the goals; call it after a tick of `dt` [s]."""
        for server in self._servers:
            server.watch(plan, dt)

    def close(self) -> None:
        """Aborts all goals, because the node ends."""
        for server in self._servers:
            server.abandon(ENDING)

    def _change_posture(self, request: Any) -> Begun | Refusal:
        if request.posture not in ENDS:
            text = "{posture} is not a posture; send one of {known}"
            return Refusal("unknown_posture", text, posture=quoted(request.posture), known=", ".join(ENDS))
        refusal = self._posture.begin(request.posture)
        goal = PostureGoal(self._commands, self._planner, lies=request.posture == "sit")
        return refusal or (goal, lambda plan: {"state": plan.state.value, "progress": self._planner.view.progress})

    def _guide_feet(self, request: Any) -> Begun | Refusal:
        if not request.legs:
            return Refusal("no_legs", "the goal names no leg")
        if (excess := messages.excess(request)) != "":
            raise MessageError(excess)
        names = [f"{leg}_foot" for leg in request.legs]
        transforms = [Transform(translation=Vector3(x=at.x, y=at.y, z=at.z)) for at in request.points]
        centers = self._feet.positions(MultiDOFJointState(joint_names=names, transforms=transforms))
        refusal = self._commands.guide_feet(centers)
        if refusal:
            return refusal
        goal = FeetGoal(self._commands, self._planner, centers)
        return goal, lambda plan: {"distance": goal.distance}

    def _play_motion(self, request: Any) -> Begun | Refusal:
        motion = MotionRequest.parse(request.motion)
        refusal = self._motions.begin(motion)
        goal = MotionGoal(self._motions, self._commands, self._player, motion.title)
        return refusal or (goal, goal.feedback)
