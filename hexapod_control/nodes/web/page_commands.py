# SPDX-License-Identifier: Apache-2.0
"""Carries out commands of the page: publishes messages and calls services.

The dead-man of the velocity is checked here, in steady time, so that it works even if the server's thread hangs.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from geometry_msgs.msg import Pose as RosPose
from geometry_msgs.msg import Transform, TwistStamped, Vector3, Wrench
from geometry_msgs.msg import Twist as TwistMessage
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.duration import Duration
from rclpy.task import Future
from sensor_msgs.msg import MultiDOFJointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.motions.motion_approval import ANSWER_TOPIC, answer_text
from hexapod_control.core.names import foot_name, quoted
from hexapod_control.nodes.announcements.drive_announcement import DriveAnnouncement
from hexapod_control.nodes.web.robot_feed import RobotFeed
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.operator_requests import STEPS
from hexapod_control.ros.qos import COMMAND, DELIVERY_TIME_S, EVENTS
from hexapod_control.web.protocol import (
    CANCEL_CALIBRATION,
    HARDWARE,
    REQUESTS,
    RESTART,
    SHUTDOWN,
    DriveMessage,
    FootMessage,
    GaitMessage,
    LegMessage,
    LiftMessage,
    LimitsMessage,
    PermissionMessage,
    PlayMessage,
    PoseMessage,
    PushMessage,
    RequestMessage,
    SpeedMessage,
    WorldMessage,
)
from hexapod_control.web.sessions.client_sessions import DEAD_MAN_S, Forward

START_SPEED = 0.5  # share of the maximum
PERIOD_S = 0.05  # between two velocities
FINAL_ZEROS = 10  # zero velocities sent after the last motion; then other sources may drive
MAX_RESPONSE_TIME_S = 3.0  # time limit for the response of a service
SIMULATOR = "mujoco_sim"
PLANNER = "gait_planner"
RENAMED = {  # services by request, where they have another name
    "reset_world": f"{SIMULATOR}/reset_world",
    CANCEL_CALIBRATION: "servo_driver/calibration/cancel",
}
SERVICE_OWNERS = {
    **{
        name: owner
        for name, owner in REQUESTS.items()
        if name not in (*RENAMED, RESTART, SHUTDOWN) and len(STEPS.get(name, (name,))) == 1
    },
    "reset_fault": HARDWARE,
    f"{PLANNER}/set_parameters": PLANNER,
    **{service: REQUESTS[name] for name, service in RENAMED.items()},
    f"{SIMULATOR}/set_parameters": SIMULATOR,
}


class PendingCall(NamedTuple):
    """A service call without a response yet; `Any`: clients and requests have no common base."""

    name: str
    client: Any
    request: Any
    future: Future
    page: int
    since: float  # [s] steady time


class PageCommands:
    """Publishers and service clients of the node; `execute` runs a command of the page."""

    def __init__(
        self, node: GuardedNode, feed: RobotFeed, send: Callable[[int, str, Mapping[str, Any]], None], stamped: bool
    ) -> None:
        """`send(client, kind, fields)` sends a message to a page."""
        self._node = node
        self._feed = feed
        self._reply = send
        self._stamped = stamped
        self._drive = DriveMessage(False)
        self._until = 0.0
        self._remaining_zeros = 0
        self._ended = False
        self.speed = START_SPEED  # of all pages, as a share of the maximum
        create = node.create_publisher
        self._velocity = create(TwistStamped if stamped else TwistMessage, "cmd_vel", COMMAND)
        self._announcement = DriveAnnouncement(node, "tablet")
        self._pose = create(RosPose, "body_pose", COMMAND)
        self._foot = create(MultiDOFJointState, "foot_command", COMMAND)
        self._gait = create(String, "gait", COMMAND)
        self._motion = create(String, "motion", COMMAND)
        self._permission = create(String, ANSWER_TOPIC, EVENTS)
        self._lose_leg, self._return_leg = (create(String, topic, COMMAND) for topic in ("lose_leg", "return_leg"))
        self._leg_page = 0  # the last page that requested a change of legs
        node.create_subscription(String, "leg_refused", self.on_leg_refused, EVENTS)
        self._push = create(Wrench, f"{SIMULATOR}/push", COMMAND)
        self._clients = {name: node.create_client(_service_type(name), name) for name in SERVICE_OWNERS}
        self._estop = node.threads.create_urgent_client(SetBool, "estop")
        self._waiting: list[PendingCall] = []
        self._timer = node.create_timer(PERIOD_S, self._repeat, clock=node.steady)
        self._timer.cancel()  # runs while a page drives
        self._executions = self._by_message()

    def execute(self, command: Forward) -> None:
        """Carries out a command; ClientSessions has checked that the client may send it."""
        if isinstance(command.body, DriveMessage):
            self._take_velocity(command.body, command.until)
        elif type(command.body) in self._executions:
            self._executions[type(command.body)](command.client, command.body)

    def _by_message(self) -> Mapping[type, Callable[[int, Any], None]]:
        """What carries out the command of a page, by the class of its message."""
        return {
            PoseMessage: lambda page, body: self._pose.publish(messages.body_pose_message(BodyPose(**asdict(body)))),
            FootMessage: lambda page, body: self._foot.publish(_foot_command(body)),
            GaitMessage: lambda page, body: self._gait.publish(messages.text(body.name)),
            LegMessage: self._change_leg,
            PlayMessage: lambda page, body: self._play(page, body.name),
            PermissionMessage: lambda page, body: self._permission.publish(
                messages.text(answer_text(body.request, allowed=body.allowed))
            ),
            PushMessage: lambda page, body: self._push.publish(Wrench(force=Vector3(x=body.x, y=body.y))),
            WorldMessage: lambda page, body: self._set(page, SIMULATOR, asdict(body)),
            LiftMessage: lambda page, body: self._set(page, PLANNER, {"lift_scale": body.share}),
            LimitsMessage: lambda page, body: self._set(page, PLANNER, _top_speeds(body)),
            SpeedMessage: self._take_speed,
            RequestMessage: lambda page, body: self._request(page, body.what),
        }

    def _take_speed(self, page: int, body: SpeedMessage) -> None:
        self.speed = body.share

    def _change_leg(self, page: int, body: LegMessage) -> None:
        """Requests that a leg is lost or returned; a refusal is sent to this page."""
        self._leg_page = page
        (self._lose_leg if body.lost else self._return_leg).publish(messages.text(body.name))

    def on_leg_refused(self, message: String) -> None:
        """Sends the reason of a refusal to the last page that requested a change of legs."""
        self._answer(self._leg_page, "leg", False, message.data)

    def play(self, request: String) -> None:
        """Requests a motion whose content is in the message."""
        self._motion.publish(request)

    def _play(self, page: int, name: str) -> None:
        """Requests a motion from the planner's list; an empty name ends the present one."""
        if name and name not in self._feed.motions:
            known = ", ".join(self._feed.motions) or "none: gait_planner is not running"
            self._answer(page, "motion", False, f"{quoted(name)} is not a known motion, known: {known}")
        else:
            self._motion.publish(messages.text(name))

    # --- velocity -----------------------------------------------------------------------------------------------

    def _take_velocity(self, drive: DriveMessage, until: float) -> None:
        if drive.moves and not self._ended:
            self._drive = drive
            self._until = until
            self._remaining_zeros = FINAL_ZEROS
            self._announcement.announce()
            if self._timer.is_canceled():
                self._timer.reset()
            self._send(self._twist())
        else:
            self.halt()

    def follow(self, twist: Twist) -> None:
        """Takes a velocity [m/s, m/s, rad/s] of a route; it expires like one of a stick."""
        shares = (value / limit if limit > 0.0 else 0.0 for value, limit in zip(twist, self._feed.limits, strict=True))
        self._take_velocity(DriveMessage(True, *shares), time.monotonic() + DEAD_MAN_S)

    @property
    def driving(self) -> bool:
        """True while velocities are sent: during a motion and for the final zeros."""
        return self._remaining_zeros > 0

    def halt(self) -> None:
        """Sends a zero at once, if a velocity was sent before."""
        self._drive = DriveMessage(False)
        self._until = 0.0
        if self._remaining_zeros:
            self._send(ZERO)

    def end(self) -> None:
        """Sends a last zero and waits for its delivery; later velocities are ignored."""
        self._ended = True
        self.halt()
        self._velocity.wait_for_all_acked(Duration(seconds=DELIVERY_TIME_S))

    def _twist(self) -> Twist:
        """The shares of the limits as velocities; zero until the limits are known."""
        drive = self._drive
        limits = self._feed.limits
        return Twist(drive.vx * limits.vx, drive.vy * limits.vy, drive.wz * limits.wz)

    def _repeat(self) -> None:
        if time.monotonic() < self._until:
            self._send(self._twist())
        elif self._remaining_zeros:
            self._remaining_zeros -= 1
            self._send(ZERO)
        else:
            self._timer.cancel()

    def _send(self, twist: Twist) -> None:
        if self._stamped:
            self._velocity.publish(messages.twist_stamped_message(twist, self._node.get_clock().now().to_msg()))
        else:
            self._velocity.publish(messages.twist_message(twist))

    # --- services -------------------------------------------------------------------------------------------------

    def _request(self, page: int, name: str) -> None:
        if name == "estop":  # the torque is off already, by `press_estop`
            self._call(page, "stop", Trigger.Request())
        elif name in RENAMED:
            self._call(page, RENAMED[name], Trigger.Request())
        else:
            self._call_in_turn(page, STEPS.get(name, ((name, Trigger.Request()),)))

    def press_estop(self, page: int) -> None:
        """Calls estop. Any thread may call this: the server does so at once, whatever the executor is waiting for."""
        if not self._estop.service_is_ready():
            self._answer(page, "estop", False, f"{SERVICE_OWNERS['estop']} is not running")
            return
        future = self._estop.call_async(SetBool.Request(data=True))
        waiting = PendingCall("estop", self._estop, None, future, page, time.monotonic())
        self._waiting.append(waiting)
        future.add_done_callback(lambda future: self._take_response(waiting, None))

    def _call_in_turn(self, page: int, steps: Sequence[tuple[str, Any]]) -> None:
        (name, request), *others = steps
        self._call(page, name, request, (lambda: self._call_in_turn(page, others)) if others else None)

    def _set(self, page: int, node: str, values: Mapping[str, Any]) -> None:
        request = SetParameters.Request()
        for name, value in values.items():
            if value is not None:
                request.parameters.append(ParameterMessage(name=name, value=_value(value)))
        self._call(page, f"{node}/set_parameters", request)

    def _call(self, page: int, name: str, request: Any, then: Callable[[], None] | None = None) -> None:
        """Calls a service, and `then` if it succeeds. A request that still waits for its response is not repeated."""
        client = self._clients[name]
        now = time.monotonic()
        if (name, request) in [(waiting.name, waiting.request) for waiting in self._waiting]:
            return
        if not client.service_is_ready():
            self._answer(page, name, False, f"{SERVICE_OWNERS[name]} is not running")
            return
        future = client.call_async(request)
        waiting = PendingCall(name, client, request, future, page, now)
        self._waiting.append(waiting)
        take = self._node.guarded_event(lambda: self._take_response(waiting, then))
        future.add_done_callback(take)

    def _take_response(self, waiting: PendingCall, then: Callable[[], None] | None) -> None:
        with contextlib.suppress(ValueError):  # it was overdue
            self._waiting.remove(waiting)
        ok, text = _outcome(waiting.future.result())
        self._answer(waiting.page, waiting.name, ok, text)
        if ok and then is not None:
            then()

    def _answer(self, page: int, name: str, ok: bool, text: str) -> None:
        self._reply(page, "answer", {"what": name.split("/")[-1], "ok": ok, "text": text})

    def watch(self) -> None:
        """Ends calls whose response is overdue; call it regularly."""
        now = time.monotonic()
        for waiting in [waiting for waiting in self._waiting if now - waiting.since > MAX_RESPONSE_TIME_S]:
            with contextlib.suppress(ValueError):  # the response has just arrived, in another thread
                self._waiting.remove(waiting)
            waiting.client.remove_pending_request(waiting.future)
            self._answer(waiting.page, waiting.name, False, f"{SERVICE_OWNERS[waiting.name]} does not respond")


def _foot_command(foot: FootMessage) -> MultiDOFJointState:
    message = MultiDOFJointState()
    if foot.leg:
        message.joint_names = [foot_name(foot.leg)]
        message.transforms = [Transform(translation=Vector3(x=foot.x, y=foot.y, z=foot.z))]
    return message


def _top_speeds(limits: LimitsMessage) -> dict[str, float]:
    """The parameters of gait_planner; NaN: what the robot can do."""
    axes = {"linear.x": limits.vx, "linear.y": limits.vy, "angular.z": limits.wz}
    return {
        f"{axis}.{name}_velocity": sign * (speed or math.nan)
        for axis, speed in axes.items()
        for name, sign in (("max", 1.0), ("min", -1.0))
    }


def _service_type(service: str) -> Any:
    if service.endswith("set_parameters"):
        return SetParameters
    return SetBool if service == "estop" else Trigger


def _value(value: float | str) -> ParameterValue:
    if isinstance(value, str):
        return ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=value)
    return ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value)


def _outcome(response: Any) -> tuple[bool, str]:
    """Success and text of a response of SetParameters, SetBool or Trigger."""
    if hasattr(response, "results"):
        refused = [result.reason for result in response.results if not result.successful]
        return not refused, "; ".join(refused) or "done"
    return response.success, response.message
