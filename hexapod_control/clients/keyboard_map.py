"""Driving by keyboard: what the keys mean.

A key stays in force until the next one: terminals do not tell when a key is let go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

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
SLOWEST = 0.05  # share of the greatest speed
REQUESTS = {"t": "stand", "g": "sit", " ": "stop"}
MOVE, TURN = 0.005, 0.03  # [m], [rad] per press
FARTHEST, STEEPEST = 0.06, 0.3  # [m], [rad] asked for at most; the planner clamps to what the legs reach
POSES = {  # key: coordinate of the body pose and its change
    "r": ("z", MOVE),
    "f": ("z", -MOVE),
    "\x1b[A": ("x", MOVE),
    "\x1b[B": ("x", -MOVE),
    "\x1b[D": ("y", MOVE),
    "\x1b[C": ("y", -MOVE),
    "w": ("pitch", TURN),
    "s": ("pitch", -TURN),
    "a": ("roll", -TURN),
    "d": ("roll", TURN),
    "e": ("yaw", TURN),
    "c": ("yaw", -TURN),
}
LEVEL = "x"
GAIT_KEYS = tuple("123456789")
HELP = (
    "u i o   Shift: strafe           t stand   g sit   SPACE stop   Ctrl-C end",
    "j k l   q/z: faster, slower     1-4 gait    r/f body up, down  arrows shift it",
    "m , .   holds until next key    w/s pitch   a/d roll   e/c yaw   x neutral pose",
)
_TOKEN = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Z]|.", re.DOTALL)
_UNFINISHED = re.compile(r"\x1b(\[[0-9;]*|O)?$")


def tokens(text: str) -> tuple[list[str], str]:
    """Keys of what a terminal sent, arrows as one, and the beginning of a key at its end."""
    tail = _UNFINISHED.search(text)
    whole = text[: tail.start()] if tail else text
    return [key.replace("\x1bO", "\x1b[") for key in _TOKEN.findall(whole)], tail[0] if tail else ""


@dataclass(slots=True)
class KeyboardMap:
    """What the keys pressed so far ask for."""

    gaits: Sequence[str] = ()
    direction: tuple[int, int, int] = (0, 0, 0)
    speed: float = 0.5  # share of the greatest speed
    pose: BodyPose = NEUTRAL
    _tail: str = field(default="", repr=False)

    def type(self, text: str) -> Iterator[str]:
        """Takes what a terminal sent; the requests of its keys as in `press`."""
        keys, self._tail = tokens(self._tail + text)
        for key in keys:
            request = self.press(key)
            if request:
                yield request

    def press(self, key: str) -> str:
        """Takes a key. Returns `stand`, `sit`, `stop`, `pose` or `gait NAME` if it asks for more than a motion."""
        if key in DIRECTIONS:
            self.direction = DIRECTIONS[key]
        elif key in SPEEDS:
            self.speed = min(1.0, max(SLOWEST, self.speed * SPEEDS[key]))
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
        most = FARTHEST if coordinate in "xyz" else STEEPEST
        value = round(getattr(self.pose, coordinate) + change, 6)
        return self.pose._replace(**{coordinate: min(most, max(-most, value))})

    def twist(self, maxima: Twist) -> Twist:
        """The twist asked for, with the greatest speed along each axis."""
        if self.direction == (0, 0, 0):
            return ZERO
        return Twist(*(self.speed * way * most for way, most in zip(self.direction, maxima, strict=True)))
