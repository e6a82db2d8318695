# SPDX-License-Identifier: Apache-2.0
"""Drives a robot by keyboard and shows its state in a status line.

A direction holds until the next key, because terminals do not report when a key is released.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hexapod_control.clients.robot_client import RobotClient
from hexapod_control.clients.robot_search import why_no_robot
from hexapod_control.clients.service_request import ServiceRequest
from hexapod_control.clients.terminal import Terminal
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.se2 import ZERO, Twist

DIRECTIONS = {  # key: forward, left, counter-clockwise; Shift strafes instead of turning
    "u": (1, 0, 1),
    "i": (1, 0, 0),
    "o": (1, 0, -1),
    "j": (0, 0, 1),
    "k": (0, 0, 0),
    "l": (0, 0, -1),
    "m": (-1, 0, -1),
    ",": (-1, 0, 0),
    ".": (-1, 0, 1),
    "U": (1, 1, 0),
    "I": (1, 0, 0),
    "O": (1, -1, 0),
    "J": (0, 1, 0),
    "K": (0, 0, 0),
    "L": (0, -1, 0),
    "M": (-1, 1, 0),
    "<": (-1, 0, 0),
    ">": (-1, -1, 0),
}
SPEEDS = {"q": 1.1, "z": 1 / 1.1}
MIN_SPEED_SHARE = 0.05  # of the maximum speed
REQUESTS = {"t": "stand", "g": "sit", " ": "stop", "E": "estop", "R": "rearm"}
# per key press
SHIFT_M = 0.005
TILT_RAD = 0.03
# the planner clamps further to the reach of the legs
MAX_SHIFT_M = 0.06
MAX_TILT_RAD = 0.3
POSES = {  # key: coordinate of the body pose and its change
    "r": ("z", SHIFT_M),
    "f": ("z", -SHIFT_M),
    "\x1b[A": ("x", SHIFT_M),
    "\x1b[B": ("x", -SHIFT_M),
    "\x1b[D": ("y", SHIFT_M),
    "\x1b[C": ("y", -SHIFT_M),
    "w": ("pitch", TILT_RAD),
    "s": ("pitch", -TILT_RAD),
    "a": ("roll", -TILT_RAD),
    "d": ("roll", TILT_RAD),
    "e": ("yaw", TILT_RAD),
    "c": ("yaw", -TILT_RAD),
}
LEVEL = "x"
GAIT_KEYS = tuple("123456789")
HELP = (
    "u i o   Shift: strafe           t stand   g sit   SPACE stop   Ctrl-C end",
    "j k l   q/z: faster, slower     1-9 gait    r/f body up, down  arrows shift it",
    "m , .   holds until next key    w/s pitch   a/d roll   e/c yaw   x neutral pose",
    "E       E-STOP: torque off, the robot may fall     R torque on again, then t",
)
_TOKEN = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Z]|.", re.DOTALL)
_UNFINISHED = re.compile(r"\x1b(\[[0-9;]*|O)?$")


def tokens(text: str) -> tuple[list[str], str]:
    """Splits terminal input into keys, an escape sequence being one key. Returns them and the incomplete rest."""
    tail = _UNFINISHED.search(text)
    whole = text[: tail.start()] if tail else text
    return [key.replace("\x1bO", "\x1b[") for key in _TOKEN.findall(whole)], tail[0] if tail else ""


@dataclass(slots=True)
class KeyboardMap:
    """Direction, speed and body pose set by the keys pressed so far."""

    gaits: Sequence[str] = ()
    direction: tuple[int, int, int] = (0, 0, 0)
    speed: float = 0.5  # share of the maximum speed
    pose: BodyPose = NEUTRAL
    _tail: str = field(default="", repr=False)

    def type(self, text: str) -> Iterator[str]:
        """Handles terminal input; yields the requests that `press` returns for its keys."""
        keys, self._tail = tokens(self._tail + text)
        for key in keys:
            request = self.press(key)
            if request:
                yield request

    def press(self, key: str) -> str:
        """Handles a key. Returns a value of REQUESTS, `pose` or `gait NAME`; empty for velocity."""
        if key in DIRECTIONS:
            self.direction = DIRECTIONS[key]
        elif key in SPEEDS:
            self.speed = min(1.0, max(MIN_SPEED_SHARE, self.speed * SPEEDS[key]))
        elif key in REQUESTS:
            self.direction = (0, 0, 0)
            self.pose = self.pose if key == " " else NEUTRAL
            return REQUESTS[key]
        elif key in POSES or key == LEVEL:
            self.pose = NEUTRAL if key == LEVEL else self._moved(*POSES[key])
            return "pose"
        elif key in GAIT_KEYS[: len(self.gaits)]:
            return f"gait {self.gaits[GAIT_KEYS.index(key)]}"
        return ""

    def _moved(self, coordinate: str, change: float) -> BodyPose:
        limit = MAX_SHIFT_M if coordinate in "xyz" else MAX_TILT_RAD
        value = round(getattr(self.pose, coordinate) + change, 6)
        return self.pose._replace(**{coordinate: min(limit, max(-limit, value))})

    def twist(self, maxima: Twist) -> Twist:
        """Returns the commanded twist, given the maximum speed along each axis [m/s, m/s, rad/s]."""
        if self.direction == (0, 0, 0):
            return ZERO
        return Twist(*(self.speed * sign * maximum for sign, maximum in zip(self.direction, maxima, strict=True)))


class KeyboardPilot:
    """Drives a robot client by the keys typed into a terminal; `step` is called periodically."""

    def __init__(self, robot: RobotClient, terminal: Terminal) -> None:
        self._robot = robot
        self._terminal = terminal
        self._keyboard = KeyboardMap()
        self._requests: list[ServiceRequest] = []  # without an answer yet

    def step(self) -> bool:
        """Handles the keys pressed since the last call. Returns True if the commanded velocity changed.

        Raises TerminalClosed.
        """
        robot, keyboard = self._robot, self._keyboard
        before = robot.twist
        keyboard.gaits = robot.gaits
        for request in keyboard.type(self._terminal.read()):
            self._request(request)
        twist = keyboard.twist(robot.maxima)
        if twist != robot.twist:
            robot.twist = twist
            robot.send()
        self._show_answers()
        self._terminal.status(self.status())
        return twist != before

    def _request(self, request: str) -> None:
        robot = self._robot
        if request == "pose":
            robot.request_pose(self._keyboard.pose)
        elif request.startswith("gait "):
            robot.request_gait(request.removeprefix("gait "))
        else:
            robot.twist = ZERO
            robot.send()
            self._requests.append(robot.request(request))

    def _show_answers(self) -> None:
        robot = self._robot
        for request in self._requests:
            if request.success is False:
                reason = "" if robot.has_listener else f"; {why_no_robot(robot.robot_namespace)}"
                self._terminal.line(f"{request.name} was refused: {request.answer}{reason}")
            elif request.success and request.name in ("estop", "rearm"):  # the status line does not show the torque
                self._terminal.line(request.answer)
        self._requests = [request for request in self._requests if request.success is None]

    def status(self) -> str:
        """State, gait, commanded velocity and the source that drives, in one line."""
        robot = self._robot
        if not robot.state:
            return "no gait_state yet from the robot" if robot.has_listener else "no robot found"
        if robot.state == "sitting" and robot.twist.is_zero:
            return "sitting: press t to stand up, then a direction to walk"
        vx, vy, wz = robot.twist
        driver = "" if robot.source in ("", "none") else f"  driven by {robot.source}"
        return (
            f"{robot.state:9} {robot.gait:9} x {vx:+.3f} y {vy:+.3f} m/s  turn {wz:+.2f} rad/s  "
            f"speed {100.0 * self._keyboard.speed:3.0f} %{driver}"
        )
