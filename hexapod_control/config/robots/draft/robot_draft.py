# SPDX-License-Identifier: Apache-2.0
"""A robot before it is written to a file: every value with its origin."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from hexapod_control.config.robots.draft.leg_draft import LegGeometry
from hexapod_control.core.names import MAX_NAME
from hexapod_control.core.robot import Point, Vector


class Origin(Enum):
    """Origin of a value; capitals mark what the user has to check in the robot file."""

    READ = "read"  # from a URDF
    GIVEN = "given"  # by the user or the servo table
    ASSUMED = "ASSUMED"  # from typical robots
    MEASURE = "MEASURE"  # assumed, and to be measured on the robot


@dataclass(frozen=True, slots=True)
class SourcedValue:
    """A number with its origin and an explanation."""

    value: float
    origin: Origin
    note: str = ""

    @property
    def comment(self) -> str:
        """Comment for the robot file."""
        return ": ".join(filter(None, (self.origin.value, self.note)))


@dataclass(frozen=True, slots=True)
class DraftServo:
    """The servo of all legs: a model of the servo table, or figures."""

    model: str
    voltage: float | None  # [V] of a model of the table
    speed: SourcedValue  # [rad/s]
    torque: SourcedValue  # [N m]
    stiffness: SourcedValue  # [N m/rad]


@dataclass(frozen=True, slots=True)
class DraftBody:
    """The trunk."""

    size: Vector  # [m]
    center: Vector  # [m]
    mass: SourcedValue  # [kg]
    center_of_mass: Vector  # [m]
    size_origin: Origin
    center_of_mass_origin: Origin


@dataclass(frozen=True, slots=True)
class DraftStance:
    """Neutral stance, and the walk settings that belong to it."""

    height: float  # [m]
    lift: float  # [m]
    swing_time: float  # [s]
    footholds: dict[str, Point]  # [m] by leg
    gait: str


@dataclass(frozen=True, slots=True)
class RobotDraft:
    """Everything that goes into a robot file."""

    name: str
    legs: dict[str, LegGeometry]  # by name, in the order of the robot file
    body: DraftBody
    masses: dict[str, SourcedValue]  # [kg] of coxa, femur, tibia
    radii: dict[str, SourcedValue]  # [m] of coxa, femur, tibia, foot
    servo: DraftServo
    stance: DraftStance


def robot_name(text: str) -> str:
    """A valid robot name similar to a text."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")
    name = name if re.match(r"[A-Za-z]", name) else f"robot_{name}"
    return name[:MAX_NAME].rstrip("_")
