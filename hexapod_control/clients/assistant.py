# SPDX-License-Identifier: Apache-2.0
"""What an assistant, a program that decides by itself, may ask of a robot: bounded motions, one at a time.

A thread owns the node; other threads ask for motions and read the state. Of all sources of velocity an assistant has
the lowest priority: a person who drives or stops the robot ends its motion at once, and it has to wait before the next.
"""

from __future__ import annotations

import math
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import Any, Self

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Pose as PoseMessage
from sensor_msgs.msg import CompressedImage, PointCloud2
from std_msgs.msg import String

from hexapod_control.bringup.process_supervisor import StopSignal
from hexapod_control.clients.bounded_wait import DISCOVERY_S, POLL_S, POSTURE_S, BoundedWait, EndRequested
from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.motion_client import MotionClient, MotionProgress
from hexapod_control.clients.patrol_client import PatrolClient
from hexapod_control.clients.robot_client import COMMAND_PERIOD_S
from hexapod_control.config.errors import RobotError
from hexapod_control.config.motion_file import known_motions, request
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import ZERO, Pose
from hexapod_control.core.motions.motion_approval import ANSWER_TOPIC, PERIOD_S, REQUEST_TOPIC, MotionRequest
from hexapod_control.core.names import shortened
from hexapod_control.core.quantity import Quantity, number
from hexapod_control.core.steering.path_following import (
    Pursuit,
    PursuitHeading,
    PursuitPhase,
    PursuitSettings,
    Waypoint,
)
from hexapod_control.core.terrain.height_map import TerrainGrid
from hexapod_control.nodes.web.camera_feed import IMAGE_TOPIC, image_type
from hexapod_control.ros import messages
from hexapod_control.ros.qos import COMMAND, DISPLAY, EVENTS, LATCHED
from hexapod_control.ros.row_messages import MessageError
from hexapod_control.ros.terrain_messages import terrain_grid

FORWARD = Quantity("m", -5.0, 5.0, "distance to walk forward, negative backward", 0.0)
LEFT = Quantity("m", -5.0, 5.0, "distance to walk to the left, negative to the right", 0.0)
TURN = Quantity("deg", -360.0, 360.0, "angle to turn counter-clockwise, negative clockwise")
UP = Quantity("m", -0.2, 0.2, "height of the body above the neutral stance", 0.0)
LEAN = Quantity("deg", -30.0, 30.0, "angle of the body from the neutral stance", 0.0)
HOLD_S = 10.0  # after a person has taken over or stopped the robot, for which motions are refused
POSE_TOLERANCE = 1e-3  # [m, rad]
STOPPED_S = 0.5  # at rest against the commands of a motion, after which a person has stopped the robot
BEGIN_S = 5.0  # for the robot to begin a motion
READY_S = 10.0  # for all topics and services of the robot to be there
END_S = 1.0  # for a stop to be answered
APPROVAL_S = 60.0  # for a person to permit a motion
POSE_REST_S = 0.5  # without a change of the body pose, after which it is as near as the legs reach
ANSWER_S = 3.0  # for the next image of the camera, or the description of the robot
SLICE_DEG = 90.0  # largest turn between two headings that are approached one after the other
ALONE = np.zeros((0, 2))  # obstacles: none are seen
MAP_AGE_S = 3.0  # without a newer map, after which nothing is seen
DIRECTIONS_DEG = {"left": 60.0, "ahead_left": 30.0, "ahead": 0.0, "ahead_right": -30.0, "right": -60.0}
VIEW_M = (0.2, 1.0)  # distances of the ground that is described
UNDER_M = 0.15  # around the robot, the ground to which heights refer
LEVELS = ("ok", "warning", "error", "stale")


class Permission(Enum):
    """What an assistant may do."""

    READ = "read"  # see the state and stop the robot
    ASK = "ask"  # also move it, each time after a person has permitted it on the page
    MOVE = "move"  # also move it within its limits


@dataclass(frozen=True, slots=True)
class AssistantLimits:
    """Bounds of every motion."""

    speed: float = number(0.5, "", 0.05, 1.0, "largest speed, as a share of the robot's")
    radius: float = number(2.0, "m", 0.1, 100.0, "farthest place from that of the start, by odometry")
    seconds: float = number(60.0, "s", 1.0, 600.0, "longest duration of one motion")


@dataclass(slots=True)
class Motion:
    """A motion that was asked for: its work, how to end it, and what it answers."""

    work: Callable[[BoundedWait], str]
    request: MotionRequest | None = None  # what a person is asked; None: no one needs to be asked
    end: StopSignal = field(default_factory=StopSignal)
    answer: Future[str] = field(default_factory=Future)


def ground_view(grid: TerrainGrid, here: Pose) -> dict[str, dict[str, float | None]]:
    """The ground as seen from a pose in odom, by direction: heights [m] above that under the robot, None: not seen."""
    reach = np.arange(-UNDER_M, UNDER_M + grid.cell, grid.cell)
    x, y = np.meshgrid(here.x + reach, here.y + reach)
    under = grid.heights(x, y)
    level = float(np.nanmedian(under)) if np.isfinite(under).any() else math.nan
    distances = np.arange(*VIEW_M, grid.cell)
    found = {}
    for name, degrees in DIRECTIONS_DEG.items():
        angle = here.yaw + math.radians(degrees)
        heights = grid.heights(here.x + distances * math.cos(angle), here.y + distances * math.sin(angle)) - level
        known = np.isfinite(heights)
        steps = np.abs(np.diff(heights[known]))
        seen: dict[str, float | None] = dict.fromkeys(("highest_m", "lowest_m", "highest_step_m", "step_in_m"))
        if known.sum() > 1:
            far = distances[known][1:]
            seen = {
                "highest_m": round(float(heights[known].max()), 3),
                "lowest_m": round(float(heights[known].min()), 3),
                "highest_step_m": round(float(steps.max()), 3),
                "step_in_m": round(float(far[steps.argmax()]), 2),
            }
        found[name] = {"seen_share": round(float(known.mean()), 2), **seen}
    return found


class AssistantClient(PatrolClient):
    """A robot client of an assistant, which also receives the health of all nodes."""

    source_name = "assistant"
    node_name = "assistant"

    def __init__(self, options: ConnectionOptions) -> None:
        super().__init__(options)
        self.health: Mapping[str, tuple[str, str]] = {}  # level and message of each node
        self._prefix = f"{self._node.get_namespace().rstrip('/')}/"
        self._map: tuple[float, TerrainGrid] | None = None  # [s] steady time at which it came
        self.description = ""  # URDF of the robot
        self.pose: BodyPose | None = None  # of the body, as commanded by the planner
        self._answers: list[str] = []
        self._requests = self._node.create_publisher(String, REQUEST_TOPIC, EVENTS)
        self._node.create_subscription(String, ANSWER_TOPIC, self._on_answer, EVENTS)
        self._images: list[Future[tuple[str, bytes]]] = []  # that wait for the next image
        self._camera: Any = None  # the subscription, while one waits
        self._node.create_subscription(PoseMessage, "body_pose_achieved", self._on_pose, LATCHED)
        self._node.create_subscription(String, "robot_description", self._on_description, LATCHED)
        self._node.create_subscription(PointCloud2, "terrain_map", self._on_map, COMMAND)
        self._node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, EVENTS)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        heard = {
            shortened(status.name.removeprefix(self._prefix)): (
                LEVELS[min(status.level[0], len(LEVELS) - 1)],
                shortened(status.message),
            )
            for status in message.status
            if status.name.startswith(self._prefix)
        }
        self.health = {**self.health, **heard}

    def _on_pose(self, message: PoseMessage) -> None:
        self.pose = messages.body_pose(message)

    def _on_description(self, message: String) -> None:
        self.description = message.data

    def _on_map(self, message: PointCloud2) -> None:
        with suppress(MessageError):
            self._map = time.monotonic(), terrain_grid(message)

    def _on_answer(self, message: String) -> None:
        self._answers.append(message.data)

    def spin(self, seconds: float) -> None:
        """As that of the base; images are received only while one is wanted."""
        if self._images and self._camera is None:
            self._camera = self._node.create_subscription(CompressedImage, IMAGE_TOPIC, self._on_image, DISPLAY)
        elif not self._images and self._camera is not None:
            self._node.destroy_subscription(self._camera)
            self._camera = None
        super().spin(seconds)

    def _on_image(self, message: CompressedImage) -> None:
        while self._images:
            with suppress(InvalidStateError):  # no one waits any longer
                self._images.pop().set_result((image_type(message), bytes(message.data)))

    def next_image(self) -> Future[tuple[str, bytes]]:
        """The format and the data of the next image of the camera. Any thread may call this."""
        image: Future[tuple[str, bytes]] = Future()
        self._images.append(image)
        return image

    @property
    def has_camera(self) -> bool:
        """Whether images are published."""
        return self._node.count_publishers(IMAGE_TOPIC) > 0

    @property
    def has_page(self) -> bool:
        """Whether a node receives the requests of motions."""
        return self._requests.get_subscription_count() > 0

    def ask(self, request: MotionRequest) -> bool | None:
        """Publishes a request. Returns what a person has answered; None before that."""
        self._requests.publish(String(data=request.text))
        answers = [request.answer(text) for text in self._answers]
        self._answers.clear()
        return next((answer for answer in answers if answer is not None), None)

    @property
    def ground(self) -> TerrainGrid | None:
        """The map of the ground; None if there is none, or nothing newer comes."""
        return None if self._map is None or time.monotonic() - self._map[0] > MAP_AGE_S else self._map[1]

    @property
    def is_alone(self) -> bool:
        """Whether no other assistant is connected to the robot."""
        sources = self._node.get_publishers_info_by_topic("driving")
        return sum(info.node_name == self.node_name for info in sources) <= 1


class Assistant:
    """Context manager: carries out the motions of an assistant on one robot."""

    def __init__(
        self,
        options: ConnectionOptions,
        limits: AssistantLimits,
        permission: Permission = Permission.MOVE,
    ) -> None:
        """Raises RosNameError."""
        self.permission = permission
        self._limits = limits
        self._options = options
        self._robot = AssistantClient(options)
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._stopping = threading.Lock()  # while a stop is answered
        self._motion: Motion | None = None  # that runs or is about to
        self._held_until = -math.inf  # [s] steady time until which motions are refused
        self._home: Pose | None = None  # in odom
        self._thread = threading.Thread(target=self._run, name="assistant")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self.end_motion()
        self._thread.join()

    # --- asked by other threads -----------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What the robot does, and who drives it."""
        robot = self._robot
        return {
            "state": robot.state or "unknown",
            "gait": robot.gait,
            "driven_by": robot.source or "none",
            "moving_for_you": self._motion is not None,
            "motions_refused_for_s": round(max(0.0, self._held_until - time.monotonic()), 1),
            "largest_speed": {
                name: round(self._limits.speed * value, 3)
                for name, value in zip(("forward_m_s", "left_m_s", "turn_rad_s"), robot.maxima, strict=True)
            },
        }

    def place(self) -> dict[str, float]:
        """Where the robot is, by odometry, relative to its place at the start. Raises RobotError."""
        here = self._here()
        from_home = (self._home or here).inverse() @ here
        return {
            "forward_m": round(from_home.x, 3),
            "left_m": round(from_home.y, 3),
            "heading_deg": round(math.degrees(from_home.yaw), 1),
            "farthest_allowed_m": self._limits.radius,
        }

    def view(self) -> dict[str, dict[str, float | None]]:
        """The ground around the robot, by direction. Raises RobotError."""
        grid = self._robot.ground
        if grid is None:
            raise RobotError(
                "no terrain_map arrives: the robot is blind; has it a depth camera, and does terrain_map run?"
            )
        return ground_view(grid, self._here())

    def description(self) -> str:
        """The URDF of the robot. Raises RobotError."""
        deadline = time.monotonic() + ANSWER_S
        while not self._robot.description and time.monotonic() < deadline:
            time.sleep(POLL_S)
        if not self._robot.description:
            raise RobotError("no node publishes robot_description: is the robot running?")
        return self._robot.description

    def image(self) -> tuple[str, bytes]:
        """The next image of the camera: `jpeg` or `png`, and its data. Raises RobotError."""
        if not self._robot.has_camera:
            raise RobotError(f"no node publishes {IMAGE_TOPIC}: has the robot a camera, and does its driver run?")
        image = self._robot.next_image()
        try:
            return image.result(ANSWER_S)
        except TimeoutError:
            image.cancel()
            raise RobotError(f"no image has come for {ANSWER_S:g} s: look at the node of the camera") from None

    def faults(self) -> dict[str, str]:
        """What is wrong, by node, with what to do; empty if all is well. Raises RobotError."""
        if not self._robot.health:
            raise RobotError("no node of the robot reports its health: is the robot running?")
        return {name: text for name, (level, text) in self._robot.health.items() if level != LEVELS[0]}

    def end_motion(self) -> None:
        """Ends the motion that runs, if there is one."""
        motion = self._motion
        if motion is not None:
            motion.end.set()

    def stop(self) -> str:
        """Ends every motion, also those of others, and waits for the robot's answer. Raises RobotError."""
        with self._stopping:
            deadline = time.monotonic() + END_S
            while self._motion is not None and time.monotonic() < deadline:
                self.end_motion()
                time.sleep(POLL_S)
            return self._ask(Motion(self._stop), urgent=True).answer.result(DISCOVERY_S + 2.0 * END_S)

    def walk(self, forward: float, left: float) -> Motion:
        """Walks to a place [m] as seen from the robot, without turning. Raises QuantityError or RobotError."""
        ahead = FORWARD.checked(forward)
        aside = LEFT.checked(left)
        return self._ask(
            Motion(lambda wait: self._go(wait, ahead, aside, 0.0), _request("walk", forward=ahead, left=aside))
        )

    def turn(self, degrees: float) -> Motion:
        """Turns by an angle [deg]. Raises QuantityError or RobotError."""
        angle = TURN.checked(degrees)
        return self._ask(
            Motion(lambda wait: self._go(wait, 0.0, 0.0, math.radians(angle)), _request("turn", degrees=angle))
        )

    def pose(self, up: float, roll: float, pitch: float, yaw: float) -> Motion:
        """Moves the body over the standing feet: up [m], angles [deg]. Raises QuantityError or RobotError."""
        height = UP.checked(up)
        angles = [LEAN.checked(angle) for angle in (roll, pitch, yaw)]
        goal = BodyPose(0.0, 0.0, height, *map(math.radians, angles))
        values = dict(zip(("roll", "pitch", "yaw"), angles, strict=True))
        return self._ask(Motion(lambda wait: self._pose(wait, goal), _request("pose", up=height, **values)))

    def stand(self) -> Motion:
        """Stands up. Raises RobotError."""
        return self._ask(Motion(self._stand, _request("stand")))

    def sit(self) -> Motion:
        """Sits down. Raises RobotError."""
        return self._ask(Motion(self._sit, _request("sit")))

    def play(self, name: str) -> Motion:
        """Plays a motion of the package. Raises RobotError."""
        if name not in known_motions():
            raise RobotError(f"there is no motion {shortened(name)!r}; known: {', '.join(known_motions())}")
        return self._ask(Motion(lambda wait: self._play(wait, name), _request("play", name=name)))

    def _ask(self, motion: Motion, *, urgent: bool = False) -> Motion:
        with self._lock:
            if self._motion is not None:
                raise RobotError("another motion runs: wait for its end, or stop it")
            left = self._held_until - time.monotonic()
            if left > 0.0 and not urgent:
                raise RobotError(
                    f"a person has taken over or stopped the robot: motions are refused for {left:.0f} s more; "
                    "ask the person before you move the robot again"
                )
            if not urgent and not self._robot.is_alone:
                raise RobotError("another assistant is connected to this robot: end one of them, then wait 20 s")
            motion.answer.set_running_or_notify_cancel()  # from now on it cannot be cancelled
            self._motion = motion
        return motion

    # --- the thread of the node -----------------------------------------------------------------------------

    def _run(self) -> None:
        with self._robot as robot:
            while not self._ended.is_set():
                if self._motion is not None:
                    self._carry_out(robot, self._motion)
                robot.spin(POLL_S)
                if self._home is None and len(robot.odometry):
                    self._home = robot.odometry.last.pose

    def _carry_out(self, robot: AssistantClient, motion: Motion) -> None:
        def waiting(seconds: float, failure: str) -> BoundedWait:
            end = time.monotonic() + seconds

            def check() -> None:
                if robot.other_driver:
                    self._held_until = time.monotonic() + HOLD_S
                    raise RobotError(f"a person has taken over: {robot.other_driver} drives; the motion has ended")
                if time.monotonic() > end:
                    raise RobotError(failure)

            return BoundedWait(robot, motion.end, check)

        limit = self._limits.seconds
        answer = ""
        failure = ""
        try:
            if motion.request is not None and self.permission is Permission.ASK:
                late = f"no one has permitted the motion on the robot's page within {APPROVAL_S:g} s"
                self._await_permission(waiting(APPROVAL_S, late), motion.request)
            answer = motion.work(waiting(limit, f"the motion took longer than {limit:g} s and was ended"))
        except EndRequested:
            failure = "the motion was ended"
        except RobotError as error:
            failure = str(error)
        except Exception as error:
            failure = f"the motion has failed: {error}"
        robot.stop_driving()
        if failure and robot.state in ("rising", "sinking", "moving"):
            robot.request("stop")
        with self._lock:
            self._motion = None
        if failure:
            motion.answer.set_exception(RobotError(failure))
        else:
            motion.answer.set_result(answer)

    def _await_permission(self, wait: BoundedWait, request: MotionRequest) -> None:
        robot = self._robot
        missing = "no page of the robot runs on which a person could permit the motion"
        wait.until(lambda: robot.has_page, READY_S, missing)
        while (allowed := robot.ask(request)) is None:
            wait.spin(PERIOD_S)
        if not allowed:
            self._held_until = time.monotonic() + HOLD_S
            raise RobotError("the person at the robot's page has refused the motion")

    def _here(self) -> Pose:
        robot = self._robot
        if not len(robot.odometry) or robot.view.odometry_is_old:
            raise RobotError("no odometry arrives: is the robot running?")
        return robot.odometry.last.pose

    def _stop(self, wait: BoundedWait) -> str:
        missing = "no node offers the service stop: is the robot running?"
        wait.until(lambda: self._robot.has_service("stop"), DISCOVERY_S, missing)
        wait.request("stop", END_S)
        return "the robot stops with its feet down"

    def _stand(self, wait: BoundedWait) -> str:
        wait.until_ready(READY_S)
        wait.stand(POSTURE_S)
        return "the robot stands"

    def _sit(self, wait: BoundedWait) -> str:
        wait.until_ready(READY_S)
        wait.request("sit")
        wait.until_robot(lambda: self._robot.state == "sitting", POSTURE_S, "sit down")
        return "the robot sits"

    def _pose(self, wait: BoundedWait, goal: BodyPose) -> str:
        """Moves the body to a pose; if the motion is ended, it stays where it is."""
        wait.until_ready(READY_S)
        robot = self._robot
        if robot.state != "standing" or robot.pose is None:
            raise RobotError(f"the robot is {robot.state}: let it stand first")
        try:
            robot.request_pose(goal)
            seen = robot.pose
            rests = 0.0  # [s]
            while rests < POSE_REST_S:
                wait.spin(POLL_S)
                rests = rests + POLL_S if robot.pose == seen else 0.0
                seen = robot.pose
        except (RobotError, EndRequested):
            robot.request_pose(robot.pose)
            raise
        reached = max(abs(there - wanted) for there, wanted in zip(seen, goal, strict=True)) < POSE_TOLERANCE
        angles = ", ".join(f"{name} {math.degrees(getattr(seen, name)):.1f} deg" for name in ("roll", "pitch", "yaw"))
        return f"the body is {seen.z:.3f} m up, {angles}" + ("" if reached else ": as far as the legs allow")

    def _go(self, wait: BoundedWait, forward: float, left: float, turn: float) -> str:
        """Walks to a place and heading as seen from the robot."""
        wait.until_ready(READY_S)
        robot = self._robot
        start = self._here()
        if min(robot.maxima) <= 0.0:
            raise RobotError(f"the robot cannot walk, it is {robot.state}: let it stand up first")
        x, y = start.apply(forward, left)
        home = self._home or start
        if math.dist((x, y), home[:2]) > self._limits.radius:
            raise RobotError(
                f"that place is {math.dist((x, y), home[:2]):.2f} m from the start, "
                f"at most {self._limits.radius:g} m are allowed"
            )
        count = max(1, math.ceil(abs(math.degrees(turn)) / SLICE_DEG))
        headings = [start.yaw + turn * part / count for part in range(1, count + 1)]
        settings = PursuitSettings(
            tolerance=0.005, heading_tolerance=math.radians(0.5), share=self._limits.speed, progress_timeout=BEGIN_S
        )
        goals = [Waypoint(x, y, heading, PursuitHeading.FREE) for heading in headings]
        self._follow(wait, Pursuit(goals, settings))
        robot.twist = ZERO
        wait.until_robot(lambda: robot.state == "standing", POSTURE_S, "come to rest")
        moved = start.inverse() @ self._here()
        return (
            f"walked {moved.x:.3f} m forward and {moved.y:.3f} m to the left, "
            f"turned {math.degrees(moved.yaw + math.tau * round((turn - moved.yaw) / math.tau)):.1f} deg"
        )

    def _follow(self, wait: BoundedWait, pursuit: Pursuit) -> None:
        robot = self._robot
        moved = last = time.monotonic()
        begun = False  # whether the robot has walked
        while True:
            now = time.monotonic()
            command = pursuit.step(self._here(), robot.maxima, ALONE, now - last)
            last = now
            if command.phase is PursuitPhase.DONE:
                return
            if command.phase is not PursuitPhase.WALKING:
                raise RobotError(f"the robot does not get there: it is {robot.state}, {command.phase.value}")
            if robot.state == "walking" or robot.twist.is_zero:
                begun = begun or robot.state == "walking"
                moved = now
            elif begun and now - moved > STOPPED_S:
                self._held_until = now + HOLD_S
                raise RobotError("a person has stopped the robot; the motion has ended")
            robot.twist = command.twist
            wait.spin(COMMAND_PERIOD_S)

    def _play(self, wait: BoundedWait, name: str) -> str:
        motion_request, names = request(name)
        with MotionClient(self._options.namespace) as client:
            if not client.wait_for_robot():
                raise RobotError("the robot is not ready to play a motion: is it running, and does another one play?")
            progress = MotionProgress(names, BEGIN_S)
            client.follow(progress.update)
            client.request(motion_request.data)
            try:
                while not progress.over:
                    client.spin(POLL_S)
                    progress.pass_time(POLL_S)
                    wait.spin()
            finally:
                if not progress.over:
                    client.cancel(END_S)
        if progress.failure:
            raise RobotError(progress.failure)
        return f"{name}: done"


def _request(motion: str, **values: float | str) -> MotionRequest:
    """A request with an id of its own."""
    return MotionRequest(secrets.token_hex(4), motion, values)
