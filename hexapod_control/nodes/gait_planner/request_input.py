# SPDX-License-Identifier: Apache-2.0
"""Requests other than velocities and motions: posture, body pose, gait, feet, lost legs, speed share, and pauses.

A request is accepted by what the planner knows. Whether the robot follows also depends on inverse_kinematics and the
driver: `RequestWatch` reports why an accepted request changes nothing.

The machine pauses by itself because of a fault that can end without a person. The robot comes to rest at the start of a
pause. Once all causes have ended, velocities are followed again, and standing up or sitting down continues; only a stop
of an operator has to be answered with a zero command or a new request.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Pose
from rclpy.publisher import Publisher
from sensor_msgs.msg import MultiDOFJointState
from std_msgs.msg import Float64, String
from std_srvs.srv import Trigger

from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.motions.operator_commands import OperatorCommands
from hexapod_control.core.names import HARDWARE_NODES, WALKS_WITHOUT, enumerated, quoted, shortened
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.core.refusal import Refusal, Statement
from hexapod_control.core.robot import Robot
from hexapod_control.nodes.gait_planner.planner_output import PlannerOutput
from hexapod_control.nodes.gait_planner.velocity_filter import Ignored, VelocityFilter
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.message_types import message_class
from hexapod_control.ros.qos import COMMAND, EVENTS, LATCHED, SAMPLES
from hexapod_control.ros.row_messages import FootLayout, MessageError
from hexapod_control.ros.started_files import keep_section

PATIENCE_S = 2.0  # of the control clock, after which a request without any effect is reported
MOVED_RAD = 0.02  # by which a joint has to turn for an effect
MAX_REPORT_AGE_S = 2.5  # of a report of another node
CHAIN = ("inverse_kinematics", *HARDWARE_NODES)  # nodes between the planner and the joints, in this order
ENDS = {"stand": (RobotState.STANDING,), "recover": (RobotState.STANDING,), "sit": (RobotState.SITTING,)}
MIN_SPEED_SHARE = 0.01  # a smaller share counts as zero


class PostureServices:
    """Serves standing up, sitting down and recovery. Lives as long as its node."""

    def __init__(
        self,
        node: GuardedNode,
        commands: OperatorCommands,
        block: Callable[[], None],
        accepted: Callable[[str], None] = lambda request: None,
    ) -> None:
        """`block` makes the node ignore velocity commands until a zero or a silence; `accepted` gets every request."""
        self._node = node
        self._commands = commands
        self._block = block
        self._accepted = accepted
        node.create_service(Trigger, "stand", self.on_stand)
        node.create_service(Trigger, "sit", self.on_sit)
        node.create_service(Trigger, "recover", self.on_recover)

    def on_stand(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Stands up, or sets down the feet that are in the air."""
        return self._answer(response, "stand", "standing up")

    def on_sit(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Sits down; velocity commands are accepted again after a zero or a silence."""
        return self._answer(response, "sit", "sitting down")

    def on_recover(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Stands up after a fall, or continues after the robot was lifted."""
        return self._answer(response, "recover", "recovering")

    def begin(self, request: str) -> Refusal | None:
        """Passes on one of the requests in ENDS. Returns why it is refused."""
        commands = self._commands
        refusal = commands.sit() if request == "sit" else commands.stand(after_fall=request == "recover")
        if not refusal:
            if request == "sit":
                self._block()
            self._accepted(request)
        return refusal

    def _answer(self, response: Trigger.Response, request: str, doing: str) -> Trigger.Response:
        return answer(self._node, response, self.begin(request), f"{doing}, gait_state reports when it is done")


def answer(node: GuardedNode, response: Trigger.Response, refusal: Refusal | None, accepted: str) -> Trigger.Response:
    """Fills the response of a Trigger service; without a refusal it says what was `accepted`."""
    response.success = refusal is None
    response.message = node.in_words(refusal) if refusal else accepted
    return response


class LegInput:
    """Passes requests on to the operator commands, and publishes the lost legs. Lives as long as its node."""

    def __init__(self, node: GuardedNode, commands: OperatorCommands, planner: Planner) -> None:
        """The thread starts with the first request."""
        self._node = node
        self._commands = commands
        self._planner = planner
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="walking_legs")
        self._computing: Future[WalkingLegs] | None = None  # for the newest request
        # the newest request: the leg, and whether it is lost or returns
        self._leg = ""
        self._loses = False
        self._lost_then: tuple[str, ...] = ()  # legs lost when the computation was started
        self._refusals = node.create_publisher(String, "leg_refused", EVENTS)
        self._lost = node.create_publisher(String, "lost_legs", LATCHED)
        self._shown: tuple[str, ...] = ()
        self._lost.publish(messages.text(""))
        node.create_subscription(String, "lose_leg", self.on_lose, COMMAND)
        node.create_subscription(String, "return_leg", self.on_return, COMMAND)

    def on_lose(self, message: String) -> None:
        """Requests that the leg of this name is folded away."""
        self._begin(message.data, lost=True)

    def on_return(self, message: String) -> None:
        """Requests that the folded leg of this name is used again."""
        self._begin(message.data, lost=False)

    def _begin(self, leg: str, *, lost: bool) -> None:
        """Computes the tables of the remaining legs; the request is passed on afterwards."""
        self._leg = leg
        self._loses = lost
        self._compute()

    def _compute(self) -> None:
        self._lost_then = self._planner.view.lost_legs
        robot = self._planner.robot
        others = {*self._lost_then} - {self._leg}
        lost = {*others, self._leg} if self._loses else others
        rows = frozenset(row for row, name in enumerate(robot.leg_names) if name in lost)
        self._computing = self._pool.submit(WalkingLegs.without, robot, rows)

    def watch(self) -> None:
        """Passes a request on when its tables are ready and no leg is being folded; call it every tick."""
        tables = self._computing
        view = self._planner.view
        if tables is not None and tables.done() and not view.changing_legs:
            if view.lost_legs == self._lost_then:
                self._pass_on(tables)
            else:
                self._compute()
        self._show(self._planner.view.lost_legs)

    def _pass_on(self, tables: Future[WalkingLegs]) -> None:
        self._computing = None
        try:
            remaining = tables.result()
        except ValueError as error:  # no gait is stable on the remaining legs
            refusal: Refusal | None = Refusal.of(error)
        else:
            refusal = self._commands.change_leg(self._leg, lost=self._loses, remaining=remaining)
        if refusal:
            refused = Statement("leg_refused", "lose_leg or return_leg refused: {refusal}", refusal=refusal)
            self._node.report("leg", ReportLevel.WARNING, refused)
            self._refusals.publish(messages.text(self._node.in_words(refusal)))

    def _show(self, lost: tuple[str, ...]) -> None:
        if lost != self._shown:
            self._shown = lost
            self._lost.publish(messages.text(",".join(lost)))
            if lost:
                text = "the robot walks without {legs}"
                walks = ReportLevel.WARNING, Statement(WALKS_WITHOUT, text, legs=enumerated(lost))
            else:
                walks = ReportLevel.OK, Statement("walks_on_all", "the robot walks on all legs")
            self._node.report("lost legs", *walks)


class GaitReload:
    """Serves the use of the gaits that are in the robot file now. Lives as long as its node."""

    def __init__(self, node: GuardedNode, planner: Planner, robot: str) -> None:
        """`robot` is the name or path of the robot file; the thread starts with the first request."""
        self._node = node
        self._planner = planner
        self._robot = robot
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gaits")
        self._computing: Future[WalkingLegs] | None = None  # for the newest request
        node.create_service(Trigger, "reload_gaits", self.on_reload)

    def on_reload(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Reads the file, and computes the tables with its gaits unless they are stored."""
        self._computing = self._pool.submit(self._tables)
        accepted = "the gaits of the robot file are offered as soon as the robot is at rest"
        return answer(self._node, response, None, accepted)

    def _tables(self) -> WalkingLegs:
        robot = replace(self._planner.robot, gaits=load(self._robot).robot.gaits)
        tables = WalkingLegs.without(robot, frozenset())
        keep_section(self._robot, "gaits")
        return tables

    def watch(self) -> None:
        """Passes the tables on when they are ready and the change moves nothing; call it every tick."""
        tables = self._computing
        if tables is None or not tables.done() or self._planner.plays_motion:
            return
        view = self._planner.view
        if view.on_feet and not (view.in_neutral_stance and view.body_pose == NEUTRAL):
            return
        try:
            refusal = self._planner.change_gaits(tables.result())
        except ValueError as error:  # the file, or none of its gaits is stable
            refusal = Refusal.of(error)
            self._computing = None
            refused = Statement("gaits_refused", "reload_gaits refused: {refusal}", refusal=refusal)
            self._node.report("gaits", ReportLevel.WARNING, refused)
        if refusal is None:
            self._computing = None


class _Watched(NamedTuple):
    """An accepted request, and the robot at that time."""

    name: str
    accepted_at: float  # [s] of the control clock
    state: RobotState
    joints: Array | None  # (n, 3) [rad] measured


class RequestWatch:
    """Watches the newest accepted request. Call `watch` in every tick.

    `joints` are the newest measured ones, `armed` is whether the torque is on.
    """

    def __init__(self, node: GuardedNode, planner: Planner, output: PlannerOutput) -> None:
        self._node = node
        self._planner = planner
        self._output = output
        self._request: _Watched | None = None
        self._reports: dict[str, tuple[str, float]] = {}  # text by name of a node in CHAIN, with its steady time [s]
        self.armed = True
        self.joints: Array | None = None  # (n, 3) [rad]
        node.create_subscription(DiagnosticArray, "/diagnostics", self.on_diagnostics, SAMPLES)

    def on_diagnostics(self, message: DiagnosticArray) -> None:
        """Stores what the nodes in CHAIN of this robot report."""
        namespace = self._node.get_namespace().rstrip("/")
        for status in message.status:
            place, _, name = status.name.rpartition("/")
            if place == namespace and name in CHAIN:
                text = "" if status.level == DiagnosticStatus.OK else status.message
                self._reports[name] = text, time.monotonic()

    def begin(self, request: str) -> None:
        """Watches an accepted request, and no longer the one before."""
        self._request = _Watched(request, self._node.control_time, self._planner.state, self.joints)

    def watch(self) -> None:
        """Reports a request that changes nothing. One movement of a joint is enough: a walk may end where it began."""
        request = self._request
        plan = self._output.last
        if request is None or plan is None:
            return
        if self._is_done(request, plan) or self._has_moved(request):
            self._request = None
        elif self._node.control_time - request.accepted_at >= PATIENCE_S:
            self._request = None
            text = "{request} was accepted {seconds:g} s ago, but the robot does not move: {cause}"
            values = {"request": request.name, "seconds": PATIENCE_S, "cause": self._cause(plan)}
            self._node.report("request without effect", ReportLevel.ERROR, Statement("no_effect", text, **values))

    def _is_done(self, request: _Watched, plan: TickPlan) -> bool:
        return plan.at_rest and self._planner.state in ENDS.get(request.name, (self._planner.state,))

    def _has_moved(self, request: _Watched) -> bool:
        if request.joints is None or self.joints is None:
            return self._planner.state is not request.state
        return bool(abs(self.joints - request.joints).max() > MOVED_RAD)

    def _cause(self, plan: TickPlan) -> Statement:
        """Why nothing moves: what the nodes after the planner report, in their order, else what the planner knows."""
        if not self.armed:
            return Statement("torque_is_off", "the torque is off: run hexapod arm")
        now = time.monotonic()
        fresh = {name: text for name, (text, at) in self._reports.items() if text and now - at < MAX_REPORT_AGE_S}
        for name in CHAIN:
            if name in fresh:
                return Statement("node_reports", "{node} reports: {report}", node=name, report=fresh[name])
        if plan.unreached is not None:
            leg, reason, excess = plan.unreached
            text = "the target of the foot of {leg} is {where}: run hexapod sit or hexapod stand again"
            return Statement("target_no_reach", text, leg=leg, where=reason.describe(excess))
        if plan.blocked is not None and math.isfinite(plan.blocked.distance):
            text = "two legs are in each other's way: run hexapod disarm and part them by hand"
            return Statement("two_legs_in_way", text)
        if self.joints is None:
            return Statement("no_joint_states", "no joint_states arrive: start the driver")
        text = "the joints do not follow their targets: do inverse_kinematics and the driver run, and is it armed?"
        return Statement("joints_no_follow", text)


class PoseGaitFootInput:
    """Passes messages on to the operator commands and reports refusals. Lives as long as its node."""

    def __init__(self, node: GuardedNode, commands: OperatorCommands, robot: Robot, frame: str) -> None:
        """`frame` is the frame id of base_link, with its prefix."""
        self._node = node
        self._commands = commands
        self._frame = frame
        self._feet = FootLayout(robot)
        node.create_subscription(Pose, "body_pose", self.on_body_pose, COMMAND)
        node.create_subscription(String, "gait", self.on_gait, COMMAND)
        node.create_subscription(MultiDOFJointState, "foot_command", self.on_foot_command, COMMAND)

    def on_body_pose(self, message: Pose) -> None:
        """Requests a body pose, clamped to the reach of the legs."""
        pose = messages.body_pose(message)
        refusal = self._commands.request_pose(pose)
        if refusal:
            text = "body_pose {pose}: {refusal}"
            said = Statement("pose_refused", text, pose=_pose_text(pose), refusal=refusal)
            self._node.report("pose", ReportLevel.WARNING, said)

    def on_gait(self, message: String) -> None:
        """Requests a gait by name."""
        refusal = self._commands.change_gait(message.data)
        if refusal:
            refused = Statement("gait_refused", "gait refused: {refusal}", refusal=refusal)
            self._node.report("gait", ReportLevel.WARNING, refused)

    def on_foot_command(self, message: MultiDOFJointState) -> None:
        """Requests positions of single feet; if one is refused, none moves. Without any, guided feet come down."""
        if message.header.frame_id not in ("", self._frame):
            text = f"its frame is {quoted(message.header.frame_id)}; send points in {self._frame}"
            raise MessageError(text)
        refusal = self._commands.guide_feet(self._feet.positions(message))
        if refusal:
            refused = Statement("foot_refused", "foot_command refused: {refusal}", refusal=refusal)
            self._node.report("foot", ReportLevel.WARNING, refused)


def _pose_text(pose: BodyPose) -> str:
    return "(" + ", ".join(f"{name} {value:.3g}" for name, value in pose._asdict().items() if value) + ")"


SPEED_LIMIT = message_class("nav2_msgs/msg/SpeedLimit")  # None where that package is not installed
LEAST_PERCENT = 1.0  # of a SpeedLimit, in which 0 means that there is none


class SpeedDerating:
    """Passes the share to the planner, which slows the walk and reduces `velocity_limits`, and to Nav2.

    It is the least one of what the servos and the ground allow.
    """

    def __init__(self, node: GuardedNode, planner: Planner) -> None:
        """The share of the servos is 1 until a message arrives."""
        self._servos = 1.0
        self._ground = 1.0
        self._node = node
        self._planner = planner
        node.create_subscription(Float64, "speed_share", self.on_speed_share, LATCHED)
        self._limit: Publisher | None = None  # of SpeedLimit, from when Nav2 listens on

    @property
    def value(self) -> float:
        """The share."""
        return min(self._servos, self._ground)

    def on_speed_share(self, message: Float64) -> None:
        """Applies a new share of the servos, clamped to 0 to 1. Raises MessageError if it is not finite."""
        if not math.isfinite(message.data):
            raise MessageError(f"must be a number from 0 to 1, is {message.data}")
        share = min(message.data, 1.0) if message.data >= MIN_SPEED_SHARE else 0.0
        if share != self._servos:
            level = ReportLevel.WARNING if share < 1.0 else ReportLevel.OK
            said = Statement("servos_allow", "the servos allow {share:.0f} % of the speed", share=100 * share)
            self._node.report("speed_share", level, said)
        self._servos = share
        self._apply()

    def on_ground(self, share: float) -> None:
        """Applies the share that the ground around the robot allows, in every tick."""
        if share != self._ground:
            self._ground = share
            self._apply()

    def _apply(self) -> None:
        self._planner.change_settings(speed_share=self.value)
        self._publish()

    def every_second(self) -> None:
        """Publishes the share for a controller of Nav2 that has been started later, too."""
        if self._limit is None and SPEED_LIMIT is not None and self._node.count_subscribers("speed_limit"):
            self._limit = self._node.create_publisher(SPEED_LIMIT, "speed_limit", COMMAND)
        self._publish()

    def _publish(self) -> None:
        if self._limit is not None:
            message = SPEED_LIMIT(percentage=True, speed_limit=max(100.0 * self.value, LEAST_PERCENT))
            message.header.stamp = self._node.get_clock().now().to_msg()
            self._limit.publish(message)


TOPIC = "pause"
REQUEST_LIFE_S = 2.5  # of a message of the driver, which repeats it every second as long as the cause lasts
FAILURE_PAUSE_S = 2.0  # after an exception
MAX_REASON = 300  # characters of a reason that are shown


class Pauses:
    """The present pauses. Lives as long as its node; call `watch` regularly."""

    def __init__(
        self, node: GuardedNode, commands: OperatorCommands, planner: Planner, velocities: VelocityFilter
    ) -> None:
        """`velocities` are ignored while a pause lasts."""
        self._node = node
        self._commands = commands
        self._planner = planner
        self._velocities = velocities
        self._ends: dict[str, float] = {}  # [s] steady time, by cause
        node.create_subscription(String, TOPIC, self.on_pause, EVENTS)

    def on_pause(self, message: String) -> None:
        """Handles the topic `pause`: why the sender needs the robot to stand still; empty once it does not."""
        if message.data:
            self.begin(TOPIC, shortened(message.data, MAX_REASON), REQUEST_LIFE_S)
        else:
            self._ends.pop(TOPIC, None)
            self.watch()

    def begin(self, cause: str, reason: str | Statement, seconds: float) -> None:
        """Brings the robot to rest for `seconds`, or for longer if it pauses already; `reason` is reported."""
        self._ends[cause] = time.monotonic() + seconds
        view = self._planner.view
        # During a pause the robot may still sit down; and a stop would abandon the change of a leg.
        if not (Ignored.PAUSE in self._velocities.ignored and (view.changing_legs or view.lying_down)):
            self._commands.interrupt()
        self._velocities.pause()
        said = Statement("pauses", "the robot pauses until this has ended: {reason}", reason=reason)
        self._node.report("pause", ReportLevel.WARNING, said)

    def watch(self) -> None:
        """Ends the pauses whose time is over, and continues what they interrupted."""
        now = time.monotonic()
        self._ends = {cause: end for cause, end in self._ends.items() if now < end}
        if Ignored.PAUSE in self._velocities.ignored and not self._ends:
            self._velocities.resume()
            next_step = "velocities are followed again"
            if self._velocities.ignored:
                next_step = "after the stop, send a zero command first"
            elif not self._planner.view.on_feet:  # after an E-STOP, for instance
                next_step = f"the state of the robot is {self._planner.state.value}"
            self._node.withdraw("pause")
            self._node.report("pause end", ReportLevel.OK, f"the pause has ended: {next_step}")
            self._commands.resume()
