# SPDX-License-Identifier: Apache-2.0
"""Motions as data: the steps of a choreography file.

One frozen class per kind of step, in SI units; files give angles in degrees. Lengths and speeds are for the size of one
robot; `scaled` converts them for others.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from hexapod_control.core.names import JOINTS
from hexapod_control.core.quantity import Quantity, QuantityError, choice, number, quantities
from hexapod_control.core.robot import LIFT_RANGE, Vector
from hexapod_control.core.walking.walk_settings import TEMPO_RANGE

MAX_DURATION_S = 600.0
LENGTH_UNITS = ("m", "m/s")


class MotionError(ValueError):
    """An impossible step; the text names the key, the value, the bounds and the remedy."""


def degrees(default: float, lower: float, upper: float, meaning: str, unit: str = "deg") -> Any:
    """Returns a field in radians for a quantity in degrees."""
    return field(default=math.radians(default), metadata=Quantity(unit, lower, upper, meaning, default).metadata())


def time(default: float, description: str) -> Any:
    """Returns a field for a duration [s]."""
    return number(default, "s", 0.0, MAX_DURATION_S, description)


@dataclass(frozen=True, slots=True)
class MotionStep:
    """Base class of all steps: checked fields, scalable to robots of other sizes."""

    place: str = field(default="", kw_only=True, compare=False, repr=False)  # file:line, for messages

    def __post_init__(self) -> None:
        for name, quantity in quantities(self):
            value = getattr(self, name)
            if isinstance(value, Mapping):  # by leg; the reader of the file checks it
                continue
            given = value if si(quantity) == 1.0 else round(math.degrees(value), 9)
            try:
                quantity.checked(given)
            except QuantityError:  # the remedy is for who writes the number
                raise MotionError(f"{key(name, quantity)} {quantity.refusal(given, '')}") from None

    def scaled(self, factor: float) -> Self:
        """The step for a robot `factor` times as large."""
        scaled = {name for name, quantity in quantities(self) if quantity.unit in LENGTH_UNITS}
        lengths = {name: getattr(self, name) * factor for name in scaled}
        return dataclasses.replace(self, **lengths) if lengths else self


def si(quantity: Quantity) -> float:
    """A unit of a file in that of the field: radians for degrees."""
    return math.radians(1.0) if quantity.unit.startswith("deg") else 1.0


def key(name: str, quantity: Quantity | None) -> str:
    """The key in a file of a field."""
    return f"{name}_deg" if quantity is not None and si(quantity) != 1.0 else name


@dataclass(frozen=True, slots=True)
class WalkStep(MotionStep):
    """Walks with a constant twist for a time, a distance or an angle; all zero: steps on the spot."""

    x: float = number(0.0, "m/s", -2.0, 2.0, "speed forward")
    y: float = number(0.0, "m/s", -2.0, 2.0, "speed to the left")
    yaw: float = degrees(0.0, -360.0, 360.0, "rate of turn, + to the left", "deg/s")
    lift: float = number(1.0, "", *LIFT_RANGE, "height of the steps, as a share of the robot's")
    tempo: float = number(1.0, "", *TEMPO_RANGE, "swing time, as a share of the robot's")
    duration: float = time(0.0, "duration")
    distance: float = number(0.0, "m", 0.0, 100.0, "or distance to walk")
    angle: float = degrees(0.0, 0.0, 3600.0, "or angle to turn")

    def __post_init__(self) -> None:
        MotionStep.__post_init__(self)
        if sum(1 for end in (self.duration, self.distance, self.angle) if end > 0.0) != 1:
            raise MotionError("needs exactly one of duration, distance, angle_deg")
        if self.distance and not (self.x or self.y):
            raise MotionError("distance needs a speed: give x or y")
        if self.angle and not self.yaw:
            raise MotionError("angle_deg needs a rate of turn: give yaw_deg")


@dataclass(frozen=True, slots=True)
class ArcStep(MotionStep):
    """Walks on an arc given by the travel of the outermost foot per stance and the curvature."""

    travel: float = number(0.03, "m", -0.5, 0.5, "of the outermost foot per stance; < 0 goes backwards")
    curvature: float = number(0.0, "", -1.999, 1.999, "0 is straight on, 1.999 turns on the spot, + to the right")
    duration: float = time(2.0, "duration")


@dataclass(frozen=True, slots=True)
class RotateStep(MotionStep):
    """Turns about an axis through the middle of the body: z walks round, x and y rock the body."""

    axis: str = choice("z", "x, y or z", choices=("x", "y", "z"))
    angle: float = degrees(90.0, -3600.0, 3600.0, "to turn; for x and y how far it rocks to either side")
    rate: float = degrees(20.0, 1.0, 180.0, "of the turn", "deg/s")
    times: int = number(1, "", 1, 100, "number of times it rocks to both sides")


@dataclass(frozen=True, slots=True)
class PoseStep(MotionStep):
    """Moves the body to a pose relative to the neutral stance."""

    x: float = number(0.0, "m", -0.3, 0.3, "forward")
    y: float = number(0.0, "m", -0.3, 0.3, "to the left")
    z: float = number(0.0, "m", -0.3, 0.3, "up")
    roll: float = degrees(0.0, -60.0, 60.0, "+ left side up")
    pitch: float = degrees(0.0, -60.0, 60.0, "+ nose down")
    yaw: float = degrees(0.0, -60.0, 60.0, "+ to the left")
    duration: float = time(0.0, "0: at a moderate speed")


@dataclass(frozen=True, slots=True)
class HeightStep(MotionStep):
    """Moves the body to a height relative to the neutral stance; the rest of the pose stays."""

    z: float = number(0.0, "m", -0.3, 0.3, "up")
    duration: float = time(0.0, "0: at a moderate speed")


@dataclass(frozen=True, slots=True)
class SwayStep(MotionStep):
    """Moves the body pose along an ellipse: cosine and sine parts of every coordinate."""

    x: float = number(0.0, "m", -0.3, 0.3, "forward, cosine part")
    y: float = number(0.0, "m", -0.3, 0.3, "to the left, sine part")
    z: float = number(0.0, "m", -0.3, 0.3, "up, cosine part")
    roll: float = degrees(0.0, -60.0, 60.0, "sine part")
    pitch: float = degrees(0.0, -60.0, 60.0, "cosine part")
    yaw: float = degrees(0.0, -60.0, 60.0, "sine part")
    period: float = number(2.0, "s", 0.2, 60.0, "of one revolution")
    rounds: float = number(1.0, "", 0.25, 1000.0, "number of revolutions")


@dataclass(frozen=True, slots=True)
class GaitStep(MotionStep):
    """Changes to another gait."""

    name: str = choice("", "a gait of the robot", names="gaits")


@dataclass(frozen=True, slots=True)
class StandStep(MotionStep):
    """Stands up, and sets down feet that are in the air."""


@dataclass(frozen=True, slots=True)
class SitStep(MotionStep):
    """Sits down."""


@dataclass(frozen=True, slots=True)
class PackStep(MotionStep):
    """Sits down and folds the legs for transport."""


@dataclass(frozen=True, slots=True)
class UnpackStep(MotionStep):
    """Unfolds the legs to the pose from which the robot stands up."""


@dataclass(frozen=True, slots=True)
class WaitStep(MotionStep):
    """Waits."""

    duration: float = time(1.0, "duration")


@dataclass(frozen=True, slots=True)
class LegStep(MotionStep):
    """Moves one foot to a point relative to its neutral foothold while the others stand; z 0 sets it down."""

    name: str = choice("", "of the leg", names="legs")
    x: float = number(0.0, "m", -0.5, 0.5, "forward")
    out: float = number(0.0, "m", -0.5, 0.5, "away from the body")
    z: float = number(0.0, "m", 0.0, 0.5, "above the ground")


@dataclass(frozen=True, slots=True)
class FeetStep(MotionStep):
    """Moves all feet on straight lines, each by an offset from its neutral position below the body."""

    offsets: Mapping[str, Vector] = field(
        default_factory=dict,
        metadata=Quantity("m", -0.5, 0.5, "goal of each foot, relative to its neutral position").metadata(
            columns=("forward", "to the left", "up")
        ),
    )
    duration: float = time(0.0, "0: at a moderate speed")

    def scaled(self, factor: float) -> FeetStep:
        """The step for a robot `factor` times as large."""
        offsets = {leg: (factor * x, factor * y, factor * z) for leg, (x, y, z) in self.offsets.items()}
        return dataclasses.replace(self, offsets=offsets)


@dataclass(frozen=True, slots=True)
class JointsStep(MotionStep):
    """Moves all joints linearly to angles; legs that are not named keep theirs."""

    angles: Mapping[str, Vector] = field(
        default_factory=dict,
        metadata=Quantity("deg", -180.0, 180.0, "joint angles of the named legs").metadata(columns=JOINTS),
    )
    duration: float = time(0.0, "0: at a moderate speed")


@dataclass(frozen=True, slots=True)
class RepeatStep(MotionStep):
    """Repeats steps."""

    times: int = number(2, "", 1, 1000, "number of repetitions")
    steps: tuple[MotionStep, ...] = field(default=(), metadata={"meaning": "list of steps"})

    def scaled(self, factor: float) -> RepeatStep:
        """The step for a robot `factor` times as large."""
        return dataclasses.replace(self, steps=tuple(step.scaled(factor) for step in self.steps))


@dataclass(frozen=True, slots=True)
class TogetherStep(MotionStep):
    """Runs steps at the same time: one that walks, one that moves the body, others that move legs."""

    steps: tuple[MotionStep, ...] = field(default=(), metadata={"meaning": "list of steps"})

    def scaled(self, factor: float) -> TogetherStep:
        """The step for a robot `factor` times as large."""
        return dataclasses.replace(self, steps=tuple(step.scaled(factor) for step in self.steps))


KINDS: Mapping[str, type[MotionStep]] = {
    "walk": WalkStep,
    "arc": ArcStep,
    "rotate": RotateStep,
    "pose": PoseStep,
    "height": HeightStep,
    "sway": SwayStep,
    "gait": GaitStep,
    "stand": StandStep,
    "sit": SitStep,
    "pack": PackStep,
    "unpack": UnpackStep,
    "wait": WaitStep,
    "leg": LegStep,
    "feet": FeetStep,
    "joints": JointsStep,
    "repeat": RepeatStep,
    "together": TogetherStep,
}
NAMES = {kind: name for name, kind in KINDS.items()}
STARTS = ("standing", "sitting")


@dataclass(frozen=True, slots=True)
class Choreography:
    """A sequence of steps with a name."""

    name: str = choice("", "letters, digits and _; that of the file")
    description: str = choice("", "one-line description")
    steps: tuple[MotionStep, ...] = field(default=(), metadata={"meaning": "list of steps"})
    start: str = choice("standing", "posture in which the motion starts", choices=STARTS)
    loops: int = number(1, "", 0, 1000, "passes through the steps; 0: until it is stopped")
    total_time: float = number(math.inf, "s", 0.0, math.inf, "after which no new pass begins")

    def scaled(self, factor: float) -> Choreography:
        """The motion for a robot `factor` times as large."""
        return dataclasses.replace(self, steps=tuple(step.scaled(factor) for step in self.steps))
