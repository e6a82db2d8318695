# SPDX-License-Identifier: Apache-2.0
"""Parses and encodes the messages between server and page: JSON objects, checked field by field.

Every message has `v` (version of the protocol), `n` (a number that increases during a connection) and `t` (its kind).
An invalid message raises RefusedMessageError with an HTTP status code and a text, never another exception.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hexapod_control.core.quantity import Quantity, QuantityError
from hexapod_control.core.reality import REALITIES
from hexapod_control.core.robot import LIFT_RANGE
from hexapod_control.core.simulated_world import FRICTION, PAYLOAD, WORLDS

VERSION = 2
MAX_MESSAGE_BYTES = 16384
MAX_INTEGER = 2**53  # larger ones are not exact in JavaScript
MAX_NAME = 40  # characters of the name of a client
CANCEL_CALIBRATION = "cancel_calibration"  # of the servos, whose file stays as it is
RESTART = "restart"  # of the node that is silent
SHUTDOWN = "shutdown"  # of the computer, after sitting down
HARDWARE = "the hardware node"
REQUESTS = {  # what a page may request, and the node that carries it out by a service of that name
    "stand": "gait_planner",
    "sit": "gait_planner",
    "recover": "gait_planner",
    "stop": "gait_planner",
    "cancel_motion": "gait_planner",
    "reload_gaits": "gait_planner",
    "estop": HARDWARE,
    "arm": HARDWARE,
    "rearm": HARDWARE,  # by several services
    "reset_and_arm": HARDWARE,  # by several services
    "reset_world": "mujoco_sim",
    CANCEL_CALIBRATION: "servo_driver",
    RESTART: "",
    SHUTDOWN: "",
}
ALWAYS_ALLOWED = ("stop", "estop")  # for every admitted client
VIDEO = ("camera", "video", "video_anew")  # the next image, or picture of a video, or of one that begins
QUERIES = ("urdf", "invite", "terrain", *VIDEO, "map", "kept", "report", "weeks", "updates")
DANCE_ACTS = ("play", "save", "delete")
DANCE_STEPS = ("pose", "wait", "walk", "sway", "leg")  # of a motion file, which a page can edit
MAX_DANCE = 60  # steps of a track
MAX_BEATS = 240
PROFILE_ACTS = ("save", "delete", "robot", "restore")
MAX_PROFILE = 20  # values
ROUTE_ACTS = ("walk", "navigate", "save", "delete", "teach", "taught", "keep")
MAX_ROUTE = 200  # points
CONTROL_ACTS = ("take", "leave", "give", "keep")
LABORATORY_ACTS = ("open", "plan", "save")
RECORDING_ACTS = ("start", "stop", "keep", "delete", "bag", "csv", "replay")


DanceSteps = tuple[Mapping[str, Mapping[str, float | str]], ...]


class RefusedMessageError(ValueError):
    """A message is refused, for the reason given by an HTTP status code and a text."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


@dataclass(frozen=True, slots=True)
class HelloMessage:
    """The first message of a client: the token of an invitation, or the key of an earlier connection."""

    token: str = ""
    key: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class DriveMessage:
    """A velocity as shares [-1, 1] of the limits; zero unless `on`, the dead-man switch, is true."""

    on: bool
    vx: float = 0.0
    vy: float = 0.0
    wz: float = 0.0

    @property
    def moves(self) -> bool:
        """True if the velocity is not zero."""
        return self.on and (self.vx != 0.0 or self.vy != 0.0 or self.wz != 0.0)


@dataclass(frozen=True, slots=True)
class PoseMessage:
    """A body pose relative to the neutral stance: metres and radians."""

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    roll: float = 0.0
    pitch: float = 0.0
    yaw: float = 0.0


@dataclass(frozen=True, slots=True)
class GaitMessage:
    """Requests a gait."""

    name: str


@dataclass(frozen=True, slots=True)
class LegMessage:
    """Folds a lost leg away, or unfolds it again."""

    name: str
    lost: bool


@dataclass(frozen=True, slots=True)
class PlayMessage:
    """Starts a motion; an empty name ends the present motion after its cycle."""

    name: str


@dataclass(frozen=True, slots=True)
class LiftMessage:
    """Sets the lift height of the swing as a share of the one in the robot file."""

    share: float


@dataclass(frozen=True, slots=True)
class SpeedMessage:
    """Sets the speed of all pages as a share of the maximum."""

    share: float


@dataclass(frozen=True, slots=True)
class LimitsMessage:
    """Sets the top speeds [m/s, m/s, rad/s] of the robot, for every driver; 0: what it can do."""

    vx: float
    vy: float
    wz: float


@dataclass(frozen=True, slots=True)
class ProfileMessage:
    """Keeps settings under a name, or deletes that name; only pages know what the `values` mean.

    `robot` writes the gait and the limits of the battery, `warn` and `critical` [V], into the robot file, `restore`
    takes the last change of that back.
    """

    act: str
    name: str
    gait: str = ""
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RequestMessage:
    """Requests an action, one of REQUESTS."""

    what: str


@dataclass(frozen=True, slots=True)
class NodeMessage:
    """Restarts one node, given by its short name."""

    name: str


@dataclass(frozen=True, slots=True)
class ControlMessage:
    """Changes who drives: `take` control, `leave` it, `give` it to client `to`, or `keep` it."""

    act: str
    to: int = 0


@dataclass(frozen=True, slots=True)
class HeartbeatMessage:
    """Keeps the connection alive and measures the round trip."""

    echo: int = 0  # sent back unchanged


@dataclass(frozen=True, slots=True)
class NameMessage:
    """The name by which this client is called from now on."""

    name: str


@dataclass(frozen=True, slots=True)
class QueryMessage:
    """Requests data, one of QUERIES."""

    what: str


@dataclass(frozen=True, slots=True)
class RecordingMessage:
    """Records, or deletes or requests the recording with a name of the list; `act` is one of RECORDING_ACTS."""

    act: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class LaboratoryMessage:
    """Opens the gait laboratory, plans a walk along an axis with other `values`, or saves the gait under a name.

    The laboratory checks gait, axis and values.
    """

    act: str
    gait: str = ""
    axis: str = ""
    name: str = ""
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RouteMessage:
    """Walks along points (x, y) [m] in odom, has Nav2 walk to the last one, saves them under a name, or deletes it.

    `teach` begins a lesson, `taught` ends it, `keep` saves what was learned under a name.
    """

    act: str
    name: str = ""
    points: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class DanceMessage:
    """Plays a motion of these steps, saves it under a name, or deletes that name.

    A step is {kind: values} as in a motion file; gait_planner checks the values. `legs` are steps at the same time as
    `steps`. `beats` [s] are those of its music.
    """

    act: str
    name: str = ""
    steps: DanceSteps = ()
    legs: DanceSteps = ()
    beats: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class FootMessage:
    """Moves one foot to a point [m, base_link] while the others stand; without a leg, all feet come down."""

    leg: str = ""
    x: float = 0.0
    y: float = 0.0
    z: float = 0.0


@dataclass(frozen=True, slots=True)
class PermissionMessage:
    """Permits the motion that an assistant has asked for, or refuses it."""

    request: str
    allowed: bool


@dataclass(frozen=True, slots=True)
class PushMessage:
    """Pushes the simulated body with a force [N] in the world frame."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class WorldMessage:
    """Changes the simulated world; None leaves a value as it is."""

    world: str | None = None
    friction: float | None = None
    payload: float | None = None  # [kg]
    reality: str | None = None


RobotBody = (
    DriveMessage
    | RouteMessage
    | DanceMessage
    | PoseMessage
    | FootMessage
    | GaitMessage
    | LegMessage
    | PlayMessage
    | LiftMessage
    | SpeedMessage
    | PermissionMessage
    | LimitsMessage
    | ProfileMessage
)
WorldBody = (
    PushMessage | NodeMessage | WorldMessage | RecordingMessage | LaboratoryMessage | RequestMessage | QueryMessage
)
MessageBody = RobotBody | WorldBody | HelloMessage | NameMessage | ControlMessage | HeartbeatMessage


@dataclass(frozen=True, slots=True)
class PageMessage:
    """A valid message."""

    sequence: int
    body: MessageBody


FieldCheck = Callable[[str, Any], Any] | Quantity


def _boolean(name: str, value: Any) -> bool:
    if type(value) is bool:
        return value
    raise RefusedMessageError(400, f"{name} must be true or false")


def _text(longest: int) -> FieldCheck:
    def check(name: str, value: Any) -> str:
        if type(value) is not str or len(value) > longest or not value.isprintable():
            raise RefusedMessageError(400, f"{name} must be a text of at most {longest} characters")
        return value

    return check


def _numbers(name: str, value: Any) -> Mapping[str, float]:
    if isinstance(value, dict) and all(type(number) in (int, float) for number in value.values()):
        return value
    raise RefusedMessageError(400, f"{name} must be an object of numbers")


def _settings(name: str, value: Any) -> Mapping[str, float]:
    if len(_numbers(name, value)) > MAX_PROFILE or not all(key.isidentifier() and len(key) <= 20 for key in value):
        raise RefusedMessageError(400, f"{name} must be at most {MAX_PROFILE} numbers with short names")
    return value


def _points(name: str, value: Any) -> tuple[tuple[float, float], ...]:
    if not isinstance(value, list) or len(value) > MAX_ROUTE:
        raise RefusedMessageError(400, f"{name} must be a list of at most {MAX_ROUTE} points")
    if not all(isinstance(point, list) and len(point) == 2 for point in value):
        raise RefusedMessageError(400, f"each of the {name} must be a list [x, y] in metres")
    return tuple((_PLACE.checked(x), _PLACE.checked(y)) for x, y in value)


def _times(name: str, value: Any) -> tuple[float, ...]:
    if not isinstance(value, list) or len(value) > MAX_BEATS:
        raise RefusedMessageError(400, f"{name} must be a list of at most {MAX_BEATS} times in seconds")
    return tuple(_TIME.checked(time) for time in value)


def _steps(name: str, value: Any) -> DanceSteps:
    if not isinstance(value, list) or len(value) > MAX_DANCE:
        raise RefusedMessageError(400, f"{name} must be a list of at most {MAX_DANCE} steps")
    for step in value:
        if not isinstance(step, dict) or len(step) != 1 or not set(step) <= set(DANCE_STEPS):
            raise RefusedMessageError(400, f"each of the {name} must have one of the keys {', '.join(DANCE_STEPS)}")
        for values in step.values():
            numbers = (
                {key: each for key, each in values.items() if key != "name"} if isinstance(values, dict) else values
            )
            words = (*_numbers(name, numbers), *(value for key, value in values.items() if key == "name"))
            if not all(isinstance(word, str) and word.isidentifier() and len(word) <= 40 for word in words):
                raise RefusedMessageError(400, f"each of the {name} must have keys of a motion file")
    return tuple(value)


def _one_of(*known: str) -> FieldCheck:
    def check(name: str, value: Any) -> str:
        if type(value) is not str or value not in known:
            raise RefusedMessageError(400, f"{name} must be one of {', '.join(known)}")
        return value

    return check


_COUNT = Quantity("", 0, MAX_INTEGER, "number of a message or a client", whole=True)
_SHARE = Quantity("", -1.0, 1.0, "share of the limit of the velocity", 0.0)
_METRES = Quantity("m", -0.3, 0.3, "shift of the body", 0.0)
_REACH = Quantity("m", -2.0, 2.0, "point for a foot", 0.0)
_TILT = Quantity("rad", -1.0, 1.0, "turn of the body", 0.0)
_PLACE = Quantity("m", -1000.0, 1000.0, "coordinate in odom")
_TIME = Quantity("s", 0.0, 3600.0, "time in a piece of music")
_TOP_SPEED = Quantity("m/s or rad/s", 0.0, 10.0, "top speed; 0: what the robot can do")
_FORCE = Quantity("N", -200.0, 200.0, "push of the simulated body")
_POSE = dict.fromkeys(("x", "y", "z"), _METRES) | dict.fromkeys(("roll", "pitch", "yaw"), _TILT)
_WORLD = {"world": _one_of(*WORLDS), "friction": FRICTION, "payload": PAYLOAD, "reality": _one_of(*REALITIES)}
KINDS: Mapping[str, tuple[Any, Mapping[str, FieldCheck]]] = {
    "hello": (HelloMessage, {"token": _text(128), "key": _text(128), "name": _text(MAX_NAME)}),
    "name": (NameMessage, {"name": _text(MAX_NAME)}),
    "drive": (DriveMessage, {"on": _boolean, "vx": _SHARE, "vy": _SHARE, "wz": _SHARE}),
    "pose": (PoseMessage, _POSE),
    "foot": (FootMessage, {"leg": _text(40), **dict.fromkeys(("x", "y", "z"), _REACH)}),
    "route": (RouteMessage, {"act": _one_of(*ROUTE_ACTS), "name": _text(40), "points": _points}),
    "dance": (
        DanceMessage,
        {"act": _one_of(*DANCE_ACTS), "name": _text(40), "steps": _steps, "legs": _steps, "beats": _times},
    ),
    "gait": (GaitMessage, {"name": _text(40)}),
    "leg": (LegMessage, {"name": _text(40), "lost": _boolean}),
    "play": (PlayMessage, {"name": _text(60)}),
    "lift": (LiftMessage, {"share": Quantity("", *LIFT_RANGE, "height of the steps")}),
    "speed": (SpeedMessage, {"share": Quantity("", 0.1, 1.0, "share of the maximum speed")}),
    "limits": (LimitsMessage, dict.fromkeys(("vx", "vy", "wz"), _TOP_SPEED)),
    "profile": (
        ProfileMessage,
        {"act": _one_of(*PROFILE_ACTS), "name": _text(40), "gait": _text(40), "values": _settings},
    ),
    "request": (RequestMessage, {"what": _one_of(*REQUESTS)}),
    "control": (ControlMessage, {"act": _one_of(*CONTROL_ACTS), "to": _COUNT}),
    "heartbeat": (HeartbeatMessage, {"echo": _COUNT}),
    "query": (QueryMessage, {"what": _one_of(*QUERIES)}),
    "recording": (RecordingMessage, {"act": _one_of(*RECORDING_ACTS), "name": _text(80)}),
    "laboratory": (
        LaboratoryMessage,
        {
            "act": _one_of(*LABORATORY_ACTS),
            "gait": _text(40),
            "axis": _text(40),
            "name": _text(80),
            "values": _numbers,
        },
    ),
    "permission": (PermissionMessage, {"request": _text(60), "allowed": _boolean}),
    "node": (NodeMessage, {"name": _text(80)}),
    "push": (PushMessage, {"x": _FORCE, "y": _FORCE}),
    "world": (WorldMessage, _WORLD),
}
FOR_EVERYONE = ("hello", "name", "heartbeat", "control", "query", "recording", "laboratory")
DRIVER_MESSAGES = tuple(message for kind, (message, _) in KINDS.items() if kind not in FOR_EVERYONE)
"""Messages that only the driver may send, except ALWAYS_ALLOWED; see `needs_control`."""


def needs_control(body: MessageBody) -> bool:
    """True for a message that only the driver may send."""
    deletes = isinstance(body, RecordingMessage) and body.act == "delete"
    return deletes or isinstance(body, DRIVER_MESSAGES)


def parse(text: str) -> PageMessage:
    """Decodes a message. Raises RefusedMessageError."""
    data = _object(text)
    version = data.pop("v", None)
    if type(version) is not int or version != VERSION:
        raise RefusedMessageError(426, f"this server uses version {VERSION} of the protocol: reload the page")
    sequence = _field({"n": _COUNT}, "n", data.pop("n", None))
    kind = data.pop("t", None)
    if type(kind) is not str or kind not in KINDS:
        raise RefusedMessageError(400, f"t must be one of {', '.join(KINDS)}")
    message_class, checks = KINDS[kind]
    unknown = next((name for name in data if name not in checks), None)
    if unknown is not None:
        raise RefusedMessageError(400, f"{kind} has no field {unknown[:40]!r}")
    try:
        return PageMessage(sequence, message_class(**{name: _field(checks, name, data[name]) for name in data}))
    except TypeError:
        raise RefusedMessageError(400, f"{kind} needs its fields {', '.join(checks)}") from None


def _field(checks: Mapping[str, FieldCheck], name: str, value: Any) -> Any:
    check = checks[name]
    try:
        return check.checked(value) if isinstance(check, Quantity) else check(name, value)
    except QuantityError as error:
        raise RefusedMessageError(400, f"{name} {error}") from None


def _object(text: str) -> dict[str, Any]:
    if len(text) > MAX_MESSAGE_BYTES:
        raise RefusedMessageError(413, f"a message has at most {MAX_MESSAGE_BYTES} bytes")
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise RefusedMessageError(400, "a message is one JSON object with finite numbers") from None
    if not isinstance(data, dict):
        raise RefusedMessageError(400, "a message is one JSON object")
    return data


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def encode(kind: str, sequence: int, **fields: Any) -> str:
    """Encodes a message to a page; infinite numbers and NaN become null."""
    message = {"v": VERSION, "n": sequence, "t": kind, **{name: _finite(value) for name, value in fields.items()}}
    return json.dumps(message, separators=(",", ":"), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
