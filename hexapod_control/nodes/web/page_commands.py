"""What the page asks, as messages and service calls. The dead-man of the velocity counts here, in steady time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from geometry_msgs.msg import Pose as RosPose
from geometry_msgs.msg import Twist as TwistMessage
from geometry_msgs.msg import TwistStamped, Vector3, Wrench
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.duration import Duration
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.nodes.web.robot_feed import RobotFeed
from hexapod_control.ros import messages
from hexapod_control.ros.drive_announcement import DriveAnnouncement
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import COMMAND
from hexapod_control.web.client_sessions import Forward
from hexapod_control.web.protocol import (
    DriveMessage,
    GaitMessage,
    LiftMessage,
    PlayMessage,
    PoseMessage,
    PushMessage,
    RequestMessage,
    WorldMessage,
)

PERIOD = 0.05  # [s] between two velocities
ZEROS = 10  # after the last motion; then others may drive
DELIVERED = 0.3  # [s] the last zero may take
PATIENCE = 3.0  # [s] for an answer
SIMULATOR, PLANNER = "mujoco_sim", "gait_planner"
OWNERS = {
    "stand": PLANNER,
    "sit": PLANNER,
    "stop": PLANNER,
    "cancel_motion": PLANNER,
    "estop": "the hardware node",
    "reset_fault": "the hardware node",
    "arm": "the hardware node",
    f"{PLANNER}/set_parameters": PLANNER,
    f"{SIMULATOR}/reset_world": SIMULATOR,
    f"{SIMULATOR}/set_parameters": SIMULATOR,
}
Then = Callable[[], None]


class PendingCall(NamedTuple):
    """A call without an answer yet."""

    name: str
    request: Any
    future: Any
    page: int
    since: float  # [s] steady time


class PageCommands:
    """All publishers and clients of the node."""

    def __init__(
        self, node: GuardedNode, feed: RobotFeed, tell: Callable[[int, str, Mapping[str, Any]], None], stamped: bool
    ) -> None:
        """`tell(client, kind, fields)` answers a page."""
        self._node, self._feed, self._tell, self._stamped = node, feed, tell, stamped
        self._drive, self._until, self._zeros = DriveMessage(False), 0.0, 0
        self._ended = False
        create = node.create_publisher
        self._velocity = create(TwistStamped if stamped else TwistMessage, "cmd_vel", COMMAND)
        self._announcement = DriveAnnouncement(node, "tablet")
        self._pose = create(RosPose, "body_pose", COMMAND)
        self._gait = create(String, "gait", COMMAND)
        self._motion = create(String, "motion", COMMAND)
        self._push = create(Wrench, f"{SIMULATOR}/push", COMMAND)
        self._clients = {name: node.create_client(_kind(name), name) for name in OWNERS}
        self._waiting: list[PendingCall] = []
        self._timer = node.create_timer(PERIOD, self._beat, clock=node.steady)
        self._timer.cancel()  # runs while somebody drives

    def follow(self, command: Forward) -> None:
        """Does what a page asks; the desk has checked that it may."""
        body = command.body
        if isinstance(body, DriveMessage):
            self._take(body, command.until)
        elif isinstance(body, PoseMessage):
            self._pose.publish(messages.body_pose_message(BodyPose(**asdict(body))))
        elif isinstance(body, GaitMessage):
            self._gait.publish(messages.text(body.name))
        elif isinstance(body, PlayMessage):
            self._motion.publish(messages.text(body.name))
        elif isinstance(body, PushMessage):
            self._push.publish(Wrench(force=Vector3(x=body.x, y=body.y)))
        elif isinstance(body, WorldMessage):
            self._set(command.client, SIMULATOR, asdict(body))
        elif isinstance(body, LiftMessage):
            self._set(command.client, PLANNER, {"lift_scale": body.share})
        elif isinstance(body, RequestMessage):
            self._ask(command.client, body.what)

    @property
    def simulated(self) -> bool:
        """True if there is a simulator to change the world of."""
        return bool(self._clients[f"{SIMULATOR}/reset_world"].service_is_ready())

    # --- velocity -----------------------------------------------------------------------------------------------

    def _take(self, drive: DriveMessage, until: float) -> None:
        if drive.moves and not self._ended:
            self._drive, self._until, self._zeros = drive, until, ZEROS
            self._announcement.announce()
            if self._timer.is_canceled():
                self._timer.reset()
            self._send(self._twist())
        else:
            self.halt()

    def halt(self) -> None:
        """Zero at once, if a motion was sent before."""
        self._drive, self._until = DriveMessage(False), 0.0
        if self._zeros:
            self._send(ZERO)

    def end(self) -> None:
        """A last zero, delivered; no velocity counts any more."""
        self._ended = True
        driving = self._zeros > 0
        self.halt()
        if driving:
            self._velocity.wait_for_all_acked(Duration(seconds=DELIVERED))

    def _twist(self) -> Twist:
        """The shares of the drive as velocities; zero until the robot has said what it can."""
        drive, most = self._drive, self._feed.limits
        return Twist(drive.vx * most.vx, drive.vy * most.vy, drive.wz * most.wz)

    def _beat(self) -> None:
        if time.monotonic() < self._until:
            self._send(self._twist())
        elif self._zeros:
            self._zeros -= 1
            self._send(ZERO)
        else:
            self._timer.cancel()

    def _send(self, twist: Twist) -> None:
        if self._stamped:
            self._velocity.publish(messages.twist_stamped_message(twist, self._node.get_clock().now().to_msg()))
        else:
            self._velocity.publish(messages.twist_message(twist))

    # --- services -------------------------------------------------------------------------------------------------

    def _ask(self, page: int, what: str) -> None:
        if what == "estop":
            self._call(page, "stop", Trigger.Request())
            self._call(page, "estop", SetBool.Request(data=True))
        elif what == "rearm":
            arm = self._step(page, "arm", None)
            reset = self._step(page, "reset_fault", arm)
            self._call(page, "estop", SetBool.Request(data=False), reset)
        elif what == "reset_world":
            self._call(page, f"{SIMULATOR}/reset_world", Trigger.Request())
        else:
            self._call(page, what, Trigger.Request())

    def _step(self, page: int, name: str, then: Then | None) -> Then:
        return lambda: self._call(page, name, Trigger.Request(), then)

    def _set(self, page: int, node: str, values: Mapping[str, Any]) -> None:
        request = SetParameters.Request()
        for name, value in values.items():
            if value is not None:
                request.parameters.append(ParameterMessage(name=name, value=_value(value)))
        self._call(page, f"{node}/set_parameters", request)

    def _call(self, page: int, name: str, request: Any, then: Then | None = None) -> None:
        """Calls a service; `then` follows its success. A request that waits for its answer is not made again."""
        client, now = self._clients[name], time.monotonic()
        if (name, request) in [(waiting.name, waiting.request) for waiting in self._waiting]:
            return
        if not client.service_is_ready():
            self._answer(page, name, False, f"{OWNERS[name]} is not there")
            return
        future = client.call_async(request)
        waiting = PendingCall(name, request, future, page, now)
        self._waiting.append(waiting)

        def done(future: Any) -> None:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            ok, text = _outcome(future.result())
            self._answer(page, name, ok, text)
            if ok and then is not None:
                then()

        future.add_done_callback(lambda future: self._node.guarded_event(lambda: done(future))(None))

    def _answer(self, page: int, name: str, ok: bool, text: str) -> None:
        self._tell(page, "answer", {"what": name.split("/")[-1], "ok": ok, "text": text})

    def watch(self) -> None:
        """Gives up calls that get no answer."""
        now = time.monotonic()
        for waiting in [waiting for waiting in self._waiting if now - waiting.since > PATIENCE]:
            self._waiting.remove(waiting)
            self._clients[waiting.name].remove_pending_request(waiting.future)
            self._answer(waiting.page, waiting.name, False, f"{OWNERS[waiting.name]} does not answer")


def _kind(service: str) -> Any:
    if service.endswith("set_parameters"):
        return SetParameters
    return SetBool if service == "estop" else Trigger


def _value(value: float | str) -> Any:
    if isinstance(value, str):
        return ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=value)
    return ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value)


def _outcome(response: Any) -> tuple[bool, str]:
    """Success and words of an answer of any of our services."""
    if hasattr(response, "results"):
        refused = [result.reason for result in response.results if not result.successful]
        return not refused, "; ".join(refused) or "done"
    return response.success, response.message
